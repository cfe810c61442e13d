#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Slurm runs this script for each element of a job array. The script runs one row of the matrix in FOLDER
# (boltlab.engine.rows).
#   element.sh FOLDER CHUNK    line SLURM_ARRAY_TASK_ID + 1 of FOLDER/CHUNK has the number of the row
set -u

folder=$1
# On a network file system this machine may not see the files yet. Then the element fails, and the lab
# submits the row again, unless this was the row's last try (TRIES in boltlab.engine.slurm).
number=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$folder/$2")
[ -n "$number" ] || exit 1
line=$(sed -n "$((number + 1))p" "$folder/rows")
[ -n "$line" ] || exit 1

# Slurm starts an element again if the element's machine was lost. The row may have ended before that.
[ -d "$folder/done/$number" ] && exit 0

try=$(mktemp -d "$folder/tries/$number.XXXXXX") || exit 1
LEDGER=$try/ledger.json
export LEDGER
status=0
sh -c "$line" >"$try/log" 2>&1 || status=$?

# A status of 128 or more means that a signal has ended the row's command. Such a row counts as killed,
# and the lab submits the row again, unless this was the row's last try.
[ "$status" -lt 128 ] || exit "$status"
echo "$status" >"$try/status" || exit 1
mv -T "$try" "$folder/done/$number" 2>/dev/null || [ -d "$folder/done/$number" ]

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# One element of a job array: runs one row of a matrix (boltlab.engine.rows) on any machine.
#   element.sh FOLDER CHUNK    the element's place in the file CHUNK of FOLDER has the row's number
set -u

folder=$1
# On a network file system a machine may not see these files yet.
number=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$folder/$2")
[ -n "$number" ] || exit 1
line=$(sed -n "$((number + 1))p" "$folder/rows")
[ -n "$line" ] || exit 1

# Slurm may have started this row before, on a machine that was lost.
[ -d "$folder/done/$number" ] && exit 0

try=$(mktemp -d "$folder/tries/$number.XXXXXX") || exit 1
LEDGER=$try/ledger.json
export LEDGER
status=0
sh -c "$line" >"$try/log" 2>&1 || status=$?

# With a status of 128 or more a signal has ended the row: it has not run, and is submitted again.
[ "$status" -lt 128 ] || exit "$status"
echo "$status" >"$try/status"
mv -T "$try" "$folder/done/$number" 2>/dev/null || [ -d "$folder/done/$number" ]

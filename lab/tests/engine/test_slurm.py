# SPDX-License-Identifier: GPL-2.0-only
"""Matrices on a private cluster of Slurm: killing an element midway does not change the result.

The cluster runs Debian's Slurm and munge, unpacked into the lab's cache, with its own ports, key
and state (boltlab.engine.cluster).
"""

import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from boltlab import arch, cli, paths
from boltlab.boot import bootfile
from boltlab.engine import cluster, slurm
from boltlab.engine import rows as elements
from boltlab.engine.rows import Row
from boltlab.torture import tally

pytestmark = pytest.mark.nightly

HOST = arch.select(None)[0].name

# The command of a row: writes a ledger with counts that differ from row to row. In each fourth row
# the ledger has a failure, and the command fails.
STUB = """#!/bin/sh
number=$1 ledger=$2
echo $$ >"$PIDS/$number"
sleep 1
failures='[]'
[ $((number % 4)) -ne 3 ] ||
    failures='[{"date":"2026-01-01","why":"row '$number'","repeat":"x","kernel":"c0ffee"}]'
cat >"$ledger" <<END
{"schema": 1, "kind": "torture", "cells": [{"config": "production", "arch": "x86_64",
"scenario": "storm", "runs": 1, "attempted": $((100 + number)), "done": $((90 + number)),
"refused": 10, "virtual_s": 1.$number, "host_s": 2.$number, "accels": {"icount": 1},
"first": "2026-01-01", "last": "2026-01-01", "failures": $failures}]}
END
[ $((number % 4)) -ne 3 ]
"""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Run a private cluster; yield the folder with its files."""
    folder = tmp_path / "c"
    with cluster.private(folder, cluster.programs()) as env:
        for name in ("PATH", "LD_LIBRARY_PATH", "SLURM_CONF"):
            monkeypatch.setenv(name, env[name])
        yield folder
    monkeypatch.undo()


def kill_one(place: int, after: float) -> threading.Thread:
    """Kill the element at ``place`` of the first array once, ``after`` seconds after its start."""

    def kill() -> None:
        while not ((found := (slurm.queue("1") or {}).get(place)) and found.state == "RUNNING"):
            time.sleep(0.1)
        time.sleep(after)
        subprocess.run(["scancel", "--full", "--signal=KILL", f"1_{place}"], check=True)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    return thread


def books(ledgers: list[Path]) -> tally.Book:
    whole = tally.Book()
    for ledger in ledgers:
        whole.merge(tally.load(ledger))
    return whole


def test_an_element_is_killed(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub, pids = tmp_path / "stub", tmp_path / "pids"
    stub.write_text(STUB, encoding="utf-8")
    pids.mkdir()
    rows = [
        Row(f"PIDS={pids} sh {stub} {number}", '"$LEDGER"', "production x86_64", 60)
        for number in range(8)
    ]
    folder = elements.write(rows, "torture")
    killer = kill_one(2, 0.3)
    most = 0
    queue = slurm.queue

    def look(job: str) -> Any:
        nonlocal most
        found = queue(job)
        most = max(most, sum(each.state == "RUNNING" for each in (found or {}).values()))
        return found

    monkeypatch.setattr(slurm, "queue", look)
    slurm.run(rows, folder, at_once=1, poll=0.2)
    killer.join(10)
    assert most == 1  # because of at_once: the cluster's CPUs could run two elements at once
    merged = books([each.ledger for each in slurm.ended(rows, folder)])
    serial = []
    for number, row in enumerate(rows):
        ledger = tmp_path / f"serial-{number}.json"
        env = {**os.environ, "LEDGER": str(ledger)}
        done = subprocess.run(["sh", "-c", row.command], env=env, check=False)
        assert done.returncode == (number % 4 == 3)
        serial.append(ledger)
    assert merged.dumps() == books(serial).dumps()
    assert merged.survived("production", "x86_64") == 828
    assert capsys.readouterr().out.splitlines()[-1].split()[2:] == ["0", "0", "8", "1", "8"]


def test_torture_with_a_run_that_is_killed(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy host two runs of a seed may differ (docs/torture.md): counts are not compared."""
    ledger, serial = tmp_path / "merged.json", tmp_path / "serial.json"
    words = f"torture --arch {HOST} --config production --scenario quiet,native --accel icount"
    folders, write = [], elements.write

    def noted(rows: Sequence[Row], name: str) -> Path:
        folders.append(write(rows, name))
        return folders[-1]

    monkeypatch.setattr(elements, "write", noted)
    killer = kill_one(1, 4)
    words += " --requests 20 --runs 3 --engine slurm --at-once 2"
    assert cli.main([*words.split(), "--results", str(ledger)]) == 0
    killer.join(10)
    [folder] = folders
    assert (folder / "chunk-1").read_text().split() == ["1"]
    own = [folder / "done" / str(number) / elements.LEDGER for number in range(3)]
    merged = tally.load(ledger)
    assert merged.dumps() == books(own).dumps()
    for line in (folder / "rows").read_text().splitlines():
        env = {**os.environ, "LEDGER": str(serial)}
        env.pop("LD_LIBRARY_PATH")
        subprocess.run(["sh", "-c", line], cwd=paths.REPO, env=env, check=True)
    other = tally.load(serial)
    assert list(merged.cells) == list(other.cells)
    for key, cell in merged.cells.items():
        twin = other.cells[key]
        assert (cell.runs, cell.accels, cell.wrong) == (twin.runs, twin.accels, 0)
        assert cell.failures == twin.failures == []
        assert cell.attempted == cell.done + cell.refused > 0
    print(f"merged {counts(merged)}, serial {counts(other)}")


def test_boots(fleet: Path, tmp_path: Path) -> None:
    """Boots in virtual time take equally long, to within 2 %, on a cluster and without one."""
    words = f"boot-bench --arch {HOST} --cpus 2,4 --nodes 1 --variants native,all --no-trace"
    merged, serial = tmp_path / "merged.json", tmp_path / "serial.json"
    more = f"--engine slurm --at-once 2 --json {merged}"
    assert cli.main([*words.split(), *more.split()]) == 0
    env = {**os.environ}
    env.pop("LD_LIBRARY_PATH")
    command = [str(paths.REPO / "bolt"), *words.split(), "--json", str(serial)]
    subprocess.run(command, cwd=paths.REPO, env=env, check=True)
    ours, theirs = (
        {(boot.variant, boot.cpus): boot.booted for boot in bootfile.load(file).boots}
        for file in (merged, serial)
    )
    assert list(ours) == list(theirs)
    assert len(ours) == 6  # machines of one CPU, with which the others are compared, are added
    for key, booted in ours.items():
        assert booted == pytest.approx(theirs[key], rel=0.02)
    print(f"merged {ours}, serial {theirs}")


def counts(book: tally.Book) -> list[int]:
    return [cell.attempted for cell in book.cells.values()]

# SPDX-License-Identifier: GPL-2.0-only
"""A service whose machine gains and loses CPUs: its script, its records, its picture."""

from pathlib import Path
from typing import Any

import pytest

from boltlab.bench import served
from boltlab.commands import vm_demo
from boltlab.debian import vmdemo
from boltlab.errors import BoltError
from boltlab.report import service

MS = 1_000_000
RECORDS: list[dict[str, Any]] = [
    {"slot": "add 2"},
    {"change": "online", "cpu": 2, "begin": 100 * MS, "end": 101 * MS, "task": 102 * MS},
    {"change": "offline", "cpu": 2, "begin": 300 * MS, "end": 330 * MS},
    # One request each 10 ms; number 30 waits for the CPU that goes, number 5 was lost.
    {"served": 0, "rate": 100, "us": [500] * 5 + [-1] + [500] * 14},
    {"served": 20, "rate": 100, "us": [500] * 9 + [15000, 40000] + [500] * 9},
]


def test_what_a_service_felt() -> None:
    outcome = served.read(RECORDS, "native", [1.5, 2.5])
    assert (len(outcome.latencies), outcome.lost) == (40, 1)
    assert outcome.took("offline") == [30 * MS]
    assert outcome.took("online") == [1 * MS]
    assert outcome.first_tasks() == [2 * MS]
    # In flight: number 29, due before the CPU goes. Due up to 20 ms later: numbers 10 to 12 and 34.
    assert sorted(outcome.beside()) == [500] * 7 + [15000, 40000]
    assert outcome.apart() == [500] * 30
    assert served.row(outcome, "native") == [
        *("native", "40", "1", "0.50", "40.00", "40.00", "30.000", "1.000", "2.000", "2.00")
    ]


def test_a_service_that_did_not_end_is_an_error() -> None:
    with pytest.raises(BoltError, match="latencies from 20 on are missing"):
        served.read([*RECORDS[:4], {"served": 21, "rate": 100, "us": [1]}], "native")
    with pytest.raises(BoltError, match="said nothing"):
        served.read(RECORDS[:3], "native")


def test_scripts() -> None:
    for name, row in vmdemo.variants().items():
        lines = vmdemo.script(name, 7, "mttcg")
        assert f"mode {row['mode']}" in lines
        assert any(
            "/run/served cpus=2-4 " in line and " cycles=7 slots=1 " in line for line in lines
        )
        assert any(" slots=0 " in line for line in vmdemo.script(name, 7, "icount"))
        assert lines[-1] == "finish"
    with pytest.raises(BoltError, match="no variant 'fast'"):
        vmdemo.script("fast", 1, "mttcg")


def test_a_page_with_timelines(tmp_path: Path) -> None:
    outcomes = [served.read(RECORDS, name, [1.5]) for name in vmdemo.variants()]
    file = tmp_path / "2026-01-01-x86_64-vm-demo.json"
    file.write_text(served.dumps("x86_64", "10.0.2", "icount", outcomes))
    measured = served.load(file)
    assert measured.rows == outcomes
    labels = {name: str(row["label"]) for name, row in vmdemo.variants().items()}
    text = service.page(measured, labels)
    assert "x86_64, QEMU 10.0.2, icount: virtual time" in text
    assert text.count("<svg") == 1
    for label in labels.values():
        assert f"<td>{label}</td>" in text
    assert "in flight while a CPU came or went" in text
    assert len(vm_demo.RANKS) == len(served.COLUMNS)

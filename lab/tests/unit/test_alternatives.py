# SPDX-License-Identifier: GPL-2.0-only
"""Ways to keep tasks away from CPUs: guests, records, result file, table, quoted figures."""

from pathlib import Path
from typing import Any

import pytest

from boltlab import kept
from boltlab.arch import ARCHES
from boltlab.bench import alternatives
from boltlab.errors import BoltError
from boltlab.kernel.build import Kernel
from boltlab.report import quotes


def records(ms: int = 1) -> list[dict[str, Any]]:
    """Return records of guests: all samples of the n-th way are n times ``ms``."""
    found: list[dict[str, Any]] = []
    for place, way in enumerate(alternatives.ways(), start=1):
        ns = [place * ms * 1_000_000] * 3
        names = ("out",) if way == "online" else alternatives.TIMES
        found += [{"case": f"{way}_{name}", "batch": 1, "samples": ns} for name in names]
        found.append({"taken": way, "affinity": way != "online", "timer": False, "counter": True})
        for cpu in (2, 3):
            row: dict[str, Any] = {"undisturbed": way, "cpu": cpu, "seconds": 5, "wakeups": cpu}
            row |= {"interrupts": 7, "timers": 3, "ipis": 4, "counted": -1, "mean_ms": 1.5}
            found.append(row | {"longest_ms": 10.0 * cpu, "tasks": {"kworker": 2}})
    return found


def test_what_guests_say() -> None:
    rows = alternatives.read(records(), "arm64")
    assert [row.way for row in rows] == list(alternatives.ways())
    assert set(rows[0].times) == {"out"}
    assert rows[1].times["left"].median == 2.0
    assert (rows[0].taken, rows[1].taken) == (["counter"], ["affinity", "counter"])
    assert alternatives.cells(rows[0])[1:] == [
        *("arm64", "-", "-", "1.00", "2 / 3", "7", "4", "1.50", "20.0 / 30.0", "counter")
    ]


def test_a_way_that_was_not_measured_is_an_error() -> None:
    with pytest.raises(BoltError, match="arm64: the guest has no record of 'cold'"):
        alternatives.read([row for row in records() if "cold" not in row.values()], "arm64")


def test_each_way_has_a_guest_with_its_kernel(tmp_path: Path) -> None:
    target = ARCHES["x86_64"]
    words = []
    for flavour in alternatives.kernels():
        kernel = Kernel("x86_64", flavour, "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)
        guest = alternatives.guest(target, kernel, flavour, 20, 5)
        assert guest.bounded
        words.append(guest.script[0])
    assert words == [
        "run /bin/undisturbed cpus=2-3 n=20 seconds=5 ways=online,isolated,native,expedited",
        "run /bin/undisturbed cpus=2-3 n=20 seconds=5 ways=warm,cold",
    ]


def test_the_file_is_kept_and_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    rows = [row for arch in ("x86_64", "arm64") for row in alternatives.read(records(), arch)]
    file = tmp_path / "2026-01-01-alternatives.json"
    file.write_text(alternatives.dumps("10.0.2", rows, "c0ffee"), encoding="utf-8")
    assert alternatives.load(file).rows == rows
    made = quotes.table("alternatives alternatives").splitlines()
    assert made[2].startswith("| online and idle | x86_64 | - |")
    assert made[3].startswith("| online and idle | arm64 | - |")
    assert len(made) == 2 + len(rows) + 2
    assert quotes.value("alternatives#arm64 in native/warm") == 3 / 5
    assert quotes.value("alternatives#arm64 wakeups isolated") == 5
    file.write_text(file.read_text().replace('"warm"', '"hot"'), encoding="utf-8")
    with pytest.raises(BoltError, match="unknown way 'hot'"):
        alternatives.load(file)

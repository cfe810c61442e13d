# SPDX-License-Identifier: GPL-2.0-only
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from boltlab import arch, cli, packages
from boltlab.bystanders import losses
from boltlab.bystanders.losses import Row
from boltlab.errors import BoltError
from boltlab.guest import guestimage, plugins, qemu
from boltlab.guest.qemu import GuestResult
from boltlab.kernel import build, source
from boltlab.kernel.build import Kernel
from boltlab.report import figures

X86, ARM = arch.ARCHES["x86_64"], arch.ARCHES["arm64"]


def line(phase: int, cpu: int, **changes: int) -> str:
    row: dict[str, Any] = {
        "phase": phase,
        "rounds": 10,
        "cpu": cpu,
        "base": "ff",
        "user": 1,
        "kernel": 5000,
        "stretches": 20,
        "longest": 1000,
        "longest_off": 500,
    }
    return json.dumps(row | changes)


def test_only_bystanders_count() -> None:
    lines = [line(1, 0, longest=9**9), line(1, 1, longest=9**9), line(1, 2), line(1, 3)]
    assert losses.read(lines, "bolt", 4, 1, False) == [
        Row("bolt", "offline", 4, 1, False, 2.0, off=1.0, stolen=1.0, times=2.0, length=4.0)
    ]
    lines = [line(2, 2, longest=9**9), line(2, 3, longest_off=0)]
    (row,) = losses.read(lines, "bolt", 4, 1, True)
    assert (row.direction, row.longest, row.off) == ("online", 2.0, None)
    with pytest.raises(BoltError, match="on CPU 4 in a guest of 4 CPUs"):
        losses.read([line(1, 4)], "bolt", 4, 1, False)


def test_the_guest_program_marks_the_phases_that_are_read() -> None:
    text = (guestimage.SOURCES / "bystand.c").read_text(encoding="utf-8")
    (found,) = re.findall(r"enum phase \{ NONE, (.*) \};", text)
    assert found.lower().split(", ") == list(losses.PHASES.values())


def test_a_request_is_as_long_as_what_all_cpus_execute() -> None:
    """A recorded request of an arm64 guest, and the sleep of 4 ms that came after it."""
    executed = {
        1: [(1430, 659433), (0, 258470), (4814912, 70420), (9270377, 81194)],
        3: [(620, 146532), (0, 0), (10340576, 40533), (9731754, 37544)],
    }
    lines = [
        line(phase, cpu, user=user, kernel=kernel)
        for phase, cpus in executed.items()
        for cpu, (user, kernel) in enumerate(cpus)
        if user or kernel
    ]
    rows = losses.read(lines, "bolt", 4, 1, False)
    assert [(row.direction, row.length) for row in rows] == [
        ("offline", 3031.25),
        ("idle", 4059.51),
    ]


def test_what_bolt_defers_is_in_the_sum() -> None:
    native = losses.read([line(1, 2), line(1, 3), line(2, 2)], "native", 4, 1, False)
    seen = [line(1, 2, longest=2000), line(1, 3), line(2, 2), line(3, 2)]
    seen += [line(4, 2, kernel=9000), line(4, 3, longest=1500), line(5, 2)]
    ours = losses.read(seen, "bolt", 4, 1, False)
    assert [row.direction for row in ours] == [
        "offline",
        "online",
        "idle",
        "settle",
        "online_settled",
    ]
    assert losses.sums([*native, *ours]) == [
        replace(native[0], direction="sum"),
        Row("bolt", "sum", 4, 1, False, 4.0, off=1.0, stolen=2.4, times=4.0, length=4.8),
    ]
    other = [replace(row, cpus=16) for row in native]
    assert len(losses.sums([*native, *ours, *other])) == 2
    assert losses.sums([*native, *ours[:3]]) == []
    assert losses.table(ours)[-1][2:] == ["sum", "bolt", "4.0", "1.0", "2.4", "4.0", "4.8"]


def test_guests_of_the_variants(tmp_path: Path) -> None:
    kernel = Kernel("x86_64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)
    guest = losses.guest(X86, kernel, tmp_path / "p.so", "expedited", (16, 8, False))
    assert guest.script == (
        "write /sys/kernel/rcu_expedited 1",
        "run /bin/bystand cpus=1-8 n=10 bolt=0",
    )
    guest = losses.guest(X86, kernel, tmp_path / "p.so", "bolt", (4, 1, True))
    assert guest.append.endswith("nohz_full=3")
    assert guest.script[-1] == "run /bin/bystand cpus=1 n=10 bolt=1"


ROWS = [
    Row(variant, direction, cpus, batch, False, 3.0, None if variant == "bolt" else 2.0, 1.0, 4.0)
    for variant in losses.VARIANTS
    for direction in ("offline", "online", "idle")
    for cpus, batch in ((4, 1), (4, 2), (16, 8))
]


def test_figures_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "version", lambda emulator: "10.0.2")
    path = tmp_path / "b.json"
    path.write_text(losses.dumps(X86, ROWS, "c0ffee"), encoding="utf-8")
    assert losses.load(path) == ("x86_64", ROWS)
    # Files of 2026-11-21 do not say how long requests were.
    path.write_text(path.read_text(encoding="utf-8").replace(', "length": null', ""))
    assert "length" not in path.read_text(encoding="utf-8")
    assert losses.load(path) == ("x86_64", ROWS)
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(BoltError, match="no figures of bystanders"):
        losses.load(path)


def test_the_table_and_the_picture_have_all_variants() -> None:
    cells = losses.table(ROWS)
    assert len(cells) == len(ROWS)
    assert cells[0] == ["1", "4", "offline", "native", "3.0", "2.0", "1.0", "4.0", "-"]
    assert any("-" in row for row in cells)
    picture = figures.bystanders(ROWS, "x")
    assert picture.png.startswith(b"\x89PNG")
    assert picture.svg.count("<svg") == 1
    assert "axes_3" not in picture.svg
    settled = [replace(row, direction="settle") for row in ROWS if row.variant == "bolt"]
    assert "axes_3" in figures.bystanders([*ROWS, *settled], "x").svg


@pytest.mark.parametrize(("cpus", "batch"), [("4", "3"), ("4,16", "0,1"), ("2", "1")])
def test_somebody_must_be_left(cpus: str, batch: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bystanders", "--cpus", cpus, "--batch", batch]) == 2
    assert "one besides CPU 0 stays" in capsys.readouterr().err


def test_there_must_be_something_to_measure(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bystanders", "--cpus", ""]) == 2
    assert "nothing to measure" in capsys.readouterr().err


def test_all_kernels_are_built_ahead_of_the_first_guest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a kernel was got between two guests, an edit would change the kernel of later guests."""
    done: list[str] = []
    kernel = Kernel("x86_64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)

    def ensure_kernel(arch: object, flavour: str, *_: object) -> Kernel:
        done.append(flavour)
        return kernel

    def run(guest: object, name: str) -> GuestResult:
        done.append("guest")
        (tmp_path / qemu.PLUGIN).touch()
        return GuestResult(tmp_path, [])

    monkeypatch.setattr(source, "resolve", lambda where: None)
    monkeypatch.setattr(packages, "ensure", lambda *names, arches: None)
    monkeypatch.setattr(plugins, "build", lambda kind, target: tmp_path / "p.so")
    monkeypatch.setattr(build, "ensure_kernel", ensure_kernel)
    monkeypatch.setattr(qemu, "run", run)
    assert cli.main(["bystanders", "--arch", "x86_64", "--cpus", "4", "--tickless"]) == 0
    flavours = ["pristine", "bolt", losses.TICKLESS]
    assert done == flavours + ["guest"] * (len(done) - len(flavours))
    assert len(done) > len(flavours) + len(losses.VARIANTS)

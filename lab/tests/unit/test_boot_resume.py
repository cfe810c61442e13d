# SPDX-License-Identifier: GPL-2.0-only
"""A boot-bench some of whose boots fail, or that is interrupted, and its --resume."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from boltlab import cli, packages
from boltlab.arch import ARCHES
from boltlab.bench import ledger
from boltlab.boot import bootfile, boots
from boltlab.commands import boot_bench
from boltlab.engine import rows as elements
from boltlab.engine import slurm
from boltlab.engine.rows import Row
from boltlab.errors import FAILURE, INTERRUPTED, USAGE, BoltError, GuestError
from boltlab.guest import backports, qemu
from boltlab.guest.qemu import Guest, GuestResult
from boltlab.kernel import build, source
from boltlab.kernel.build import Kernel
from tests.unit.test_boots import LOG, TRACE

WORDS = ["boot-bench", "--arch", "x86_64", "--cpus", "8", "--nodes", "2", "--variants"]
KERNEL = Kernel("x86_64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", Path("bolt"))
LARGE = "boot-x86_64-native-8-2"
TRACED = "boot-x86_64-native-8-2-traced"
SMALL = ["boot-x86_64-native-1-1", "boot-x86_64-native-1-1-1", "boot-x86_64-native-1-1-2"]


class Emulator:
    """Stands in for guests: guests in ``bad`` fail, other guests boot as LOG and TRACE say."""

    def __init__(self) -> None:
        self.bad: dict[str, BaseException] = {}
        self.once = False  # whether a guest in ``bad`` fails only once
        self.begun: list[str] = []
        self.trace = TRACE

    async def boot(self, guest: Guest, name: str, seen: Callable[[int], None]) -> GuestResult:
        self.begun.append(name)
        if name in self.bad:
            raise self.bad.pop(name) if self.once else self.bad[name]
        folder = qemu.new_run(name)
        booted = 10_000_000 * guest.machine.cpus
        rows: list[dict[str, Any]] = [{"booted": booted}, {"end": "ok"}]
        (folder / "results.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        (folder / "dmesg.log").write_text(LOG)
        (folder / "trace.txt").write_text(self.trace if guest.script else "")
        return GuestResult(folder, rows)

    def take(self) -> list[str]:
        """Return the names of the guests that have begun since the last call."""
        begun, self.begun, self.bad = self.begun, [], {}
        return begun


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Emulator:
    played = Emulator()
    monkeypatch.setattr(qemu, "boot", played.boot)
    monkeypatch.setattr(qemu, "version", lambda name: "10.0.2")
    monkeypatch.setattr(packages, "ensure", lambda *args, **more: None)
    monkeypatch.setattr(backports, "offer", lambda arches: None)
    monkeypatch.setattr(source, "resolve", lambda where: None)
    monkeypatch.setattr(build, "ensure_kernel", lambda *args: KERNEL)
    return played


def call(*more: str, variants: str = "native") -> int:
    return cli.main([*WORDS, variants, *more])


def test_it_goes_on_with_the_boots_that_are_missing(
    emulator: Emulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "console.log"
    emulator.bad = {LARGE: GuestError("the guest hung", log)}
    file = tmp_path / "boot.json"
    assert call("--json", str(file)) == FAILURE
    assert not file.exists()
    assert set(emulator.take()) == {LARGE, TRACED, *SMALL}  # the other boots were made all the same
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "bolt: x86_64, strict: 1 of 5 guests failed",
        f"bolt: {LARGE}: the guest hung (log: {log})",
        "bolt: no figures of native: 8 CPUs on 2 nodes",
        f"bolt: the other guests' figures are kept in {ledger.folder()}",
        "bolt: go on: ./bolt boot-bench --arch x86_64 --setting strict --cpus 8 --nodes 2 "
        f"--variants native --json {file} --resume",
    ]
    again = said[-1].removeprefix("bolt: go on: ./bolt ").split()
    assert cli.main(again) == 0
    assert emulator.take() == [LARGE]
    assert "4 of 5 guests have been run before" in capsys.readouterr().out
    resumed = bootfile.load(file)
    assert [(boot.cpus, boot.booted) for boot in resumed.boots] == [(1, 10**7), (8, 8 * 10**7)]
    assert resumed.boots[1].callbacks
    # Without --resume all boots are made anew, and the results are the same.
    assert call("--json", str(file)) == 0
    assert len(emulator.take()) == 5
    assert bootfile.load(file) == resumed


def test_an_interrupted_boot_bench_goes_on(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("boltlab.arch.cores", lambda: 1)  # one boot after the other
    emulator.bad = {SMALL[0]: KeyboardInterrupt()}
    assert call() == INTERRUPTED
    assert "figures are kept: a call with --resume" in capsys.readouterr().err
    assert emulator.take() == [LARGE, TRACED, SMALL[0]]
    assert call("--resume") == 0
    assert emulator.take() == SMALL


def test_boots_of_other_variants_and_traces_are_missing(emulator: Emulator) -> None:
    assert call("--no-trace") == 0
    assert set(emulator.take()) == {LARGE, *SMALL}
    assert call("--resume") == 0
    assert emulator.take() == [TRACED]
    assert call("--resume", variants="native,off") == 0
    assert {name for name in emulator.take() if "-off-" not in name} == set()


def test_nothing_to_go_on_with(emulator: Emulator, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--resume") == USAGE
    assert "nothing to go on with: no figures of this bench's guests" in capsys.readouterr().err
    assert call("--stress", "2", "--resume") == USAGE
    assert "--resume is not for --stress" in capsys.readouterr().err
    assert emulator.take() == []


def test_a_trace_with_holes_is_a_failure(
    emulator: Emulator, capsys: pytest.CaptureFixture[str]
) -> None:
    emulator.trace = f"{TRACE}\nCPU:0 [LOST 12 EVENTS]\n"
    assert call() == FAILURE
    assert f"{TRACED}: the trace of the boot has lost records" in capsys.readouterr().err
    emulator.take()
    emulator.trace = TRACE
    assert call("--resume") == 0
    assert emulator.take() == [TRACED]


def test_a_set_up_that_is_wrong_ends_it(
    emulator: Emulator, capsys: pytest.CaptureFixture[str]
) -> None:
    emulator.bad = {TRACED: BoltError("QEMU did not start")}
    assert call() == FAILURE
    assert capsys.readouterr().err == "bolt: QEMU did not start\n"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the commands of elements, which run one after the other in the test's process."""
    lines: list[str] = []

    def run(rows: list[Row], folder: Path, at_once: int | None) -> None:
        for number, row in enumerate(rows):
            place = folder / "done" / str(number)
            place.mkdir()
            words = row.line.split()[1:]
            lines.append(row.line)
            status = cli.main([*words, "--json", str(place / elements.LEDGER)])
            (place / "status").write_text(f"{status}\n")
            (place / "log").write_text(capsys.readouterr().err)

    monkeypatch.setattr(slurm, "require", lambda: None)
    monkeypatch.setattr(slurm, "run", run)
    return lines


def test_boots_that_failed_on_a_cluster(
    emulator: Emulator, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    emulator.bad = {SMALL[1]: GuestError("panic")}
    assert call("--engine", "slurm", variants="native,off") == FAILURE
    said = capsys.readouterr().err.splitlines()
    assert said[:3] == [
        "bolt: x86_64, strict: 1 of 9 guests failed",
        f"bolt: {SMALL[1]}: panic",
        "bolt: no figures of native: 1 CPU on 1 node",
    ]
    assert said[-1].endswith("--variants native,off --engine slurm --resume")
    assert not any("--resume" in line for line in lines)
    emulator.take()
    lines.clear()
    assert call("--engine", "slurm", "--resume", variants="native,off") == 0
    assert emulator.take() == [SMALL[1]]
    assert all(line.endswith(" --resume") for line in lines)


def test_elements_of_a_variant_share_its_boots_on_one_cpu(
    emulator: Emulator, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A boot on one CPU fails in the first element, and ends well in the second element."""
    emulator.bad, emulator.once = {SMALL[1]: GuestError("panic")}, True
    words = ["boot-bench", "--arch", "x86_64", "--cpus", "8,16", "--nodes", "2,2", "--variants"]
    words += ["native", "--engine", "slurm", "--json", str(tmp_path / "boot.json")]
    assert cli.main(words) == FAILURE
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == ["bolt: x86_64, strict: 1 of 7 guests failed", f"bolt: {SMALL[1]}: panic"]
    emulator.take()
    assert cli.main([*words, "--resume"]) == 0
    assert emulator.take() == []
    assert {boot.cpus for boot in bootfile.load(tmp_path / "boot.json").boots} == {1, 8, 16}


def test_each_boot_has_its_own_origin() -> None:
    target = ARCHES["x86_64"]
    wanted = {name: boots.variants("x86_64")[name] for name in ("native", "all")}
    kernels = {"pristine": KERNEL, "bolt": KERNEL}
    bench = boot_bench.Bench(target, "strict", wanted, [(8, 2)], kernels)
    work = boot_bench.jobs(*bench, trace=True)
    assert len({(job.name, job.origin) for job in work}) == len(work)
    assert all(job.stamp == "stamp" for job in work)

# SPDX-License-Identifier: GPL-2.0-only
"""A bench some of whose guests fail: its messages, the figures that it keeps, and its --resume."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from boltlab import cli, git
from boltlab.bench import breakdown, ledger, reference, results
from boltlab.bench.ledger import Origin
from boltlab.bench.plan import Plan, jobs_of
from boltlab.bench.results import Results
from boltlab.bench.unfinished import UnfinishedError
from boltlab.commands import bench
from boltlab.commands.bench import Bench
from boltlab.engine.rows import Ended
from boltlab.errors import FAILURE, USAGE, BoltError, GuestError
from boltlab.guest import qemu
from boltlab.guest.qemu import Guest, GuestResult
from boltlab.kernel.build import Kernel
from tests.unit.test_bench import KERNELS, X86

WORDS = ["bench", "--arch", "x86_64", "--variants", "native,bolt", "--cases", "offline1,online1"]
PLAN = Plan(cases=("offline1", "online1"), variants=("native", "bolt"), traced=False)


class Emulator:
    """Stands in for guests: guests in ``bad`` fail, other guests have figures of their variant."""

    def __init__(self) -> None:
        self.bad: dict[str, BoltError] = {}
        self.begun: list[str] = []

    async def boot(self, guest: Guest, name: str, seen: Callable[[int], None]) -> GuestResult:
        self.begun.append(name)
        if name in self.bad:
            raise self.bad[name]
        folder = qemu.new_run(name)
        nanoseconds = 30_000_000 if "native" in name else 150_000
        rows = [
            {"case": case, "batch": 1, "samples": [nanoseconds]} for case in ("offline1", "online1")
        ]
        text = "".join(f"{json.dumps(row)}\n" for row in [*rows, {"end": "ok"}])
        (folder / "results.jsonl").write_text(text)
        (folder / "trace.txt").touch()
        return GuestResult(folder, rows)


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Emulator:
    played = Emulator()
    monkeypatch.setattr(qemu, "boot", played.boot)
    monkeypatch.setattr(qemu, "version", lambda name: "10.0.2")
    monkeypatch.setattr(bench, "prepare", lambda *args: {"x86_64": KERNELS, "arm64": KERNELS})
    monkeypatch.setattr(reference, "check", lambda measured: None)
    return played


def call(*more: str) -> int:
    return cli.main([*WORDS, "--no-breakdown", *more])


def test_the_others_are_kept_and_it_goes_on_with_what_is_missing(
    emulator: Emulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "console.log"
    emulator.bad = {"x86_64-native-measured-1": GuestError("the guest hung\nfor long", log)}
    file = tmp_path / "out.json"
    assert call("--json", str(file)) == FAILURE
    assert emulator.begun == ["x86_64-native-measured-1", "x86_64-bolt-measured-1"]
    assert not file.exists()
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "bolt: x86_64, strict: 1 of 2 guests failed",
        f"bolt: x86_64-native-measured-1: the guest hung (log: {log})",
        "bolt: no figures of native: offline1, online1",
        f"bolt: the other guests' figures are kept in {ledger.folder()}",
        "bolt: go on: ./bolt bench --arch x86_64 --setting strict --variants native,bolt --cpus 4 "
        f"--accel icount --cases offline1,online1 --no-breakdown --json {file} --resume",
    ]

    emulator.bad, emulator.begun = {}, []
    again = said[-1].removeprefix("bolt: go on: ./bolt ").split()
    assert cli.main(again) == 0
    assert emulator.begun == ["x86_64-native-measured-1"]
    assert "1 of 2 guests have been run before" in capsys.readouterr().out
    resumed = results.load(file)

    emulator.begun = []
    assert call("--json", str(file)) == 0
    assert emulator.begun == ["x86_64-native-measured-1", "x86_64-bolt-measured-1"]
    assert results.load(file) == resumed


def test_a_guest_that_fails_is_not_taken_from_an_earlier_bench(emulator: Emulator) -> None:
    assert call() == 0
    emulator.bad = {"x86_64-bolt-measured-1": GuestError("WARN")}
    assert call() == FAILURE
    emulator.bad, emulator.begun = {}, []
    assert call("--resume") == 0
    assert emulator.begun == ["x86_64-bolt-measured-1"]


def test_nothing_to_go_on_with(emulator: Emulator, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--resume") == USAGE
    assert (
        "nothing to go on with: no figures of this bench's guests are kept"
        in capsys.readouterr().err
    )
    assert call("--setting", "legacy") == 0
    assert call("--setting", "nodelay", "--resume") == USAGE
    said = "-measured-1 was measured: the settings of the guest have changed"
    assert said in capsys.readouterr().err


def test_when_all_guests_fail_it_begins_anew(
    emulator: Emulator, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"x86_64-{variant}-measured-1" for variant in PLAN.variants]
    emulator.bad = {name: GuestError("panic") for name in names}
    assert call() == FAILURE
    said = capsys.readouterr().err
    assert "2 of 2 guests failed" in said
    assert "kept" not in said
    assert said.endswith("--no-breakdown\n")


def test_other_settings_are_measured_all_the_same(
    emulator: Emulator, capsys: pytest.CaptureFixture[str]
) -> None:
    emulator.bad = {"x86_64-native-measured-1": GuestError("panic")}
    assert call("--setting", "all") == FAILURE
    assert emulator.begun.count("x86_64-bolt-measured-1") == len(X86.settings)
    said = capsys.readouterr().err
    assert [f"x86_64, {name}: 1 of 2 guests failed" in said for name in X86.settings] == [True] * 3


def test_a_wrong_set_up_ends_the_bench(
    emulator: Emulator, capsys: pytest.CaptureFixture[str]
) -> None:
    emulator.bad = {"x86_64-native-measured-1": BoltError("QEMU did not start")}
    assert call() == FAILURE
    assert capsys.readouterr().err == "bolt: QEMU did not start\n"


def test_figures_that_cannot_be_trusted_are_not_kept(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def distrust(measured: Results) -> str:
        raise BoltError("native offline1 took 60 ms")

    with monkeypatch.context() as busy:
        busy.setattr(reference, "check", distrust)
        assert call() == FAILURE
        assert "native offline1 took 60 ms" in capsys.readouterr().err
    assert call("--resume") == USAGE
    assert "nothing to go on with" in capsys.readouterr().err
    with monkeypatch.context() as busy, pytest.raises(BoltError, match="offline1 took 60 ms"):
        busy.setattr(reference, "check", distrust)
        bench.measure(X86, "strict", PLAN)  # as a demo does
    assert call("--resume") == USAGE


def test_results_name_the_commit_before_the_kernels_are_built(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commits = ["before"]

    def prepare(*args: object) -> dict[str, dict[str, Kernel]]:
        commits[:] = ["after"]
        return {"x86_64": KERNELS}

    monkeypatch.setattr(git, "measured", lambda: commits[0])
    monkeypatch.setattr(bench, "prepare", prepare)
    assert call("--json", str(tmp_path / "out.json")) == 0
    assert results.load(tmp_path / "out.json").commit == "before"


def test_a_trace_that_cannot_be_read_is_a_failure(emulator: Emulator) -> None:
    plan = Plan(cases=("offline1",), variants=("bolt",), extra=False)
    with pytest.raises(UnfinishedError) as caught:
        bench.collect(X86, "strict", plan, KERNELS)
    (failed,) = caught.value.failed
    assert (failed.name, failed.lacking) == ("x86_64-bolt-breakdown-1", ("breakdown",))
    with pytest.raises(UnfinishedError):
        bench.collect(X86, "strict", plan, KERNELS, resume=True)
    assert emulator.begun.count("x86_64-bolt-measured-1") == 1
    assert emulator.begun.count("x86_64-bolt-breakdown-1") == 2


def test_a_bench_outlives_the_directories_of_its_runs(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another call of the lab removes the directory of a run before the bench has ended."""
    original = ledger.keep

    def keep(name: str, origin: Origin, ran: GuestResult) -> GuestResult:
        kept = original(name, origin, ran)
        shutil.rmtree(ran.folder)
        return kept

    monkeypatch.setattr(ledger, "keep", keep)
    monkeypatch.setattr(breakdown, "summarise", lambda trace: {"seen": trace.readlines()})
    plan = Plan(cases=("offline1",), variants=("bolt",), extra=False)
    assert bench.collect(X86, "strict", plan, KERNELS).breakdown == {"bolt": {"seen": []}}


def test_a_bench_beside_another_bench(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a bench runs, a second bench of the same guests forgets what the first kept."""
    original = ledger.keep

    def keep(name: str, origin: Origin, ran: GuestResult) -> GuestResult:
        kept = original(name, origin, ran)
        ledger.forget(name, origin)
        return kept

    monkeypatch.setattr(ledger, "keep", keep)
    monkeypatch.setattr(breakdown, "summarise", lambda trace: {"seen": trace.readlines()})
    plan = Plan(cases=("offline1",), variants=("bolt",), extra=False)
    assert bench.collect(X86, "strict", plan, KERNELS).breakdown == {"bolt": {"seen": []}}


def test_guests_that_failed_on_a_cluster(emulator: Emulator, tmp_path: Path) -> None:
    work = Bench(X86, "strict", PLAN, KERNELS)
    native, bolt = jobs_of(*work)
    bench.collect(*work)
    ledger.forget(native.name, native.origin)
    row = bench.row(X86, "strict", "native", PLAN)
    ledgers = tmp_path / "bolt"
    ledgers.mkdir()
    (ledgers / "ledger.json").touch()
    (tmp_path / "log").write_text(
        "bolt: x86_64, strict: 1 of 1 guests failed\n"
        f"bolt: {native.name}: panic (log: a/console.log)\nbolt: go on: ./bolt bench\n"
    )
    failed = Ended(0, row, FAILURE, tmp_path), [native]
    lost = bench._joined(work, [failed, (Ended(1, row, 0, ledgers), [bolt])])
    assert isinstance(lost, UnfinishedError)
    assert lost.lines("again")[:3] == [
        "x86_64, strict: 1 of 2 guests failed",
        f"{native.name}: panic (log: a/console.log)",
        "no figures of native: offline1, online1",
    ]
    with pytest.raises(BoltError, match="exited with status 2: bolt: go on"):
        bench._joined(work, [(Ended(0, row, USAGE, tmp_path), [native])])
    # The guests of an element ended well, but a figure of native is wrong.
    (tmp_path / "log").write_text("bolt: x86_64 strict: native offline1 took 99 ms\n")
    with pytest.raises(BoltError, match="status 1: bolt: x86_64 strict: native offline1 took 99"):
        bench._joined(work, [failed])

# SPDX-License-Identifier: GPL-2.0-only
import dataclasses
import itertools
import shlex
import signal
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from qemu.qmp import EventListener

from boltlab import cli, kept, packages, paths, versions
from boltlab.commands import torture as cmd_torture
from boltlab.commands.torture import Field
from boltlab.engine import slurm
from boltlab.engine.rows import Row
from boltlab.errors import BoltError, EmulatorError
from boltlab.guest import busybox, qemu
from boltlab.guest.qemu import GuestResult
from boltlab.kernel import build, source, tree
from boltlab.kernel.build import Kernel
from boltlab.torture import matrix, planted, races, sightings, tally
from boltlab.torture.matrix import Case, Counts, Outcome
from boltlab.torture.planted import Bug

KERNEL = Kernel("x86_64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", Path("kernel"))
LINE = '{"output":"# actor batch asks=1 attempted=9 done=9 refused=0 wrong=0"}\n{"end":"ok"}\n'


@pytest.fixture
def guests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[qemu.Guest]:
    """Stand in for built kernels, and for guests that end well; return the guests that ran."""
    run: list[qemu.Guest] = []
    (tmp_path / "config").write_text("", encoding="utf-8")
    built = Kernel("x86_64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)

    async def boot(guest: qemu.Guest, name: str, **more: Any) -> GuestResult:
        run.append(guest)
        (more["folder"] / "results.jsonl").write_text(LINE, encoding="utf-8")
        return GuestResult(more["folder"], [])

    monkeypatch.setattr(packages, "ensure", lambda *args, **kwargs: None)
    monkeypatch.setattr(
        source, "resolve", lambda path: Namespace(id="x", version=versions.default())
    )
    monkeypatch.setattr(tree, "mark", lambda where: "c0ffee00")
    monkeypatch.setattr(build, "ensure_kernel", lambda *args: built)
    monkeypatch.setattr(build, "current", lambda arch, flavour, where: built)
    monkeypatch.setattr("boltlab.guest.selftest.build", lambda arch, tree, names: {})
    monkeypatch.setattr(qemu, "boot", boot)
    return run


def call(tmp_path: Path, *words: str) -> int:
    return cli.main(["torture", "--arch", "x86_64", "--results", str(tmp_path / "t.json"), *words])


@pytest.mark.parametrize(
    ("series", "words", "folder"),
    [
        ("6.12", (), ""),
        ("6.12", ("--version", "6.12"), ""),
        ("7.3", ("--version", "7.3"), "linux7.3"),
    ],
)
def test_a_series_has_its_own_counts(
    guests: list[qemu.Guest],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    series: str,
    words: tuple[str, ...],
    folder: str,
) -> None:
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    where = Namespace(id="x", version=versions.named(series))
    monkeypatch.setattr(source, "resolve", lambda path: where)
    chosen = ("--config", "production", "--scenario", "quiet", "--accel", "icount", "--seed", "5")
    assert cli.main(["torture", "--arch", "x86_64", *chosen, *words]) == 0
    assert [*tmp_path.rglob("torture.json")] == [tmp_path / folder / "torture.json"]
    # Runs on a source that is named by its path are added to the counts of the source's series.
    assert cli.main(["torture", "--arch", "x86_64", *chosen, "--source", str(tmp_path)]) == 0
    [cell] = tally.load(tmp_path / folder / "torture.json").cells.values()
    assert cell.runs == 2


def test_a_run_is_counted(guests: list[qemu.Guest], tmp_path: Path) -> None:
    words = ("--config", "production", "--scenario", "quiet", "--accel", "icount", "--seed", "5")
    assert call(tmp_path, *words) == 0
    assert call(tmp_path, *words) == 0
    assert [guest.seed for guest in guests] == [5, 5]
    book = tally.load(tmp_path / "t.json")
    cell = book.cells["production", "x86_64", "quiet"]
    assert (cell.runs, cell.attempted, cell.accels) == (2, 18, {"icount": 2})


def test_what_is_passed_over_is_counted(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (
        "[    0.065202] kcsan: selftest: 3/3 tests passed",
        "[    0.607846] BUG: KCSAN: data-race in virtqueue_get_buf_ctx+0x214/0x4e8",
    )

    async def boot(guest: qemu.Guest, name: str, **more: Any) -> GuestResult:
        (more["folder"] / "results.jsonl").write_text(LINE, encoding="utf-8")
        (more["folder"] / "console.log").write_text("\n".join(log), encoding="utf-8")
        return GuestResult(more["folder"], [])

    monkeypatch.setattr(qemu, "boot", boot)
    needs = matrix.configs()["kcsan"].needs
    (tmp_path / "config").write_text("\n".join(needs), encoding="utf-8")
    words = ("--config", "kcsan", "--scenario", "quiet", "--accel", "icount", "--seed", "5")
    assert call(tmp_path, *words) == 0
    assert tally.load(tmp_path / "t.json").cells["kcsan", "x86_64", "quiet"].ignored == 1


@pytest.mark.parametrize(
    ("series", "has", "lacks"),
    [("6.12", ["none", "voluntary"], ["lazy"]), ("7.3", ["lazy"], ["none", "voluntary"])],
)
def test_a_configuration_that_the_series_cannot_have_is_left_out(
    guests: list[qemu.Guest],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    series: str,
    has: list[str],
    lacks: list[str],
) -> None:
    """Linux 7.3 refuses preempt=none and preempt=voluntary; 6.12 has no preempt=lazy."""
    (version,) = (each for each in versions.load() if each.series == series)
    monkeypatch.setattr(source, "resolve", lambda path: Namespace(id="x", version=version))
    ran: list[str] = []

    def play(case: Case, kernel: Kernel) -> Outcome:
        ran.append(case.config.name)
        return Outcome(Counts(), 1, 1)

    monkeypatch.setattr(cmd_torture, "play", play)
    words = ("--scenario", "storm", "--runs", "6", "--config")
    assert call(tmp_path, *words, ",".join(f"preempt-{mode}" for mode in [*has, *lacks])) == 0
    assert set(ran) == {f"preempt-{mode}" for mode in has}
    for mode in lacks:
        assert call(tmp_path, *words, f"preempt-{mode}") == 2


def test_a_run_that_qemu_has_stopped_is_made_again(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that a known fault of QEMU stops is made again, at most twice.

    After a third stop the run is not counted, and the command fails in the end.
    """
    good = qemu.boot
    faults = [EmulatorError("QEMU has lost the EOI"), EmulatorError("again")]

    async def boot(guest: qemu.Guest, name: str, **more: Any) -> GuestResult:
        if faults:
            raise ExceptionGroup("beside", [faults.pop()])
        return await good(guest, name, **more)

    monkeypatch.setattr(qemu, "boot", boot)
    words = ("--config", "production", "--scenario", "storm", "--runs", "1")
    assert call(tmp_path, *words) == 0
    (cell,) = tally.load(tmp_path / "t.json").cells.values()
    assert (cell.runs, cell.failures) == (1, [])
    faults += [EmulatorError("again and again")] * 3
    assert call(tmp_path, *words) == 1
    (cell,) = tally.load(tmp_path / "t.json").cells.values()
    assert (cell.runs, cell.failures) == (1, [])
    # After the run that QEMU has stopped three times, which is not counted, the second run is made.
    faults += [EmulatorError("again and again")] * 3
    assert call(tmp_path, *words[:-1], "2") == 1
    (cell,) = tally.load(tmp_path / "t.json").cells.values()
    assert (cell.runs, cell.failures) == (2, [])


def test_a_night_goes_on_with_other_runs(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --resume, the run after one that QEMU's faults stopped is of another scenario.

    Although the stopped run is not in the ledger, the choice of the next run takes it into account.
    """
    tried: list[tuple[str, str]] = []

    def play(case: Case, kernel: Kernel) -> Outcome:
        tried.append((case.story.name, case.accel))
        raise EmulatorError("QEMU's faults have stopped three guests")

    monkeypatch.setattr(cmd_torture, "play", play)
    words = ("--config", "production", "--scenario", "quiet,storm", "--resume", "--runs", "4")
    assert call(tmp_path, *words) == 1
    assert {name for name, _ in tried[:2]} == {"quiet", "storm"}
    assert {*tried[:2]} & {*tried[2:]} == set()
    assert {name for name, _ in tried[2:]} == {"quiet", "storm"}
    assert tally.load(tmp_path / "t.json").cells == {}


def test_what_goes_wrong_beside_a_guest_fails_the_run(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def boot(guest: qemu.Guest, name: str, **more: Any) -> GuestResult:
        raise ExceptionGroup("beside", [BoltError("cannot stop a thread of the emulator")])

    monkeypatch.setattr(qemu, "boot", boot)
    assert call(tmp_path, "--config", "production", "--scenario", "paused", "--runs", "1") == 1
    (cell,) = tally.load(tmp_path / "t.json").cells.values()
    assert [each.why for each in cell.failures] == ["cannot stop a thread of the emulator"]


def test_cpus_are_paused_only_if_each_has_a_thread(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In virtual time one thread of QEMU runs all CPUs: a pause would stop the whole guest."""
    ran: list[str] = []

    def play(case: Case, kernel: Kernel) -> Outcome:
        ran.append(case.accel)
        return Outcome(Counts(), 1, 1)

    monkeypatch.setattr(cmd_torture, "play", play)
    words = ("--config", "production", "--scenario", "paused", "--runs", "3")
    assert call(tmp_path, *words) == 0
    assert ran == ["mttcg"] * 3
    assert call(tmp_path, *words, "--accel", "icount") == 2


@pytest.mark.parametrize("said", ["WARNING: build_sched_domains+0x4", ""])
def test_a_planted_bug_is_caught_or_missed(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setattr(planted, "kernel", lambda bug, arch, where, jobs: KERNEL if bug else None)
    monkeypatch.setattr(planted, "require_sound", lambda bug, arch, where, jobs: None)
    monkeypatch.setattr(planted, "check", lambda bug, arch, built: said)
    assert call(tmp_path, "--planted", "empty-domain") == (0 if said else 1)
    (verdict,) = planted.load(tmp_path / "planted.json")
    assert (verdict.name, verdict.caught) == ("empty-domain", bool(said))
    assert verdict.kernel == "c0ffee00"


def test_a_check_that_always_fails_catches_nothing(
    guests: list[qemu.Guest],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    complaints = {"half-undo": "", "settle-skipped-at-kexec": "the console does not show 'x'"}
    ran: list[str] = []

    def check(bug: Bug, arch: str, built: Kernel) -> str:
        ran.append(bug.name)
        return complaints[bug.name] or ("" if built == KERNEL else "undo")

    faulty = dataclasses.replace(KERNEL, stamp="faulty")
    monkeypatch.setattr(planted, "kernel", lambda bug, *_: faulty if bug else KERNEL)
    monkeypatch.setattr(planted, "check", check)
    assert call(tmp_path, "--planted", "half-undo,settle-skipped-at-kexec") == 1
    said = "without the bug, the check of settle-skipped-at-kexec fails: the console does not"
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "planted.json").exists()
    # A check that found nothing on the kernel without the bug is not run there again.
    ran.clear()
    assert call(tmp_path, "--planted", "half-undo") == 0
    assert ran == ["half-undo"]


def test_a_planted_bug_of_another_series_is_refused(
    guests: list[qemu.Guest], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, "--planted", "listed-when-online") == 2
    assert "none of these bugs is tried on 6.12 on " in capsys.readouterr().err


@pytest.fixture
def complaining(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every guest end with a complaint of its kernel."""

    async def boot(guest: qemu.Guest, name: str, **more: Any) -> GuestResult:
        raise BoltError("the guest's kernel complained: BUG")

    monkeypatch.setattr(qemu, "boot", boot)


def test_a_failure_is_counted_and_said(
    guests: list[qemu.Guest],
    complaining: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--config", "production", "--scenario", "quiet", "--accel", "icount", "--seed", "5")
    assert call(tmp_path, *words) == 1
    cell = tally.load(tmp_path / "t.json").cells["production", "x86_64", "quiet"]
    assert [failure.why for failure in cell.failures] == ["the guest's kernel complained: BUG"]
    said = capsys.readouterr().out.replace("\n", " ")
    assert f"repeat: {cell.failures[0].repeat}" in said
    # On a series other than the default one, the line that repeats the run, also in repeat.txt,
    # names the series.
    assert call(tmp_path, *words, "--version", "7.3") == 1
    repeat = f"{cell.failures[0].repeat} --version 7.3"
    found = tally.failures(tally.load(tmp_path / "t.json"))
    assert [failure.repeat for failure in found] == [cell.failures[0].repeat, repeat]
    folders = (paths.cache() / "runs").glob("*/repeat.txt")
    assert f"{repeat}\n" in [file.read_text(encoding="utf-8") for file in folders]


def test_a_run_whose_qemu_was_killed_on_a_cluster_does_not_count(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def boot(guest: qemu.Guest, name: str, **more: Any) -> GuestResult:
        qemu._reason(EventListener(), -signal.SIGKILL, more["folder"])
        raise AssertionError

    monkeypatch.setattr(qemu, "boot", boot)
    words = ("--config", "production", "--scenario", "quiet", "--seed", "5")
    assert call(tmp_path, *words) == 1
    (cell,) = tally.load(tmp_path / "t.json").cells.values()
    assert (cell.runs, cell.failures[0].why) == (1, "QEMU ended with status -9")
    # element.sh takes a status of 128 or more for that of an element that was killed.
    monkeypatch.setenv("SLURM_JOB_ID", "41")
    assert call(tmp_path, *words) == 137
    assert [each.runs for each in tally.load(tmp_path / "t.json").cells.values()] == [1]


def test_it_goes_on_until_the_time_is_over(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(step=15)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    assert (
        call(tmp_path, "--config", "production", "--scenario", "quiet,storm", "--minutes", "9") == 0
    )
    cells = tally.load(tmp_path / "t.json").cells
    assert {cell.scenario for cell in cells.values()} == {"quiet", "storm"}
    assert all(set(cell.accels) == {"mttcg", "icount"} for cell in cells.values())


def test_kernels_that_are_not_built_are_passed_over(
    guests: list[qemu.Guest],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build, "current", lambda *args: None)
    assert call(tmp_path, "--config", "rt", "--built") == 2
    assert "its kernel, rt, is not built" in capsys.readouterr().out
    # The kernel's configuration is empty, and so lacks what the configuration rt needs.
    assert call(tmp_path, "--config", "rt") == 1


def test_list_runs_nothing(
    guests: list[qemu.Guest], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, "--list") == 0
    said = capsys.readouterr().out
    assert all(name in said for name in (*matrix.configs(), *matrix.stories()))
    assert guests == []


def test_what_lacks_most_comes_first() -> None:
    configs, stories = matrix.configs(), matrix.stories()
    fields = [
        Field("x86_64", configs[config], stories[story], KERNEL)
        for config in ("production", "rt")
        for story in ("storm", "native")
    ]
    book = tally.Book()

    def survive(field: Field, requests: int) -> None:
        run = Case(field.arch, field.config, field.story, "icount", 1, requests)
        book.add(run, Outcome(Counts(requests, requests), 1, 1), "2026-01-01", "c0ffee")

    survive(fields[0], 20000)
    assert min(fields, key=lambda each: cmd_torture.lack(each, book)).config.name == "rt"
    survive(fields[2], 500)
    assert min(fields, key=lambda each: cmd_torture.lack(each, book)) == fields[3]
    survive(fields[2], 4500)
    survive(fields[3], 500)
    assert min(fields, key=lambda each: cmd_torture.lack(each, book)) == fields[1]
    # The kernel "c0ffee" has survived 20,000 requests in the configuration production and 5,000 in
    # rt: requests of the scenario native do not count.
    for least, kernel, first in ((5000, "c0ffee", 1), (5001, "c0ffee", 3), (1, "another", 1)):
        found = min(fields, key=lambda each: cmd_torture.lack(each, book, kernel, least))
        assert found == fields[first]


def test_what_counts_no_requests_is_not_first_for_ever() -> None:
    config, stories = matrix.configs()["production"], matrix.stories()
    book = tally.Book()
    fields = [
        Field("x86_64", config, stories[name], KERNEL) for name in ("cpu-on-off-bolt", "late")
    ]
    for _ in range(3):
        run = Case("x86_64", config, fields[0].story, "icount", 1, 300)
        book.add(run, Outcome(Counts(), 1, 1), "2026-01-01", "c0ffee")
    late = Case("x86_64", config, fields[1].story, "icount", 1, 300)
    book.add(late, Outcome(Counts(700, 700), 1, 1), "2026-01-01", "c0ffee")
    assert min(fields, key=lambda each: cmd_torture.lack(each, book)) == fields[1]


def test_unknown_names_are_usage_errors(tmp_path: Path) -> None:
    assert call(tmp_path, "--least", "3") == 2
    assert call(tmp_path, "--config", "nonsense") == 2
    assert call(tmp_path, "--scenario", "nonsense") == 2


def run_lines(ledgers: list[Path]) -> Any:
    """Return a function that runs elements one after the other, in place of a cluster."""

    def run(rows: list[Row], folder: Path, at_once: int | None) -> None:
        for number, row in enumerate(rows):
            place = folder / "done" / str(number)
            place.mkdir()
            words = shlex.split(row.command.replace("$LEDGER", str(place / "ledger.json")))
            assert words[:2] == ["./bolt", "torture"]
            status = cli.main(words[1:])
            (place / "status").write_text(f"{status}\n", encoding="utf-8")
            ledgers.append(place / "ledger.json")

    return run


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    ledgers: list[Path] = []
    monkeypatch.setattr(slurm, "require", lambda: None)
    monkeypatch.setattr(slurm, "run", run_lines(ledgers))
    return ledgers


def test_elements_of_a_matrix(guests: list[qemu.Guest], fleet: list[Path], tmp_path: Path) -> None:
    words = ("--config", "production", "--scenario", "quiet,storm", "--engine", "slurm")
    assert call(tmp_path, *words, "--runs", "4") == 0
    assert len(guests) == 4
    # The command's ledger has the counts of the ledgers of all its elements, put together.
    serial = tally.Book()
    for path in fleet:
        serial.merge(tally.load(path))
    assert tally.load(tmp_path / "t.json").dumps() == serial.dumps()
    assert [cell.runs for cell in serial.cells.values()] == [2, 2]
    assert {tuple(cell.accels) for cell in serial.cells.values()} == {("mttcg", "icount")}


def test_failures_of_elements_are_said(
    guests: list[qemu.Guest],
    fleet: list[Path],
    complaining: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--config", "production", "--scenario", "quiet", "--engine", "slurm", "--seed", "7")
    assert call(tmp_path, *words) == 1
    said = capsys.readouterr().out.replace("\n", " ")
    assert said.count("FAILED: the guest's kernel complained: BUG") == 2  # by element and command
    cell = tally.load(tmp_path / "t.json").cells["production", "x86_64", "quiet"]
    assert cell.failures[0].repeat.endswith("--seed 7 --requests 300")
    assert f"repeat: {cell.failures[0].repeat}" in said


def test_elements_that_a_fault_of_qemu_has_stopped_are_said(
    guests: list[qemu.Guest],
    fleet: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    why = "FAILED: QEMU's faults have stopped three guests"
    run = slurm.run

    def logged(rows: list[Row], folder: Path, at_once: int | None) -> None:
        run(rows, folder, at_once)
        for path in fleet:
            path.with_name("log").write_text(f"storm on x86_64\n{why}\nruns\n", encoding="utf-8")

    def play(case: Case, kernel: Kernel) -> Outcome:
        raise EmulatorError("in the element")

    monkeypatch.setattr(slurm, "run", logged)
    monkeypatch.setattr(cmd_torture, "play", play)
    words = ("--config", "production", "--scenario", "quiet", "--engine", "slurm", "--runs", "2")
    assert call(tmp_path, *words) == 1
    said = capsys.readouterr().out
    assert said.count(why) == 2
    assert said.count("repeat: ./bolt torture") == 4  # each run: by its element and by the command
    assert tally.load(tmp_path / "t.json").cells == {}


def test_what_has_ended_counts_when_the_cluster_fails(
    guests: list[qemu.Guest], fleet: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = slurm.run

    def half(rows: list[Row], folder: Path, at_once: int | None) -> None:
        run(rows[:1], folder, at_once)
        raise BoltError("Slurm does not answer")

    monkeypatch.setattr(slurm, "run", half)
    words = ("--config", "production", "--scenario", "quiet", "--engine", "slurm", "--runs", "3")
    assert call(tmp_path, *words) == 1
    assert tally.load(tmp_path / "t.json").cells["production", "x86_64", "quiet"].runs == 1


def test_a_matrix_on_a_cluster_has_no_end_in_time(guests: list[qemu.Guest], tmp_path: Path) -> None:
    for words in (("--minutes", "3"), ("--nightly",), ("--planted",)):
        assert call(tmp_path, "--engine", "slurm", *words) == 2
    assert call(tmp_path, "--at-once", "3") == 2


@pytest.mark.parametrize("word", cmd_torture.NOT_PLANTED)
def test_a_planted_bug_takes_no_options_of_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    values = {
        "accel": ["icount"],
        "resume": [],
        "config": ["production"],
        "scenario": ["quiet"],
    }
    assert call(tmp_path, "--planted", "half-undo", f"--{word}", *values.get(word, ["3"])) == 2
    said = capsys.readouterr().err
    assert f"--{word} is not for --planted" in said


@pytest.mark.parametrize("words", [("--minutes", "0"), ("--minutes", "nan"), ("--requests", "-1")])
def test_numbers_are_above_zero(
    guests: list[qemu.Guest],
    tmp_path: Path,
    words: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        call(tmp_path, *words)
    kind = "whole number" if words[0] == "--requests" else "number"
    assert f"'{words[1]}' is not a {kind} above 0" in capsys.readouterr().err
    assert guests == []


def test_so_many_runs_on_this_machine(guests: list[qemu.Guest], tmp_path: Path) -> None:
    assert call(tmp_path, "--config", "production", "--scenario", "quiet", "--runs", "3") == 0
    assert len(guests) == 3


def test_what_an_element_may_take() -> None:
    configs, stories = matrix.configs(), matrix.stories()
    case = Case("x86_64", configs["kasan"], stories["storm"], "icount", 1, 20)
    row = cmd_torture.row(case)
    assert row.line == case.line()
    assert row.command == f'{case.line()} --built --results "$LEDGER"'
    assert (row.cpus, row.group) == (1, "kasan x86_64")
    assert row.seconds > case.timeout
    assert row.memory > 2048
    assert cmd_torture.row(dataclasses.replace(case, accel="mttcg")).cpus == 2


RACE = """\
[    3.1][   T22] kcsan: selftest: 3/3 tests passed
[    3.2][   T22] BUG: KCSAN: data-race in rcutree_report / sync_state
[    3.2][   T22] write to 0xffff888007c2f6c0 of 8 bytes by task 22 on cpu 1:
[    3.2][   T22]  rcutree_report+0x3c/0x90
[    3.2][   T22]  cpuhp_invoke_callback+0x18e/0x480
[    3.2][   T22] read to 0xffff888007c2f6c0 of 8 bytes by task 3 on cpu 3:
[    3.2][   T22]  sync_state+0x44/0x1f0
"""


def racing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str, log: str = RACE
) -> list[str]:
    """Stand in for guests with KCSAN: ``log`` is on the console if ``where`` is in the run's name.

    The console of any other run has only the first line of ``log``. Returns a list to which each
    run adds its name.
    """
    names: list[str] = []

    async def boot(guest: qemu.Guest, name: str, **more: Any) -> GuestResult:
        names.append(more["folder"].name)
        (more["folder"] / "results.jsonl").write_text(LINE, encoding="utf-8")
        said = log if where in names[-1] else log.splitlines()[0]
        (more["folder"] / "console.log").write_text(said, encoding="utf-8")
        return GuestResult(more["folder"], [])

    monkeypatch.setattr(qemu, "boot", boot)
    needs = [*matrix.configs()["kcsan"].needs, "CONFIG_PM_DEBUG=y"]
    (tmp_path / "config").write_text("\n".join(needs), encoding="utf-8")
    monkeypatch.setattr(busybox, "ensure", lambda arch: tmp_path / "config")
    monkeypatch.setattr(Kernel, "tree", property(lambda self: tmp_path))
    script = tmp_path / matrix.stories()["cpu-on-off-bolt"].scripts[0]
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("", encoding="utf-8")
    (tmp_path / build.BUILT).write_text("stamp", encoding="utf-8")
    return names


def test_a_race_with_bolt_only_fails_until_it_is_seen_without(
    guests: list[qemu.Guest],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = racing(monkeypatch, tmp_path, "-bolt")
    clock = itertools.count(step=15)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    assert call(tmp_path, "--races", "--runs", "24") == 1
    both = [sum(side in name for name in run) for side in ("-native", "-bolt")]
    assert both[0] > both[1] > 0
    said = " ".join(capsys.readouterr().out.split())
    assert "FAILED: a race on x86_64: rcutree_report / sync_state (" in said
    assert "cpu 1: rcutree_report+0x3c/0x90 < cpuhp_invoke_callback+0x18e/0x480" in said
    assert "repeat: ./bolt torture --races --arch x86_64 --config kcsan --scenario " in said
    repeat = said.partition("repeat: ./bolt torture ")[2].partition(" arch ")[0].split()
    # The printed line repeats only the run that has shown the race, and finds the race again.
    again = racing(monkeypatch, tmp_path, "-bolt")
    assert call(tmp_path, *repeat[: repeat.index("--requests") + 2]) == 1
    assert len(again) == 1
    # If the repeated run does not show the race, the command succeeds.
    racing(monkeypatch, tmp_path, "nowhere")
    assert call(tmp_path, *repeat[: repeat.index("--requests") + 2]) == 0
    assert call(tmp_path, "--races", "--runs", "1") == 1
    racing(monkeypatch, tmp_path, "-native")
    assert call(tmp_path, "--races", "--scenario", "races-native", "--runs", "1") == 0
    assert "1 pairs without Bolt" in " ".join(capsys.readouterr().out.split())


def test_a_known_race_does_not_fail(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    racing(monkeypatch, tmp_path, "-bolt")
    words = ("--races", "--scenario", "races-bolt", "--runs", "1")
    assert call(tmp_path, *words) == 1
    monkeypatch.setattr(races, "known", lambda: {("rcutree_report", "sync_state"): "harmless"})
    assert call(tmp_path, *words) == 0


def test_races_are_looked_for_until_the_time_is_over(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = racing(monkeypatch, tmp_path, "nowhere")
    clock = itertools.count(step=15)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    assert call(tmp_path, "--races", "--minutes", "9") == 0
    # For each run the command reads the clock three times: before the run, after the run, and to
    # see whether the time is over.
    assert 1 < len(run) <= 9 * 60 / 45


def test_a_run_that_fails_fails_the_command(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    racing(monkeypatch, tmp_path, "nowhere", "kcsan: selftest: 2/3 tests passed\n")
    assert call(tmp_path, "--races", "--scenario", "races-native", "--runs", "1") == 1
    assert sightings.load(tmp_path / "races.json").spans["x86_64", "races-native"].failed == 1


def test_wrong_uses_of_races(
    guests: list[qemu.Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (
        ("--config", "production"),
        ("--scenario", "storm"),
        ("--seed", "3"),
        ("--engine", "slurm"),
    ):
        assert call(tmp_path, "--races", *words) == 2
    for word in ("--planted", "--nightly"):
        with pytest.raises(SystemExit, match="2"):
            call(tmp_path, "--races", word)
    # The kernel's configuration is empty, and so lacks what --races needs.
    assert call(tmp_path, "--races", "--runs", "1") == 1
    monkeypatch.setattr(build, "current", lambda *args: None)
    assert call(tmp_path, "--races", "--built") == 1
    assert call(tmp_path, "--races", "--list") == 0
    assert guests == []

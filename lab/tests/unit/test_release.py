# SPDX-License-Identifier: GPL-2.0-only
"""The steps of a release check, how a check goes on where the last check ended, and the page."""

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from boltlab import cli, coverage, kept, packages, paths, versions
from boltlab.bench import results
from boltlab.boot import bootfile
from boltlab.errors import INTERRUPTED, BoltError
from boltlab.git import measured
from boltlab.kernel import tree
from boltlab.release import page, steps
from boltlab.torture import matrix, planted, tally
from boltlab.torture.matrix import Case, Counts, Outcome
from boltlab.torture.planted import Verdict

WHOLE = paths.REPO / "results" / "2026-11-22-x86_64-strict.json"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository whose ``bolt`` notes its arguments, and fails while the file bad exists."""
    repo = tmp_path / "clone"
    for part in steps.PARTS:
        (repo / part).mkdir(parents=True)
        (repo / part / "file").write_text("1\n")
    (repo / "bolt").write_text(
        f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\n[ ! -e {tmp_path}/bad ]\n'
    )
    (repo / "bolt").chmod(0o755)
    git(repo, "init", "-q")
    commit(repo)
    monkeypatch.setattr(paths, "REPO", repo)
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    monkeypatch.setattr(steps, "ENDS", {"goals": lambda version, least: []})
    return repo


def git(repo: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@y.invalid")
    subprocess.run(["git", *who, *words], cwd=repo, check=True)


def commit(repo: Path) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "x")


def asked(tmp_path: Path) -> list[str]:
    file = tmp_path / "asked"
    found = [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []
    file.unlink(missing_ok=True)
    return found


def test_the_table(tmp_path: Path) -> None:
    table = steps.load()
    hours = [step.hours for step in table.values()]
    assert hours == sorted(hours)  # the shortest step comes first
    for step in table.values():
        name, *words = shlex.split(step.command.format(folder=tmp_path, least=step.least))
        parser = cli._Parser(prog=name)
        cli.load(name).add_arguments(parser)
        words += ["--version", "7.3"] if step.of_kernel else []
        parser.parse_args(words)
        parser.parse_args([*words, *step.again.split()])


def test_wrong_tables(tmp_path: Path) -> None:
    file = tmp_path / "release.toml"
    for text, said in (
        ("hours = 1\ncommands = 'x'", "unknown key 'commands'"),
        ("what = 'x'\ncommand = 'x'\nhours = 1\nuntil = 'dawn'", "there is no condition 'dawn'"),
        ("what = 'x'", "missing"),
    ):
        file.write_text(f"[lint]\n{text}\n")
        with pytest.raises(BoltError, match=f"release step lint: .*{said}"):
            steps.load(file)


def test_it_ends_at_the_first_failure_and_goes_on_there(
    clone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["release-check", "--only", "lint,test,nightly", "--page", str(tmp_path / "page.md")]
    (tmp_path / "bad").touch()
    assert cli.main(words) == 1
    assert asked(tmp_path) == ["lint"]
    said = capsys.readouterr().out.replace("\n", "")
    assert "lint: FAILED" in said
    assert "lint.log" in said
    assert (
        "| lint | linters, checkpatch, sign-offs | failed |" in (tmp_path / "page.md").read_text()
    )
    (tmp_path / "bad").unlink()
    assert cli.main(words) == 0
    assert asked(tmp_path) == ["lint", "test", "test"]
    # A step that has passed is not run again without --again, unless the step runs always.
    assert cli.main(words) == 0
    assert asked(tmp_path) == ["lint"]
    assert cli.main([*words, "--again"]) == 0
    assert asked(tmp_path) == ["lint", "test", "test"]
    # A step that has passed runs again after a change of the kernel, not after one of documents.
    (clone / "README").write_text("x\n")
    commit(clone)
    assert cli.main(words) == 0
    assert asked(tmp_path) == ["lint"]
    (clone / "kernel" / "file").write_text("2\n")
    commit(clone)
    assert cli.main(words) == 0
    assert asked(tmp_path) == ["lint", "test", "test"]


def test_a_document_that_became_wrong_is_found(clone: Path, tmp_path: Path) -> None:
    words = ["release-check", "--only", "documents,test"]
    assert cli.main(words) == 0
    only = " ".join([*shlex.split(steps.load()["documents"].command), "--version 6.12"])
    assert (tmp_path / "asked").read_text() == f"{only}\ntest --version 6.12\n"
    (tmp_path / "bad").touch()
    assert cli.main(words) == 1
    assert (tmp_path / "asked").read_text().splitlines()[2:] == [only]


def test_a_step_with_an_end_is_called_until_then(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter([["a", "b"], ["a", "b"], ["a"], ["a"], ["a"]])
    monkeypatch.setattr(steps, "ENDS", {"goals": lambda version, least: next(left, [])})
    assert cli.main(["release-check", "--only", "torture"]) == 0
    assert asked(tmp_path) == ["torture", "torture"]
    # With --again the command is called although the end is reached.
    assert cli.main(["release-check", "--only", "torture", "--again"]) == 0
    assert asked(tmp_path) == ["torture"]


def test_a_step_that_failed_does_not_pass_by_itself(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed call that has reached the goals does not end the step: the step is called again."""
    left = iter([["a"], ["a"]])
    monkeypatch.setattr(steps, "ENDS", {"goals": lambda version, least: next(left, [])})
    (tmp_path / "bad").touch()
    words = ["release-check", "--only", "torture"]
    assert cli.main(words) == 1
    assert cli.main(words) == 1
    assert asked(tmp_path) == ["torture", "torture"]
    (tmp_path / "bad").unlink()
    assert cli.main(words) == 0
    assert cli.main(words) == 0
    assert asked(tmp_path) == ["torture"]


def test_a_bench_that_failed_goes_on(clone: Path, tmp_path: Path) -> None:
    def lines() -> list[str]:
        text = (tmp_path / "asked").read_text()
        (tmp_path / "asked").unlink()
        return [line.split(" ", 1)[1] for line in text.splitlines()]

    words = ["release-check", "--only", "bench"]
    usual = f"--arch all --json {steps.folder(versions.default())}/bench.json"
    of = "--version 6.12"
    (tmp_path / "bad").touch()
    assert cli.main(words) == 1
    assert lines() == [f"{usual} {of}"]
    assert cli.main(words) == 1
    assert lines() == [f"{usual} --resume {of}"]
    # If no figures of a bench are kept, ./bolt bench refuses --resume as a wrong use. Then the step
    # calls ./bolt bench without --resume.
    (clone / "bolt").write_text(
        f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\ncase $* in *resume*) exit 2; esac\n'
    )
    assert cli.main(words) == 0
    assert lines() == [f"{usual} --resume {of}", f"{usual} {of}"]


def test_a_bench_that_was_interrupted_goes_on(
    clone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["release-check", "--only", "boot-bench", "--page", str(tmp_path / "page.md")]
    (clone / "bolt").write_text(
        f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\ncase $* in *resume*) exit 0; esac\nexit 130\n'
    )
    assert cli.main(words) == INTERRUPTED
    what = "boots of small and large machines, both architectures"
    assert f"| boot-bench | {what} | begun |" in (tmp_path / "page.md").read_text()
    capsys.readouterr()
    assert cli.main(["release-check", "--list"]) == 0
    assert " begun " in capsys.readouterr().out
    assert cli.main(words) == 0
    lines = (tmp_path / "asked").read_text().splitlines()
    assert ["--resume" in line for line in lines] == [False, True]
    # An interruption takes nothing from what is recorded, and --again makes all figures anew.
    (clone / "bolt").write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\nexit 130\n')
    for _ in range(2):
        assert cli.main([*words, "--again"]) == INTERRUPTED
        assert f"| boot-bench | {what} | passed |" in (tmp_path / "page.md").read_text()
    assert cli.main(words) == 0
    lines = (tmp_path / "asked").read_text().splitlines()
    assert ["--resume" in line for line in lines] == [False, True, False, False]


def test_a_check_that_is_killed_leaves_a_step_that_has_begun(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, bench = steps.folder(versions.default()), steps.load()["bench"]
    seen = []

    def call(*args: object) -> int:
        seen.append(steps.begun(bench, place))  # what a kill at this moment would leave
        return 0

    monkeypatch.setattr(packages, "call", call)
    assert not steps.begun(bench, place)
    assert cli.main(["release-check", "--only", "bench"]) == 0
    assert seen == [True]
    assert not steps.begun(bench, place)


@pytest.mark.parametrize("committed", [True, False])
def test_sources_that_change_meanwhile(
    clone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], committed: bool
) -> None:
    """The step that ran meanwhile is not recorded, and the page names the commit at the start."""
    page_file = tmp_path / "page.md"
    words = ["release-check", "--only", "bench,test", "--page", str(page_file)]
    begin = measured()
    place = steps.folder(versions.default())
    more = "git -c user.name=x -c user.email=x@y.invalid commit -qam x" if committed else "true"
    (clone / "bolt").write_text(f"#!/bin/sh\ncd {clone}\necho 2 >>lab/file\n{more}\n")
    assert cli.main(words) == (1 if committed else 2)
    said = "counts for nothing: the sources changed" if committed else "is not what was committed"
    assert said in capsys.readouterr().err.replace("\n", " ")
    assert f"* Bolt: commit {begin}\n" in page_file.read_text()
    assert steps.state(place) == {}


def test_an_interruption_adds_no_call_of_torture(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torture was interrupted after it had reached its goals: the next check lets it pass."""
    left = iter([["a"], ["a"]])
    monkeypatch.setattr(steps, "ENDS", {"goals": lambda version, least: next(left, [])})
    (clone / "bolt").write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\nexit 130\n')
    words = ["release-check", "--only", "torture"]
    assert cli.main(words) == INTERRUPTED
    assert cli.main(words) == 0
    assert asked(tmp_path) == ["torture"]


def test_wrong_calls(
    clone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["release-check", "--only", "sleep"]) == 2
    assert "no step 'sleep' (there are: lint, documents, bench," in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        cli.main(["release-check", "--page", str(tmp_path / "none" / "page.md")])
    assert ended.value.code == 2
    (clone / "lab" / "file").write_text("2\n")
    assert cli.main(["release-check"]) == 2
    assert "lab/file is not what was committed" in capsys.readouterr().err
    monkeypatch.setattr(paths, "REPO", tmp_path)
    assert cli.main(["release-check"]) == 2
    assert "no clone of the repository" in capsys.readouterr().err
    assert asked(tmp_path) == []


def test_a_damaged_state(clone: Path) -> None:
    place = steps.folder(versions.default())
    (place / "state.json").write_text('{"lint": {"status": 0}}')
    with pytest.raises(BoltError, match="is no state of a release check"):
        steps.state(place)


def test_list_runs_nothing(clone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["release-check", "--list"]) == 0
    assert asked(tmp_path) == []
    assert capsys.readouterr().out.count("not run") == len(steps.load())
    assert cli.main(["release-check", "--list", "--only", "bench,test"]) == 0
    assert capsys.readouterr().out.count("not run") == 2


def test_goals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    default = versions.default()
    every = [
        (config, arch)
        for config in matrix.configs().values()
        if config.is_of(default.series)
        for arch in config.arches
    ]
    assert len(steps.lacking(default, 0)) == len(every)
    book = tally.Book()
    story = matrix.stories()["storm"]
    for config, arch in every:
        less = 1 if (config.name, arch) == ("kasan", "arm64") else 0
        counts = Counts(config.goal - less, config.goal - less)
        book.add(
            Case(arch, config, story, "icount", 1, 1), Outcome(counts, 1, 1), "2026-01-01", "x"
        )
    book.save(tmp_path / "torture.json")
    assert steps.lacking(default, 0) == ["kasan arm64"]
    # The runs were made with other code of Bolt: the present code has survived no request yet.
    assert len(steps.lacking(default, 1)) == len(every)
    run = Case("arm64", matrix.configs()["rt"], story, "icount", 1, 1)
    present = tree.mark(default)
    book.add(run, Outcome(Counts(7, 7), 1, 1), "2026-01-02", present)
    book.save(tmp_path / "torture.json")
    for least, lacks in ((7, False), (8, True)):
        assert ("rt arm64" in steps.lacking(default, least)) == lacks
        (line,) = [row for row in page.torture(default, least) if row.startswith("| rt | arm64 |")]
        assert line.split(" | ")[2:] == [
            "1007", "1000", "7", "**open**" if lacks else "", "0", "2", "0 |",
        ]  # fmt: skip


def test_figures_against_the_last(tmp_path: Path) -> None:
    last = results.load(WHOLE)
    slower = [
        replace(case, variants={"bolt": replace(case.variants["bolt"], median=old * 1.1)})
        for case in last.cases
        if case.case == "offline1" and (old := case.variants["bolt"].median)
    ]
    rows = page.compare(last, replace(last, cases=[*slower, *last.cases[1:2]]))
    assert [row[0] for row in rows] == ["offline1", "online1"]
    assert rows[0][4] == "+10.0% **more**"
    assert rows[1][1:3] == ["1 of 4", rows[1][3]]
    assert rows[1][4] == "+0.0%"
    results.save(last, tmp_path / "bench-x86_64-strict.json")
    default = versions.default()
    assert any(line.startswith("| offline1 | 1 of 4 |") for line in page.figures(tmp_path, default))
    assert page.figures(tmp_path / "nothing", default) == ["Not measured."]
    newer = "\n".join(page.figures(tmp_path, versions.named("7.3")))
    assert "x86_64-strict-linux7.3.json" in newer


def test_boots_against_the_last(tmp_path: Path) -> None:
    last = bootfile.load(kept.find("2026-11-29-arm64-boot"))
    slower = [replace(boot, booted=boot.booted * (1 + (boot.cpus > 1))) for boot in last.boots]
    rows = page.compare_boots(last, replace(last, boots=slower))
    assert rows
    assert all(row[4].endswith(" **more**") for row in rows)
    assert {row[4] for row in page.compare_boots(last, last)} == {"+0.0%"}
    # A size or a variant that was not booted the last time has no row.
    largest = bootfile.sizes(last)[-1]
    fewer = [boot for boot in last.boots if (boot.cpus, boot.nodes) != largest]
    rows = page.compare_boots(replace(last, boots=fewer), last)
    assert f"{largest[0]}/{largest[1]}" not in {row[1] for row in rows}
    bootfile.save(last, tmp_path / "boot-arm64.json")
    default = versions.default()
    lines = page.boots(tmp_path, default)
    assert lines[0].endswith("-arm64-boot.json`")
    assert any(line.startswith("| native | 128/") for line in lines)
    assert page.boots(tmp_path / "nothing", default) == ["Not measured."]
    assert "arm64-boot-linux7.3.json" in page.boots(tmp_path, versions.named("7.3"))[0]


def test_planted_bugs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    file = tmp_path / "planted.json"
    default = versions.default()
    first, *_ = page.bugs(default)
    assert first.startswith("0 of ")
    verdicts = [("half-undo", True), ("late-push", False)]
    planted.save(
        file, [Verdict(name, "x86_64", caught, "", "2026-01-01") for name, caught in verdicts]
    )
    first, _, *others = page.bugs(default)
    assert first.startswith("1 of ")
    assert first.endswith("bugs were found, 0 of them in the present code.")
    planted.save(file, [Verdict("half-undo", "x86_64", True, "", "d", tree.mark(default))])
    assert page.bugs(default)[0].endswith("bugs were found, 1 of them in the present code.")
    assert "* missed: late-push, x86_64" in others
    assert not [line for line in others if "half-undo, x86_64" in line]
    newer = page.bugs(versions.named("7.3"))
    assert "* never run: half-undo, x86_64" in newer
    assert not [line for line in newer if "successor-in-batch" in line]


def test_open_rows() -> None:
    def row(figure: str) -> coverage.Row:
        return coverage.Row("1", "this", (), ("./bolt test",), "2026-01-01", figure)

    figures = ["open: not run", "x86_64 passed, the rest open", "opened a file; open a file", ""]
    assert page.rows(map(row, figures)) == [
        "* 1: this: open: not run",
        "* 1: this: x86_64 passed, the rest open",
    ]
    assert page.rows([]) == ["None."]

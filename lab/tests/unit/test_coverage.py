# SPDX-License-Identifier: GPL-2.0-only
"""docs/coverage.md: its rows, what each row needs, and which rows a run of the tests has shown."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from boltlab import coverage, packages, paths, versions
from boltlab.errors import BoltError

HEAD = "| step | requirement | shown by | last run | figure |\n|---|---|---|---|---|\n"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return what the machine has of "this" and "that", which rows may need: nothing at first."""
    there: set[str] = set()

    def has(name: str) -> Callable[[], bool]:
        return lambda: name in there

    monkeypatch.setattr(coverage, "needs", lambda: {name: has(name) for name in ("this", "that")})
    return there


def row(folder: Path, shown: str) -> coverage.Row:
    file = folder / "coverage.md"
    file.write_text(f"{HEAD}| 1 | it works | {shown} | 2026-01-01 | |\n")
    (found,) = coverage.load(file)
    return found


def test_the_repository() -> None:
    assert [row for row in coverage.load() if row.needs]


def test_the_tests_of_the_repository_exist() -> None:
    for row in coverage.load():
        for test in row.tests:
            file, *_, name = test.partition("[")[0].split("::")
            text = (paths.REPO / "lab/tests" / file).read_text(encoding="utf-8")
            assert re.search(rf"\bdef {name}\(", text), test


def test_a_row_says_what_it_needs(tmp_path: Path, machine: set[str]) -> None:
    whole = row(tmp_path, "`a.py::one`, `./bolt demo` (needs this, that)")
    assert (whole.tests, whole.commands) == (("a.py::one",), ("./bolt demo",))
    assert whole.needs == ("this", "that")
    assert whole.lacking() == ["this", "that"]
    machine.add("this")
    assert whole.lacking() == ["that"]
    assert row(tmp_path, "`a.py::one`").needs == ()


@pytest.mark.parametrize(
    ("shown", "error"),
    [
        ("`a.py::one` (needs a miracle)", "nothing is known of the need 'a miracle'"),
        ("`a.py::one` (needs this,that)", "nothing is known of the need 'this,that'"),
        ("(needs this)", "'shown by' must have tests or commands"),
        ("`make`", "'shown by' must have tests or commands"),
        ("`a.py::one` | x", "6 columns, not 5"),
    ],
)
def test_wrong_rows(tmp_path: Path, machine: set[str], shown: str, error: str) -> None:
    with pytest.raises(BoltError, match=f"coverage.md:3: {error}"):
        row(tmp_path, shown)


@pytest.mark.parametrize(
    ("outcomes", "lacks", "gaps", "not_run"),
    [
        ({"a.py::one": "passed", "a.py::two[x]": "passed"}, True, [], False),
        ({"a.py::one": "passed", "a.py::two[x]": "skipped"}, True, [], True),
        ({"a.py::one": "passed", "a.py::two[x]": "skipped"}, False, ["a.py::two: skipped"], False),
        ({"a.py::one": "failed", "a.py::two[x]": "skipped"}, True, ["a.py::one: failed"], True),
        ({"a.py::one": "passed"}, True, ["a.py::two: missing"], False),
        (
            {"a.py::one": "passed", "a.py::two[x]": "skipped", "a.py::two[y]": "failed"},
            True,
            ["a.py::two: failed"],
            True,
        ),
    ],
)
def test_what_a_run_has_shown(
    tmp_path: Path,
    machine: set[str],
    outcomes: dict[str, str],
    lacks: bool,
    gaps: list[str],
    not_run: bool,
) -> None:
    """If the machine lacks what a row needs, a skipped test is no gap.

    A failed or missing test always is a gap.
    """
    rows = [row(tmp_path, "`a.py::one`, `a.py::two` (needs this, that)")]
    machine |= {"that"} if lacks else {"this", "that"}
    assert coverage.gaps(rows, outcomes) == [f"{gap} (it works)" for gap in gaps]
    assert coverage.not_run(rows, outcomes) == ["it works: not run (needs this)"] * not_run


def test_a_row_without_needs(tmp_path: Path) -> None:
    rows = [row(tmp_path, "`a.py::one`")]
    assert coverage.gaps(rows, {"a.py::one": "skipped"}) == ["a.py::one: skipped (it works)"]
    assert coverage.not_run(rows, {"a.py::one": "skipped"}) == []


def test_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row may need facts of the machine, packages that the lab knows, and a series' source."""
    monkeypatch.setattr(versions, "DEBIAN_SOURCES", tmp_path)
    coverage.needs.cache_clear()
    known = coverage.needs()
    coverage.needs.cache_clear()
    assert {"root", "systemd", "CPU hotplug", "zsh"} <= set(known)
    assert known["zsh"]() == (packages.which("zsh") is not None)
    for version in versions.load():
        assert not known[version.package]()
        version.tarball.touch()
        assert known[version.package]()


def test_the_plugin(tmp_path: Path, machine: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A skipped test of a row fails the run, unless the machine lacks what the row needs."""
    rows = [row(tmp_path, "`test_a.py::test_one` (needs this)")]
    (tmp_path / "test_a.py").write_text("import pytest\n\ndef test_one():\n    pytest.skip('no')\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    words = ["-c", str(tmp_path / "pytest.ini"), "-p", "no:xdist", "-p", "no:cacheprovider"]
    words += ["--import-mode=importlib", str(tmp_path)]
    assert pytest.main(words, plugins=[coverage.Plugin(rows, Path())]) == pytest.ExitCode.OK
    assert "\nit works: not run (needs this)\n" in capsys.readouterr().out
    machine.add("this")
    status = pytest.main(words, plugins=[coverage.Plugin(rows, Path())])
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "\ntest_a.py::test_one: skipped (it works)\n" in capsys.readouterr().out

# SPDX-License-Identifier: GPL-2.0-only
"""Reads docs/coverage.md: a row for every requirement, and the tests that show it is met.

A row's third column holds, each in backquotes, tests below lab/tests, with or without their
parameters, and ``./bolt`` commands that take too long for ``./bolt test``. A run of the whole suite
fails unless every test that the file names has run and passed. Behind the tests a row may say what
the tests need, as in "(needs root, zsh)": a fact of FACTS, or a Debian package of packages.toml or
versions.toml. On a machine without the fact or the package, the tests of the row may be skipped.
"""

import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from boltlab import packages, paths, versions
from boltlab.errors import BoltError

FILE = paths.REPO / "docs" / "coverage.md"
COLUMNS = ("step", "requirement", "shown by", "last run", "figure")

_QUOTED = re.compile(r"`([^`]+)`")
_NEEDS = re.compile(r"\(needs ([^()`]+)\)$")

# What a test may need of the machine besides packages -> function that tells whether the machine
# has it.
FACTS: Mapping[str, Callable[[], bool]] = {
    "root": lambda: os.geteuid() == 0,
    "systemd": lambda: packages.which("systemd-analyze") is not None,
    "CPU hotplug": lambda: any(Path("/sys/devices/system/cpu").glob("cpu[1-9]*/online")),
}


@dataclass(frozen=True)
class Row:
    """One requirement, and the tests (ids below lab/tests) and commands that show it is met.

    ``needs`` are what the tests need of a machine, by the names of needs().
    """

    step: str
    requirement: str
    tests: tuple[str, ...]
    commands: tuple[str, ...]
    last_run: str
    figure: str
    needs: tuple[str, ...] = ()

    def lacking(self) -> list[str]:
        """Return which of ``needs`` this machine lacks."""
        return [name for name in self.needs if not needs()[name]()]


@functools.cache
def needs() -> Mapping[str, Callable[[], bool]]:
    """Return each need that a row may name -> function that tells whether this machine has it."""
    there = {need.package: need.present for need in packages.table()}
    sources = {version.package: version.tarball.is_file for version in versions.load()}
    return {**FACTS, **there, **sources}


def load(file: Path = FILE) -> list[Row]:
    """Return the rows of ``file``; raise BoltError naming the first row that is malformed."""
    rows = []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BoltError(f"cannot read {file}: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or cells[0].lower() == COLUMNS[0] or set(cells[0]) == {"-"}:
            continue
        if len(cells) != len(COLUMNS):
            raise BoltError(f"{file.name}:{number}: {len(cells)} columns, not {len(COLUMNS)}")
        shown = _QUOTED.findall(cells[2])
        tests = tuple(each for each in shown if "::" in each)
        commands = tuple(each for each in shown if each.startswith("./bolt "))
        if not shown or len(tests) + len(commands) != len(shown):
            raise BoltError(
                f"{file.name}:{number}: 'shown by' must have tests or commands of bolt, and "
                "nothing else, in backquotes"
            )
        named = _NEEDS.search(cells[2])
        wanted = tuple(named[1].split(", ")) if named else ()
        if unknown := sorted(set(wanted) - set(needs())):
            raise BoltError(f"{file.name}:{number}: nothing is known of the need '{unknown[0]}'")
        if not cells[0]:
            raise BoltError(f"{file.name}:{number}: the row has no step")
        if not cells[3]:
            raise BoltError(f"{file.name}:{number}: the row has no date of a run")
        rows.append(Row(cells[0], cells[1], tests, commands, cells[3], cells[4], wanted))
    if not rows:
        raise BoltError(f"{file.name} has no rows")
    return rows


def gaps(rows: Iterable[Row], outcomes: Mapping[str, str]) -> list[str]:
    """Return a line for every test of ``rows`` that did not run and pass.

    ``outcomes`` maps the id of each test of the run to "passed", "failed" or "skipped". A test that
    was skipped is no gap if its row needs what the machine lacks: not_run() lists such rows.
    """
    found = []
    for row in rows:
        for test in row.tests:
            matching = _matching(test, outcomes)
            bad = [got for got in matching if got != "passed"]
            excused = set(bad) == {"skipped"} and row.lacking()
            if not matching or (bad and not excused):
                worst = "failed" if "failed" in bad else bad[0] if bad else "missing"
                found.append(f"{test}: {worst} ({row.requirement})")
    return found


def not_run(rows: Iterable[Row], outcomes: Mapping[str, str]) -> list[str]:
    """Return a line for every row that needs what the machine lacks, and has a skipped test."""
    return [
        f"{row.requirement}: not run (needs {', '.join(row.lacking())})"
        for row in rows
        if any("skipped" in _matching(test, outcomes) for test in row.tests) and row.lacking()
    ]


def _matching(test: str, outcomes: Mapping[str, str]) -> list[str]:
    return [got for name, got in outcomes.items() if _names(test, name)]


def _names(test: str, run: str) -> bool:
    return run == test or ("[" not in test and run.startswith(f"{test}["))


class Plugin:
    """Fails a run of the whole suite if gaps() finds that the coverage table has a gap."""

    def __init__(self, rows: list[Row], root: Path) -> None:
        self.rows = rows
        self.root = root
        self.outcomes: dict[str, str] = {}
        self.found: list[str] = []
        self.not_run: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember for each test the first outcome that is not "passed", or else "passed".

        A test has up to three outcomes: those of its setup, call and teardown.
        """
        name = report.nodeid.removeprefix(f"{self.root.as_posix()}/")
        if self.outcomes.get(name) in (None, "passed"):
            self.outcomes[name] = report.outcome

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Compare the tests that ran with docs/coverage.md, and fail the run if there are gaps."""
        self.found = gaps(self.rows, self.outcomes)
        self.not_run = not_run(self.rows, self.outcomes)
        if self.found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the requirements that this run does not, or this machine cannot, show to be met."""
        for title, lines in (
            ("docs/coverage.md: not run on this machine", self.not_run),
            ("docs/coverage.md: not shown by this run", self.found),
        ):
            if lines:
                terminalreporter.section(title)
            for line in lines:
                terminalreporter.line(line)

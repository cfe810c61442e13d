# SPDX-License-Identifier: GPL-2.0-only
"""Reads docs/coverage.md: a row for every requirement, and the tests that show it is met.

A row's third column holds in backquotes either a test below lab/tests, with or without its
parameters, or a ``./bolt`` command that takes too long for ``./bolt test``. A run of the whole
suite fails unless every test that the file names has run and passed.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from boltlab import paths
from boltlab.errors import BoltError

FILE = paths.REPO / "docs" / "coverage.md"
COLUMNS = ("step", "requirement", "shown by", "last run", "figure")

_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Row:
    """One requirement, and the tests (ids below lab/tests) and commands that show it is met."""

    step: str
    requirement: str
    tests: tuple[str, ...]
    commands: tuple[str, ...]
    last_run: str
    figure: str


def load(file: Path = FILE) -> list[Row]:
    """Return the rows of ``file``; BoltError naming the first that is malformed."""
    rows = []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BoltError(f"cannot read {file}: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or cells[0].lower() == COLUMNS[0] or set(cells[0]) <= {"-"}:
            continue
        if len(cells) != len(COLUMNS):
            raise BoltError(f"{file.name}:{number}: {len(cells)} columns, not {len(COLUMNS)}")
        shown = _QUOTED.findall(cells[2])
        tests = tuple(each for each in shown if "::" in each)
        commands = tuple(each for each in shown if each.startswith("./bolt "))
        if not shown or len(tests) + len(commands) != len(shown):
            raise BoltError(f"{file.name}:{number}: names neither a test nor a command of bolt")
        if not cells[3]:
            raise BoltError(f"{file.name}:{number}: was never run")
        rows.append(Row(cells[0], cells[1], tests, commands, cells[3], cells[4]))
    if not rows:
        raise BoltError(f"{file.name} has no rows")
    return rows


def gaps(rows: Iterable[Row], outcomes: Mapping[str, str]) -> list[str]:
    """Return a line for every test of ``rows`` that did not run and pass.

    ``outcomes`` maps the id of each test that was run to "passed", "failed" or "skipped".
    """
    found = []
    for row in rows:
        for test in row.tests:
            matching = [got for name, got in outcomes.items() if _names(test, name)]
            bad = [got for got in matching if got != "passed"]
            if not matching or bad:
                found.append(f"{test}: {bad[0] if bad else 'missing'} ({row.requirement})")
    return found


def _names(test: str, run: str) -> bool:
    return run == test or ("[" not in test and run.startswith(f"{test}["))


class Plugin:
    """Fails a run of the whole suite if a test that the coverage table names has not passed."""

    def __init__(self, rows: list[Row], root: Path) -> None:
        self.rows = rows
        self.root = root
        self.outcomes: dict[str, str] = {}
        self.found: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember how each test ended: the worst outcome of its setup, call and teardown."""
        name = report.nodeid.removeprefix(f"{self.root.as_posix()}/")
        if self.outcomes.get(name) in (None, "passed"):
            self.outcomes[name] = report.outcome

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Compare the tests that ran with the table."""
        self.found = gaps(self.rows, self.outcomes)
        if self.found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print which rows of the table this run does not show."""
        if self.found:
            terminalreporter.section("docs/coverage.md: not shown by this run")
        for line in self.found:
            terminalreporter.line(line)

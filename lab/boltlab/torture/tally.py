# SPDX-License-Identifier: GPL-2.0-only
"""Keeps the counts of all runs of torture in one small JSON file, to which each run is added."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from boltlab import codec
from boltlab.tables import Column
from boltlab.torture import matrix
from boltlab.torture.matrix import Case, Config, Outcome

KIND = "torture"
KEEP_FAILURES = 20  # how many failures of a cell are kept, the newest ones


@dataclass
class Failure:
    """A run that failed: the day, the reason, the command that repeats the run, and the kernel.

    ``kernel`` has the mark (tree.mark()) of Bolt's code in the run.
    """

    date: str
    why: str
    repeat: str
    kernel: str


@dataclass
class Cell:
    """All runs of one scenario on one configuration of one architecture.

    ``failed`` is how many of the runs have failed; ``failures`` has only the newest of these runs.
    ``kernel`` has the mark (tree.mark()) of Bolt's code in the last run, and
    ``present`` is how many of the attempted requests were made after the mark had last
    changed. A file that an older lab has written may lack ``failed``, for which the number of
    ``failures`` then stands, or ``kernel`` and ``present``, so that ``present`` begins at 0.
    """

    config: str
    arch: str
    scenario: str
    runs: int = 0
    failed: int = 0
    attempted: int = 0
    done: int = 0
    refused: int = 0
    wrong: int = 0
    ignored: int = 0
    virtual_s: float = 0.0
    host_s: float = 0.0
    accels: dict[str, int] = field(default_factory=dict)
    first: str = ""
    last: str = ""
    failures: list[Failure] = field(default_factory=list)
    kernel: str = ""
    present: int = 0

    def __post_init__(self) -> None:
        self.failed = max(self.failed, len(self.failures))

    @property
    def key(self) -> tuple[str, str, str]:
        """Return configuration, architecture and scenario of this cell."""
        return (self.config, self.arch, self.scenario)

    def add(self, case: Case, outcome: Outcome, date: str, kernel: str) -> None:
        """Count a run. Requests of a run that failed do not count as survived."""
        self.runs += 1
        self.virtual_s = round(self.virtual_s + outcome.virtual_s, 1)
        self.host_s = round(self.host_s + outcome.host_s, 1)
        self.ignored += outcome.ignored
        self.accels[case.accel] = self.accels.get(case.accel, 0) + 1
        self.first = self.first or date
        self.last = max(self.last, date)
        self.wrong += outcome.counts.wrong
        if kernel != self.kernel:
            self.kernel, self.present = kernel, 0
        if outcome.why:
            self.failed += 1
            self.failures.append(Failure(date, outcome.why[:300], case.line(), kernel))
            self.failures = self.failures[-KEEP_FAILURES:]
            return
        counts = outcome.counts
        self.attempted += counts.attempted
        self.done += counts.done
        self.refused += counts.refused
        self.present += counts.attempted


class Book:
    """The cells with the counts of all runs. merge() adds the counts of another book."""

    def __init__(self, cells: Iterable[Cell] = ()) -> None:
        self.cells = {cell.key: cell for cell in cells}

    def add(self, case: Case, outcome: Outcome, date: str, kernel: str) -> None:
        """Count a run of ``case``.

        ``kernel`` has the mark (tree.mark()) of Bolt's code.
        """
        config, arch, scenario = case.cell
        cell = self.cells.setdefault(case.cell, Cell(config, arch, scenario))
        cell.add(case, outcome, date, kernel)

    def of(self, config: str, arch: str) -> list[Cell]:
        """Return the cells of ``config`` on ``arch``."""
        return [cell for cell in self.cells.values() if cell.key[:2] == (config, arch)]

    def survived(self, config: str, arch: str, kernel: str = "") -> int:
        """Return how many requests, in runs that did not fail, were done or refused with Bolt.

        Requests of native scenarios do not count. If ``kernel`` is given, only requests on kernels
        whose code of Bolt has this mark count.
        """
        cells = [cell for cell in self.of(config, arch) if not matrix.native(cell.scenario)]
        if kernel:
            return sum(cell.present for cell in cells if cell.kernel == kernel)
        return sum(cell.attempted for cell in cells)

    def lacks(self, config: Config, arch: str, kernel: str, least: int) -> bool:
        """Tell whether ``config`` on ``arch`` has not reached its goal.

        The goal counts as reached only if kernels whose code of Bolt has the mark ``kernel``
        have survived at least ``least`` requests.
        """
        present = self.survived(config.name, arch, kernel)
        return self.survived(config.name, arch) < config.goal or present < least

    def native(self, config: str, arch: str) -> int:
        """Return how many requests native scenarios have made, in runs that did not fail."""
        cells = self.of(config, arch)
        return sum(cell.attempted for cell in cells if matrix.native(cell.scenario))

    def merge(self, other: "Book") -> None:
        """Add what ``other`` has counted."""
        for key, theirs in other.cells.items():
            ours = self.cells.get(key)
            if ours is None:
                self.cells[key] = theirs
                continue
            for name in ("runs", "failed", "attempted", "done", "refused", "wrong", "ignored"):
                setattr(ours, name, getattr(ours, name) + getattr(theirs, name))
            if ours.kernel == theirs.kernel:
                ours.present += theirs.present
            elif theirs.kernel and theirs.last >= ours.last:
                ours.kernel, ours.present = theirs.kernel, theirs.present
            ours.virtual_s = round(ours.virtual_s + theirs.virtual_s, 1)
            ours.host_s = round(ours.host_s + theirs.host_s, 1)
            for accel, runs in theirs.accels.items():
                ours.accels[accel] = ours.accels.get(accel, 0) + runs
            ours.first = min(filter(None, (ours.first, theirs.first)), default="")
            ours.last = max(ours.last, theirs.last)
            both = sorted([*ours.failures, *theirs.failures], key=lambda failure: failure.date)
            ours.failures = both[-KEEP_FAILURES:]

    def dumps(self) -> str:
        """Return the book as JSON text, each cell on its own line, so that git can show changes."""
        rows = (asdict(self.cells[key]) for key in sorted(self.cells))
        return codec.lines(KIND, {}, "cells", rows)

    def save(self, path: Path) -> None:
        """Write the file ``path``, whole or not at all."""
        codec.save(self.dumps(), path)


@dataclass(frozen=True)
class _Kept:
    """The contents of a file of counts."""

    cells: list[Cell]


def failures(book: Book) -> list[Failure]:
    """Return the failures of all cells of ``book``."""
    return [failure for cell in book.cells.values() for failure in cell.failures]


def load(path: Path) -> Book:
    """Return the book in ``path``, empty if there is no such file.

    Raises BoltError if the file is no book.
    """
    if not path.exists():
        return Book()
    return Book(codec.read(_Kept, path, "holds no torture results", KIND).cells)


# Columns of table(): a narrow terminal leaves out the columns with the highest rank first.
COLUMNS = (
    Column("config"),
    Column("arch"),
    Column("survived"),
    Column("goal", 1),
    Column("native", 3),
    Column("runs", 2),
    Column("failed"),
    Column("virtual", 4),
    Column("host", 5),
)


def table(book: Book, configs: Sequence[Config], arches: Sequence[str]) -> list[list[str]]:
    """Return the cells of COLUMNS for each configuration and architecture with runs."""
    rows = []
    for config in configs:
        for arch in arches:
            cells = book.of(config.name, arch)
            if not cells:
                continue
            numbers = (
                book.survived(config.name, arch),
                config.goal,
                book.native(config.name, arch),
                sum(cell.runs for cell in cells),
                sum(cell.failed for cell in cells),
            )
            minutes = (
                sum(cell.virtual_s for cell in cells) / 60,
                sum(cell.host_s for cell in cells) / 60,
            )
            texts = [*map(str, numbers), *(f"{each:.1f} m" for each in minutes)]
            rows.append([config.name, arch, *texts])
    return rows

# SPDX-License-Identifier: GPL-2.0-only
"""Counts how many rows of a matrix (see rows.py) wait, how many run, and how many have ended.

A table shows these numbers at the end, and on a terminal also while rows run. If the output is no
terminal, a line is printed whenever ui.PLAIN_STEP per cent more of the rows have ended.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType

from rich.live import Live
from rich.table import Table

from boltlab import tables, ui
from boltlab.engine.rows import Row
from boltlab.tables import Column

COLUMNS = (
    Column("rows"),
    Column("waiting"),
    Column("running"),
    Column("done"),
    Column("killed", 1),
    Column("all", 2),
)


class Board:
    """The states of ``rows``.

    As a context manager, a board shows these states in a table: on a terminal until the ``with``
    block ends, and once more, on any output, at the end.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._groups = [row.group for row in rows]
        self._running: set[int] = set()
        self._done: set[int] = set()
        self._killed: list[int] = []
        self._said = 0
        self._live = Live(console=ui.console, auto_refresh=False, transient=True)

    def __enter__(self) -> "Board":
        if ui.console.is_interactive:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()
        tables.show(COLUMNS, self.cells())

    def update(self, queued: Mapping[int, bool], done: Iterable[int]) -> None:
        """Take note of the rows in the queue, whether each runs, and the rows that have ended."""
        self._done = set(done)
        self._running = {number for number, runs in queued.items() if runs} - self._done
        if ui.console.is_interactive:
            self._live.update(self._table(), refresh=True)
            return
        percent = 100 * len(self._done) // max(1, len(self._groups))
        if percent >= self._said + ui.PLAIN_STEP:
            self._said = percent - percent % ui.PLAIN_STEP
            ui.say(
                f"{len(self._done)} of {len(self._groups)} rows have ended, "
                f"{len(self._running)} run"
            )

    def killed(self, numbers: Iterable[int]) -> None:
        """Count one more kill for each row of ``numbers``."""
        self._killed += numbers
        self._running -= set(numbers)

    def cells(self) -> list[list[str]]:
        """Return the cells of COLUMNS: a line for each group, in the order of their first rows."""
        lines = []
        for group in dict.fromkeys(self._groups):
            own = {number for number, name in enumerate(self._groups) if name == group}
            running, done = len(own & self._running), len(own & self._done)
            killed = sum(number in own for number in self._killed)
            counts = (len(own) - running - done, running, done, killed, len(own))
            lines.append([group, *map(str, counts)])
        return lines

    def _table(self) -> Table:
        table = Table(box=None)
        for place, column in enumerate(COLUMNS):
            table.add_column(column.title, justify="right" if place else "left")
        for line in self.cells():
            table.add_row(*line)
        return table

# SPDX-License-Identifier: GPL-2.0-only
"""Tables on the terminal. A figure is never cut: a terminal that is narrow gets fewer columns."""

import itertools
import sys
import textwrap
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from boltlab import ui

GAP = 2  # blanks between two columns
# fit() leaves out columns until there is room for the other columns, and for PROSE characters in
# each column of prose, or for its longest text if that is shorter. Columns with rank 0 always stay.
PROSE = 20
# Characters that a column of prose gets at least, if its texts need as many, even where fit() may
# leave out no further column. A word that is longer than its column of prose is broken; in other
# columns nothing is ever broken.
LEAST = 8
LONGEST = 120  # the line under the titles has at most that many characters, whatever the width
REMEDY = "to see all columns: a wider terminal, or | less -S"


@dataclass(frozen=True)
class Column:
    """One column.

    A column with rank 0 is always shown. When the terminal is too narrow, the columns with the
    highest rank are left out first, all columns of one rank together. Under the table stand the
    titles of the columns left out, or their ``name`` where a title alone does not say enough. A
    column of ``prose`` may take several lines; other columns hold figures or names.
    """

    title: str
    rank: int = 0
    name: str = ""
    prose: bool = False


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    first, *others = (f"| {' | '.join(row)} |" for row in (header, *rows))
    return [first, "|" + "---|" * len(header), *others]


def show(
    columns: Sequence[Column],
    cells: Sequence[Sequence[str]],
    *,
    styles: Mapping[str, str] | None = None,
    left: int = 1,
) -> None:
    """Print a table of ``cells``, and under the table the names of the columns that did not fit.

    Only a terminal has a width: files and pipes get all columns. ``styles`` maps the text of a cell
    to its style. The first ``left`` columns and prose are flush left, other columns flush right.
    """
    width = ui.console.width if ui.console.is_terminal else None
    shown = fit(columns, cells, width)
    room = _room(columns, cells, shown, width)
    flush = {place for place in shown if columns[place].prose or place < left}
    rule = "\u2500" if ui.console.encoding.startswith("utf") else "-"
    ui.say("")
    for line in _lines([column.title for column in columns], room, flush):
        _print(line, ["bold"] * len(shown))
    ui.say(rule * min(LONGEST, sum(room.values()) + GAP * (len(shown) - 1)))
    for row in cells:
        for line in _lines(row, room, flush):
            _print(line, [(styles or {}).get(row[place], "") for place in shown])
    if absent := [column for place, column in enumerate(columns) if place not in shown]:
        names = ", ".join(column.name or column.title for column in absent)
        ui.prose(f"no room for: {names} ({REMEDY})")


def _lines(row: Sequence[str], room: Mapping[int, int], flush: Container[int]) -> list[list[str]]:
    """Return the lines that ``row`` takes: lists of the columns' texts, padded to ``room``."""
    # Only prose can be longer than its column is wide. An empty cell has to give a line as well:
    # wrap() would give none.
    folded = [
        [row[place]]
        if cell_len(row[place]) <= width
        else textwrap.wrap(row[place], width, break_on_hyphens=False)
        for place, width in room.items()
    ]
    return [
        [
            text + " " * (width - cell_len(text))
            if place in flush
            else " " * (width - cell_len(text)) + text
            for (place, width), text in zip(room.items(), texts, strict=True)
        ]
        for texts in itertools.zip_longest(*folded, fillvalue="")
    ]


def _print(texts: Sequence[str], styles: Sequence[str]) -> None:
    line = Text()
    for place, (text, style) in enumerate(zip(texts, styles, strict=True)):
        line.append(" " * GAP if place else "")
        line.append(text, style if text.strip() else "")
    line.rstrip()
    # A line wider than the terminal goes on in the terminal's next line: nothing is cropped.
    ui.console.print(line, soft_wrap=True)


def fit(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int | None
) -> tuple[int, ...]:
    """Return the indices of the columns to show in ``width`` characters (None: no limit)."""
    shown = tuple(range(len(columns)))
    while width is not None and _least(columns, cells, shown) > width:
        last = max(columns[place].rank for place in shown)
        if last == 0:
            break
        shown = tuple(place for place in shown if columns[place].rank != last)
    return shown


def _natural(columns: Sequence[Column], cells: Sequence[Sequence[str]], place: int) -> int:
    return max(cell_len(columns[place].title), *(cell_len(row[place]) for row in cells), 0)


def _least(columns: Sequence[Column], cells: Sequence[Sequence[str]], shown: Sequence[int]) -> int:
    """Return the width, in characters, that the columns ``shown`` need."""
    needs = [
        min(_natural(columns, cells, place), PROSE if columns[place].prose else sys.maxsize)
        for place in shown
    ]
    return sum(needs) + GAP * (len(shown) - 1)


def _room(
    columns: Sequence[Column],
    cells: Sequence[Sequence[str]],
    shown: Sequence[int],
    width: int | None,
) -> dict[int, int]:
    """Return the width of each column ``shown``: prose shares the room left by other columns."""
    room = {place: _natural(columns, cells, place) for place in shown}
    prose = sorted((place for place in shown if columns[place].prose), key=room.__getitem__)
    if width is None or not prose:
        return room
    rest = width - GAP * (len(shown) - 1)
    rest -= sum(room[place] for place in shown if place not in prose)
    # The narrowest column of prose comes first, and wider columns share the room that is left.
    for done, place in enumerate(prose):
        room[place] = min(room[place], max(LEAST, rest // (len(prose) - done)))
        rest -= room[place]
    return room

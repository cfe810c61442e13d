# SPDX-License-Identifier: GPL-2.0-only
"""Prints what the user sees: with progress bars on a terminal, in plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

console = Console(highlight=False)
stderr = Console(stderr=True, highlight=False)

PLAIN_STEP = 10  # per cent between two lines of plain progress


class Task:
    """One piece of work under way, of which ``done`` of ``total`` units are done."""

    def __init__(self, title: str, total: float, bar: Progress | None) -> None:
        self.title = title
        self.total = total
        self.done = 0.0
        self._bar = bar
        self._id: TaskID | None = bar.add_task(title, total=total) if bar else None
        self._start = time.monotonic()
        self._said = 0

    def advance(self, units: float = 1) -> None:
        """Count ``units`` more as done."""
        self.update(self.done + units)

    def update(self, done: float) -> None:
        """Set how many units are done; a number above ``total`` is shown as nearly finished."""
        self.done = done
        # ``total`` may be an estimate that is too small, so more than ``total`` is shown as 99 %.
        shown = min(done, self.total * 0.99) if done > self.total else done
        if self._bar and self._id is not None:
            self._bar.update(self._id, completed=shown)
        elif self.total > 0:
            self._plain(int(100 * shown / self.total))

    def _plain(self, percent: int) -> None:
        if percent < self._said + PLAIN_STEP or percent >= 100:
            return
        self._said = percent - percent % PLAIN_STEP
        elapsed = time.monotonic() - self._start
        left = elapsed * (100 - percent) / percent
        say(f"{self.title}: {percent} % ({clock(elapsed)}, {clock(left)} left)")

    def finish(self) -> None:
        """Show the work as finished."""
        if self._bar and self._id is not None:
            self._bar.update(self._id, completed=self.total)
        else:
            say(f"{self.title}: done in {clock(time.monotonic() - self._start)}")


@contextmanager
def progress(title: str, total: float) -> Iterator[Task]:
    """Show progress of work that has ``total`` units; ``total`` may be an estimate."""
    if not console.is_interactive:
        say(title)
        task = Task(title, total, None)
        yield task
        task.finish()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = Task(title, total, bar)
        yield task
        task.finish()


@contextmanager
def status(title: str) -> Iterator[None]:
    """Show that work of unknown length goes on."""
    if not console.is_interactive:
        say(title)
        yield
        return
    # The spinner "dots" consists of Braille characters, which only encodings of Unicode have.
    spinner = "dots" if console.encoding.startswith("utf") else "line"
    with console.status(escape(title), spinner=spinner):
        yield


def say(text: str) -> None:
    """Print one plain line on stdout."""
    console.print(text, markup=False, soft_wrap=True)


def prose(text: str) -> None:
    """Print a sentence on stdout, on a terminal broken between words where the line is full."""
    console.print(text, markup=False, soft_wrap=not console.is_terminal)


def note(text: str) -> None:
    """Print on stderr a remark that is no error."""
    stderr.print(f"bolt: note: {text}", markup=False, soft_wrap=True)


def error(text: str) -> None:
    """Print one error line on stderr."""
    stderr.print(f"bolt: {text}", markup=False, soft_wrap=True)


def clock(seconds: float) -> str:
    """Return ``seconds`` as m:ss, and from one hour on as h:mm:ss."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"

# SPDX-License-Identifier: GPL-2.0-only
"""Keeps the rows of a matrix, and their results, in files that each machine of a cluster can read.

A matrix is the list of all runs that one command of the lab makes; docs/fleet.md says what a row of
each command is. The folder of a matrix holds the commands of all rows in the file ``rows``, one row
on each line. For a row that has ended (number N, counted from 0) the folder has ``done/N`` with the
ledger (the file of results), the exit status and the output of the row. element.sh makes ``done/N``
under another name, and renames ``done/N`` at the end. So a row that is killed half-way has no
``done/N``, and a row that runs twice counts once.
"""

import contextlib
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from boltlab import paths
from boltlab.bench import keeping
from boltlab.bench.keeping import AnyJob
from boltlab.errors import BoltError, GuestError

SCRIPT = paths.DATA / "element.sh"
LEDGER = "ledger.json"
JSON = '--json "$LEDGER"'  # the options that make a command write its results to $LEDGER
EMULATOR = 2048  # MiB besides the guest's memory, for QEMU's translated code and the lab
FAILED = 1  # exit status of a row that has run to its end, and has found a failure
FAILURE = "FAILED: "  # how a line begins in which a row tells of a failure
LOST = -1  # in place of an exit status that cannot be read


@dataclass(frozen=True)
class Row:
    """One row of a matrix.

    ``line`` is the command that the lab prints to repeat the row, and ``more`` the options with
    which the command writes its ledger to ``$LEDGER``. ``group`` is the row's line in the table of
    progress. ``seconds``, ``cpus`` and ``memory`` (MiB; 0: no limit) are the most that the row may
    take.
    """

    line: str
    more: str
    group: str
    seconds: float
    cpus: int = 1
    memory: int = 0

    @property
    def command(self) -> str:
        """Return the line that the shell of a cluster's machine runs."""
        return f"{self.line} {self.more}"


@dataclass(frozen=True)
class Ended:
    """A row that has ended: its number, its exit status, and the folder of ledger and output."""

    number: int
    row: Row
    status: int
    folder: Path

    @property
    def ledger(self) -> Path:
        """Return the path of the file with what the row has counted or measured."""
        return self.folder / LEDGER

    @property
    def whole(self) -> bool:
        """Tell whether the row has run to its end, and has a ledger."""
        return self.status in (0, FAILED) and self.ledger.is_file()

    def check(self) -> None:
        """Raise BoltError, with the last line of output, unless the row is ``whole``."""
        if self.whole:
            return
        last = next((line for line in reversed(self._output()) if line.strip()), "no message")
        how = "has left no status" if self.status == LOST else f"exited with status {self.status}"
        raise BoltError(f"'{self.row.line}' {how}: {last}", self.log)

    def said_of(self, guest: str) -> GuestError | None:
        """Return the error of ``guest``: what the row has printed behind the guest's name.

        Returns None if the row has printed no line about this guest.
        """
        start = f"bolt: {guest}: "
        for line in self._output():
            if line.startswith(start):
                return GuestError(line[len(start) :])
        return None

    def failures(self) -> list[str]:
        """Return the lines in which the row has told of failures."""
        return [line for line in self._output() if line.startswith(FAILURE)]

    @property
    def log(self) -> Path:
        """Return the path of the file with the output of the row."""
        return self.folder / "log"

    def _output(self) -> list[str]:
        if not self.log.exists():
            return []
        return self.log.read_text(encoding="utf-8", errors="replace").split("\n")


def write(rows: Sequence[Row], name: str) -> Path:
    """Write ``rows``, the matrix of the command ``name``, to a new folder; return the folder."""
    place = paths.cache() / "engine"
    place.mkdir(exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S-")
    folder = Path(tempfile.mkdtemp(prefix=stamp, suffix=f"-{name}", dir=place))
    for part in ("done", "tries", "log"):
        (folder / part).mkdir()
    text = "".join(f"{row.command}\n" for row in rows)
    (folder / "rows").write_text(text, encoding="utf-8")
    return folder


def ended(folder: Path, rows: Sequence[Row]) -> list[Ended]:
    """Return the rows of ``folder`` that have ended, in the order of ``rows``."""
    found = []
    for number in done(folder):
        place = folder / "done" / str(number)
        status = LOST
        with contextlib.suppress(OSError, ValueError):
            status = int((place / "status").read_text(encoding="utf-8"))
        found.append(Ended(number, rows[number], status, place))
    return found


def lost(ended: Iterable[tuple[Ended, Sequence[AnyJob]]]) -> list[tuple[AnyJob, GuestError]]:
    """Return the jobs whose guests have failed, each with its error.

    ``ended`` are the elements of a bench, each with the jobs that the element runs. Elements may
    share jobs, so that figures are kept of a guest that failed in this element and ended well in
    another one. Raises BoltError when an element has failed otherwise than by its guests.
    """
    found = []
    for each, jobs in ended:
        said = [(job, error) for job in jobs if (error := each.said_of(job.name))]
        # An element may also fail after all of its guests have ended well, for example because a
        # figure is wrong: then the element names no guest.
        if each.status != FAILED or not said:
            each.check()
            continue
        known = [job.name for job, _ in said]
        nothing = GuestError("no message", each.log)
        found += said
        found += [(job, nothing) for job in jobs if job.name not in known and not keeping.kept(job)]
    return found


def done(folder: Path) -> list[int]:
    """Return the numbers of the rows of ``folder`` that have ended, in order."""
    names = (entry.name for entry in (folder / "done").iterdir())
    return sorted(int(name) for name in names if name.isdigit())

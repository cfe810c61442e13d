# SPDX-License-Identifier: GPL-2.0-only
"""Runs rows of a matrix as elements of Slurm's job arrays; a killed row is submitted again."""

import contextlib
import math
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from boltlab import paths, ui
from boltlab.engine import rows as elements
from boltlab.engine.progress import Board
from boltlab.engine.rows import Ended, Row
from boltlab.errors import UNAVAILABLE, BoltError

TRIES = 3  # a row that has been killed so often counts as lost
POLL = 5.0  # seconds between two looks at the queue
SILENCE = 300.0  # seconds for which Slurm's controller may be out of reach
WORDS = "%K|%T|%r"  # what squeue prints of an element: place in the array, state, reason
LIMIT = 1001  # most elements of an array if the cluster does not tell its limit
# The variables that an element gets, if they are set, from the environment of the lab's command
# that submits the element. An element always gets CACHE as well.
ENVIRONMENT = ("PATH", "HOME", "USER", "LANG")
CACHE = "BOLT_CACHE"
PROGRAMS = ("sbatch", "squeue", "scancel", "scontrol")
# Reasons for which an element waits, and which pass without help.
PATIENT = ("None", "Priority", "Resources", "JobArrayTaskLimit", "BeginTime", "Cleaning")


@dataclass(frozen=True)
class Element:
    """An element of an array that is in the queue: its state, and its reason to wait."""

    state: str
    reason: str

    @property
    def runs(self) -> bool:
        """Tell whether the element counts as running: each element does that does not wait."""
        return self.state != "PENDING"


def require() -> None:
    """Raise BoltError, code 69, unless this machine has Slurm's programs."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        raise BoltError(
            f"--engine slurm needs Slurm's programs; this machine lacks {' '.join(lacking)} "
            "(Debian: slurm-client)",
            code=UNAVAILABLE,
        )


def run(rows: Sequence[Row], folder: Path, at_once: int | None = None, poll: float = POLL) -> None:
    """Run ``rows``, whose files are in ``folder``, until each row has ended or is lost.

    At most ``at_once`` rows run at a time (None: as many as Slurm lets run). Rows that were killed
    are submitted again, each up to TRIES times in all, and are lost after that. Raises BoltError
    when Slurm refuses an array or does not answer, and, at the end, when rows are lost. If an
    exception comes while an array is in the queue, the array is cancelled, unless Slurm cannot be
    reached. The results of rows that have ended stay in ``folder`` after any exception.
    """
    limit = longest()
    left, tries = list(range(len(rows))), Counter[int]()
    lost: list[int] = []
    with Board(rows) as board:
        for turn in range(len(rows) * TRIES):
            if not left:
                break
            chunk, left = left[:limit], left[limit:]
            tries.update(chunk)
            _array(rows, chunk, folder, turn, at_once, board, poll)
            over = set(elements.done(folder))
            killed = [number for number in chunk if number not in over]
            left += [number for number in killed if tries[number] < TRIES]
            lost += [number for number in killed if tries[number] == TRIES]
            board.killed(killed)
    if lost:
        raise BoltError(
            f"{len(lost)} of {len(rows)} rows have not ended after {TRIES} tries, "
            f"the first: {rows[lost[0]].line}",
            folder / "log",
        )


def ended(rows: Sequence[Row], folder: Path) -> list[Ended]:
    """Return the rows of run() that have ended; raise BoltError unless all are ``whole``."""
    found = elements.ended(folder, rows)
    for each in found:
        each.check()
    return found


def _array(
    rows: Sequence[Row],
    chunk: Sequence[int],
    folder: Path,
    turn: int,
    at_once: int | None,
    board: Board,
    poll: float,
) -> None:
    """Submit the rows ``chunk`` as one array, and wait until the array has left the queue."""
    name = f"chunk-{turn}"
    (folder / name).write_text("".join(f"{number}\n" for number in chunk), encoding="utf-8")
    wanted = [rows[number] for number in chunk]
    job = _call(submission(wanted, folder, name, at_once)).strip().partition(";")[0]
    if not job.isdigit():
        raise BoltError(f"sbatch answers '{job}' instead of a job's number")
    try:
        ui.say(f"job array {job}: {len(chunk)} elements, in {folder}")
        _wait(job, chunk, folder, board, poll)
    except BaseException:
        with contextlib.suppress(BoltError):
            _call(["scancel", job])
        raise


def submission(
    rows: Sequence[Row], folder: Path, chunk: str, at_once: int | None = None
) -> list[str]:
    """Return the command that submits ``rows``, listed in the file ``chunk``, as one array.

    All elements of an array have the same limits. Each limit (time, CPUs, memory) is the largest
    that a row of the array has.
    """
    throttle = f"%{at_once}" if at_once else ""
    minutes = math.ceil(max(row.seconds for row in rows) / 60)
    memory = max(row.memory for row in rows)
    known = [name for name in (*ENVIRONMENT, CACHE) if name in os.environ or name == CACHE]
    return [
        "sbatch",
        "--parsable",
        "--requeue",
        f"--job-name=bolt-{folder.name.split('-', 3)[-1]}",
        f"--array=0-{len(rows) - 1}{throttle}",
        f"--time={minutes}",
        f"--cpus-per-task={max(row.cpus for row in rows)}",
        *([f"--mem={memory}M"] if memory else []),
        f"--chdir={paths.REPO}",
        f"--export={','.join(known)}",
        f"--output={folder}/log/%a",
        "--open-mode=append",
        str(elements.SCRIPT),
        str(folder),
        chunk,
    ]


def _wait(job: str, chunk: Sequence[int], folder: Path, board: Board, poll: float) -> None:
    """Wait until ``job`` has left the queue; if rows seem not to have ended, look once more."""
    heard, empty, noted = time.monotonic(), 0, set[str]()
    # If the queue is empty, but folders of rows are missing, look a second time, because a network
    # file system shows the files of other machines with a delay.
    while empty < 2:
        found = queue(job)
        if found is None:
            if time.monotonic() - heard > SILENCE:
                raise BoltError(f"Slurm does not answer: what has become of job {job} is not known")
            time.sleep(poll)
            continue
        heard = time.monotonic()
        over = elements.done(folder)
        board.update({chunk[place]: each.runs for place, each in found.items()}, over)
        for reason in sorted({each.reason for each in found.values() if not each.runs} - noted):
            noted.add(reason)
            if reason not in PATIENT:
                ui.note(f"elements of job {job} wait: {reason}")
        empty = 0 if found else empty + 1
        if not found and set(chunk) <= set(over):
            return
        time.sleep(poll)


def queue(job: str) -> dict[int, Element] | None:
    """Return the elements of ``job`` in the queue, by place; None if Slurm does not answer."""
    done = subprocess.run(
        ["squeue", "--noheader", "--array", f"--jobs={job}", f"--format={WORDS}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return parse(done.stdout)
    # Slurm forgets a job some minutes after its end, and then squeue fails.
    return {} if "Invalid job id" in done.stderr else None


def parse(text: str) -> dict[int, Element]:
    """Return the elements that squeue's output ``text`` lists; raise BoltError if it is no list."""
    found = {}
    for line in text.splitlines():
        place, _, rest = line.strip().partition("|")
        state, _, reason = rest.partition("|")
        if not place.isdigit() or not state:
            raise BoltError(f"squeue says '{line.strip()}', which is no element of an array")
        found[int(place)] = Element(state, reason)
    return found


def longest() -> int:
    """Return how many elements an array of this cluster may have; raise BoltError if none."""
    said = re.search(r"^MaxArraySize\s*=\s*(\d+)", _call(["scontrol", "show", "config"]), re.M)
    if said and said[1] == "0":
        raise BoltError("this cluster takes no job arrays (MaxArraySize is 0)")
    return int(said[1]) if said else LIMIT


def _call(command: Sequence[str]) -> str:
    """Return the output of ``command``.

    If the command fails, raises BoltError with the first line of the command's error.
    """
    env = {**os.environ, CACHE: str(paths.cache())}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise BoltError(f"{command[0]} failed: {said[0].strip()}")
    return done.stdout

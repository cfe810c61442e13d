# SPDX-License-Identifier: GPL-2.0-only
"""The steps of a release check (data/release.toml), and how they ended in earlier checks."""

import hashlib
import json
import shlex
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from boltlab import codec, git, kept, packages, paths, ui
from boltlab.errors import INTERRUPTED, USAGE, BoltError
from boltlab.kernel import tree
from boltlab.torture import matrix, tally
from boltlab.versions import Version

TABLE = paths.DATA / "release.toml"
TORTURE = "torture.json"
# A step that has passed runs again after a committed change in one of these folders. After other
# changes, the step runs again only with --again, or if release.toml says that the step always runs.
PARTS = ("kernel", "lab", "tools")
STATE = "state.json"


@dataclass(frozen=True)
class Step:
    """A step: its name and ``what`` it checks; release.toml's head explains the other fields."""

    name: str
    what: str
    command: str
    hours: float
    until: str = ""
    least: int = 0
    again: str = ""
    always: bool = False
    of_kernel: bool = True


@dataclass(frozen=True)
class Done:
    """How a step has ended: the exit status (0: passed), the seconds it took, and the date."""

    status: int
    seconds: float
    date: str


def load(file: Path = TABLE) -> dict[str, Step]:
    """Return the steps in their order.

    Raises BoltError for an unknown key, an unknown condition, or a key that a step lacks.
    """
    known = {entry.name for entry in fields(Step)}
    found = {}
    for name, row in tomllib.loads(file.read_text(encoding="utf-8")).items():
        for key in row.keys() - known:
            raise BoltError(f"release step {name}: unknown key '{key}'")
        if row.get("until", "") not in ("", *ENDS):
            raise BoltError(f"release step {name}: there is no condition '{row['until']}'")
        try:
            found[name] = Step(name=name, **row)
        except TypeError as error:
            raise BoltError(f"release step {name}: {error}") from error
    return found


def lacking(version: Version, least: int) -> list[str]:
    """Return the pairs of configuration and architecture on which torture has to go on.

    Such a pair has not reached its goal, or has survived fewer than ``least`` requests with Bolt's
    present code. Configurations that kernels of ``version`` cannot have do not count.
    """
    book = tally.load(kept.counted(TORTURE, version))
    present = tree.mark(version)
    return [
        f"{config.name} {arch}"
        for config in matrix.configs().values()
        if config.is_of(version.series)
        for arch in config.arches
        if book.lacks(config, arch, present, least)
    ]


# Name in ``until`` of a step -> function that returns the names of the work still to be done. The
# step's condition holds when the function returns no name.
ENDS: Mapping[str, Callable[[Version, int], list[str]]] = {"goals": lacking}


def folder(version: Version) -> Path:
    """Return the cache's folder for a release of the present sources on ``version``, and make it.

    The sources are the folders ``PARTS``. Raises BoltError when a file in these is not as
    committed, or when there is no clone of the repository.
    """
    changed = _git("status", "--porcelain", "--", *PARTS)
    if changed:
        first = changed.splitlines()[0].split()[-1]
        raise BoltError(f"a release is a commit: {first} is not what was committed", code=USAGE)
    trees = _git("rev-parse", *(f"HEAD:{part}" for part in PARTS))
    key = hashlib.sha256(trees.encode()).hexdigest()[:12]
    place = paths.cache() / "release" / key / version.series
    place.mkdir(parents=True, exist_ok=True)
    return place


def state(place: Path) -> dict[str, Done]:
    """Return how steps ended in earlier release checks: step -> how it ended the last time.

    Raises BoltError if the file STATE in ``place`` is damaged.
    """
    file = place / STATE
    if not file.exists():
        return {}
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
        return {name: Done(**row) for name, row in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise BoltError(f"{file} is no state of a release check: {error}") from error


def run(step: Step, place: Path, version: Version, afresh: bool = False) -> Done:
    """Run ``step`` of a release on ``version`` until it passes or fails.

    Records in ``place``, and returns, how the step ended. A step whose condition ``until`` holds
    already passes without a call of its command, unless the step failed the last time or ``afresh``
    is set. Records only that the step has begun(), and raises KeyboardInterrupt, if a command of
    the step was interrupted; or raises BoltError, if the sources changed while the step ran.
    """
    start = time.monotonic()
    end = ENDS.get(step.until)
    last = state(place).get(step.name)
    status = last.status if last else 0
    more = step.again if status or (begun(step, place) and not afresh) else ""
    while status or afresh or not end or end(version, step.least):
        afresh = False
        before = end(version, step.least) if end else []
        _mark(step, place).touch()
        status = _call(step, place, version, more)
        if more and status == USAGE:
            status = _call(step, place, version, more="")
        if status or not end:
            break
        if left := end(version, step.least):
            ui.say(f"{step.name}: {len(left)} of {len(before)} goals are not reached yet")
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if folder(version) != place:
        raise BoltError(f"{step.name} counts for nothing: the sources changed while the step ran")
    done = Done(status, round(time.monotonic() - start, 1), time.strftime("%Y-%m-%d"))
    known = {name: asdict(each) for name, each in {**state(place), step.name: done}.items()}
    codec.save(json.dumps(known, indent=1) + "\n", place / STATE)
    _mark(step, place).unlink(missing_ok=True)
    return done


def without_result(step: Step, place: Path) -> str:
    """Return what to say of a ``step`` that has never ended."""
    return "begun" if begun(step, place) else "not run"


def begun(step: Step, place: Path) -> bool:
    """Tell whether ``step`` has begun and not ended: it is still at work, or was interrupted."""
    return _mark(step, place).exists()


def log(step: Step, place: Path) -> Path:
    """Return the path of the file with the output of the commands of ``step``."""
    return place / f"{step.name}.log"


def _call(step: Step, place: Path, version: Version, more: str) -> int:
    words = shlex.split(f"{step.command} {more}")
    words = [word.format(folder=place, least=step.least) for word in words]
    if step.of_kernel:
        words += ["--version", version.series]
    with log(step, place).open("ab") as out, ui.status(f"./bolt {shlex.join(words)}"):
        return packages.call([str(paths.REPO / "bolt"), *words], out)


def _mark(step: Step, place: Path) -> Path:
    """Return the path of the file that is there while ``step`` has begun and not ended.

    The file stays if this process is killed.
    """
    return place / f"{step.name}.begun"


def _git(*words: str) -> str:
    done = git.ask(paths.REPO, *words)
    if done.returncode:
        raise BoltError("a release is a commit: this is no clone of the repository", code=USAGE)
    return done.stdout.decode().strip()

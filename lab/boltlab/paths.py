# SPDX-License-Identifier: GPL-2.0-only
"""Paths of the repository and of the lab's cache."""

import contextlib
import functools
import os
import re
import shutil
import time
from pathlib import Path

from boltlab import locks
from boltlab.errors import BoltError

REPO = Path(__file__).resolve().parents[2]
KERNEL = REPO / "kernel"
DATA = Path(__file__).resolve().parent / "data"

START = time.time()  # when this call of the lab began

_until_the_end = contextlib.ExitStack()  # never closed: locks that it holds end with the process


def cache() -> Path:
    """Return the cache's directory, ``$BOLT_CACHE`` or ``~/.cache/bolt``, and make it.

    Raises BoltError when the directory cannot be made, or when no kernel can be built below the
    directory because its path has a blank, a colon or a comma.
    """
    named = os.environ.get("BOLT_CACHE")
    path = Path(named).absolute() if named else Path.home() / ".cache" / "bolt"
    # The kernel's Makefile refuses a path with a blank or a colon. With a comma in the path, the
    # kernel's objtool does not compile.
    if re.search(r"[\s:,]", str(path)):
        wrong = f"BOLT_CACHE must name a path without blanks, colons and commas, not '{path}'"
        raise BoltError(wrong)
    return _directory(path)


def logs() -> Path:
    """Return the directory of the logs, made if it is not there."""
    return _directory(cache() / "logs")


def new_log(name: str) -> Path:
    """Return a new log's path, whose name has the local time, this process's id and ``name``."""
    return logs() / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{name}.log"


def require_space(where: Path, gigabytes: float, purpose: str) -> None:
    """Raise BoltError unless ``gigabytes`` of 10^9 bytes are free in the directory ``where``.

    The directory must exist. ``purpose`` names in the error what needs the space.
    """
    free = shutil.disk_usage(where).free / 1e9
    if free < gigabytes:
        raise BoltError(
            f"{purpose} needs {gigabytes:.1f} GB in {where}, {free:.1f} GB are free "
            "(BOLT_CACHE names another directory)"
        )


def prune(root: Path, keep: int) -> None:
    """Remove directories in ``root``, but not the ``keep`` newest.

    Directories that are in use stay as well (locks.use()). So do directories that have changed
    since the oldest running call of the lab began (running_since()), because a running call may
    have made these directories. Another call of the lab may remove the same directories meanwhile:
    if one of them vanishes while prune() reads the times, prune() removes nothing, and that is no
    error.
    """
    since = running_since()
    with contextlib.suppress(FileNotFoundError):
        changed = {folder: folder.stat().st_mtime for folder in root.iterdir()}
        for folder in sorted(changed, key=lambda each: changed[each])[:-keep]:
            if changed[folder] < since and locks.unused(folder):
                shutil.rmtree(folder, ignore_errors=True)


def running_since() -> float:
    """Return when the oldest call of the lab that still runs began, in seconds since the epoch.

    Other calls of the lab see this one from its first running_since() until its process ends.
    """
    calls = cache() / "calls"
    with locks.lock(calls):
        _note_call(calls)
        for folder in calls.iterdir():
            if locks.unused(folder):
                shutil.rmtree(folder, ignore_errors=True)
        return min(float(folder.name.partition("-")[0]) for folder in calls.iterdir())


@functools.cache
def _note_call(calls: Path) -> None:
    """Make a directory whose name says when this call began, and lock it until the process ends.

    The lock is that of locks.use().
    """
    mine = calls / f"{START}-{os.getpid()}"
    mine.mkdir(parents=True)
    _until_the_end.enter_context(locks.use(mine))


def _directory(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BoltError(f"cannot make the directory {path}: {error.strerror}") from error
    return path

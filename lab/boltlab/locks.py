# SPDX-License-Identifier: GPL-2.0-only
"""Locks between calls of the lab that run at the same time."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from boltlab import ui

IN_USE = "in-use"  # a file in a directory, locked by each process that works in the directory


@contextmanager
def lock(what: Path) -> Iterator[int]:
    """Hold the lock of the path ``what``, the file ``what.lock``; wait while the lock is taken.

    Yields the file descriptor of the lock. The lock ends when the ``with`` block has ended and each
    child process that got the descriptor has ended, too. So a caller passes the descriptor to
    children that change what the lock guards: the lock then lasts as long as these children.
    """
    what.parent.mkdir(parents=True, exist_ok=True)
    with what.with_name(f"{what.name}.lock").open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with ui.status(f"waiting for another call that uses {what.name}"):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


@contextmanager
def use(folder: Path) -> Iterator[None]:
    """Make unused() say that ``folder`` is in use, until the ``with`` block or the process ends."""
    with (folder / IN_USE).open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def unused(folder: Path) -> bool:
    """Tell whether no process is in the ``with`` block of use() for ``folder``.

    Returns False as well if this process may not open the lock's file, and so cannot tell.
    """
    try:
        with (folder / IN_USE).open("r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except OSError:  # a process has the lock, or the file belongs to another user
        return False
    return True

# SPDX-License-Identifier: GPL-2.0-only
"""Locks between concurrent calls of the lab."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from boltlab import ui


@contextmanager
def lock(what: Path) -> Iterator[int]:
    """Hold the lock of the path ``what`` (a file ``what.lock`` beside it); wait if it is held.

    Yields its file descriptor. The lock goes away when all processes that have it are gone:
    pass it to children that must not outlive the lock.
    """
    what.parent.mkdir(parents=True, exist_ok=True)
    with what.with_name(f"{what.name}.lock").open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with ui.status(f"waiting for another call that uses {what.name}"):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()

# SPDX-License-Identifier: GPL-2.0-only
"""Boots a guest again if a known fault of QEMU has stopped the guest."""

from collections.abc import Callable
from typing import TypeVar

from boltlab import ui
from boltlab.errors import BoltError, EmulatorError

T = TypeVar("T")

TRIES = 3  # how often a guest is booted, if a known fault of QEMU stops the guest each time


def again(what: str, boot: Callable[[], T]) -> T:
    """Return the result of ``boot``; if a known fault of QEMU stops the guest, boot again.

    A line on stdout, which begins with ``what``, tells of each fault. Raises EmulatorError when
    QEMU's fault stops TRIES guests, and the first other BoltError that ``boot`` raises, alone or in
    a group.
    """
    for left in reversed(range(TRIES)):
        why, wrong = "", None
        try:
            return boot()
        except* EmulatorError as lost:
            why = "; ".join(str(error) for error in lost.exceptions)
        except* BoltError as failed:
            wrong = failed.exceptions[0]
        if wrong:
            raise wrong
        ui.say(f"{what}: {why}; {left} more tries")
    raise EmulatorError(f"a known fault of QEMU stopped the guest {TRIES} times; at last: {why}")

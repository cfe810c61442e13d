# SPDX-License-Identifier: GPL-2.0-only
"""Boots a guest again if a known fault of QEMU has stopped the guest."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from boltlab import ui
from boltlab.errors import BoltError, EmulatorError, GuestError
from boltlab.guest import console

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)

TRIES = 3  # how often a guest is booted, if a known fault of QEMU stops the guest each time


# Complaints that a CPU without timer interrupts causes.
CAUSED = ("RCU stall", "lockup", "hung task")


def again(what: str, boot: Callable[[], T], ignored: Sequence[re.Pattern[str]] = ()) -> T:
    """Return the result of ``boot``; if a known fault of QEMU stops the guest, boot again.

    A line on stdout, which begins with ``what``, tells of each fault. Raises EmulatorError when
    QEMU's fault stops TRIES guests, the first other BoltError that ``boot`` raises, alone or in a
    group, and GuestError when the kernel of a guest had complained before QEMU's fault showed. A
    complaint that ``ignored`` fits does not count.
    """
    for left in reversed(range(TRIES)):
        why = ""
        wrong: BoltError | None = None
        try:
            return boot()
        except* EmulatorError as lost:
            why = "; ".join(str(error) for error in lost.exceptions)
            wrong = next(filter(None, (_earlier(error, ignored) for error in _each(lost))), None)
        except* BoltError as failed:
            wrong = next(_each(failed))
        if wrong:
            raise wrong
        ui.say(f"{what}: {why}; {left} more tries")
    raise EmulatorError(f"a known fault of QEMU stopped the guest {TRIES} times; at last: {why}")


def _each(group: BaseExceptionGroup[E]) -> Iterator[E]:
    """Yield the errors in ``group``, and in the groups that ``group`` contains."""
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _each(one)
        else:
            yield one


def _earlier(error: EmulatorError, ignored: Sequence[re.Pattern[str]]) -> GuestError | None:
    """Return an error if the console of the guest has a complaint that ``error`` has not caused."""
    splats = console.scan_file(error.log, ignored) if error.log else []
    if splats and splats[0].kind not in CAUSED:
        return GuestError(f"the guest's kernel complained: {splats[0]}", error.log)
    return None

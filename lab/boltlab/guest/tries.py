# SPDX-License-Identifier: GPL-2.0-only
"""Boots a guest again if a known fault of QEMU has stopped the guest."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from boltlab import errors, ui
from boltlab.errors import BoltError, EmulatorError, GuestError
from boltlab.guest import channels, console, ktap

T = TypeVar("T")

TRIES = 3  # how often a guest is booted, if a known fault of QEMU stops the guest each time
# Kinds of complaints (data/splats.toml) that a CPU without timer interrupts can cause.
CAUSED = ("RCU stall", "lockup", "hung task")


def again(
    what: str,
    boot: Callable[[], T],
    ignored: Sequence[re.Pattern[str]] = (),
    warns: Sequence[str] = (),
) -> T:
    """Return the result of ``boot``; if a known fault of QEMU stops the guest, boot again.

    Raises the first BoltError other than EmulatorError that ``boot`` raises, alone or in a group,
    and GuestError when the guest had failed before QEMU's fault showed, in a way that this fault
    does not cause. A line on stdout, which begins with ``what``, tells of each
    fault after which again() raises neither; after TRIES such faults again() raises EmulatorError.
    Complaints that ``ignored`` or ``warns`` fit do not count, as in qemu.judge().
    """
    expected = [re.compile(text) for text in warns]
    for left in reversed(range(TRIES)):
        why = ""
        wrong: BoltError | None = None
        try:
            return boot()
        except* EmulatorError as lost:
            faults = list(errors.leaves(lost))
            why = errors.texts(faults)
            wrong = next(filter(None, (_earlier(each, ignored, expected) for each in faults)), None)
        except* BoltError as failed:
            wrong = next(errors.leaves(failed))
        if wrong:
            raise wrong
        ui.say(f"{what}: {why}; {left} more {'try' if left == 1 else 'tries'}")
    raise EmulatorError(f"a known fault of QEMU stopped the guest {TRIES} times; at last: {why}")


def _earlier(
    error: EmulatorError,
    ignored: Sequence[re.Pattern[str]],
    expected: Sequence[re.Pattern[str]],
) -> GuestError | None:
    """Return an error if the guest had failed in a way that is not due to QEMU's fault.

    A complaint of the kernel, the first in a log, a failed test of KUnit, and a failed command of
    the script are such failures. What the kernel says after a complaint that is due to the fault
    may be due to the fault as well.
    """
    if not error.log:
        return None
    for path in channels.logs(error.log.parent):
        splats = console.unexpected(console.scan_file(path, ignored), expected)
        if splats and not (error.stalls and splats[0].kind in CAUSED):
            return GuestError(f"the guest's kernel complained: {splats[0]}", path)
    records = channels.records(error.log.parent)
    results = error.log.parent / channels.FILES["bolt.results"]
    if said := ktap.failed(records):
        return GuestError(said, results)
    if records and records[-1].get("end") == "error":
        return GuestError(f"the guest failed at '{records[-1]['command']}'", results)
    return None

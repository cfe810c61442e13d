# SPDX-License-Identifier: GPL-2.0-only
"""The one kind of error that users see, and the exit codes."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

E = TypeVar("E", bound=BaseException)

FAILURE = 1
USAGE = 2
UNAVAILABLE = 69  # EX_UNAVAILABLE: this machine lacks what the command needs, such as packages
INTERRUPTED = 130
KILLED = 137  # 128 + SIGKILL


class BoltError(Exception):
    """A failure that one line explains.

    ``message`` is that line, ``log`` a file with the details, ``code`` the exit status.
    """

    def __init__(self, message: str, log: Path | None = None, code: int = FAILURE) -> None:
        super().__init__(message)
        self.message = message
        self.log = log
        self.code = code

    def __str__(self) -> str:
        return f"{self.message} (log: {self.log})" if self.log else self.message


class KernelChangedError(BoltError):
    """The cache no longer has the kernel, or the kernel's tree, that this call of the lab got."""


class GuestError(BoltError):
    """A guest was started and did not end well. Other guests of the same set-up may end well."""

    @property
    def cause(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


class EmulatorError(GuestError):
    """A known fault of QEMU has stopped a guest: the lab may run the guest again.

    ``stalls``: whether the fault makes the guest's kernel complain of stalls. ``log`` is a file in
    the run's directory, or None if the error is about several runs.
    """

    def __init__(self, message: str, log: Path | None = None, *, stalls: bool = False) -> None:
        super().__init__(message, log)
        self.stalls = stalls


def leaves(group: BaseExceptionGroup[E]) -> Iterator[E]:
    """Yield the errors in ``group``, and in the groups that ``group`` contains."""
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from leaves(one)
        else:
            yield one


def texts(errors: Iterable[BaseException]) -> str:
    """Return what ``errors`` say, in one line; an error without a text is called by its class."""
    return "; ".join(str(error) or type(error).__name__ for error in errors)

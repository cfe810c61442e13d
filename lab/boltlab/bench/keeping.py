# SPDX-License-Identifier: GPL-2.0-only
"""Runs the guests of a bench, and keeps what each has measured, so that a later call can go on."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from boltlab import ui
from boltlab.bench import ledger
from boltlab.bench.ledger import Origin
from boltlab.errors import USAGE, BoltError, GuestError
from boltlab.guest import guests
from boltlab.guest.qemu import GuestResult

RESUME = " --resume"  # the option with which a bench uses figures that are kept


class Job(guests.Job, Protocol):
    """A guest to run, and the origin of its figures (ledger.py)."""

    @property
    def origin(self) -> Origin:
        """Return all that the guest's figures depend on, besides the guest's name."""


AnyJob = TypeVar("AnyJob", bound=Job)


def kept(job: Job) -> bool:
    """Tell whether valid figures of ``job`` are kept whose origin is still the same."""
    return ledger.take(job.name, job.origin) is not None


def require(work: Iterable[Job]) -> None:
    """Raise BoltError, with the reason, unless figures of a job of ``work`` are kept()."""
    jobs = list(work)
    if not any(map(kept, jobs)):
        wanted = [(job.name, job.origin) for job in jobs]
        raise BoltError(f"nothing to go on with: {ledger.why_none(wanted)}", code=USAGE)


@contextlib.contextmanager
def reporting(said: Sequence[str], kept: bool = True) -> Iterator[None]:
    """At the end of a bench, print the lines that are in ``said`` by then.

    After Ctrl-C print first, if ``kept``, that the guests which have ended are not run again.
    """
    try:
        yield
    except KeyboardInterrupt:
        if kept:
            ui.error(f"figures are kept: a call with{RESUME} runs only guests that have not ended")
        raise
    finally:
        for line in said:
            ui.error(line)


def run(
    work: Sequence[AnyJob],
    what: str,
    doing: str,
    read: Callable[[AnyJob, GuestResult], object],
    *,
    resume: bool,
) -> tuple[list[tuple[AnyJob, GuestResult]], list[tuple[AnyJob, GuestError]]]:
    """Return the jobs with what their guests have measured, and the jobs whose guests failed.

    Progress is shown as ``doing`` ``what``. What a guest has measured is kept: see ledger.keep().
    With ``resume``, a guest whose figures are kept() is not run. A guest for which ``read`` raises
    BoltError, because the guest's output cannot be read, counts as failed. If any guest has
    failed, the first list is empty. Raises BoltError when the set-up is wrong.
    """
    done: dict[str, GuestResult] = {}
    own: dict[str, GuestResult] = {}
    for job in work:
        if not resume:
            ledger.forget(job.name, job.origin)
        elif taken := ledger.take(job.name, job.origin):
            done[job.name] = taken
    if done:
        ui.say(f"{what}: {len(done)} of {len(work)} guests have been run before")

    def ended(job: AnyJob, ran: GuestResult) -> None:
        try:
            read(job, ran)
        except BoltError as error:
            raise GuestError(error.message, error.log or ran.trace) from error
        # A call with --resume may need the figures after the lab has removed the run's directory.
        done[job.name] = ledger.keep(job.name, job.origin, ran)
        own[job.name] = ran

    left = [job for job in work if job.name not in done]
    played = guests.run_each(left, f"{doing} {what}", ended) if left else []
    failed = [(job, outcome) for job, outcome in played if isinstance(outcome, GuestError)]
    if failed:
        return [], failed
    # Another bench may have replaced what is kept; so take what the guests of this call have left
    # in their own directories, except where another call has removed the directory.
    done |= {name: ran for name, ran in own.items() if ran.folder.exists()}
    return [(job, done[job.name]) for job in work], []

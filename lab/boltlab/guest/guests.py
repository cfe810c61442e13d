# SPDX-License-Identifier: GPL-2.0-only
"""Runs several guests at a time, which changes no latencies of guests in virtual time."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from boltlab import arch, ui
from boltlab.errors import GuestError
from boltlab.guest import qemu
from boltlab.guest.qemu import Guest, GuestResult


class Job(Protocol):
    """A guest to run for a bench.

    ``name`` is the name of the run, which is a part of the name of the run's directory, and is
    different for each job. ``units`` are the job's share of the progress: one unit is done with
    each record that the guest writes, until one is left; all are done when the guest has ended.
    """

    @property
    def name(self) -> str:
        """Return the name of the run."""

    @property
    def guest(self) -> Guest:
        """Return the guest to run."""

    @property
    def units(self) -> int:
        """Return how many units of the progress are the guest's.

        Each record of the guest is one unit, and the guest's end completes the rest.
        """


AnyJob = TypeVar("AnyJob", bound=Job)
Outcome = TypeVar("Outcome")
Seen = Callable[[int], None]  # is called with the number of a guest's records so far


def run_all(
    work: Sequence[AnyJob], title: str, at_once: int | None = None
) -> list[tuple[AnyJob, GuestResult]]:
    """Return each job of ``work`` with its guest's result.

    The first failure of a guest ends the other guests, and is raised. ``at_once`` guests run at a
    time: by default as many as SLURM_CPUS_PER_TASK says, or, if that variable is not set, one for
    each core that the lab may use. Progress is shown under ``title``.
    """

    async def play(job: AnyJob, seen: Seen) -> GuestResult:
        return await qemu.boot(job.guest, job.name, seen)

    return asyncio.run(_run_all(work, title, at_once, play))


def run_each(
    work: Sequence[AnyJob], title: str, ended: Callable[[AnyJob, GuestResult], None]
) -> list[tuple[AnyJob, GuestResult | GuestError]]:
    """Return each job of ``work`` with its guest's result, or with the GuestError of the guest.

    ``ended`` is called for each guest that has ended well; the guest counts as failed if ``ended``
    raises GuestError. Any error but GuestError is an error of the set-up: it ends all guests, and
    is raised. In all other respects run_each() does the same as run_all() without ``at_once``.
    """

    async def play(job: AnyJob, seen: Seen) -> GuestResult | GuestError:
        try:
            ran = await qemu.boot(job.guest, job.name, seen)
            ended(job, ran)
        except GuestError as error:
            ui.say(f"{job.name} failed: the other guests go on")
            return error
        return ran

    return asyncio.run(_run_all(work, title, None, play))


async def _run_all(
    work: Sequence[AnyJob],
    title: str,
    at_once: int | None,
    play: Callable[[AnyJob, Seen], Awaitable[Outcome]],
) -> list[tuple[AnyJob, Outcome]]:
    given = int(os.environ.get("SLURM_CPUS_PER_TASK", 0))
    slots = asyncio.Semaphore(at_once or given or arch.cores())
    done = {job.name: 0 for job in work}
    for job in work:
        qemu.require_room(job.guest)
    with ui.progress(title, sum(job.units for job in work)) as task:

        def seen(job: AnyJob, units: int) -> None:
            done[job.name] = units
            task.update(sum(done.values()))

        async def one(job: AnyJob) -> Outcome:
            async with slots:
                outcome = await play(job, lambda records: seen(job, min(records, job.units - 1)))
            seen(job, job.units)
            return outcome

        try:
            async with asyncio.TaskGroup() as group:
                runs = [group.create_task(one(job)) for job in work]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return [(job, run.result()) for job, run in zip(work, runs, strict=True)]

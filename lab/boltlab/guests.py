# SPDX-License-Identifier: GPL-2.0-only
"""Several guests, as many at a time as there are cores: virtual time does not mind."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from boltlab.qemu import GuestResult

Job = TypeVar("Job")


async def run_all(
    work: Sequence[Job], boot: Callable[[Job], Awaitable[GuestResult]], at_once: int | None = None
) -> list[tuple[Job, GuestResult]]:
    """Return each of ``work`` with what ``boot`` made of it; the first failure ends the others.

    ``at_once`` guests run at a time: by default one for each of the host's cores, or of those
    that Slurm has given this job.
    """
    given = int(os.environ.get("SLURM_CPUS_PER_TASK", 0))
    slots = asyncio.Semaphore(at_once or given or os.cpu_count() or 1)

    async def one(job: Job) -> GuestResult:
        async with slots:
            return await boot(job)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(job)) for job in work]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [(job, task.result()) for job, task in zip(work, tasks, strict=True)]

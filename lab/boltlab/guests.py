# SPDX-License-Identifier: GPL-2.0-only
"""Several guests, as many at a time as there are cores: virtual time does not mind."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from boltlab.qemu import GuestResult

Job = TypeVar("Job")


async def run_all(
    work: Sequence[Job], boot: Callable[[Job], Awaitable[GuestResult]]
) -> list[tuple[Job, GuestResult]]:
    """Return each of ``work`` with what ``boot`` made of it; the first failure ends the others."""
    slots = asyncio.Semaphore(max(1, os.cpu_count() or 1))

    async def one(job: Job) -> GuestResult:
        async with slots:
            return await boot(job)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(job)) for job in work]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [(job, task.result()) for job, task in zip(work, tasks, strict=True)]

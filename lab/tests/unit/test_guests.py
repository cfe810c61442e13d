# SPDX-License-Identifier: GPL-2.0-only
"""Several guests at a time."""

import asyncio
from typing import Any, cast

import pytest

from boltlab.errors import BoltError
from boltlab.guest import guests
from boltlab.guest.qemu import GuestResult


@pytest.mark.parametrize(("at_once", "expected"), [(None, 2), (1, 1), (3, 3)])
def test_no_more_than_cores_and_in_order(
    at_once: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    running = most = 0

    async def boot(job: int) -> GuestResult:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01 * (5 - job))
        running -= 1
        return cast(GuestResult, -job)

    done: list[Any] = asyncio.run(guests.run_all([1, 2, 3, 4], boot, at_once))
    assert done == [(1, -1), (2, -2), (3, -3), (4, -4)]
    assert most == expected


def test_the_first_failure_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    ended = []

    async def boot(job: int) -> GuestResult:
        if job:
            raise BoltError("it hung")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(job)
            raise
        raise AssertionError

    with pytest.raises(BoltError, match="it hung"):
        asyncio.run(guests.run_all([0, 1], boot))
    assert ended == [0]

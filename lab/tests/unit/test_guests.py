# SPDX-License-Identifier: GPL-2.0-only
"""Several guests at a time."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from boltlab import ui
from boltlab.arch import ARCHES
from boltlab.errors import BoltError, GuestError
from boltlab.guest import guests, qemu
from boltlab.guest.machine import Machine
from boltlab.guest.qemu import Guest, GuestResult

GUEST = Guest(ARCHES["x86_64"], Path("image"), ())
Seen = Callable[[int], None]


@dataclass(frozen=True)
class Job:
    number: int
    units: int = 1
    guest: Guest = GUEST

    @property
    def name(self) -> str:
        return str(self.number)


@pytest.mark.parametrize(("at_once", "expected"), [(None, 2), (1, 1), (3, 3)])
def test_no_more_than_cores_and_in_order(
    at_once: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boltlab.arch.cores", lambda: 2)
    running = most = 0

    async def boot(guest: Guest, name: str, seen: Seen) -> GuestResult:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01 * (5 - int(name)))
        running -= 1
        return GuestResult(Path(name), [])

    monkeypatch.setattr(qemu, "boot", boot)
    done = guests.run_all([Job(1), Job(2), Job(3), Job(4)], "testing", at_once)
    assert [(job.number, ran.folder.name) for job, ran in done] == [
        (number, str(number)) for number in (1, 2, 3, 4)
    ]
    assert most == expected


def test_the_first_failure_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boltlab.arch.cores", lambda: 2)
    ended = []

    async def boot(guest: Guest, name: str, seen: Seen) -> GuestResult:
        if name == "1":
            raise BoltError("it hung")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(name)
            raise
        raise AssertionError

    monkeypatch.setattr(qemu, "boot", boot)
    with pytest.raises(BoltError, match="it hung"):
        guests.run_all([Job(0), Job(1)], "testing")
    assert ended == ["0"]


def test_progress_counts_records_and_ends_of_guests(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[float] = []
    monkeypatch.setattr(ui.Task, "update", lambda task, done: shown.append(done))

    async def boot(guest: Guest, name: str, seen: Seen) -> GuestResult:
        for records in (1, 2, 9):
            seen(records)
        return GuestResult(Path(name), [])

    monkeypatch.setattr(qemu, "boot", boot)
    guests.run_all([Job(1, units=3), Job(2)], "testing", 1)
    # The last unit of a guest counts when the guest has ended, not when the guest's records say so.
    assert shown == [1, 2, 2, 3, 3, 3, 3, 4]


def test_a_guest_that_fails_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def boot(guest: Guest, name: str, seen: Seen) -> GuestResult:
        await asyncio.sleep(0.01 * int(name))
        if name == "1":
            raise GuestError("it hung")
        return GuestResult(Path(name), [])

    kept = []

    def ended(job: Job, ran: GuestResult) -> None:
        kept.append(ran.folder.name)
        if job.number == 3:
            raise GuestError("no trace")

    monkeypatch.setattr(qemu, "boot", boot)
    done = guests.run_each([Job(1), Job(2), Job(3), Job(4)], "testing", ended)
    assert [ran.cause if isinstance(ran, GuestError) else ran.folder.name for _, ran in done] == [
        "it hung",
        "2",
        "no trace",
        "4",
    ]
    assert kept == ["2", "3", "4"]


def test_a_wrong_set_up_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boltlab.arch.cores", lambda: 1)
    ended = []

    async def boot(guest: Guest, name: str, seen: Seen) -> GuestResult:
        if name == "1":
            raise BoltError("qemu is not installed")
        await asyncio.sleep(60)
        ended.append(name)
        return GuestResult(Path(name), [])

    monkeypatch.setattr(qemu, "boot", boot)
    with pytest.raises(BoltError, match="not installed"):
        guests.run_each([Job(1), Job(2)], "testing", lambda job, ran: None)
    assert ended == []


def test_no_guest_runs_if_one_is_too_large_for_its_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def boot(guest: Guest, name: str, seen: Seen) -> GuestResult:
        raise AssertionError

    monkeypatch.setattr(qemu, "boot", boot)
    (tmp_path / "config").write_text("CONFIG_NR_CPUS=2\n", encoding="utf-8")
    large = Guest(ARCHES["x86_64"], tmp_path / "image", (), machine=Machine(cpus=4))
    work = [Job(1), Job(2, guest=large)]
    with pytest.raises(BoltError, match="can use 2 of the machine's 4 CPUs"):
        guests.run_all(work, "testing")
    with pytest.raises(BoltError, match="can use 2 of the machine's 4 CPUs"):
        guests.run_each(work, "testing", lambda job, ran: None)

# SPDX-License-Identifier: GPL-2.0-only
"""Stops single virtual CPUs of a running guest, as a busy host does, but for a longer time.

QEMU's command ``stop`` stops all CPUs, and a stop signal stops QEMU's whole process. So the lab
attaches to the thread of one CPU as a tracer (ptrace), which can stop a single thread.
"""

import asyncio
import contextlib
import ctypes
import json
import os
import random
from collections.abc import Mapping
from pathlib import Path

from qemu.qmp import QMPClient

from boltlab.errors import BoltError

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
_WALL = 0x40000000
POLL = 0.05  # seconds between two looks for requests of the guest
# AtRandom stops a CPU for at most so many seconds: far fewer than the kernel waits until a CPU has
# come up, which is 10 s on x86_64 and 5 s on arm64.
LONGEST = 1.5


class NotStoppedError(BoltError):
    """A thread of QEMU cannot be stopped: the machine forbids that, or QEMU is about to end."""


def _ptrace(request: int, thread: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(request, thread, None, None) < 0:
        error = ctypes.get_errno()
        raise NotStoppedError(f"cannot stop a thread of the emulator: {os.strerror(error)}")


class Stopped:
    """Threads of QEMU that are stopped.

    All calls must come from one thread of the lab, because only the thread that has stopped a
    thread of QEMU may let that thread go on.
    """

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def stop(self, thread: int) -> None:
        """Stop ``thread``; raise NotStoppedError if the kernel refuses that."""
        if thread in self.threads:
            return
        _ptrace(_SEIZE, thread)
        _ptrace(_INTERRUPT, thread)
        os.waitpid(thread, _WALL)
        self.threads.add(thread)

    def go(self, thread: int) -> None:
        """Let ``thread`` go on."""
        if thread in self.threads:
            self.threads.discard(thread)
            # The thread may have ended with its process, and then nothing is left to do.
            with contextlib.suppress(BoltError):
                _ptrace(_DETACH, thread)

    def all_go(self) -> None:
        """Let all stopped threads go on."""
        for thread in list(self.threads):
            self.go(thread)


async def threads(client: QMPClient) -> Mapping[int, int]:
    """Return, for each CPU of the guest, the emulator's thread that runs this CPU and no other.

    Raises BoltError if a thread runs several CPUs, as in virtual time.
    """
    answer = await client.execute("query-cpus-fast")
    assert isinstance(answer, list)
    known = {row["cpu-index"]: row["thread-id"] for row in answer}
    if len(set(known.values())) < len(known):
        raise BoltError("a CPU can be stopped only if each CPU has a thread of its own (mttcg)")
    return known


def wishes(text: str) -> list[tuple[str, int]]:
    """Return the requests to the host, ("stop" or "go", CPU), in a guest's results ``text``."""
    found = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict) and "host" in row:
                what, cpu = str(row["host"]).split()
                found.append((what, int(cpu)))
    return found


async def obey(client: QMPClient, folder: Path) -> None:
    """Until cancelled, stop CPUs and let CPUs go on as the guest asks with its command ``host``."""
    known = await threads(client)
    stopped, done = Stopped(), 0
    try:
        while True:
            await asyncio.sleep(POLL)
            with contextlib.suppress(OSError):
                text = (folder / "results.jsonl").read_text(encoding="utf-8", errors="replace")
                asked = wishes(text)
                for what, cpu in asked[done:]:
                    (stopped.stop if what == "stop" else stopped.go)(known[cpu])
                done = len(asked)
    finally:
        stopped.all_go()


class AtRandom:
    """Stops one random CPU after the other for a random time; all numbers come from ``seed``."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.times = 0

    async def __call__(self, client: QMPClient, folder: Path) -> None:
        """Stop CPUs until this task is cancelled."""
        known = await threads(client)
        stopped = Stopped()
        try:
            while True:
                await asyncio.sleep(self.rng.uniform(0, 1))
                thread = known[self.rng.choice(sorted(known))]
                stopped.stop(thread)
                self.times += 1
                await asyncio.sleep(self.rng.uniform(0.001, LONGEST) ** 2 / LONGEST)
                stopped.go(thread)
        finally:
            stopped.all_go()

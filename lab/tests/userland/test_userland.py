# SPDX-License-Identifier: GPL-2.0-only
"""Debian's user space on a kernel with Bolt: programs see the same as natively.

A guest whose kernel prints a splat fails by itself: see boltlab.console.
"""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from boltlab import arch, qemu, userland
from boltlab.agent import Agent
from boltlab.build import Kernel
from boltlab.errors import UNAVAILABLE, BoltError
from boltlab.qemu import Guest

pytestmark = [pytest.mark.guest, pytest.mark.nightly]

FLAVOUR = "userland"


@pytest.fixture(scope="module")
def image() -> Path:
    """Debian's user space, where it can be had."""
    try:
        return userland.image()
    except BoltError as error:
        if error.code == UNAVAILABLE:
            pytest.skip(str(error))
        raise


def test_debian(kernel: Callable[[str, str], Kernel], image: Path) -> None:
    target, rows = arch.host(), userland.checks()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        guest = Guest(
            target,
            kernel(target.name, FLAVOUR).image,
            userland.script(rows),
            nodes=2,
            memory="2G",
            accel="mttcg",
            timeout=3600,
            root=image,
            agent=theirs,
        )
        folder = qemu.new_run(f"test-{target.name}-userland")
        done = qemu.run_in(guest, folder, watcher=Agent(ours, userland.requests()))
    assert userland.differences(rows, done.records) == []

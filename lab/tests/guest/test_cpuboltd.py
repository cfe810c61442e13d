# SPDX-License-Identifier: GPL-2.0-only
"""The daemon cpuboltd in guests: beside a real load, killed at random moments, and idle."""

import re

import pytest

from boltlab.arch import ARCHES
from tests.guest.test_cpubolt import Kernels, output, play

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("arch", ARCHES)]

MOST_KB = 5000
TICK_MS = 10


def test_beside_a_load(kernel: Kernels, arch: str) -> None:
    """The guest fails when a CPU is lost, or one that belongs to another program is moved."""
    text = "\n".join(output(play(kernel, arch, "cpuboltd")))
    assert re.search(r"^CPU 3 is offline: cpuboltd took it \d+ s ago, for the policy", text, re.M)
    assert "lease 1: CPUs 2-3 for 2 s" in text
    assert "CPU 2 is online: another program has brought it online" in text
    assert "CPU 3 is offline: another program has taken it" in text
    assert "in order\n" in text
    rounds = re.findall(r"^(\d+) rounds, (\d+) killed, (\d+) of these with CPUs taken", text, re.M)
    assert [int(total) for total, _, _ in rounds] == [100, 20]
    assert all(int(taken) > 0 for _, _, taken in rounds)


def test_what_it_costs(kernel: Kernels, arch: str) -> None:
    """At most a thousandth of a CPU, with 64 CPUs, nearly all of which the daemon has taken."""
    text = "\n".join(output(play(kernel, arch, "cpuboltd-idle")))
    found = re.search(r"^idle: (\d+) ticks in (\d+) ms, (\d+) kB$", text, re.M)
    assert found is not None
    ticks, ms, kb = map(int, found.groups())
    # A tick is counted as a whole.
    assert (ticks - 1) * TICK_MS * 1000 <= ms
    assert 0 < kb < MOST_KB

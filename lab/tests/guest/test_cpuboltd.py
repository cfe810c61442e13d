# SPDX-License-Identifier: GPL-2.0-only
"""The daemon cpuboltd in guests: beside a real load, and killed at random moments."""

import re

import pytest

from boltlab.arch import ARCHES
from tests.guest.test_cpubolt import Kernels, output, play

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("arch", ARCHES)]

# Limits of memory and of CPU time: ticks of 10 ms in a minute, at twenty intervals a second.
MOST_KB = 5000
MOST_TICKS = 60


def test_beside_a_load(kernel: Kernels, arch: str) -> None:
    """The guest fails if a CPU is lost, or if the daemon changes a CPU of another program."""
    text = "\n".join(output(play(kernel, arch, "cpuboltd")))
    assert re.search(r"^CPU 3 is offline: cpuboltd took it \d+ s ago, for the policy", text, re.M)
    assert "lease 1: CPUs 2-3 for 2 s" in text
    assert "CPU 2 is online: another program has brought it online" in text
    assert "CPU 3 is offline: another program has taken it" in text
    assert "in order" in text
    ticks, kb = re.findall(r"^without load: (\d+) ticks in 60\d\d\d ms, (\d+) kB$", text, re.M)[0]
    assert int(ticks) <= MOST_TICKS
    assert 0 < int(kb) < MOST_KB
    rounds = re.findall(r"^(\d+) rounds, (\d+) killed, (\d+) of these with CPUs taken", text, re.M)
    assert [int(total) for total, _, _ in rounds] == [100, 20]
    assert all(int(killed) > int(total) // 2 for total, killed, _ in rounds)
    assert all(int(taken) > 0 for _, _, taken in rounds)

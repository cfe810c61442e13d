# SPDX-License-Identifier: GPL-2.0-only
"""The daemon cpuboltd in guests: beside a real load, and killed at random moments."""

import re

import pytest

from boltlab.arch import ARCHES
from tests.guest.test_guest import Kernels, output, play

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("arch", ARCHES)]

# Limits of the daemon: kB of memory, and per cent of a CPU at twenty intervals a second (MOST_BUSY)
# and at one interval a second (MOST_IDLE).
MOST_KB = 5000
MOST_BUSY = 1
MOST_IDLE = 0.1
# The last command of the scenario "day", and what "unit day" prints.
ALL_ONLINE = "expect /sys/devices/system/cpu/online 0-3"
FOLLOWED = re.compile(
    r"^day: (\d+) s, (\d+) changes, (\S+) CPUs online on average, (\d) at least, (\d) at most$",
    re.M,
)
LATE = re.compile(r"^day: (\S+) s of work, (\S+) % of it late by a second or more, ", re.M)
REPLAYED = re.compile(r"^replay: CPUs online: (\S+) on average, ", re.M)


def test_beside_a_load(kernel: Kernels, arch: str) -> None:
    """The guest fails if a CPU stays offline, or if the daemon undoes another program's change."""
    text = "\n".join(output(play(kernel, arch, "cpuboltd")))
    assert re.search(r"^CPU 3 is offline: cpuboltd took it \d+ s ago, for the policy", text, re.M)
    assert "lease 1: CPUs 2-3 for 2 s" in text
    assert "CPU 2 is online: another program has brought it online" in text
    assert "CPU 3 is offline: another program took it, or it was offline" in text
    assert "in order" in text
    ((used, kb),) = re.findall(
        r"^without load: (\S+) % of a CPU in 60\d+ ms, (\d+) kB$", text, re.M
    )
    assert 0 < float(used) <= MOST_BUSY
    assert 0 < int(kb) < MOST_KB
    rounds = re.findall(
        r"^(\d+) rounds, (\d+) killed, (\d+) of these while the daemon had CPUs offline", text, re.M
    )
    assert [int(total) for total, _, _ in rounds] == [100, 20]
    assert all(int(killed) > int(total) // 2 for total, killed, _ in rounds)
    assert all(int(taken) > 0 for _, _, taken in rounds)


def test_little_is_taken_of_an_idle_machine(kernel: Kernels, arch: str) -> None:
    """The daemon's cost at the default interval, with 63 of 64 CPUs offline and with all online."""
    words = ("write /sys/devices/system/cpu/bolt/enabled 1", "run /bin/unit idle seconds=60")
    text = "\n".join(output(play(kernel, arch, "cpuboltd-idle", commands=words)))
    found = re.findall(
        r"^idle, (\d+) of 64 CPUs online: (\S+) % of a CPU in 60\d+ ms, (\d+) kB$", text, re.M
    )
    assert [int(online) for online, _, _ in found] == [1, 64]
    for _, used, kb in found:
        assert 0 < float(used) < MOST_IDLE
        assert 0 < int(kb) < MOST_KB


def follows(said: list[str], seconds: int) -> None:
    """Assert that the daemon followed a load for ``seconds``, much as it does in a replay."""
    text = "\n".join(said)
    ((lasted, changes, online, least, most),) = FOLLOWED.findall(text)
    ((work, late),) = LATE.findall(text)
    (replayed,) = REPLAYED.findall(text)
    assert int(lasted) == seconds
    assert int(changes) > seconds / 30
    assert (int(least), int(most)) == (1, 4)
    assert float(work) / seconds < float(online) < 4
    assert float(online) == pytest.approx(float(replayed), rel=0.3)
    assert float(late) < 10


def test_an_hour_of_a_day(kernel: Kernels, arch: str) -> None:
    """One hour of the scenario ``day``, in which an hour lasts five minutes."""
    words = ("write /sys/devices/system/cpu/bolt/enabled 1", "run /bin/unit day from=8 hours=1")
    follows(output(play(kernel, arch, "day", commands=(*words, ALL_ONLINE))), 300)


@pytest.mark.nightly
def test_a_day(kernel: Kernels, arch: str) -> None:
    follows(output(play(kernel, arch, "day")), 7200)

# SPDX-License-Identifier: GPL-2.0-only
"""Kernels in guests: what boots, what KUnit and the selftests say, what a pair costs.

A guest whose kernel prints a splat fails by itself: see boltlab.console.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import pytest

from boltlab import breakdown, qemu, scenario
from boltlab.arch import ARCHES
from boltlab.build import Kernel
from boltlab.qemu import GuestResult

Kernels = Callable[[str, str], Kernel]

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("arch", ARCHES)]

PLAN = re.compile(r"# Totals: pass:(\d+) fail:(\d+) .*skip:(\d+)")


def play(kernel: Kernels, arch: str, name: str, flavour: str | None = None) -> GuestResult:
    """Run the scenario ``name`` on ``arch``."""
    wanted = scenario.load(name)
    if flavour:
        wanted = replace(wanted, kernel=flavour)
    target = ARCHES[arch]
    guest = wanted.guest(target, kernel(arch, wanted.kernel), target.default_setting)
    return qemu.run(guest, f"test-{arch}-{name}")


def output(done: GuestResult) -> list[str]:
    return [row["output"] for row in done.records if "output" in row]


@pytest.mark.parametrize("flavour", ["pristine", "bolt"])
def test_boots_and_cycles_every_cpu(kernel: Kernels, arch: str, flavour: str) -> None:
    samples = play(kernel, arch, "pair", flavour).samples()
    assert all(value > 0 for value in samples["offline_seq"] + samples["online_seq"])


def test_kunit(kernel: Kernels, arch: str) -> None:
    rows = [row for row in play(kernel, arch, "kunit").records if "kunit" in row]
    ours = {row["kunit"] for row in rows if row["kunit"].startswith("bolt_")}
    assert ours == {"bolt_pending", "bolt_request"}
    totals = [PLAN.match(row["line"]) for row in rows]
    counted = [tuple(map(int, found.groups())) for found in totals if found]
    assert len(counted) >= len(ours)
    assert sum(passed for passed, _, _ in counted) >= 13
    assert all(failed == 0 and skipped == 0 for _, failed, skipped in counted)


# The tests that may be skipped: arm64 has no device nodes of CPUs.
SKIPPED = {("arm64", "nodes"): 1}


@pytest.mark.parametrize("selftest", ["abi", "movers", "nodes", "uevents"])
def test_selftest(kernel: Kernels, arch: str, selftest: str) -> None:
    found = [PLAN.match(line) for line in output(play(kernel, arch, f"selftest-{selftest}"))]
    totals = [tuple(map(int, each.groups())) for each in found if each]
    assert len(totals) == 1
    passed, failed, skipped = totals[0]
    assert (failed, skipped) == (0, SKIPPED.get((arch, selftest), 0))
    assert passed >= 2


@pytest.mark.parametrize("name", ["boot-on", "boot-off"])
def test_command_line(kernel: Kernels, arch: str, name: str) -> None:
    """The scenario fails by itself unless Bolt is on, or off; its last command is a pair."""
    assert set(play(kernel, arch, name).samples()) == {"offline1", "online1"}


def test_thousand_pairs(kernel: Kernels, arch: str) -> None:
    """Bolt and native in turns: no splat, no leak, every node back."""
    found = [PLAN.match(line) for line in output(play(kernel, arch, "churn"))]
    assert [each.groups() for each in found if each] == [("1", "0", "0")]


@pytest.mark.parametrize("flavour", ["pristine", "bolt"])
def test_breakdown(kernel: Kernels, arch: str, flavour: str) -> None:
    """Both directions of both kernels fall into phases, the paper's among them."""
    with play(kernel, arch, "breakdown", flavour).trace.open(encoding="utf-8") as file:
        phases = breakdown.summarise(file)
    assert set(phases) == {"offline", "online"}
    off = {phase.phase: phase.median_ns for phase in phases["offline"]}
    assert off["stop"] > 0 and off["rcu"] > 0
    on = {phase.phase: phase.median_ns for phase in phases["online"]}
    assert on["hardware"] > 0 and on["callbacks"] > 0


def test_last_cpu_of_a_node(kernel: Kernels, arch: str) -> None:
    found = [PLAN.match(line) for line in output(play(kernel, arch, "numa"))]
    totals = [each.groups() for each in found if each]
    assert [failed for _, failed, _ in totals] == ["0", "0"]


def test_bolt_is_faster(kernel: Kernels, arch: str) -> None:
    """With a wide margin; what is claimed stands in the figures of ``bolt bench``."""
    native = play(kernel, arch, "pairs").samples()
    bolt = play(kernel, arch, "pairs-bolt").samples()
    assert median(bolt["offline1"]) * 10 < median(native["offline1"])
    assert median(bolt["online1"]) < median(native["online1"])

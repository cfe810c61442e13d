# SPDX-License-Identifier: GPL-2.0-only
"""Kernels in guests: which ones boot, what KUnit and the selftests say, what requests cost.

A guest whose kernel prints a splat fails by itself: see boltlab.guest.console.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from boltlab.arch import ARCHES
from boltlab.bench import breakdown, guard
from boltlab.bench.plan import Plan, flavours
from boltlab.commands import bench as cmd_bench
from boltlab.guest import qemu, scenario, selftest
from boltlab.guest.qemu import GuestResult
from boltlab.kernel.build import Kernel
from boltlab.kernel.source import Source

Kernels = Callable[[str, str], Kernel]

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("arch", ARCHES)]

PLAN = re.compile(r"# Totals: pass:(\d+) fail:(\d+) .*skip:(\d+)")


def play(
    kernel: Kernels, arch: str, name: str, flavour: str | None = None, **changes: Any
) -> GuestResult:
    """Run the scenario ``name`` on ``arch``, with ``changes`` of its keys.

    The kernel is ``flavour``, or, if ``flavour`` is None, the scenario's own.
    """
    wanted = scenario.load(name).changed(**changes)
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


# The KUnit suites that run on every architecture, and the suites that run on one architecture only.
COMMON = {
    "bolt_asleep",
    "bolt_boot",
    "bolt_deadline",
    "bolt_defer",
    "bolt_domains",
    "bolt_down",
    "bolt_error",
    "bolt_fit",
    "bolt_handover",
    "bolt_handover_block",
    "bolt_handover_net",
    "bolt_kept",
    "bolt_memory",
    "bolt_parallel",
    "bolt_parse",
    "bolt_pending",
    "bolt_pods",
    "bolt_policy",
    "bolt_request",
    "bolt_started",
    "bolt_steps",
    "bolt_sysfs",
    "bolt_turn",
    "bolt_visibility",
    "bolt_warm",
}
SUITES = {"x86_64": {"bolt_tsc"}, "arm64": set[str]()}
# The suites that run on one series only. bolt_topology tests the fast check of the levels of
# scheduler domains that Bolt gives to 6.12; Linux 7.3 has a fast check of its own.
OF_SERIES = {"6.12": {"bolt_topology"}, "7.3": set[str]()}

# How many tests of a selftest, or of all KUnit suites, are skipped. arm64 has no device nodes of
# CPUs, no machine check and, with 6.12, no SMT control, and no test can keep an arm64 CPU from
# being woken. Tests of SMT, of suspend, of CPUs isolated at boot, and of CPUs that are ejected or
# not present need other guests. With tsc=reliable the kernel does not test the TSC at boot, and
# most guests have one CPU package: see test_kunit_tsc. Only arm64 takes a CPU that is late out of
# the topology. An arm64 guest has one memory zone, and a
# test of settling needs two. Only a kernel with CONFIG_CPU_HOTPLUG_STATE_CONTROL lets a CPU stay
# between two states.
SKIPPED = {
    ("arm64", "nodes"): 1,
    ("arm64", "hardware"): 1,
    ("arm64", "bulk"): 2,
    ("x86_64", "bulk"): 2,
    ("arm64", "bulk-threadirqs"): 2,
    ("x86_64", "bulk-threadirqs"): 2,
    ("arm64", "cpusets"): 4,
    ("x86_64", "cpusets"): 4,
    ("arm64", "deadline"): 8,
    ("x86_64", "deadline"): 8,
    ("arm64", "veto"): 2,
    ("x86_64", "veto"): 2,
    ("arm64", "lost"): 8,
    ("x86_64", "lost"): 4,
    ("arm64", "undo"): 3,
    ("x86_64", "undo"): 3,
    ("arm64", "warm"): 1,
    ("x86_64", "warm"): 1,
    ("x86_64", "kunit"): 4,
    ("arm64", "kunit"): 1,
}

# How many more tests are skipped on kernels of a series. Natively 6.12 does not let the last CPU of
# a root domain go, because dl_bw_check_overflow() counts the deadline server of that CPU. So the
# native half of a test that takes this CPU offline is skipped. 7.3 has SMT control on arm64.
SKIPPED_OF_SERIES = {
    "6.12": {
        (arch, selftest): 1 for arch in ARCHES for selftest in ("cpusets", "cpusets-isolated")
    },
    "7.3": {("arm64", "lost"): -1},
}


def kunit(done: GuestResult) -> tuple[set[str], list[tuple[int, ...]]]:
    """Return the names of Bolt's suites that passed, and how many tests passed, failed, skipped.

    The numbers are there for each suite, also for suites that are not Bolt's, except for a suite of
    one test: KUnit prints no totals of such a suite.
    """
    rows = [row for row in done.records if "kunit" in row]
    totals = [PLAN.match(row["line"]) for row in rows]
    ended = {row["kunit"] for row in rows if re.fullmatch(rf"ok \d+ {row['kunit']}", row["line"])}
    ours = {name for name in ended if name.startswith("bolt_")}
    return ours, [tuple(map(int, found.groups())) for found in totals if found]


def test_kunit(kernel: Kernels, arch: str, kernel_source: Source) -> None:
    ours, counted = kunit(play(kernel, arch, "kunit"))
    assert ours == COMMON | SUITES[arch] | OF_SERIES[kernel_source.version.series]
    assert sum(passed for passed, _, _ in counted) >= 30
    assert all(failed == 0 for _, failed, _ in counted)
    assert sum(skipped for _, _, skipped in counted) == SKIPPED.get((arch, "kunit"), 0)


@pytest.mark.plays("kunit-tsc")
def test_kunit_tsc(kernel: Kernels, arch: str) -> None:
    """The guest has two CPU packages, whose TSCs the kernel takes to be in step (x86)."""
    ours, counted = kunit(play(kernel, arch, "kunit-tsc"))
    assert ours == {"bolt_tsc"}
    assert counted
    assert all((failed, skipped) == (0, 0) for _, failed, skipped in counted)


def test_kunit_parallel(kernel: Kernels, arch: str) -> None:
    """The suite runs with bolt.parallel=on; in test_kunit the parameter is off, the default."""
    ours, counted = kunit(play(kernel, arch, "kunit-parallel"))
    assert ours == {"bolt_parallel"}
    assert counted
    assert all((failed, skipped) == (0, 0) for _, failed, skipped in counted)


def test_kunit_on_one_cpu(kernel: Kernels, arch: str) -> None:
    """All tests of three suites are skipped; the scenario checks that settings are as before."""
    _, counted = kunit(play(kernel, arch, "kunit-one-cpu"))
    assert len(counted) == 3
    assert all((passed, failed) == (0, 0) for passed, failed, _ in counted)


@pytest.mark.nightly
def test_kunit_on_nodes(kernel: Kernels, arch: str) -> None:
    """The guest has two nodes and many CPUs; tests that do not fit such a machine are skipped."""
    ours, counted = kunit(play(kernel, arch, "kunit-nodes"))
    assert ours >= COMMON
    assert sum(passed for passed, _, _ in counted) >= 30
    assert all(failed == 0 for _, failed, _ in counted)


def domains_are_right(done: GuestResult) -> bool:
    """Tell whether every test of the suite of scheduler domains passed."""
    ours, counted = kunit(done)
    return ours == {"bolt_domains"} and all(
        passed > 0 and (failed, skipped) == (0, 0) for passed, failed, skipped in counted
    )


def test_kunit_domains(kernel: Kernels, arch: str) -> None:
    """Cores have two threads, so that scheduler domains have more levels than in test_kunit."""
    assert domains_are_right(play(kernel, arch, "kunit-domains"))


@pytest.mark.nightly
def test_kunit_domains_with_core_scheduling(kernel: Kernels, arch: str) -> None:
    """The kernel with KASAN has core scheduling and energy models, which must not be in use.

    While either is in use, Bolt cannot defer a rebuild of domains, and the tests are skipped.
    """
    assert domains_are_right(play(kernel, arch, "kunit-domains", "kasan", timeout=3600))


# The selftests that run on the kernel "bolt" and on both architectures. Other test functions
# run all other selftests.
SELFTESTS = [
    name.removeprefix(selftest.PREFIX)
    for name in selftest.scenarios()
    if (wanted := scenario.load(name)).kernel == "bolt"
    and wanted.arches == tuple(ARCHES)
    and len(wanted.selftests) == 1
]


@pytest.mark.parametrize("selftest", SELFTESTS)
def test_selftest(kernel: Kernels, arch: str, selftest: str, kernel_source: Source) -> None:
    found = [PLAN.match(line) for line in output(play(kernel, arch, f"selftest-{selftest}"))]
    totals = [tuple(map(int, each.groups())) for each in found if each]
    assert len(totals) == 1
    passed, failed, skipped = totals[0]
    of_series = SKIPPED_OF_SERIES[kernel_source.version.series].get((arch, selftest), 0)
    assert (failed, skipped) == (0, SKIPPED.get((arch, selftest), 0) + of_series)
    assert passed >= 2


@pytest.mark.plays("selftest-{machine}")
@pytest.mark.nightly
@pytest.mark.parametrize("machine", ["two-cpus", "nine-cpus", "nosmt"])
def test_selftests_on_other_machines(kernel: Kernels, arch: str, machine: str) -> None:
    """Tests that do not fit the guest's CPUs are skipped; with nosmt, all tests are.

    The guest checks that settings are as before.
    """
    wanted = scenario.load(f"selftest-{machine}")
    found = [PLAN.match(line) for line in output(play(kernel, arch, wanted.name))]
    totals = [tuple(map(int, each.groups())) for each in found if each]
    assert len(totals) == len(wanted.selftests)
    assert all(failed == 0 for _, failed, _ in totals)
    assert all((passed == 0) == (machine == "nosmt") for passed, _, _ in totals)


@pytest.mark.plays("selftest-lost-cores")
@pytest.mark.nightly
def test_a_leader_dies_and_its_sibling_stays(kernel: Kernels, arch: str) -> None:
    """Runs on x86, where a test can have a CPU refuse in the stop, and where cores have threads.

    The kernel has core scheduling, and warns if a core has no leader.
    """
    name = "selftest-lost-cores"
    found = [PLAN.match(line) for line in output(play(kernel, arch, name))]
    assert [each.groups() for each in found if each] == [("2", "0", "0")]


@pytest.mark.plays("selftest-undo-found")
@pytest.mark.nightly
def test_cpus_between_two_states_stay_offline(kernel: Kernels, arch: str) -> None:
    """On this kernel a write to hotplug/target may leave a CPU in any state."""
    found = [PLAN.match(line) for line in output(play(kernel, arch, "selftest-undo-found"))]
    assert [each.groups() for each in found if each] == [("3", "0", "0")]


@pytest.mark.nightly
def test_callers_in_all_rounds(kernel: Kernels, arch: str) -> None:
    found = [PLAN.match(line) for line in output(play(kernel, arch, "callers"))]
    assert [each.groups() for each in found if each] == [("6", "0", "0")]


@pytest.mark.nightly
def test_thousand_verdicts_of_deadline(kernel: Kernels, arch: str) -> None:
    """The kernel refuses just those offline requests that the rule in deadline_model.c refuses.

    In some of the 1000 requests a callback fails, so that the request is undone. Between the
    requests sysctls are read and written, and cpusets are written. The kernel "torture" shows
    deadline servers in debugfs, so that the test changes the runtimes of these servers, too.
    """
    done = play(
        kernel, arch, "selftest-deadline-model", "torture", append="BOLT_CASES=1000", timeout=7200
    )
    found = [PLAN.match(line) for line in output(done)]
    assert [each.groups() for each in found if each] == [("3", "0", "0")]


@pytest.mark.plays("selftest-hardware-intel")
def test_hardware_of_intel(kernel: Kernels, arch: str) -> None:
    """Tests Intel's machine check, and microcode in sysfs.

    A kernel that sees a hypervisor has no files of microcode. This guest hides its hypervisor.
    """
    found = [PLAN.match(line) for line in output(play(kernel, arch, "selftest-hardware-intel"))]
    assert [each.groups()[1:] for each in found if each] == [("0", "0"), ("0", "0")]


@pytest.mark.plays("selftest-caches-intel")
def test_caches_of_intel(kernel: Kernels, arch: str) -> None:
    """In a guest with CPUs of Intel, all CPUs share the last-level cache, which has one id."""
    found = [PLAN.match(line) for line in output(play(kernel, arch, "selftest-caches-intel"))]
    assert [each.groups() for each in found if each] == [("2", "0", "0")]


@pytest.mark.plays("selftest-features")
def test_features_of_cpus_that_differ(kernel: Kernels, arch: str) -> None:
    """CPUs come in one request: the machine loses exactly the features that any of them lacks."""
    name = "selftest-features"
    found = [PLAN.match(line) for line in output(play(kernel, arch, name))]
    assert [each.groups() for each in found if each] == [("1", "0", "0")]


@pytest.mark.plays("selftest-veto-smt")
def test_refusals_with_siblings(kernel: Kernels, arch: str) -> None:
    """Runs on x86, where SMT can be switched off on every series.

    The test that the last housekeeping CPU is refused is skipped: that CPU is CPU 0 in this guest,
    and CPU 0 can never go offline.
    """
    name = "selftest-veto-smt"
    found = [PLAN.match(line) for line in output(play(kernel, arch, name))]
    assert [each.groups()[1:] for each in found if each] == [("0", "1")]


@pytest.mark.plays("selftest-bulk-smt")
def test_bulk_with_siblings(kernel: Kernels, arch: str) -> None:
    """Runs on x86: there SMT can be switched off on every series, and CPUs can be ejected."""
    name = "selftest-bulk-smt"
    found = [PLAN.match(line) for line in output(play(kernel, arch, name))]
    assert [each.groups()[1:] for each in found if each] == [("0", "0")]


@pytest.mark.plays("selftest-{name}")
@pytest.mark.parametrize(
    ("name", "totals"), [("flight", ("23", "0", "1")), ("flight-line", ("3", "0", "0"))]
)
def test_interrupts_in_flight(
    kernel: Kernels, arch: str, name: str, totals: tuple[str, str, str]
) -> None:
    """Runs on x86. The test several_cpus is skipped natively, where CPUs go one by one."""
    name = f"selftest-{name}"
    found = [PLAN.match(line) for line in output(play(kernel, arch, name))]
    assert [each.groups() for each in found if each] == [totals]


@pytest.mark.parametrize("name", ["boot-on", "boot-off"])
def test_command_line(kernel: Kernels, arch: str, name: str) -> None:
    """boot-on checks that bolt=on enables Bolt, boot-off that a bad value of bolt= does not.

    Both scenarios then time a pair of requests.
    """
    assert set(play(kernel, arch, name).samples()) == {"offline1", "online1"}


def test_thousand_pairs(kernel: Kernels, arch: str) -> None:
    """After 1000 pairs of offline and online requests, Bolt's and native in turn, all is as before.

    There is no splat and no leak, and every sysfs node is back.
    """
    found = [PLAN.match(line) for line in output(play(kernel, arch, "churn"))]
    assert [each.groups() for each in found if each] == [("1", "0", "0")]


@pytest.mark.parametrize("flavour", ["pristine", "bolt"])
def test_breakdown(kernel: Kernels, arch: str, flavour: str) -> None:
    """On both kernels, requests spend time in phases that Bolt's paper (see README.md) names."""
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


def test_nodes_come_and_go_in_a_batch(kernel: Kernels, arch: str) -> None:
    """Requests take and bring whole nodes and parts of nodes.

    The scheduler has no masks of a node without CPUs, and makes the masks when a first CPU comes.
    """
    play(kernel, arch, "numa-batch")


@pytest.mark.nightly
@pytest.mark.parametrize("scenario", ["selftest-places", "selftest-invisible-domains"])
def test_scheduler_domains_in_schedstat(kernel: Kernels, arch: str, scenario: str) -> None:
    """Neither a failed request nor the parking of a CPU changes a domain in /proc/schedstat."""
    found = [PLAN.match(line) for line in output(play(kernel, arch, scenario, "debug"))]
    totals = [tuple(map(int, each.groups())) for each in found if each]
    assert len(totals) == 1
    passed, failed, skipped = totals[0]
    assert passed >= 2
    assert (failed, skipped) == (0, 0)


@pytest.mark.nightly
def test_batches_beside_a_check_of_calls(kernel: Kernels, arch: str) -> None:
    """With csdlock_debug=1, CPUs that die together do not wait for earlier function calls.

    No CPU answers a function call while the machine is stopped. So the wait, which Linux 7.3 has
    without Bolt's patches, would never end.
    """
    found = [PLAN.match(line) for line in output(play(kernel, arch, "csd", "debug"))]
    ((passed, failed, _),) = [tuple(map(int, each.groups())) for each in found if each]
    assert passed >= 10
    assert failed == 0


@pytest.mark.nightly
def test_lockdep_knows_what_hotplug_waits_for(kernel: Kernels, arch: str) -> None:
    """After two offline requests, lockdep knows dependencies of bolt_serial_sem and kernfs_gate."""
    play(kernel, arch, "lockdep", "debug")


def gains(kernel: Kernels, arch: str, setting: str, plan: Plan) -> tuple[int, list[str]]:
    """Measure ``plan``; return how many of its cases results/ has, and which have become slower.

    A case has become slower if its median with Bolt is more than ``boltlab.bench.guard.MOST`` times
    that in results/.
    """
    target = ARCHES[arch]
    kernels = {flavour: kernel(arch, flavour) for flavour in flavours(target, plan)}
    measured = cmd_bench.collect(target, setting, plan, kernels)
    before = guard.recorded(measured)
    return guard.compared(measured, before), guard.slower(measured, before)


def test_the_gain_stays(kernel: Kernels, arch: str) -> None:
    """With Bolt, single requests and batches take at most 1.25 times as long as in results/."""
    cases = ("offline1", "online1", "offline_bulk", "online_bulk")
    plan = Plan(cases=cases, variants=("native", "bolt"), traced=False, extra=False)
    assert gains(kernel, arch, ARCHES[arch].default_setting, plan) == (len(cases), [])


@pytest.mark.nightly
@pytest.mark.parametrize("large", [False, True])
def test_every_gain_stays(kernel: Kernels, arch: str, large: bool) -> None:
    """Checks all cases in all settings and, in the default setting, guests with more CPUs."""
    plan = Plan(variants=("native", "bolt"), traced=False, large=large)
    target = ARCHES[arch]
    for setting in [target.default_setting] if large else target.settings:
        number, lost = gains(kernel, arch, setting, plan)
        assert number > 0
        assert lost == [], setting


def test_a_driver_from_elsewhere_sees_what_it_sees_natively(kernel: Kernels, arch: str) -> None:
    """The state of a driver from outside the kernel is unfit, whatever name the driver gives it."""
    play(kernel, arch, "stranger")

# SPDX-License-Identifier: GPL-2.0-only
"""Random requests beside loads, and operations that need CPUs natively offline.

A guest fails by itself when a process of its load fails, or when its kernel prints a splat.
Nightly tests also run kernels that check themselves (``debug``, ``kasan``).
"""

from typing import Any

import pytest

from boltlab.arch import ARCHES
from boltlab.bench import alternatives, batches
from boltlab.bench.plan import Plan, names
from boltlab.bench.results import summarise
from boltlab.commands import bench as cmd_bench
from boltlab.guest import limits, scenario
from boltlab.guest.qemu import GuestResult
from boltlab.kernel.source import Source
from tests.guest.test_guest import PLAN, Kernels, output, play

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("arch", ARCHES)]

# The time limit of long runs: KASAN and lockdep make a guest up to ten times slower.
LONG = 4 * 3600
SUSPICIOUS = ["debug", "kasan"]


def passed(lines: list[str]) -> bool:
    found = [PLAN.match(line) for line in lines]
    return [each.groups() for each in found if each] == [("1", "0", "0")]


def leaks(flavour: str) -> tuple[str, ...]:
    """Return the command that looks for leaks, if the kernel ``flavour`` has kmemleak."""
    return ("kmemleak",) if flavour == "debug" else ()


def within_limits(done: GuestResult, name: str) -> None:
    """Assert that the guest's medians are within all limits of the scenario ``name``."""
    for text in scenario.load(name).limits:
        verdict = limits.parse(text).judge(done.samples())
        assert verdict.holds, verdict.text


def test_random_pairs(kernel: Kernels, arch: str) -> None:
    said = output(play(kernel, arch, "random", append="BOLT_PAIRS=200"))
    assert passed(said)
    assert any(line.startswith("# BOLT_SEED=") for line in said)


@pytest.mark.nightly
@pytest.mark.parametrize("flavour", SUSPICIOUS)
def test_thousand_random_pairs(kernel: Kernels, arch: str, flavour: str) -> None:
    commands = ("run /bin/random", *leaks(flavour))
    assert passed(output(play(kernel, arch, "random", flavour, timeout=LONG, commands=commands)))


@pytest.mark.parametrize(("accel", "requests"), [("icount", 200), ("mttcg", 100)])
def test_loaded_guest(kernel: Kernels, arch: str, accel: str, requests: int) -> None:
    # The guest takes a minute; a guest that hangs must not use up the time of all tests.
    append = f"BOLT_REQUESTS={requests}"
    said = output(play(kernel, arch, "loaded", accel=accel, append=append, timeout=900))
    assert any(line.startswith(f"{requests} requests, ") for line in said)
    # Each kind of load has found the devices and files that it works with.
    assert not any("not in this guest" in line for line in said)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["loaded", "loaded-native"])
@pytest.mark.parametrize("accel", ["icount", "mttcg"])
def test_loaded_guest_for_long(kernel: Kernels, arch: str, name: str, accel: str) -> None:
    assert output(play(kernel, arch, name, accel=accel))


@pytest.mark.nightly
@pytest.mark.parametrize("flavour", SUSPICIOUS)
def test_loaded_guest_that_checks_itself(kernel: Kernels, arch: str, flavour: str) -> None:
    commands = ("run /bin/load bolt=1", *leaks(flavour))
    assert output(play(kernel, arch, "loaded", flavour, timeout=LONG, commands=commands))


@pytest.mark.nightly
@pytest.mark.parametrize("flavour", SUSPICIOUS)
def test_selftests_on_kernels_that_check_themselves(
    kernel: Kernels, arch: str, flavour: str
) -> None:
    said = output(play(kernel, arch, "selftests", flavour, timeout=LONG))
    programs = [line for line in scenario.load("selftests").commands if line.startswith("run ")]
    found = [PLAN.match(line) for line in said]
    assert [each[2] for each in found if each] == ["0"] * len(programs)


def test_counters_and_caches(kernel: Kernels, arch: str) -> None:
    samples = play(kernel, arch, "ballast").samples()
    assert set(samples) == {"offline_ballast_seq", "online_ballast_seq"}


def test_threads_of_a_core(kernel: Kernels, arch: str) -> None:
    """The scenario "smt" is for x86: with 6.12, arm64 has no SMT control.

    On arm64 the scenario "pair" runs in its place, also on cores with two threads.
    """
    name = "smt" if arch == "x86_64" else "pair"
    assert set(play(kernel, arch, name, "bolt", threads=2).samples()) == {
        "offline_seq",
        "online_seq",
    }


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["suspend", "hibernate", "kexec"])
def test_who_needs_native_offline(kernel: Kernels, arch: str, name: str) -> None:
    """After resume, or in the second kernel, all CPUs but the first go offline and come back."""
    if arch == "arm64" and name == "suspend":
        name = "hibernate"  # arm64 guests have no deep suspend; hibernation calls the same code
    assert "online_seq" in play(kernel, arch, name, timeout=LONG).samples()


@pytest.mark.plays("lost-suspend")
@pytest.mark.nightly
def test_an_undo_that_fails_in_suspend(kernel: Kernels, arch: str) -> None:
    """Runs on x86, as arm64 guests have no deep suspend.

    The guest runs selftest-lost with the tests that need suspend.
    """
    lines = output(play(kernel, arch, "lost-suspend", timeout=LONG))
    done = [line for line in lines if line.startswith("ok ") and "SKIP" not in line]
    assert not [line for line in lines if line.startswith("not ok ")]
    assert {"lost.by_suspend", "stubborn.not_back_after_suspend"} <= {
        line.split()[2] for line in done
    }


@pytest.mark.plays("deadline-suspend")
@pytest.mark.nightly
def test_suspend_beside_a_partition(kernel: Kernels, arch: str) -> None:
    """Deep suspend (x86) takes the CPUs of a partition with a deadline task, natively too."""
    lines = output(play(kernel, arch, "deadline-suspend", timeout=LONG))
    done = [line for line in lines if line.startswith("ok ")]
    assert len(done) == 2 and not [line for line in lines if "SKIP" in line]


@pytest.mark.plays("lost-eject")
def test_a_cpu_left_half_way_is_ejected(kernel: Kernels, arch: str) -> None:
    """Before a CPU is ejected, the kernel takes it offline completely; other CPUs run on (x86)."""
    assert set(play(kernel, arch, "lost-eject").samples()) == {"offline_seq", "online_seq"}


@pytest.mark.plays("warm-eject")
def test_a_cpu_that_waits_is_ejected(kernel: Kernels, arch: str) -> None:
    """A CPU that was parked warm is natively dead before the machine ejects it (x86)."""
    assert set(play(kernel, arch, "warm-eject").samples()) == {"offline_seq", "online_seq"}


@pytest.mark.plays("{name}")
@pytest.mark.nightly
@pytest.mark.parametrize("name", ["kexec-crash", "kexec-crash-native"])
def test_settled_before_kexec_locks(kernel: Kernels, arch: str, name: str) -> None:
    """kexec settles parked CPUs before it takes its lock, which settling needs as well.

    When a CPU is settled on x86, a hotplug callback tries to take that lock, to update the headers
    of the crash kernel; arm64 has no such callback, and so the test is for x86. When the lock is
    busy, the kernel prints a message, which neither the kernel with Bolt nor the kernel without
    Bolt may print here.
    """
    done = play(kernel, arch, name)
    said = (done.folder / "console.log").read_text(encoding="utf-8", errors="replace")
    # The message that must be missing has a low level. So the log must show messages of that level.
    assert "Freeing unused kernel image" in said
    assert "Starting new kernel" in said
    assert "kexec_trylock() failed" not in said


@pytest.mark.nightly
def test_every_file_for_20_minutes(kernel: Kernels, arch: str) -> None:
    found = [PLAN.match(line) for line in output(play(kernel, arch, "fuzz"))]
    assert [each.groups()[1:] for each in found if each] == [("0", "0")]


def test_one_of_each_for_any_number_of_cpus(kernel: Kernels, arch: str) -> None:
    """A request has at most one grace period, one stop, and one rebuild of scheduler domains.

    Settling rebuilds the scheduler domains once.
    """
    with play(kernel, arch, "batches").trace.open(encoding="utf-8") as file:
        found = {(each.kind, each.batch): each for each in batches.summarise(file)}
    assert {batch for _, batch in found} == {1, 3, 7, 15}
    for (kind, batch), each in found.items():
        counts = each.counts
        if kind == "offline":
            assert (counts["grace_periods"], counts["stops"]) == (1, 1), batch
        if kind != "settle":
            assert counts["grace_periods"] <= 1, (kind, batch)
            assert counts["stops"] <= 1, (kind, batch)
        assert counts["rebuilds"] <= 1, (kind, batch)
        assert 0 < each.chain_ns <= each.sum_ns
    for batch in (1, 3, 7, 15):
        assert found["settle", batch].counts["rebuilds"] == 1
        # The request sets the thresholds of vmstat once for all CPUs that were settled.
        assert found["online_settled", batch].counts["thresholds"] == 1


@pytest.mark.nightly
def test_starting_32_cpus_on_few(kernel: Kernels, arch: str) -> None:
    """In the host's time, one request for 32 CPUs takes at most 10 % longer than 32 requests.

    On a host with few cores, CPUs that spin keep other CPUs of the guest from running.
    """
    within_limits(play(kernel, arch, "start32"), "start32")


def test_stops_of_the_machine(kernel: Kernels, arch: str) -> None:
    """In virtual time: natively the machine stops for each CPU that goes, with Bolt only once."""
    command = "measure stops cpus=1-3 n=2 warmup=1"
    changes: dict[str, Any] = {"cpus": 4, "accel": "icount", "commands": (command,)}
    samples = play(kernel, arch, "overcommit", **changes).samples()
    assert len(samples) == 12
    for variant in ("native", "bolt"):
        found = {what: samples[f"offline_{what}_{variant}"] for what in ("stop", "stopped", "took")}
        for stop, stopped, took in zip(*found.values(), strict=True):
            assert 0 < stop < took
            assert stopped > stop if variant == "native" else 0 < stopped <= stop


@pytest.mark.plays("{name}")
@pytest.mark.nightly
@pytest.mark.parametrize("name", ["overcommit", "overcommit-suspend"])
def test_stops_of_32_cpus_on_few(kernel: Kernels, arch: str, name: str) -> None:
    """In the host's time, a stop with Bolt takes at most 3 times as long as a native stop."""
    within_limits(play(kernel, arch, name), name)


@pytest.mark.nightly
def test_no_cost_without_requests(kernel: Kernels, arch: str) -> None:
    """With Bolt, enabled or not, context switches, forks and page faults are at most 1 % slower."""
    target = ARCHES[arch]
    cases = tuple(name for name in names() if name.startswith("micro_"))
    kernels = {flavour: kernel(arch, flavour) for flavour in ("pristine", "bolt")}
    plan = Plan(cases=cases, traced=False)
    measured = cmd_bench.collect(target, target.default_setting, plan, kernels)
    assert len(measured.overheads) == len(cases)
    for case in measured.overheads:
        native = case.variants["native"].median
        for name in ("off", "bolt"):
            assert case.variants[name].median < native * 1.01, f"{case.case}, {name}"


def test_cpus_that_are_away_are_left_alone(kernel: Kernels, arch: str) -> None:
    """Interrupts wake an idle CPU, even in a partition without tasks, but wake no offline CPU."""
    done = play(kernel, arch, "undisturbed")
    found: dict[str, list[dict[str, Any]]] = {}
    for row in done.records:
        if "undisturbed" in row:
            found.setdefault(row["undisturbed"], []).append(row)
    assert set(found) == set(alternatives.ways())
    assert all([row["cpu"] for row in rows] == [2, 3] for rows in found.values())
    assert all(row["wakeups"] > 0 and row["interrupts"] > 0 for row in found["online"])
    assert sum(row["ipis"] for row in found["online"]) > 0
    # Whether other CPUs interrupt an isolated CPU is left to chance: the scheduler interrupts only
    # idle CPUs with a stopped tick, and such a CPU is one whose tick was stopped at the moment at
    # which the CPU's partition became isolated.
    assert all(row["wakeups"] > 0 and row["timers"] > 0 for row in found["isolated"])
    assert not any("undisturbed" in row["tasks"] for row in found["isolated"])
    for way in ("native", "expedited", "cold", "warm"):
        for row in found[way]:
            assert (row["wakeups"], row["interrupts"], row["ipis"]) == (0, 0, 0), way
            assert row["tasks"] == {}, way
            # /proc/interrupts counts interrupts of the CPU only while the CPU goes and comes, which
            # natively takes 0.1 s.
            assert abs(row["counted"]) < 40, way


# Series -> whether housekeeping_update() waits for a grace period when an isolated partition
# changes.
PARTITIONS_WAIT = {"6.12": False, "7.3": True}
# Series and architecture -> how many times as long as a native offline request an isolated
# partition may take to free a CPU. With 7.3 on arm64 a partition has taken 18.6 ms, native requests
# 13.7 to 15.0 ms.
SLOWER = {("7.3", "arm64"): 2}


def test_what_other_ways_to_pause_a_cpu_take(
    kernel: Kernels, arch: str, kernel_source: Source
) -> None:
    """Parking frees a CPU sooner than a partition does.

    A CPU that goes offline loses affinities of tasks, timers and perf counters; a CPU in a
    partition does not.
    """
    series = kernel_source.version.series
    waits = PARTITIONS_WAIT[series]
    words = "run /bin/undisturbed cpus=2-3 seconds=1 n=8"
    done = play(kernel, arch, "undisturbed", commands=(words,))
    rows = {row.way: row for row in alternatives.read(done.records, arch)}
    assert set(rows["online"].times) == {"out"}
    middle = {
        name: {way: row.times[name].median for way, row in rows.items() if name in row.times}
        for name in alternatives.TIMES
    }
    # Natively a CPU waits for more than one grace period before it is offline; a partition waits
    # for one at most.
    limit = middle["in"]["native"] / (1 if waits else 5) * SLOWER.get((series, arch), 1)
    for way in ("warm", "cold"):
        assert middle["in"][way] < middle["in"]["isolated"] < limit, way
        assert middle["in"][way] < middle["in"]["expedited"] / 2, way
    assert middle["out"]["online"] < middle["out"]["warm"] < middle["out"]["isolated"]
    # Natively a CPU that comes waits for no grace period.
    assert (middle["out"]["isolated"] > middle["out"]["native"]) == waits
    # Nothing but grace periods makes a partition slow: if grace periods are expedited, a partition
    # is faster than native requests on the kernels of all series.
    expedited = ("write /sys/kernel/rcu_expedited 1", f"{words} ways=isolated")
    fast = play(kernel, arch, "undisturbed", commands=expedited).samples()
    for name, limit in (("in", middle["in"]["native"] / 5), ("out", middle["out"]["native"])):
        assert middle[name]["warm"] < summarise(fast[f"isolated_{name}"]).median < limit, name
    for way, row in rows.items():
        gone = [] if way in ("online", "isolated") else ["affinity", "timer", "counter"]
        assert row.taken == gone, way

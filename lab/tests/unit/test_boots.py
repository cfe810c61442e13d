# SPDX-License-Identifier: GPL-2.0-only
"""Boots: reading logs and traces, the growth of times, the model, the result file."""

from dataclasses import replace
from pathlib import Path

import pytest

from boltlab import arch
from boltlab.boot import bootfile, bootmodel, boots
from boltlab.boot.bootfile import BootResults
from boltlab.boot.boots import Boot, Callback
from boltlab.commands import boot_bench as cmd_boot_bench
from boltlab.errors import BoltError
from boltlab.guest.qemu import Guest, GuestResult
from boltlab.kernel.build import Kernel
from boltlab.report import summary

LOG = """\
<6>[    0.000000] Booting Linux
<6>[    0.120000] smp: Bringing up secondary CPUs ...
<6>[    0.175000] smp: Brought up 16 nodes, 64 CPUs
<6>[    0.195000] devtmpfs: initialized
<6>[    0.545000] Run /init as init process
"""

TRACE = """\
# tracer: nop
       swapper/0-1       [000] .....     0.010000: cpuhp_enter: cpu: 0001 target: 236 step:   1 (smpboot_create_threads)
       swapper/0-1       [000] .....     0.010100: cpuhp_exit:  cpu: 0001  state:   1 step:   1 ret: 0
       swapper/0-1       [000] .....     0.010200: cpuhp_enter: cpu: 0001 target: 236 step:  86 (bringup_cpu)
         cpuhp/1-21      [001] .....     0.010300: cpuhp_enter: cpu: 0001 target: 236 step: 188 (workqueue_online_cpu)
          <idle>-0       [002] d..1.     0.010310: cpuhp_enter: cpu: 0002 target: 236 step: 113 (arm_perf_starting_cpu)
          <idle>-0       [003] d..1.     0.010320: cpuhp_enter: cpu: 0003 target: 236 step: 113 (arm_perf_starting_cpu)
          <idle>-0       [002] d..1.     0.010330: cpuhp_exit:  cpu: 0002  state: 113 step: 113 ret: 0
          <idle>-0       [003] d..1.     0.010350: cpuhp_exit:  cpu: 0003  state: 113 step: 113 ret: 0
         cpuhp/1-21      [001] .....     0.010500: cpuhp_exit:  cpu: 0001  state: 188 step: 188 ret: 0
       swapper/0-1       [000] .....     0.010700: cpuhp_exit:  cpu: 0001  state:  86 step:  86 ret: 0
       swapper/0-1       [000] .....     0.011000: initcall_level: level=pure
       swapper/0-1       [000] .....     0.011100: initcall_start: func=topology_sysfs_init+0x0/0x50
         cpuhp/0-20      [000] .....     0.011200: cpuhp_enter: cpu: 0000 target: 236 step: 196 (cpuid_cpu_online)
         cpuhp/0-20      [000] .....     0.011300: cpuhp_exit:  cpu: 0000  state: 196 step: 196 ret: 0
         cpuhp/1-21      [001] .....     0.011400: cpuhp_enter: cpu: 0001 target: 236 step: 196 (cpuid_cpu_online)
         cpuhp/1-21      [001] .....     0.011450: cpuhp_exit:  cpu: 0001  state: 196 step: 196 ret: 0
       swapper/0-1       [003] .....     0.012100: initcall_finish: func=topology_sysfs_init+0x0/0x50 ret=0
"""  # noqa: E501

MACHINES = ((8, 1), (16, 2), (32, 4), (64, 1), (64, 16), (128, 16))


def boot(variant: str, cpus: int, nodes: int, factor: float = 1.0) -> Boot:
    """Return a boot of known phases.

    N CPUs that come add 500 us * N + 2 us * N^2 * nodes to SMP init. ``factor`` multiplies all
    parts of phases that depend on N.
    """
    n = cpus - 1
    phases = {
        "boot CPU": 2_000_000 + round(400 * n**3 * factor),
        "SMP init": 7_000 + round((500_000 * n + 2_000 * n * n * nodes) * factor),
        "domain build": 1_000_000 + round(4_000 * n * n * factor),
        "initcalls": 270_000_000 + round(1_300_000 * n * factor),
    }
    callbacks = [
        Callback("workqueue_online_cpu", n, 3_000 * n * n, 3_000 * n * n),
        Callback("smpboot_create_threads", n, 150_000 * n, 150_000 * n, ahead=True),
    ]
    return Boot(
        variant, cpus, nodes, sum(phases.values()), phases, callbacks if cpus > 1 else [], []
    )


def results() -> BootResults:
    """Return results in which CPUs add a third as much time to boots of "all" as to native ones."""
    found = [boot("native", 1, 1), boot("all", 1, 1)]
    found += [boot("native", *size) for size in MACHINES]
    found += [boot("all", *size, factor=1 / 3) for size in MACHINES]
    return BootResults("arm64", "default", "icount", "10.0.2", "6.12.117", "0", found)


def test_phases_end_with_messages(tmp_path: Path) -> None:
    log = tmp_path / "dmesg.log"
    log.write_text(LOG, encoding="utf-8")
    assert boots.phases(log) == {
        "boot CPU": 120_000_000,
        "SMP init": 55_000_000,
        "domain build": 20_000_000,
        "initcalls": 350_000_000,
    }
    log.write_text(LOG.replace("devtmpfs", "nothing"), encoding="utf-8")
    with pytest.raises(BoltError, match="devtmpfs"):
        boots.phases(log)


def test_callbacks_of_other_cpus_are_added_up() -> None:
    callbacks, initcalls = boots.traced(TRACE.splitlines())
    # Idle tasks of several CPUs are kept apart, and a task that waits for callbacks does not count.
    # Callbacks that overlap share the time: for 10 us two run, for 10 us three, for 20 us two.
    assert {entry.name: (entry.runs, entry.ns) for entry in callbacks} == {
        "workqueue_online_cpu": (1, 160_000 + 5_000 + 3_333 + 10_000),
        "smpboot_create_threads": (1, 100_000),
        "cpuid_cpu_online": (1, 50_000),
        "arm_perf_starting_cpu": (2, 21_667),
    }
    assert [entry.name for entry in callbacks if entry.ahead] == ["smpboot_create_threads"]
    assert {entry.name for entry in callbacks if not entry.early_ns} == {"cpuid_cpu_online"}
    assert initcalls == [Callback("topology_sysfs_init", 1, 1_000_000)]


def test_a_trace_with_holes_is_refused() -> None:
    with pytest.raises(BoltError, match="lost"):
        boots.traced([*TRACE.splitlines(), "CPU:0 [LOST 17 EVENTS]"])


@pytest.mark.parametrize("law", [law for law in boots.LAWS if law != "N log N"])
def test_the_law_is_found(law: str) -> None:
    points = {(n, m): 70 * boots.LAWS[law](n - 1, m) for n, m in MACHINES}
    found = boots.fit(points)
    assert found is not None
    assert found.law == law
    assert (found.each, found.error) == pytest.approx((70, 0))


def test_few_points_have_no_law() -> None:
    assert boots.fit({(8, 1): 1.0, (16, 1): 2.0}) is None


def test_noise_does_not_make_it_grow_faster() -> None:
    points = {
        (n, m): 70_000.0 * (n - 1) * (1.03 if n.bit_length() % 2 else 0.97) for n, m in MACHINES
    }
    found = boots.fit(points)
    assert found is not None
    assert found.law == "N"
    assert 0 < found.error < 0.05


def test_what_depends_on_the_cpus() -> None:
    found = results().boots
    assert boots.dependent(found, found[0]) == 0
    assert boots.dependent([boot("native", 8, 1)], boot("native", 8, 1)) is None
    header, cells = bootfile.dependents(results())
    assert header == ["CPUs/nodes", "native", "all"]
    assert [row[0] for row in cells] == [f"{n}/{m}" for n, m in MACHINES]
    assert all(row[2].endswith("(3.00x)") for row in cells)
    assert bootfile.headline(results()) == [
        "boot_cpu_dependent at 128 CPUs, 16 nodes: native takes 3.00x as long as all"
    ]


def test_the_file_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "boot.json"
    bootfile.save(results(), path)
    assert bootfile.load(path) == results()
    document = bootfile.to_json(results())
    assert document["schema"] == 1
    assert {case["case"] for case in document["cases"]} == {"boot_cpu_dependent"}
    assert document["growth"]["native"]["workqueue_online_cpu"]["law"] == "N^2"
    assert document["growth"]["native"]["smpboot_create_threads"]["law"] == "N"
    path.write_text('{"schema": 1}', encoding="utf-8")
    with pytest.raises(BoltError, match="no result file"):
        bootfile.load(path)


def test_the_model_finds_the_terms() -> None:
    found = bootmodel.model(results().boots, "native")
    assert found is not None
    assert found.terms["SMP init"] == pytest.approx({"N": 500_000, "N^2 nodes": 2_000})
    assert found.terms["boot CPU"] == pytest.approx({"N^3": 400}, rel=1e-3)
    said = bootmodel.check(results().boots)
    assert all(abs(error) < 0.01 for errors in said["errors"].values() for error in errors.values())
    assert [(point["cpus"], point["nodes"]) for point in said["talk"]["points"]] == [
        (32, 1),
        (960, 15),
        (1024, 16),
        (1780, 16),
    ]


def test_the_model_needs_three_machines() -> None:
    assert bootmodel.model(results().boots[:4], "native") is None
    assert "talk" not in bootmodel.check([boot("native", 1, 1), boot("native", 8, 1)])


def test_the_tree_takes_rounds() -> None:
    cost = bootmodel.Bringup(ahead=100, wake=10, own=50, after=30, active=0, turns=0)
    assert bootmodel.play(cost, 7, "serial") == 7 * 190
    # The 7 CPUs are five groups; one task prepares the CPUs of a group, and then wakes these CPUs.
    assert bootmodel.play(cost, 7, "parallel") == 7 * 110 + 5 * (50 + 30)
    # The groups have 1, 1, 1, 2 and 2 CPUs.
    assert bootmodel.play(cost, 7, "tree") == 5 * (160 + 30)
    # Six groups bring 17 CPUs, and a last group brings 17, 34 and 13 CPUs in three rounds.
    assert bootmodel.play(cost, 17 + 64, "tree") == 6 * (160 + 30) + 3 * 160 + 30


def test_turns_are_taken_one_by_one() -> None:
    cost = bootmodel.Bringup(ahead=0, wake=0, own=100, after=0, active=0, turns=1)
    for order in ("serial", "parallel", "tree"):
        assert bootmodel.play(cost, 7, order) == 700


def test_machines_of_the_command_line() -> None:
    target = arch.ARCHES["arm64"]
    assert cmd_boot_bench.sizes(target, [8, 64], [1, 16]) == [(8, 1), (64, 16)]
    assert cmd_boot_bench.sizes(target, [8, 64], None) == [(8, 1), (64, 1)]
    assert (128, 16) in cmd_boot_bench.sizes(target, None, None)
    assert {m for _, m in cmd_boot_bench.sizes(target, None, [16])} == {16}
    for cpus, nodes in (([8], [1, 2]), ([9], [2]), ([1], [1])):
        with pytest.raises(BoltError):
            cmd_boot_bench.sizes(target, cpus, nodes)


def test_every_variant_boots_on_one_cpu_too() -> None:
    target = arch.ARCHES["x86_64"]
    wanted = boots.variants("x86_64")
    kernel = Kernel("x86_64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", Path("bolt"))
    kernels = {"pristine": kernel, "bolt": kernel}
    work = cmd_boot_bench.jobs(target, "strict", wanted, [(8, 2)], kernels, trace=True)
    assert {job.variant for job in work if job.cpus == 1} == set(wanted)
    assert {job.variant for job in work if job.traced} == {"native", "all"}
    assert all("lpj=" in job.guest.append for job in work)


def test_stress_boots_each_machine_several_times_in_turns() -> None:
    target = arch.ARCHES["arm64"]
    wanted = {name: boots.variants("arm64")[name] for name in ("native", "all")}
    kernel = Kernel("arm64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", Path("bolt"))
    kernels = {"pristine": kernel, "bolt": kernel}
    work = cmd_boot_bench.jobs(target, "default", wanted, [(8, 2)], kernels, trace=True)
    stressed = cmd_boot_bench.stressed(work, 2)
    assert {job.guest.machine.accel for job in stressed} == {"mttcg"}
    assert not any(job.traced for job in stressed)
    assert len({job.name for job in stressed}) == len(stressed) == 8
    first = stressed[: len(stressed) // 2]
    assert {(job.variant, job.cpus) for job in first} == {
        (variant, cpus) for variant in wanted for cpus in (1, 8)
    }


def test_stress_is_not_called_virtual_time(tmp_path: Path) -> None:
    stress = replace(results(), accel="mttcg")
    assert "stress" in summary.boot_title(stress)
    assert "virtual" not in summary.boot_title(stress)
    assert "model" not in bootfile.to_json(stress)
    assert "virtual time" in summary.boot_title(results())
    bootfile.save(stress, tmp_path / "boot.json")
    assert bootfile.load(tmp_path / "boot.json").accel == "mttcg"


def test_traced_boots_add_callbacks(tmp_path: Path) -> None:
    target = arch.ARCHES["arm64"]
    done = []
    for traced in (False, True):
        folder = tmp_path / str(traced)
        folder.mkdir()
        (folder / "dmesg.log").write_text(LOG, encoding="utf-8")
        (folder / "trace.txt").write_text(TRACE, encoding="utf-8")
        guest = Guest(target, Path("image"), ())
        job = cmd_boot_bench.Job("native", 64, 16, traced, guest)
        done.append((job, GuestResult(folder, [{"booted": 553_000_000}])))
    (found,) = cmd_boot_bench.collect(done)
    assert found.booted == 553_000_000
    assert len(found.callbacks) == 4
    assert found.initcalls[0].name == "topology_sysfs_init"

# SPDX-License-Identifier: GPL-2.0-only
"""Boots that bring up all CPUs by one request, and a small part of boot-bench."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from boltlab.arch import ARCHES
from boltlab.boot import boots, bootsoak, bootwork
from boltlab.commands import boot_bench as cmd_boot_bench
from boltlab.guest import channels, qemu, scenario
from boltlab.kernel.build import Kernel

Kernels = Callable[[str, str], Kernel]

pytestmark = pytest.mark.guest


def says(done: qemu.GuestResult, text: str) -> bool:
    return text in (done.folder / channels.FILES["bolt.dmesg"]).read_text(encoding="utf-8")


def untried(guest: qemu.Guest) -> qemu.Guest:
    """Return ``guest`` without the trial, in which groups of CPUs are compared with lone CPUs."""
    return replace(guest, append=f"{guest.append} bolt.trial=off")


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(("order", "way"), [("parallel", "at once"), ("tree", "in a tree")])
def test_all_cpus_come_together(kernel: Kernels, arch: str, order: str, way: str) -> None:
    """In virtual time the kernel's trial (see untried()) finds no group of CPUs too slow."""
    wanted = scenario.load(f"boot-{order}")
    # On x86_64 the guest has 4 CPUs, not 8, to save time. The trial is off there, because in the
    # trial CPUs 1 to 3 would come alone, which leaves no CPU for a group.
    if arch == "x86_64":
        commands = tuple(line.replace("-7", "-3").replace("=7", "=3") for line in wanted.commands)
        append = f"{wanted.append} bolt.trial=off"
        wanted = wanted.changed(cpus=4, commands=commands, append=append)
    target = ARCHES[arch]
    guest = wanted.guest(target, kernel(arch, wanted.kernel), target.default_setting)
    done = qemu.run(guest, f"test-{arch}-boot-{order}")
    assert all(value > 0 for value in done.samples()["offline1"])
    assert says(done, f"CPUs came {way}")


@pytest.mark.parametrize("order", ["parallel", "tree"])
def test_a_cpu_comes_although_its_hotplug_thread_has_failed(kernel: Kernels, order: str) -> None:
    target = ARCHES["arm64"]
    wanted = scenario.load("boot-fails")
    wanted = wanted.changed(append=wanted.append.replace("tree", order))
    guest = wanted.guest(target, kernel("arm64", wanted.kernel), target.default_setting)
    done = qemu.run(guest, f"test-arm64-boot-fails-{order}")
    assert says(done, "bolt: up to 6 CPUs came")


def booted(kernel: Kernels, accel: str, append: str) -> qemu.GuestResult:
    """Boot 16 CPUs in a tree on arm64; KUnit then tests that each CPU is as after a native boot."""
    target = ARCHES["arm64"]
    wanted = scenario.load("boot-tree")
    commands = ("kunit", "expect /sys/devices/system/cpu/online 0-15")
    append = f"{wanted.append} {append}"
    wanted = wanted.changed(cpus=16, accel=accel, commands=commands, append=append)
    guest = wanted.guest(target, kernel("arm64", wanted.kernel), target.default_setting)
    return qemu.run(guest, "test-arm64-trial")


def test_the_rest_comes_one_by_one_after_a_slow_group(kernel: Kernels) -> None:
    """With a trial limit of 0 the first group, of two CPUs, is too slow; all CPUs still come.

    With a limit of 1000 per cent no group is too slow.
    """
    assert says(
        booted(kernel, "icount", "bolt.trial_limit=1000"), "bolt: up to 6 CPUs came in a tree"
    )
    done = booted(kernel, "icount", "bolt.trial_limit=0")
    assert says(done, "bolt: 2 CPUs took") and says(done, "all further CPUs come one by one")


@pytest.mark.nightly
def test_the_rest_comes_one_by_one_where_cores_are_few(kernel: Kernels) -> None:
    """On hosts with fewer cores than guest CPUs, a group is too slow in at least one of 5 boots."""
    assert says(booted(kernel, "mttcg", "bolt.trial=off"), "bolt: up to 15 CPUs came in a tree")
    for _ in range(5):
        if says(booted(kernel, "mttcg", ""), "all further CPUs come one by one"):
            return
    pytest.fail("in five boots the trial found no group of CPUs too slow")


def test_boot_bench(kernel: Kernels) -> None:
    """From one CPU to 16 on two nodes, the boot time grows less in "all" than in "native".

    With one CPU, "all" boots less than a tenth slower than "native".
    """
    target = ARCHES["arm64"]
    wanted = {name: boots.variants("arm64")[name] for name in ("native", "all")}
    kernels = {row["kernel"]: kernel("arm64", row["kernel"]) for row in wanted.values()}
    work = cmd_boot_bench.jobs(target, "default", wanted, [(16, 2)], kernels, trace=True)
    found = cmd_boot_bench.collect([(job, qemu.run(job.guest, f"test-{job.name}")) for job in work])
    times = {(boot.variant, boot.cpus): boot for boot in found}
    native, bolt = times["native", 16], times["all", 16]
    assert (boots.dependent(found, bolt) or 0) < (boots.dependent(found, native) or 0)
    assert bolt.phases["SMP init"] < native.phases["SMP init"]
    assert times["all", 1].booted < 1.1 * times["native", 1].booted
    names = {entry.name for entry in native.callbacks}
    assert {"smpboot_create_threads", "workqueue_online_cpu", "vmstat_cpu_online"} <= names
    runs = {entry.runs for entry in native.callbacks if entry.name == "workqueue_online_cpu"}
    assert runs == {15}


@pytest.mark.parametrize("arch", ARCHES)
def test_the_boot_cpu_has_less_to_do_in_a_tree(kernel: Kernels, arch: str) -> None:
    """For each CPU that comes, the boot CPU runs less than half as many instructions as natively.

    A third or less has been measured. The test counts instructions, not time, and so switches the
    trial off: CPUs come in a tree even where a tree takes longer.
    """
    target = ARCHES[arch]
    wanted = {name: boots.variants(arch)[name] for name in ("native", "tree")}
    kernels = {row["kernel"]: kernel(arch, row["kernel"]) for row in wanted.values()}
    setting = target.default_setting
    part = bootwork.parts()["smp"]
    work = cmd_boot_bench.counting(target, setting, wanted, [(16, 2)], kernels, part)
    runs = [
        cmd_boot_bench.counted(
            job, qemu.run(untried(job.guest), f"test-{job.name}"), wanted, kernels, part
        )
        for job in work
    ]
    found = bootwork.each(runs, part)
    assert found["tree", 16, 2] < found["native", 16, 2] / 2


@pytest.mark.parametrize("arch", ARCHES)
def test_a_few_of_many_boots(kernel: Kernels, arch: str) -> None:
    """A small part of boot-bench --soak, with at least one boot on each accelerator."""
    target = ARCHES[arch]
    drawn = bootsoak.draw(target, target.default_setting, {"bolt": kernel(arch, "bolt")}, 40)
    small = [job for job in drawn if job.cpus <= 5][:6]
    assert {job.guest.machine.accel for job in small} == {"icount", "mttcg"}
    for job in small:
        qemu.run(job.guest, f"test-{job.name}")

# SPDX-License-Identifier: GPL-2.0-only
from pathlib import Path

import pytest

from boltlab import arch
from boltlab.boot import boots, bootsoak, bootwork
from boltlab.boot.bootwork import Part, Work
from boltlab.errors import BoltError
from boltlab.kernel import symbols
from boltlab.kernel.build import Kernel

MAP = """\
ffff800080000000 T _text
ffff800080001000 t osq_lock
ffff800080002000 T smp_init
ffff800080003000 D data
ffff800080004000 T sched_init_smp
ffff800080005000 t $x
"""

SMP = Part("smp_init", "sched_init_smp", "boot", ("osq_lock",))
ALL = Part("smp_init", "sched_init_smp", "all")


@pytest.fixture
def system_map(tmp_path: Path) -> Path:
    path = tmp_path / "System.map"
    path.write_text(MAP)
    return path


def test_functions_in_order(system_map: Path) -> None:
    names = [name for _, name in symbols.read(system_map)]
    assert names == ["_text", "osq_lock", "smp_init", "sched_init_smp"]
    words = "from=ffff800080002000,to=ffff800080004000,cpus="
    assert bootwork.edges(system_map, SMP) == words + "boot"
    assert bootwork.edges(system_map, ALL) == words + "all"


def test_a_kernel_without_the_functions(tmp_path: Path) -> None:
    path = tmp_path / "System.map"
    path.write_text(MAP.replace("smp_init", "smp"))
    with pytest.raises(BoltError, match="no smp_init"):
        bootwork.edges(path, SMP)


def test_blocks_belong_to_functions(system_map: Path) -> None:
    lines = [
        '{"at":"ffff800080001010","instructions":5}',
        '{"at":"ffff800080001000","instructions":2}',
        '{"at":"ffff800080002ffc","instructions":7}',
        '{"at":"40001000","instructions":3}',
    ]
    found = bootwork.read(lines, symbols.read(system_map), SMP)
    assert found == {"osq_lock": 7, "smp_init": 7, "?": 3}
    with pytest.raises(BoltError, match="counted nothing"):
        bootwork.read([], symbols.read(system_map), SMP)


def test_waiting_is_no_work() -> None:
    runs = [
        Work("native", 1, 1, {"smp_init": 100, "osq_lock": 1000}),
        Work("native", 5, 1, {"smp_init": 500, "osq_lock": 9}),
        Work("tree", 1, 1, {"smp_init": 100}),
        Work("tree", 5, 1, {"smp_init": 140, "osq_lock": 70000}),
        Work("tree", 5, 2, {"smp_init": 180}),
        Work("all", 5, 1, {"smp_init": 140}),
    ]
    found = {("native", 5, 1): 100.0, ("tree", 5, 1): 10.0, ("tree", 5, 2): 20.0}
    assert bootwork.each(runs, SMP) == found
    lines = bootwork.table(runs, SMP)
    assert lines[0] == "instructions of the boot CPU, from smp_init() to sched_init_smp():"
    line = "tree, 5 CPUs: 10 instructions for a further CPU, 10.0 times less than natively"
    assert line in lines
    assert "osq_lock (waits) 70,000" in lines[-3]
    assert lines[-2] == "tree, 5 CPUs, 2 nodes: 20 instructions for a further CPU"


def test_waiting_of_all_cpus_counts() -> None:
    runs = [
        Work("native", 1, 1, {"probe": 100}),
        Work("native", 5, 1, {"probe": 500, "osq_lock": 400}),
    ]
    assert bootwork.each(runs, ALL) == {("native", 5, 1): 200.0}
    title, _, functions = bootwork.table(runs, ALL)
    assert title == "instructions of all CPUs, from smp_init() to sched_init_smp():"
    assert functions == "  probe 400, osq_lock 400"


def test_parts() -> None:
    found = bootwork.parts()
    assert found["smp"].cpus == "boot"
    assert "osq_lock" in found["smp"].spins
    assert found["initcalls"] == Part("devtmpfs_init", "free_initmem", "all")


@pytest.mark.parametrize("name", sorted(arch.ARCHES))
def test_a_soak_leaves_nothing_out(name: str, tmp_path: Path) -> None:
    target = arch.ARCHES[name]
    kernel = Kernel(name, "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)
    work = bootsoak.draw(target, target.default_setting, {"bolt": kernel}, 200)
    assert len({job.name for job in work}) == len(work) == 200
    known = {way for way, row in boots.variants(name).items() if row["kernel"] == "bolt"}
    assert {job.variant for job in work} == known
    assert {job.guest.machine.accel for job in work} == {"icount", "mttcg"}
    assert {job.cpus for job in work} == set(boots.table()["soak"]["cpus"][name])
    assert all(job.cpus % job.guest.machine.nodes == 0 for job in work)
    assert max(job.cpus for job in work if job.guest.machine.accel == "mttcg") == 8
    assert work == bootsoak.draw(target, target.default_setting, {"bolt": kernel}, 200)
    script = next(job for job in work if job.cpus == 3).guest.script
    assert script[0] == "expect /sys/devices/system/cpu/online 0-2"

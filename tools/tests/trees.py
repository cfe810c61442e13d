#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes recorded trees: what Linux 6.12 shows of a machine's CPUs below /sys and /proc.

    trees.py NAME DIR       make DIR, and in it sys/devices/system/cpu and so on
    trees.py --list         print the machines and variants

NAME is a machine and any number of variants, as in "smt", "hybrid+bolt+parked" or
"large+isolated+slots". "cpubolt --root DIR status" then shows that machine. When a program writes
to a file of a tree, the file has what the program has written, and no other file changes, so that a
test can tell what the program would have asked of the kernel. Tests in Python may import this file
and call make().

A machine is a row of MACHINES, and a variant a row of VARIANTS. Files have the modes that the
kernel gives, but root may read anything: a test of what other users may see has to become another
user.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

BOOT_ID = "b0170000-0000-4000-8000-000000000001"
ONLINE = 236  # the highest hotplug state
HALFWAY = 149  # sched:waitempty
# Hotplug states of 6.12 that most machines have, as hotplug/states lists them.
STATES = {
    0: "offline",
    1: "threads:prepare",
    11: "slub:dead",
    14: "mm/vmstat:dead",
    15: "softirq:dead",
    25: "block/mq:dead",
    31: "mm/page_alloc:pcp",
    32: "net/dev:dead",
    37: "random:prepare",
    38: "workqueue:prepare",
    40: "hrtimers:prepare",
    42: "smpcfd:prepare",
    45: "RCU/tree:prepare",
    53: "base/topology:prepare",
    61: "timers:prepare",
    62: "tmigr:prepare",
    85: "cpu:kick_ap",
    86: "cpu:bringup",
    87: "idle:dead",
    88: "ap:offline",
    90: "sched:starting",
    91: "RCU/tree:dying",
    139: "smpcfd:dying",
    140: "hrtimers:dying",
    141: "tick:dying",
    144: "ap:online",
    145: "cpu:teardown",
    149: "sched:waitempty",
    150: "smpboot/threads:online",
    151: "irq/affinity:online",
    155: "perf:online",
    186: "tmigr:online",
    187: "lockup_detector:online",
    188: "workqueue:online",
    189: "random:online",
    190: "RCU/tree:online",
    191: "base/cacheinfo:online",
    192: "mm/vmstat:online",
    235: "sched:active",
    236: "online",
}


@dataclass(frozen=True)
class Cache:
    """A cache: level, kind, size in KiB, and the level of topology whose CPUs share the cache."""

    level: int
    kind: str
    size: int
    shared: str


@dataclass(frozen=True)
class Cpu:
    """Where one CPU is, in the numbers that sysfs has; its frequency, capacity, caches and PMU."""

    core: int
    cluster: int
    die: int
    package: int
    node: int
    khz: int = 0
    capacity: int = 0
    caches: tuple[Cache, ...] = ()
    kind: str = ""  # the PMU of a hybrid machine's CPU


@dataclass
class Machine:
    """A machine, the states of its CPUs, and its kernel; variants change states and kernel."""

    arch: str
    model: str
    cpus: Sequence[Cpu]
    fixed: set[int] = field(default_factory=set)  # CPUs without a file cpuN/online
    absent: int = 0  # possible CPUs beyond the present ones
    bolt: bool = False
    enabled: bool = True
    offline: set[int] = field(default_factory=set)
    parked: set[int] = field(default_factory=set)
    isolated: set[int] = field(default_factory=set)
    halfway: set[int] = field(default_factory=set)
    smt_off: bool = False
    unreadable: bool = False
    errors: str = ""  # last_error
    brief: bool = False  # without files that the tools do not read

    @property
    def present(self) -> range:
        """The CPUs that are plugged in."""
        return range(len(self.cpus))

    @property
    def numbers(self) -> int:
        """How many CPU numbers there are."""
        return len(self.cpus) + self.absent

    @property
    def online(self) -> set[int]:
        """The kernel's cpu_online_mask, which includes CPUs that have stopped half-way."""
        return set(self.present) - self.offline

    @property
    def smt(self) -> bool:
        """Tell whether any core has several threads."""
        keys = {_key(cpu, "core") for cpu in self.cpus}
        return len(keys) < len(self.cpus)


def _key(cpu: Cpu, level: str) -> tuple[int, ...]:
    """Return a key that is equal for all CPUs that share ``level``, and for no other CPU."""
    return {
        "cpu": (id(cpu),),
        "core": (cpu.package, cpu.die, cpu.cluster, cpu.core),
        "cluster": (cpu.package, cpu.die, cpu.cluster),
        "die": (cpu.package, cpu.die),
        "package": (cpu.package,),
        "node": (cpu.node,),
    }[level]


# -- Machines: a few lines each ----------------------------------------------------------------


def _x86_caches(l1: int, l2: int, l3: int, l2_shared: str = "core") -> tuple[Cache, ...]:
    return (
        Cache(1, "Data", l1, "core"),
        Cache(1, "Instruction", 32, "core"),
        Cache(2, "Unified", l2, l2_shared),
        Cache(3, "Unified", l3, "die"),
    )


def _hybrid() -> Machine:
    """Six P cores of two threads; eight E cores, of which each four share a second-level cache."""
    fast, slow = _x86_caches(48, 1280, 24576), _x86_caches(32, 2048, 24576, "cluster")
    cpus = [
        Cpu(n // 2 * 4, n // 2 * 8, 0, 0, 0, 5_000_000, caches=fast, kind="cpu_core")
        for n in range(12)
    ]
    cpus += [
        Cpu(24 + n, 48 + n // 4 * 8, 0, 0, 0, 3_800_000, caches=slow, kind="cpu_atom")
        for n in range(8)
    ]
    return Machine("x86", "12th Gen Intel(R) Core(TM) i7-12700T", cpus, fixed={0})


def _packages(packages: int, cores: int, threads: int, model: str, khz: int) -> Machine:
    """Return a machine whose packages are NUMA nodes; second threads follow all first threads."""
    caches = _x86_caches(32, 1024, 36608)
    cpus = [
        Cpu(core, package * 256 + core * 2, 0, package, package, khz, caches=caches)
        for _ in range(threads)
        for package in range(packages)
        for core in range(cores)
    ]
    return Machine("x86", model, cpus, fixed={0})


def _smt() -> Machine:
    """Two packages of eight cores of two threads."""
    return _packages(2, 8, 2, "Intel(R) Xeon(R) Silver 4215R CPU @ 3.20GHz", 4_000_000)


def _nodes() -> Machine:
    """Four packages of four nodes of four cores."""
    caches = _x86_caches(32, 512, 16384)
    cpus = [
        Cpu(n % 16, n // 16 * 64 + n % 16, 0, n // 16, n // 4, 3_400_000, caches=caches)
        for n in range(64)
    ]
    return Machine("x86", "AMD EPYC 7543 32-Core Processor", cpus, fixed={0})


def _clusters() -> Machine:
    """arm64, four little CPUs and four big ones; cores are counted anew in each cluster."""
    caches = (
        Cache(1, "Data", 32, "cpu"),
        Cache(1, "Instruction", 32, "cpu"),
        Cache(2, "Unified", 1024, "cluster"),
    )
    cpus = [
        Cpu(n % 4, n // 4, 0, 0, 0, (1_800_000, 2_400_000)[n // 4], (446, 1024)[n // 4], caches)
        for n in range(8)
    ]
    return Machine("arm64", "", cpus)


def _large() -> Machine:
    """1,780 CPUs: ten packages of 89 cores of two threads; each CPU has one cache and few files."""
    made = _packages(10, 89, 2, "Intel(R) Xeon(R) Platinum 8490H", 3_500_000)
    # Files that the tools do not read are left out: there would be 1,780 of each.
    made.brief = True
    made.cpus = [replace(cpu, caches=cpu.caches[3:]) for cpu in made.cpus]
    return made


def _small() -> Machine:
    """Four CPUs of a virtual machine without caches and frequencies."""
    cpus = [Cpu(n, n, 0, 0, 0) for n in range(4)]
    return Machine("x86", "QEMU TCG CPU version 2.5+", cpus, fixed={0})


MACHINES: dict[str, Callable[[], Machine]] = {
    "hybrid": _hybrid,
    "smt": _smt,
    "nodes": _nodes,
    "clusters": _clusters,
    "large": _large,
    "small": _small,
}


# -- Variants ----------------------------------------------------------------------------------


def _bolt(machine: Machine) -> None:
    """With Bolt, which is enabled."""
    machine.bolt = True


def _disabled(machine: Machine) -> None:
    """With Bolt, which is disabled."""
    machine.bolt, machine.enabled = True, False


def _parked(machine: Machine) -> None:
    """With Bolt: the last two CPUs are parked, the CPU before these two is natively offline."""
    machine.bolt = True
    last = machine.present[-1]
    machine.parked = {last, last - 1}
    machine.offline |= {last, last - 1, last - 2}


def _offline(machine: Machine) -> None:
    """Have the last quarter of the CPUs natively offline."""
    machine.offline |= set(machine.present[len(machine.cpus) * 3 // 4 :])


def _isolated(machine: Machine) -> None:
    """CPUs 2 and 3 are isolated and nohz_full."""
    machine.isolated = {2, 3}


def _halfway(machine: Machine) -> None:
    """CPU 1 has stopped half-way; with Bolt last_error says why, and cpu1/online says 0."""
    machine.halfway = {1}
    machine.errors = (
        "batch=7 pid=4711 cpu=2 state=workqueue:online errno=12 undo=1:smpboot/threads:online\n"
    )


def _slots(machine: Machine) -> None:
    """Four more CPUs are possible than are present."""
    machine.absent = 4


def _smtoff(machine: Machine) -> None:
    """SMT is switched off: every thread but the first of its core is offline."""
    seen: set[tuple[int, ...]] = set()
    for number, cpu in enumerate(machine.cpus):
        if _key(cpu, "core") in seen:
            machine.offline.add(number)
        seen.add(_key(cpu, "core"))
    machine.smt_off = True


def _unreadable(machine: Machine) -> None:
    """With Bolt: only root may read the files of bolt/; the user who made the tree may not."""
    machine.bolt = machine.unreadable = True


VARIANTS: dict[str, Callable[[Machine], None]] = {
    "bolt": _bolt,
    "disabled": _disabled,
    "parked": _parked,
    "offline": _offline,
    "isolated": _isolated,
    "halfway": _halfway,
    "slots": _slots,
    "smtoff": _smtoff,
    "unreadable": _unreadable,
}


def machine(name: str) -> Machine:
    """Return the machine called ``name``, with its variants.

    Raises ValueError if there is no such machine or no such variant.
    """
    first, *others = name.split("+")
    if first not in MACHINES:
        raise ValueError(f"no machine '{first}' (there are: {', '.join(MACHINES)})")
    made = MACHINES[first]()
    for other in others:
        if other not in VARIANTS:
            raise ValueError(f"no variant '{other}' (there are: {', '.join(VARIANTS)})")
        VARIANTS[other](made)
    return made


# -- Files -------------------------------------------------------------------------------------


def cpulist(cpus: Iterable[int]) -> str:
    """Return ``cpus`` as the kernel prints a list of CPUs."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and parts[-1][-1] == cpu - 1:
            parts[-1][1:] = [cpu]
        else:
            parts.append([cpu])
    return ",".join("-".join(map(str, part)) for part in parts)


def cpumask(cpus: Iterable[int], numbers: int) -> str:
    """Return ``cpus`` as the kernel prints a mask of ``numbers`` CPUs."""
    digits = f"{sum(1 << cpu for cpu in cpus):0{(numbers + 3) // 4}x}"
    head = len(digits) % 8
    groups = [digits[:head]] if head else []
    return ",".join(groups + [digits[at : at + 8] for at in range(head, len(digits), 8)])


@dataclass(frozen=True)
class File:
    """A file of a tree; or, if ``link`` is not empty, a symbolic link to ``link``.

    As in the kernel, a newline follows the text, unless ``raw`` is set.
    """

    path: str
    text: str = ""
    mode: int = 0o444
    link: str = ""
    raw: bool = False


CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def _machine_files(made: Machine) -> Iterator[File]:
    full = made.isolated and cpulist(made.isolated)
    gone = (set(made.present) - made.online) | set(range(len(made.cpus), made.numbers))
    yield File(f"{CPU}/possible", cpulist(range(made.numbers)))
    yield File(f"{CPU}/present", cpulist(made.present))
    yield File(f"{CPU}/online", cpulist(made.online))
    yield File(f"{CPU}/offline", cpulist(gone))
    yield File(f"{CPU}/kernel_max", "8191")
    yield File(f"{CPU}/isolated", cpulist(made.isolated))
    # For a mask that is not allocated, the kernel shows "(null)" with blanks in front, in all as
    # many characters as there are CPU numbers.
    yield File(f"{CPU}/nohz_full", full or f"{'(null)':>{made.numbers}}")
    yield File(f"{CPU}/hotplug/states", "\n".join(f"{n:3}: {s}" for n, s in STATES.items()))
    control = "notsupported" if not made.smt else "off" if made.smt_off else "on"
    yield File(f"{CPU}/smt/control", control, 0o644)
    yield File(f"{CPU}/smt/active", str(int(made.smt and not made.smt_off)))
    yield File("proc/sys/kernel/random/boot_id", BOOT_ID)
    kinds = {cpu.kind for cpu in made.cpus if cpu.kind}
    for kind in sorted(kinds):
        some = [n for n in made.present if made.cpus[n].kind == kind and n in made.online]
        yield File(f"sys/devices/{kind}/cpus", cpulist(some))


def _bolt_files(made: Machine) -> Iterator[File]:
    readable, writable = (0, 0) if made.unreadable else (0o400, 0o200)
    both = readable | writable
    yield File(f"{CPU}/bolt/enabled", str(int(made.enabled)), both)
    yield File(f"{CPU}/bolt/parked", cpulist(made.parked), readable)
    yield File(f"{CPU}/bolt/last_error", made.errors, readable, raw=True)
    yield File(f"{CPU}/bolt/settle_delay_ms", "1000", both)
    yield File(f"{CPU}/bolt/irq_keep", "", both)
    for name in ("online", "offline", "set", "settle"):
        yield File(f"{CPU}/bolt/{name}", "", writable, raw=True)
        if name != "settle":
            yield File(f"{CPU}/bolt/{name}_mask", "", writable, raw=True)


def _sharing(made: Machine, level: str) -> dict[tuple[int, ...], list[int]]:
    """Return the CPUs online of each core, package and so on, as ``level`` says."""
    found: dict[tuple[int, ...], list[int]] = {}
    for number in sorted(made.online):
        found.setdefault(_key(made.cpus[number], level), []).append(number)
    return found


def _topology(made: Machine) -> Iterator[tuple[str, str, str]]:
    """Yield each level with the names of its mask of CPUs and of the file with its number.

    The name of the file with the number is "" where the name of the mask is an older name for a
    mask that has been yielded already.
    """
    yield "core", "core_cpus", "core_id"
    yield "core", "thread_siblings", ""
    yield "package", "package_cpus", "physical_package_id"
    yield "package", "core_siblings", ""
    yield "cluster", "cluster_cpus", "cluster_id"
    if made.arch == "x86":
        yield "die", "die_cpus", "die_id"


def _cpu_files(made: Machine) -> Iterator[File]:
    levels = ("cpu", "core", "cluster", "die", "package")
    sharing = {level: _sharing(made, level) for level in levels}
    texts = {
        level: {key: (cpulist(cpus), cpumask(cpus, made.numbers)) for key, cpus in each.items()}
        for level, each in sharing.items()
    }
    ids = {level: {key: number for number, key in enumerate(sharing[level])} for level in levels}
    for number, cpu in enumerate(made.cpus):
        here = f"{CPU}/cpu{number}"
        away, half = number in made.offline, number in made.halfway
        if number not in made.fixed:
            # Without Bolt, cpuN/online still says 1 if a CPU that was to go has stopped half-way.
            said = "0" if away or (half and made.bolt) else "1"
            yield File(f"{here}/online", said, 0o644)
        yield File(f"{here}/hotplug/state", str(HALFWAY if half else 0 if away else ONLINE))
        if not made.brief:
            yield File(f"{here}/hotplug/target", str(0 if away else ONLINE), 0o644)
            yield File(f"{here}/hotplug/fail", "-1", 0o644)
        yield File(f"{here}/node{cpu.node}", link=f"../../node/node{cpu.node}")
        if away:
            continue
        if cpu.khz:
            yield File(f"{here}/cpufreq/cpuinfo_max_freq", str(cpu.khz))
        if cpu.capacity:
            yield File(f"{here}/cpu_capacity", str(cpu.capacity))
        numbers = {
            "core": cpu.core,
            "cluster": cpu.cluster,
            "die": cpu.die,
            "package": cpu.package,
        }
        for level, name, identity in _topology(made):
            listed, mask = texts[level][_key(cpu, level)]
            if identity or not made.brief:
                yield File(f"{here}/topology/{name}_list", listed)
            if not made.brief:
                yield File(f"{here}/topology/{name}", mask)
            if identity:
                yield File(f"{here}/topology/{identity}", str(numbers[level]))
        for index, cache in enumerate(cpu.caches):
            listed, mask = texts[cache.shared][_key(cpu, cache.shared)]
            leaf = f"{here}/cache/index{index}"
            yield File(f"{leaf}/level", str(cache.level))
            yield File(f"{leaf}/type", cache.kind)
            yield File(f"{leaf}/size", f"{cache.size}K")
            yield File(f"{leaf}/shared_cpu_list", listed)
            if not made.brief:
                yield File(f"{leaf}/shared_cpu_map", mask)
            # Firmware of arm64 machines mostly gives caches no numbers.
            if made.arch == "x86":
                yield File(f"{leaf}/id", str(ids[cache.shared][_key(cpu, cache.shared)]))


def _node_files(made: Machine) -> Iterator[File]:
    nodes = sorted({cpu.node for cpu in made.cpus})
    online = _sharing(made, "node")
    yield File(f"{NODE}/possible", cpulist(nodes))
    yield File(f"{NODE}/online", cpulist(nodes))
    yield File(f"{NODE}/has_cpu", cpulist(node for node in nodes if (node,) in online))
    for node in nodes:
        cpus = online.get((node,), [])
        yield File(f"{NODE}/node{node}/cpulist", cpulist(cpus))
        yield File(f"{NODE}/node{node}/cpumap", cpumask(cpus, made.numbers))


def _model(made: Machine, number: int) -> str:
    if made.arch == "arm64":
        return f"processor\t: {number}\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n"
    return f"processor\t: {number}\nmodel name\t: {made.model}\nmicrocode\t: 0x2e\n"


def files(made: Machine) -> Iterator[File]:
    """Yield the files of the tree of ``made``."""
    yield from _machine_files(made)
    if made.bolt:
        yield from _bolt_files(made)
    yield from _cpu_files(made)
    yield from _node_files(made)
    yield File("proc/cpuinfo", "\n".join(_model(made, n) for n in sorted(made.online)))


def make(name: str, folder: Path) -> Machine:
    """Write the tree ``name`` to ``folder``, which need not exist, and return its machine."""
    made = machine(name)
    known: set[str] = set()
    for each in files(made):
        path = f"{folder}/{each.path}"
        parent = path.rpartition("/")[0]
        if parent not in known:
            Path(parent).mkdir(parents=True, exist_ok=True)
            known.add(parent)
        if each.link:
            Path(path).symlink_to(each.link)
            continue
        text = each.text if each.raw else f"{each.text}\n"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(descriptor, text.encode())
        os.fchmod(descriptor, each.mode)
        os.close(descriptor)
    return made


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(description="write a recorded tree of sysfs")
    parser.add_argument("--list", action="store_true", help="print machines and variants")
    parser.add_argument("name", nargs="?", help="machine, and +VARIANT any number of times")
    parser.add_argument("folder", nargs="?", type=Path, help="where: the root of the tree")
    words = parser.parse_args()
    if words.list:
        for table in (MACHINES, VARIANTS):
            for name, function in table.items():
                print(f"{'' if table is MACHINES else '+'}{name:12} {function.__doc__}")
        return 0
    if words.folder is None:
        parser.error("a name and a folder are needed, or --list")
    try:
        make(words.name, words.folder)
    except (ValueError, OSError) as error:
        print(f"trees.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: GPL-2.0-only
"""Compares ways to keep tasks away from CPUs, by the records of lab/guest/undisturbed.c."""

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from boltlab import codec, paths
from boltlab.arch import ARCHES, Arch
from boltlab.bench.results import Amount, Count, Stats, summarise
from boltlab.codec import Among, Filled
from boltlab.errors import BoltError
from boltlab.guest.qemu import Guest
from boltlab.kept import number
from boltlab.kernel.build import Kernel

KIND = "alternatives"  # kind of result file
# The CPUs from which each way keeps tasks away while Row.quiet is measured; Row.times and Row.taken
# are measured on the first of these CPUs alone. CPUs 0 and 1 of the guest are left to tasks.
PAUSED = "2-3"
TIMES = ("in", "left", "back", "out")
NONE = "-"


@functools.cache
def ways() -> dict[str, dict[str, str]]:
    """Return the ways in data/alternatives.toml: name -> label and kernel of the way."""
    return tomllib.loads((paths.DATA / "alternatives.toml").read_text(encoding="utf-8"))


Way = Annotated[str, Among("way", ways)]


@dataclass(frozen=True)
class Quiet:
    """What happened on one CPU of PAUSED during a pause.

    A pause is the time for which one of the ways() keeps tasks away from all CPUs of PAUSED, while
    a small load runs in the guest. (The way "online" does nothing: tasks of the load may come.)
    The kernel's trace events give all figures but ``counted``; a CPU that is offline writes no
    trace events. ``counted`` is how many more interrupts /proc/interrupts counts on the CPU over
    this pause than over a pause that ends at once. ``mean_ms`` and ``longest_ms`` are the mean and
    the longest of the CPU's idle periods; both are the length of the pause if ``wakeups`` is 0.
    ``tasks`` maps a name that several tasks may share, such as "kworker", to how often the CPU
    switched to a task of that name.
    """

    cpu: Amount
    seconds: Count
    wakeups: Amount
    interrupts: Amount
    timers: Amount
    ipis: Amount
    counted: int
    mean_ms: float
    longest_ms: float
    tasks: dict[str, Amount] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One way on one architecture.

    ``times`` are the times that TIMES names and lab/guest/inout.c defines, in ms; the way "online"
    has only "out". ``taken`` names what the way took from users of the CPU that was paused:
    "affinity", "timer" or "counter", see lab/guest/taken.c. ``quiet`` has a row for each
    CPU of PAUSED.
    """

    arch: Annotated[str, Among("architecture", lambda: ARCHES)]
    way: Way
    times: Annotated[dict[str, Stats], Filled()]
    taken: list[str]
    quiet: Annotated[list[Quiet], Filled()]


@dataclass(frozen=True)
class Measured:
    """The contents of a result file: the rows, the emulator's version, the commit measured."""

    qemu: str
    rows: Annotated[list[Row], Filled()]
    commit: str = ""


def kernels() -> list[str]:
    """Return the flavours that the ways need."""
    return list(dict.fromkeys(way["kernel"] for way in ways().values()))


def guest(target: Arch, kernel: Kernel, flavour: str, rounds: int, seconds: int) -> Guest:
    """Return the guest that measures all ways of one ``flavour`` on its ``kernel``.

    In the emulator CPUs run in turn, a slice each. Slices are kept short, so that the time that a
    CPU takes to come does not include a long wait for the CPU's slice.
    """
    names = ",".join(name for name, way in ways().items() if way["kernel"] == flavour)
    words = f"run /bin/undisturbed cpus={PAUSED} n={rounds} seconds={seconds} ways={names}"
    return Guest(
        arch=target,
        image=kernel.image,
        script=(words,),
        append=target.settings[target.default_setting],
        timeout=1800,
        bounded=True,
    )


def read(records: Sequence[Mapping[str, Any]], arch: str) -> list[Row]:
    """Return the rows in the ``records`` of guests, in the order of the ways.

    Raises BoltError when the records have no times of a way, or have no record of any CPU of PAUSED
    for that way.
    """
    samples = {row["case"]: row["samples"] for row in records if "case" in row}
    found = []
    for way in ways():
        times = {
            name: summarise(samples[f"{way}_{name}"])
            for name in TIMES
            if f"{way}_{name}" in samples
        }
        taken = [
            name
            for row in records
            if row.get("taken") == way
            for name, gone in row.items()
            if gone is True
        ]
        quiet = [
            codec.decode(Quiet, {key: row[key] for key in row if key != "undisturbed"}, way)
            for row in records
            if row.get("undisturbed") == way
        ]
        if not times or not quiet:
            raise BoltError(f"{arch}: the guest has no record of '{way}'")
        found.append(Row(arch, way, times, taken, quiet))
    return found


COLUMNS = (
    "",
    "machine",
    "in, ms",
    "a task has left, ms",
    "out, ms",
    "wake-ups",
    "interrupts",
    "of these from CPUs",
    "idle on average, ms",
    "at most, ms",
    "lost",
)


def cells(row: Row) -> list[str]:
    """Return the cells of ``row`` for COLUMNS; slashes divide the CPUs' figures if these differ."""

    def middle(name: str) -> str:
        return number(row.times[name].median) if name in row.times else NONE

    def each(values: Sequence[float | int]) -> str:
        texts = [f"{value:,}" if isinstance(value, int) else number(value) for value in values]
        return " / ".join(texts if len(set(texts)) > 1 else texts[:1])

    return [
        ways()[row.way]["label"],
        row.arch,
        middle("in"),
        middle("left"),
        middle("out"),
        each([cpu.wakeups for cpu in row.quiet]),
        each([cpu.interrupts for cpu in row.quiet]),
        each([cpu.ipis for cpu in row.quiet]),
        each([cpu.mean_ms for cpu in row.quiet]),
        each([cpu.longest_ms for cpu in row.quiet]),
        ", ".join(row.taken) or NONE,
    ]


def table(rows: Sequence[Row]) -> list[list[str]]:
    """Return the cells of all ``rows``, the architectures of a way below each other."""
    order = list(ways())
    return [cells(row) for row in sorted(rows, key=lambda row: order.index(row.way))]


def dumps(qemu: str, rows: Sequence[Row], commit: str) -> str:
    """Return the JSON text of ``rows``, which were measured on ``commit``."""
    origin = {"qemu": qemu, "commit": commit}
    return codec.lines(KIND, origin, "rows", (asdict(row) for row in rows))


def load(path: Path) -> Measured:
    """Return the contents of the file ``path``; raise BoltError if it has no results of ways."""
    return codec.read(Measured, path, "holds no results of ./bolt alternatives", KIND)

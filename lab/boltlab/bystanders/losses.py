# SPDX-License-Identifier: GPL-2.0-only
"""Reads how much time requests take from tasks on bystanders.

A bystander is a CPU that neither makes the requests nor comes or goes. A plugin of the emulator
counts that time; lab/plugin/bystanders.c says how.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from boltlab import codec
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.guest import qemu
from boltlab.guest.machine import Machine
from boltlab.guest.qemu import Guest
from boltlab.kernel.build import Kernel
from boltlab.tables import Column

KIND = "bystanders"
US = 0.002  # microseconds that an instruction takes in virtual time
SIZES = (4, 16, 32)
ROUNDS = 10
PHASES = {1: "offline", 2: "online", 3: "idle", 4: "settle", 5: "online_settled"}
# Variant -> the kernel on which the variant is measured, and the command, if any, that the guest
# runs first. In a guest with a tickless CPU the kernel of all variants is TICKLESS instead.
VARIANTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "native": ("pristine", ()),
    "expedited": ("pristine", ("write /sys/kernel/rcu_expedited 1",)),
    "bolt": ("bolt", ("write /sys/devices/system/cpu/bolt/enabled 1",)),
}
# The flavour, built with nohz_full, on which the last one of four CPUs has no tick.
TICKLESS = "torture"


def flavour(variant: str, tickless: bool) -> str:
    """Return the flavour of the kernel of ``variant`` in a guest with or without a tickless CPU."""
    return TICKLESS if tickless else VARIANTS[variant][0]


@dataclass(frozen=True)
class Row:
    """The costs for bystanders of requests of one direction for ``batch`` of ``cpus`` CPUs.

    Without Bolt a write is for one CPU only, and so the writes for all ``batch`` CPUs together
    count as one request.

    In microseconds of virtual time: ``longest`` is the longest time for which a bystander's task
    could not run, ``off`` the longest time with interrupts off (None: not known), and ``stolen``
    the time that the kernel took from a task during a request; ``times`` is how often the kernel
    interrupted the task. ``stolen`` and ``times`` are means of all bystanders and requests.
    ``tickless``: the bystander is a nohz_full CPU. ``length`` is how long a request took, as a
    mean (None in older files).

    The direction "idle" is for a time without a request, as long as the offline request before it
    (in files without ``length`` up to a millisecond longer). "settle" is a write to bolt/settle
    directly after an offline request with Bolt: the write runs all teardowns that are still
    deferred. "online_settled" is the return of CPUs after that write. "sum" is an offline request
    together with "settle", and is in no file: sums() makes such rows.
    """

    variant: str
    direction: str
    cpus: int
    batch: int
    tickless: bool
    longest: float
    off: float | None
    stolen: float
    times: float
    length: float | None = None


@dataclass(frozen=True)
class Measured:
    """The contents of a result file: the rows, and where and on which commit they were measured."""

    arch: str
    qemu: str
    rows: list[Row]
    commit: str = ""


def guest(
    arch: Arch,
    kernel: Kernel,
    plugin: Path,
    variant: str,
    place: tuple[int, int, bool],
    rounds: int = ROUNDS,
) -> Guest:
    """Return the guest that measures one row of each direction that ``variant`` has.

    ``place`` is the number of CPUs, how many of them come and go, and whether the last CPU has no
    tick.
    """
    cpus, batch, tickless = place
    going = f"1-{batch}" if batch > 1 else "1"
    bolt = int(variant == "bolt")
    words = f"run /bin/bystand cpus={going} n={rounds} bolt={bolt}"
    append = arch.settings[arch.default_setting]
    append += f" nohz_full={cpus - 1}" if tickless else ""
    return Guest(
        arch=arch,
        image=kernel.image,
        script=(*VARIANTS[variant][1], words),
        append=append.strip(),
        machine=Machine(cpus=cpus, memory="2G" if cpus > 16 else "1G"),
        timeout=7200,
        plugin=plugin,
    )


def read(lines: Iterable[str], variant: str, cpus: int, batch: int, tickless: bool) -> list[Row]:
    """Return a row for each direction of a run.

    ``lines`` are the plugin's output, a line for each CPU in each direction, "phase" in the line.
    """
    found: dict[int, list[dict[str, Any]]] = {}
    # CPUs run in turn, so that virtual time is the sum of what all of them execute.
    spent: dict[int, int] = {}
    for line in lines:
        row = json.loads(line)
        if row["cpu"] >= cpus:
            raise BoltError(f"the plugin counted on CPU {row['cpu']} in a guest of {cpus} CPUs")
        spent[row["phase"]] = spent.get(row["phase"], 0) + row["user"] + row["kernel"]
        # CPU 0 makes the requests, and the CPUs 1 to ``batch`` come and go; so the CPUs after these
        # are bystanders. With ``tickless`` only the last CPU counts.
        if row["cpu"] > batch and (not tickless or row["cpu"] == cpus - 1):
            found.setdefault(row["phase"], []).append(row)
    rows = []
    for phase, seen in sorted(found.items()):
        share = seen[0]["rounds"] * len(seen)
        off = max(row["longest_off"] for row in seen) * US
        rows.append(
            Row(
                variant,
                PHASES[phase],
                cpus,
                batch,
                tickless,
                longest=round(max(row["longest"] for row in seen) * US, 2),
                off=round(off, 2) if off else None,
                stolen=round(sum(row["kernel"] for row in seen) * US / share, 2),
                times=round(sum(row["stretches"] for row in seen) / share, 2),
                length=round(spent[phase] * US / seen[0]["rounds"], 2),
            )
        )
    return rows


def sums(rows: Sequence[Row]) -> list[Row]:
    """Return a row "sum" for each offline request whose deferred teardowns were measured.

    A variant that defers nothing gets a "sum" for the same machine as well, with the costs of the
    offline request alone.
    """
    settled = {(*place_of(row), row.variant): row for row in rows if row.direction == "settle"}
    places = {key[:-1] for key in settled}
    found = []
    for row in rows:
        if row.direction == "offline" and place_of(row) in places:
            more = settled.get((*place_of(row), row.variant))
            found.append(replace(_both(row, more) if more else row, direction="sum"))
    return found


def place_of(row: Row) -> tuple[int, int, bool]:
    """Return the ``place`` that guest() takes for the guest of ``row``."""
    return row.cpus, row.batch, row.tickless


def _both(one: Row, other: Row) -> Row:
    """Return the costs of ``one`` and ``other`` together."""
    off = [row.off for row in (one, other) if row.off is not None]
    length = None if one.length is None or other.length is None else one.length + other.length
    return replace(
        one,
        longest=max(one.longest, other.longest),
        off=max(off, default=None),
        stolen=round(one.stolen + other.stolen, 2),
        times=round(one.times + other.times, 2),
        length=length if length is None else round(length, 2),
    )


def dumps(arch: Arch, rows: Sequence[Row], commit: str) -> str:
    """Return the rows, which were measured on ``commit``, as JSON text."""
    origin = {"arch": arch.name, "qemu": qemu.version(arch.qemu), "commit": commit}
    return codec.lines(KIND, origin, "rows", (asdict(row) for row in rows))


def load(path: Path) -> tuple[str, list[Row]]:
    """Return the architecture and rows of the file ``path``.

    Raises BoltError if the file has no figures of bystanders.
    """
    found = codec.read(Measured, path, "holds no figures of bystanders", KIND)
    return found.arch, found.rows


# Columns of table(): a narrow terminal leaves out the columns with the highest rank first.
COLUMNS = (
    Column("CPUs"),
    Column("of"),
    Column("direction"),
    Column("variant"),
    Column("longest us"),
    Column("irqs off us", 2),
    Column("stolen us", 1),
    Column("times", 3),
    Column("length us", 4),
)
TICKLESS_TEXT = "*: the bystander is a CPU without a tick (nohz_full)"


def table(rows: Sequence[Row]) -> list[list[str]]:
    """Return the cells of COLUMNS, with the rows of sums().

    If a machine's size has a star, the caller prints TICKLESS_TEXT below the table.
    """
    return [
        [
            str(row.batch),
            f"{row.cpus}{'*' if row.tickless else ''}",
            row.direction,
            row.variant,
            f"{row.longest:.1f}",
            "-" if row.off is None else f"{row.off:.1f}",
            f"{row.stolen:.1f}",
            f"{row.times:.1f}",
            "-" if row.length is None else f"{row.length:.1f}",
        ]
        for row in (*rows, *sums(rows))
    ]

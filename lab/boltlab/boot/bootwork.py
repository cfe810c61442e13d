# SPDX-License-Identifier: GPL-2.0-only
"""Counts the instructions that the boot CPU runs while it brings up the other CPUs.

A plugin of the emulator, lab/plugin/bootwork.c, counts instructions from smp_init() to
sched_init_smp().
Instructions with which the boot CPU only spins until another CPU is ready are left out;
data/boot.toml lists the functions that spin.
"""

import bisect
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from boltlab.boot import boots
from boltlab.errors import BoltError
from boltlab.kernel import symbols

FROM, TO = "smp_init", "sched_init_smp"


@dataclass(frozen=True)
class Work:
    """Instructions of the boot CPU by function, and the variant and the machine of the boot."""

    variant: str
    cpus: int
    nodes: int
    functions: Mapping[str, int]

    @property
    def total(self) -> int:
        """The number of instructions with which the boot CPU did not only wait."""
        spins = boots.table()["work"]["spins"]
        return sum(count for name, count in self.functions.items() if name not in spins)


def edges(path: Path) -> str:
    """Return the plugin's arguments for the kernel with the System.map ``path``."""
    known = {name: at for at, name in symbols.read(path)}
    if FROM not in known or TO not in known:
        raise BoltError(f"{path} has no {FROM}() or no {TO}()")
    return f"from={known[FROM]:x},to={known[TO]:x}"


def read(lines: Iterable[str], names: list[tuple[int, str]]) -> dict[str, int]:
    """Return instructions by function, from the plugin's ``lines`` and ``names`` of symbols."""
    starts = [at for at, _ in names]
    found: Counter[str] = Counter()
    for line in lines:
        row = json.loads(line)
        place = bisect.bisect_right(starts, int(row["at"], 16)) - 1
        found[names[place][1] if place >= 0 else "?"] += row["instructions"]
    if not found:
        raise BoltError(f"the plugin counted nothing between {FROM}() and {TO}()")
    return dict(found)


def each(works: Iterable[Work]) -> dict[tuple[str, int, int], float]:
    """Return the instructions for each further CPU, by variant, number of CPUs, and of nodes."""
    runs = list(works)
    alone = {work.variant: work.total for work in runs if work.cpus == 1}
    return {
        (work.variant, work.cpus, work.nodes): (work.total - alone[work.variant]) / (work.cpus - 1)
        for work in runs
        if work.cpus > 1 and work.variant in alone
    }


def table(works: Iterable[Work], top: int = 12) -> list[str]:
    """Return lines to print: each variant, and the functions with most of its instructions."""
    runs = list(works)
    share = each(runs)
    lines = []
    for (variant, cpus, nodes), count in share.items():
        native = share.get(("native", cpus, nodes))
        gain = f", {native / count:.1f} times less than natively" if native and count else ""
        size = f"{cpus} CPUs, {nodes} nodes" if nodes > 1 else f"{cpus} CPUs"
        lines.append(f"{variant}, {size}: {count:,.0f} instructions for a further CPU{gain}")
        place = (variant, cpus, nodes)
        largest = next(run for run in runs if (run.variant, run.cpus, run.nodes) == place)
        names = sorted(largest.functions, key=lambda name: -largest.functions[name])[:top]
        spins = boots.table()["work"]["spins"]
        lines.append(
            "  "
            + ", ".join(
                f"{name}{' (waits)' if name in spins else ''} {largest.functions[name]:,}"
                for name in names
            )
        )
    return lines

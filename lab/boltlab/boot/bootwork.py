# SPDX-License-Identifier: GPL-2.0-only
"""Counts the instructions that a part of a boot takes: of the boot CPU, or of all CPUs.

A plugin of the emulator, lab/plugin/bootwork.c, counts the instructions; data/boot.toml has the
parts. Of the part ``smp``, instructions with which the boot CPU only spins until another CPU is
ready are left out.
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


@dataclass(frozen=True)
class Part:
    """A part of the boot, as a table of data/boot.toml describes it.

    The part begins when a CPU enters the function ``first``. ``cpus`` says whose instructions
    count: ``boot``, those of this CPU, or ``all``, those of all CPUs. The part ends when a CPU
    whose instructions count enters the function ``last``. ``spins`` has the functions whose
    instructions do not count.
    """

    first: str
    last: str
    cpus: str
    spins: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The line above the counts."""
        who = "the boot CPU" if self.cpus == "boot" else "all CPUs"
        return f"instructions of {who}, from {self.first}() to {self.last}():"


@dataclass(frozen=True)
class Work:
    """Instructions by function, and the variant and the machine of the boot."""

    variant: str
    cpus: int
    nodes: int
    functions: Mapping[str, int]

    def total(self, part: Part) -> int:
        """Return the number of instructions outside of functions in ``part.spins``."""
        return sum(count for name, count in self.functions.items() if name not in part.spins)


def parts() -> dict[str, Part]:
    """Return the parts of a boot whose instructions can be counted, by name."""
    return {
        name: Part(row["first"], row["last"], row["cpus"], tuple(row.get("spins", ())))
        for name, row in boots.table()["work"]["part"].items()
    }


def edges(path: Path, part: Part) -> str:
    """Return the plugin's arguments for the kernel with the System.map ``path``."""
    known = {name: at for at, name in symbols.read(path)}
    if part.first not in known or part.last not in known:
        raise BoltError(f"{path} has no {part.first}() or no {part.last}()")
    return f"from={known[part.first]:x},to={known[part.last]:x},cpus={part.cpus}"


def read(lines: Iterable[str], names: list[tuple[int, str]], part: Part) -> dict[str, int]:
    """Return instructions by function, from the plugin's ``lines``.

    ``names`` are the addresses and names of the kernel's functions, in order of the addresses.
    """
    starts = [at for at, _ in names]
    found: Counter[str] = Counter()
    for line in lines:
        row = json.loads(line)
        place = bisect.bisect_right(starts, int(row["at"], 16)) - 1
        found[names[place][1] if place >= 0 else "?"] += row["instructions"]
    if not found:
        raise BoltError(f"the plugin counted nothing between {part.first}() and {part.last}()")
    return dict(found)


def each(works: Iterable[Work], part: Part) -> dict[tuple[str, int, int], float]:
    """Return the instructions for a further CPU, by variant, number of CPUs, number of nodes.

    The number is a mean: what a boot takes beyond the same variant's boot on one CPU, divided by
    the number of further CPUs. A variant without a boot on one CPU is left out.
    """
    runs = list(works)
    alone = _alone(runs)
    return {
        (work.variant, work.cpus, work.nodes): (work.total(part) - alone[work.variant].total(part))
        / (work.cpus - 1)
        for work in runs
        if work.cpus > 1 and work.variant in alone
    }


def table(works: Iterable[Work], part: Part, top: int = 12) -> list[str]:
    """Return lines to print: for each boot its instructions for a further CPU, and functions.

    The functions are the ``top`` ones that take the most instructions beyond those of the boot on
    one CPU. The number behind a function is for all further CPUs together. Functions in
    ``part.spins`` are shown as well, marked "(waits)".
    """
    runs = list(works)
    share = each(runs, part)
    lines = [part.title]
    for (variant, cpus, nodes), count in share.items():
        native = share.get(("native", cpus, nodes))
        gain = f", {native / count:.1f} times less than natively" if native and count else ""
        size = f"{cpus} CPUs, {nodes} nodes" if nodes > 1 else f"{cpus} CPUs"
        lines.append(f"{variant}, {size}: {count:,.0f} instructions for a further CPU{gain}")
        place = (variant, cpus, nodes)
        largest = next(run for run in runs if (run.variant, run.cpus, run.nodes) == place)
        further = Counter(largest.functions)
        further.subtract(_alone(runs)[variant].functions)
        lines.append(
            "  "
            + ", ".join(
                f"{name}{' (waits)' if name in part.spins else ''} {extra:,}"
                for name, extra in further.most_common(top)
            )
        )
    return lines


def _alone(runs: Iterable[Work]) -> dict[str, Work]:
    """Return the boot on one CPU of each variant."""
    return {work.variant: work for work in runs if work.cpus == 1}

# SPDX-License-Identifier: GPL-2.0-only
"""Reads boots: phases, callbacks, and how the times of callbacks grow with the machine's size.

Boots are compared by the CPU-dependent time: the time of a boot less the time that the same variant
takes to boot on one CPU. So work that does not depend on the number of CPUs does not count.
"""

import functools
import itertools
import math
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boltlab import paths
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.guest import console

_EVENT = re.compile(
    r"^ *(?P<task>.+)-(?P<pid>\d+) +\[(?P<cpu>\d+)\] \S+ +"
    r"(?P<sec>\d+)\.(?P<usec>\d{6}): (?P<event>\w+): +(?P<rest>.*)$"
)
_ENTER = re.compile(r"^cpu: (?P<cpu>\d+) target: +\d+ step: +(?P<step>\d+) \((?P<name>[^)]+)\)")
_LOST = re.compile(r"^CPU:\d+ \[LOST \d+ EVENTS\]")
INITCALLS = 40  # how many initcalls, those that take longest, are kept
# Callbacks of these names wait until the CPU that comes has run its own callbacks. Their time is
# left out, because the time of the CPU's own callbacks counts already.
_WAITS = ("bringup_cpu", "cpuhp_bringup_ap")


@dataclass(frozen=True)
class Callback:
    """All runs of one callback or initcall in a boot: name, number of runs, and sum of their ns.

    Two fields are for callbacks only. ``early_ns`` is the part of ``ns`` before the initcalls of
    level "pure", the first that follow SMP init. ``ahead`` says whether the callback is
    run by a task that is neither an idle task nor a hotplug thread. Before the initcalls this is
    the control task, which runs the callback before the CPU is woken.
    """

    name: str
    runs: int
    ns: int
    early_ns: int = 0
    ahead: bool = False


@dataclass(frozen=True)
class Boot:
    """One boot: machine, variant, ns of the phases, and ns until init's first instruction.

    The ns may be medians of several boots. ``callbacks`` and ``initcalls`` come from one more boot,
    which is traced and therefore takes longer; if there is no such boot, both are empty.
    """

    variant: str
    cpus: int
    nodes: int
    booted: int
    phases: dict[str, int] = field(default_factory=dict)
    callbacks: list[Callback] = field(default_factory=list)
    initcalls: list[Callback] = field(default_factory=list)


@dataclass(frozen=True)
class Fit:
    """How a time grows: ``each`` ns times the value of ``law``, and how well the law fits.

    ``error`` is the root of the mean square of relative errors. ``r2`` says by which share the sum
    of these squares is smaller with this law than with the law "constant".
    """

    law: str
    each: float
    r2: float
    error: float


# Laws by which a total may grow with the number of CPUs that come (n) and of nodes (m).
LAWS: Mapping[str, Callable[[int, int], float]] = {
    "constant": lambda n, m: 1.0,
    "N": lambda n, m: float(n),
    "N log N": lambda n, m: n * math.log2(max(2, n)),
    "N^2": lambda n, m: float(n * n),
    "N^2 nodes": lambda n, m: float(n * n * m),
}


@functools.cache
def table() -> dict[str, Any]:
    """Return data/boot.toml."""
    return tomllib.loads((paths.DATA / "boot.toml").read_text(encoding="utf-8"))


def variants(arch: str) -> dict[str, dict[str, Any]]:
    """Return the variants that are compared on ``arch``, by name."""
    rows = table()["variant"]
    return {row["name"]: row for row in rows if arch in row.get("arches", [arch])}


def append(target: Arch, setting: str, *more: str) -> str:
    """Return a boot's kernel arguments: those of ``setting``, those in boot.toml, and ``more``."""
    words = (target.settings[setting], table()["append"][target.name], *more)
    return " ".join(word for word in words if word)


def phases(log: Path) -> dict[str, int]:
    """Return the ns of each phase in the kernel's ``log``.

    Raises BoltError if the log lacks the message that ends a phase.
    """
    found, last = {}, 0
    for row in table()["phase"]:
        now = console.time_of(log, row["until"])
        found[row["name"]] = now - last
        last = now
    return found


def traced(lines: Iterable[str]) -> tuple[list[Callback], list[Callback]]:
    """Return the callbacks for CPUs other than the first, and the INITCALLS longest initcalls.

    ``lines`` are the trace of a boot. Both lists are sorted by time, the longest first. Raises
    BoltError when the trace has lost records.
    """
    spans: list[tuple[int, int, str]] = []
    ahead: set[str] = set()
    calls: dict[str, list[int]] = defaultdict(list)
    inside: dict[tuple[str, str], tuple[int, str]] = {}
    booted: int | None = None
    for line in lines:
        if _LOST.match(line):
            raise BoltError("the trace of the boot has lost records: its buffer is too small")
        record = _EVENT.match(line)
        if not record:
            continue
        now = (int(record["sec"]) * 1_000_000 + int(record["usec"])) * 1000
        # The beginning and the end of a callback or initcall have the same task. A task is known by
        # its pid, because the task that runs initcalls moves between CPUs; but all idle tasks have
        # the pid 0, and so an idle task is known by its CPU.
        idle = record["cpu"] if record["pid"] == "0" else ""
        key = (record["event"].split("_", maxsplit=1)[0], f"{record['pid']}/{idle}")
        if enter := _ENTER.match(record["rest"]):
            if int(enter["cpu"]):
                inside[key] = now, enter["name"]
                if record["pid"] != "0" and not record["task"].startswith("cpuhp/"):
                    ahead.add(enter["name"])
        elif record["event"] == "initcall_level":
            booted = now if record["rest"] == "level=pure" else booted
        elif record["event"] == "initcall_start":
            inside[key] = now, record["rest"].split("=")[-1].split("+")[0]
        elif key in inside:
            start, name = inside.pop(key)
            if key[0] == "initcall":
                calls[name].append(now - start)
            elif name not in _WAITS:
                spans.append((start, now, name))
    initcalls = _sorted(Callback(name, len(ns), sum(ns)) for name, ns in calls.items())
    return _callbacks(spans, ahead, booted), initcalls[:INITCALLS]


def _callbacks(
    spans: Sequence[tuple[int, int, str]], ahead: set[str], booted: int | None
) -> list[Callback]:
    """Return the callbacks with the times of their ``spans`` (start, end, name) added up.

    In virtual time CPUs take turns, so callbacks that are under way at the same time get equal
    shares of that time.
    """
    edges = [(start, 1, i) for i, (start, _, _) in enumerate(spans)]
    edges += [(end, 0, i) for i, (_, end, _) in enumerate(spans)]
    took: dict[str, float] = defaultdict(float)
    early: dict[str, float] = defaultdict(float)
    active: set[int] = set()
    for (now, begins, i), (until, _, _) in itertools.pairwise([*sorted(edges), (0, 0, 0)]):
        active.add(i) if begins else active.discard(i)
        for each in active:
            name = spans[each][2]
            took[name] += (until - now) / len(active)
            if booted is None or now < booted:
                early[name] += (until - now) / len(active)
    runs = Counter(name for _, _, name in spans)
    return _sorted(
        Callback(name, count, round(took[name]), round(early[name]), name in ahead)
        for name, count in runs.items()
    )


def _sorted(entries: Iterable[Callback]) -> list[Callback]:
    return sorted(entries, key=lambda entry: -entry.ns)


def dependent(boots: Iterable[Boot], boot: Boot) -> int | None:
    """Return the CPU-dependent ns of ``boot``; None if ``boots`` lack its variant on one CPU."""
    for base in boots:
        if (base.variant, base.cpus) == (boot.variant, 1):
            return boot.booted - base.booted
    return None


def fit(points: Mapping[tuple[int, int], float]) -> Fit | None:
    """Return the law that best fits ``points``, (CPUs, nodes) -> total; None for under 3 points.

    Returns None as well if a total is not above 0. Errors count in relation to the total; otherwise
    the largest machine alone would decide. Among laws that fit about equally well the law that
    grows least is taken.
    """
    if len(points) < 3 or any(total <= 0 for total in points.values()):
        return None
    fits = {}
    for law, grows in LAWS.items():
        shape = [grows(cpus - 1, nodes) / total for (cpus, nodes), total in points.items()]
        each = sum(shape) / sum(value**2 for value in shape)
        fits[law] = each, sum((each * value - 1) ** 2 for value in shape)
    constant = fits["constant"][1]
    best: Fit | None = None
    for law, (each, squares) in fits.items():
        r2 = 1 - squares / constant if constant else float(law == "constant")
        error = math.sqrt(squares / len(points))
        if best is None or error < best.error - 0.02:
            best = Fit(law, each, max(0.0, r2), error)
    return best


def growth(boots: Sequence[Boot], variant: str, top: int = 12) -> list[tuple[str, Fit | None, int]]:
    """Return name, law of growth, and ns on the largest machine, of the ``top`` longest callbacks.

    These are the callbacks that take longest on the largest machine with a traced boot. The law of
    growth is None for a callback for which fit() finds no law. Without traced boots the list is
    empty.
    """
    runs = [boot for boot in boots if boot.variant == variant and boot.callbacks]
    if not runs:
        return []
    largest = max(runs, key=lambda boot: (boot.cpus, boot.nodes))
    found = []
    for entry in largest.callbacks[:top]:
        points = {
            (boot.cpus, boot.nodes): float(same.ns)
            for boot in runs
            for same in boot.callbacks
            if same.name == entry.name
        }
        found.append((entry.name, fit(points), entry.ns))
    return found

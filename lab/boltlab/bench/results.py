# SPDX-License-Identifier: GPL-2.0-only
"""Checks, loads and saves result files, schema 1 (docs/measuring.md), and makes statistics."""

import functools
import json
import math
import statistics
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from boltlab import codec, paths
from boltlab.codec import Among, Filled, Least
from boltlab.errors import BoltError

DIRECTIONS = ("offline", "online")


@functools.cache
def variants() -> dict[str, dict[str, Any]]:
    """Return the variants: name -> the keys that data/variants.toml explains, such as label."""
    return tomllib.loads((paths.DATA / "variants.toml").read_text(encoding="utf-8"))


Count = Annotated[int, Least(1)]
Amount = Annotated[int, Least(0)]
Variant = Annotated[str, Among("variant", variants)]
Direction = Annotated[str, Among("direction", lambda: DIRECTIONS)]


@dataclass(frozen=True)
class Stats:
    """Statistics of the latencies of one case in one variant, in ms."""

    n: Count
    min: float
    median: float
    p99: float
    max: float

    def flaw(self) -> str:
        """Return how the fields contradict each other, or ""."""
        ordered = 0 <= self.min <= self.median <= self.p99 <= self.max
        return "" if ordered else "min, median, p99 and max are not in ascending order"


@dataclass(frozen=True)
class Case:
    """One case: its name, how many CPUs a request had, and the statistics of each variant.

    ``boots`` has the median of each boot, in ms, for variants whose guest was booted more than
    once. ``cpus`` is the number of CPUs that cases.toml gives for the guest; 0 if cases.toml gives
    none, so that the guest had Results.cpus.
    """

    case: str
    batch: Count
    variants: Annotated[dict[Variant, Stats], Filled()]
    boots: dict[Variant, Annotated[list[float], Filled()]] = field(default_factory=dict)
    cpus: Count = 0


@dataclass(frozen=True)
class PhaseTime:
    """One phase of a breakdown: its name and its median time in ns."""

    phase: str
    median_ns: Amount


@dataclass(frozen=True)
class Batch:
    """Counts and times of traced requests of one kind for ``batch`` CPUs; see batches.py."""

    kind: str
    batch: Count
    n: Count
    counts: dict[str, Amount]
    sum_ns: Amount
    chain_ns: Amount


@dataclass(frozen=True)
class Machine:
    """A machine on which ``cpubolt bench`` has measured in real time; "" means unknown."""

    model: str
    microcode: str
    idle_driver: str
    clocksource: str


@dataclass(frozen=True)
class Results:
    """One run of the bench on one architecture in one setting.

    ``breakdown`` maps variant -> direction -> phases, in the order in which they are drawn.
    ``batches`` maps variant -> counts and times of its traced requests for several CPUs.
    ``note`` is a remark to be printed with the tables of the figures.
    ``commit`` is the commit of this repository that was measured, "" if it is not known.
    ``machine`` is set if the times are real times of a machine, not times of a guest of the lab.
    Then ``accel`` is the machine's hypervisor, "virtual" if the hypervisor is not recognised, or
    "hardware" if no hypervisor is found; and ``qemu`` is "".
    """

    arch: str
    setting: str
    accel: str
    qemu: str
    kernel: str
    config_sha: str
    cpus: Count
    nodes: Count
    cases: Annotated[list[Case], Filled()]
    breakdown: dict[Variant, dict[Direction, list[PhaseTime]]] = field(default_factory=dict)
    batches: dict[Variant, list[Batch]] = field(default_factory=dict)
    note: str = ""
    commit: str = ""
    machine: Machine | None = None

    @property
    def latencies(self) -> list[Case]:
        """The cases that time requests in guests with Results.cpus CPUs: Case.cpus is 0."""
        return [case for case in self.cases if not case.boots and not case.cpus]

    @property
    def large(self) -> list[Case]:
        """The cases of guests for which cases.toml gives a number of CPUs: see Case.cpus."""
        return [case for case in self.cases if case.cpus]

    @property
    def overheads(self) -> list[Case]:
        """The cases that time other work than requests, in guests booted several times."""
        return [case for case in self.cases if case.boots and not case.cpus]

    def find(self, case: str) -> Case | None:
        """Return the case called ``case`` with Case.cpus 0, or None if there is no such case."""
        found = (entry for entry in self.cases if entry.case == case and not entry.cpus)
        return next(found, None)


def usual_variants() -> tuple[str, ...]:
    """Return the variants that are measured unless a command names variants."""
    return tuple(name for name, row in variants().items() if not row.get("asked"))


def summarise(samples_ns: Sequence[float]) -> Stats:
    """Return the statistics, in ms, of ``samples_ns`` (latencies in ns, at least one).

    p99 is the nearest rank: the smallest sample that at least 99 % of the samples do not exceed.
    """
    if not samples_ns:
        raise ValueError("no samples")
    ordered = sorted(samples_ns)
    rank = math.ceil(0.99 * len(ordered))
    return Stats(
        n=len(ordered),
        min=_ms(ordered[0]),
        median=_ms(statistics.median(ordered)),
        p99=_ms(ordered[rank - 1]),
        max=_ms(ordered[-1]),
    )


def to_json(results: Results) -> dict[str, Any]:
    """Return ``results`` as the JSON object of schema 1."""
    document: dict[str, Any] = {"schema": codec.SCHEMA, **asdict(results)}
    for case in document["cases"]:
        parts = {name: case.pop(name) for name in ("variants", "boots")}
        case.update(unit=codec.UNIT, **{name: part for name, part in parts.items() if part})
        if not case["cpus"]:
            del case["cpus"]
    for optional in ("breakdown", "batches", "note", "commit", "machine"):
        if not document[optional]:
            del document[optional]
    return document


def from_json(document: object) -> Results:
    """Return the results in ``document``; raise BoltError naming the document's first flaw."""
    top = codec.head(document, "results")
    found = codec.decode(Results, top, "results")
    for number, case in enumerate(top["cases"]):
        if case.get("unit") != codec.UNIT:
            raise BoltError(f"results.cases[{number}].unit must be '{codec.UNIT}'")
    return found


def load(path: Path) -> Results:
    """Return the results in ``path``; raise BoltError if ``path`` is no valid result file."""
    return codec.load(path, "is no result file", from_json)


def save(results: Results, path: Path) -> None:
    """Write ``results`` to the file ``path``, whole or not at all."""
    codec.save(json.dumps(to_json(results), indent=1) + "\n", path)


def _ms(ns: float) -> float:
    return round(ns / 1e6, 6)

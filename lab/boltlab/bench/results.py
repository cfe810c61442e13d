# SPDX-License-Identifier: GPL-2.0-only
"""Result files, schema 1 (docs/measuring.md): build, check, load, save, and the statistics."""

import functools
import json
import math
import statistics
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from boltlab import paths
from boltlab.errors import BoltError

SCHEMA = 1
UNIT = "ms"
DIRECTIONS = ("offline", "online")


@dataclass(frozen=True)
class Stats:
    """Statistics of the latencies of one case in one variant, in ms."""

    n: int
    min: float
    median: float
    p99: float
    max: float


@dataclass(frozen=True)
class Case:
    """One case: its name, how many CPUs a request had, and the statistics of each variant.

    ``boots`` has the median of each boot, in ms, of variants that were booted more than once.
    ``cpus`` is how many the guest had, 0 if it is what the whole run had.
    """

    case: str
    batch: int
    variants: dict[str, Stats]
    boots: dict[str, list[float]] = field(default_factory=dict)
    cpus: int = 0


@dataclass(frozen=True)
class PhaseTime:
    """One phase of a breakdown: its name and its median time in ns."""

    phase: str
    median_ns: int


@dataclass(frozen=True)
class Batch:
    """What traced requests of one kind for ``batch`` CPUs consist of: see boltlab.bench.batches."""

    kind: str
    batch: int
    n: int
    counts: dict[str, int]
    sum_ns: int
    chain_ns: int


@dataclass(frozen=True)
class Machine:
    """A machine on which ``cpubolt bench`` has measured in real time; "" where nothing is known."""

    model: str
    microcode: str
    idle_driver: str
    clocksource: str


@dataclass(frozen=True)
class Results:
    """One run of the bench on one architecture in one setting.

    ``breakdown`` maps variant -> direction -> phases, in the order in which they are drawn.
    ``batches`` maps variant -> what its requests for several CPUs consist of.
    ``note`` is a remark that belongs beside every table made of the figures.
    ``commit`` is the commit of this repository that was measured, "" if it is not known.
    ``machine`` is there if the times are real ones of a machine, not those of a lab's guest: then
    ``accel`` is its hypervisor, or "hardware", and there is no ``qemu``.
    """

    arch: str
    setting: str
    accel: str
    qemu: str
    kernel: str
    config_sha: str
    cpus: int
    nodes: int
    cases: list[Case]
    breakdown: dict[str, dict[str, list[PhaseTime]]] = field(default_factory=dict)
    batches: dict[str, list[Batch]] = field(default_factory=dict)
    note: str = ""
    commit: str = ""
    machine: Machine | None = None

    @property
    def latencies(self) -> list[Case]:
        """The cases that time requests, in guests as large as the run says."""
        return [case for case in self.cases if not case.boots and not case.cpus]

    @property
    def large(self) -> list[Case]:
        """The cases that time requests in larger guests."""
        return [case for case in self.cases if case.cpus]

    @property
    def overheads(self) -> list[Case]:
        """The cases that time everything else, booted several times for it."""
        return [case for case in self.cases if case.boots and not case.cpus]

    def find(self, case: str) -> Case | None:
        """Return the case of that name, or None when it was not measured."""
        found = (entry for entry in self.cases if entry.case == case and not entry.cpus)
        return next(found, None)


@functools.cache
def variants() -> dict[str, dict[str, Any]]:
    """Return data/variants.toml: what is compared, name -> label, kernel, commands, colour."""
    return tomllib.loads((paths.DATA / "variants.toml").read_text(encoding="utf-8"))


def usual_variants() -> tuple[str, ...]:
    """Return the variants that are measured unless others are asked for."""
    return tuple(name for name, row in variants().items() if not row.get("asked"))


def summarise(samples_ns: Sequence[float]) -> Stats:
    """Return the statistics, in ms, of ``samples_ns`` (latencies in ns, at least one).

    p99 is the nearest rank: the smallest sample that 99 % of the samples do not exceed.
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
    document: dict[str, Any] = {"schema": SCHEMA, **asdict(results)}
    for case in document["cases"]:
        parts = {name: case.pop(name) for name in ("variants", "boots")}
        case.update(unit=UNIT, **{name: part for name, part in parts.items() if part})
        if not case["cpus"]:
            del case["cpus"]
    for optional in ("breakdown", "batches", "note", "commit", "machine"):
        if not document[optional]:
            del document[optional]
    return document


def from_json(document: object) -> Results:
    """Return the results in ``document``; raise BoltError naming the first thing wrong in it."""
    top = _Reader(document, "results")
    schema = top.integer("schema")
    if schema != SCHEMA:
        raise BoltError(f"results.schema is {schema}: this lab reads schema {SCHEMA}")
    cases = [_case(reader) for reader in top.readers("cases")]
    if not cases:
        raise BoltError("results.cases is empty")
    return Results(
        arch=top.text("arch"),
        setting=top.text("setting"),
        accel=top.text("accel"),
        qemu=top.text("qemu"),
        kernel=top.text("kernel"),
        config_sha=top.text("config_sha"),
        cpus=top.integer("cpus", least=1),
        nodes=top.integer("nodes", least=1),
        cases=cases,
        breakdown=_breakdown(top),
        batches=_batches(top),
        note=top.text("note") if top.has("note") else "",
        commit=top.text("commit") if top.has("commit") else "",
        machine=_machine(top),
    )


def load(path: Path) -> Results:
    """Return the results in the file ``path``; raise BoltError when it is no valid result file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BoltError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise BoltError(f"{path} is no result file: {error}") from error
    try:
        return from_json(document)
    except BoltError as error:
        raise BoltError(f"{path}: {error.message}") from error


def save(results: Results, path: Path) -> None:
    """Write ``results`` to the file ``path``, whole or not at all."""
    text = json.dumps(to_json(results), indent=1) + "\n"
    half = path.with_name(f".{path.name}.half")
    try:
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise BoltError(f"cannot write {path}: {error.strerror}") from error


def _ms(ns: float) -> float:
    return round(ns / 1e6, 6)


def _case(reader: "_Reader") -> Case:
    if reader.text("unit") != UNIT:
        raise BoltError(f"{reader.where}.unit must be '{UNIT}'")
    found = reader.reader("variants")
    found.only(variants(), "variant")
    if not list(found):
        raise BoltError(f"{found.where} is empty")
    return Case(
        case=reader.text("case"),
        batch=reader.integer("batch", least=1),
        variants={name: _stats(found.reader(name)) for name in found},
        boots=_boots(reader),
        cpus=reader.integer("cpus", least=1) if reader.has("cpus") else 0,
    )


def _boots(reader: "_Reader") -> dict[str, list[float]]:
    if not reader.has("boots"):
        return {}
    found = reader.reader("boots")
    found.only(variants(), "variant")
    return {name: found.numbers(name) for name in found}


def _stats(reader: "_Reader") -> Stats:
    stats = Stats(
        n=reader.integer("n", least=1),
        min=reader.number("min"),
        median=reader.number("median"),
        p99=reader.number("p99"),
        max=reader.number("max"),
    )
    if not 0 <= stats.min <= stats.median <= stats.p99 <= stats.max:
        raise BoltError(f"{reader.where}: min, median, p99 and max are not in ascending order")
    return stats


def _breakdown(top: "_Reader") -> dict[str, dict[str, list[PhaseTime]]]:
    if not top.has("breakdown"):
        return {}
    found = top.reader("breakdown")
    found.only(variants(), "variant")
    parts: dict[str, dict[str, list[PhaseTime]]] = {}
    for variant in found:
        directions = found.reader(variant)
        directions.only(DIRECTIONS, "direction")
        parts[variant] = {
            direction: [
                PhaseTime(entry.text("phase"), entry.integer("median_ns", least=0))
                for entry in directions.readers(direction)
            ]
            for direction in directions
        }
    return parts


def _machine(top: "_Reader") -> Machine | None:
    if not top.has("machine"):
        return None
    reader = top.reader("machine")
    return Machine(**{entry.name: reader.text(entry.name) for entry in fields(Machine)})


def _batches(top: "_Reader") -> dict[str, list[Batch]]:
    if not top.has("batches"):
        return {}
    found = top.reader("batches")
    found.only(variants(), "variant")
    return {variant: [_batch(entry) for entry in found.readers(variant)] for variant in found}


def _batch(reader: "_Reader") -> Batch:
    counts = reader.reader("counts")
    return Batch(
        kind=reader.text("kind"),
        batch=reader.integer("batch", least=1),
        n=reader.integer("n", least=1),
        counts={what: counts.integer(what, least=0) for what in counts},
        sum_ns=reader.integer("sum_ns", least=0),
        chain_ns=reader.integer("chain_ns", least=0),
    )


class _Reader:
    """Typed access to one JSON object; ``where`` is its place, for messages."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, Mapping):
            raise BoltError(f"{where} is not an object")
        self._value = value
        self.where = where

    def __iter__(self) -> Iterator[str]:
        return iter(self._value)

    def only(self, known: Collection[str], what: str) -> None:
        for key in self._value:
            if key not in known:
                raise BoltError(f"{self.where} has an unknown {what} '{key}'")

    def has(self, key: str) -> bool:
        return key in self._value

    def text(self, key: str) -> str:
        value = self._get(key)
        if not isinstance(value, str):
            raise BoltError(f"{self.where}.{key} is not a text")
        return value

    def number(self, key: str) -> float:
        value = self._get(key)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise BoltError(f"{self.where}.{key} is not a number")
        return float(value)

    def numbers(self, key: str) -> list[float]:
        value = self._get(key)
        if not isinstance(value, list) or not value:
            raise BoltError(f"{self.where}.{key} is not a list of numbers")
        items = _Reader({str(i): item for i, item in enumerate(value)}, f"{self.where}.{key}")
        return [items.number(name) for name in items]

    def integer(self, key: str, least: int | None = None) -> int:
        value = self._get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise BoltError(f"{self.where}.{key} is not a whole number")
        if least is not None and value < least:
            raise BoltError(f"{self.where}.{key} is below {least}")
        return value

    def reader(self, key: str) -> "_Reader":
        return _Reader(self._get(key), f"{self.where}.{key}")

    def readers(self, key: str) -> list["_Reader"]:
        value = self._get(key)
        if not isinstance(value, list):
            raise BoltError(f"{self.where}.{key} is not a list")
        return [_Reader(item, f"{self.where}.{key}[{i}]") for i, item in enumerate(value)]

    def _get(self, key: str) -> object:
        if key not in self._value:
            raise BoltError(f"{self.where}.{key} is missing")
        return self._value[key]

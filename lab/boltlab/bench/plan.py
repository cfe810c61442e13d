# SPDX-License-Identifier: GPL-2.0-only
"""Finds out, from data/cases.toml, which guests a bench runs and what each guest measures."""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boltlab import paths
from boltlab.arch import Arch
from boltlab.bench import ledger, results
from boltlab.bench.ledger import Origin
from boltlab.errors import USAGE, BoltError
from boltlab.guest import guestimage, modules, traced
from boltlab.guest.machine import Machine
from boltlab.guest.qemu import Guest
from boltlab.kernel.build import Kernel

TIMEOUT = 900  # seconds of the host that a guest may take, unless cases.toml gives more
CPU_MEMORY = 16  # most CPUs of a guest with the memory SMALL; a larger guest has the memory LARGE
SMALL, LARGE = 1, 4  # GiB

MEASURED = "measured"  # the kind of guest for rows of cases.toml that name no kind
TRACED, COUNTED = "breakdown", "batches"  # kinds of guests whose results are traces


@dataclass(frozen=True)
class Job:
    """One guest of a bench: its variant, its kind, and the number of records to expect.

    If a guest is booted several times, each boot is a job, and ``boot`` is its number, from 1 on.
    ``stamp`` is a hash of everything the guest's kernel was built from, as in build.Kernel.
    """

    variant: str
    kind: str  # kind of guest, as in cases.toml
    guest: Guest
    records: int
    stamp: str
    boot: int = 1

    @property
    def name(self) -> str:
        """Name of the job, a part of the names of the run's directory and the ledger's folder."""
        return f"{self.guest.arch.name}-{self.variant}-{self.kind}-{self.boot}"

    @property
    def units(self) -> int:
        """The guest's share of the progress: a unit for each record, and one for the end."""
        return self.records + 1

    @property
    def origin(self) -> Origin:
        """All that the guest's figures depend on."""
        return ledger.origin(self.guest, self.stamp)


@dataclass(frozen=True)
class Plan:
    """What to measure: cases (None: all), variants, CPUs of a guest, and the accelerator.

    ``cpus`` is for guests for which cases.toml gives no number of CPUs.
    ``traced``: also run the guests whose results are traces. ``extra``: also run the guests that a
    demo leaves out, except guests that run only with ``large``. ``large``: run only the guests for
    which cases.toml gives a number of CPUs.
    """

    cases: tuple[str, ...] | None = None
    variants: tuple[str, ...] = results.usual_variants()
    cpus: int = 4
    accel: str = "icount"
    traced: bool = True
    extra: bool = True
    large: bool = False


def check(plan: Plan) -> None:
    """Raise BoltError when ``plan`` names an unknown case or variant, or has too few CPUs."""
    for what, wanted, among in (
        ("case", plan.cases or (), names()),
        ("variant", plan.variants, list(results.variants())),
    ):
        for name in wanted:
            if name not in among:
                raise BoltError(f"no {what} '{name}' (there are: {', '.join(among)})", code=USAGE)
    if plan.cpus < 2:
        raise BoltError("a guest needs 2 CPUs at least: one CPU stays online", code=USAGE)


def names() -> list[str]:
    """Return the names of all cases."""
    return list(dict.fromkeys(case for row in table()["measure"] for case in row["cases"]))


def seconds(target: Arch, variant: str, plan: Plan) -> list[int]:
    """Return how long each guest of ``variant`` that ``plan`` has may take, in seconds."""
    return [
        row.get("seconds", TIMEOUT)
        for kind, row in table()["guest"].items()
        if _commands(target, plan, kind) and _takes(variant, kind)
        for _ in range(row.get("boots", 1))
    ]


def memory(target: Arch, variant: str, plan: Plan) -> int:
    """Return how much memory, in MiB, the largest guest of ``variant`` that ``plan`` has needs."""
    return 1024 * max(
        (
            _memory(row.get("cpus", plan.cpus))
            for kind, row in table()["guest"].items()
            if _commands(target, plan, kind) and _takes(variant, kind)
        ),
        default=SMALL,
    )


def _memory(cpus: int) -> int:
    return SMALL if cpus <= CPU_MEMORY else LARGE


def flavours(target: Arch, plan: Plan) -> list[str]:
    """Return the flavours of the kernels that the guests of ``plan`` need."""
    found = [
        _flavour(name, kind)
        for name in plan.variants
        for kind in table()["guest"]
        if _commands(target, plan, kind) and _takes(name, kind)
    ]
    return list(dict.fromkeys(found))


def _takes(variant: str, kind: str) -> bool:
    """Tell whether guests of ``kind`` are run for ``variant``."""
    without = table()["guest"][kind].get("without", [])
    return variant not in without and kind in results.variants()[variant].get("only", [kind])


def _flavour(variant: str, kind: str) -> str:
    return str(table()["guest"][kind].get("kernel", results.variants()[variant]["kernel"]))


def jobs_of(target: Arch, setting: str, plan: Plan, kernels: Mapping[str, Kernel]) -> list[Job]:
    """Return the jobs of ``plan``; ``kernels`` has a kernel for each of flavours()."""
    return [
        job
        for name in plan.variants
        for kind in table()["guest"]
        for job in _jobs(target, setting, plan, kernels, name, kind)
    ]


def _jobs(
    target: Arch, setting: str, plan: Plan, kernels: Mapping[str, Kernel], name: str, kind: str
) -> list[Job]:
    variant, row = results.variants()[name], table()["guest"][kind]
    commands = _commands(target, plan, kind)
    if not commands or not _takes(name, kind):
        return []
    kernel = kernels[_flavour(name, kind)]
    cpus = row.get("cpus", plan.cpus)
    programs = modules.nodes(kernel, row.get("modules", []))
    if "between" in row:
        programs = {**programs, **guestimage.power_off()}
    guest = Guest(
        arch=target,
        image=kernel.image,
        script=(*variant["commands"], *row.get("commands", []), *commands),
        append=f"{target.settings[setting]} {row.get('append', '')}".strip(),
        machine=Machine(
            cpus=cpus,
            threads=row.get("threads", 1),
            memory=f"{_memory(cpus)}G",
            accel=plan.accel,
            suspends=row.get("suspends", False),
        ),
        timeout=row.get("seconds", TIMEOUT),
        bounded=row.get("bounded", False),
        programs=programs,
    )
    records = sum(
        len(entry["cases"]) * len(entry.get("batches", [1]))
        for entry in rows(target, plan)
        if guest_of(entry) == kind
    )
    boots = row.get("boots", 1)
    return [Job(name, kind, guest, records or 1, kernel.stamp, boot + 1) for boot in range(boots)]


def _commands(target: Arch, plan: Plan, kind: str) -> list[str]:
    """Return the measuring commands of guests of ``kind``; none if ``plan`` has no such guests."""
    guest, common = table()["guest"][kind], table()["common"]
    if "trace" in guest:
        line = traced.fill(f"{guest['trace']} {common}")
        return [line] if plan.traced and _has(plan, kind) else []
    return [f"{row['command']} {common}" for row in rows(target, plan) if guest_of(row) == kind]


def lacking(target: Arch, plan: Plan, job: Job) -> list[str]:
    """Return what has no figures if ``job`` fails: the kind of trace, or the names of cases.

    A name is followed by the number of CPUs if the guest has not as many as ``plan`` says.
    """
    if job.kind in (TRACED, COUNTED):
        return [job.kind]
    cpus = job.guest.machine.cpus
    return [
        case if cpus == plan.cpus else f"{case} ({cpus} CPUs)"
        for row in rows(target, plan)
        if guest_of(row) == job.kind
        for case in row["cases"]
        if not plan.cases or case in plan.cases
    ]


def _has(plan: Plan, kind: str) -> bool:
    """Tell whether ``plan`` allows guests of ``kind``."""
    guest = table()["guest"][kind]
    if plan.accel != "icount" and guest.get("bounded", False):
        return False
    if plan.large:
        return "cpus" in guest
    if "kernel" in guest or guest.get("bulk", False):
        return False
    return plan.extra or not guest.get("extra", False)


def rows(target: Arch, plan: Plan) -> list[dict[str, Any]]:
    """Return the measurements of ``plan`` on ``target``: rows of ``measure`` in cases.toml."""
    return [
        row
        for row in table()["measure"]
        if row.get("least_cpus", 2) <= plan.cpus
        and target.name in row.get("arches", [target.name])
        and _has(plan, guest_of(row))
        and (not plan.cases or set(row["cases"]) & set(plan.cases))
    ]


def guest_of(row: Mapping[str, Any]) -> str:
    """Return the kind of guest in which the measurement ``row`` is made."""
    return str(row.get("guest", MEASURED))


@functools.cache
def table() -> dict[str, Any]:
    """Return data/cases.toml."""
    return tomllib.loads((paths.DATA / "cases.toml").read_text(encoding="utf-8"))

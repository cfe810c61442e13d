# SPDX-License-Identifier: GPL-2.0-only
"""``bolt bench``: measures pristine, pristine with rcu_expedited, and Bolt in one run."""

import argparse
import dataclasses
import functools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boltlab import arch, cli, git, packages, paths, ui
from boltlab.arch import Arch
from boltlab.bench import batches, breakdown, reference, results
from boltlab.bench.results import Batch, Case, PhaseTime, Results
from boltlab.engine import merge, options, slurm
from boltlab.engine import rows as elements
from boltlab.engine.rows import Row
from boltlab.errors import USAGE, BoltError
from boltlab.guest import backports, console, guestimage, guests, modules, qemu, traced
from boltlab.guest.machine import Machine
from boltlab.guest.qemu import Guest, GuestResult
from boltlab.kernel import build, source
from boltlab.kernel.build import Kernel
from boltlab.report import summary

NAME = "bench"
HELP = "Measure three kernels in one run: pristine, pristine with rcu_expedited, Bolt."

ALL_SETTINGS = "all"
TIMEOUT = 900  # seconds of the host that a guest may take, unless cases.toml gives more
CPU_MEMORY = 16  # a guest with more CPUs than this needs more memory than the default

MEASURED = "measured"  # the kind of guest for rows of cases.toml that name none
TRACED, COUNTED = "breakdown", "batches"  # kinds of guests whose results are traces


@dataclass(frozen=True)
class Job:
    """One guest of a bench: the kind of measurement, and the number of records to expect."""

    variant: str
    kind: str  # kind of guest, as in cases.toml
    guest: Guest
    records: int
    boot: int = 1

    @property
    def name(self) -> str:
        """Name of the run's directory."""
        return f"{self.guest.arch.name}-{self.variant}-{self.kind}-{self.boot}"

    @property
    def units(self) -> int:
        """The guest's share of the progress: the number of records."""
        return self.records + 1


@dataclass(frozen=True)
class Plan:
    """What to measure: cases (None: all), variants, CPUs, accelerator, and the breakdown.

    ``extra``: also run the guests that a demo leaves out. ``large``: run only the guests with more
    CPUs, and those that need a kernel of their own.
    """

    cases: tuple[str, ...] | None = None
    variants: tuple[str, ...] = results.usual_variants()
    cpus: int = 4
    accel: str = "icount"
    traced: bool = True
    extra: bool = True
    large: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    cli.add_arch(parser)
    parser.add_argument(
        "--setting", metavar="NAME", help="legacy, nodelay or strict (x86, default), or all"
    )
    parser.add_argument("--cpus", type=int, default=4, metavar="N", help="CPUs of a guest (4)")
    parser.add_argument("--cases", type=_names, metavar="A,B", help="only these cases")
    parser.add_argument(
        "--variants",
        type=_names,
        metavar="A,B",
        help="only these variants; bolt_cold is measured only if it is named",
    )
    parser.add_argument(
        "--bulk", action="store_true", help="only requests for many CPUs; suspend, kexec"
    )
    parser.add_argument("--no-breakdown", action="store_true", help="no traced runs")
    parser.add_argument(
        "--accel",
        choices=("icount", "kvm"),
        default="icount",
        help="icount: virtual time, repeatable (default); kvm: real time, where it works",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results there")
    options.add(parser)
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and print; BoltError when a guest fails or the baselines are off the reference."""
    plan = Plan(
        cases=args.cases,
        variants=args.variants or results.usual_variants(),
        cpus=args.cpus,
        accel=args.accel,
        traced=not args.no_breakdown,
        large=args.bulk,
    )
    check(plan)
    targets = [
        (target, name) for target in arch.select(args.arch) for name in _settings(target, args)
    ]
    files = _files(args.json, targets)
    if options.on_cluster(args):
        found = iter(_on_cluster(args, targets, plan))
    else:
        found = (measure(*each, plan, args.source, args.jobs) for each in targets)
    for measured, file in zip(found, files, strict=True):
        summary.show(measured)
        if file:
            results.save(measured, file)
            ui.say(f"results: {file}")
    return 0


def check(plan: Plan) -> None:
    """Raise BoltError when ``plan`` names a case or variant that does not exist."""
    for what, wanted, among in (
        ("case", plan.cases or (), names()),
        ("variant", plan.variants, list(results.variants())),
    ):
        for name in wanted:
            if name not in among:
                raise BoltError(f"no {what} '{name}' (there are: {', '.join(among)})", code=USAGE)
    if plan.cpus < 2:
        raise BoltError("a guest needs 2 CPUs at least: one stays", code=USAGE)


def names() -> list[str]:
    """Return the names of all cases."""
    return list(dict.fromkeys(case for row in _table()["measure"] for case in row["cases"]))


def measure(
    target: Arch, setting: str, plan: Plan, where: source.Where = None, jobs: int = 1
) -> Results:
    """Build the kernels, run the guests of ``plan``, and return the results.

    Raises BoltError when a build or guest fails, or when the baselines are off the reference.
    """
    packages.ensure("guest", "qemu", arches=[target])
    backports.offer([target])
    tree = source.resolve(where)
    kernels = {
        name: build.ensure_kernel(target, name, tree, jobs) for name in flavours(target, plan)
    }
    return checked(collect(target, setting, plan, kernels))


def checked(measured: Results) -> Results:
    """Return ``measured``, with a note if its baselines cannot be compared with the reference."""
    note = reference.check(measured)
    if note:
        ui.note(note)
        return dataclasses.replace(measured, note=note)
    return measured


def _on_cluster(
    args: argparse.Namespace, targets: Sequence[tuple[Arch, str]], plan: Plan
) -> list[Results]:
    """Measure each variant of each of ``targets`` as an element of a job array."""
    arches = list({target.name: target for target, _ in targets}.values())
    packages.ensure("guest", "qemu", arches=arches)
    tree = source.resolve(args.source)
    for target in arches:
        for flavour in flavours(target, plan):
            build.ensure_kernel(target, flavour, tree, args.jobs)
    places = [
        (target, name, variant)
        for target, name in targets
        for variant in plan.variants
        if _seconds(target, variant, plan)
    ]
    rows = [row(*place, plan, options.source(args)) for place in places]
    folder = elements.write(rows, NAME)
    slurm.run(rows, folder, args.at_once)
    parts = [results.load(each.ledger) for each in slurm.ended(rows, folder)]
    return [
        checked(
            merge.bench(
                [
                    part
                    for part, place in zip(parts, places, strict=True)
                    if place[:2] == (target, name)
                ],
                names(),
                _table()["instead"],
            )
        )
        for target, name in targets
    ]


def row(target: Arch, setting: str, variant: str, plan: Plan, more: str = "") -> Row:
    """Return a job array's element that runs the guests of ``variant``.

    ``more`` are further words of the element's command.
    """
    words = [f"--arch {target.name} --setting {setting} --variants {variant}"]
    words += [f"--cpus {plan.cpus} --accel {plan.accel}"]
    words += [f"--cases {','.join(plan.cases)}"] if plan.cases else []
    words += ["--bulk"] if plan.large else []
    words += [] if plan.traced else ["--no-breakdown"]
    return Row(
        line=f"./bolt bench {' '.join(words)}{more}",
        more=elements.JSON,
        group=f"{target.name} {setting}",
        seconds=sum(_seconds(target, variant, plan)) + TIMEOUT,
        memory=(4096 if plan.large else 1024) + elements.EMULATOR,
    )


def _seconds(target: Arch, variant: str, plan: Plan) -> list[int]:
    """Return how long each guest of ``variant`` that has cases to measure may take, in seconds."""
    return [
        row.get("seconds", TIMEOUT)
        for kind, row in _table()["guest"].items()
        if _commands(target, plan, kind) and _takes(variant, kind)
        for _ in range(row.get("boots", 1))
    ]


def collect(target: Arch, setting: str, plan: Plan, kernels: Mapping[str, Kernel]) -> Results:
    """Run the guests of ``plan`` on ``kernels`` (by flavour); return the results."""
    work = jobs_of(target, setting, plan, kernels)
    done = guests.run_all(work, f"measuring {target.name}, {setting}")
    first = next(iter(kernels.values()))
    return Results(
        arch=target.name,
        setting=setting,
        accel=plan.accel,
        qemu=qemu.version(target.qemu),
        kernel=first.release,
        config_sha=first.config_sha,
        cpus=plan.cpus,
        nodes=1,
        cases=_cases(target, plan, done),
        breakdown={job.variant: _phases(ran) for job, ran in done if job.kind == TRACED},
        batches={job.variant: _batches(ran) for job, ran in done if job.kind == COUNTED},
        commit=git.measured(),
    )


def flavours(target: Arch, plan: Plan) -> list[str]:
    """Return the flavours of the kernels that the guests of ``plan`` need."""
    found = [
        _flavour(name, kind)
        for name in plan.variants
        for kind in _table()["guest"]
        if _commands(target, plan, kind) and _takes(name, kind)
    ]
    return list(dict.fromkeys(found))


def _takes(variant: str, kind: str) -> bool:
    """Tell whether guests of ``kind`` are run for ``variant``."""
    without = _table()["guest"][kind].get("without", [])
    return variant not in without and kind in results.variants()[variant].get("only", [kind])


def _flavour(variant: str, kind: str) -> str:
    return str(_table()["guest"][kind].get("kernel", results.variants()[variant]["kernel"]))


def jobs_of(target: Arch, setting: str, plan: Plan, kernels: Mapping[str, Kernel]) -> list[Job]:
    """Return the guests of ``plan``: for each variant those of each kind with cases to measure."""
    return [
        job
        for name in plan.variants
        for kind in _table()["guest"]
        for job in _jobs(target, setting, plan, kernels, name, kind)
    ]


def _jobs(
    target: Arch, setting: str, plan: Plan, kernels: Mapping[str, Kernel], name: str, kind: str
) -> list[Job]:
    variant, row = results.variants()[name], _table()["guest"][kind]
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
            memory="1G" if cpus <= CPU_MEMORY else "4G",
            accel=plan.accel,
        ),
        timeout=row.get("seconds", TIMEOUT),
        bounded=row.get("bounded", False),
        programs=programs,
    )
    records = sum(
        len(entry["cases"]) * len(entry.get("batches", [1]))
        for entry in _rows(target, plan)
        if _guest(entry) == kind
    )
    return [Job(name, kind, guest, records or 1, boot + 1) for boot in range(row.get("boots", 1))]


def _commands(target: Arch, plan: Plan, kind: str) -> list[str]:
    """Return the commands that guests of ``kind`` have to run; none if no case needs the kind."""
    table = _table()
    guest = table["guest"][kind]
    if "trace" in guest:
        line = traced.fill(f"{guest['trace']} {table['common']}")
        return [line] if plan.traced and _has(plan, kind) else []
    return [
        f"{row['command']} {table['common']}" for row in _rows(target, plan) if _guest(row) == kind
    ]


def _cases(target: Arch, plan: Plan, done: Sequence[tuple[Job, GuestResult]]) -> list[Case]:
    # (guest, case, CPUs of a request) -> variant -> samples of each boot
    given: dict[tuple[str, str, int], dict[str, list[list[int]]]] = {}
    for job, ran in done:
        for row in (*ran.records, *_between(target, plan, job, ran)):
            if "case" in row:
                found = given.setdefault((job.kind, row["case"], row["batch"]), {})
                found.setdefault(job.variant, []).append(row["samples"])
    for (kind, name, batch), found in given.items():
        instead = given.get((kind, _table()["instead"].get(name, ""), batch), {})
        found |= {variant: boots for variant, boots in instead.items() if variant not in found}
    return [
        Case(
            case=name,
            batch=batch,
            variants={
                variant: results.summarise([sample for boot in boots for sample in boot])
                for variant, boots in _ordered(found)
            },
            boots={
                variant: [results.summarise(boot).median for boot in boots]
                for variant, boots in _ordered(found)
                if len(boots) > 1
            },
            cpus=_table()["guest"][kind].get("cpus", 0),
        )
        for row in _rows(target, plan)
        for wanted in row["cases"]
        if not plan.cases or wanted in plan.cases
        for (kind, name, batch), found in given.items()
        if (kind, name) == (_guest(row), wanted)
    ]


def _between(target: Arch, plan: Plan, job: Job, ran: GuestResult) -> Iterator[dict[str, Any]]:
    """Yield records of times that are read from the console, for guests whose kind needs that."""
    messages = _table()["guest"][job.kind].get("between")
    if not messages:
        return
    first, last = (console.time_of(ran.folder / "console.log", text) for text in messages)
    for row in _rows(target, plan):
        if _guest(row) == job.kind:
            for case in row["cases"]:
                cpus = job.guest.machine.cpus - 1
                yield {"case": case, "batch": cpus, "samples": [last - first]}


def _ordered(found: Mapping[str, list[list[int]]]) -> list[tuple[str, list[list[int]]]]:
    return [(variant, found[variant]) for variant in results.variants() if variant in found]


def _phases(ran: GuestResult) -> dict[str, list[PhaseTime]]:
    with ran.trace.open(encoding="utf-8", errors="replace") as file:
        return breakdown.summarise(file)


def _batches(ran: GuestResult) -> list[Batch]:
    with ran.trace.open(encoding="utf-8", errors="replace") as file:
        return batches.summarise(file)


def _has(plan: Plan, kind: str) -> bool:
    """Tell whether ``plan`` allows guests of ``kind``."""
    guest = _table()["guest"][kind]
    if plan.accel != "icount" and guest.get("bounded", False):
        return False
    if plan.large:
        return "cpus" in guest
    if "kernel" in guest or guest.get("bulk", False):
        return False
    return plan.extra or not guest.get("extra", False)


def _rows(target: Arch, plan: Plan) -> list[dict[str, Any]]:
    return [
        row
        for row in _table()["measure"]
        if row.get("least_cpus", 2) <= plan.cpus
        and target.name in row.get("arches", [target.name])
        and _has(plan, _guest(row))
        and (not plan.cases or set(row["cases"]) & set(plan.cases))
    ]


def _guest(row: Mapping[str, Any]) -> str:
    return str(row.get("guest", MEASURED))


def _settings(target: Arch, args: argparse.Namespace) -> list[str]:
    if args.setting == ALL_SETTINGS:
        return list(target.settings)
    # With --arch all, a setting that only one architecture has must not fail the other.
    if args.arch == ALL_SETTINGS and args.setting not in target.settings:
        return [target.default_setting]
    return [arch.setting(target, args.setting)]


def _files(json: Path | None, targets: Sequence[tuple[Arch, str]]) -> list[Path | None]:
    if json is None:
        return [None] * len(targets)
    if not json.absolute().parent.is_dir():
        raise BoltError(f"no directory {json.absolute().parent}")
    if len(targets) == 1:
        return [json]
    return [
        json.with_name(f"{json.stem}-{target.name}-{name}{json.suffix}") for target, name in targets
    ]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads((paths.DATA / "cases.toml").read_text(encoding="utf-8"))

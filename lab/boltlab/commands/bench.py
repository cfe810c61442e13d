# SPDX-License-Identifier: GPL-2.0-only
"""``bolt bench``: measures native, expedited and Bolt in one run."""

import argparse
import dataclasses
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from boltlab import arch, cli, errors, git, packages, ui
from boltlab.arch import Arch
from boltlab.bench import batches, breakdown, keeping, ledger, reference, results
from boltlab.bench.keeping import RESUME
from boltlab.bench.plan import (
    COUNTED,
    TIMEOUT,
    TRACED,
    Job,
    Plan,
    check,
    flavours,
    guest_of,
    jobs_of,
    lacking,
    memory,
    names,
    rows,
    seconds,
    table,
)
from boltlab.bench.results import Batch, Case, PhaseTime, Results
from boltlab.bench.unfinished import Failed, UnfinishedError
from boltlab.engine import merge, options, slurm
from boltlab.engine import rows as elements
from boltlab.engine.rows import Ended, Row
from boltlab.errors import USAGE, BoltError, GuestError
from boltlab.guest import backports, console, guestimage, qemu
from boltlab.guest.qemu import GuestResult
from boltlab.kernel import build, source
from boltlab.kernel.build import Kernel
from boltlab.report import summary

NAME = "bench"
HELP = "Measure requests in one run: natively, natively with rcu_expedited, and with Bolt."

ALL_SETTINGS = "all"


class Bench(NamedTuple):
    """One of the benches that a call of the command makes; ``kernels`` are by flavour."""

    target: Arch
    setting: str
    plan: Plan
    kernels: Mapping[str, Kernel]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    cli.add_arch(parser)
    parser.add_argument(
        "--setting", metavar="NAME", help="legacy, nodelay, strict (x86's default), or all"
    )
    parser.add_argument("--cpus", type=int, default=4, metavar="N", help="CPUs of a guest (4)")
    parser.add_argument("--cases", type=cli.names, metavar="A,B", help="only these cases")
    parser.add_argument(
        "--variants",
        type=cli.names,
        metavar="A,B",
        help="only these variants; bolt_cold is measured only if it is named",
    )
    parser.add_argument(
        "--bulk",
        action="store_true",
        help="only in guests of 16 to 64 CPUs: large requests, SMT switches, suspend and kexec",
    )
    parser.add_argument("--no-breakdown", action="store_true", help="trace no requests")
    parser.add_argument(
        "--accel",
        choices=("icount", "kvm"),
        default="icount",
        help="icount: virtual time, repeatable (default); kvm: real time, where KVM works",
    )
    parser.add_argument(
        "--json", type=cli.output, metavar="FILE", help="also write the results to FILE"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on after a bench that failed: run only guests that have not ended well",
    )
    options.add(parser)
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, print the tables, write the files of ``--json``; return 1 if guests have failed.

    Raises BoltError when an option or the set-up is wrong, or reference.check() finds that a figure
    of native or expedited is wrong.
    """
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
    for target, _ in targets:
        if not rows(target, plan):
            raise BoltError(f"{target.name} has none of these cases: see --bulk", code=USAGE)
        if not flavours(target, plan):
            raise BoltError("none of these variants has these cases", code=USAGE)
    files = _files(args.json, targets)
    fleet = options.on_cluster(args)
    if fleet and args.accel == "kvm":
        raise BoltError("--engine slurm measures virtual time only", code=USAGE)
    commit = git.measured()
    kernels = prepare([target for target, _ in targets], plan, args.source, args.jobs)
    work = [Bench(target, name, plan, kernels[target.name]) for target, name in targets]
    if args.resume:
        keeping.require(job for each in work for job in jobs_of(*each))
    here = (_here(each, args.resume, commit) for each in work)
    found = _on_cluster(args, work) if fleet else here
    said: list[str] = []
    with keeping.reporting(said):
        for each, measured, file in zip(work, found, files, strict=True):
            if isinstance(measured, UnfinishedError):
                said += measured.lines(_again(args, each, file))
                continue
            summary.show(measured)
            if file:
                results.save(measured, file)
                ui.say(f"results: {file}")
    return errors.FAILURE if said else 0


def measure(
    target: Arch, setting: str, plan: Plan, where: source.Where = None, jobs: int = 1
) -> Results:
    """Build the kernels, run the guests of ``plan``, and return the results.

    Raises BoltError when a build or guest fails, or reference.check() finds that a figure of native
    or expedited is wrong.
    """
    commit = git.measured()
    kernels = prepare([target], plan, where, jobs)
    bench = Bench(target, setting, plan, kernels[target.name])
    return _trusted(bench, collect(*bench, commit=commit))


def prepare(
    targets: Sequence[Arch], plan: Plan, where: source.Where, jobs: int
) -> dict[str, dict[str, Kernel]]:
    """Return the kernels that ``plan`` needs, by architecture and flavour; build missing ones.

    The programs of all guests are compiled as well: see guestimage.programs().

    Raises BoltError when a package cannot be installed, there is no source, or a build fails.
    """
    arches = list({target.name: target for target in targets}.values())
    packages.ensure("guest", "qemu", arches=arches)
    backports.offer(arches)
    for target in arches:
        guestimage.programs(target)
    tree = source.resolve(where)
    return {
        target.name: build.ensure_kernels(target, flavours(target, plan), tree, jobs)
        for target in arches
    }


def _here(bench: Bench, resume: bool, commit: str) -> Results | UnfinishedError:
    try:
        return _trusted(bench, collect(*bench, resume=resume, commit=commit))
    except UnfinishedError as error:
        return error


def _again(args: argparse.Namespace, bench: Bench, file: Path | None) -> str:
    """Return the command that repeats ``bench`` alone.

    The command writes the results to ``file``, unless ``file`` is None.
    """
    words = f"./bolt bench {_words(bench.target, bench.setting, bench.plan)}{options.source(args)}"
    words += f" --json {shlex.quote(str(file))}" if file else ""
    return words + options.engine(args)


def _trusted(bench: Bench, measured: Results) -> Results:
    """Return ``measured``, with a note if there are no reference figures to compare it with.

    If reference.check() raises, the kept figures of the guests of ``bench`` are removed, so that a
    later call with --resume does not use these figures.
    """
    try:
        note = reference.check(measured)
    except BoltError:
        for job in jobs_of(*bench):
            ledger.forget(job.name, job.origin)
        raise
    if note:
        ui.note(note)
        return dataclasses.replace(measured, note=note)
    return measured


def _on_cluster(
    args: argparse.Namespace, work: Sequence[Bench]
) -> Iterator[Results | UnfinishedError]:
    """Measure the benches of ``work``; yield for each its results, or an UnfinishedError.

    Each variant of a bench is an element of a job array, unless the variant has no guests.
    """
    places = [
        (bench, variant)
        for bench in work
        for variant in bench.plan.variants
        if seconds(bench.target, variant, bench.plan)
    ]
    jobs = [
        jobs_of(*bench._replace(plan=dataclasses.replace(bench.plan, variants=(variant,))))
        for bench, variant in places
    ]
    more = [
        options.source(args) + (RESUME if args.resume and any(map(keeping.kept, each)) else "")
        for each in jobs
    ]
    lines = [
        row(bench.target, bench.setting, variant, bench.plan, words)
        for (bench, variant), words in zip(places, more, strict=True)
    ]
    folder = elements.write(lines, NAME)
    slurm.run(lines, folder, args.at_once)
    ended = list(zip(places, jobs, elements.ended(folder, lines), strict=True))
    for bench in work:
        own = [(each, wanted) for (origin, _), wanted, each in ended if origin is bench]
        yield _joined(bench, own)


def _joined(
    bench: Bench, ended: Sequence[tuple[Ended, Sequence[Job]]]
) -> Results | UnfinishedError:
    """Return the results of a bench's elements, each of which ran some jobs.

    Returns an UnfinishedError if elements have failed, and figures of their guests are lacking.
    Raises BoltError when an element has not run to its end, or reference.check() finds that a
    figure of native or expedited is wrong.
    """
    target, setting, plan, _ = bench
    failed = [_failed(target, plan, job, error) for job, error in elements.lost(ended)]
    if failed:
        number = sum(len(wanted) for _, wanted in ended)
        return UnfinishedError(f"{target.name}, {setting}", failed, number)
    parts = [results.load(each.ledger) for each, _ in ended]
    return _trusted(bench, merge.bench(parts, names()))


def row(target: Arch, setting: str, variant: str, plan: Plan, more: str = "") -> Row:
    """Return a job array's element that runs the guests of ``variant``.

    ``more`` are further words of the element's command.
    """
    own = dataclasses.replace(plan, variants=(variant,))
    return Row(
        line=f"./bolt bench {_words(target, setting, own)}{more}",
        more=elements.JSON,
        group=f"{target.name} {setting}",
        seconds=sum(seconds(target, variant, plan)) + TIMEOUT,
        memory=memory(target, variant, plan) + elements.EMULATOR,
    )


def _words(target: Arch, setting: str, plan: Plan) -> str:
    """Return the options that make this command follow ``plan`` on ``target`` in ``setting``."""
    words = [f"--arch {target.name} --setting {setting} --variants {','.join(plan.variants)}"]
    words += [f"--cpus {plan.cpus} --accel {plan.accel}"]
    words += [f"--cases {','.join(plan.cases)}"] if plan.cases else []
    words += ["--bulk"] if plan.large else []
    words += [] if plan.traced else ["--no-breakdown"]
    return " ".join(words)


def collect(
    target: Arch,
    setting: str,
    plan: Plan,
    kernels: Mapping[str, Kernel],
    *,
    resume: bool = False,
    commit: str = "",
) -> Results:
    """Run the guests of ``plan`` on ``kernels`` (by flavour); return the results.

    ``commit`` is what git.measured() returned before the kernels were built. What each guest has
    measured is kept in the cache: see ledger.keep(). With ``resume``, a guest is not run if valid
    figures of the guest are kept whose origin (see ledger.py) is still the same. Raises
    UnfinishedError when guests fail, and BoltError when the set-up is wrong.
    """

    def read(job: Job, ran: GuestResult) -> None:
        if job.kind in _READ:
            _READ[job.kind](ran)
        list(_between(target, plan, job, ran))

    work, what = jobs_of(target, setting, plan, kernels), f"{target.name}, {setting}"
    done, lost = keeping.run(work, what, "measuring", read, resume=resume)
    if lost:
        failed = [_failed(target, plan, job, error) for job, error in lost]
        raise UnfinishedError(what, failed, len(work))
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
        commit=commit,
    )


def _failed(target: Arch, plan: Plan, job: Job, error: GuestError) -> Failed:
    return Failed(job.name, job.variant, error, tuple(lacking(target, plan, job)))


def _cases(target: Arch, plan: Plan, done: Sequence[tuple[Job, GuestResult]]) -> list[Case]:
    # (kind of guest, case, CPUs of a request) -> variant -> samples of each boot
    given: dict[tuple[str, str, int], dict[str, list[list[int]]]] = {}
    for job, ran in done:
        for row in (*ran.records, *_between(target, plan, job, ran)):
            if "case" in row:
                found = given.setdefault((job.kind, row["case"], row["batch"]), {})
                found.setdefault(job.variant, []).append(row["samples"])
    for (kind, name, batch), instead in list(given.items()):
        for case, other in table()["instead"].items():
            if other == name:
                key = (kind, case, batch)
                given[key] = {**instead, **given.get(key, {})}
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
            cpus=table()["guest"][kind].get("cpus", 0),
        )
        for row in rows(target, plan)
        for wanted in row["cases"]
        if not plan.cases or wanted in plan.cases
        for (kind, name, batch), found in given.items()
        if (kind, name) == (guest_of(row), wanted)
    ]


def _between(target: Arch, plan: Plan, job: Job, ran: GuestResult) -> Iterator[dict[str, Any]]:
    """Yield records of times read from the console, for kinds of guests that need such times."""
    messages = table()["guest"][job.kind].get("between")
    if not messages:
        return
    first, last = (console.time_of(ran.folder / "console.log", text) for text in messages)
    for row in rows(target, plan):
        if guest_of(row) == job.kind:
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


# Kind of guest that writes a trace -> the function that reads the trace.
_READ: Mapping[str, Callable[[GuestResult], object]] = {TRACED: _phases, COUNTED: _batches}


def _settings(target: Arch, args: argparse.Namespace) -> list[str]:
    if args.setting == ALL_SETTINGS:
        return list(target.settings)
    # With --arch all, an architecture that lacks the setting is measured in its default setting.
    known = {name for each in arch.ARCHES.values() for name in each.settings}
    if args.arch == ALL_SETTINGS and args.setting in known - set(target.settings):
        return [target.default_setting]
    return [arch.setting(target, args.setting)]


def _files(json: Path | None, targets: Sequence[tuple[Arch, str]]) -> list[Path | None]:
    if json is None:
        return [None] * len(targets)
    if len(targets) == 1:
        return [json]
    return [cli.beside(json, f"{target.name}-{name}") for target, name in targets]

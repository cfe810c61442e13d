# SPDX-License-Identifier: GPL-2.0-only
"""``bolt boot-bench``: boots small and large machines, natively and with Bolt's changes."""

import argparse
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from boltlab import arch, cli, errors, git, packages, tables, ui
from boltlab.arch import Arch
from boltlab.bench import keeping, ledger
from boltlab.bench.keeping import RESUME
from boltlab.bench.ledger import Origin
from boltlab.bench.unfinished import Failed, UnfinishedError
from boltlab.boot import bootfile, bootmodel, boots, bootsoak, bootwork
from boltlab.boot.bootfile import VIRTUAL, BootResults
from boltlab.boot.boots import Boot, Callback
from boltlab.boot.bootsoak import Soak
from boltlab.boot.bootwork import Part, Work
from boltlab.engine import merge, options, slurm
from boltlab.engine import rows as elements
from boltlab.engine.rows import Row
from boltlab.errors import USAGE, BoltError, GuestError
from boltlab.guest import backports, channels, guestimage, guests, plugins, qemu
from boltlab.guest.machine import Machine
from boltlab.guest.qemu import Guest, GuestResult
from boltlab.kernel import build, source, symbols
from boltlab.kernel.build import Kernel
from boltlab.report import summary
from boltlab.tables import Column

NAME = "boot-bench"
HELP = "Boot small and large machines, natively and with Bolt's changes, and compare."
TIMEOUT = 3600  # seconds of the host that one boot may take
SPLITS = ("native", "all")  # variants whose callbacks and initcalls are traced
# A narrow terminal leaves out first all variants that are not listed here, and then the variants of
# this list, the last one first. The first variant of this list is always shown.
IMPORTANT = ("native", "all", "talk", "tree", "parallel")
FIT = {"R2": 1, "error": 2}  # columns of a fit -> rank: a narrow terminal leaves out "error" first
BASES = 3  # boots on one CPU, of which the median counts, because such boots differ by 2 %


@dataclass(frozen=True)
class Job:
    """One boot: the variant, the machine, and whether the boot is traced.

    ``again`` numbers the untraced boots of a variant on a machine, from 0 on. ``stamp`` is a hash
    of everything the guest's kernel was built from, as in build.Kernel.
    """

    variant: str
    cpus: int
    nodes: int
    traced: bool
    guest: Guest
    again: int = 0
    stamp: str = ""

    @property
    def name(self) -> str:
        """Name of the run's directory."""
        kind = "-traced" if self.traced else f"-{self.again}" if self.again else ""
        return f"boot-{self.guest.arch.name}-{self.variant}-{self.cpus}-{self.nodes}{kind}"

    @property
    def size(self) -> str:
        """The machine's size in words."""
        numbers = ((self.cpus, "CPU"), (self.nodes, "node"))
        return " on ".join(f"{number} {noun}{'s' * (number > 1)}" for number, noun in numbers)

    @property
    def units(self) -> int:
        """The boot's share of the progress."""
        return self.cpus

    @property
    def origin(self) -> Origin:
        """All that the boot's times depend on."""
        return ledger.origin(self.guest, self.stamp)


class Bench(NamedTuple):
    """What to boot on one architecture. The fields are in the order of the parameters of jobs().

    ``wanted`` are the variants, ``machines`` are as sizes() returns these, and ``kernels`` are by
    flavour.
    """

    target: Arch
    setting: str
    wanted: Mapping[str, Mapping[str, Any]]
    machines: Sequence[tuple[int, int]]
    kernels: Mapping[str, Kernel]

    @property
    def what(self) -> str:
        """Name of the bench in messages."""
        return f"{self.target.name}, {self.setting}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    cli.add_arch(parser)
    parser.add_argument("--setting", metavar="NAME", help="measuring setting (x86: strict, ...)")
    parser.add_argument("--cpus", type=cli.numbers, metavar="N,N", help="CPUs of the machines")
    parser.add_argument(
        "--nodes",
        type=cli.numbers,
        metavar="M,M",
        help="nodes of each machine, or M for all; without --cpus: only machines of so many nodes",
    )
    parser.add_argument("--variants", metavar="A,B", help="only these variants (native, talk, ...)")
    parser.add_argument(
        "--no-trace", action="store_true", help="no traced boots: phases only, in half the time"
    )
    parser.add_argument(
        "--work",
        nargs="?",
        const="smp",
        choices=sorted(bootwork.parts()),
        help="no boot times, but instructions: those with which the boot CPU brings up other CPUs "
        "(smp, the default), or those of all CPUs while initcalls run",
    )
    parser.add_argument(
        "--soak",
        type=cli.positive,
        metavar="N",
        help="boot N machines of random sizes, with Bolt's variants in turn; all CPUs must come",
    )
    parser.add_argument(
        "--stress",
        type=cli.positive,
        metavar="N",
        help="boot each machine N times in the host's time, with CPUs that really run at once",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on after boots that failed, or an interruption: make only boots that are missing",
    )
    parser.add_argument("--json", type=cli.output, metavar="FILE", help="write the results to FILE")
    parser.add_argument(
        "--figure", type=cli.picture, metavar="FILE", help="draw the boots of the largest machine"
    )
    options.add(parser)
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Boot, print the tables and write the files that options name; return 1 if boots have failed.

    Raises BoltError if an option is wrong, a kernel cannot be built, or a boot of ``--soak``,
    ``--work`` or ``--stress`` fails.
    """
    fleet = options.on_cluster(args, "work", "soak", "stress")
    if args.soak is not None:
        options.refuse(args, "--soak", "work", "stress", "resume", "json", "figure")
        options.refuse(args, "--soak", "cpus", "nodes", "variants", "no_trace")
    if args.work:
        options.refuse(args, "--work", "stress", "resume", "json", "figure")
    if args.stress:
        options.refuse(args, "--stress", "resume")
    commit = git.measured()
    # The options are checked for all architectures before the first boot, so that a wrong option
    # does not end the command only after hours.
    plan = [
        (
            target,
            arch.setting(target, args.setting),
            _variants(target, args.variants, work=bool(args.work)),
            sizes(target, args.cpus, args.nodes),
        )
        for target in arch.select(args.arch)
    ]
    for file in (args.json, args.figure):
        for target, *_ in plan:
            _file(file, target, args.arch)
    benches = [_prepared(args, *each) for each in plan]
    if args.resume:
        keeping.require(job for each in benches for job in _jobs(args, each))
    said: list[str] = []
    with keeping.reporting(said, kept=not (args.soak or args.work or args.stress)):
        for bench in benches:
            title = f"booting {bench.what}"
            if args.soak is not None:
                soak(bootsoak.draw(bench.target, bench.setting, bench.kernels, args.soak), title)
            elif args.work:
                _count(bench, bootwork.parts()[args.work], title)
            else:
                try:
                    found = _on_cluster(args, bench) if fleet else _here(args, bench, commit)
                except UnfinishedError as error:
                    said += error.lines(_again(args, bench))
                else:
                    _finish(args, bench.target, found)
    return errors.FAILURE if said else 0


def _prepared(
    args: argparse.Namespace,
    target: Arch,
    setting: str,
    wanted: Mapping[str, Mapping[str, Any]],
    machines: Sequence[tuple[int, int]],
) -> Bench:
    """Install missing packages; build missing kernels and programs for the boots on ``target``."""
    packages.ensure("guest", "qemu", arches=[target])
    backports.offer([target])
    guestimage.programs(target)
    tree = source.resolve(args.source)
    flavours = ["bolt"] if args.soak is not None else [row["kernel"] for row in wanted.values()]
    kernels = build.ensure_kernels(target, flavours, tree, args.jobs)
    return Bench(target, setting, wanted, machines, kernels)


def _jobs(args: argparse.Namespace, bench: Bench) -> list[Job]:
    return jobs(*bench, trace=not args.no_trace)


def _here(args: argparse.Namespace, bench: Bench, commit: str) -> BootResults:
    """Make the boots of ``bench`` on this machine, at the ``commit``.

    Raises UnfinishedError when boots fail, and BoltError when a boot of ``--stress`` fails.
    """
    work = _jobs(args, bench)
    if args.stress:
        # In the host's time, guests that run together would take CPU time from each other.
        done = guests.run_all(stressed(work, args.stress), f"booting {bench.what}", at_once=1)
    else:
        done, lost = keeping.run(work, bench.what, "booting", _read, resume=args.resume)
        _require_all(bench, work, lost)
    first = next(iter(bench.kernels.values()))
    return BootResults(
        arch=bench.target.name,
        setting=bench.setting,
        accel="mttcg" if args.stress else VIRTUAL,
        qemu=qemu.version(bench.target.qemu),
        kernel=first.release,
        config_sha=first.config_sha,
        boots=collect(done),
        commit=commit,
    )


def _require_all(bench: Bench, work: Sequence[Job], lost: Sequence[tuple[Job, GuestError]]) -> None:
    """Raise UnfinishedError if boots of ``work`` are ``lost``."""
    failed = [Failed(job.name, job.variant, error, (job.size,)) for job, error in lost]
    if failed:
        raise UnfinishedError(bench.what, failed, len(work))


def _again(args: argparse.Namespace, bench: Bench) -> str:
    """Return the command that repeats ``bench`` alone."""
    line = _words(bench.target, bench.setting, bench.machines, bench.wanted) + _more(args)
    for option in ("json", "figure"):
        if file := _file(getattr(args, option), bench.target, args.arch):
            line += f" --{option} {shlex.quote(str(file))}"
    return line + options.engine(args)


def _words(
    target: Arch, setting: str, machines: Sequence[tuple[int, int]], variants: Iterable[str]
) -> str:
    """Return a command with the options that name these machines and variants."""
    cpus, nodes = (",".join(map(str, numbers)) for numbers in zip(*machines, strict=True))
    return (
        f"./bolt boot-bench --arch {target.name} --setting {setting} --cpus {cpus} "
        f"--nodes {nodes} --variants {','.join(variants)}"
    )


def _more(args: argparse.Namespace) -> str:
    return f"{' --no-trace' if args.no_trace else ''}{options.source(args)}"


def _count(bench: Bench, part: Part, title: str) -> None:
    """Count the instructions of ``part`` in boots of ``bench``, and print the table."""
    done = guests.run_all(counting(*bench, part), title)
    counts = [counted(*each, bench.wanted, bench.kernels, part) for each in done]
    for line in bootwork.table(counts, part):
        ui.say(line)


def _finish(args: argparse.Namespace, target: Arch, results: BootResults) -> None:
    """Print the tables of ``results``, and write the files that options name."""
    show(results)
    file = _file(args.json, target, args.arch)
    if file:
        bootfile.save(results, file)
        ui.say(f"results: {file}")
    figure = _file(args.figure, target, args.arch)
    if figure:
        bootfile.draw(results, summary.boot_title(results)).savefig(figure)
        ui.say(f"figure: {figure}")


def _on_cluster(args: argparse.Namespace, bench: Bench) -> BootResults:
    """Boot each variant on each machine as an element of a job array, the largest machine first.

    Raises UnfinishedError when boots fail, and BoltError when an element has not run to its end.
    """
    wanted, rows = [], []
    for cpus, nodes in sorted(bench.machines, reverse=True):
        for variant, words in bench.wanted.items():
            own = bench._replace(wanted={variant: words}, machines=[(cpus, nodes)])
            wanted.append(_jobs(args, own))
            go_on = args.resume and any(map(keeping.kept, wanted[-1]))
            more = _more(args) + (RESUME if go_on else "")
            rows.append(row(bench.target, bench.setting, variant, cpus, nodes, more))
    folder = elements.write(rows, NAME)
    slurm.run(rows, folder, args.at_once)
    ended = elements.ended(folder, rows)
    # Each element of a variant makes the variant's boots on one CPU: in messages these count once.
    work = {job.name: job for each in wanted for job in each}
    lost: dict[str, tuple[Job, GuestError]] = {}
    for job, error in elements.lost(zip(ended, wanted, strict=True)):
        lost.setdefault(job.name, (job, error))
    _require_all(bench, list(work.values()), list(lost.values()))
    return merge.boots([bootfile.load(each.ledger) for each in slurm.ended(rows, folder)])


def row(target: Arch, setting: str, variant: str, cpus: int, nodes: int, more: str = "") -> Row:
    """Return a job array's element with the boots of ``variant``.

    The machines are the one of ``cpus`` and ``nodes``, and the machine of one CPU.

    ``more`` are further words of the element's command.
    """
    return Row(
        line=_words(target, setting, [(cpus, nodes)], [variant]) + more,
        more=elements.JSON,
        group=f"{target.name} {setting}",
        seconds=TIMEOUT * (2 + BASES),
        memory=Machine(memory=boots.table()["memory"]).mebibytes + elements.EMULATOR,
    )


def sizes(
    target: Arch, cpus: Sequence[int] | None, nodes: Sequence[int] | None
) -> list[tuple[int, int]]:
    """Return the machines to boot, (CPUs, nodes), without the machine of one CPU.

    If ``cpus`` is None, these are the machines of data/boot.toml whose number of nodes is one of
    ``nodes``, or all machines of data/boot.toml if ``nodes`` is None too. Raises BoltError when
    data/boot.toml has no such machine, when a number of ``cpus`` is below two or cannot be divided
    equally among the nodes, when a number of nodes is below one, or when ``nodes`` are neither one
    number nor as many numbers as ``cpus``.
    """
    if cpus is None:
        known = [(int(n), int(m)) for n, m in boots.table()["sizes"][target.name]]
        found = [(n, m) for n, m in known if nodes is None or m in nodes]
        if not found:
            raise BoltError(
                "no machine of data/boot.toml has so many nodes: see --cpus", code=USAGE
            )
        return found
    many = list(nodes or [1])
    many = many * len(cpus) if len(many) == 1 else many
    if len(many) != len(cpus):
        raise BoltError("--nodes takes one number, or as many as --cpus", code=USAGE)
    for n, m in zip(cpus, many, strict=True):
        if m < 1 or n < 2 or n % m:
            wrong = f"{n} CPUs cannot be divided equally among {m} nodes, or are fewer than two"
            raise BoltError(wrong, code=USAGE)
    return list(zip(cpus, many, strict=True))


def jobs(
    target: Arch,
    setting: str,
    wanted: Mapping[str, Mapping[str, Any]],
    machines: Sequence[tuple[int, int]],
    kernels: Mapping[str, Kernel],
    *,
    trace: bool,
) -> list[Job]:
    """Return the boots, large machines first: each variant on each machine, and on one CPU.

    With ``trace``, variants of SPLITS boot a second time, traced, on each machine of several CPUs.
    """
    table = boots.table()
    work = []
    for cpus, nodes in sorted({*machines, (1, 1)}, reverse=True):
        for variant, row in wanted.items():
            for traced in (False, True):
                if traced and not (trace and cpus > 1 and variant in SPLITS):
                    continue
                more = table["trace"]["append"] if traced else ""
                guest = Guest(
                    arch=target,
                    image=kernels[row["kernel"]].image,
                    script=tuple(table["trace"]["commands"]) if traced else (),
                    append=boots.append(target, setting, row["append"], more),
                    machine=Machine(cpus=cpus, nodes=nodes, memory=table["memory"]),
                    timeout=TIMEOUT,
                )
                stamp = kernels[row["kernel"]].stamp
                work += [
                    Job(variant, cpus, nodes, traced, guest, again, stamp)
                    for again in range(BASES if cpus == 1 else 1)
                ]
    return work


def _at_once(guest: Guest) -> Guest:
    return replace(guest, machine=replace(guest.machine, accel="mttcg"))


def stressed(work: Sequence[Job], times: int) -> list[Job]:
    """Return the untraced boots of ``work``, which jobs() made, to be done in the host's time.

    The list has each boot ``times`` times. No boot is repeated before all boots have been done
    equally often, so that a change of the host's load affects all boots alike.
    """
    return [
        replace(job, again=again, guest=_at_once(job.guest))
        for again in range(times)
        for job in work
        if not job.traced and not job.again
    ]


def counting(
    target: Arch,
    setting: str,
    wanted: Mapping[str, Mapping[str, Any]],
    machines: Sequence[tuple[int, int]],
    kernels: Mapping[str, Kernel],
    part: Part,
) -> list[Job]:
    """Return the boots in which instructions of ``part`` are counted, in the order of jobs().

    Variants of ``wanted`` that the table ``work`` of data/boot.toml does not name are left out.
    """
    rows = boots.table()["work"]
    plugin = plugins.build("bootwork", target)
    chosen = {name: wanted[name] for name in rows["variants"] if name in wanted}
    return [
        replace(
            job,
            guest=replace(
                job.guest,
                append=f"{job.guest.append} {rows['append']}",
                plugin=plugin,
                plugin_args=bootwork.edges(kernels[chosen[job.variant]["kernel"]].system_map, part),
            ),
        )
        for job in jobs(target, setting, chosen, machines, kernels, trace=False)
        if not job.again
    ]


def counted(
    job: Job,
    ran: GuestResult,
    wanted: Mapping[str, Mapping[str, Any]],
    kernels: Mapping[str, Kernel],
    part: Part,
) -> Work:
    """Return how many instructions each function took in ``part`` of ``job``, one of counting().

    Raises KernelChangedError if another call of the lab has replaced the kernel, whose functions
    may have other addresses now.
    """
    lines = (ran.folder / qemu.PLUGIN).read_text(encoding="utf-8").splitlines()
    names = symbols.read(kernels[wanted[job.variant]["kernel"]].system_map)
    build.require_unchanged(job.guest.image)
    return Work(job.variant, job.cpus, job.nodes, bootwork.read(lines, names, part))


def soak(work: Sequence[Soak], title: str) -> None:
    """Run all boots in ``work``; print how many boots each variant had on each accelerator.

    Raises BoltError when a kernel prints a complaint, or a CPU does not come online or go offline
    as it should.
    """
    guests.run_all(work, title)
    ways = Counter((job.variant, job.guest.machine.accel) for job in work)
    for (variant, accel), number in sorted(ways.items()):
        ui.say(f"{variant}, {accel}: {number} boots")
    ui.say(f"{len(work)} boots: all CPUs came, and no kernel complained")


def collect(done: Sequence[tuple[Job, GuestResult]]) -> list[Boot]:
    """Return a Boot for each variant on each machine, sorted by the size of the machine.

    The times are medians of the variant's untraced boots on the machine. The callbacks and
    initcalls are those of the variant's traced boot on the machine, if there is one.
    """
    traces = {}
    for job, ran in done:
        if job.traced:
            traces[job.variant, job.cpus, job.nodes] = _traced(ran)
    found: dict[tuple[str, int, int], list[tuple[int, dict[str, int]]]] = defaultdict(list)
    for job, ran in done:
        if not job.traced:
            found[job.variant, job.cpus, job.nodes].append(_times(ran))
    return sorted(
        (_boot(key, runs, *traces.get(key, ([], []))) for key, runs in found.items()),
        key=lambda boot: (boot.cpus, boot.nodes),
    )


def _read(job: Job, ran: GuestResult) -> object:
    """Return what collect() reads of ``job``; raise BoltError if that cannot be read."""
    return _traced(ran) if job.traced else _times(ran)


def _traced(ran: GuestResult) -> tuple[list[Callback], list[Callback]]:
    with ran.trace.open(encoding="utf-8", errors="replace") as file:
        return boots.traced(file)


def _times(ran: GuestResult) -> tuple[int, dict[str, int]]:
    booted = next((int(row["booted"]) for row in ran.records if "booted" in row), None)
    if booted is None:
        raise BoltError("the guest has not reported when init began", ran.folder / "console.log")
    return booted, boots.phases(ran.folder / channels.FILES["bolt.dmesg"])


def _boot(
    key: tuple[str, int, int],
    runs: Sequence[tuple[int, dict[str, int]]],
    callbacks: list[Callback],
    initcalls: list[Callback],
) -> Boot:
    """Return one boot with the medians of several boots of a variant on the same machine."""
    return Boot(
        *key,
        booted=round(median(booted for booted, _ in runs)),
        phases={name: round(median(phases[name] for _, phases in runs)) for name in runs[0][1]},
        callbacks=callbacks,
        initcalls=initcalls,
    )


def show(results: BootResults) -> None:
    """Print the tables of ``results``, what the model says, and the lines of bootfile.headline().

    The model (see bootmodel.check()) is only for boots in virtual time.
    """
    ui.prose(f"\n{summary.boot_title(results)}")
    header, cells = bootfile.dependents(results)
    tables.show(_by_importance(header), cells)
    turns = "take turns" if results.accel == VIRTUAL else "run at once, on the host's cores"
    ui.prose(f"ms more than on one CPU, and how many times less than natively; CPUs {turns}")
    if bootfile.sizes(results):
        header, cells = bootfile.phases(results, bootfile.sizes(results)[-1])
        tables.show(_by_size(header, cells), cells)
    for variant in SPLITS:
        if boots.growth(results.boots, variant):
            header, cells = bootfile.callbacks(results, variant)
            tables.show([Column(name, FIT.get(name, 0)) for name in header], cells)
    if results.accel == VIRTUAL:
        _show_model(results)
    for line in bootfile.headline(results):
        ui.say(line)


def _show_model(results: BootResults) -> None:
    said = bootmodel.check(results.boots)
    for variant, wrong in said["errors"].items():
        text = ", ".join(f"{size} {error:+.0%}" for size, error in wrong.items())
        ui.say(f"model, {variant}: error at {text}")
    for point in said.get("talk", {}).get("points", []):
        ui.say(
            f"{point['cpus']} CPUs, {point['nodes']} nodes: model {point['model_s']:.1f} s, "
            f"talk {point['talk_s']} s ({point['error']:+.0%})"
        )
    for variant, large in said["large"].items():
        text = ", ".join(f"{name.removesuffix('_ms')} {ms:.0f}" for name, ms in large.items())
        ui.say(
            f"model, {variant}, {bootmodel.LARGE[0]} CPUs, {bootmodel.LARGE[1]} nodes, ms: {text}"
        )


def _by_importance(header: Sequence[str]) -> list[Column]:
    """Return columns for variants: a narrow terminal leaves out the variants of IMPORTANT last."""
    rank = {name: place for place, name in enumerate(IMPORTANT)}
    later = len(IMPORTANT)
    return [
        Column(name, rank.get(name, later + place) if place else 0)
        for place, name in enumerate(header)
    ]


def _by_size(header: Sequence[str], cells: Sequence[Sequence[str]]) -> list[Column]:
    """Return columns for phases: a narrow terminal leaves out the shortest phase first."""
    size = {name: max(abs(float(row[at])) for row in cells) for at, name in enumerate(header) if at}
    order = sorted(size, key=size.__getitem__, reverse=True)
    return [Column(name, order.index(name) if at else 0) for at, name in enumerate(header)]


def _variants(target: Arch, text: str | None, work: bool = False) -> dict[str, dict[str, Any]]:
    known = boots.variants(target.name)
    if text is None:
        return known
    names = text.split(",")
    for name in names:
        if name not in known:
            raise BoltError(f"no variant '{name}' (there are: {', '.join(known)})", code=USAGE)
    counted = boots.table()["work"]["variants"]
    if work and not set(counted) & set(names):
        raise BoltError(f"--work counts instructions of {', '.join(counted)} only", code=USAGE)
    return {name: known[name] for name in known if name in names}


def _file(path: Path | None, target: Arch, wanted: str | None) -> Path | None:
    """Return where to write what is of ``target``; raise BoltError if nothing can be written there.

    ``wanted`` are the architectures that the user names.
    """
    if path is None or wanted != "all":
        return path
    return cli.beside(path, target.name)

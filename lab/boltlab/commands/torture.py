# SPDX-License-Identifier: GPL-2.0-only
"""``bolt torture``: runs requests of all kinds for a given time; adds up the counts of all runs."""

import argparse
import contextlib
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from boltlab import arch, cli, codec, errors, kept, packages, tables, ui, versions
from boltlab.engine import options, slurm
from boltlab.engine import rows as elements
from boltlab.engine.rows import Row
from boltlab.errors import USAGE, BoltError, EmulatorError, KernelChangedError
from boltlab.guest import channels, console, pause, qemu, tries
from boltlab.kernel import build, source, tree
from boltlab.kernel.build import Kernel
from boltlab.kernel.source import Source
from boltlab.torture import kcsan, matrix, planted, races, sightings, tally
from boltlab.torture.matrix import Case, Config, Counts, Outcome, Story
from boltlab.torture.planted import Bug
from boltlab.torture.races import Pair
from boltlab.torture.sightings import Ledger
from boltlab.torture.tally import Book
from boltlab.versions import Version

NAME = "torture"
HELP = "Run requests of all kinds on kernels that check themselves; add up the counts of all runs."

RESULTS = "torture.json"
PLANTED = "planted.json"  # file of verdicts on planted bugs, beside the results
# Requests of one run in the configuration "production", by accelerator.
REQUESTS = {"mttcg": 300, "icount": 1500}
MINUTES = 10.0
NIGHT = 8 * 60.0
# Options of runs, which --planted does not take: the check of a bug says how the guest runs.
NOT_PLANTED = ("minutes", "config", "scenario", "accel", "seed", "requests", "resume", "runs")
STARTS = 600  # seconds that a machine of a cluster may need before and after a run
LEDGER = '--built --results "$LEDGER"'  # a cluster's machine uses built kernels only


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    cli.add_arch(parser)
    parser.add_argument(
        "--minutes",
        type=cli.above_zero,
        metavar="N",
        help=f"minutes to run ({MINUTES:g}; --races: {races.plan().minutes:g} per architecture)",
    )
    parser.add_argument("--config", metavar="NAME,...", help="only these configurations (all)")
    parser.add_argument("--scenario", metavar="NAME,...", help="only these scenarios (all)")
    parser.add_argument(
        "--accel", choices=qemu.EMULATED, help="how QEMU runs guests (default: both in turn)"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="make one run, with this seed")
    parser.add_argument("--requests", type=cli.positive, metavar="N", help="requests of a run")
    parser.add_argument(
        "--resume", action="store_true", help="begin with scenarios that lack most of their goal"
    )
    parser.add_argument(
        "--least",
        type=cli.positive,
        default=0,
        metavar="N",
        help="with --resume: begin with configurations that have survived fewer than N requests"
        " since Bolt's code in the kernel changed",
    )
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--nightly", action="store_true", help="run for 8 hours, with --resume")
    parser.add_argument(
        "--runs",
        type=cli.positive,
        metavar="N",
        help="make N runs, however long (default with --engine slurm: as many runs as there are"
        " scenarios on configurations and architectures)",
    )
    parser.add_argument("--built", action="store_true", help="use only kernels in the cache")
    either.add_argument(
        "--planted",
        nargs="?",
        const="",
        metavar="NAME,...",
        help="build a kernel with each of these faults (all); the fault's check must find it",
    )
    either.add_argument(
        races.OPTION,
        action="store_true",
        help="find data races that the kernel has with Bolt, and does not have without Bolt",
    )
    parser.add_argument(
        "--list", action="store_true", help="list configurations and scenarios, and the counts"
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FILE",
        help="the file that has the counts (default: results/torture.json; of another series"
        " than the default one: results/linuxSERIES/torture.json)",
    )
    options.add(parser)
    cli.add_source(parser)
    cli.add_jobs(parser)


# Field.cell -> how many runs of the field were stopped by faults of QEMU.
Stopped = Counter[tuple[str, str, str]]


@dataclass(frozen=True)
class Field:
    """A scenario, a configuration and an architecture that fit together, and the built kernel."""

    arch: str
    config: Config
    story: Story
    kernel: Kernel

    @property
    def cell(self) -> tuple[str, str, str]:
        """Return the cell of the tally that has the counts of the field's runs: see Case.cell."""
        return (self.config.name, self.arch, self.story.name)

    @property
    def goal(self) -> float:
        """Return how many requests the scenario has to reach on ``config`` and ``arch``."""
        return self.config.goal * self.story.share


def run(args: argparse.Namespace) -> int:
    """Make runs, or do what ``--list``, ``--planted`` or ``--races`` asks.

    Returns 1 if a run has failed, a check has missed its planted bug, or ``--races`` has found a
    race that is due to Bolt and not known.
    """
    args.results = args.results or _ledger(args.source)
    if args.least and not (args.resume or args.nightly):
        raise BoltError("--least is for --resume", code=USAGE)
    if args.races:
        return _races(args)
    configs: list[Config] = matrix.select(matrix.configs(), args.config, "configuration")
    stories: list[Story] = matrix.select(matrix.stories(), args.scenario, "scenario")
    arches = arch.select(args.arch)
    book = tally.load(args.results)
    if args.list:
        _list(book, configs, stories)
        return 0
    fleet = options.on_cluster(args, "minutes", "nightly", "planted")
    if args.planted is not None:
        options.refuse(args, "--planted", *NOT_PLANTED)
    packages.ensure("guest", "qemu", arches=arches)
    where = source.resolve(args.source)
    if args.planted is not None:
        return _planted(args, arches, where)
    fields = list(_fields(args, configs, stories, [each.name for each in arches], where))
    if not fields:
        raise BoltError("there is nothing to run: see ./bolt torture --list", code=USAGE)
    mark = tree.mark(where.version)
    failed = (_on_cluster if fleet else _here)(args, fields, mark)
    show(tally.load(args.results), configs, [each.name for each in arches])
    return errors.FAILURE if failed else 0


def _ledger(where: source.Where) -> Path:
    """Return the file that has the counts of kernels of ``where``; a series has its own counts."""
    if where is None:
        version = versions.default()
    else:
        version = where if isinstance(where, Version) else source.resolve(where).version
    file = kept.counted(RESULTS, version)
    file.parent.mkdir(exist_ok=True)
    return file


def _here(args: argparse.Namespace, fields: Sequence[Field], mark: str) -> int:
    """Make runs on this machine until the time is over; return how many runs have failed.

    With ``--runs`` so many runs are made instead, with ``--seed`` one run. ``mark`` is the
    tree.mark() of Bolt's code in the kernels.
    """
    deadline = time.monotonic() + 60 * (args.minutes or (NIGHT if args.nightly else MINUTES))
    failed = 0
    stopped = Stopped()
    cases = _cases(args, fields, mark, lambda: tally.load(args.results), stopped)
    for done, (case, kernel) in enumerate(cases):
        outcome = _played(case, kernel)
        with codec.changing():
            # The file of counts is written even if the run does not count, because each row of a
            # job array must leave such a file, its ledger.
            book = tally.load(args.results)
            if outcome:
                book.add(case, outcome, time.strftime("%Y-%m-%d"), mark)
            book.save(args.results)
        if outcome:
            _say(case, outcome)
        else:
            stopped[case.cell] += 1
        failed += outcome is None or bool(outcome.why)
        over = done + 1 == args.runs if args.runs else time.monotonic() > deadline
        if args.seed is not None or over:
            break
    return failed


def _played(case: Case, kernel: Kernel) -> Outcome | None:
    """Return the outcome of play(); if faults of QEMU stopped every try, say so and return None.

    A run without an outcome is not added to the counts; the command goes on with other runs, but
    fails in the end.
    """
    try:
        return play(case, kernel)
    except EmulatorError as error:
        ui.say(f"{elements.FAILURE}{error}")
        ui.say(f"repeat: {case.line()}")
        return None


def _on_cluster(args: argparse.Namespace, fields: Sequence[Field], mark: str) -> int:
    """Make each run an element of a job array; return how many runs have failed."""
    cases = planned(args, fields, mark)
    rows = [row(case) for case in cases]
    folder = elements.write(rows, NAME)
    try:
        slurm.run(rows, folder, args.at_once)
    finally:
        # Runs that have ended are counted, even if other rows of the array were lost.
        ended = elements.ended(folder, rows)
        with codec.changing():
            book = tally.load(args.results)
            for each in ended:
                if each.whole:
                    book.merge(tally.load(each.ledger))
            book.save(args.results)
    for each in ended:
        each.check()
        failures = tally.failures(tally.load(each.ledger))
        for failure in failures:
            ui.say(f"{elements.FAILURE}{failure.why} ({each.folder})")
            ui.say(f"repeat: {failure.repeat}")
        if each.status == elements.FAILED and not failures:
            # A fault of QEMU has stopped the run, which therefore does not count.
            for line in each.failures():
                ui.say(line)
            ui.say(f"repeat: {each.row.line}")
    return sum(each.status == elements.FAILED for each in ended)


def planned(args: argparse.Namespace, fields: Sequence[Field], mark: str) -> list[Case]:
    """Return the runs to make, each chosen as if the runs before it had done their requests."""
    book, cases = tally.load(args.results), []
    wanted = 1 if args.seed is not None else args.runs or len(fields)
    plan = _cases(args, fields, mark, lambda: book, Stopped())
    for case, _ in itertools.islice(plan, wanted):
        cases.append(case)
        book.add(case, Outcome(Counts(case.requests, case.requests), 0, 0), "", mark)
    return cases


def row(case: Case) -> Row:
    """Return a job array's element that runs ``case``."""
    return Row(
        line=case.line(),
        more=LEDGER,
        group=f"{case.config.name} {case.arch}",
        seconds=case.timeout + STARTS,
        cpus=1 if case.accel == "icount" else min(2, case.machine.cpus),
        memory=case.machine.mebibytes + elements.EMULATOR,
    )


def _fields(
    args: argparse.Namespace,
    configs: Sequence[Config],
    stories: Sequence[Story],
    arches: Sequence[str],
    where: Source,
) -> Iterator[Field]:
    """Yield a field for each configuration, architecture and scenario that fit together.

    Kernels are built; with ``--built``, fields without a kernel in the cache are left out instead.
    """
    kernels: dict[tuple[str, str], Kernel | None] = {}
    for config in configs:
        if not config.is_of(where.version.series):
            continue
        for name in arches:
            if name not in config.arches or not any(story.fits(config) for story in stories):
                continue
            key = (name, config.kernel)
            if key not in kernels:
                kernels[key] = _kernel(args, name, config.kernel, where)
            kernel = kernels[key]
            if kernel is None:
                ui.say(f"{config.name} on {name}: its kernel, {config.kernel}, is not built")
                continue
            if not matrix.meets(kernel, config.needs):
                raise BoltError(f"the {config.kernel} kernel lacks an option for {config.name}")
            for story in stories:
                if args.accel and args.accel not in story.accels:
                    continue
                if story.fits(config) and matrix.meets(kernel, story.needs):
                    yield Field(name, config, story, kernel)


def _kernel(args: argparse.Namespace, name: str, flavour: str, where: Source) -> Kernel | None:
    if args.built:
        return build.current(arch.ARCHES[name], flavour, where)
    return build.ensure_kernel(arch.ARCHES[name], flavour, where, args.jobs)


def _cases(
    args: argparse.Namespace,
    fields: Sequence[Field],
    mark: str,
    look: Callable[[], Book],
    stopped: Stopped,
) -> Iterator[tuple[Case, Kernel]]:
    """Yield runs without end.

    The ``fields`` (see Field) take turns. With --resume or --nightly, the next field is instead the
    one that lack() puts first, by the book that ``look`` returns and the runs in ``stopped``.
    """
    for turn in itertools.count():
        book = look()
        each = fields[turn % len(fields)]
        if args.resume or args.nightly:
            each = min(
                fields,
                key=lambda one: lack(one, book, mark, args.least, stopped[one.cell]),
            )
        cell = book.cells.get(each.cell)
        accels = each.story.accels
        runs = (cell.runs if cell else 0) + stopped[each.cell]
        accel = args.accel or accels[runs % len(accels)]
        wanted = args.requests or max(20, round(REQUESTS[accel] / each.config.slow))
        seed = args.seed if args.seed is not None else random.randrange(1, 2**31)
        where = options.source(args)
        case = Case(each.arch, each.config, each.story, accel, seed, wanted, source=where)
        yield case, each.kernel


def lack(
    field: Field, book: Book, mark: str = "", least: int = 0, stopped: int = 0
) -> tuple[bool, float, int]:
    """Return a key that sorts fields: the field that lacks most comes first.

    The key's first part puts fields first whose configuration has survived fewer than ``least``
    requests on kernels with the ``mark``. The second part adds two shares: the share of its
    goal that the configuration has reached, and the share of its goal that ``field`` has reached.
    Of fields with equal sums the field with the fewest runs comes first. The runs of ``field``
    together count for at least as many requests as so many runs in mttcg usually make, because
    otherwise a field whose scenario makes no requests would always come first. The ``stopped``
    runs, which are not in the book, are among these runs.
    """
    place = (field.config.name, field.arch)
    cell = book.cells.get(field.cell)
    runs, reached = (cell.runs, cell.attempted) if cell else (0, 0)
    runs += stopped
    reached = max(reached, round(runs * REQUESTS["mttcg"] / field.config.slow))
    total = book.survived(*place) / field.config.goal
    enough = book.survived(*place, mark) >= least
    return (enough, total + reached / field.goal, runs)


def play(case: Case, kernel: Kernel) -> Outcome:
    """Run ``case`` on ``kernel``, and return its outcome; a failed run raises nothing.

    Raises BoltError if QEMU was killed on a cluster, if another call of the lab has replaced the
    kernel, or if known faults of QEMU have stopped the guest again and again: none of these is a
    failure of the run.
    """
    folder, start, why = Path(), 0.0, ""
    skipped = matrix.ignored(case)

    def boot() -> None:
        nonlocal folder, start
        folder = qemu.new_run(f"torture-{case.arch}-{case.config.name}-{case.story.name}")
        (folder / "repeat.txt").write_text(case.line() + "\n", encoding="utf-8")
        start = time.monotonic()
        pauses = pause.AtRandom(case.seed) if case.story.pauses else None
        qemu.run_in(case.guest(kernel), folder, skipped, pauses)

    with ui.status(f"{case.story.name} on {case.arch}, {case.config.name}, {case.accel}"):
        try:
            tries.again(f"{case.story.name} on {case.arch}", boot, skipped)
        except (EmulatorError, KernelChangedError):
            raise
        except BoltError as error:
            if error.code == errors.KILLED:
                raise
            why = error.message
    host_s = time.monotonic() - start
    said, log = map(_lines, channels.logs(folder))
    counts = matrix.count(channels.records(folder), said)
    why = why or matrix.complaint(case, counts, [*said, *log])
    passed_over = sum(any(each.search(console.message(line)) for each in skipped) for line in said)
    return Outcome(counts, matrix.last_moment(folder), host_s, why, passed_over, folder)


def show(book: Book, configs: Sequence[Config], arches: Sequence[str]) -> None:
    """Print the counts that ``book`` has of ``configs`` on ``arches``."""
    tables.show(tally.COLUMNS, tally.table(book, configs, arches), left=2)


def _say(case: Case, outcome: Outcome) -> None:
    counts: Counts = outcome.counts
    ui.say(
        f"{case.story.name} on {case.arch}, {case.config.name}, {case.accel}: "
        f"{counts.attempted} requests, {counts.done} done, {counts.refused} refused, "
        f"{outcome.virtual_s:.0f} s of the guest's time in {outcome.host_s:.0f} s"
    )
    if outcome.why:
        ui.say(f"{elements.FAILURE}{outcome.why} ({outcome.folder})")
        ui.say(f"repeat: {case.line()}")


def _planted(args: argparse.Namespace, arches: Sequence[arch.Arch], where: Source) -> int:
    """Run the check of each planted bug; return 1 if a check misses its bug.

    On a kernel without the bug, each check must find nothing: see planted.require_sound().
    """
    packages.ensure("patch")
    bugs: list[Bug] = matrix.select(planted.bugs(), args.planted or None, "planted bug")
    series = where.version.series
    plan = [
        (target, [bug for bug in bugs if target.name in bug.arches and bug.is_of(series)])
        for target in arches
    ]
    if not any(chosen for _, chosen in plan):
        names = " and ".join(target.name for target in arches)
        raise BoltError(f"none of these bugs is tried on {series} on {names}", code=USAGE)
    missed, mark = 0, tree.mark(where.version)
    for target, chosen in plan:
        for bug in chosen:
            planted.require_sound(bug, target, where, args.jobs)
        for bug in chosen:
            built = planted.kernel(bug, target, where, args.jobs)
            with ui.status(f"{bug.name} on {target.name}"):
                said = planted.check(bug, target.name, built)
            today = time.strftime("%Y-%m-%d")
            verdict = planted.judge(bug, target.name, said, today, mark)
            planted.save(args.results.with_name(PLANTED), [verdict])
            missed += not verdict.caught
            how = f"caught: {said}" if verdict.caught else f"MISSED ({said or 'nothing found'})"
            ui.say(f"{bug.name} on {target.name}: {how}")
    return errors.FAILURE if missed else 0


def _races(args: argparse.Namespace) -> int:
    """Look for races due to Bolt, one architecture after the other; return 1 if there is a race.

    Unless ``--seed`` is given, a race that an earlier call has found counts as well, if Bolt's code
    has not changed since. Known races (lab/torture/known-races.toml) do not count. The command also
    returns 1 if a run has failed for another reason than a race.
    """
    plan = races.plan()
    options.on_cluster(args, "races")
    if args.config not in (None, plan.config):
        raise BoltError(f"--races is for the configuration {plan.config}", code=USAGE)
    stories: list[Story] = matrix.select(plan.stories(), args.scenario, "scenario of races")
    if args.seed is not None and len(stories) != 1:
        raise BoltError("--seed needs one scenario: --scenario NAME", code=USAGE)
    ledger, arches = args.results.with_name(sightings.FILE), arch.select(args.arch)
    if args.list:
        _sum_up(sightings.load(ledger), [each.name for each in arches])
        return 0
    packages.ensure("guest", "qemu", arches=arches)
    where = source.resolve(args.source)
    setting, failed = plan.setting(), False
    for target in arches:
        kernel = _kernel(args, target.name, setting.kernel, where)
        if kernel is None:
            raise BoltError(f"the {setting.kernel} kernel of {target.name} is not built")
        if not matrix.meets(kernel, setting.needs):
            raise BoltError(f"the {setting.kernel} kernel lacks an option for --races")
        fit = [story for story in stories if matrix.meets(kernel, story.needs)]
        if not fit:
            raise BoltError(f"the {setting.kernel} kernel cannot run these scenarios", code=USAGE)
        failed |= _hunt(args, target.name, fit, kernel, ledger, tree.mark(where.version))
    _sum_up(sightings.load(ledger), [each.name for each in arches])
    return errors.FAILURE if failed else 0


def _hunt(
    args: argparse.Namespace,
    name: str,
    stories: Sequence[Story],
    kernel: Kernel,
    path: Path,
    mark: str,
) -> bool:
    """Run ``stories`` on the architecture ``name`` until the time is over.

    With ``--runs`` so many runs are made instead, with ``--seed`` one run. The races of the runs
    are added to the ledger ``path``. Returns whether a run has failed, or the ledger has a race
    that is due to Bolt and not known (Ledger.open()); with ``--seed``, only a race that the run has
    shown counts.
    """
    plan, broken, suspects = races.plan(), 0, set[Pair]()
    deadline = time.monotonic() + 60 * (args.minutes or plan.minutes)
    for done in itertools.count(1):
        before = sightings.load(path)
        story = _next_story(before, name, stories, done - 1)
        runs = before.span(name, story.name).runs
        accel = args.accel or plan.accels[runs % len(plan.accels)]
        seed = args.seed if args.seed is not None else random.randrange(1, 2**31)
        case = plan.case(name, story, accel, seed, args.requests, options.source(args))
        if outcome := _played(case, kernel):
            assert outcome.folder
            reports = kcsan.read(_lines(outcome.folder / "console.log"))
            with codec.changing():
                ledger, today = sightings.load(path), time.strftime("%Y-%m-%d")
                suspects |= ledger.add(case, outcome, reports, plan.functions, today, mark)
                ledger.save(path)
            _say(case, outcome)
            ui.say(f"{len(reports)} reports of races")
        broken += outcome is None or bool(outcome.why)
        over = done == args.runs if args.runs else time.monotonic() > deadline
        if args.seed is not None or over:
            break
    found = sightings.load(path).open(name, plan.functions, races.known(), mark)
    if args.seed is not None:
        found = [each for each in found if each.names in suspects]
    for each in found:
        counts = f"{each.bolt} reports with Bolt, {each.native} without"
        ui.say(f"{elements.FAILURE}a race on {name}: {races.text(each.names)} ({counts})")
        for line in each.stacks:
            ui.say(f"  {line}")
        ui.say(f"repeat: {each.repeat}")
    return bool(found or broken)


def _next_story(ledger: Ledger, name: str, stories: Sequence[Story], turn: int) -> Story:
    """Return which of ``stories`` is next on the architecture ``name``.

    The scenarios of races.toml take turns. Each scenario has a story without Bolt and a story with
    Bolt; if ``stories`` has both, Ledger.due() says which of the two is next.
    """
    sides = {story.name: story for story in stories}
    scenarios = [each for each in races.plan().scenarios if sides.keys() & {*races.sides(each)}]
    scenario = scenarios[turn % len(scenarios)]
    chosen = [each for each in races.sides(scenario) if each in sides]
    due = f"{scenario}-{ledger.due(name, scenario, races.plan().share)}"
    return sides[due if due in chosen else chosen[0]]


def _sum_up(ledger: Ledger, arches: Sequence[str]) -> None:
    """Print the time of the runs on ``arches``, and how many pairs of functions raced there."""
    tables.show(sightings.COLUMNS, sightings.table(ledger, arches), left=2)
    ui.say("")
    for name in arches:
        ui.say(sightings.summary(ledger, name, races.known()))


def _list(book: Book, configs: Sequence[Config], stories: Sequence[Story]) -> None:
    for config in configs:
        ui.say(f"{config.name:18} {config.description}")
    ui.say("")
    for story in stories:
        ui.say(f"{story.name:26} {story.scenario.description}")
    ui.say("")
    show(book, configs, list(arch.ARCHES))


def _lines(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    return []

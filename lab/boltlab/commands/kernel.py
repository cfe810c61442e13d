# SPDX-License-Identifier: GPL-2.0-only
"""``bolt kernel``: fetches sources, builds kernels, counts crossings (bench/crossings.py).

The command also refreshes and checks the hooks, which are the patches in kernel/hooks, and exports
Bolt as patches for git am.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from boltlab import arch, checkpatch, cli, packages, tables, ui, versions
from boltlab.bench import crossings
from boltlab.errors import FAILURE, USAGE, BoltError
from boltlab.kernel import build, each, export, flavours, hookcheck, hooks, refresh, source
from boltlab.kernel import tree as trees
from boltlab.kernel.callees import Change
from boltlab.kernel.hookcheck import Report, State
from boltlab.tables import Column
from boltlab.versions import Version

NAME = "kernel"
HELP = "Fetch the source, build kernels, refresh or check hooks, export patches, count crossings."

STYLES = {State.FAILS.value: "red", State.LOOK.value: "yellow", State.APPLIES.value: "green"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands."""
    sub = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    fetch = sub.add_parser("fetch", help="get the source and unpack it")
    cli.add_source(fetch)

    make = sub.add_parser("build", help="build kernels; only changed files are compiled")
    cli.add_source(make)
    cli.add_arch(make)
    cli.add_jobs(make)
    make.add_argument(
        "--flavour",
        choices=[name for name in flavours.table() if name not in ("off", "refactored", "each")],
        action="append",
        help="flavour to build; may be repeated (default: pristine and bolt)",
    )

    fresh = sub.add_parser("refresh", help="rewrite the hooks to fit the source exactly")
    cli.add_source(fresh)

    check = sub.add_parser(
        "check-hooks",
        help="try the hooks on any kernel, without building it",
        description="Say which hooks apply to a kernel, which need a look, and which fail. A hook "
        f"needs a look if the {hookcheck.NEAR} lines before or after one of its hunks changed, if "
        "a hunk lands in another function, or if a function that a hunk calls is gone or defined "
        "otherwise. Exit status: 0 all apply or need a look, 1 a hook fails, or the kernel "
        "already has a file that Bolt would add, 2 no kernel source.",
    )
    which = check.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--source", type=Path, metavar="DIR|TARBALL", help="any kernel, of any series"
    )
    cli.add_version(which, dest="source", said="in place of --source")
    check.add_argument(
        "--hooks",
        choices=[version.series for version in versions.load()],
        metavar="SERIES",
        help="the series whose hooks are tried (default: the kernel's, or the newest with hooks)",
    )
    check.add_argument(
        "--against",
        type=Path,
        metavar="DIR|TARBALL",
        help="the kernel that the hooks were made for (default: Debian's source of their series)",
    )
    check.add_argument(
        "--json", type=Path, metavar="FILE", help="write all findings to FILE (-: print them)"
    )

    series = sub.add_parser("export", help="write five postings for git am")
    cli.add_source(series)
    cli.add_arch(series)
    cli.add_jobs(series)
    series.add_argument(
        "--output",
        type=Path,
        default=Path("bolt-series"),
        metavar="DIR",
        help="default: %(default)s",
    )
    series.add_argument(
        "--check", action="store_true", help="run checkpatch --strict and git am on the patches"
    )
    series.add_argument(
        "--build",
        action="store_true",
        help="build the objects that each commit touches, with and without CONFIG_BOLT, for "
        "--arch; takes hours the first time; an interrupted build goes on where it ended",
    )
    series.add_argument(
        "--link", action="store_true", help="with --build: link the kernel after each posting too"
    )

    crossed = sub.add_parser(
        "crossings",
        help="count a request's calls between two source files of which at least one is Bolt's",
    )
    cli.add_source(crossed)
    cli.add_arch(crossed)
    cli.add_jobs(crossed)
    crossed.add_argument("--pairs", action="store_true", help="name the functions")


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand; pass on a BoltError that the subcommand raises."""
    if args.action == "check-hooks":
        return _check(args)
    found = source.resolve(args.source)
    actions = {
        "fetch": _fetch,
        "build": _build,
        "refresh": _refresh,
        "export": _export,
        "crossings": _crossings,
    }
    return actions[args.action](args, found)


def _fetch(args: argparse.Namespace, found: source.Source) -> int:
    ui.say(f"linux {found.release} is in {found.path}")
    return 0


def _build(args: argparse.Namespace, found: source.Source) -> int:
    for target in arch.select(args.arch):
        for flavour in args.flavour or ("pristine", "bolt"):
            kernel = build.ensure_kernel(target, flavour, found, args.jobs)
            ui.say(f"{target.name} {flavour} linux {kernel.release}: {kernel.image}")
    return 0


def _refresh(args: argparse.Namespace, found: source.Source) -> int:
    changed = refresh.refresh(found.version.hooks, found.path, found.release)
    ui.say(f"rewritten: {' '.join(changed)}" if changed else "all hooks are up to date")
    return 0


def _export(args: argparse.Namespace, found: source.Source) -> int:
    if args.link and not args.build:
        raise BoltError("--link needs --build", code=USAGE)
    patches = export.export(found, args.output)
    ui.say(f"{len(patches)} patches for linux {found.release} are in {args.output}")
    status = _examine(found, patches) if args.check else 0
    if args.build:
        for target in arch.select(args.arch):
            report = each.check(target, found, args.jobs, link=args.link)
            ui.say(
                f"{target.name}: {report.objects} objects built, {report.kept} of them by an "
                f"earlier check, and {report.links} kernels; source files "
                f"without an object in this configuration: {' '.join(report.unbuilt) or 'none'}"
            )
    return status


def _examine(found: source.Source, patches: list[Path]) -> int:
    export.verify(found, patches)
    ui.say("git am applies the patches to the pristine source")
    findings = checkpatch.check(found.path, patches)
    for finding in findings:
        for line in finding.lines:
            ui.error(line)
    ui.say(f"checkpatch: {len(findings)} patches with findings")
    return FAILURE if findings else 0


def _check(args: argparse.Namespace) -> int:
    where = args.source
    where = source.debian_tarball(where) if isinstance(where, Version) else where.absolute()
    known = versions.load()
    # The series is known only once the Makefile is unpacked: unpack the files of all series' hooks.
    series = {version.series: hooks.load(version.hooks) for version in known}
    every = [hook for each in series.values() for hook in each]
    files = {name for hook in every for name in hook.files}
    # hookcheck looks whether the kernel has files of its own in the places of the overlay's files.
    files |= {name for version in known for name in trees.overlaid(version)}
    with source.opened(where, hookcheck.folders(every), files) as tree:
        try:
            release = source.release_of(tree)
        except BoltError as error:
            raise BoltError(f"{where} is no kernel source", code=USAGE) from error
        version = versions.for_hooks(release, args.hooks)
        made = source.resolve(args.against) if args.against else source.of_series(version)
        with ui.status(f"trying the hooks for linux {made.release} on linux {release}"):
            found = hookcheck.check(
                series[version.series],
                trees.overlaid(version),
                (made.path, made.release),
                (tree, release),
            )
    document = json.dumps(hookcheck.to_json(found), indent=1)
    if args.json and str(args.json) == "-":
        ui.say(document)
        return FAILURE if found.failed else 0
    if args.json:
        try:
            args.json.write_text(f"{document}\n", encoding="utf-8")
        except OSError as error:
            raise BoltError(f"cannot write {args.json}: {error.strerror}") from error
    show_check(found)
    return FAILURE if found.failed else 0


def show_check(found: Report) -> None:
    """Print tables of ``found``: the hooks, hunks that fail or need a look, changed functions.

    Below the tables stand the overlay's files that the kernel already has, and counts of hooks and
    hunks.
    """
    hunks = [place for verdict in found.verdicts for place in verdict.places]
    ui.prose(f"\nhooks for linux {found.reference} on linux {found.release}")
    tables.show(
        [Column("hook"), Column("state"), Column("hunks", 1), Column("look"), Column("fail")],
        [
            [
                verdict.hook.removesuffix(".patch"),
                verdict.state.value,
                str(len(verdict.places)),
                *(str(verdict.count(state) or "-") for state in (State.LOOK, State.FAILS)),
            ]
            for verdict in found.verdicts
        ],
        styles=STYLES,
        left=2,
    )
    if todo := list(_todo(found)):
        tables.show(
            [
                Column("hook", 1, prose=True),
                Column("state"),
                Column("file", prose=True),
                Column("line"),
                Column("what needs a look", prose=True),
            ],
            todo,
            styles=STYLES,
            left=2,
        )
    if functions := list(_functions(found)):
        ui.prose("\nfunctions that hooks call, and functions that Bolt's own files call")
        tables.show(
            [Column("function", prose=True), Column("change"), Column("called by", prose=True)],
            functions,
            left=3,
        )
    for name in found.taken:
        ui.prose(f"fails: the kernel already has {name}, which Bolt would add")
    for what, verdicts in (("hooks", found.verdicts), ("hunks", hunks)):
        counts = {state: sum(each.state is state for each in verdicts) for state in State}
        ui.prose(
            f"{len(verdicts)} {what}: {counts[State.APPLIES]} apply, {counts[State.LOOK]} need a "
            f"look, {counts[State.FAILS]} fail"
        )


def _todo(found: Report) -> Iterator[list[str]]:
    """Yield a row for each hunk that fails, has changed lines near, or is in another function."""
    for verdict in found.verdicts:
        for place in verdict.places:
            if place.failed or place.looks:
                yield [
                    verdict.hook.removesuffix(".patch"),
                    place.state.value,
                    place.hunk.file,
                    str(place.line),
                    place.failed or "; ".join(place.looks),
                ]


def _functions(found: Report) -> Iterator[list[str]]:
    """Yield a row for each function that has changed and that a hook or a file of Bolt's own calls.

    A function has changed if it differs between the tried kernel and the kernel that the hooks were
    made for. Of functions that only Bolt's own files call, those with the same prototype are left
    out.
    """
    callers: dict[tuple[str, Change], list[str]] = {}
    for key, named in found.functions().items():
        callers[key] = [name.removesuffix(".patch") for name in named]
    for file, called in found.overlay.items():
        for name, change in called.items():
            callers.setdefault((name, change), []).append(file)
    order = list(Change)
    for name, change in sorted(callers, key=lambda each: (order.index(each[1]), each[0])):
        yield [name, change.value, ", ".join(callers[name, change])]


def _crossings(args: argparse.Namespace, found: source.Source) -> int:
    arches = arch.select(args.arch)
    packages.ensure("guest", "qemu", arches=arches)
    for target in arches:
        for one in crossings.trace(target, found, args.jobs):
            ui.say(
                f"{target.name} {one.direction}: {one.total} crossings among "
                f"{len(one.ours)} files of Bolt and {len(one.entered) - len(one.ours)} other files"
            )
            for file, times in one.entered.items():
                ui.say(f"{times:5} {file}")
            for caller, callee in one.pairs if args.pairs else ():
                ui.say(f"{caller} -> {callee}")
    return 0

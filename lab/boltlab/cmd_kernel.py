# SPDX-License-Identifier: GPL-2.0-only
"""``bolt kernel``: fetch, build, refresh, export."""

import argparse
from pathlib import Path

from boltlab import arch, build, checkpatch, cli, export, flavours, refresh, source, ui
from boltlab.errors import FAILURE

NAME = "kernel"
HELP = "Fetch the kernel source, build kernels, refresh the hooks, export the series."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the four subcommands."""
    sub = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    fetch = sub.add_parser("fetch", help="get the source and unpack it")
    cli.add_source(fetch)

    make = sub.add_parser("build", help="build kernels, no more than changed")
    cli.add_source(make)
    cli.add_arch(make)
    cli.add_jobs(make)
    make.add_argument(
        "--flavour",
        choices=[name for name in flavours.table() if name != "off"],
        action="append",
        help="kind of kernel, may be repeated (default: pristine and bolt)",
    )

    fresh = sub.add_parser("refresh", help="rewrite the hooks for this source")
    cli.add_source(fresh)

    series = sub.add_parser("export", help="write patches for git am")
    cli.add_source(series)
    series.add_argument(
        "--output",
        type=Path,
        default=Path("bolt-series"),
        metavar="DIR",
        help="default: %(default)s",
    )
    series.add_argument("--check", action="store_true", help="checkpatch --strict and git am them")


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand; BoltError as its functions raise it."""
    found = source.resolve(args.source)
    actions = {"fetch": _fetch, "build": _build, "refresh": _refresh, "export": _export}
    return actions[args.action](args, found)


def _fetch(args: argparse.Namespace, found: source.Source) -> int:
    ui.say(f"linux {found.release} is in {found.path}")
    return 0


def _build(args: argparse.Namespace, found: source.Source) -> int:
    for each in arch.select(args.arch):
        for flavour in args.flavour or ("pristine", "bolt"):
            kernel = build.ensure_kernel(each, flavour, found, args.jobs)
            ui.say(f"{each.name} {flavour} linux {kernel.release}: {kernel.image}")
    return 0


def _refresh(args: argparse.Namespace, found: source.Source) -> int:
    changed = refresh.refresh(found.version.hooks, found.path, found.release)
    ui.say(f"rewritten: {' '.join(changed)}" if changed else "all hooks are fresh")
    return 0


def _export(args: argparse.Namespace, found: source.Source) -> int:
    patches = export.export(found, args.output)
    ui.say(f"{len(patches)} patches for linux {found.release} are in {args.output}")
    if not args.check:
        return 0
    export.verify(found, patches)
    ui.say("git am applies them to the pristine source")
    findings = checkpatch.check(found.path, patches)
    for finding in findings:
        for line in finding.lines:
            ui.error(line)
    ui.say(f"checkpatch: {len(findings)} patches with findings")
    return FAILURE if findings else 0

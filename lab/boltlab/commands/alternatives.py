# SPDX-License-Identifier: GPL-2.0-only
"""``bolt alternatives``: compares ways to keep tasks away from CPUs, with Bolt and without."""

import argparse
from typing import Any

from boltlab import arch, cli, codec, git, packages, tables, ui
from boltlab.bench import alternatives
from boltlab.bench.alternatives import Row
from boltlab.guest import qemu
from boltlab.kernel import build, source
from boltlab.tables import Column

NAME = "alternatives"
HELP = "Measure and compare idle states, cpuset partitions, native offline and Bolt."
# Ranks of alternatives.COLUMNS, in order: a narrow terminal leaves out the highest ranks first.
RANKS = (0, 0, 0, 2, 0, 1, 4, 5, 6, 3, 7)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    cli.add_arch(parser)
    parser.add_argument(
        "--rounds",
        type=cli.positive,
        default=20,
        metavar="N",
        help="how often a CPU goes and comes in each way: N times while the CPU is idle, N times "
        "while a task works there (%(default)s)",
    )
    parser.add_argument(
        "--seconds",
        type=cli.positive,
        default=5,
        metavar="N",
        help="seconds for which each way keeps tasks away while CPUs are watched (%(default)s)",
    )
    parser.add_argument(
        "--json", type=cli.output, metavar="FILE", help="also write the results to FILE"
    )
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Run the guests, print the table and write the file of ``--json``, if that option is given.

    Raises BoltError when a guest fails.
    """
    targets = arch.select(args.arch)
    packages.ensure("build", "guest", "qemu", arches=targets)
    commit, where = git.measured(), source.resolve(args.source)
    wanted = alternatives.kernels()
    kernels = [build.ensure_kernels(target, wanted, where, args.jobs) for target in targets]
    rows: list[Row] = []
    for target, built in zip(targets, kernels, strict=True):
        records: list[dict[str, Any]] = []
        for flavour, kernel in built.items():
            guest = alternatives.guest(target, kernel, flavour, args.rounds, args.seconds)
            with ui.status(f"ways of the {flavour} kernel, {target.name}"):
                records += qemu.run(guest, f"{target.name}-alternatives").records
        rows += alternatives.read(records, target.name)
    show(rows)
    if args.json:
        versions = sorted({qemu.version(target.qemu) for target in targets})
        codec.save(alternatives.dumps(", ".join(versions), rows, commit), args.json)
    return 0


def show(rows: list[Row]) -> None:
    """Print the table of ``rows``."""
    columns = [Column(*pair) for pair in zip(alternatives.COLUMNS, RANKS, strict=True)]
    tables.show(columns, alternatives.table(rows), left=2)

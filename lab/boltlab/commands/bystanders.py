# SPDX-License-Identifier: GPL-2.0-only
"""``bolt bystanders``: measures the time that hotplug requests take from tasks on other CPUs."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from boltlab import arch, cli, codec, git, packages, tables, ui
from boltlab.bystanders import losses
from boltlab.bystanders.losses import Row
from boltlab.errors import USAGE, BoltError
from boltlab.guest import plugins, qemu
from boltlab.kernel import build, source
from boltlab.report import figures

NAME = "bystanders"
HELP = "Measure the time that requests take from tasks on other CPUs: native, expedited, Bolt."


def sizes(text: str) -> tuple[int, ...]:
    """Return the numbers in ``text``, or have argparse refuse ``text``.

    An empty ``text`` is not refused: there are no numbers then.
    """
    return cli.numbers(text) if text else ()


def picture(text: str) -> Path:
    """Return the path of an SVG or PNG file to write, or have argparse refuse ``text``."""
    return cli.picture(text, (".svg", ".png"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    cli.add_one_arch(parser)
    parser.add_argument(
        "--cpus",
        type=sizes,
        default=losses.SIZES,
        metavar="N,...",
        help="sizes of the machine (4,16,32; empty: none)",
    )
    parser.add_argument(
        "--batch",
        type=cli.numbers,
        metavar="N,...",
        help="how many CPUs come and go at once (1, and half of the machine's)",
    )
    parser.add_argument(
        "--rounds",
        type=cli.positive,
        default=losses.ROUNDS,
        metavar="N",
        help="requests of each direction (%(default)s)",
    )
    parser.add_argument(
        "--tickless", action="store_true", help="also measure a nohz_full CPU, in guests of 4 CPUs"
    )
    parser.add_argument("--json", type=cli.output, metavar="FILE", help="write the figures to FILE")
    parser.add_argument(
        "--figure", type=picture, metavar="FILE", help="draw the figures (.svg, .png)"
    )
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, print the table, and write the files that options name."""
    plan = [
        (cpus, batch, False) for cpus in args.cpus for batch in args.batch or sorted({1, cpus // 2})
    ]
    for cpus, batch, _ in plan:
        if not 0 < batch < cpus - 1:
            raise BoltError(
                f"{batch} of {cpus} CPUs: at least one CPU goes, and one besides CPU 0 stays",
                code=USAGE,
            )
    plan += [(4, 1, True), (4, 2, True)] if args.tickless else []
    if not plan:
        raise BoltError("nothing to measure: --cpus is empty, without --tickless", code=USAGE)
    (target,) = arch.select(args.arch)
    packages.ensure("build", "guest", "qemu", arches=[target])
    commit, where = git.measured(), source.resolve(args.source)
    plugin = plugins.build(losses.KIND, target)
    wanted = [losses.flavour(name, tickless) for *_, tickless in plan for name in losses.VARIANTS]
    kernels = build.ensure_kernels(target, wanted, where, args.jobs)
    rows: list[Row] = []
    for cpus, batch, tickless in plan:
        for variant in losses.VARIANTS:
            kernel = kernels[losses.flavour(variant, tickless)]
            place = (cpus, batch, tickless)
            guest = losses.guest(target, kernel, plugin, variant, place, args.rounds)
            with ui.status(f"{batch} of {cpus} CPUs, {variant}, {target.name}"):
                done = qemu.run(guest, f"{target.name}-bystanders")
            lines = (done.folder / qemu.PLUGIN).read_text(encoding="utf-8").splitlines()
            rows += losses.read(lines, variant, cpus, batch, tickless)
            if args.json:
                codec.save(losses.dumps(target, rows, commit), args.json)
    show(rows)
    if args.figure:
        title = f"{target.name}, QEMU {qemu.version(target.qemu)}, virtual time"
        picture = figures.bystanders(rows, title)
        args.figure.write_bytes(
            picture.png if args.figure.suffix == ".png" else picture.svg.encode()
        )
    return 0


def show(rows: Sequence[Row]) -> None:
    """Print the table of ``rows``, and, if a bystander was a nohz_full CPU, what a star means."""
    tables.show(losses.COLUMNS, losses.table(rows), left=4)
    if any(row.tickless for row in rows):
        ui.say(losses.TICKLESS_TEXT)

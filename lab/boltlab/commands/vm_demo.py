# SPDX-License-Identifier: GPL-2.0-only
"""``bolt vm-demo``: a Debian guest whose host adds CPUs and takes them out, under load."""

import argparse
from pathlib import Path

from boltlab import arch, cli, codec, packages, paths, tables, ui
from boltlab.bench import served
from boltlab.bench.served import Measured
from boltlab.debian import userland, vmdemo
from boltlab.errors import UNAVAILABLE, BoltError
from boltlab.guest import qemu
from boltlab.kernel import build, source
from boltlab.report import service
from boltlab.tables import Column

NAME = "vm-demo"
HELP = "Add CPUs to a Debian guest under load and take them out: native, expedited, Bolt."
FLAVOUR = "userland"
# In the order of served.COLUMNS: which columns leave a narrow terminal, the highest first.
RANKS = (0, 6, 0, 4, 0, 5, 0, 0, 2, 3)
ONLY = "x86_64"  # the emulator adds CPUs to no machine of arm64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "--cycles",
        type=cli.positive,
        default=3,
        metavar="N",
        help="how often the CPUs come and go (%(default)s)",
    )
    parser.add_argument(
        "--variants",
        type=lambda text: tuple(word for word in text.split(",") if word),
        default=tuple(vmdemo.variants()),
        metavar="A,B",
        help="only these variants (native,expedited,bolt)",
    )
    parser.add_argument(
        "--accel",
        choices=("icount", "mttcg"),
        default="mttcg",
        help="mttcg: the host's time, with its noise (default); icount: virtual time, in which "
        "CPUs only go offline and come online",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was measured")
    parser.add_argument("--page", type=Path, metavar="FILE", help="where to write the page")
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Run the guests, print the table and write the page; BoltError when a guest fails."""
    rows = vmdemo.variants()
    for name in args.variants:
        vmdemo.script(name, args.cycles, args.accel)
    if arch.host().name != ONLY:
        raise BoltError(f"QEMU adds CPUs to {ONLY} guests only", code=UNAVAILABLE)
    target = arch.ARCHES[ONLY]
    packages.ensure("build", "guest", "qemu", arches=[target])
    kernel = build.ensure_kernel(target, FLAVOUR, source.resolve(args.source), args.jobs)
    root = userland.image()
    outcomes = []
    for name in args.variants:
        with ui.status(f"{args.cycles} cycles, {rows[name]['label']}"):
            ran = vmdemo.run(kernel, root, name, args.cycles, args.accel)
        outcomes.append(served.read(ran.done.records, name, ran.deleted))
    labels = {name: str(rows[name]["label"]) for name in args.variants}
    columns = [Column(*pair) for pair in zip(served.COLUMNS, RANKS, strict=True)]
    tables.show(columns, [served.row(each, labels[each.variant]) for each in outcomes])
    measured = Measured(ONLY, qemu.version(target.qemu), args.accel, outcomes)
    ui.say(measured.title)
    page = args.page or paths.cache() / "vm-demo.html"
    page.write_text(service.page(measured, labels), encoding="utf-8")
    ui.say(f"page: {page}")
    if args.json:
        codec.save(served.dumps(ONLY, measured.qemu, args.accel, outcomes), args.json)
    return 0

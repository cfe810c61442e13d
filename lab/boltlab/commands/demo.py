# SPDX-License-Identifier: GPL-2.0-only
"""``bolt demo``: builds what is needed, measures, and shows a table and a picture."""

import argparse
import os
import time
from pathlib import Path

from boltlab import arch, cli, packages, ui
from boltlab.arch import Arch
from boltlab.bench import results
from boltlab.bench.plan import Plan
from boltlab.commands import bench as cmd_bench
from boltlab.errors import BoltError
from boltlab.kernel import build, source
from boltlab.report import summary

NAME = "demo"
HELP = "Take a CPU offline and online with and without Bolt; show figures and a picture."

# Minutes that the parts of a demo take on a machine of 2 cores, for the forecast.
BUILD_MINUTES = 5  # to build the kernels of one architecture
BENCH_MINUTES = 1.5  # to run the guests of one architecture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    cli.add_arch(parser)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("bolt-out"),
        metavar="DIR",
        help="where results, figures and report go (default: ./bolt-out)",
    )
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Build, measure and report; raise BoltError when a part fails."""
    start = time.monotonic()
    targets = arch.select(args.arch)
    ui.say(_forecast(targets))
    try:
        args.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BoltError(f"cannot make {args.output}: {error.strerror}") from error
    if not os.access(args.output, os.W_OK):
        raise BoltError(f"cannot write in {args.output}")
    later = source.needs(args.source)
    packages.ensure("build", "guest", "qemu", arches=targets, later=later)
    runs = []
    for target in targets:
        setting = target.default_setting
        measured = cmd_bench.measure(target, setting, Plan(extra=False), args.source, args.jobs)
        results.save(measured, args.output / f"results-{target.name}-{setting}.json")
        runs.append(measured)
    for measured in runs:
        summary.show(measured)
    page = summary.write(runs, args.output)
    ui.say(f"\nreport: {page.absolute()}  ({ui.clock(time.monotonic() - start)})")
    return 0


def _forecast(targets: list[Arch]) -> str:
    """Return a line that says what the demo will do, and about how long the demo takes."""
    have = {kernel.arch for kernel in build.built() if kernel.flavour == "bolt"}
    missing = [target.name for target in targets if target.name not in have]
    minutes = len(missing) * BUILD_MINUTES + len(targets) * BENCH_MINUTES
    work = "measuring"
    if missing:
        work = f"building kernels for {' and '.join(missing)}, then measuring"
    return f"{work}: about {max(2, round(minutes))} minutes on 2 cores"

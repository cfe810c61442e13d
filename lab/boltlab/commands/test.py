# SPDX-License-Identifier: GPL-2.0-only
"""``bolt test``: runs all tests of the repository; its last lines are pytest's summary."""

import argparse
import os
from pathlib import Path

import pytest

from boltlab import arch, cli, coverage, packages, paths, ui
from boltlab.kernel import build, source

NAME = "test"
HELP = "Build kernels for both architectures and run all tests (--nightly: the long form)."

LAB = paths.REPO / "lab"
TESTS = LAB / "tests"
FLAVOURS = ("pristine", "bolt")
NIGHTLY = ("debug", "kasan", "kcsan", "rt", "scheduling", "torture")
MOST_WORKERS = 8  # tests that run at once, at most: a guest takes up to 4 GiB of memory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--nightly", action="store_true", help="run the long form as well")
    parser.add_argument(
        "-k", dest="only", metavar="EXPRESSION", help="only tests that match (as pytest -k)"
    )
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Build the kernels, which shows progress, and then run pytest."""
    arches = arch.select("all")
    rows = coverage.load()
    ui.say(
        "kernels and tests for both architectures: over an hour on 2 cores the first time, "
        "then about half an hour"
    )
    packages.ensure(
        *("build", "guest", "qemu", "export", "checkpatch", "test", "unpack", "patch", "tools"),
        *("deb", "lintian"),
        arches=arches,
    )
    where = source.resolve(args.source)
    for target in arches:
        for flavour in (*FLAVOURS, *(NIGHTLY if args.nightly else ())):
            build.ensure_kernel(target, flavour, where, args.jobs)
    return _pytest(args, where.path if args.source else None, rows)


def _pytest(args: argparse.Namespace, where: Path | None, rows: list[coverage.Row]) -> int:
    os.chdir(LAB)
    words = ["-q", f"--jobs={args.jobs}", str(TESTS)]
    # A guest in virtual time keeps one CPU busy, so as many tests run at once as --jobs says: by
    # default one for each CPU, at most MOST_WORKERS. The long form runs its tests one after the
    # other, because its tests build kernels.
    if not args.nightly and args.jobs > 1:
        words.append(f"--numprocesses={min(args.jobs, MOST_WORKERS)}")
    if where:
        words.append(f"--kernel-source={where}")
    if args.nightly:
        words.append("--nightly")
    if args.only:
        words += ["-k", args.only]
    # With -k only a part of the tests runs: not all tests that docs/coverage.md names.
    plugins = [] if args.only else [coverage.Plugin(rows, Path("tests"))]
    return int(pytest.main(words, plugins=plugins))

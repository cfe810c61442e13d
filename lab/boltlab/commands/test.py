# SPDX-License-Identifier: GPL-2.0-only
"""``bolt test``: runs the repository's tests; the last lines printed are pytest's summary."""

import argparse
import os
import signal
from pathlib import Path

import pytest

from boltlab import arch, cli, coverage, packages, paths, ui
from boltlab.errors import FAILURE, USAGE
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
    ui.say(outlook(nightly=args.nightly, some=bool(args.only)))
    groups = ("build", "guest", "qemu", *packages.NEEDS["test"])
    packages.ensure(*groups, arches=arches, later=source.needs(args.source))
    where = source.resolve(args.source)
    for target in arches:
        for flavour in (*FLAVOURS, *(NIGHTLY if args.nightly else ())):
            build.ensure_kernel(target, flavour, where, args.jobs)
    return _pytest(args, where.path if args.source else None, rows)


def outlook(*, nightly: bool, some: bool) -> str:
    """Return what the command will do and, unless only ``some`` tests run, how long that takes."""
    text = "kernels and tests for both architectures"
    if nightly:
        text += ", the long form too"
    if some:
        return f"{text}; of the tests only those that match -k"
    if nightly:
        return f"{text}: many hours"
    return f"{text}: over an hour on 2 cores the first time, then about half an hour"


def _pytest(args: argparse.Namespace, where: Path | None, rows: list[coverage.Row]) -> int:
    os.chdir(LAB)
    words = ["-q", f"--jobs={args.jobs}", str(TESTS)]
    # A guest in virtual time keeps one CPU busy, so as many tests run at once as --jobs says (by
    # default one for each CPU), but never more than MOST_WORKERS. With --nightly all tests run one
    # after the other, because tests of the long form build kernels, each with --jobs jobs of make.
    if not args.nightly and args.jobs > 1:
        words.append(f"--numprocesses={min(args.jobs, MOST_WORKERS)}")
    if where:
        words.append(f"--kernel-source={where}")
    if args.nightly:
        words.append("--nightly")
    if args.only:
        words += ["-k", args.only]
    # With -k, tests that docs/coverage.md names may be left out, and are not looked for.
    plugins: list[object] = [] if args.only else [coverage.Plugin(rows, Path("tests"))]
    # pytest would take SystemExit, which the lab raises at a signal to end, for a test's failure.
    cli.handle_ends(signal.default_int_handler)
    interrupted = Interrupted()
    return _status(pytest.main(words, plugins=[*plugins, interrupted]), interrupted.seen)


class Interrupted:
    """A plugin of pytest, which notices that the tests were interrupted."""

    seen = False

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Take note of an interrupt.

        When tests cannot be collected, pytest also calls this method, with another
        ``excinfo.type``.
        """
        self.seen = excinfo.type is KeyboardInterrupt


def _status(code: int, interrupted: bool) -> int:
    """Return the command's exit status for pytest's exit status ``code``.

    Raises KeyboardInterrupt if the tests were interrupted.
    """
    if interrupted:
        raise KeyboardInterrupt
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        return USAGE
    return FAILURE if code else 0

# SPDX-License-Identifier: GPL-2.0-only
"""``bolt release-check``: runs what a release needs, quick steps first, and writes the results."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from boltlab import cli, errors, git, tables, ui, versions
from boltlab.engine import options
from boltlab.errors import USAGE, BoltError
from boltlab.release import page, steps
from boltlab.release.steps import Step
from boltlab.tables import Column

NAME = "release-check"
HELP = "Run what a release needs, quick steps first; long steps that passed are not run again."

COLUMNS = (
    Column("step"),
    Column("result"),
    Column("took", 2),
    Column("hours, about", 1),
    Column("what", prose=True),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--list", action="store_true", help="list the steps, and how each ended")
    parser.add_argument("--only", metavar="STEP,...", help="only these steps")
    parser.add_argument(
        "--again", action="store_true", help="run steps that have passed before as well"
    )
    parser.add_argument(
        "--page",
        type=cli.output,
        metavar="FILE",
        help="write the page to FILE (default: in the cache)",
    )
    cli.add_version(parser, default=versions.default())


def run(args: argparse.Namespace) -> int:
    """Run the steps until a step fails, and write the results; with ``--list``, only list steps.

    A step that has passed on the present sources and ``--version`` (see steps.folder()) runs again
    only with ``--again``, or if data/release.toml says that the step always runs.
    Returns 1 if a step has failed.
    """
    if args.list:
        options.refuse(args, "--list", "again", "page")
    table = steps.load()
    chosen = select(table, args.only)
    place, commit = steps.folder(args.version), git.measured()
    if args.list:
        _list(chosen, place)
        return 0
    file = args.page or place / "release.md"
    failed = False
    try:
        for step in chosen:
            before = steps.state(place).get(step.name)
            if before and not before.status and not (step.always or args.again):
                ui.say(f"{step.name}: passed on {before.date}")
                continue
            done = steps.run(step, place, args.version, args.again)
            failed = bool(done.status)
            verdict = f"FAILED ({steps.log(step, place)})" if failed else "passed"
            ui.say(f"{step.name}: {verdict} in {ui.clock(done.seconds)}")
            if failed:
                break
    finally:
        page.write(file, table, steps.state(place), place, args.version, commit)
        ui.say(f"page: {file}")
    return errors.FAILURE if failed else 0


def select(table: Mapping[str, Step], wanted: str | None) -> list[Step]:
    """Return the steps that ``wanted`` names, or all steps if ``wanted`` is None.

    Raises BoltError for an unknown name.
    """
    names = list(table) if wanted is None else wanted.split(",")
    for name in names:
        if name not in table:
            raise BoltError(f"no step '{name}' (there are: {', '.join(table)})", code=USAGE)
    return [step for name, step in table.items() if name in names]


def _list(chosen: Sequence[Step], place: Path) -> None:
    done, cells = steps.state(place), []
    for step in chosen:
        ended = done.get(step.name)
        verdict, took = steps.without_result(step, place), ""
        if ended:
            verdict, took = "failed" if ended.status else "passed", ui.clock(ended.seconds)
        cells.append([step.name, verdict, took, f"{step.hours:g}", step.what])
    tables.show(COLUMNS, cells)

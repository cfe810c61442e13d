# SPDX-License-Identifier: GPL-2.0-only
"""``bolt doctor``: prints what this machine has for the lab, and what each lack costs."""

import argparse

from boltlab import cli, packages, tables, ui, versions
from boltlab.guest import doctor
from boltlab.guest.doctor import Level
from boltlab.tables import Column

NAME = "doctor"
HELP = "Say what this machine has for the lab, and what each lack costs. Changes nothing."

STYLES = {Level.GOOD.value: "green", Level.LACK.value: "yellow", Level.BLOCK.value: "red"}
COLUMNS = (
    Column(""),
    Column("what", prose=True),
    Column("found", prose=True),
    Column("what the lack costs", prose=True),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--version``, the only option of the command."""
    cli.add_version(parser, default=versions.default())


def run(args: argparse.Namespace) -> int:
    """Print the table; return 0 when demo can run here, 1 otherwise."""
    with ui.status("looking at this machine"):
        findings = doctor.examine(args.version)
    cells = [[each.level.value, each.what, each.found, each.cost] for each in findings]
    tables.show(COLUMNS, cells, styles=STYLES)
    blocked = [finding.what for finding in findings if finding.level is Level.BLOCK]
    if blocked:
        ui.error(f"demo cannot run here: {', '.join(blocked)}")
        return 1
    later = "; what is missing it installs itself" if packages.can_install() else ""
    ui.say(f"demo can run here{later}")
    return 0

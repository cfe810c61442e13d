# SPDX-License-Identifier: GPL-2.0-only
"""``bolt doctor``: prints what the lab needs, what this machine has, and what cannot run here."""

import argparse

from boltlab import cli, packages, tables, ui, versions
from boltlab.guest import doctor
from boltlab.guest.doctor import Level
from boltlab.tables import Column

NAME = "doctor"
HELP = (
    "List what the lab needs, whether this machine has it, and what does not work without it. "
    "Installs nothing except the lab's Python environment."
)

STYLES = {Level.GOOD.value: "green", Level.LACK.value: "yellow", Level.BLOCK.value: "red"}
COLUMNS = (
    Column(""),
    Column("what", prose=True),
    Column("found", prose=True),
    Column("what does not work without it", prose=True),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--version``, the only option of the command."""
    cli.add_version(parser, default=versions.default())


def run(args: argparse.Namespace) -> int:
    """Print the table; return 0 when demo can run on this machine, 1 otherwise."""
    with ui.status("looking at this machine"):
        findings = doctor.examine(args.version)
    cells = [[each.level.value, each.what, each.found, each.cost] for each in findings]
    tables.show(COLUMNS, cells, styles=STYLES)
    blocked = [finding.what for finding in findings if finding.level is Level.BLOCK]
    if blocked:
        ui.error(f"demo cannot run here: {', '.join(blocked)}")
        return 1
    later = "; demo installs missing packages itself" if packages.can_install() else ""
    ui.say(f"demo can run here{later}")
    return 0

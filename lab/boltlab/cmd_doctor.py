# SPDX-License-Identifier: GPL-2.0-only
"""``bolt doctor``: what this machine has, and what each lack costs."""

import argparse

from rich.table import Table
from rich.text import Text

from boltlab import doctor, packages, ui
from boltlab.doctor import Level

NAME = "doctor"
HELP = "Say what this machine has for the lab, and what each lack costs. Changes nothing."

STYLES = {Level.GOOD: "green", Level.LACK: "yellow", Level.BLOCK: "red"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: there is nothing to choose."""


def run(args: argparse.Namespace) -> int:
    """Print the table; return 0 when demo can run here, 1 otherwise."""
    with ui.status("looking at this machine"):
        findings = doctor.examine()
    table = Table(box=None, pad_edge=False)
    for heading in ("", "what", "found", "what the lack costs"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        level = Text(finding.level.value, STYLES[finding.level])
        table.add_row(level, finding.what, Text(finding.found), Text(finding.cost))
    ui.console.print(table)
    blocked = [finding.what for finding in findings if finding.level is Level.BLOCK]
    if blocked:
        ui.error(f"demo cannot run here: {', '.join(blocked)}")
        return 1
    later = "; what is missing it installs itself" if packages.can_install() else ""
    ui.say(f"demo can run here{later}")
    return 0

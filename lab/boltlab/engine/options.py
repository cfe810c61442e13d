# SPDX-License-Identifier: GPL-2.0-only
"""The options of commands that can run on a cluster."""

import argparse
import shlex
from pathlib import Path

from boltlab import cli
from boltlab.engine import slurm
from boltlab.errors import USAGE, BoltError
from boltlab.versions import Version

LOCAL, SLURM = "local", "slurm"


def add(parser: argparse.ArgumentParser) -> None:
    """Add ``--engine`` and ``--at-once``."""
    parser.add_argument(
        "--engine",
        choices=(LOCAL, SLURM),
        default=LOCAL,
        help="run on this machine (local, the default), or as job arrays of Slurm (docs/fleet.md)",
    )
    parser.add_argument(
        "--at-once",
        type=cli.positive,
        metavar="N",
        help="with --engine slurm: how many elements may run at a time",
    )


def on_cluster(args: argparse.Namespace, *refused: str) -> bool:
    """Tell whether to run on a cluster.

    Raises BoltError if an option does not fit the engine (``refused``: the options that a cluster
    does not take), or if the engine is Slurm and this machine lacks one of Slurm's programs.
    """
    if args.engine == LOCAL:
        if args.at_once:
            raise BoltError("--at-once is for --engine slurm", code=USAGE)
        return False
    refuse(args, "--engine slurm", *refused)
    slurm.require()
    return True


def refuse(args: argparse.Namespace, beside: str, *names: str) -> None:
    """Raise BoltError if ``args`` has one of the options ``names``: none may go with ``beside``."""
    for name in names:
        if getattr(args, name) not in (None, False):
            option = name.replace("_", "-")
            raise BoltError(f"--{option} is not for {beside}", code=USAGE)


def source(args: argparse.Namespace) -> str:
    """Return the options, to be put behind a command, that name the kernel source of ``args``."""
    if args.source is None:
        return ""
    if isinstance(args.source, Version):
        return f" --version {args.source.series}"
    return f" --source {shlex.quote(str(Path(args.source).absolute()))}"


def engine(args: argparse.Namespace) -> str:
    """Return the options, to be put behind a command, that name the engine of ``args``."""
    if args.engine == LOCAL:
        return ""
    return f" --engine {args.engine}" + (f" --at-once {args.at_once}" if args.at_once else "")

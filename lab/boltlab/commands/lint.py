# SPDX-License-Identifier: GPL-2.0-only
"""``bolt lint``: runs those checks of a change that need no build."""

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from boltlab import arch, lint, packages, paths, ui
from boltlab.errors import FAILURE
from boltlab.kernel import source

NAME = "lint"
HELP = (
    "Run all linters, checkpatch on what changed, and look for sign-offs. Changes no file of the "
    "repository."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "--base",
        metavar="COMMIT",
        help="check commits after COMMIT (default: those that upstream's branch does not have)",
    )
    parser.add_argument(
        "--message", type=Path, metavar="FILE", help="only check that this message is signed off"
    )


def run(args: argparse.Namespace) -> int:
    """Print the complaints of the checks; return 1 if there is a complaint."""
    root = paths.REPO
    packages.ensure("export", "test")
    if args.message:
        return _say({"sign-off": lint.message(root, args.message)})
    since = lint.base(root, args.base)
    checks: dict[str, Callable[[], list[str]]] = {
        name: partial(check, root) for name, check in lint.CHECKS.items()
    }
    checks["sign-off"] = partial(lint.sign_off, root, since)
    if pristine := source.cached():
        packages.ensure("checkpatch")
        checks["checkpatch"] = partial(lint.kernel_style, root, since, pristine.path)
    else:
        ui.note("without checkpatch: no kernel source is unpacked (./bolt kernel fetch)")
    # checkpatch and mypy take longest. The checks are started from the end of the list, where
    # checkpatch is, so that checkpatch does not run alone after all other checks.
    with ThreadPoolExecutor(arch.cores()) as pool:
        running = {name: pool.submit(check) for name, check in reversed(checks.items())}
        return _say({name: running[name].result() for name in checks})


def _say(found: dict[str, list[str]]) -> int:
    for name, complaints in found.items():
        for complaint in complaints:
            ui.error(f"{name}: {complaint}")
    bad = [name for name, complaints in found.items() if complaints]
    said = f"{', '.join(bad)} failed" if bad else f"{', '.join(found)}: clean"
    ui.prose(f"lint: {said}")
    return FAILURE if bad else 0

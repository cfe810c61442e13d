# SPDX-License-Identifier: GPL-2.0-only
"""Runs the kernel's own scripts/checkpatch.pl over patches."""

import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from boltlab import arch, packages
from boltlab.errors import BoltError

# checkpatch's FILE_PATH_CHANGES asks, for each patch that adds, moves or removes files, whether
# MAINTAINERS needs a change, although one patch of Bolt's series makes that change for all.
IGNORED = ("FILE_PATH_CHANGES",)

_FINDING = re.compile(r"^.*?:(?:\d+:)? (?:ERROR|WARNING|CHECK):.*$", re.M)


@dataclass(frozen=True)
class Finding:
    """The findings of checkpatch in one patch."""

    patch: str
    lines: tuple[str, ...]


def check(tree: Path, patches: Sequence[Path]) -> list[Finding]:
    """Run checkpatch.pl --strict of the kernel ``tree`` over ``patches``; return its findings.

    Patches without a finding are left out. Raises BoltError when checkpatch reports no finding in a
    patch, but fails or complains on stderr.
    """
    packages.ensure("checkpatch")
    with ThreadPoolExecutor(arch.cores()) as pool:
        found = list(pool.map(lambda patch: _one(tree, patch), patches))
    return [finding for finding in found if finding.lines]


def _one(tree: Path, patch: Path) -> Finding:
    script = tree / "scripts" / "checkpatch.pl"
    command = ["perl", str(script), "--strict", "--terse", "--show-types", "--no-summary"]
    command += [f"--root={tree}", f"--ignore={','.join(IGNORED)}", "--color=never"]
    done = subprocess.run(
        [*command, str(patch.absolute())],
        capture_output=True,
        text=True,
        errors="replace",
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(tree)},
        cwd=tree,  # in a folder with .git, checkpatch would run spdxcheck.py, which reads git
        check=False,
    )
    lines = tuple(line.strip() for line in _FINDING.findall(done.stdout))
    if not lines and (done.returncode != 0 or done.stderr):
        words = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise BoltError(f"checkpatch failed on {patch.name}: {words[0]}")
    return Finding(patch.name, lines)

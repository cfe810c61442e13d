# SPDX-License-Identifier: GPL-2.0-only
"""Runs a program of tools/ without privilege."""

import os
import shutil
import subprocess
from pathlib import Path

NOBODY = 65534


def as_nobody(program: Path, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``program`` on the tree ``root`` as the test's user, or as NOBODY if that is root."""
    command = ["--root", str(root), *words]
    if os.geteuid():
        return subprocess.run([program, *command], capture_output=True, text=True, check=False)
    # NOBODY may be unable to read the build's directory. So a copy of the program runs beside
    # ``root``, in a directory that every user may enter.
    scratch = root.parent
    for path in (scratch, *scratch.parents):
        if not path.stat().st_mode & 0o001:
            path.chmod(path.stat().st_mode | 0o111)
    for file in (program, program.parent.parent / "lib/libcpubolt.so.1"):
        shutil.copy(file, scratch)
    return subprocess.run(
        [scratch / program.name, *command],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        env={"LD_LIBRARY_PATH": str(scratch)},
        capture_output=True,
        text=True,
        check=False,
    )

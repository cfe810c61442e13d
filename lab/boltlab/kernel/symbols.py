# SPDX-License-Identifier: GPL-2.0-only
"""Reads a kernel's System.map, which tells where the kernel's functions are."""

from pathlib import Path


def read(path: Path) -> list[tuple[int, str]]:
    """Return address and name of each function in the System.map ``path``, sorted by address."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        at, kind, name = line.split()
        if kind in "tTwW" and not name.startswith("$"):
            found.append((int(at, 16), name))
    return sorted(found)

# SPDX-License-Identifier: GPL-2.0-only
"""Finds the files in results/ by name, and writes figures with three significant digits."""

import re
from pathlib import Path

from boltlab import codec, paths, versions
from boltlab.errors import BoltError
from boltlab.versions import Version

FOLDER = paths.REPO / "results"

_DATED = re.compile(r"\d{4}-\d\d-\d\d-")


def find(name: str) -> Path:
    """Return the result file called ``name``; if ``name`` has no date, the newest one.

    Raises BoltError when there is no such file.
    """
    dated = _DATED.match(name)
    wanted = name.removesuffix(".json")
    found = sorted(
        file
        for file in FOLDER.glob("*.json")
        if wanted == (file.stem if dated else _DATED.sub("", file.stem, count=1))
    )
    if not found:
        raise BoltError(f"there are no results called '{name}' in {FOLDER.name}/")
    return found[-1]


def label(version: Version) -> str:
    """Return what stands for ``version`` in names in results/: "" for the default series."""
    return "" if version.series == versions.default().series else f"linux{version.series}"


def named(arch: str, setting: str, version: Version) -> str:
    """Return the name, without a date, of results of ``version`` on ``arch`` in ``setting``."""
    return "-".join(filter(None, (arch, setting, label(version))))


def counted(name: str, version: Version) -> Path:
    """Return the path of ``name``, a file of counts.

    Each series but the default has a folder of its own.
    """
    return FOLDER / label(version) / name


def commit(file: Path) -> str:
    """Return the commit on which ``file``'s results were measured.

    Raises BoltError if the file does not tell the commit.
    """
    named = codec.document(file).get("commit")
    if not isinstance(named, str) or not named:
        raise BoltError(f"{file.name} does not say which commit was measured")
    return named


def number(figure: float) -> str:
    """Return ``figure`` with three significant digits, from 1000 on as a whole number.

    A figure between -0.0005 and 0.0005 becomes "0".
    """
    if abs(figure) >= 999.5:
        return f"{figure:,.0f}"
    if abs(figure) < 0.0005:
        return "0"
    return f"{figure:#.3g}".removesuffix(".")

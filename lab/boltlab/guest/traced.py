# SPDX-License-Identifier: GPL-2.0-only
"""Says which of the kernel's functions are traced in guests, and puts their names in scripts."""

import functools
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from boltlab import paths


@functools.cache
def phases() -> dict[str, Any]:
    """Return data/phases.toml: the functions in which hotplug requests spend time, by phase."""
    return tomllib.loads((paths.DATA / "phases.toml").read_text(encoding="utf-8"))


@functools.cache
def batches() -> dict[str, Any]:
    """Return data/batches.toml: functions whose calls are counted in requests for several CPUs."""
    return tomllib.loads((paths.DATA / "batches.toml").read_text(encoding="utf-8"))


def timed() -> list[str]:
    """Return the names of the functions that the breakdown into phases needs."""
    table = phases()
    names = [row["function"] for row in (*table["span"], *table["mark"])]
    names += [name for row in table["mark"] for name in row["until"]]
    return list(dict.fromkeys(names))


def counted() -> list[str]:
    """Return the names of the functions whose calls are counted."""
    return [name for names in batches()["count"].values() for name in names]


_PLACEHOLDERS: Mapping[str, Callable[[], list[str]]] = {"functions": timed, "batches": counted}


def fill(line: str) -> str:
    """Return the command ``line`` with functions in place of ``{functions}`` and ``{batches}``."""
    for name, wanted in _PLACEHOLDERS.items():
        line = line.replace(f"{{{name}}}", ",".join(wanted()))
    return line

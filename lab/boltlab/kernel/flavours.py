# SPDX-License-Identifier: GPL-2.0-only
"""Reads data/flavours.toml: the kinds of kernel the lab builds."""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field

from boltlab import paths
from boltlab.arch import Arch
from boltlab.errors import USAGE, BoltError

CONFIGS = paths.DATA / "config"


@dataclass(frozen=True)
class Flavour:
    """One flavour of data/flavours.toml, which explains the fields."""

    name: str
    patched: bool
    config: tuple[str, ...]
    based_on: str | None = None
    base: str = ""
    same_config: bool = False
    refactors_only: bool = False
    adds: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    steps: Mapping[str, int] = field(default_factory=dict)

    def fragment(self, arch: Arch) -> str:
        """Return this flavour's configuration fragment for ``arch``, which leaves ``base`` out."""
        files = [] if self.base else [arch.config_fragment]
        for name in self.adds:
            files.append(CONFIGS / f"{name}.config")
            special = CONFIGS / f"{name}-{arch.name}.config"
            files += [special] if special.exists() else []
        parts = [path.read_text(encoding="utf-8") for path in files]
        return "".join(parts) + "".join(f"{line}\n" for line in self.config)


_LISTS = ("config", "adds", "packages")


@functools.cache
def table() -> Mapping[str, Flavour]:
    """Return all flavours by name."""
    with (paths.DATA / "flavours.toml").open("rb") as file:
        rows = tomllib.load(file)
    return {
        name: Flavour(name=name, **{**row, **{key: tuple(row.get(key, ())) for key in _LISTS}})
        for name, row in rows.items()
    }


def get(name: str) -> Flavour:
    """Return the flavour ``name``; raise BoltError when there is none."""
    if name not in table():
        raise BoltError(f"unknown flavour '{name}' (one of {', '.join(table())})", code=USAGE)
    return table()[name]

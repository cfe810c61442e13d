# SPDX-License-Identifier: GPL-2.0-only
"""Reads which scenarios find races that Bolt causes, and which races are known (lab/torture)."""

import fnmatch
import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from boltlab.errors import BoltError
from boltlab.guest import qemu
from boltlab.torture import kcsan, matrix
from boltlab.torture.kcsan import Report
from boltlab.torture.matrix import FOLDER, Case, Config, Story

OPTION = "--races"
NATIVE, BOLT = SIDES = ("native", "bolt")
Pair = tuple[str, str]


@dataclass(frozen=True)
class Functions:
    """Patterns of the names of functions: the table ``functions`` of races.toml explains each."""

    paths: tuple[str, ...]
    arrived: tuple[str, ...]
    own: tuple[str, ...]
    helpers: tuple[str, ...]

    def pair(self, report: Report) -> Pair:
        """Return the functions that race in ``report``, in alphabetical order.

        In place of a function of ``helpers`` the result has a caller, as Report.pair() explains.
        """
        return report.pair(lambda name: _fits(name, self.helpers))

    def on_path(self, report: Report) -> bool:
        """Tell whether a stack of ``report``, or its title, has a function of ``paths``.

        A stack begins with the function of the access. From the first function of ``arrived`` on,
        the functions of a stack do not count.
        """
        names = [
            name
            for access in report.accesses
            for name in kcsan.above(access.functions, lambda name: _fits(name, self.arrived))
        ]
        return any(_fits(name, self.paths) for name in (*report.titles, *names))

    def has_own(self, pair: Pair) -> bool:
        """Tell whether one of ``pair`` is a function of Bolt's."""
        return any(_fits(name, self.own) for name in pair)


@dataclass(frozen=True)
class Plan:
    """The contents of races.toml, which explains the fields."""

    config: str
    scenarios: tuple[str, ...]
    share: float
    minutes: float
    accels: tuple[str, ...]
    timeout: float
    requests: Mapping[str, int]
    functions: Functions

    def setting(self) -> Config:
        """Return the configuration of all runs, in which a report of a race does not fail a run."""
        return replace(matrix.configs()[self.config], ignored=("^BUG: KCSAN: ",))

    def stories(self) -> dict[str, Story]:
        """Return, by name, both scenarios, without and with Bolt, of each of ``scenarios``."""
        known = matrix.stories()
        return {name: known[name] for each in self.scenarios for name in sides(each)}

    def case(
        self,
        arch: str,
        story: Story,
        accel: str,
        seed: int,
        requests: int | None,
        source: str = "",
    ) -> Case:
        """Return the run of ``story`` with so many ``requests``.

        If ``requests`` is None, the plan says how many for ``accel``. ``source``: see Case.
        """
        wanted = requests or self.requests[accel]
        return Case(arch, self.setting(), story, accel, seed, wanted, OPTION, self.timeout, source)


def sides(scenario: str) -> tuple[str, str]:
    """Return the names of the two scenarios of ``scenario``: without Bolt, and with Bolt."""
    native, bolt = (f"{scenario}-{side}" for side in SIDES)
    return native, bolt


def side(story: str) -> str:
    """Return which of SIDES the scenario called ``story`` is for."""
    return story.rpartition("-")[2]


@functools.cache
def plan() -> Plan:
    """Return the contents of races.toml; raise BoltError naming what is wrong there."""
    return parse(tomllib.loads((FOLDER / "races.toml").read_text(encoding="utf-8")))


def parse(table: Mapping[str, Any]) -> Plan:
    """Return the plan in ``table``; raise BoltError naming what is wrong."""
    _exactly(Plan, table, "races.toml")
    _exactly(Functions, table["functions"], "races.toml, functions")
    functions = {key: tuple(names) for key, names in table["functions"].items()}
    lists = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
    made = Plan(**{**table, **lists, "functions": Functions(**functions)})
    if made.config not in matrix.configs():
        raise BoltError(f"races.toml: there is no configuration '{made.config}'")
    for name in (name for each in made.scenarios for name in sides(each)):
        if name not in matrix.stories():
            raise BoltError(f"races.toml: there is no scenario '{name}'")
    if not set(made.accels) or not set(made.accels) <= {*qemu.EMULATED} & made.requests.keys():
        raise BoltError(
            "races.toml: each of 'accels' must be in 'requests', and one of "
            + ", ".join(qemu.EMULATED)
        )
    return made


@functools.cache
def known(path: Path = FOLDER / "known-races.toml") -> Mapping[Pair, str]:
    """Return the known races of ``path``, and the reason of each.

    Raises BoltError if a row is wrong.
    """
    return rows(tomllib.loads(path.read_text(encoding="utf-8")))


def rows(table: Mapping[str, Any]) -> Mapping[Pair, str]:
    """Return the reason for each pair in ``table``; raise BoltError naming a row that is wrong."""
    found: dict[Pair, str] = {}
    for row in table.get("race", []):
        if row.keys() != {"pair", "reason"} or len(row["pair"]) != 2 or not row["reason"].strip():
            raise BoltError(f"known-races.toml: a race has a pair and a reason, not {dict(row)}")
        pair = (row["pair"][0], row["pair"][1])
        if pair != tuple(sorted(pair)) or pair in found:
            raise BoltError(f"known-races.toml: {text(pair)} is not in order, or is there twice")
        found[pair] = row["reason"]
    return found


def text(pair: Sequence[str]) -> str:
    """Return the name of ``pair``, as KCSAN has it in a title."""
    return " / ".join(pair)


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _exactly(kind: type[Any], table: Mapping[str, Any], where: str) -> None:
    names = {entry.name for entry in fields(kind)}
    if wrong := sorted(names ^ table.keys()):
        raise BoltError(f"{where}: a key is missing or unknown: {', '.join(wrong)}")

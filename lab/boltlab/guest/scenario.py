# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios: what one guest does, as data (lab/scenarios/*.toml)."""

import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from boltlab import paths
from boltlab.arch import ARCHES, Arch
from boltlab.errors import USAGE, BoltError
from boltlab.guest import guestimage, limits, modules, schedulers, selftest, tools, traced
from boltlab.guest.machine import KEYS, Machine, split
from boltlab.guest.qemu import ACCELERATORS, Guest
from boltlab.kernel.build import Kernel

FOLDER = paths.REPO / "lab" / "scenarios"


@dataclass(frozen=True)
class Scenario:
    """One scenario.

    ``commands`` are lines of the guest's script, which runs ``repeat`` times; in a command
    ``{functions}`` stands for the functions in data/phases.toml, ``{batches}`` for the functions in
    data/batches.toml. ``kexec`` is the script for the kernel that the command kexec starts.
    ``timeout`` is in seconds of the host. ``kernel`` is a flavour. ``append`` is added to the
    kernel's command line. ``selftests`` are selftests of Bolt in the kernel's tree; they are in
    /bin of the guest, and may overwrite the guest's first disk without a file system. ``modules``
    are modules of the lab or of the kernel. ``tools`` are programs of tools/, ``schedulers`` are
    programs of the kernel's tools/sched_ext. ``files`` are files of this repository, found in / of
    the guest. ``setting`` is the measuring setting (see arch.py), for scenarios that need a certain
    one. ``warns`` are patterns, each of which must fit one complaint of the kernel: the complaint's
    first line, or the message that the kernel prints above this line. Any other complaint fails the
    run. ``limits`` compare medians of cases; see limits.py. A scenario's file may also have the
    fields of ``machine``.
    """

    name: str
    description: str
    commands: tuple[str, ...]
    kernel: str = "pristine"
    append: str = ""
    machine: Machine = field(default_factory=Machine)
    timeout: int = 900
    repeat: int = 1
    arches: tuple[str, ...] = tuple(ARCHES)
    selftests: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    kexec: tuple[str, ...] = ()
    setting: str = ""
    warns: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def script(self) -> tuple[str, ...]:
        """Return the guest's script, one command on each line."""
        return tuple(traced.fill(line) for line in self.commands) * self.repeat

    def changed(self, **changes: Any) -> "Scenario":
        """Return the scenario with ``changes`` of its own fields, or of fields of its machine."""
        machine, own = split(changes)
        return replace(self, machine=replace(self.machine, **machine), **own)

    def guest(self, arch: Arch, kernel: Kernel, setting: str) -> Guest:
        """Return the guest that runs this scenario on ``kernel``.

        The measuring setting is the scenario's own, or, if the scenario has none, ``setting``.
        """
        programs = modules.nodes(kernel, self.modules) | tools.nodes(arch, self.tools)
        programs |= schedulers.nodes(kernel, self.schedulers)
        programs |= {
            path.name: guestimage.file(path.read_bytes())
            for path in (paths.REPO / name for name in self.files)
        }
        append = [arch.settings[self.setting or setting], self.append]
        if self.selftests:
            programs |= selftest.build(arch, kernel, self.selftests)
            append.append(selftest.variables(self.machine))
        if self.kexec:
            programs |= guestimage.second(arch, kernel.image, self.kexec)
        return Guest(
            arch=arch,
            image=kernel.image,
            script=tuple(selftest.watched(line, self.selftests) for line in self.script),
            append=" ".join(filter(None, append)),
            machine=self.machine,
            warns=self.warns,
            timeout=self.timeout,
            programs=programs,
        )


# The types of fields of a scenario's file; all other fields are text.
_LISTS = (
    *("commands", "arches", "selftests", "modules", "tools", "schedulers", "files", "kexec"),
    *("warns", "limits", "lacks"),
)
_NUMBERS = ("cpus", "nodes", "threads", "disks", "ext4", "nics", "timeout", "repeat", "shift")
_FLAGS = ("suspends",)


def allowed() -> set[str]:
    """Return ``name``, and the keys of a scenario's file: fields of Scenario and of Machine."""
    return {entry.name for entry in fields(Scenario)} - {"machine"} | {*KEYS}


def names() -> list[str]:
    """Return the names of all scenarios: those in lab/scenarios, and those of selftests."""
    return sorted({path.stem for path in FOLDER.glob("*.toml")} | selftest.scenarios().keys())


def load(name: str) -> Scenario:
    """Return the scenario ``name``; a ``name`` that ends in .toml is the scenario's file.

    Raises BoltError when there is no such scenario, or when something is wrong in its file.
    """
    if name in selftest.scenarios():
        return parse(name, {**selftest.scenarios()[name]})
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        known = ", ".join(names())
        raise BoltError(f"no scenario '{name}' (there are: {known})", code=USAGE) from error
    except (OSError, ValueError) as error:
        raise BoltError(f"cannot read the scenario {path}: {error}") from error
    return parse(path.stem, table)


def parse(name: str, table: dict[str, Any]) -> Scenario:
    """Return the scenario in ``table``; raise BoltError naming what is wrong."""
    known = allowed() - {"name"}
    for key, value in table.items():
        if key not in known:
            raise BoltError(f"scenario {name}: unknown key '{key}'")
        if not _fits(key, value):
            raise BoltError(f"scenario {name}: '{key}' has a wrong value")
    for key in ("description", "commands"):
        if not table.get(key):
            raise BoltError(f"scenario {name}: '{key}' is missing")
    values: dict[str, Any] = {
        key: tuple(value) if key in _LISTS else value for key, value in table.items()
    }
    machine, own = split(values)
    scenario = Scenario(name=name, machine=Machine(**machine), **own)
    if scenario.machine.accel not in ACCELERATORS:
        raise BoltError(f"scenario {name}: unknown accelerator '{scenario.machine.accel}'")
    for text in scenario.warns:
        try:
            re.compile(text)
        except re.error as error:
            raise BoltError(f"scenario {name}: '{text}' is no pattern: {error}") from error
    for text in scenario.limits:
        try:
            limits.parse(text)
        except BoltError as error:
            raise BoltError(f"scenario {name}: {error}") from error
    for text in scenario.files:
        if not (paths.REPO / text).is_file():
            raise BoltError(f"scenario {name}: there is no file {text}")
    for arch in scenario.arches:
        if arch not in ARCHES:
            raise BoltError(f"scenario {name}: unknown architecture '{arch}'")
        if scenario.setting and scenario.setting not in ARCHES[arch].settings:
            raise BoltError(f"scenario {name}: {arch} has no setting '{scenario.setting}'")
    return scenario


def _fits(key: str, value: object) -> bool:
    if key in _LISTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if key in _NUMBERS:
        return isinstance(value, int) and not isinstance(value, bool) and value > 0
    return isinstance(value, bool if key in _FLAGS else str)

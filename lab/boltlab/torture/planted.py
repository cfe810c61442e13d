# SPDX-License-Identifier: GPL-2.0-only
"""Puts planted bugs into a scratch tree, one at a time, and runs the checks that must find them.

kernel/planted/planted.toml lists the bugs and their checks.
"""

import functools
import hashlib
import re
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from boltlab import codec, paths, ui
from boltlab.arch import ARCHES, Arch
from boltlab.errors import BoltError, EmulatorError, GuestError
from boltlab.guest import guestimage, qemu, scenario
from boltlab.guest.scenario import Scenario
from boltlab.kernel import build
from boltlab.kernel.build import Kernel
from boltlab.kernel.source import Source

FOLDER = paths.KERNEL / "planted"
FLAVOUR = "planted"
KIND = "planted"
# The beginnings of messages whose rest tells what a guest or QEMU was doing, and is no complaint.
_ENDED = re.compile(rf"{qemu.HUNG} \d+ s|{qemu.ENDED} -?\d+")


@dataclass(frozen=True)
class Bug:
    """A row of planted.toml, whose head explains the fields."""

    name: str
    what: str
    check: Scenario
    says: str
    expects: str = ""
    arches: tuple[str, ...] = ("x86_64",)
    series: tuple[str, ...] = ()

    @property
    def patch(self) -> Path:
        """Return the path of the patch that plants the bug."""
        return FOLDER / f"{self.name}.patch"

    def is_of(self, series: str) -> bool:
        """Tell whether kernels of ``series`` have the code that the bug is in."""
        return not self.series or series in self.series


@dataclass(frozen=True)
class Verdict:
    """The result of a check of a planted bug; ``by`` is the check's complaint, "" if none.

    ``kernel`` has the mark (tree.mark()) of Bolt's code without the bug, or is "" in a
    verdict of an older lab.
    """

    name: str
    arch: str
    caught: bool
    by: str
    date: str
    kernel: str = ""


@functools.cache
def bugs() -> Mapping[str, Bug]:
    """Return all planted bugs by name; raise BoltError naming what is wrong in the table."""
    table = tomllib.loads((FOLDER / "planted.toml").read_text(encoding="utf-8"))
    return {name: parse(name, row) for name, row in table.items()}


def parse(name: str, row: Mapping[str, Any]) -> Bug:
    """Return the bug in ``row``.

    The key ``scenario`` names the scenario of the check. Other keys that are no fields of Bug
    change fields of this scenario.
    """
    own = {entry.name for entry in fields(Bug)} - {"name", "check"}
    known = scenario.allowed() - {"name", "arches"}
    for key in row.keys() - own - known - {"scenario"}:
        raise BoltError(f"planted bug {name}: unknown key '{key}'")
    for key in ("what", "scenario", "says"):
        if not row.get(key):
            raise BoltError(f"planted bug {name}: '{key}' is missing")
    changes: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in row.items()
        if key in known
    }
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in row.items()
        if key in own
    }
    check = scenario.load(row["scenario"]).changed(**{**changes, "kernel": FLAVOUR})
    return Bug(name=name, check=check, **values)


def plant(bug: Bug, tree: Path) -> str:
    """Put ``bug`` into ``tree`` and return the bug's name.

    Raises BoltError when ``tree`` lacks lines that the bug's patch removes or has as context.
    """
    done = subprocess.run(
        ["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-i", str(bug.patch)],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BoltError(f"the planted bug {bug.name} does not apply: {done.stdout.strip()}")
    return bug.name


def kernel(bug: Bug | None, arch: Arch, where: Source, jobs: int) -> Kernel:
    """Return the kernel with ``bug`` in it, or without any bug if ``bug`` is None."""
    if bug is None:
        return build.ensure_kernel(arch, FLAVOUR, where, jobs)
    return build.changed_kernel(arch, FLAVOUR, where, jobs, functools.partial(plant, bug))


def check(bug: Bug, arch: str, built: Kernel) -> str:
    """Return what the check of ``bug`` complains of on the kernel ``built``, or "" if nothing.

    Raises BoltError if the guest cannot be run, and EmulatorError if known faults of QEMU have
    stopped the guest again and again: neither is a complaint.
    """
    target = ARCHES[arch]
    guest = bug.check.guest(target, built, target.default_setting)
    try:
        done = qemu.run(guest, f"planted-{arch}-{bug.name}")
    except EmulatorError:
        raise
    except GuestError as error:
        return error.message
    said = (done.folder / "console.log").read_text(encoding="utf-8", errors="replace")
    if bug.expects and not re.search(bug.expects, said):
        return f"the console does not show '{bug.expects}'"
    return ""


def require_sound(bug: Bug, arch: Arch, where: Source, jobs: int) -> None:
    """Raise BoltError if the check of ``bug`` complains about the kernel without the bug.

    A check that has not complained is not run again with the same kernel, programs and modules.
    """
    stamp = build.stamp_of(arch, FLAVOUR, where)
    key = hashlib.sha256(repr((arch.name, bug.check, bug.expects, stamp)).encode())
    for path in sorted(guestimage.SOURCES.rglob("*.[ch]")):
        key.update(path.read_bytes())
    mark = paths.cache() / "planted" / key.hexdigest()
    if mark.exists():
        return
    built = kernel(None, arch, where, jobs)
    with ui.status(f"the check of {bug.name} without the bug, on {arch.name}"):
        said = check(bug, arch.name, built)
    if said:
        raise BoltError(f"without the bug, the check of {bug.name} fails: {said}")
    mark.parent.mkdir(exist_ok=True)
    mark.touch()


def judge(bug: Bug, arch: str, said: str, date: str, kernel: str = "") -> Verdict:
    """Return the verdict: the bug is found if the complaint ``said`` matches ``bug.says``.

    If ``said`` is about a guest that hangs, or whose QEMU ends, only the words that say so are
    compared with ``bug.says``. ``kernel``: see Verdict.
    """
    ended = _ENDED.match(said)
    caught = bool(re.search(bug.says, ended[0] if ended else said))
    return Verdict(bug.name, arch, caught, said, date, kernel)


def save(path: Path, verdicts: list[Verdict]) -> None:
    """Add ``verdicts`` to the file ``path``.

    A verdict replaces the older verdict on the same bug on the same architecture.
    """
    with codec.changing():
        known = load(path) if path.exists() else []
        rows = {(verdict.name, verdict.arch): asdict(verdict) for verdict in [*known, *verdicts]}
        codec.save(codec.lines(KIND, {}, "bugs", (rows[key] for key in sorted(rows))), path)


@dataclass(frozen=True)
class _Kept:
    """The contents of a file of verdicts."""

    bugs: list[Verdict]


def load(path: Path) -> list[Verdict]:
    """Return the verdicts in ``path``; raise BoltError if ``path`` is no file of verdicts."""
    return codec.read(_Kept, path, "holds no verdicts on planted bugs", KIND).bugs

# SPDX-License-Identifier: GPL-2.0-only
"""Debian's user space in a guest: makes its image, runs checks, and compares native with Bolt."""

import asyncio
import base64
import hashlib
import os
import platform
import re
import shlex
import shutil
import socket
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from qemu.qmp import QMPClient

from boltlab import arch, packages, paths, ui
from boltlab.debian.agent import Agent
from boltlab.errors import UNAVAILABLE, BoltError
from boltlab.guest import backports, qemu, slots, tries
from boltlab.guest.machine import Machine, split
from boltlab.guest.qemu import Guest, GuestResult
from boltlab.kernel.build import Kernel
from boltlab.locks import lock

TABLE = paths.DATA / "userland.toml"
PROLOGUE = paths.DATA / "userland.sh"
# Without these arguments, a guest's x86 kernel may, if the host is busy, take an emulated timer for
# broken, or the TSC for much slower than the TSC is. On arm64 these arguments have no effect.
CLOCK = "no_timer_check clocksource=hpet tsc=unstable"
# Mode -> arguments of the kernel.
APPEND = {"native": f"{CLOCK} bolt=off", "bolt": f"{CLOCK} bolt=on"}
MODES = tuple(APPEND)
LONGEST = 3600  # seconds of the host that a guest may take
# A part of stamp(). If the way the image is made changes, other than in FILES, raise VERSION, so
# that a new image is made.
VERSION = 1
GIGABYTES = 4.0  # GB of disk for the image and the files it is made from
# The guest's second disk holds the script of the run; the first one is the root.
SCRIPT = "/dev/vdb"
UNIT = f"""\
[Unit]
Description=Checks of the lab

[Service]
ExecStart=/bin/sh {SCRIPT}
StandardError=journal+console
"""
UNITS = "etc/systemd/system"
# File of the image -> its text. If the text begins with a slash, the file is a link to that path.
FILES = {
    "etc/fstab": "",
    "etc/hostname": "guest\n",
    # Without this file systemd takes each boot for the first one, and enables all units.
    "etc/machine-id": "b017" * 8 + "\n",
    f"{UNITS}/checks.service": UNIT,
    f"{UNITS}/multi-user.target.wants/checks.service": f"/{UNITS}/checks.service",
    # These links disable units that would do work of their own while a check runs.
    f"{UNITS}/timers.target": "/dev/null",
    f"{UNITS}/serial-getty@.service": "/dev/null",
    f"{UNITS}/irqbalance.service": "/dev/null",
}


@dataclass(frozen=True)
class Check:
    """One row of data/userland.toml: a command, and how its runs in the two MODES are compared.

    ``away`` are the CPUs that are offline (in the mode "bolt": parked) while the command runs. The
    exit statuses of both runs must be equal. ``same``: both runs must also print the same, after
    each match of a pattern of ``vary`` has been replaced by the text that ``vary`` has for the
    pattern. ``wants`` are patterns that must be in the output of each run. ``timeout`` is in
    seconds of the guest. ``guest`` names a guest of the table.
    """

    name: str
    command: str
    guest: str = "plain"
    away: str = ""
    same: bool = True
    vary: Mapping[str, str] | None = None
    wants: tuple[str, ...] = ()
    timeout: int = 300


def release() -> str:
    """Return the code name of the host's Debian release.

    Raises BoltError, code 69, if the host is no Debian.
    """
    try:
        words = platform.freedesktop_os_release()
    except OSError:
        words = {}
    if words.get("ID") != "debian" or "VERSION_CODENAME" not in words:
        raise BoltError(
            "the host is no Debian, and the guest gets the host's release", code=UNAVAILABLE
        )
    return words["VERSION_CODENAME"]


def _table() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def included() -> tuple[str, ...]:
    """Return the table's packages, which are added to Debian's smallest system (minbase)."""
    return tuple(_table()["packages"])


def checks() -> list[Check]:
    """Return the checks of the table, in order."""
    rows = _table()["check"]
    return [Check(**{**row, "wants": tuple(row.get("wants", ()))}) for row in rows]


def guests() -> dict[str, dict[str, Any]]:
    """Return the guests of the table: name -> fields of qemu.Guest and of Machine.

    The field ``board`` maps architecture -> arguments; on an architecture that ``board`` lacks, the
    guest has the architecture's usual board.
    """
    return dict(_table()["guest"])


def requests() -> list[Mapping[str, Any]]:
    """Return the table's requests to the guest agent, in order."""
    return list(_table()["agent"]["requests"])


def stamp(suite: str, names: Sequence[str]) -> str:
    """Return a text that differs for each suite, list of packages and way to make the image."""
    text = repr((VERSION, suite, sorted(names), sorted(FILES.items())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def image(kind: str = "", names: Sequence[str] | None = None) -> Path:
    """Return an ext4 image of the host's release with packages ``names``, made if need be.

    By default ``names`` are the table's packages. The cache keeps only the newest image of each
    ``kind``. Raises BoltError when the image cannot be made. The code is 69 if the host is no
    Debian or lacks a program that the lab may not install, and, if the image has to be made, when
    the user is not root or backports.mirror() finds no mirror of the host's release.
    """
    names = included() if names is None else names
    found = require(kind, names)
    packages.ensure("userland", "guest")
    suite, folder = release(), found.parent
    with lock(folder / "image"):
        if not found.exists():
            paths.require_space(folder, GIGABYTES, "Debian's user space")
            half = found.with_suffix(".half")
            _make(suite, names, half)
            for stale in folder.glob("*.ext4"):
                stale.unlink()
            half.rename(found)
    return found


def require(kind: str = "", names: Sequence[str] | None = None) -> Path:
    """Return where the image is that image() returns, or where image() would make the image.

    Raises BoltError, code 69, if image() would have to make the image and the user is not root, and
    if the host is no Debian.
    """
    suite, names = release(), included() if names is None else names
    found = paths.cache() / "userland" / kind / f"{suite}-{stamp(suite, names)}.ext4"
    if os.geteuid() and not found.exists():
        raise BoltError("Debian's user space is unpacked by root only", code=UNAVAILABLE)
    return found


def _make(suite: str, names: Sequence[str], to: Path) -> None:
    """Make the image: packages become an archive, then a directory, then an ext4 file system."""
    mirror = backports.mirror(suite)
    if mirror is None:
        raise BoltError(
            f"apt has no mirror of Debian's {suite}, or no lists of it (apt-get update)",
            code=UNAVAILABLE,
        )
    log = paths.new_log("userland")
    scratch = to.with_name("scratch")
    _remove(scratch)
    try:
        _fill(suite, names, to, scratch, mirror, log)
    finally:
        _remove(scratch)


def _remove(scratch: Path) -> None:
    """Remove ``scratch``, if it exists, and all that is below it.

    mmdebstrap mounts file systems of the host below ``scratch``, and unmounts these at its end.
    Raises BoltError, and removes nothing, while such a file system is mounted.
    """
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    points = [line.split()[4] for line in mounts]
    if any(point.startswith(f"{scratch}/") for point in points):
        raise BoltError(f"file systems are still mounted below {scratch}: unmount them")
    shutil.rmtree(scratch, ignore_errors=True)


def _fill(
    suite: str, names: Sequence[str], to: Path, scratch: Path, mirror: str, log: Path
) -> None:
    root = scratch / "root"
    root.mkdir(parents=True)
    archive = scratch / "root.tar"
    words = ["mmdebstrap", "--variant=minbase", f"--include={','.join(names)}"]
    words += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
    with ui.status(f"installing Debian's {suite} into an image"), log.open("wb") as out:
        for command in (
            [*words, suite, str(archive), mirror],
            # Device nodes are left out, because the guest's kernel makes them (devtmpfs).
            ["tar", "-x", "-C", str(root), "--exclude=./dev/*", "-f", str(archive)],
            ["truncate", "-s", "3G", str(to)],
        ):
            _run(command, out, log, scratch)
        for name, text in FILES.items():
            put(root / name, text)
        make = [qemu.binary("mkfs.ext4"), "-q", "-F", "-d", str(root), str(to)]
        _run(make, out, log, scratch)


def put(path: Path, text: str) -> None:
    """Make ``path`` a file with ``text``, or, if ``text`` begins with a slash, a link to ``text``.

    An older file ``path`` is replaced.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if text.startswith("/"):
        path.symlink_to(text)
    else:
        path.write_text(text, encoding="utf-8")


def _run(command: list[str], out: IO[bytes], log: Path, scratch: Path) -> None:
    # mmdebstrap unpacks in TMPDIR: /tmp may be too small.
    if packages.call(command, out, {"TMPDIR": str(scratch)}):
        raise BoltError(f"{Path(command[0]).name} could not make Debian's user space", log)


def script(rows: Sequence[Check], mode: str) -> tuple[str, ...]:
    """Return the shell script that runs ``rows`` in a guest in ``mode``, as lines."""
    lines = PROLOGUE.read_text(encoding="utf-8").splitlines()
    lines.append(f"mode {mode}")
    for row in rows:
        words = [row.name, row.away, str(row.timeout), row.command]
        lines.append(f"check {shlex.join(words)}")
    return (*lines, "finish")


def run(kernel: Kernel, root: Path, name: str, rows: Sequence[Check], mode: str) -> GuestResult:
    """Run ``rows`` in the table's guest ``name``, with ``kernel`` and the image ``root``.

    While the guest runs, the host answers its requests: see agent.py and slots.py. If a known fault
    of QEMU stops the guest, the guest is booted again: see tries.py.
    """
    _, own = split(guests()[name])
    return tries.again(
        f"{name}, {mode}",
        lambda: _boot(kernel, root, name, rows, mode),
        warns=own.get("warns", ()),
    )


def _boot(kernel: Kernel, root: Path, name: str, rows: Sequence[Check], mode: str) -> GuestResult:
    target = arch.ARCHES[kernel.arch]
    machine, own = split(guests()[name])
    ours, theirs = socket.socketpair()
    with ours, theirs:
        guest = Guest(
            target,
            kernel.image,
            script(rows, mode),
            append=f"{own.pop('append', '')} {APPEND[mode]}".strip(),
            machine=Machine(**{"accel": "mttcg", "memory": "2G", **machine}),
            timeout=LONGEST,
            root=root,
            agent=theirs,
            board=tuple(own.pop("board", {}).get(target.name, ())),
            warns=tuple(own.pop("warns", ())),
            **own,
        )
        asked = Agent(ours, requests())

        async def beside(client: QMPClient, folder: Path) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(asked(client, folder))
                group.create_task(slots.obey(client, folder))

        folder = qemu.new_run(f"test-{target.name}-userland-{name}-{mode}")
        return qemu.run_in(guest, folder, watcher=beside)


def differences(rows: Sequence[Check], records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a text for each way in which, by ``records``, a check of ``rows`` ended wrongly."""
    found = {(row["check"], row["mode"]): row for row in records if "check" in row}
    wrong = []
    for row in rows:
        said = {}
        for mode in MODES:
            one = found.get((row.name, mode))
            if one is None:
                wrong.append(f"{row.name}: not run ({mode})")
                continue
            parked = row.away if mode == "bolt" else ""
            if one["parked"] != parked:
                wrong.append(f"{row.name}: parked are '{one['parked']}' ({mode})")
            text = base64.b64decode(one["output"]).decode(errors="replace")
            for pattern in row.wants:
                if not re.search(pattern, text, re.M):
                    wrong.append(f"{row.name}: no '{pattern}' ({mode}):\n{text}")
            said[mode] = one["status"], plain(text, row.vary or {}) if row.same else ""
        if len(set(said.values())) > 1:
            texts = "\n".join(f"{mode}: status {each[0]}\n{each[1]}" for mode, each in said.items())
            wrong.append(f"{row.name}: differs\n{texts}")
    return wrong


def times(records: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return how long each check of ``records`` took in each mode, in ms of the guest's clock.

    The guest runs in real time, with several threads of QEMU. So the times depend on the host's
    load, and include the time for which a check sleeps.
    """
    found: dict[str, dict[str, int]] = {}
    for row in records:
        if "check" in row:
            found.setdefault(row["check"], {})[row["mode"]] = row["ms"]
    return found


def plain(text: str, vary: Mapping[str, str]) -> str:
    """Return ``text`` with each match of a pattern of ``vary`` replaced, as Check says."""
    for pattern, instead in vary.items():
        text = re.sub(pattern, instead, text, flags=re.M)
    return text

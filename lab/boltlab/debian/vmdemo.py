# SPDX-License-Identifier: GPL-2.0-only
"""Runs a Debian guest with a service under load; the host adds CPUs, and takes them out again."""

import asyncio
import shlex
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qemu.qmp import QMPClient

from boltlab import arch, paths
from boltlab.debian import agent, userland
from boltlab.errors import USAGE, BoltError
from boltlab.guest import guestimage, qemu, serving, slots, tools, tries
from boltlab.guest.guestimage import Node
from boltlab.guest.machine import Machine
from boltlab.guest.qemu import Guest, GuestResult
from boltlab.kernel.build import Kernel

FUNCTIONS = paths.DATA / "vm-demo.sh"
UNIT = paths.REPO / "tools" / "cpuboltd" / "systemd" / "cpuboltd.service.in"
PLACE = "/run/bolt"  # in the guest: where the medium is mounted
POLL = 0.05  # seconds between two looks for requests of the guest
MEDIUM = 64 << 20  # bytes of the file system that medium() makes


@dataclass(frozen=True)
class Ran:
    """A guest that ended well, and seconds of the host, in the order of the guest's records.

    ``deleted``: from each order to take a CPU out until the CPU was out. ``answered``: from each
    order to the guest agent until the agent had set the CPU.
    """

    done: GuestResult
    deleted: tuple[float, ...]
    answered: tuple[float, ...]


def variants() -> dict[str, Mapping[str, Any]]:
    """Return the variants by name, in order, as data/vm-demo.toml has them."""
    return dict(serving.table()["variant"])


def variant(name: str) -> Mapping[str, Any]:
    """Return the variant ``name``; raise BoltError when there is no such variant."""
    rows = variants()
    if name not in rows:
        known = ", ".join(rows)
        raise BoltError(f"there is no variant '{name}' (known: {known})", code=USAGE)
    return rows[name]


def adds(accel: str) -> bool:
    """Tell whether the host adds and removes CPUs; otherwise CPUs only go online and offline.

    Without KVM, a kernel counts empty slots as possible CPUs only if the kernel takes the machine
    for VMware's. Such a kernel asks a port of VMware's for the time, and in virtual time QEMU
    cannot answer.
    """
    return accel != "icount"


def guests(cycles: int, accel: str) -> list[int]:
    """Return how many cycles each guest of a run of ``cycles`` has.

    The emulator makes a new thread each time that a CPU is added, even if the same CPU was there
    before. Over the whole life of a guest the emulator makes at most as many such threads as the
    guest has slots, and the threads of CPUs that have been removed count. So the slots limit the
    cycles of a guest. If the host adds no CPUs (see adds()), one guest has all cycles.
    """
    row = serving.table()["guest"]
    most = (row["most"] - row["cpus"]) // len(serving.cpus()) if adds(accel) else cycles
    full, rest = divmod(cycles, most)
    return [most] * full + [rest] * (rest > 0)


def script(name: str, cycles: int, accel: str, dwell_ms: int) -> tuple[str, ...]:
    """Return the shell script, as lines, that a guest of the variant ``name`` runs.

    ``dwell_ms``: how long the guest waits between two changes; if the variant's row has a longer
    time, the guest waits for that time.
    Raises BoltError when there is no such variant.
    """
    row = variant(name)
    ways = len(serving.WAYS) if adds(accel) else len(serving.WAYS) - 1
    dwell_ms = max(dwell_ms, row.get("dwell_ms", 0))
    words = serving.words(cycles, dwell_ms, ways, adds(accel))
    texts = [path.read_text(encoding="utf-8") for path in (userland.PROLOGUE, FUNCTIONS)]
    lines = [line for text in texts for line in text.splitlines()]
    if not adds(accel):
        lines.append(f"chcpu -d {serving.cpus().start}-{serving.cpus().stop - 1}")
    lines += row.get("commands", ())
    if "daemon" in row:
        lines.append(f"daemon {row['daemon']}")
    lines.append(f"served {shlex.join(words)}")
    if "daemon" in row:
        lines.append("daemon_said")
    return (*lines, *row.get("after", ()), "finish")


def medium(to: Path, nodes: Mapping[str, Node]) -> Path:
    """Make the file system ``to`` of ``nodes`` (path -> node); raise BoltError when that fails."""
    root = to.with_suffix(".d")
    for name, node in nodes.items():
        path = root / name
        if node.data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(node.data)
            path.chmod(node.mode & 0o777)
    with to.open("wb") as file:
        file.truncate(MEDIUM)
    command = [qemu.binary("mkfs.ext4"), "-q", "-F", "-d", str(root), str(to)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    shutil.rmtree(root)
    if done.returncode:
        raise BoltError(f"cannot make the demo's file system: {done.stderr.strip()}")
    return to


def nodes(target: arch.Arch, row: Mapping[str, Any]) -> dict[str, Node]:
    """Return the files that a guest of the variant ``row`` has on its medium."""
    found = {serving.PROGRAM: guestimage.file(guestimage.program(target, serving.PROGRAM), 0o755)}
    if "daemon" in row:
        unit = UNIT.read_text(encoding="utf-8")
        ours = f"{PLACE}/bin/cpuboltd --config /run/cpuboltd.conf"
        unit = unit.replace("@SBINDIR@/cpuboltd", ours)
        found |= tools.nodes(target, ["cpuboltd"])
        found["cpuboltd.service"] = guestimage.file(unit.encode())
        settings = serving.table()["daemon"]["text"] + row.get("settings", "")
        found["cpuboltd.conf"] = guestimage.file(settings.encode())
    return found


def run(kernel: Kernel, root: Path, name: str, cycles: int, accel: str, dwell_ms: int) -> list[Ran]:
    """Run the variant ``name`` on ``kernel`` with the image ``root``, in the guests of guests().

    Raises BoltError when a guest fails, its kernel complains, a guest keeps a CPU that the host
    wants out, or the guest agent does not set a CPU.
    """

    def boot(each: int) -> Ran:
        what = f"vm-demo, {name}"
        return tries.again(what, lambda: _boot(kernel, root, name, each, accel, dwell_ms))

    return [boot(each) for each in guests(cycles, accel)]


def _boot(kernel: Kernel, root: Path, name: str, cycles: int, accel: str, dwell_ms: int) -> Ran:
    target = arch.ARCHES[kernel.arch]
    chosen = variant(name)
    row = serving.table()["guest"]
    folder = qemu.new_run(f"{target.name}-vm-demo-{name}")
    needed = row["cpus"] + cycles * len(serving.cpus())
    ours, theirs = socket.socketpair()
    with ours, theirs:
        guest = Guest(
            target,
            kernel.image,
            script(name, cycles, accel, dwell_ms),
            append=f"{userland.CLOCK} {chosen.get('append', '')}".strip(),
            machine=Machine(
                cpus=row["cpus"] if adds(accel) else serving.cpus().stop,
                memory="2G",
                accel=accel,
            ),
            timeout=userland.LONGEST,
            root=root,
            media=(medium(folder / "medium.img", nodes(target, chosen)),),
            agent=theirs,
            slots=max(row["slots"], needed) if adds(accel) else 0,
            board=tuple(row["board"]) if adds(accel) else (),
        )
        deleted: list[float] = []
        answered: list[float] = []

        async def beside(client: QMPClient, where: Path) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(agent.set_cpus(ours, where, answered.append, POLL))
                group.create_task(slots.obey(client, where, deleted.append, POLL))

        done = qemu.run_in(guest, folder, watcher=beside)
    return Ran(done, tuple(deleted), tuple(answered))

# SPDX-License-Identifier: GPL-2.0-only
"""A Debian guest with a service under load, whose host adds CPUs and takes them out again."""

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qemu.qmp import QMPClient

from boltlab import arch, paths
from boltlab.debian import userland
from boltlab.errors import USAGE, BoltError
from boltlab.guest import guestimage, qemu, slots
from boltlab.guest.machine import Machine
from boltlab.guest.qemu import BLOCK, Guest, GuestResult
from boltlab.kernel.build import Kernel

TABLE = paths.DATA / "vm-demo.toml"
PROGRAM = "bin/served"
DISK = "/dev/vdd"  # with the program: the first one after the root, the script and the kernel


@dataclass(frozen=True)
class Ran:
    """A guest that ended well, and the host's seconds until each CPU was out."""

    done: GuestResult
    deleted: tuple[float, ...]


def _table() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def variants() -> dict[str, Mapping[str, Any]]:
    """Return the variants by name, in order: label, mode and commands."""
    return dict(_table()["variant"])


def adds(accel: str) -> bool:
    """Tell whether the host adds CPUs and takes them out, and not only has them online or not.

    A kernel that believes in slots asks a port of VMware's for the time, which QEMU cannot answer
    in virtual time.
    """
    return accel != "icount"


def script(variant: str, cycles: int, accel: str) -> tuple[str, ...]:
    """Return the lines that a guest of ``variant`` runs; BoltError when there is none."""
    table = _table()
    if variant not in table["variant"]:
        known = ", ".join(table["variant"])
        raise BoltError(f"there is no variant '{variant}' (known: {known})", code=USAGE)
    row = table["variant"][variant]
    load = {**table["load"], "cycles": cycles, "slots": int(adds(accel))}
    words = [f"{key}={value}" for key, value in load.items()]
    lines = userland.PROLOGUE.read_text(encoding="utf-8").splitlines()
    return (
        *lines,
        f"mode {row['mode']}",
        *row["commands"],
        f"[ ! -d $cpu/cpu{table['guest']['cpus']} ] || chcpu -d {load['cpus']}",
        f"cat {DISK} >/run/served && chmod +x /run/served",
        # A POSIX shell has no descriptor 10, which the lab's programs write to.
        f"bash -c 'exec /run/served {shlex.join(words)} 10>&3' ||",
        "{ systemctl --no-block poweroff; exit 1; }",
        "finish",
    )


def run(kernel: Kernel, root: Path, variant: str, cycles: int, accel: str) -> Ran:
    """Run the demo's guest on ``kernel`` with the image ``root``; see data/vm-demo.toml.

    Raises BoltError when the guest fails, or keeps a CPU that the host wants out.
    """
    target = arch.ARCHES[kernel.arch]
    lines = script(variant, cycles, accel)
    row = _table()["guest"]
    folder = qemu.new_run(f"{target.name}-vm-demo-{variant}")
    media = folder / "served"
    program = guestimage.program(target, PROGRAM)
    media.write_bytes(program + bytes(-len(program) % BLOCK))
    guest = Guest(
        target,
        kernel.image,
        lines,
        append=userland.APPEND[variants()[variant]["mode"]],
        machine=Machine(cpus=row["cpus" if adds(accel) else "slots"], memory="2G", accel=accel),
        timeout=userland.LONGEST,
        root=root,
        media=(media,),
        slots=row["slots"] if adds(accel) else 0,
        board=tuple(row["board"]) if adds(accel) else (),
    )
    deleted: list[float] = []

    async def beside(client: QMPClient, where: Path) -> None:
        await slots.obey(client, where, deleted.append)

    return Ran(qemu.run_in(guest, folder, watcher=beside), tuple(deleted))

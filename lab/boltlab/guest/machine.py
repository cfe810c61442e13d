# SPDX-License-Identifier: GPL-2.0-only
"""The machine that a guest runs on: its CPUs, memory and devices."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from boltlab.errors import BoltError

MEBIBYTES = {"M": 1, "G": 1024}


@dataclass(frozen=True)
class Machine:
    """One machine; scenarios and torture's configurations describe machines with these fields.

    ``threads``: hardware threads of a core. ``disks``: scratch disks with a queue for each CPU, the
    first ``ext4`` of which have a file system. ``nics``: network cards, each on a network of its
    own. ``accel``: how the emulator runs the CPUs. ``shift``: in virtual time an instruction takes
    2^``shift`` ns, if the guest has no seed. ``features``, in QEMU's notation, are added to the
    CPU's model. Of the features ``lacks``, CPU 1 does not have the first, CPU 2 does not have
    the second, and so on. ``suspends``: the guest suspends or hibernates, and so has shared memory
    for its results and its log; see channels.py.
    """

    cpus: int = 4
    nodes: int = 1
    threads: int = 1
    memory: str = "1G"
    disks: int = 0
    ext4: int = 0
    nics: int = 0
    accel: str = "icount"
    shift: int = 1
    features: str = ""
    lacks: tuple[str, ...] = ()
    suspends: bool = False

    @property
    def mebibytes(self) -> int:
        """Return the memory's size in MiB; raise BoltError unless ``memory`` is like 512M or 2G."""
        number, unit = self.memory[:-1], self.memory[-1:]
        if not number.isdecimal() or unit not in MEBIBYTES:
            raise BoltError(f"'{self.memory}' is no size of memory such as 512M or 2G")
        return int(number) * MEBIBYTES[unit]


KEYS = tuple(entry.name for entry in fields(Machine))


def split(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide ``table``: return the entries that are fields of Machine, and all other entries."""
    ours = {key: value for key, value in table.items() if key in KEYS}
    return ours, {key: value for key, value in table.items() if key not in KEYS}

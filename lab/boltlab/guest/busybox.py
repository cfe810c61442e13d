# SPDX-License-Identifier: GPL-2.0-only
"""Gets a static busybox for the guests' shell, without installing a package."""

import shutil
import struct
from pathlib import Path

from boltlab import debs, packages, paths
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.locks import lock

PACKAGE = "busybox-static"
PLACES = ("bin/busybox", "usr/bin/busybox")  # paths in the package of Debian 12, and of Debian 13

MACHINES = {"x86_64": 62, "arm64": 183}  # the architectures' numbers in ELF files
_PT_INTERP = 3


def ensure(arch: Arch) -> Path:
    """Return the path of a static busybox for ``arch``.

    The program is this machine's own, or else Debian's, which is kept in the cache.
    Raises BoltError when this machine has no static busybox and Debian's cannot be fetched.
    """
    own = packages.which("busybox")
    if own and is_static(Path(own).read_bytes(), arch):
        return Path(own)
    kept = paths.cache() / f"busybox-{arch.name}"
    with lock(kept):
        if not kept.exists():
            _fetch(arch, kept)
    return kept


def is_static(program: bytes, arch: Arch) -> bool:
    """Tell whether ``program`` is an ELF program for ``arch`` that needs no dynamic linker."""
    if program[:6] != b"\x7fELF\x02\x01":  # an ELF file of 64 bits, little endian
        return False
    (machine,) = struct.unpack_from("<H", program, 18)
    (table,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    kinds = {struct.unpack_from("<I", program, table + i * size)[0] for i in range(count)}
    return bool(machine == MACHINES[arch.name] and _PT_INTERP not in kinds)


def _fetch(arch: Arch, to: Path) -> None:
    """Copy busybox out of Debian's package into the file ``to``."""
    scratch = to.with_name(f"{to.name}.half")
    debs.unpack(arch, [PACKAGE], scratch)
    for place in PLACES:
        program = scratch / place
        if program.is_file() and is_static(program.read_bytes(), arch):
            program.rename(to)
            shutil.rmtree(scratch)
            return
    raise BoltError(f"apt's {PACKAGE} has no static busybox for {arch.name}")

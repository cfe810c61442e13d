# SPDX-License-Identifier: GPL-2.0-only
"""Gets a static busybox for the guests' shell, without changing anything on this machine."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

from boltlab import packages, paths, ui
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.locks import lock

PACKAGE = "busybox-static"
PLACES = ("bin/busybox", "usr/bin/busybox")  # in the package: Debian 12, Debian 13

# Architecture -> Debian's name of it, and the machine number in its ELF files.
DEBIAN = {"x86_64": ("amd64", 62), "arm64": ("arm64", 183)}
_PT_INTERP = 3


def ensure(arch: Arch) -> Path:
    """Return a static busybox for ``arch``: this machine's own, or Debian's, kept in the cache.

    Raises BoltError when there is neither.
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
    if program[:6] != b"\x7fELF\x02\x01":  # 64 bits, little endian
        return False
    (machine,) = struct.unpack_from("<H", program, 18)
    (table,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    kinds = {struct.unpack_from("<I", program, table + i * size)[0] for i in range(count)}
    return bool(machine == DEBIAN[arch.name][1] and _PT_INTERP not in kinds)


def _fetch(arch: Arch, to: Path) -> None:
    """Download Debian's package through apt, with lists and state of our own, and unpack it."""
    for tool in ("apt-get", "dpkg-deb"):
        if packages.which(tool) is None:
            raise BoltError(f"no static busybox for {arch.name}: install one (there is no {tool})")
    scratch = to.with_name(f"{to.name}.half")
    shutil.rmtree(scratch, ignore_errors=True)
    for folder in ("lists/partial", "cache/archives/partial", "root"):
        (scratch / folder).mkdir(parents=True)
    (scratch / "status").touch()
    log = paths.new_log(f"busybox-{arch.name}")
    apt = ["apt-get", "-q", *(f"-o{option}" for option in _options(arch, scratch))]
    with ui.status(f"fetching {PACKAGE} for {arch.name}"), log.open("wb") as out:
        for command in ([*apt, "update"], [*apt, "download", PACKAGE]):
            if subprocess.run(command, stdout=out, stderr=out, cwd=scratch, check=False).returncode:
                raise BoltError(f"apt cannot get {PACKAGE} for {arch.name}", log)
        for package in scratch.glob("*.deb"):
            unpack = ["dpkg-deb", "-x", str(package), str(scratch / "root")]
            subprocess.run(unpack, stdout=out, stderr=out, check=False)
    for place in PLACES:
        program = scratch / "root" / place
        if program.is_file() and is_static(program.read_bytes(), arch):
            program.rename(to)
            shutil.rmtree(scratch)
            return
    raise BoltError(f"apt's {PACKAGE} has no static busybox for {arch.name}", log)


def _options(arch: Arch, scratch: Path) -> list[str]:
    name = DEBIAN[arch.name][0]
    options = [
        f"APT::Architecture={name}",
        f"APT::Architectures={name}",
        f"Dir::State={scratch}",
        f"Dir::State::lists={scratch}/lists",
        f"Dir::State::status={scratch}/status",
        f"Dir::Cache={scratch}/cache",
    ]
    # apt's own unprivileged user has no way into the cache of root.
    return [*options, "APT::Sandbox::User=root"] if os.geteuid() == 0 else options

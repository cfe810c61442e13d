# SPDX-License-Identifier: GPL-2.0-only
"""Builds schedulers of the kernel's tools/sched_ext, which are BPF programs, for guests."""

from collections.abc import Sequence
from pathlib import Path

from boltlab import arch, packages, paths, ui
from boltlab.arch import ARCHES
from boltlab.errors import UNAVAILABLE, BoltError
from boltlab.guest import guestimage, tools
from boltlab.guest.guestimage import Node
from boltlab.kernel.build import Kernel, tree_of
from boltlab.locks import lock

CLANG = "clang-19"  # tools/sched_ext needs version 16 or newer; Debian 12 and 13 have version 19


def nodes(kernel: Kernel, wanted: Sequence[str]) -> dict[str, Node]:
    """Return the schedulers ``wanted`` and their libraries as nodes of an initramfs.

    The schedulers are in bin/, the libraries in lib/; see tools.linker() for the dynamic linker.
    Raises BoltError when the kernel is for another architecture than the host's, as the programs
    are linked with the host's libraries, or when a scheduler does not build.
    """
    if not wanted:
        return {}
    arch = ARCHES[kernel.arch]
    if not arch.is_host:
        raise BoltError(f"schedulers are built on a host of {arch.name} only", code=UNAVAILABLE)
    packages.ensure("build", "schedulers", arches=[arch])
    places = [Path("/", base, arch.triplet) for base in ("lib", "usr/lib")]
    found: dict[str, Node] = {}
    for program in _build(kernel, wanted):
        found[f"bin/{program.name}"] = guestimage.file(program.read_bytes(), 0o755)
        found |= tools.libraries(arch, program, places) | tools.linker(program, places)
    return found


def _build(kernel: Kernel, wanted: Sequence[str]) -> list[Path]:
    """Return the programs; make builds those whose sources, or whose kernel's BTF, have changed."""
    types = kernel.tree / "vmlinux"
    folder = paths.cache() / "tools" / f"schedulers-{kernel.arch}-{kernel.flavour}-{kernel.id}"
    log = paths.new_log(folder.name)
    command = ["make", "-C", str(kernel.tree / "tools/sched_ext"), f"-j{arch.cores()}"]
    command += [f"O={folder}", f"VMLINUX_BTF={types}", f"CLANG={CLANG}", *wanted]
    with tree_of(kernel), lock(folder), ui.status("building schedulers"):
        folder.mkdir(parents=True, exist_ok=True)
        tools.run_logged(command, log, f"building {' '.join(wanted)}")
    return [folder / "build" / "bin" / name for name in wanted]

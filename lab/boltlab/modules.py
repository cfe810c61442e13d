# SPDX-License-Identifier: GPL-2.0-only
"""Builds the lab's kernel modules, out of tree, for any kernel in the cache."""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from boltlab import guestimage, paths
from boltlab.arch import ARCHES
from boltlab.build import Kernel
from boltlab.errors import BoltError
from boltlab.guestimage import Node
from boltlab.locks import lock
from boltlab.make import make

FOLDER = guestimage.SOURCES


def names() -> list[str]:
    """Return the names of all modules."""
    return sorted(path.parent.name for path in FOLDER.glob("*/Kbuild"))


def nodes(kernel: Kernel, wanted: Sequence[str]) -> dict[str, Node]:
    """Return ``wanted`` modules for ``kernel`` as nodes of an initramfs, ``lib/NAME.ko``.

    Raises BoltError when there is no such module or it does not build.
    """
    return {f"lib/{name}.ko": guestimage.file(build(kernel, name).read_bytes()) for name in wanted}


def build(kernel: Kernel, name: str) -> Path:
    """Return the module ``name`` for ``kernel``, built if it or the kernel changed.

    Raises BoltError when there is no such module or it does not build.
    """
    if name not in names():
        raise BoltError(f"no module '{name}' (there are: {', '.join(names())})")
    if not kernel.tree.is_dir():
        raise BoltError(f"the tree of the {kernel.flavour} kernel is gone: {kernel.tree}")
    prefix = f"{kernel.arch}-{kernel.flavour}-{kernel.id}-{name}"
    folder = paths.cache() / "modules"
    found = folder / f"{prefix}-{_fingerprint(kernel, FOLDER / name)}.ko"
    # The kernel's tree is used, and its make writes there.
    with lock(kernel.tree) as fd:
        if found.is_file():
            return found
        folder.mkdir(exist_ok=True)
        for stale in folder.glob(f"{prefix}-*.ko"):
            stale.unlink()
        with tempfile.TemporaryDirectory(prefix="bolt-module-", dir=folder) as scratch:
            _make(kernel, FOLDER / name, Path(scratch), fd).rename(found)
    return found


def _make(kernel: Kernel, source: Path, scratch: Path, fd: int) -> Path:
    arch = ARCHES[kernel.arch]
    log = paths.new_log(f"module-{kernel.arch}-{source.name}")
    title = f"building the module {source.name} for {kernel.arch}"
    work = scratch / source.name
    shutil.copytree(source, work)
    make(kernel.tree, arch, ["modules_prepare"], log, title=title, lock_fd=fd)
    # There is no Module.symvers: the kernel's own modules are not built.
    variables = {"M": str(work), "KBUILD_EXTRA_SYMBOLS": str(kernel.tree / "vmlinux.symvers")}
    make(kernel.tree, arch, ["modules"], log, title=title, variables=variables, lock_fd=fd)
    return work / f"{source.name}.ko"


def _fingerprint(kernel: Kernel, source: Path) -> str:
    digest = hashlib.sha256(kernel.stamp.encode())
    for path in sorted(source.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]

# SPDX-License-Identifier: GPL-2.0-only
"""Builds modules for kernels in the cache: the lab's own, out of tree, and those of the kernel."""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from boltlab import paths
from boltlab.arch import ARCHES
from boltlab.errors import BoltError
from boltlab.guest import guestimage
from boltlab.guest.guestimage import Node
from boltlab.kernel.build import Kernel, tree_of
from boltlab.kernel.make import make

FOLDER = guestimage.SOURCES
# A file in a tree: the stamp that the kernel had when its own modules were last built there.
BUILT = ".bolt-modules"


def names() -> list[str]:
    """Return the names of the lab's modules."""
    return sorted(path.parent.name for path in FOLDER.glob("*/Kbuild"))


def nodes(kernel: Kernel, wanted: Sequence[str]) -> dict[str, Node]:
    """Return ``wanted`` modules for ``kernel`` as nodes of an initramfs, ``lib/NAME.ko``.

    A module is one of the lab, or one of the kernel for which the kernel's configuration says "m".
    Raises BoltError when there is no such module, when a module does not build, or as tree_of()
    does.
    """
    found = {}
    for name in wanted:
        path = build(kernel, name) if name in names() else built_in_tree(kernel, name)
        found[f"lib/{name}.ko"] = guestimage.file(path.read_bytes())
    return found


def built_in_tree(kernel: Kernel, name: str) -> Path:
    """Return the kernel's own module ``name``.

    First builds all modules of the kernel, unless they were built for the stamp of ``kernel``.
    Raises BoltError when there is no such module, when a module does not build, or as tree_of()
    does.
    """
    mark = kernel.tree / BUILT
    order = kernel.tree / "modules.order"
    with tree_of(kernel) as fd:
        if not mark.is_file() or mark.read_text(encoding="utf-8") != kernel.stamp:
            log = paths.new_log(f"modules-{kernel.arch}-{kernel.flavour}")
            title = f"building the modules of the {kernel.arch} {kernel.flavour} kernel"
            make(kernel.tree, ARCHES[kernel.arch], ["modules"], log, title=title, lock_fd=fd)
            mark.write_text(kernel.stamp, encoding="utf-8")
        lines = order.read_text(encoding="utf-8").split() if order.is_file() else []
    for line in lines:
        path = kernel.tree / Path(line).with_suffix(".ko")
        if path.stem == name:
            return path
    known = ", ".join([*names(), *(Path(line).stem for line in lines)])
    raise BoltError(f"no module '{name}' (there are: {known})")


def build(kernel: Kernel, name: str) -> Path:
    """Return the lab's module ``name``; build it if its sources or ``kernel`` changed.

    Raises BoltError when there is no such module, when the module does not build, or as tree_of()
    does.
    """
    if name not in names():
        raise BoltError(f"no module '{name}' (there are: {', '.join(names())})")
    prefix = f"{kernel.arch}-{kernel.flavour}-{kernel.id}-{name}"
    folder = paths.cache() / "modules"
    found = folder / f"{prefix}-{_fingerprint(kernel, FOLDER / name)}.ko"
    # Hold the lock of the kernel's tree, because the kernel's make writes into the tree.
    with tree_of(kernel) as fd:
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
    # The tree may have no Module.symvers, which make writes only with the kernel's own modules. So
    # the symbols that vmlinux exports are read from vmlinux.symvers.
    variables = {"M": str(work), "KBUILD_EXTRA_SYMBOLS": str(kernel.tree / "vmlinux.symvers")}
    make(kernel.tree, arch, ["modules"], log, title=title, variables=variables, lock_fd=fd)
    return work / f"{source.name}.ko"


def _fingerprint(kernel: Kernel, source: Path) -> str:
    digest = hashlib.sha256(kernel.stamp.encode())
    for path in sorted(source.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]

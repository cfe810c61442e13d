# SPDX-License-Identifier: GPL-2.0-only
"""Builds kernels; what has not changed since the last build is not compiled again."""

import hashlib
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from boltlab import packages, paths
from boltlab.arch import ARCHES, Arch, cores
from boltlab.errors import BoltError, KernelChangedError
from boltlab.kernel import config, distro, flavours, tree
from boltlab.kernel.flavours import Flavour
from boltlab.kernel.make import FIXED, make
from boltlab.kernel.source import Source, of_id
from boltlab.locks import lock

BUILT = ".bolt-built"  # a file in a tree, with the stamp of the last complete build

# Folder of a kernel -> stamp of the kernel that this call of the lab got from the folder last.
_got: dict[Path, str] = {}


@dataclass(frozen=True)
class Kernel:
    """A built kernel in the cache."""

    arch: str
    flavour: str
    id: str  # name of the source, as in "6.12.117-1a2b3c4d"
    release: str
    config_sha: str  # equal for the pristine kernel and Bolt's, see config.sha()
    stamp: str  # a hash, see stamp_of(); changed_kernel() adds the name of the change
    folder: Path

    @property
    def image(self) -> Path:
        """Path of the image that QEMU boots."""
        return self.folder / "image"

    @property
    def config(self) -> Path:
        """Path of the kernel's .config."""
        return self.folder / "config"

    @property
    def system_map(self) -> Path:
        """Path of the kernel's System.map."""
        return self.folder / "System.map"

    @property
    def tree(self) -> Path:
        """Path of the tree in which the kernel was built."""
        return tree_path(self.arch, self.flavour, self.id)


@dataclass(frozen=True)
class Prepared:
    """A configured tree whose lock the caller holds."""

    path: Path
    config: str
    log: Path
    lock_fd: int


def tree_path(arch: str, flavour: str, source_id: str) -> Path:
    """Return the path of the tree of a kernel, whether or not the kernel has been built."""
    return paths.cache() / "build" / f"{arch}-{flavour}-{source_id}"


def ensure_kernel(arch: Arch, flavour: str, source: Source, jobs: int = 1) -> Kernel:
    """Return the kernel of ``flavour`` for ``arch``; build the kernel if its stamp has changed.

    A kernel that the cache lacks is built too. stamp_of() says of what the stamp is made. Raises
    BoltError when a tool is missing, the disk is full, a hook does not apply or the build fails.
    """
    kind = flavours.get(flavour)
    packages.ensure("build", *kind.packages, arches=[arch])
    stamp = stamp_of(arch, flavour, source)
    folder = paths.cache() / "kernels" / f"{arch.name}-{flavour}-{source.id}"
    with lock(folder):
        found = load(folder)
        if found and found.stamp == stamp:
            _got[folder] = stamp
            return found
        with prepared(arch, flavour, source, jobs) as ready:
            _compile(arch, kind, ready, stamp, jobs)
            return _collect(arch, kind, source, ready, stamp, folder)


def ensure_kernels(
    arch: Arch, wanted: Iterable[str], source: Source, jobs: int = 1
) -> dict[str, Kernel]:
    """Return the kernels of the ``wanted`` flavours for ``arch``, by flavour; build missing ones.

    A command that boots several guests gets all kernels ahead of the first guest. If it got a
    kernel between two guests, an edit of Bolt's sources would change the kernel of later guests.
    Raises BoltError as ensure_kernel() does.
    """
    return {
        flavour: ensure_kernel(arch, flavour, source, jobs) for flavour in dict.fromkeys(wanted)
    }


def changed_kernel(
    arch: Arch, flavour: str, source: Source, jobs: int, change: Callable[[Path], str]
) -> Kernel:
    """Return a kernel of ``flavour``, built after ``change`` has changed its tree.

    ``change`` gets the path of the tree, and returns a name of the change. The next build of the
    flavour takes the change back, but only in files that Bolt adds or hooks change: ``change`` must
    leave other files alone. Raises BoltError as ensure_kernel() does.
    """
    kind = flavours.get(flavour)
    packages.ensure("build", *kind.packages, arches=[arch])
    folder = paths.cache() / "kernels" / f"{arch.name}-{flavour}-{source.id}"
    with lock(folder), prepared(arch, flavour, source, jobs) as ready:
        stamp = f"{stamp_of(arch, flavour, source)} {change(ready.path)}"
        _compile(arch, kind, ready, stamp, jobs)
        return _collect(arch, kind, source, ready, stamp, folder)


def load(folder: Path) -> Kernel | None:
    """Return the kernel in ``folder`` of the cache, or None if the folder is not complete."""
    try:
        fields = json.loads((folder / "kernel.json").read_text(encoding="utf-8"))
        kernel = Kernel(**{**fields, "folder": folder})
    except (OSError, ValueError, TypeError):
        return None
    return kernel if kernel.image.is_file() else None


def current(arch: Arch, flavour: str, source: Source) -> Kernel | None:
    """Return the kernel of ``flavour`` if ensure_kernel() would build nothing, or None."""
    folder = paths.cache() / "kernels" / f"{arch.name}-{flavour}-{source.id}"
    found = load(folder)
    if found is None or found.stamp != stamp_of(arch, flavour, source):
        return None
    _got[folder] = found.stamp
    return found


def built() -> list[Kernel]:
    """Return all kernels in the cache, the newest first."""
    found = sorted(
        (paths.cache() / "kernels").glob("*/kernel.json"),
        key=lambda path: path.stat().st_mtime,
        reverse=True,
    )
    return [kernel for path in found if (kernel := load(path.parent))]


def require_unchanged(image: Path) -> None:
    """Raise KernelChangedError if another call has replaced the kernel that this call has got.

    ``image`` is the image of the kernel, which this call has got from ensure_kernel(), current() or
    changed_kernel(). Results of this call would otherwise be of two kernels.
    """
    folder = image.parent
    stamp, found = _got.get(folder), load(folder)
    if stamp and (found is None or found.stamp != stamp):
        raise KernelChangedError(
            f"another call of the lab has meanwhile built another kernel in {folder}: run this "
            "command again"
        )


@contextmanager
def prepared(arch: Arch, flavour: str, source: Source, jobs: int = 1) -> Iterator[Prepared]:
    """Yield the tree of ``flavour``, up to date, configured and locked, but not yet compiled.

    If the flavour is based on another flavour, the other flavour is built first. Raises BoltError
    as ensure_kernel() does.
    """
    kind = flavours.get(flavour)
    path = tree_path(arch.name, flavour, source.id)
    files = _files(kind, source)
    if source.version.architectures and arch.name not in source.version.architectures:
        raise BoltError(f"Bolt has no {arch.name} hooks for linux {source.release}")
    log = paths.new_log(f"build-{arch.name}-{flavour}")
    with lock(path) as fd:
        base = ""
        if kind.based_on:
            with built_tree(arch, kind.based_on, source, jobs) as origin:
                base = (origin / ".config").read_text(encoding="utf-8")
                tree.copy(origin, path, f"copying the built {kind.based_on} tree")
        else:
            tree.copy(source.path, path, "copying the kernel source")
        (path / BUILT).unlink(missing_ok=True)
        tree.sync(path, source.path, files)
        start, fragment = _settings(arch, kind, source)
        text = config.configure(path, arch, fragment, log, fd, start)
        if kind.same_config and (odd := config.differences(base, text, config.ASIDE)):
            raise BoltError(
                f"the {flavour} configuration differs from {kind.based_on}'s: {' '.join(odd)}"
            )
        yield Prepared(path, text, log, fd)


def _settings(arch: Arch, kind: Flavour, source: Source) -> tuple[str | None, str]:
    """Return the base configuration of ``kind``, or None, and the fragment to put over the base."""
    fragment = source.version.translated(kind.fragment(arch))
    if not kind.base:
        return None, fragment
    base = distro.base(kind.base, arch, source.version)
    return base, fragment + distro.debug_info(base)


def _files(kind: Flavour, source: Source) -> dict[str, tree.Content]:
    if kind.refactors_only:
        return tree.prepared_files(source)
    return tree.bolt_files(source) if kind.patched else {}


@contextmanager
def built_tree(arch: Arch, flavour: str, source: Source, jobs: int = 1) -> Iterator[Path]:
    """Yield the completely built tree of ``flavour``, locked.

    Raises BoltError as ensure_kernel() and tree_of() do.
    """
    kernel = ensure_kernel(arch, flavour, source, jobs)
    with tree_of(kernel, source, jobs):
        yield kernel.tree


@contextmanager
def tree_of(kernel: Kernel, source: Source | None = None, jobs: int = 0) -> Iterator[int]:
    """Hold the lock of the completely built tree of ``kernel``; yield the lock's descriptor.

    If the tree is gone, or no longer holds a complete build with the stamp of ``kernel``, the tree
    is built anew, from the cache's source unless ``source`` is given. Raises KernelChangedError if
    that is not possible, because the cache lacks the source, or because ``kernel`` is no longer the
    kernel of the present source and configuration (see current()).
    """
    with lock(kernel.tree) as fd:
        if _is_built(kernel.tree, kernel.stamp):
            yield fd
            return
    arch, source = ARCHES[kernel.arch], source or of_id(kernel.id)
    if source is None or current(arch, kernel.flavour, source) != kernel:
        raise KernelChangedError(
            f"the tree of the {kernel.flavour} kernel is gone or has changed, {kernel.tree}: "
            "run this command again"
        )
    kind, jobs = flavours.get(kernel.flavour), jobs or cores()
    packages.ensure("build", *kind.packages, arches=[arch])
    with prepared(arch, kernel.flavour, source, jobs) as ready:
        _compile(arch, kind, ready, kernel.stamp, jobs)
        yield ready.lock_fd


def _is_built(path: Path, stamp: str) -> bool:
    mark = path / BUILT
    return mark.is_file() and mark.read_text(encoding="utf-8") == stamp


def _compile(arch: Arch, kind: Flavour, ready: Prepared, stamp: str, jobs: int) -> None:
    title = f"building the {arch.name} {kind.name} kernel"
    start = time.monotonic()
    steps = make(
        ready.path,
        arch,
        [arch.image_target],
        ready.log,
        title=title,
        jobs=jobs,
        steps=_expected_steps(arch, kind),
        lock_fd=ready.lock_fd,
    )
    (ready.path / BUILT).write_text(stamp, encoding="utf-8")
    with ready.log.open("a", encoding="utf-8") as log:
        log.write(f"{title}: {steps} steps, {time.monotonic() - start:.0f} s\n")


def _collect(
    arch: Arch, kind: Flavour, source: Source, ready: Prepared, stamp: str, folder: Path
) -> Kernel:
    """Copy image, .config and System.map; write kernel.json last, as a mark that all is there."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / "kernel.json"
    mark.unlink(missing_ok=True)
    outputs = {"image": arch.image_path, "config": ".config", "System.map": "System.map"}
    for name, path in outputs.items():
        half = folder / f"{name}.half"
        shutil.copyfile(ready.path / path, half)
        half.rename(folder / name)
    release = (ready.path / "include/config/kernel.release").read_text(encoding="utf-8").strip()
    kernel = Kernel(
        arch=arch.name,
        flavour=kind.name,
        id=source.id,
        release=release,
        config_sha=config.sha(ready.config),
        stamp=stamp,
        folder=folder,
    )
    fields = {name: value for name, value in asdict(kernel).items() if name != "folder"}
    mark.write_text(json.dumps(fields, indent=1), encoding="utf-8")
    _got[folder] = stamp
    return kernel


def _expected_steps(arch: Arch, kind: Flavour) -> int:
    return kind.steps.get(arch.name, 1000)


def stamp_of(arch: Arch, flavour: str, source: Source) -> str:
    """Return a hash of everything of which ensure_kernel() makes the kernel of ``flavour``."""
    kind = flavours.get(flavour)
    base, fragment = _settings(arch, kind, source)
    parts = [source.id, fragment, repr(sorted(FIXED.items())), toolchain(arch)]
    parts += [base] if base else []
    if kind.patched:
        parts.append(tree.fingerprint(source.version))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def toolchain(arch: Arch) -> str:
    """Return the versions of the compiler and linker for ``arch``, a line each."""
    lines = []
    for tool in ("gcc", "ld"):
        command = [f"{arch.cross_compile}{tool}", "--version"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines.append(done.stdout.partition("\n")[0])
    return "\n".join(lines)

# SPDX-License-Identifier: GPL-2.0-only
"""Build trees: copies of the source, or of a built tree, with overlay and hooks laid over."""

import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from boltlab import paths, ui
from boltlab.errors import BoltError
from boltlab.kernel import hooks, series
from boltlab.kernel.source import COMPLETE, Source
from boltlab.versions import Version

MANIFEST = ".bolt-files.json"
SPACE = 2.5  # GB that one built tree takes


@dataclass(frozen=True)
class Content:
    """A file's bytes and whether it is executable."""

    data: bytes
    executable: bool = False


def overlay_files(overlay: Path) -> Iterator[str]:
    """Yield the kernel paths of all files below ``overlay``, in order."""
    for path in sorted(overlay.rglob("*")):
        if path.is_file():
            yield path.relative_to(overlay).as_posix()


def overlaid(version: Version, kernel: Path | None = None) -> dict[str, Path]:
    """Return where the files are that Bolt adds to kernels of ``version``, by kernel path.

    Those of all versions are in the overlay; what a version has for itself is beside its hooks.
    Raises BoltError when a file is in both.
    """
    found: dict[str, Path] = {}
    for overlay in ((kernel or paths.KERNEL) / "overlay", version.hooks / "overlay"):
        for name in overlay_files(overlay):
            if name in found:
                raise BoltError(f"{name} is in {overlay} and in {found[name]}")
            found[name] = overlay / name
    return dict(sorted(found.items()))


def bolt_files(source: Source, kernel: Path | None = None) -> dict[str, Content]:
    """Return what Bolt adds to ``source`` or changes in it, by kernel path.

    ``kernel`` is the repository's kernel/ directory. Raises BoltError when a hook does not
    apply, or when an overlay file is in the source already.
    """
    files = hooked_files(source)
    for name, path in overlaid(source.version, kernel).items():
        if (source.path / name).exists():
            raise BoltError(f"overlay/{name} is in linux {source.release} already: use a hook")
        files[name] = _read(path)
    return files


def hooked_files(source: Source, only: Collection[str] | None = None) -> dict[str, Content]:
    """Return the files that the hooks for ``source`` change, or ``only`` those of these names.

    Raises BoltError when a hook does not apply.
    """
    wanted = [
        hook for hook in hooks.load(source.version.hooks) if only is None or hook.name in only
    ]
    hooked = hooks.apply(wanted, source.path, source.release)
    return {name: Content(data, _executable(source.path / name)) for name, data in hooked.items()}


def prepared_files(source: Source, kernel: Path | None = None) -> dict[str, Content]:
    """Return the files that prepare for Bolt: changed by hooks, or new, of commits that do.

    Raises BoltError as bolt_files() does.
    """
    folder = source.version.hooks
    files = hooked_files(source, series.refactors(folder))
    globs = [
        glob for commit in series.load(folder).commits if commit.refactor for glob in commit.overlay
    ]
    for name, path in overlaid(source.version, kernel).items():
        if any(fnmatch.fnmatchcase(name, glob) for glob in globs):
            files[name] = _read(path)
    return files


def fingerprint(source: Source, kernel: Path | None = None) -> str:
    """Return a SHA-256 (hex) over the overlay and the hooks for ``source``."""
    digest = hashlib.sha256()
    inputs = list(overlaid(source.version, kernel).values())
    folder = source.version.hooks
    inputs += [folder / name for name in series.hook_order(folder)]  # which counts, too
    for path in inputs:
        data = path.read_bytes()
        digest.update(f"{path.name}\0{_executable(path)}\0{len(data)}\0".encode())
        digest.update(str(path.relative_to(kernel or paths.KERNEL)).encode() + data)
    return digest.hexdigest()


def copy(origin: Path, target: Path, title: str) -> None:
    """Copy the tree ``origin`` to ``target`` with all times, unless that is there already.

    An interrupted copy is never taken for a tree. Raises BoltError when the disk is full.
    """
    if target.exists():
        return
    half = target.with_name(f"{target.name}.half")
    target.parent.mkdir(parents=True, exist_ok=True)
    if half.exists():
        shutil.rmtree(half)
    paths.require_space(target.parent, SPACE, title)
    with ui.status(title):
        done = subprocess.run(
            ["cp", "-a", "--reflink=auto", "--", str(origin), str(half)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise BoltError(f"{title} failed: {done.stderr.strip().splitlines()[-1]}")
    (half / COMPLETE).unlink(missing_ok=True)
    _relocate(half / "tools", origin, target)
    half.rename(target)


def _relocate(tools: Path, origin: Path, target: Path) -> None:
    """Put the new place into make's records of objtool, the one thing built with full paths.

    Otherwise objtool, and after it every object it checks, would be built again.
    """
    for record in tools.rglob(".*.cmd"):
        data = record.read_bytes()
        times = record.stat()
        record.write_bytes(data.replace(os.fsencode(f"{origin}/"), os.fsencode(f"{target}/")))
        os.utime(record, ns=(times.st_atime_ns, times.st_mtime_ns))


def sync(tree: Path, pristine: Path, files: Mapping[str, Content]) -> list[str]:
    """Lay ``files`` over ``tree`` and take back what an earlier call laid and is not in them.

    Only what differs is written, so that make rebuilds no more than it must. Returns the kernel
    paths written or removed.
    """
    changed = []
    manifest = tree / MANIFEST
    laid: list[str] = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else []
    # The union first: whatever happens in between, the next call knows what to take back.
    _write(manifest, Content(json.dumps(sorted({*laid, *files})).encode()))
    for name in sorted(set(laid) - set(files)):
        if (pristine / name).exists():
            changed += _update(tree / name, _read(pristine / name), name)
        elif (tree / name).exists():
            (tree / name).unlink()
            changed.append(name)
    for name, content in files.items():
        changed += _update(tree / name, content, name)
    _write(manifest, Content(json.dumps(sorted(files)).encode()))
    return changed


def _update(path: Path, content: Content, name: str) -> list[str]:
    if path.is_file() and _read(path) == content:
        return []
    _write(path, content)
    return [name]


def _read(path: Path) -> Content:
    return Content(path.read_bytes(), _executable(path))


def _write(path: Path, content: Content) -> None:
    # A new time in any case: a restored file must be newer than the object made of the other.
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{path.name}.bolt-half")
    half.write_bytes(content.data)
    half.chmod(0o755 if content.executable else 0o644)
    half.rename(path)


def _executable(path: Path) -> bool:
    return os.access(path, os.X_OK)

# SPDX-License-Identifier: GPL-2.0-only
"""Makes build trees: copies of the source, or of a built tree, with overlay and hooks applied."""

import fnmatch
import hashlib
import json
import os
import re
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
DOCUMENTS = "Documentation/"
C = (".c", ".h", ".S")
# A string may contain what looks like the beginning of a comment.
_STRING_OR_COMMENT = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?(?:\*/|\Z)|//[^\n]*""", re.S
)
SPACE = 2.5  # GB of disk that must be free before a tree is copied


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
    """Return the files that Bolt adds to kernels of ``version``: kernel path -> path in kernel/.

    Files for all versions are in kernel/overlay/; files for one version only are in overlay/ beside
    the version's hooks. Raises BoltError when a file is in both places.
    """
    found: dict[str, Path] = {}
    for overlay in ((kernel or paths.KERNEL) / "overlay", version.hooks / "overlay"):
        for name in overlay_files(overlay):
            if name in found:
                raise BoltError(f"{name} is in {overlay} and in {found[name]}")
            found[name] = overlay / name
    return dict(sorted(found.items()))


def bolt_files(source: Source, kernel: Path | None = None) -> dict[str, Content]:
    """Return the files that Bolt adds to ``source`` or changes there, by kernel path.

    ``kernel`` is the directory that has overlay/ (default: the repository's kernel/). Raises
    BoltError when a hook does not apply, or when an overlay file is in the source already.
    """
    files = hooked_files(source)
    for name, path in overlaid(source.version, kernel).items():
        if (source.path / name).exists():
            raise BoltError(f"overlay/{name} is in linux {source.release} already: use a hook")
        files[name] = _read(path)
    return files


def hooked_files(source: Source, only: Collection[str] | None = None) -> dict[str, Content]:
    """Return the files that hooks for ``source`` change: all hooks, or those that ``only`` names.

    Raises BoltError when a hook does not apply.
    """
    wanted = [
        hook for hook in hooks.load(source.version.hooks) if only is None or hook.name in only
    ]
    hooked = hooks.apply(wanted, source.path, source.release)
    return {name: Content(data, _executable(source.path / name)) for name, data in hooked.items()}


def prepared_files(source: Source, kernel: Path | None = None) -> dict[str, Content]:
    """Return the files that refactors of the series change or add, by kernel path.

    Raises BoltError when a hook does not apply.
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


def fingerprint(version: Version, kernel: Path | None = None) -> str:
    """Return a SHA-256 (hex) over the overlay and the hooks for ``version``."""
    digest = hashlib.sha256()
    inputs = list(overlaid(version, kernel).values())
    folder = version.hooks
    inputs += [folder / name for name in series.hook_order(folder)]  # in the order of series.toml
    for path in inputs:
        data = path.read_bytes()
        digest.update(f"{path.name}\0{_executable(path)}\0{len(data)}\0".encode())
        digest.update(str(path.relative_to(kernel or paths.KERNEL)).encode() + data)
    return digest.hexdigest()


def mark(version: Version, kernel: Path | None = None) -> str:
    """Return eight hexadecimal digits, by which results/ names Bolt's code for ``version``.

    Comments, blanks and documents do not count as code, and neither does the context of a hook: so
    what kernels have survived still counts when only words have changed.
    """
    digest = hashlib.sha256()
    for name, path in overlaid(version, kernel).items():
        if not name.startswith(DOCUMENTS):
            text = path.read_text(encoding="utf-8")
            digest.update(f"{name}\0{_executable(path)}\0{code(name, text)}\0".encode())
    for hook in hooks.load(version.hooks):
        changes = [code(*change) for change in hook.changes()]
        digest.update("\0".join([hook.name, *changes, ""]).encode(errors="surrogateescape"))
    return digest.hexdigest()[:8]


def code(name: str, text: str) -> str:
    """Return ``text``, a file called ``name`` or lines of it, with blanks made one each.

    C comments are left out, also a comment in ``text`` that begins before the first line.
    """
    if name.endswith(C):
        text = re.sub(r"\A(?:[ \t]*\*(?:[ \t/].*)?\n)+", "", text)
        text = _STRING_OR_COMMENT.sub(lambda found: found["string"] or " ", text)
    return " ".join(text.split())


def copy(origin: Path, target: Path, title: str) -> None:
    """Copy the tree ``origin``, with the times of its files, unless ``target`` exists already.

    An interrupted copy never has the name ``target``. Raises BoltError when the disk has too little
    space, or when cp fails.
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
    """Write the new path of the tree into make's records (.cmd) below ``tools``.

    These records name full paths. With the old path in the records of objtool, make would build
    objtool again, and then every object that objtool checks.
    """
    for record in tools.rglob(".*.cmd"):
        data = record.read_bytes()
        times = record.stat()
        record.write_bytes(data.replace(os.fsencode(f"{origin}/"), os.fsencode(f"{target}/")))
        os.utime(record, ns=(times.st_atime_ns, times.st_mtime_ns))


def sync(tree: Path, pristine: Path, files: Mapping[str, Content]) -> list[str]:
    """Write ``files`` into ``tree``; take back files of an earlier call that are not in ``files``.

    Only files that differ are written, so that make rebuilds no more than needed. Returns the
    kernel paths of the files that were written or removed.
    """
    changed = []
    manifest = tree / MANIFEST
    laid: list[str] = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else []
    # Record the files of the earlier call and of this call first, so that after an interruption the
    # next call can take all of these files back.
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
    # A restored file gets a new time, so that make finds the file newer than its object.
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{path.name}.bolt-half")
    half.write_bytes(content.data)
    half.chmod(0o755 if content.executable else 0o644)
    half.rename(path)


def _executable(path: Path) -> bool:
    return os.access(path, os.X_OK)

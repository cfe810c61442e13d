# SPDX-License-Identifier: GPL-2.0-only
"""Finds, fetches and unpacks kernel source.

A tree in the cache is used only if its stamp, the file .bolt-complete, is there. The stamp is
written last, and so a tree with a stamp is whole.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from boltlab import git, packages, paths, ui, versions
from boltlab.errors import UNAVAILABLE, USAGE, BoltError
from boltlab.locks import lock
from boltlab.packages import Need
from boltlab.versions import Version

# The source that a command's options name: a tree or tarball, a series, or None for the default.
Where = Path | Version | None
COMPLETE = ".bolt-complete"
SPACE = 2.0  # GB of disk that must be free before a tree is unpacked or copied
PART_SPACE = 0.5  # GB of disk that must be free before opened() unpacks a part of a tree
CHUNK = 1 << 20
DECOMPRESSORS = {
    ".xz": "xz -T0",
    ".gz": "gzip",
    ".bz2": "bzip2",
    ".zst": "zstd",
    ".tar": None,
}
TARBALLS = ".tar, .tar.xz, .tar.gz, .tar.bz2, .tar.zst"

_MAKEFILE = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *=[ \t]*(.*)$", re.M)
# The line that tar prints for each name that a tarball lacks, and tar's last line after such lines.
_LACKING = re.compile(
    r"tar: (.*: Not found in archive|Exiting with failure status due to previous errors)"
)


@dataclass(frozen=True)
class Source:
    """Pristine kernel source in the cache, which no function changes."""

    path: Path
    id: str  # release and hash, as in "6.12.117-1a2b3c4d", or "6.12.117-dir-1a2b3c4d" of a tree
    release: str  # as in "6.12.117"
    version: Version


def resolve(where: Where = None) -> Source:
    """Return the unpacked source of ``where``; the source of a series is in Debian's package.

    If the cache does not have the source yet, unpacks the tarball (and first installs the package
    if the package is missing), or copies the tree. Raises BoltError when there is no such source,
    when the source cannot be unpacked, when the source is not of a series that Bolt supports, when
    a tree without git has been configured or built in, or when the disk has too little space.
    """
    found = _resolve(where)
    tested = found.version.tested
    if found.release not in tested:
        ui.note(f"linux {found.release} is not one of the tested releases ({', '.join(tested)})")
    return found


def _resolve(where: Where) -> Source:
    if where is None or isinstance(where, Version):
        return _tarball(debian_tarball(where or versions.default()))
    where = where.absolute()
    if where.is_dir():
        # A directory of the cache keeps its id; a copy would have another id, for which the lab
        # would build all kernels again.
        return (where.parent == _root() and of_id(where.name)) or _directory(where)
    if where.is_file():
        return _tarball(where)
    raise BoltError(f"no kernel source at {where}")


def of_series(version: Version) -> Source:
    """Return Debian's source of the series ``version``. Raises BoltError as resolve() does."""
    return _tarball(debian_tarball(version))


def cached(version: Version | None = None) -> Source | None:
    """Return a source of ``version`` (default: the default series) that the cache has, or None."""
    series = (version or versions.default()).series
    for stamp in sorted(_root().glob(f"{series}.*/{COMPLETE}"), reverse=True):
        if found := of_id(stamp.parent.name):
            return found
    return None


def of_id(name: str) -> Source | None:
    """Return the source with the id ``name``, or None if the cache does not have that source."""
    folder = _root() / name
    try:
        release = (folder / COMPLETE).read_text(encoding="utf-8").strip()
    except OSError:
        return None
    if not name.startswith(f"{release}-"):
        return None
    return Source(folder, name, release, versions.of_release(release))


@contextmanager
def opened(where: Path, folders: Iterable[str], files: Iterable[str]) -> Iterator[Path]:
    """Yield a tree to read: the directory ``where``, or a part of the tarball ``where``.

    The part has ``folders`` with all files below them, ``files``, the Makefile, which tells the
    release, and Kconfig. A name that the tarball lacks is no error. Unlike resolve(), opened()
    takes any kernel and leaves nothing in the cache. Raises BoltError, code USAGE, when there is
    nothing at ``where``, when the file's name is not of a tarball that the lab can unpack, or when
    tar fails for another reason than a name that the tarball lacks.
    """
    if where.is_dir():
        yield where
        return
    if not where.is_file():
        raise BoltError(f"no kernel source at {where}", code=USAGE)
    packages.ensure("unpack")
    compressor = _decompressor(where)
    paths.require_space(paths.cache(), PART_SPACE, "unpacking a part of the kernel source")
    with tempfile.TemporaryDirectory(prefix="part-", dir=paths.cache()) as scratch:
        log = paths.new_log("unpack")
        command = ["tar", "-x", "--strip-components=1", "--no-same-owner", "-C", scratch]
        command += [f"--use-compress-program={compressor}"] if compressor else []
        command += ["-f", str(where), "--wildcards", "--anchored", "--no-wildcards-match-slash"]
        names = (*folders, *files, "Makefile", "Kconfig")
        with log.open("wb") as errors, ui.status(f"unpack a part of {where.name}"):
            done = subprocess.run(
                [*command, *(f"*/{name}" for name in names)],
                stderr=errors,
                env={**os.environ, "LC_ALL": "C"},  # _LACKING has tar's messages in English
                check=False,
            )
        # tar also fails if the tarball lacks a name; the caller looks which files are there.
        said = log.read_text(encoding="utf-8", errors="replace").splitlines()
        if done.returncode and not (said and all(map(_LACKING.fullmatch, said))):
            raise BoltError(f"cannot unpack {where}", log, USAGE)
        log.unlink()
        yield Path(scratch)


def needs(where: Where = None) -> list[Need]:
    """Return what resolve(``where``) needs of Debian: the package with the source, or nothing."""
    if where is None or isinstance(where, Version):
        version = where or versions.default()
        return [Need(version.package, file=str(version.tarball))]
    return []


def debian_tarball(version: Version) -> Path:
    """Return the tarball of Debian's source package; install the package if it is missing."""
    tarball = version.tarball
    if not tarball.is_file():
        _want(version)
        packages.install([version.package], [f"--source (a linux {version.series} tree)"])
    if not tarball.is_file():
        raise BoltError(f"the package {version.package} has no {tarball}")
    return tarball


def _want(version: Version) -> None:
    """Raise BoltError, saying how to get the source, if apt works but no suite has the package."""
    if not packages.can_install() or packages.candidate(version.package):
        return
    # The suite may have been added since apt last fetched its lists.
    packages.update()
    if not packages.candidate(version.package):
        raise BoltError(
            f"no {version.package} in apt's suites: add Debian's {version.suite} to them, or say "
            f"--source with a linux {version.series} tree or tarball",
            code=UNAVAILABLE,
        )


def release_of(tree: Path) -> str:
    """Return the release ("6.12.117") that ``tree``'s Makefile tells.

    Raises BoltError if ``tree`` has no Makefile that tells a release, or no Kconfig.
    """
    try:
        head = (tree / "Makefile").read_text(encoding="utf-8")[:2000]
    except OSError as error:
        raise BoltError(f"{tree} is no kernel source: it has no Makefile") from error
    found: dict[str, str] = dict(_MAKEFILE.findall(head))
    if not found.get("VERSION") or not found.get("PATCHLEVEL") or not (tree / "Kconfig").exists():
        raise BoltError(f"{tree} is no kernel source")
    parts = [found["VERSION"], found["PATCHLEVEL"], found.get("SUBLEVEL", "")]
    return ".".join(part for part in parts if part) + found.get("EXTRAVERSION", "")


def _tarball(tarball: Path) -> Source:
    compressor = _decompressor(tarball)
    digest = _hash_file(tarball)[:8]
    found = _complete(digest)
    if found:
        return found
    with lock(_root() / digest):
        return _complete(digest) or _unpack(tarball, compressor, digest)


def _decompressor(tarball: Path) -> str | None:
    if tarball.suffix not in DECOMPRESSORS or ".tar" not in tarball.suffixes:
        raise BoltError(f"{tarball} is no tarball Bolt can unpack ({TARBALLS})", code=USAGE)
    return DECOMPRESSORS[tarball.suffix]


def _unpack(tarball: Path, compressor: str | None, digest: str) -> Source:
    packages.ensure("unpack")
    half = _half(digest)
    log = paths.new_log("unpack")
    command = ["tar", "-x", "--strip-components=1", "--no-same-owner", "-C", str(half)]
    if compressor:
        command.append(f"--use-compress-program={compressor}")
    title = f"unpack {tarball.name}"
    with log.open("wb") as errors, ui.progress(title, tarball.stat().st_size) as task:
        tar = subprocess.Popen([*command, "-f", "-"], stdin=subprocess.PIPE, stderr=errors)
        assert tar.stdin
        try:
            with tar.stdin, tarball.open("rb") as file:
                while chunk := file.read(CHUNK):
                    tar.stdin.write(chunk)
                    task.advance(len(chunk))
        except BrokenPipeError:
            pass  # tar has ended early; its exit status and the log say why
        finally:
            status = tar.wait()
    if status != 0:
        shutil.rmtree(half)
        raise BoltError(f"cannot unpack {tarball}", log)
    log.unlink()
    return _finish(half, digest)


def _directory(tree: Path) -> Source:
    release_of(tree)
    files = _listing(tree)
    digest = _hash_listing(tree, files)[:8]
    found = _complete(f"dir-{digest}")
    if found:
        return found
    with lock(_root() / f"dir-{digest}"):
        return _complete(f"dir-{digest}") or _copy(tree, files, f"dir-{digest}")


def _listing(tree: Path) -> list[str]:
    """List the source files of ``tree``: those that git tracks, or all files of a tree without git.

    Raises BoltError if git fails, or if a tree without git has been configured or built in, because
    files that make has written there cannot be told from source files.
    """
    if (tree / ".git").exists():
        packages.ensure("export")
        listed = git.ask(tree, "ls-files", "-z")
        if listed.returncode != 0:
            said = listed.stderr.decode(errors="replace").strip().partition("\n")[0]
            raise BoltError(f"git cannot list {tree}: {said}")
        names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
        return sorted(name for name in names if os.path.lexists(tree / name))
    if (tree / ".config").exists() or (tree / "include/config").exists():
        raise BoltError(f"{tree} has been configured or built in: run 'make mrproper' there first")
    return sorted(_walk(tree))


def _walk(tree: Path) -> Iterator[str]:
    for folder, below, names in os.walk(tree):
        links = [name for name in below if (Path(folder) / name).is_symlink()]
        for name in names + links:
            yield str((Path(folder) / name).relative_to(tree))


def _copy(tree: Path, files: list[str], digest: str) -> Source:
    half = _half(digest)
    with ui.progress(f"copy {tree}", len(files)) as task:
        for name in files:
            target = half / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, target, follow_symlinks=False)
            task.advance()
    return _finish(half, digest)


def _half(digest: str) -> Path:
    """Return an empty directory to fill; files that an interrupted call left there are removed."""
    half = _root() / f"{digest}.half"
    if half.exists():
        with ui.status("removing an unfinished source"):
            shutil.rmtree(half)
    paths.require_space(_root(), SPACE, "the kernel source")
    half.mkdir()
    return half


def _finish(half: Path, digest: str) -> Source:
    """Give the filled directory ``half`` its final name, then put a stamp into the directory.

    If ``half`` has no source of a series that Bolt supports, removes ``half`` and raises BoltError.
    """
    try:
        release = release_of(half)
        version = versions.of_release(release)
    except BoltError:
        shutil.rmtree(half)
        raise
    target = _root() / f"{release}-{digest}"
    if target.exists():
        shutil.rmtree(target)  # The folder has no stamp: otherwise its source would have been used.
    half.rename(target)
    (target / COMPLETE).write_text(f"{release}\n", encoding="utf-8")
    return Source(target, target.name, release, version)


def _complete(digest: str) -> Source | None:
    for stamp in _root().glob(f"*-{digest}/{COMPLETE}"):
        found = of_id(stamp.parent.name)
        if found and found.id == f"{found.release}-{digest}":
            return found
    return None


def _hash_file(file: Path) -> str:
    """Return the SHA-256 of ``file``; the cache keeps the hash by the path, size and mtime."""
    state = file.stat()
    key = f"{file}:{state.st_size}:{state.st_mtime_ns}"
    memory = _root() / "hashes.json"
    try:
        known: dict[str, str] = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    if key not in known:
        with file.open("rb") as data:
            known[key] = hashlib.file_digest(data, "sha256").hexdigest()
        fresh = memory.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(known), encoding="utf-8")
        fresh.rename(memory)
    return known[key]


def _hash_listing(tree: Path, files: list[str]) -> str:
    """Hash the path of ``tree``, and names, sizes and mtimes of ``files``.

    To read all of a kernel's 80,000 files in each call of the lab would take too long.
    """
    digest = hashlib.sha256(str(tree).encode())
    for name in files:
        state = (tree / name).lstat()
        digest.update(os.fsencode(f"{name}\0{state.st_size}\0{state.st_mtime_ns}\n"))
    return digest.hexdigest()


def _root() -> Path:
    root = paths.cache() / "src"
    root.mkdir(exist_ok=True)
    return root

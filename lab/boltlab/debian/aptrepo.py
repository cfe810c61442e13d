# SPDX-License-Identifier: GPL-2.0-only
"""Makes a directory of Debian packages into a repository for apt."""

import hashlib
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from boltlab import paths
from boltlab.errors import BoltError
from boltlab.locks import lock

# The file that tells apt of the repository once a user copies it to /etc/apt/sources.list.d.
SOURCES = "bolt.sources"
INDEXES = ("Packages", "Packages.gz", "Release")
# A user's signatures of Release, which are removed because a newer Release needs new signatures.
SIGNATURES = ("InRelease", "Release.gpg")
ORIGIN = {"Origin": "Bolt", "Label": "Bolt", "Suite": "bolt", "Codename": "bolt"}


def publish(made: Path, folder: Path) -> list[Path]:
    """Move the packages in ``made`` into the repository ``folder``; return their new paths.

    Files of other versions of these packages, for the same architecture, are removed from
    ``folder``. apt never sees a half-written index or package, even if the call is ended or two
    calls publish at once.
    Every user may read the packages and the indexes, and may enter ``folder`` if publish() has
    made it, because apt reads as the user _apt. Raises BoltError when ``folder`` cannot be written,
    a package's file name is malformed, or a program that index() runs fails.
    """
    key = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    try:
        with lock(paths.cache() / "repositories" / key):
            if not folder.exists():
                folder.mkdir(parents=True)
                folder.chmod(0o755)
            new = [_move(path, folder) for path in sorted(made.glob("*.deb"))]
            index(folder)
            (folder / SOURCES).write_text(sources(folder), encoding="utf-8")
            # A package that an older version of the lab has put here may be closed to _apt.
            packages = folder.glob("*.deb")
            for path in (*packages, folder / SOURCES, *(folder / name for name in INDEXES)):
                path.chmod(0o644)
    except OSError as error:
        raise BoltError(f"cannot write {folder}: {error.strerror}") from error
    return new


def _move(path: Path, folder: Path) -> Path:
    """Move a package, maybe from another file system, to ``folder``; remove its other versions."""
    name, architecture = _key(path)
    half = folder / f"{path.name}.half"
    shutil.move(path, half)
    moved = half.rename(folder / path.name)
    for old in folder.glob(f"{name}_*_{architecture}.deb"):
        if old != moved:
            old.unlink()
    return moved


def closed(folder: Path) -> list[Path]:
    """Return those of ``folder`` and the folders above it that apt's user may not enter."""
    place = folder.absolute()
    found = [path for path in (place, *place.parents) if path.is_dir()]
    return [path for path in found if not path.stat().st_mode & stat.S_IXOTH]


def _key(path: Path) -> tuple[str, str]:
    """Return name and architecture of the package ``path``."""
    words = path.stem.split("_")
    if len(words) != 3:
        raise BoltError(f"{path} is not named as a package is: NAME_VERSION_ARCH.deb")
    return words[0], words[2]


def index(folder: Path) -> None:
    """Write the indexes of ``folder``: Packages, plain and packed, and Release with checksums."""
    with tempfile.TemporaryDirectory(prefix="index-", dir=paths.cache()) as scratch:
        half = Path(scratch)
        listing = _run(["apt-ftparchive", "packages", "."], folder)
        (half / "Packages").write_bytes(listing)
        (half / "Packages.gz").write_bytes(_run(["gzip", "-9nc", "Packages"], half))
        # Release is not in ``half`` while apt-ftparchive runs there, because apt-ftparchive would
        # list a checksum of Release in Release.
        options = [f"APT::FTPArchive::Release::{key}={value}" for key, value in ORIGIN.items()]
        words = [word for option in options for word in ("-o", option)]
        said = _run(["apt-ftparchive", *words, "release", "."], half)
        (half / "Release").write_bytes(said)
        for name in INDEXES:
            shutil.copyfile(half / name, folder / f"{name}.half")
        for name in SIGNATURES:
            (folder / name).unlink(missing_ok=True)
        for name in INDEXES:
            (folder / f"{name}.half").rename(folder / name)


def sources(folder: Path) -> str:
    """Return the text that tells apt of the repository ``folder``.

    The packages are not signed: every user who can write to the folder can replace packages that
    root installs.
    """
    place = str(folder.absolute()).replace("%", "%25").replace(" ", "%20")
    return (
        "# Packages of Bolt, built on this machine by ./bolt deb.\n"
        f"Types: deb\nURIs: file:{place}\nSuites: ./\nTrusted: yes\n"
    )


def _run(command: list[str], folder: Path) -> bytes:
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise BoltError(f"{command[0]} failed: {said[-1]}")
    return done.stdout

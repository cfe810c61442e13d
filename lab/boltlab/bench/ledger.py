# SPDX-License-Identifier: GPL-2.0-only
"""Keeps what each guest of a bench has measured, so that a bench that failed can go on.

A guest that has ended well has a folder in the cache, ``bench/NAME-KEY``, with what the guest has
written, and with the origin of these figures: all that the figures depend on, besides what NAME,
the name of the guest's job, says. KEY is a hash of the origin.
"""

import contextlib
import errno
import functools
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from boltlab import codec, paths
from boltlab.errors import BoltError, GuestError
from boltlab.guest import channels, qemu
from boltlab.guest.qemu import Guest, GuestResult

KIND = "guest of a bench"  # kind of the file ORIGIN
ORIGIN = "origin.json"
FILES = ("console.log", *channels.FILES.values())
PARTS = ("kernel", "lab")  # the folders of the repository on which figures depend
KEPT = 500  # guests whose folders stay in the cache; boot-bench has about 100 on an architecture
KEY = 12  # characters of a key
TRIES = 5  # how often a folder that another call has put in place meanwhile is removed again


@dataclass(frozen=True)
class Origin:
    """What figures depend on, besides the guest's name; DIFFERS has a text for each field."""

    tree: str  # a hash of all files in PARTS
    kernel: str  # the stamp of the kernel: a hash of what the kernel was built from
    emulator: str
    settings: str  # script, append, machine and bounded of the Guest


DIFFERS = {
    "tree": "kernel/ or lab/ has changed",
    "kernel": "the kernel was built from something else",
    "emulator": "QEMU has another version",
    "settings": "the settings of the guest have changed",
}


def origin(guest: Guest, stamp: str) -> Origin:
    """Return the origin of the figures of ``guest``, whose kernel has the ``stamp``."""
    return Origin(
        tree=fingerprint(),
        kernel=stamp,
        emulator=qemu.version(guest.arch.qemu),
        settings=repr((guest.script, guest.append, guest.machine, guest.bounded)),
    )


@functools.cache
def fingerprint(root: Path = paths.REPO) -> str:
    """Return a hash of all files in PARTS of ``root``, without caches and hidden files."""
    digest = hashlib.sha256()
    for part in PARTS:
        for path in sorted((root / part).rglob("*")):
            name = path.relative_to(root)
            hidden = any(word.startswith(".") or word == "__pycache__" for word in name.parts)
            if path.is_file() and not hidden:
                digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def folder() -> Path:
    """Return the directory of the folders of all guests; make the directory if need be."""
    place = paths.cache() / "bench"
    place.mkdir(exist_ok=True)
    return place


def keep(name: str, origin: Origin, ran: GuestResult) -> GuestResult:
    """Keep what the guest ``name`` has measured, in place of what is kept for that origin.

    Returns ``ran`` with the guest's folder in the cache in place of the run's directory. Raises
    BoltError when that folder cannot be written. Afterwards paths.prune() removes old folders.
    """
    place = _place(name, origin)
    try:
        half = Path(tempfile.mkdtemp(prefix=".", dir=place.parent))
        for file in FILES:
            if (ran.folder / file).exists():
                shutil.copyfile(ran.folder / file, half / file)
        document = {"schema": codec.SCHEMA, "kind": KIND, **asdict(origin)}
        (half / ORIGIN).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        _replace(place, half)
    except OSError as error:
        raise BoltError(f"cannot keep figures in {place.parent}: {error.strerror}") from error
    paths.prune(place.parent, KEPT)
    return replace(ran, folder=place)


def take(name: str, origin: Origin) -> GuestResult | None:
    """Return what is kept of guest ``name`` with ``origin``, or None if nothing valid is kept."""
    place = _place(name, origin)
    with contextlib.suppress(GuestError):
        return qemu.judge(place, "guest-shutdown") if place.is_dir() else None
    return None


def forget(name: str, origin: Origin) -> None:
    """Remove what is kept of the guest ``name`` with this ``origin``."""
    shutil.rmtree(_place(name, origin), ignore_errors=True)


def why_none(guests: Iterable[tuple[str, Origin]]) -> str:
    """Return why no kept figures can be used for ``guests``.

    If figures of any of ``guests`` are kept, the reason is what has changed since the guest whose
    figures were kept last was measured: where the origin of these figures differs
    from the origin that the guest has now.
    """
    found = [
        (place.stat().st_mtime, name, place, wanted)
        for name, wanted in guests
        for place in folder().glob(f"{name}-{'?' * KEY}")
    ]
    if not found:
        return "no figures of this bench's guests are kept"
    _, name, place, wanted = max(found, key=lambda each: each[0])
    kept = codec.read(Origin, place / ORIGIN, "holds no origin of kept figures", KIND)
    changed = [text for key, text in DIFFERS.items() if getattr(kept, key) != getattr(wanted, key)]
    return f"since {name} was measured: {', '.join(changed) or 'what was kept has been damaged'}"


def _replace(place: Path, folder: Path) -> None:
    """Give ``folder`` the name ``place``, also if other calls keep the same guest just now."""
    for tries in range(TRIES):
        shutil.rmtree(place, ignore_errors=True)
        try:
            folder.rename(place)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or tries == TRIES - 1:
                raise
        else:
            return


def _place(name: str, origin: Origin) -> Path:
    key = hashlib.sha256(repr(origin).encode()).hexdigest()[:KEY]
    return folder() / f"{name}-{key}"

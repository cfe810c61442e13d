# SPDX-License-Identifier: GPL-2.0-only
"""Builds tools/ for tests on this machine, and, with Debian's libraries, for guests."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from boltlab import arch, debs, packages, paths, ui
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.guest import guestimage
from boltlab.guest.guestimage import Node
from boltlab.locks import lock

SOURCES = paths.REPO / "tools"
# Debian packages with the headers and libraries for programs of a guest.
LIBRARIES = (
    "libc6-dev",
    "libinih-dev",
    "libsmartcols-dev",
    "libsystemd-dev",
    "libtraceevent-dev",
    "libtracefs-dev",
    "libtracecmd-dev",
)
# Name of a build for this machine -> options of meson.
BUILDS: Mapping[str, tuple[str, ...]] = {
    "plain": ("-Dwerror=true",),
    "bare": ("-Dwerror=true", "-Dsystemd=disabled", "-Dtracecmd=disabled", "-Dman=disabled"),
    "sanitized": ("-Dwerror=true", "-Db_sanitize=address,undefined", "-Db_lundef=false"),
}
GUEST = ("-Dwerror=true", "-Dman=disabled", "-Dtests=disabled", "-Dcompletion=disabled")


def run_logged(command: Sequence[str], log: Path, what: str) -> None:
    """Run ``command`` with its output in ``log``.

    If the command fails, raises BoltError with the first line of ``log``, if any, that tells of an
    error.
    """
    with log.open("ab") as out:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False
        )
    if done.returncode:
        text = log.read_text(encoding="utf-8", errors="replace")
        wrong = re.search(r"^.*(?:\berror: |ERROR: |undefined reference).*$", text, re.M)
        raise BoltError(f"{what} failed{f': {wrong[0].strip()}' if wrong else ''}", log)


def _build(folder: Path, options: Sequence[str], targets: Sequence[str] = ()) -> None:
    """Build tools/ in ``folder`` with meson's ``options``; only changed parts are compiled."""
    log = paths.new_log(f"tools-{folder.name}")
    # A folder that was made with other options is removed and set up anew.
    stamp, wanted = folder / "bolt-stamp", repr(tuple(options))
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        run_logged(["meson", "setup", *options, str(folder), str(SOURCES)], log, "meson setup")
        stamp.write_text(wanted, encoding="utf-8")
    with ui.status(f"building tools ({folder.name})"):
        jobs = str(arch.cores())
        run_logged(["ninja", "-C", str(folder), "-j", jobs, *targets], log, "building tools")


def place(name: str) -> Path:
    """Return the folder of the build ``name``; another clone of the repository has another folder.

    So no clone rebuilds programs that tests of another clone are running.
    """
    clone = hashlib.sha256(str(SOURCES).encode()).hexdigest()[:12]
    return paths.cache() / "tools" / clone / name


def host(name: str) -> Path:
    """Return the folder of the build ``name`` of BUILDS; first update the build and its tests."""
    packages.ensure("tools", "guest")
    folder = place(name)
    with lock(folder):
        _build(folder, BUILDS[name])
        _build(folder, BUILDS[name], _programs(folder))
    return folder


def tests(folder: Path, suite: str = "lib") -> list[dict[str, Any]]:
    """Return meson's descriptions of the tests of ``suite`` in the build ``folder``."""
    return [test for test in _tests(folder) if f"cpubolt:{suite}" in test["suite"]]


def _tests(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "meson-info" / "intro-tests.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def _programs(folder: Path) -> list[str]:
    """Return the programs of all tests, which meson 1.7 and later do not build by default."""
    programs = {Path(test["cmd"][0]) for test in _tests(folder)}
    return sorted(
        path.relative_to(folder).as_posix() for path in programs if path.is_relative_to(folder)
    )


# -- Guests -----------------------------------------------------------------------------------


def sysroot(arch: Arch) -> Path:
    """Return a folder with Debian's headers and libraries for ``arch``, fetched if need be."""
    stamp = hashlib.sha256(repr(LIBRARIES).encode()).hexdigest()[:12]
    folder = paths.cache() / "tools" / f"sysroot-{arch.name}-{stamp}"
    with lock(folder):
        if not folder.exists():
            half = folder.with_suffix(".half")
            debs.unpack(arch, LIBRARIES, half, depends=True)
            _relink(half)
            half.rename(folder)
    return folder


def _relink(folder: Path) -> None:
    """Change the absolute symbolic links in ``folder`` so that they point into ``folder``."""
    for path in folder.rglob("*"):
        if path.is_symlink() and (to := path.readlink()).is_absolute():
            path.unlink()
            path.symlink_to(os.path.relpath(f"{folder}{to}", path.parent))


def cross_file(arch: Arch, root: Path) -> str:
    """Return the text of meson's cross file for programs of ``arch`` with libraries of ``root``.

    The file is also used for the architecture of this machine, which may run another Debian than
    guests do.
    """
    tools = {name: f"{arch.triplet}-{name}" for name in ("gcc", "ar", "strip")}
    binaries = {"c": tools["gcc"], "ar": tools["ar"], "strip": tools["strip"]}
    pkg = ":".join(f"{root}/usr/{each}/pkgconfig" for each in (f"lib/{arch.triplet}", "share"))
    family = arch.triplet.partition("-")[0]
    return "\n".join(
        [
            "[binaries]",
            *(f"{key} = '{value}'" for key, value in binaries.items()),
            "pkgconfig = 'pkg-config'",  # the key that old and new versions of meson know
            "[properties]",
            f"sys_root = '{root}'",
            f"pkg_config_libdir = '{pkg}'",
            "[built-in options]",
            f"c_args = ['--sysroot={root}']",
            f"c_link_args = ['--sysroot={root}']",
            "[host_machine]",
            "system = 'linux'",
            f"cpu_family = '{family}'",
            f"cpu = '{family}'",
            "endian = 'little'",
            "",
        ]
    )


def guest(arch: Arch) -> Path:
    """Return the folder of the build for guests of ``arch``; first update the build."""
    packages.ensure("tools", "guest", arches=[arch])
    root = sysroot(arch)
    folder = place(f"guest-{arch.name}")
    with lock(folder):
        cross = folder.with_name(f"{folder.name}.ini")
        cross.write_text(cross_file(arch, root), encoding="utf-8")
        _build(folder, (*GUEST, f"--cross-file={cross}"))
    return folder


def nodes(arch: Arch, names: Iterable[str]) -> dict[str, Node]:
    """Return the programs ``names`` for ``arch`` as nodes of an initramfs, with their libraries.

    The programs are in bin/, the libraries in lib/, where the dynamic linker looks without being
    told. Raises BoltError when there is no such program.
    """
    found: dict[str, Node] = {}
    names = list(names)
    if not names:
        return found
    folder, root = guest(arch), sysroot(arch)
    for name in names:
        program = folder / name / name
        if not program.is_file():
            raise BoltError(f"tools has no program '{name}'")
        found[f"bin/{name}"] = guestimage.file(program.read_bytes(), 0o755)
        found |= libraries(arch, program, [folder / "lib", *_places(arch, root)])
        found |= linker(program, _places(arch, root))
    return found


def _places(arch: Arch, root: Path) -> list[Path]:
    return [root / base / arch.triplet for base in ("lib", "usr/lib")]


def libraries(arch: Arch, program: Path, places: Sequence[Path]) -> dict[str, Node]:
    """Return the shared libraries that ``program`` needs, and those that these libraries need."""
    found: dict[str, Node] = {}
    left = _needed(program)
    while left:
        name = left.pop()
        if f"lib/{name}" in found:
            continue
        library = next((place / name for place in places if (place / name).exists()), None)
        if library is None:
            raise BoltError(f"there is no {name} for {arch.name}")
        found[f"lib/{name}"] = guestimage.file(library.read_bytes(), 0o755)
        left += _needed(library)
    return found


def _needed(program: Path) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.+)\]", _readelf("-d", program))


def linker(program: Path, places: Sequence[Path]) -> dict[str, Node]:
    """Return the dynamic linker at the path that ``program`` names, and that path's folder.

    The folder is left out if guestimage.DIRECTORIES has it. The linker itself is taken from one of
    ``places``, because the path that programs name is only a link, which on x86_64 is in /lib64 of
    Debian 12's package, but in /usr/lib64 of Debian 13's package.
    """
    match = re.search(r"program interpreter: /(.+)\]", _readelf("-l", program))
    if match is None:
        raise BoltError(f"{program.name} names no dynamic linker")
    name = Path(match[1]).name
    found = next((place / name for place in places if (place / name).exists()), None)
    if found is None:
        raise BoltError(f"there is no {name} for {program.name}")
    folder = str(Path(match[1]).parent)
    nodes = {} if folder in guestimage.DIRECTORIES else {folder: guestimage.directory()}
    return {**nodes, match[1]: guestimage.file(found.read_bytes(), 0o755)}


def _readelf(word: str, program: Path) -> str:
    done = subprocess.run(
        ["readelf", "-W", word, str(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    if done.returncode:
        raise BoltError(f"{program.name} is no ELF file")
    return done.stdout

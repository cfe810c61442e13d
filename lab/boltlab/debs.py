# SPDX-License-Identifier: GPL-2.0-only
"""Unpacks Debian packages of any architecture into a folder, without installing them."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from boltlab import packages, paths, ui
from boltlab.arch import Arch
from boltlab.errors import BoltError

# name of an architecture -> Debian's name for the same architecture
NAMES: Mapping[str, str] = {"x86_64": "amd64", "arm64": "arm64"}


def unpack(arch: Arch, names: Sequence[str], to: Path, depends: bool = False) -> None:
    """Unpack the packages ``names`` for ``arch`` into the folder ``to``, which is made anew.

    With ``depends``, the packages on which ``names`` depend are unpacked, too. The packages come
    from the archives that this machine's apt is set up for; the machine's own lists and state of
    apt do not change. Raises BoltError when this machine lacks apt-get or dpkg-deb, when apt cannot
    get a package, or when a package cannot be unpacked.
    """
    for tool in ("apt-get", "dpkg-deb"):
        if packages.which(tool) is None:
            raise BoltError(f"cannot get {' '.join(names)} for {arch.name} without {tool}")
    scratch = to.with_name(f"{to.name}.debs")
    for folder in (scratch, to):
        shutil.rmtree(folder, ignore_errors=True)
    for part in ("lists/partial", "cache/archives/partial"):
        (scratch / part).mkdir(parents=True)
    (scratch / "status").touch()
    to.mkdir(parents=True)
    log = paths.new_log(f"debs-{arch.name}")
    apt = ["apt-get", "-q", "-y", *(f"-o{option}" for option in _options(arch, scratch))]
    get = ["install", "--download-only", "--no-install-recommends"] if depends else ["download"]
    what = " ".join(names)
    with ui.status(f"fetching {what} for {arch.name}"), log.open("wb") as out:
        for command in ([*apt, "update"], [*apt, *get, *names]):
            if subprocess.run(command, stdout=out, stderr=out, cwd=scratch, check=False).returncode:
                raise BoltError(f"apt cannot get {what} for {arch.name}", log)
        for package in sorted(scratch.rglob("*.deb")):
            command = ["dpkg-deb", "-x", str(package), str(to)]
            if subprocess.run(command, stdout=out, stderr=out, check=False).returncode:
                raise BoltError(f"{package.name} cannot be unpacked", log)
    shutil.rmtree(scratch)


def _options(arch: Arch, scratch: Path) -> list[str]:
    name = NAMES[arch.name]
    options = [
        f"APT::Architecture={name}",
        f"APT::Architectures={name}",
        f"Dir::State={scratch}",
        f"Dir::State::lists={scratch}/lists",
        f"Dir::State::status={scratch}/status",
        f"Dir::Cache={scratch}/cache",
    ]
    # apt usually downloads as the user _apt, who may not enter the cache directory of root.
    return [*options, "APT::Sandbox::User=root"] if os.geteuid() == 0 else options

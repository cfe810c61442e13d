# SPDX-License-Identifier: GPL-2.0-only
"""Finds configurations that are not the lab's: Debian's, and that of the running kernel."""

import gzip
import lzma
import platform
import re
import shutil
import subprocess
from pathlib import Path

from boltlab import debs, packages, paths
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.kernel import config, flavours
from boltlab.locks import lock
from boltlab.versions import Version

# Name of a base configuration -> name of the configuration in a series' package, such as
# linux-config-6.12.
DEBIAN = {"cloud": "cloud-{arch}", "debian": "{arch}"}
RUNNING = "running"
BASES = (*DEBIAN, RUNNING)
CONFIGS = Path("/usr/src")
BOOT = Path("/boot")
PROC = Path("/proc/config.gz")
# The oldest pahole that kernels of all series take to make BTF of modules. (6.12 alone takes 1.19.)
PAHOLE = (1, 22)
BTF = "CONFIG_DEBUG_INFO_BTF"


def base(name: str, arch: Arch, version: Version) -> str:
    """Return the configuration ``name`` (one of BASES) for kernels of ``arch`` and ``version``.

    Debian's configurations come from a package of the series, which is fetched if it is not
    installed. Raises BoltError when there is no such configuration, or apt cannot get the package.
    """
    return _running(arch) if name == RUNNING else _debian(name, arch, version)


def _debian(name: str, arch: Arch, version: Version) -> str:
    package = version.package.replace("source", "config")
    debian = debs.NAMES[arch.name]
    file = f"{package}/config.{debian}_none_{DEBIAN[name].format(arch=debian)}.xz"
    path = CONFIGS / file
    if not path.is_file():
        # A newer version of the package may have other options, so each version has its own folder.
        newest = re.sub(r"[^\w.+~-]", "-", packages.candidate(package))
        folder = paths.cache() / "configs" / f"{package}-{arch.name}-{newest}"
        path = folder / "usr" / "src" / file
        with lock(folder):
            if not path.is_file():
                half = folder.with_name(f"{folder.name}.half")
                debs.unpack(arch, [package], half)
                shutil.rmtree(folder, ignore_errors=True)
                half.rename(folder)
    try:
        return lzma.decompress(path.read_bytes()).decode()
    except (OSError, lzma.LZMAError) as error:
        raise BoltError(f"the package {package} has no {path.name}") from error


def _running(arch: Arch) -> str:
    if not arch.is_host:
        raise BoltError(f"the running kernel is not one of {arch.name}")
    path = BOOT / f"config-{platform.release()}"
    try:
        return path.read_text(encoding="utf-8") if path.is_file() else _proc()
    except OSError as error:
        raise BoltError(
            f"the running kernel's configuration is neither in {path} nor in {PROC}"
        ) from error


def _proc() -> str:
    return gzip.decompress(PROC.read_bytes()).decode()


def has_btf(text: str) -> bool:
    """Tell whether ``text``, a configuration, asks for BTF: types that BPF programs need."""
    return config.parse(text).get(BTF) == "y"


def pahole() -> bool:
    """Tell whether this machine has a pahole that is not older than PAHOLE."""
    path = packages.which("pahole")
    if path is None:
        return False
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    return found is not None and (int(found[1]), int(found[2])) >= PAHOLE


def debug_info(text: str) -> str:
    """Return the fragment that turns debug information off in the configuration ``text``.

    If the configuration asks for BTF and pahole() is true, the fragment instead turns on the debug
    information from which pahole makes BTF.
    """
    name = "btf" if has_btf(text) and pahole() else "no-btf"
    return (flavours.CONFIGS / f"{name}.config").read_text(encoding="utf-8")

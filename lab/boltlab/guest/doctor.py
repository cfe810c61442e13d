# SPDX-License-Identifier: GPL-2.0-only
"""Looks for what the lab needs on this machine, and says what does not work if a need is unmet."""

import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from boltlab import arch as arches
from boltlab import packages, paths
from boltlab.arch import Arch
from boltlab.guest import kvm
from boltlab.kernel import build
from boltlab.versions import Version

GOAL_QEMU = 10  # Bolt's goals are judged on this version of QEMU or a newer one
MEMORY = 4.0  # GB (10^9) of memory with which builds do not swap
MEMORY_LEAST = 1.8
# GB of free disk that commands need. The source takes 1.7, a built tree 2.0, and tree.copy() wants
# 2.5 free for each copy.
DISK_TEST = 20.0  # ./bolt test: eight trees, and up to 200 runs
DISK_ALL = 11.0  # ./bolt demo --arch all: the kernels pristine and bolt for both architectures
DISK_ONE = 7.0  # ./bolt demo: these kernels for one architecture, and Debian packages
DISK_AGAIN = 1.0  # ./bolt demo once the host's kernels are built


class Level(Enum):
    """How bad a finding is."""

    GOOD = "ok"
    LACK = "lack"  # the lab works without what is lacking, or installs it when needed
    BLOCK = "missing"  # ./bolt demo cannot run without what is missing


@dataclass(frozen=True)
class Finding:
    """One row: what the lab needs, what this machine has, and the cost if that is not enough."""

    what: str
    found: str
    level: Level = Level.GOOD
    cost: str = ""


def examine(version: Version) -> list[Finding]:
    """Return all findings for kernels of ``version``; nothing is changed.

    Takes up to half a minute where /dev/kvm can be used, because a guest is then booted under KVM.
    """
    host = arches.host()
    return [
        _system(),
        _cores(),
        _memory(Path("/proc/meminfo").read_text(encoding="ascii")),
        _disk(shutil.disk_usage(paths.cache()).free / 1e9, _have_kernels(host)),
        *_tools(host),
        *(_qemu(arch, host) for arch in arches.select("all")),
        _kvm(host),
        _source(version),
    ]


def _system() -> Finding:
    name = platform.platform()
    release = {}
    for file in ("/etc/os-release", "/usr/lib/os-release"):
        if Path(file).is_file():
            release = platform.freedesktop_os_release()
            name = release.get("PRETTY_NAME", name)
            break
    found = f"{name}, {platform.machine()}"
    if packages.can_install():
        return Finding("system", found)
    if shutil.which("apt-get"):
        return Finding("system", found, Level.LACK, "no root or sudo: install packages yourself")
    return Finding("system", found, Level.LACK, "no apt: install tools yourself, use --source")


def _cores() -> Finding:
    cores = arches.cores()
    if cores >= 2:
        return Finding("cores", str(cores))
    return Finding("cores", str(cores), Level.LACK, "the first demo takes about 20 minutes")


def _memory(meminfo: str) -> Finding:
    size = re.search(r"^MemTotal: +(\d+) kB", meminfo, re.M)
    gigabytes = int(size[1]) * 1024 / 1e9 if size else 0.0
    found = f"{gigabytes:.1f} GB"
    if gigabytes >= MEMORY:
        return Finding("memory", found)
    if gigabytes >= MEMORY_LEAST:
        return Finding("memory", found, Level.LACK, "builds may swap: use --jobs 1")
    return Finding("memory", found, Level.BLOCK, "too little to build a kernel and run a guest")


def _disk(free: float, have_kernels: bool) -> Finding:
    found = f"{free:.0f} GB free in {paths.cache()}"
    if free >= DISK_TEST:
        return Finding("disk", found)
    needed = DISK_AGAIN if have_kernels else DISK_ONE
    if free >= needed:
        cost = f"in all, test needs {DISK_TEST:.0f} GB, demo --arch all {DISK_ALL:.0f} GB"
        return Finding("disk", found, Level.LACK, cost)
    cost = f"demo needs {needed:.0f} GB here, or {DISK_ONE:.0f} GB in another BOLT_CACHE"
    return Finding("disk", found, Level.BLOCK, cost)


def _have_kernels(host: Arch) -> bool:
    flavours = {kernel.flavour for kernel in build.built() if kernel.arch == host.name}
    return {"pristine", "bolt"} <= flavours


def _tools(host: Arch) -> Iterator[Finding]:
    for arch in arches.select("all"):
        version = _first_line([arch.cc, "-dumpfullversion"])
        compiler = f"{arch.cc} {version}" if version else f"no {arch.cc}"
        cost = "" if version else f"no {arch.name} kernels"
        yield Finding(f"compiler for {arch.name}", compiler, _lack(version, arch, host), cost)
    native = [need for need in packages.missing(["build", "guest"], [host]) if need.tool != host.cc]
    found = f"no {' '.join(need.package for need in native)}" if native else "all"
    cost = "no kernel builds" if native else ""
    yield Finding("build tools", found, _lack(not native, host, host), cost)
    for command, groups in packages.NEEDS.items():
        lacking = packages.missing(groups)
        found = f"no {' '.join(need.package for need in lacking)}" if lacking else "all"
        level = Level.LACK if lacking else Level.GOOD
        yield Finding(f"tools for {command}", found, level, f"no {command}" if lacking else "")


def _qemu(arch: Arch, host: Arch) -> Finding:
    what = f"QEMU for {arch.name}"
    line = _first_line([arch.qemu, "--version"])
    version = re.search(r"version (\d+)([.\d]*)", line)
    if not version:
        return Finding(what, f"no {arch.qemu}", _lack(False, arch, host), f"no {arch.name} guests")
    found = version[1] + version[2]
    if int(version[1]) >= GOAL_QEMU:
        return Finding(what, found)
    cost = f"no figures for goals: QEMU {GOAL_QEMU} or newer is needed (Debian 12: backports)"
    return Finding(what, found, Level.LACK, cost)


def _kvm(host: Arch) -> Finding:
    images = [kernel.image for kernel in build.built() if kernel.arch == host.name]
    answer = kvm.probe(host, images[0] if images else None)
    if answer.usable:
        return Finding("KVM", answer.detail)
    return Finding("KVM", answer.detail, Level.LACK, "no figures in real time; all else works")


def _source(version: Version) -> Finding:
    if version.tarball.is_file():
        return Finding("kernel source", str(version.tarball))
    candidate = packages.candidate(version.package)
    if candidate and packages.can_install():
        return Finding("kernel source", f"{version.package} {candidate}, from apt when needed")
    cost = f"say --source with a linux {version.series} tree or tarball"
    return Finding("kernel source", f"no {version.package}", Level.BLOCK, cost)


def _lack(present: object, arch: Arch, host: Arch) -> Level:
    """Grade a tool for kernels or guests of ``arch``.

    A missing tool blocks ./bolt demo if ``arch`` is the host's and the lab cannot install packages.
    """
    if present:
        return Level.GOOD
    blocks = arch is host and not packages.can_install()
    return Level.BLOCK if blocks else Level.LACK


def _first_line(command: list[str]) -> str:
    path = packages.which(command[0])
    if path is None:
        return ""
    done = subprocess.run([path, *command[1:]], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0].strip()

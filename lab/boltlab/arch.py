# SPDX-License-Identifier: GPL-2.0-only
"""The table of architectures: how the lab builds, boots and measures kernels of each."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from boltlab.errors import USAGE, BoltError


def cores() -> int:
    """Return how many CPUs of the host the lab may use: a container may have only some of them."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Arch:
    """One architecture: how its kernel is built and which machine runs it."""

    name: str
    kernel_arch: str  # ARCH= of the kernel's make
    srcarch: str  # directory under arch/
    machines: tuple[str, ...]  # names that uname -m prints for the architecture
    triplet: str  # GNU triplet of Debian's compilers for the architecture
    image_target: str  # make target of the kernel image
    image_path: str  # where make leaves the image, a path in the kernel's tree
    qemu: str  # system emulator
    machine_args: tuple[str, ...]  # QEMU's arguments without KVM; the last one is the CPU model
    kvm_machine_args: tuple[str, ...]
    console: str  # the serial console's tty
    settings: Mapping[str, str]  # name of the measuring setting -> kernel arguments

    @property
    def is_host(self) -> bool:
        """Tell whether this is the architecture of the machine on which the lab runs."""
        return platform.machine() in self.machines

    @property
    def cross_compile(self) -> str:
        """Prefix of the names of the compiler's tools; empty if the host has this architecture."""
        return "" if self.is_host else f"{self.triplet}-"

    @property
    def cc(self) -> str:
        """Name of the C compiler for this architecture."""
        return f"{self.cross_compile}gcc"

    @property
    def default_setting(self) -> str:
        """Name of the measuring setting that is used if no setting is named."""
        return next(iter(self.settings))

    @property
    def config_fragment(self) -> Path:
        """Return the path of the options that flavours without a ``base`` start from."""
        return Path(__file__).resolve().parent / "data" / "config" / f"{self.name}.config"


_TABLE = (
    Arch(
        name="x86_64",
        kernel_arch="x86_64",
        srcarch="x86",
        machines=("x86_64", "amd64"),
        triplet="x86_64-linux-gnu",
        image_target="bzImage",
        image_path="arch/x86/boot/bzImage",
        qemu="qemu-system-x86_64",
        machine_args=("-machine", "q35", "-cpu", "max"),
        kvm_machine_args=("-machine", "q35", "-cpu", "host"),
        console="ttyS0",
        settings={
            "strict": "cpu_init_udelay=0 tsc=reliable",
            "nodelay": "cpu_init_udelay=0",
            "legacy": "cpu_init_udelay=10000",
        },
    ),
    Arch(
        name="arm64",
        kernel_arch="arm64",
        srcarch="arm64",
        machines=("aarch64", "arm64"),
        triplet="aarch64-linux-gnu",
        image_target="Image",
        image_path="arch/arm64/boot/Image",
        qemu="qemu-system-aarch64",
        machine_args=("-machine", "virt,gic-version=3", "-cpu", "max"),
        kvm_machine_args=("-machine", "virt,gic-version=host", "-cpu", "host"),
        console="ttyAMA0",
        settings={"default": ""},
    ),
)

ARCHES: Mapping[str, Arch] = {entry.name: entry for entry in _TABLE}
CHOICES = (*ARCHES, "all")


def host() -> Arch:
    """Return the host's architecture; raise BoltError on a machine Bolt does not know."""
    for entry in ARCHES.values():
        if entry.is_host:
            return entry
    raise BoltError(
        f"no kernel for this machine, {platform.machine()}: say --arch {' or --arch '.join(ARCHES)}"
    )


def select(name: str | None) -> list[Arch]:
    """Return the architectures an ``--arch`` value stands for.

    None stands for the host's architecture, ``all`` for all architectures, the host's first. Raises
    BoltError on an unknown name, and for None as host() does.
    """
    if name is None:
        return [host()]
    if name == "all":
        return sorted(ARCHES.values(), key=lambda entry: not entry.is_host)
    if name not in ARCHES:
        raise BoltError(f"unknown architecture '{name}' (one of {', '.join(CHOICES)})", code=USAGE)
    return [ARCHES[name]]


def setting(target: Arch, name: str | None) -> str:
    """Return ``name``, a measuring setting of ``target``; for None the default setting's name.

    Raises BoltError when ``target`` has no setting of that name.
    """
    if name is None:
        return target.default_setting
    if name not in target.settings:
        known = ", ".join(target.settings)
        raise BoltError(f"{target.name} has no setting '{name}' (it has: {known})", code=USAGE)
    return name

# SPDX-License-Identifier: GPL-2.0-only
"""Finds out whether KVM works, by booting a guest, because the device node alone proves nothing."""

import os
import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from boltlab import packages
from boltlab.arch import Arch

NODE = Path("/dev/kvm")
TINY_TIMEOUT = 20  # seconds that the tiny program may take
KERNEL_TIMEOUT = 30
DEBUG_EXIT = 0x10  # if a guest writes this to isa-debug-exit, QEMU exits with 2 * 0x10 + 1

# Lines by which the kernel shows that it has booted. Then the kernel panics, because it has no root
# file system.
_RAN = re.compile(rb"Freeing unused kernel|VFS: |as init process|No working init")


@dataclass(frozen=True)
class Answer:
    """Whether KVM can be used, and the reason for this answer."""

    usable: bool
    detail: str


def probe(arch: Arch, kernel: Path | None = None) -> Answer:
    """Tell whether KVM works: boot ``kernel`` under KVM or, if it is None, a tiny program.

    ``kernel`` is an image of the lab for ``arch``. probe() takes up to KERNEL_TIMEOUT seconds, and
    raises nothing for a KVM that does not work.
    """
    if not arch.is_host:
        return Answer(False, "KVM runs the host's architecture only")
    if not NODE.exists():
        return Answer(False, f"there is no {NODE}")
    if not os.access(NODE, os.R_OK | os.W_OK):
        return Answer(False, f"no right to open {NODE} (group kvm)")
    if packages.which(arch.qemu) is None:
        return Answer(False, f"{arch.qemu} is not installed")
    if kernel:
        return _boot_kernel(arch, kernel)
    with tempfile.TemporaryDirectory(prefix="bolt-kvm-") as scratch:
        return _boot_tiny(arch, Path(scratch) / "tiny")


def tiny_image(arch: Arch) -> bytes:
    """Return a program that boots without an operating system, and ends the machine at once."""
    if arch.name == "x86_64":
        # A boot sector: mov dx,0xf4; mov al,DEBUG_EXIT; out dx,al; hlt; jmp to the hlt
        code = bytes([0xBA, 0xF4, 0x00, 0xB0, DEBUG_EXIT, 0xEE, 0xF4, 0xEB, 0xFD])
        # The firmware does not boot from a disk that is too small: zeros pad the sector to 1 MiB.
        return (code.ljust(510, b"\0") + b"\x55\xaa").ljust(1 << 20, b"\0")
    # mov w0,#0x84000008 (PSCI SYSTEM_OFF, two instructions); hvc #0; b .
    return struct.pack("<4I", 0x52800100, 0x72B08000, 0xD4000002, 0x14000000)


def tiny_arguments(arch: Arch, image: Path) -> tuple[list[str], int]:
    """Return QEMU's arguments to run tiny_image() in the file ``image``, and QEMU's exit status.

    QEMU ends with this status if the program has run to its end.
    """
    if arch.name == "x86_64":
        drive = ["-drive", f"file={image},format=raw,if=none,id=disk", "-device"]
        ending = ["ide-hd,drive=disk", "-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
        return [*drive, *ending], 2 * DEBUG_EXIT + 1
    return ["-kernel", str(image)], 0


def _boot_tiny(arch: Arch, image: Path) -> Answer:
    image.write_bytes(tiny_image(arch))
    arguments, expected = tiny_arguments(arch, image)
    try:
        done = subprocess.run(
            [*_qemu(arch), "-m", "64", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TINY_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(False, f"a tiny guest hangs (tried for {TINY_TIMEOUT} s)")
    if done.returncode != expected:
        return Answer(False, _complaint(done.stderr) or "a tiny guest fails under KVM")
    return Answer(True, "ran a tiny guest; no lab kernel to try yet")


def _boot_kernel(arch: Arch, kernel: Path) -> Answer:
    append = f"console={arch.console} panic=-1"
    command = [*_qemu(arch), "-m", "512", "-smp", "2", "-serial", "stdio", "-no-reboot"]
    try:
        done = subprocess.run(
            [*command, "-kernel", str(kernel), "-append", append],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=KERNEL_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        if _RAN.search(late.stdout or b""):
            return Answer(True, "booted a lab kernel")
        return Answer(False, f"a lab kernel hangs under KVM (tried for {KERNEL_TIMEOUT} s)")
    if _RAN.search(done.stdout):
        return Answer(True, "booted a lab kernel")
    return Answer(False, _complaint(done.stderr) or "a lab kernel dies early under KVM")


def _qemu(arch: Arch) -> list[str]:
    bare = ["-nodefaults", "-no-user-config", "-display", "none", "-accel", "kvm"]
    return [packages.which(arch.qemu) or arch.qemu, *bare, *arch.kvm_machine_args]


def _complaint(text: bytes) -> str:
    """Return the first error in QEMU's output ``text`` or, if there is none, the last line."""
    lines = text.decode(errors="replace").strip().splitlines()
    errors = [line for line in lines if "error:" in line]
    return (errors or lines[-1:] or [""])[0].strip()

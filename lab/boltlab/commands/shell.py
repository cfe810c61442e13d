# SPDX-License-Identifier: GPL-2.0-only
"""``bolt shell``: opens a prompt in a guest with the pristine kernel or Bolt's."""

import argparse
import subprocess

from boltlab import arch, cli, packages, ui
from boltlab.errors import USAGE, BoltError
from boltlab.guest import busybox, channels, guestimage, kvm, qemu
from boltlab.guest.machine import Machine
from boltlab.guest.qemu import Guest
from boltlab.kernel import build, source

NAME = "shell"
HELP = "Open a prompt in a guest with the pristine kernel or Bolt's."

PROFILE = """\
/bin/busybox mkdir -p /sbin /usr/bin /usr/sbin
/bin/busybox --install -s
"""
HINTS = {
    "pristine": "take a CPU offline: echo 0 > /sys/devices/system/cpu/cpu1/online",
    "bolt": "enable Bolt: echo 1 > /sys/devices/system/cpu/bolt/enabled",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    cli.add_one_arch(parser)
    parser.add_argument(
        "--kernel", choices=tuple(HINTS), default="bolt", help="which kernel (default: %(default)s)"
    )
    parser.add_argument("--cpus", type=int, default=4, metavar="N", help="CPUs (%(default)s)")
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Boot the guest on this terminal; return when the guest has powered off or was killed."""
    if args.cpus < 1:
        raise BoltError("a guest needs a CPU", code=USAGE)
    target = arch.select(args.arch)[0]
    packages.ensure("guest", "qemu", arches=[target])
    program = busybox.ensure(target)
    kernel = build.ensure_kernel(target, args.kernel, source.resolve(args.source), args.jobs)
    guest = Guest(
        arch=target,
        image=kernel.image,
        script=("shell",),
        append=target.settings[target.default_setting],
        machine=Machine(
            cpus=args.cpus,
            accel="kvm" if kvm.probe(target, kernel.image).usable else "mttcg",
        ),
    )
    folder = qemu.new_run(f"{target.name}-shell")
    initrd = folder / "initrd.cpio"
    extra = {
        "bin/busybox": guestimage.file(program.read_bytes(), 0o755),
        "etc": guestimage.directory(),
        "etc/profile": guestimage.file(PROFILE.encode()),
    }
    guestimage.make(target, guest.script, initrd, extra)
    ui.say(f"linux {kernel.release} ({args.kernel}), {target.name}, {guest.machine.accel}")
    ui.say(f"{HINTS[args.kernel]}; leave: exit; kill the guest: Ctrl-A X")
    command = [*qemu.command(guest, initrd), "-serial", "mon:stdio", *channels.devices(folder)]
    status = subprocess.run(command, check=False).returncode
    if status:
        raise BoltError(f"{target.qemu} ended with status {status}")
    return 0

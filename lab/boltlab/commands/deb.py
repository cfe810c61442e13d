# SPDX-License-Identifier: GPL-2.0-only
"""``bolt deb``: builds Debian packages of a kernel with Bolt and of the tools, for apt."""

import argparse
import os
import tempfile
from pathlib import Path

from boltlab import arch, cli, debs, packages, paths, ui
from boltlab.arch import Arch
from boltlab.debian import aptrepo, packing
from boltlab.debian.packing import Stamp
from boltlab.errors import USAGE, BoltError
from boltlab.kernel import flavours, source
from boltlab.versions import Version

NAME = "deb"
HELP = "Build Debian packages of a kernel with Bolt and of the tools, into an apt repository."

OUT = Path("bolt-packages")
PARTS = ("kernel", "tools")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "--config",
        choices=packing.CONFIGS,
        default="debian",
        help="configuration of the kernel: that of Debian's default kernel (debian, the default), "
        "of Debian's kernel for clouds, of the running kernel, or of the lab's small kernel for "
        "virtual machines",
    )
    parser.add_argument("--only", choices=PARTS, help="build the kernel or the tools only")
    parser.add_argument(
        "--out",
        type=Path,
        default=OUT,
        metavar="DIR",
        help="the repository; other packages in DIR are kept (default: %(default)s)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="list the packages, and build nothing"
    )
    cli.add_one_arch(parser)
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Build the packages that options name, and publish them in ``--out``.

    With ``--dry-run``, only list the packages. Raises BoltError when a step fails.
    """
    target = arch.select(args.arch)[0]
    parts = PARTS if args.only is None else (args.only,)
    _refuse(args, target, parts)
    stamp = Stamp.now()
    if args.dry_run:
        return _plan(args, target, parts, stamp)
    if said := _closed(args.out):
        ui.note(said)
    groups = ["deb", *(["tools"] if "tools" in parts else [])]
    if "kernel" in parts:
        groups += ["build", *flavours.get(args.config).packages]
    later = source.needs(args.source) if "kernel" in parts else []
    packages.ensure(*groups, arches=[target], later=later)
    with tempfile.TemporaryDirectory(prefix="packages-", dir=paths.cache()) as scratch:
        made = Path(scratch)
        if "tools" in parts:
            packing.tools(stamp, made, args.jobs)
        if "kernel" in parts:
            where = source.resolve(args.source)
            packing.kernel(target, args.config, where, stamp, made, args.jobs)
        new = aptrepo.publish(made, args.out)
    for path in new:
        ui.say(str(path))
    ui.say(_next(args.out, parts))
    return 0


def _refuse(args: argparse.Namespace, target: Arch, parts: tuple[str, ...]) -> None:
    """Raise BoltError, before anything is built, if the options ask for something impossible."""
    if "tools" in parts and not target.is_host:
        raise BoltError(
            f"the tools for {target.name} are built on that architecture only: say --only kernel",
            code=USAGE,
        )
    if args.out.exists() and not args.out.is_dir():
        raise BoltError(f"{args.out} is no directory", code=USAGE)
    above = next(
        path for path in (args.out.absolute(), *args.out.absolute().parents) if path.is_dir()
    )
    if not os.access(above, os.W_OK):
        raise BoltError(f"cannot write {above}", code=USAGE)


def _plan(args: argparse.Namespace, target: Arch, parts: tuple[str, ...], stamp: Stamp) -> int:
    """Print which packages would be built, without building anything.

    A source that ``--source`` names by its path is copied or unpacked into the cache. Without a
    path, only a source that the cache already has is read.
    """
    debian = debs.NAMES[target.name]
    if "tools" in parts:
        version = stamp.version(packing.tools_version())
        for name in packing.tools_names():
            ui.say(f"{args.out}/{name}_{version}_{debian}.deb")
    if "kernel" in parts:
        debians = args.source is None or isinstance(args.source, Version)
        found = source.cached(args.source) if debians else source.resolve(args.source)
        if found is None:
            ui.say(f"{args.out}/linux-image-...-{args.config}-bolt, from Debian's kernel source")
        else:
            version = stamp.version(found.release)
            for name in packing.kernel_names(target, found, args.config):
                ui.say(f"{args.out}/{name}_{version}_{debian}.deb")
        cost = packing.COSTS[args.config]
        ui.say(
            f"building the kernel takes {cost.minutes} minutes on two cores, "
            f"and {cost.space:.0f} GB of disk"
        )
    return 0


def _closed(out: Path) -> str:
    """Return a sentence that says why apt cannot read a repository ``out``, or ""."""
    folders = " ".join(map(str, aptrepo.closed(out)))
    return folders and (
        f"apt's user _apt may not enter {folders}: let --out name another directory, or run "
        f"chmod o+x {folders}"
    )


def _next(out: Path, parts: tuple[str, ...]) -> str:
    names = {"kernel": "linux-image-bolt", "tools": "cpubolt"}
    wanted = " ".join(names[part] for part in parts)
    hint = _closed(out)
    return (f"{hint}\n" if hint else "") + (
        f"to install: sudo cp {out / aptrepo.SOURCES} /etc/apt/sources.list.d/ && "
        f"sudo apt update && sudo apt install {wanted}"
    )

# SPDX-License-Identifier: GPL-2.0-only
"""``bolt vm-demo``: adds CPUs to a Debian guest under load, and takes them out again."""

import argparse
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from boltlab import arch, cli, codec, git, packages, paths, tables, ui
from boltlab.arch import Arch
from boltlab.bench import bare, served
from boltlab.bench.results import DIRECTIONS, variants
from boltlab.bench.served import Measured, Outcome
from boltlab.debian import userland, vmdemo
from boltlab.errors import UNAVAILABLE, USAGE, BoltError
from boltlab.guest import qemu
from boltlab.kernel import build, source
from boltlab.kernel.build import Kernel
from boltlab.report import service
from boltlab.tables import Column

NAME = "vm-demo"
HELP = "Add CPUs to a Debian guest under load and take them out: native, expedited, Bolt."
ONLY = "x86_64"  # the emulator adds CPUs to no machine of arm64
DWELL_MS = 500
# Event of a message of cpuboltd in the journal -> further fields that the message must have.
FIELDS = {
    "request": ("OPERATION", "CPUS", "POLICY", "WHY", "NS", "ERRNO"),
    "foreign": ("CPU",),
    "interrupt": ("IRQ", "CPU", "WHY"),
}
BESIDE = 5  # variants in a table of 80 columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "--cycles",
        type=cli.positive,
        default=2,
        metavar="N",
        help="how often three CPUs come and go (%(default)s, for which 8 slots for CPUs suffice)",
    )
    parser.add_argument(
        "--dwell",
        type=cli.positive,
        default=DWELL_MS,
        metavar="MS",
        help="milliseconds of the guest between two changes (%(default)s)",
    )
    parser.add_argument(
        "--variants",
        type=lambda text: tuple(word for word in text.split(",") if word),
        metavar="A,B",
        help=f"only these variants, of {','.join(vmdemo.variants())} (default: those without "
        "cpuboltd)",
    )
    parser.add_argument(
        "--accel",
        choices=("icount", "mttcg"),
        default="mttcg",
        help="mttcg: the host's time, with its noise (default); icount: virtual time, in which "
        "CPUs only go offline and come online",
    )
    parser.add_argument(
        "--bare",
        action="store_true",
        help="the lab's own small guest in place of Debian, in virtual time, on the kernels that "
        f"./bolt bench measures ({','.join(bare.VARIANTS)})",
    )
    cli.add_one_arch(parser)
    parser.add_argument(
        "--json", type=cli.output, metavar="FILE", help="also write the results to FILE"
    )
    parser.add_argument("--page", type=cli.output, metavar="FILE", help="where to write the page")
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Run the guests, print the tables, and write the page and the file of ``--json``.

    Raises BoltError when the options do not fit, this machine lacks something that the guests need,
    a kernel cannot be built, measure() or measure_bare() raises BoltError, or a file that is to be
    written cannot be written.
    """
    commit = git.measured()
    measured = replace(_bare(args) if args.bare else _debian(args), commit=commit)
    show(measured)
    page = args.page or paths.cache() / "vm-demo.html"
    codec.save(service.page(measured), page)
    ui.say(f"page: {page}")
    if args.json:
        codec.save(served.dumps(measured), args.json)
    return 0


def _debian(args: argparse.Namespace) -> Measured:
    usual = (name for name, row in vmdemo.variants().items() if "daemon" not in row)
    names = args.variants or tuple(usual)
    rows = {name: vmdemo.variant(name) for name in names}
    (target,) = arch.select(args.arch)
    if not target.is_host or target.name != ONLY:
        raise BoltError(
            f"Debian's guest is of the host's architecture, and QEMU adds CPUs to {ONLY} only: "
            "say --bare",
            code=UNAVAILABLE,
        )
    userland.require()
    kernels = _kernels(args, target, [row["kernel"] for row in rows.values()])
    root = userland.image()
    outcomes = []
    for name, row in rows.items():
        kernel = kernels[row["kernel"]]
        with ui.status(f"{args.cycles} cycles, {row['label']}"):
            outcomes.append(measure(kernel, root, name, args.cycles, args.accel, args.dwell))
    return Measured(
        target.name, qemu.version(target.qemu), args.accel, "Debian", args.cycles, outcomes
    )


def _bare(args: argparse.Namespace) -> Measured:
    names = args.variants or bare.VARIANTS
    if wrong := [name for name in names if name not in bare.VARIANTS]:
        raise BoltError(f"without Debian there is no variant '{wrong[0]}'", code=USAGE)
    (target,) = arch.select(args.arch)
    wanted = {name: variants()[name]["kernel"] for name in names}
    kernels = _kernels(args, target, wanted.values())
    jobs = [
        bare.job(kernels[flavour], target, name, args.cycles, args.dwell)
        for name, flavour in wanted.items()
    ]
    return measure_bare(target, jobs, args.cycles)


def _kernels(args: argparse.Namespace, target: Arch, wanted: Iterable[str]) -> Mapping[str, Kernel]:
    """Return the kernels of the ``wanted`` flavours, built if need be."""
    packages.ensure("build", "guest", "qemu", arches=[target])
    return build.ensure_kernels(target, wanted, source.resolve(args.source), args.jobs)


def measure(
    kernel: Kernel, root: Path, name: str, cycles: int, accel: str, dwell_ms: int = DWELL_MS
) -> Outcome:
    """Run the variant ``name`` on ``kernel`` with the image ``root``; return the service's figures.

    Raises BoltError when vmdemo.run() does, or a UDP request to the service had no answer. In a
    variant with cpuboltd, raises BoltError also when the daemon has taken no CPU offline, has
    brought no CPU back, has no message for a pattern in ``wants`` of the variant, or has left out a
    field of FIELDS.
    """
    row = vmdemo.variant(name)
    ran = vmdemo.run(kernel, root, name, cycles, accel, dwell_ms)
    parts = [(each.done.records, each.deleted, each.answered) for each in ran]
    records = [row for each in ran for row in each.done.records]
    _fields(records)
    outcome = served.joined([served.read(part[0], name, row["label"], *part[1:]) for part in parts])
    _none_lost(outcome)
    if "daemon" in row:
        for change in DIRECTIONS:
            if not outcome.daemon(change):
                raise BoltError(f"{name}: cpuboltd has set no CPU {change}")
    said = [str(row["MESSAGE"]) for row in records if "MESSAGE" in row]
    for pattern in row.get("wants", ()):
        if not any(re.search(pattern, text) for text in said):
            raise BoltError(f"{name}: cpuboltd has not said '{pattern}'")
    return outcome


def _fields(records: Iterable[Mapping[str, Any]]) -> None:
    """Raise BoltError if a message of cpuboltd in the journal lacks a field that its event has."""
    for row in records:
        event = str(row.get("CPUBOLT_EVENT", ""))
        for name in FIELDS[event] if event else ():
            if f"CPUBOLT_{name}" not in row:
                raise BoltError(f"a message about '{event}' has no field CPUBOLT_{name}")


def measure_bare(target: Arch, jobs: list[bare.Job], cycles: int) -> Measured:
    """Run ``jobs``; return the figures of the service in each guest.

    Raises BoltError when a guest fails, or a UDP request to a service had no answer.
    """
    done = bare.run(jobs, f"{cycles} cycles on {target.name}")
    outcomes = [
        served.read(done[job.variant].records, job.variant, variants()[job.variant]["short"])
        for job in jobs
    ]
    for outcome in outcomes:
        _none_lost(outcome)
    version = qemu.version(target.qemu)
    return Measured(target.name, version, "icount", "the lab's own guest", cycles, outcomes)


def _none_lost(outcome: Outcome) -> None:
    if outcome.lost:
        raise BoltError(f"{outcome.variant}: {outcome.lost} UDP requests had no answer")


def show(measured: Measured) -> None:
    """Print what was ``measured``, in tables of at most BESIDE variants."""
    for first in range(0, len(measured.rows), BESIDE):
        header, rows = served.table(measured.rows[first : first + BESIDE])
        tables.show([*map(Column, header)], rows)
    ui.prose(measured.title)

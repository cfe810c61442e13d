# SPDX-License-Identifier: GPL-2.0-only
"""``bolt run``: runs one scenario, in one guest of each architecture of ``--arch``."""

import argparse

from boltlab import arch, cli, packages, ui
from boltlab.arch import Arch
from boltlab.bench import results
from boltlab.errors import USAGE, BoltError
from boltlab.guest import limits, qemu, scenario
from boltlab.guest.scenario import Scenario
from boltlab.kernel import build, source
from boltlab.report import summary

NAME = "run"
HELP = "Run one scenario in one guest."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "scenario",
        nargs="?",
        metavar="SCENARIO",
        help=f"one of {', '.join(scenario.names())}, or a .toml file; if left out, list all",
    )
    cli.add_arch(parser)
    parser.add_argument("--kernel", metavar="FLAVOUR", help="kernel on which the scenario runs")
    parser.add_argument("--setting", metavar="NAME", help="measuring setting (x86: strict, ...)")
    parser.add_argument("--accel", choices=tuple(qemu.ACCELERATORS), help="how QEMU runs CPUs")
    parser.add_argument("--cpus", type=cli.positive, metavar="N", help="CPUs of the guest")
    parser.add_argument(
        "--threads", type=cli.positive, metavar="N", help="hardware threads of each core"
    )
    parser.add_argument("--append", metavar="TEXT", help="more arguments of the kernel")
    cli.add_source(parser)
    cli.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Run the scenario on each architecture of ``--arch``; without a scenario, list all scenarios.

    Raises BoltError when a run fails or a limit of the scenario is exceeded.
    """
    if args.scenario is None:
        for name in scenario.names():
            ui.say(f"{name:12} {scenario.load(name).description}")
        return 0
    wanted = scenario.load(args.scenario)
    changes = {key: getattr(args, key) for key in ("kernel", "accel", "cpus", "threads")}
    if args.append:
        changes["append"] = f"{wanted.append} {args.append}".strip()
    wanted = wanted.changed(**{key: new for key, new in changes.items() if new})
    arches = arch.select(args.arch)
    for target in arches:
        if target.name not in wanted.arches:
            raise BoltError(f"scenario {wanted.name} is not for {target.name}", code=USAGE)
        arch.setting(target, args.setting)
    packages.ensure("guest", "qemu", arches=arches)
    where = source.resolve(args.source)
    for target in arches:
        kernel = build.ensure_kernel(target, wanted.kernel, where, args.jobs)
        guest = wanted.guest(target, kernel, arch.setting(target, args.setting))
        with ui.status(f"{wanted.name} on {target.name}, {wanted.kernel} kernel"):
            done = qemu.run(guest, f"{target.name}-{wanted.name}")
        _show(wanted, target, done)
    return 0


def _show(wanted: Scenario, target: Arch, done: qemu.GuestResult) -> None:
    totals: dict[str, list[int]] = {}
    for row in done.records:
        if "case" in row:
            totals.setdefault(row["case"], []).extend(row["samples"])
        elif "output" in row or "kunit" in row:
            ui.say(row.get("output", row.get("line", "")))
    for case, samples in totals.items():
        stats = results.summarise(samples)
        ui.say(
            f"{case:16} n={stats.n:<5} median {summary.number(stats.median)} ms "
            f"({summary.spread(stats)})"
        )
    exceeded = []
    for text in wanted.limits:
        verdict = limits.parse(text).judge(totals)
        ui.say(verdict.text)
        if not verdict.holds:
            exceeded.append(f"'{text}'")
    if exceeded:
        texts = ", ".join(exceeded)
        raise BoltError(f"{wanted.name} on {target.name}: exceeds {texts} ({done.folder})")
    ui.say(f"{wanted.name} on {target.name}: passed ({done.folder})")

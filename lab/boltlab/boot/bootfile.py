# SPDX-License-Identifier: GPL-2.0-only
"""Results of boot-bench as JSON, schema 1, as tables, and as a figure."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure as Canvas

from boltlab import codec
from boltlab.boot import bootmodel, boots
from boltlab.boot.boots import Boot

CASE = "boot_cpu_dependent"
VIRTUAL = "icount"  # the accelerator with which times are in virtual time
NONE = "-"


@dataclass(frozen=True)
class BootResults:
    """The boots of one architecture, and the setting and emulator with which kernels were booted.

    Variants may boot different kernels of the same release: ``kernel`` is the release of all, and
    ``config_sha`` is of the first variant's kernel. ``accel`` says how the emulator runs CPUs.
    """

    arch: str
    setting: str
    accel: str
    qemu: str
    kernel: str
    config_sha: str
    boots: list[Boot]
    commit: str = ""


def sizes(results: BootResults) -> list[tuple[int, int]]:
    """Return the sizes, (CPUs, nodes), of the machines with more than one CPU, sorted."""
    return sorted({(boot.cpus, boot.nodes) for boot in results.boots if boot.cpus > 1})


def find(results: BootResults, variant: str, size: tuple[int, int]) -> Boot | None:
    """Return the boot of ``variant`` on a machine of that ``size``, or None."""
    for boot in results.boots:
        if (boot.variant, boot.cpus, boot.nodes) == (variant, *size):
            return boot
    return None


def names(results: BootResults) -> list[str]:
    """Return the booted variants that data/boot.toml has, in the order of data/boot.toml."""
    booted = {boot.variant for boot in results.boots}
    return [name for name in boots.variants(results.arch) if name in booted]


def to_json(results: BootResults) -> dict[str, Any]:
    """Return ``results`` as a JSON object: schema 1, a case for each size, and the boots.

    Sizes for which no variant has a CPU-dependent time have no case. The object also says how the
    times of traced callbacks grow and, for boots in virtual time, what bootmodel.check() finds: the
    errors of the model, and the model's times for machines of the talk (docs/boot.md).
    """
    document = {"schema": codec.SCHEMA, **asdict(results)}
    document["cases"] = [
        {
            "case": CASE,
            "batch": cpus - 1,
            "cpus": cpus,
            "nodes": nodes,
            "unit": codec.UNIT,
            "variants": found,
        }
        for cpus, nodes in sizes(results)
        if (found := _case(results, (cpus, nodes)))
    ]
    document["growth"] = {
        variant: {
            name: {"total_ns": total, **(asdict(fitted) if fitted else {})}
            for name, fitted, total in boots.growth(results.boots, variant)
        }
        for variant in names(results)
        if boots.growth(results.boots, variant)
    }
    if results.accel == VIRTUAL:
        document["model"] = bootmodel.check(results.boots)
    return document


def _case(results: BootResults, size: tuple[int, int]) -> dict[str, dict[str, float]]:
    return {
        variant: {"n": 1, "min": ms, "median": ms, "p99": ms, "max": ms}
        for variant, ms in times(results, size).items()
    }


def times(results: BootResults, size: tuple[int, int]) -> dict[str, float]:
    """Return the CPU-dependent ms of boots on a machine of ``size``, by variant.

    Variants that were not booted on both that machine and one CPU are left out.
    """
    found = {}
    for variant in names(results):
        boot = find(results, variant, size)
        value = boots.dependent(results.boots, boot) if boot else None
        if value is not None:
            found[variant] = round(value / 1e6, 6)
    return found


def save(results: BootResults, path: Path) -> None:
    """Write ``results`` to ``path``; raise BoltError if ``path`` cannot be written."""
    codec.save(json.dumps(to_json(results), indent=1) + "\n", path)


def load(path: Path) -> BootResults:
    """Return the results in ``path``; raise BoltError if ``path`` is no result of boot-bench."""
    return codec.read(BootResults, path, "is no result file of boot-bench")


def dependents(results: BootResults) -> tuple[list[str], list[list[str]]]:
    """Return header and cells of the table of CPU-dependent times.

    The times are in ms. In brackets is the time of native divided by the variant's time.
    """
    header = ["CPUs/nodes", *names(results)]
    cells = []
    for size in sizes(results):
        values = times(results, size)
        native = values.get("native")
        row = [f"{size[0]}/{size[1]}"]
        for name in names(results):
            mine = values.get(name)
            if mine is None:
                row.append(NONE)
            elif native is None or name == "native" or mine <= 0:
                row.append(f"{mine:.1f}")
            else:
                row.append(f"{mine:.1f} ({native / mine:.2f}x)")
        cells.append(row)
    return header, cells


def phases(results: BootResults, size: tuple[int, int]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells of the table of phases on a machine of ``size``.

    The cells say how many ms more a phase takes than on one CPU. Variants that were not booted on
    both machines are left out.
    """
    header = [f"{size[0]}/{size[1]}, ms", *(row["name"] for row in boots.table()["phase"])]
    cells = []
    for variant in names(results):
        boot = find(results, variant, size)
        base = next((b for b in results.boots if (b.variant, b.cpus) == (variant, 1)), None)
        if boot and base:
            row = [f"{(boot.phases[name] - base.phases[name]) / 1e6:.1f}" for name in header[1:]]
            cells.append([variant, *row])
    return header, cells


def callbacks(results: BootResults, variant: str) -> tuple[list[str], list[list[str]]]:
    """Return header and cells of the table of the callbacks that take longest, and their growth."""
    header = [f"{variant}: callback", "ms", "grows as", "R2", "error"]
    cells = []
    for name, fitted, total in boots.growth(results.boots, variant):
        row = [name, f"{total / 1e6:.2f}"]
        row += [fitted.law, f"{fitted.r2:.3f}", f"{fitted.error:.0%}"] if fitted else [NONE] * 3
        cells.append(row)
    return header, cells


def draw(results: BootResults, title: str) -> Canvas:
    """Return the figure: CPU-dependent time of the largest machine, by phase and variant."""
    size = sizes(results)[-1]
    header, cells = phases(results, size)
    canvas = Canvas(figsize=(10.0, 1.2 + 0.45 * len(cells)), layout="constrained")
    axes = canvas.subplots()
    left = [0.0] * len(cells)
    for place, name in enumerate(header[1:], start=1):
        widths = [max(0.0, float(row[place])) for row in cells]
        axes.barh([row[0] for row in cells], widths, left=left, label=name)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel(f"ms more than on one CPU, {size[0]} CPUs, {size[1]} nodes")
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=8)
    return canvas


def headline(results: BootResults, variants: Sequence[str] = ("talk", "all")) -> list[str]:
    """Return a line for each of ``variants`` that, like native, was booted on the largest machine.

    The line says how many times as long the CPU-dependent time of native is.
    """
    lines = []
    for size in sizes(results)[-1:]:
        values = times(results, size)
        for name in variants:
            if name in values and "native" in values and values[name] > 0:
                ratio = values["native"] / values[name]
                machine = f"{size[0]} CPUs, {size[1]} node{'s' if size[1] > 1 else ''}"
                lines.append(f"{CASE} at {machine}: native takes {ratio:.2f}x as long as {name}")
    return lines

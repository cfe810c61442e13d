# SPDX-License-Identifier: GPL-2.0-only
"""Puts the results of one bench, or boot-bench, together from parts that ran on a cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from boltlab.bench.results import Case, Results, variants
from boltlab.boot.bootfile import BootResults
from boltlab.boot.boots import Boot
from boltlab.errors import BoltError

Part = TypeVar("Part", Results, BootResults)
Value = TypeVar("Value")


def bench(parts: Sequence[Results], order: Sequence[str]) -> Results:
    """Join ``parts``, which are results of different variants on one architecture and setting.

    Cases come in the order that their names have in ``order``. Raises BoltError when ``parts`` do
    not fit together.
    """
    first = _alike(parts)
    found: dict[tuple[str, int, int], Case] = {}
    for part in parts:
        for case in part.cases:
            key = (case.case, case.batch, case.cpus)
            found[key] = _joined(found[key], case) if key in found else case
    return replace(
        first,
        cases=sorted(found.values(), key=lambda case: order.index(case.case)),
        breakdown=_ordered({k: v for part in parts for k, v in part.breakdown.items()}),
        batches=_ordered({k: v for part in parts for k, v in part.batches.items()}),
        note=next((part.note for part in parts if part.note), ""),
    )


def _joined(one: Case, other: Case) -> Case:
    """Return ``one`` with the variants of ``other`` added.

    A variant that both cases have is taken from ``other``.
    """
    return replace(
        one,
        variants=_ordered({**one.variants, **other.variants}),
        boots=_ordered({**one.boots, **other.boots}),
    )


def _ordered(found: Mapping[str, Value]) -> dict[str, Value]:
    return {name: found[name] for name in variants() if name in found}


def boots(parts: Sequence[BootResults]) -> BootResults:
    """Join ``parts``, no two of which have booted the same variant on the same larger machine.

    Each part has also booted the machine with one CPU; of these boots only the one in a variant's
    first part is taken. Raises BoltError when ``parts`` do not belong together.
    """
    first = _alike(parts)
    found: dict[tuple[str, int, int], Boot] = {}
    for part in parts:
        for boot in part.boots:
            found.setdefault((boot.variant, boot.cpus, boot.nodes), boot)
    return replace(first, boots=sorted(found.values(), key=lambda boot: (boot.cpus, boot.nodes)))


def _alike(parts: Sequence[Part]) -> Part:
    """Return the first of ``parts``.

    Raises BoltError if the parts differ in architecture, setting, emulator, kernel or commit.
    """
    first = parts[0]
    for part in parts[1:]:
        for name in ("arch", "setting", "accel", "qemu", "kernel", "commit"):
            here, there = getattr(first, name), getattr(part, name)
            if here != there:
                raise BoltError(f"results do not belong together: {name} '{here}' and '{there}'")
    return first

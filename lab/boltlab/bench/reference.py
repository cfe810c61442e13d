# SPDX-License-Identifier: GPL-2.0-only
"""Checks a run's native and expedited figures against the reference figures of a right set-up."""

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from boltlab import paths
from boltlab.bench.results import Results
from boltlab.errors import BoltError

_BASELINES = ("native", "expedited")


@dataclass(frozen=True)
class Expected:
    """The range, in ms, in which the median of one case of one baseline should be."""

    variant: str
    case: str
    low: float
    high: float

    def admits(self, median: float, tolerance: float) -> bool:
        """Tell whether ``median`` (ms) lies within ``tolerance`` (0.2: 20 %) of the range."""
        return self.low * (1 - tolerance) <= median <= self.high * (1 + tolerance)

    def __str__(self) -> str:
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"


def check(results: Results) -> str | None:
    """Compare the baselines (native and expedited) of ``results`` with the table of references.

    Returns one sentence saying why if the two cannot be compared (another emulator, another number
    of CPUs ...). Otherwise returns None when no baseline disagrees with the table, even if
    ``results`` has no baseline. Raises BoltError when a baseline disagrees, because then the set-up
    measures something else than a right set-up, and its figures must not be used.
    """
    table = _table()
    why_not = _incomparable(results, table)
    if why_not:
        return why_not
    row = _row(results, table)
    if row is None:
        return (
            f"no reference figures for Linux {results.kernel} on QEMU {results.qemu} "
            f"({results.arch}, {results.setting}): compare within this run only"
        )
    for expected in _expectations(row):
        case = results.find(expected.case)
        stats = case.variants.get(expected.variant) if case else None
        if stats and not expected.admits(stats.median, table["tolerance"]):
            raise BoltError(
                f"{results.arch} {results.setting}: {expected.variant} {expected.case} took "
                f"{stats.median:.3g} ms where a right set-up has {expected} ms "
                f"(QEMU {results.qemu}): the figures of this set-up cannot be trusted"
            )
    return None


def _incomparable(results: Results, table: Mapping[str, Any]) -> str | None:
    if results.accel != table["accel"]:
        return f"accelerator {results.accel}: times are not virtual, so no reference applies"
    if results.cpus != table["cpus"]:
        return f"{results.cpus} CPUs: the reference figures are for {table['cpus']}"
    kernels = dict.fromkeys(row["kernel"] for row in table["row"])
    if not any(_of_series(results.kernel, kernel) for kernel in kernels):
        return f"Linux {results.kernel}: the reference figures are for {' and '.join(kernels)}"
    return None


def _of_series(version: str, series: str) -> bool:
    return f"{version}.".startswith(f"{series}.")


def _row(results: Results, table: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for row in table["row"]:
        if (row["arch"], row["setting"]) != (results.arch, results.setting):
            continue
        if _of_series(results.kernel, row["kernel"]) and _of_series(results.qemu, row["qemu"]):
            found: Mapping[str, Any] = row
            return found
    return None


def _expectations(row: Mapping[str, Any]) -> Iterator[Expected]:
    for variant in _BASELINES:
        for case, value in row[variant].items():
            low, high = value if isinstance(value, list) else (value, value)
            yield Expected(variant, case, low, high)


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads((paths.DATA / "reference.toml").read_text(encoding="utf-8"))

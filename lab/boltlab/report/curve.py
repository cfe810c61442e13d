# SPDX-License-Identifier: GPL-2.0-only
"""Fits lines to the times of requests for more and more CPUs: the slope is the cost per CPU."""

from collections.abc import Sequence
from dataclasses import dataclass

from boltlab.bench.results import DIRECTIONS, Case, Results, Stats, variants

# Name of a series in tables -> its name in pictures, the suffix of its cases, and its variant.
SERIES = {
    "native": ("native, one by one", "_seq", "native"),
    "expedited": ("expedited, one by one", "_seq", "expedited"),
    "Bolt seq": ("Bolt, one by one", "_seq", "bolt"),
    "Bolt bulk": ("Bolt, one request", "_bulk", "bolt"),
}
OURS = "Bolt bulk"
COLOURS = {"Bolt seq": "#0072B2"}  # other series have the colour of their variant


@dataclass(frozen=True)
class Line:
    """A straight line through latencies of N CPUs: ``start`` + N * ``each`` ms.

    ``r2`` says how well the line fits: 1 if all points are on the line.
    """

    start: float
    each: float
    r2: float

    def at(self, cpus: float) -> float:
        """Return the ms, on the line, of a request for ``cpus`` CPUs."""
        return self.start + cpus * self.each


def fit(points: Sequence[tuple[float, float]]) -> Line | None:
    """Return the line of least squares through ``points``, (x, y) each.

    Returns None if the points have fewer than 3 different values of x.
    """
    if len({x for x, _ in points}) < 3:
        return None
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    sxx = sum((x - mean_x) ** 2 for x, _ in points)
    sxy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    syy = sum((y - mean_y) ** 2 for _, y in points)
    each = sxy / sxx
    return Line(mean_y - each * mean_x, each, sxy**2 / (sxx * syy) if syy else 1.0)


def cases(results: Results, direction: str) -> dict[str, dict[int, Stats]]:
    """Return the measured series of ``direction``: name -> CPUs of a request -> latencies."""
    found: dict[str, dict[int, Stats]] = {}
    for name, (_, suffix, variant) in SERIES.items():
        points = {
            case.batch: case.variants[variant]
            for case in results.large
            if case.case == direction + suffix and variant in case.variants
        }
        if points:
            found[name] = dict(sorted(points.items()))
    return found


def machine(results: Results) -> int:
    """Return how many CPUs the guests of the curves had, 0 if no case is part of a curve."""
    names = {direction + suffix for direction in DIRECTIONS for _, suffix, _ in SERIES.values()}
    return next((case.cpus for case in results.large if case.case in names), 0)


def line(points: dict[int, Stats]) -> Line | None:
    """Return the line through the medians of ``points``, or None for fewer than 3 points."""
    return fit([(cpus, stats.median) for cpus, stats in points.items()])


def colour(series: str) -> str:
    """Return the colour of ``series``, as ``#rrggbb``."""
    return COLOURS.get(series) or str(variants()[SERIES[series][2]]["colour"])


def others(results: Results) -> list[Case]:
    """Return the cases of guests whose size cases.toml gives, without points of curves."""
    names = {direction + suffix for direction in DIRECTIONS for _, suffix, _ in SERIES.values()}
    return [case for case in results.large if case.case not in names]

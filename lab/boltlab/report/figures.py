# SPDX-License-Identifier: GPL-2.0-only
"""Draws latencies, phases of requests, requests for more and more CPUs, and bystanders' losses."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from boltlab.bench import breakdown
from boltlab.bench.results import DIRECTIONS, PhaseTime, Results, variants
from boltlab.bystanders.losses import Row
from boltlab.report import curve

WIDTH = 10.0  # width of a figure, in inches


@dataclass(frozen=True)
class Figure:
    """One picture, as SVG text and as PNG bytes, and its caption."""

    caption: str
    svg: str
    png: bytes


def draw(results: Results, title: str) -> dict[str, Figure]:
    """Return the pictures of ``results`` by name; ``title`` says where the figures come from."""
    pictures = {}
    if results.latencies:
        pictures["latency"] = figure(_latency(results, title), _LATENCY_CAPTION, title)
    if results.breakdown:
        pictures["breakdown"] = figure(_breakdown(results, title), _BREAKDOWN_CAPTION, title)
    if any(curve.cases(results, direction) for direction in DIRECTIONS):
        pictures["curve"] = figure(_curve(results, title), _CURVE_CAPTION, title)
    return pictures


_LATENCY_CAPTION = (
    "Median latency of each case. The whiskers end at the least and the greatest latency."
)
_BREAKDOWN_CAPTION = (
    "Where the time of one request goes: medians of traced requests. Tracing costs time and moves "
    "grace periods by whole ticks, so the sums are not the measured latencies. *The wake-up of a "
    "CPU includes a jump of up to 1 ms of the emulator's clock (x86)."
)
_CURVE_CAPTION = (
    "Requests for more and more CPUs of one machine: medians, and straight lines through them. "
    "Virtual time adds up what CPUs do at once."
)


_BYSTANDERS_CAPTION = (
    "The longest time, during a request and while CPUs are settled, for which a task could not run "
    "on a CPU that neither makes the request nor comes nor goes."
)


def bystanders(rows: Sequence[Row], title: str) -> Figure:
    """Return the picture of the time that requests, and settling, take from bystanders."""
    canvas = Canvas(figsize=(WIDTH, 4.6), layout="constrained")
    canvas.suptitle(title, fontsize=9, x=0.01, ha="left")
    settled = any(row.direction == "settle" for row in rows)
    directions = (*DIRECTIONS, "settle") if settled else DIRECTIONS
    parts = canvas.subplots(1, len(directions), sharey=True)
    for axes, direction in zip(parts, directions, strict=True):
        shown = [row for row in rows if row.direction == direction and not row.tickless]
        places = sorted({(row.cpus, row.batch) for row in shown})
        names = [name for name in variants() if any(row.variant == name for row in shown)]
        for rank, name in enumerate(names):
            bars = {(row.cpus, row.batch): row.longest for row in shown if row.variant == name}
            axes.bar(
                [place + rank * 0.25 for place, key in enumerate(places) if key in bars],
                [bars[key] for key in places if key in bars],
                0.23,
                label=variants()[name]["label"],
                color=variants()[name]["colour"],
            )
        axes.set_xticks(
            [place + 0.125 * (len(names) - 1) for place in range(len(places))],
            [f"{batch} of {cpus}" for cpus, batch in places],
            fontsize=7 if settled else 10,
        )
        axes.set_xlabel("CPUs of a request, of the guest")
        axes.set_ylabel("longest time without the CPU, us")
        axes.set_title(direction, fontsize=9, loc="left")
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if names:
            axes.legend(loc="upper right", frameon=False, fontsize=8)
    return figure(canvas, _BYSTANDERS_CAPTION, title)


def _latency(results: Results, title: str) -> Canvas:
    shown = [
        name for name in variants() if any(name in case.variants for case in results.latencies)
    ]
    height = 0.9 + len(results.latencies) * (0.2 + 0.2 * len(shown))
    canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
    axes = canvas.subplots()
    step = 0.8 / len(shown)
    for rank, name in enumerate(shown):
        points = [
            (place + rank * step, case.variants[name])
            for place, case in enumerate(results.latencies)
            if name in case.variants
        ]
        medians = [stats.median for _, stats in points]
        places = [place for place, _ in points]
        whiskers = [
            [stats.median - stats.min for _, stats in points],
            [stats.max - stats.median for _, stats in points],
        ]
        axes.barh(
            places,
            medians,
            step * 0.9,
            xerr=whiskers,
            label=variants()[name]["label"],
            color=variants()[name]["colour"],
            error_kw={"elinewidth": 0.8, "ecolor": "#333333", "capsize": 2},
        )
        for place, stats in points:
            axes.annotate(
                f"{stats.median:.3g}",
                (max(stats.max, stats.median), place),
                (4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("ms (logarithmic)")
    axes.set_yticks(
        [place + step * (len(shown) - 1) / 2 for place in range(len(results.latencies))],
        [case.case for case in results.latencies],
    )
    axes.margins(x=0.12)
    _finish(axes, title)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.06), ncols=len(shown), frameon=False)
    return canvas


def _breakdown(results: Results, title: str) -> Canvas:
    """Draw each direction twice: in ms, and as shares, where a bar short in ms can be read too."""
    shown = [name for name in variants() if name in results.breakdown]
    height = 0.5 + 2 * (0.9 + 0.5 * len(shown))
    canvas = Canvas(figsize=(WIDTH, height), layout="constrained")
    canvas.suptitle(title, fontsize=9, x=0.01, ha="left")
    grid = canvas.subplots(2, 2, sharey="row", width_ratios=(3, 2))
    for (times, shares), direction in zip(grid, DIRECTIONS, strict=True):
        bars = {
            variants()[name]["label"]: _phases(results.breakdown[name].get(direction, []))
            for name in shown
        }
        _stack(times, direction, bars)
        for place, parts in enumerate(bars.values()):
            total = sum(parts.values())
            times.annotate(
                f"{total:.3g}", (total, place), (4, 0), textcoords="offset points", va="center"
            )
        times.margins(x=0.12)
        _finish(times, direction)
        times.set_xlabel("ms")
        _stack(shares, direction, {name: _shares(parts) for name, parts in bars.items()})
        _finish(shares, f"{direction}, shares")
        shares.set_xlabel("%")
        shares.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=9)
        shares.invert_yaxis()  # because _finish() has inverted the shared axis twice
    return canvas


def _curve(results: Results, title: str) -> Canvas:
    """Draw both directions: for each series a mark for each size of request, and a fitted line.

    The legend has the formula of the line. A series of fewer than 3 sizes has no line.
    """
    canvas = Canvas(figsize=(WIDTH, 4.6), layout="constrained")
    canvas.suptitle(title, fontsize=9, x=0.01, ha="left")
    for axes, direction in zip(canvas.subplots(1, 2), DIRECTIONS, strict=True):
        for name, points in curve.cases(results, direction).items():
            text, colour = curve.SERIES[name][0], curve.colour(name)
            sizes, medians = list(points), [stats.median for stats in points.values()]
            fitted = curve.line(points)
            if fitted:
                text += f": {fitted.start * 1000:.0f} + N * {fitted.each * 1000:.0f} us"
                along = range(min(sizes), max(sizes) + 1)
                drawn = [(cpus, fitted.at(cpus)) for cpus in along if fitted.at(cpus) > 0]
                axes.plot(*zip(*drawn, strict=True), color=colour, linewidth=1)
            axes.plot(sizes, medians, "o", color=colour, markersize=5, label=text)
        axes.set_yscale("log")
        axes.set_xlabel("CPUs of a request (N)")
        axes.set_ylabel("ms (logarithmic)")
        text = f"{direction}, guest of {curve.machine(results)} CPUs"
        axes.set_title(text, fontsize=9, loc="left")
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False, fontsize=8)
    return canvas


def _phases(parts: list[PhaseTime]) -> dict[str, float]:
    """Return phase -> its median time in ms."""
    return {part.phase: part.median_ns / 1e6 for part in parts}


def _shares(parts: dict[str, float]) -> dict[str, float]:
    total = sum(parts.values()) or 1
    return {phase: 100 * value / total for phase, value in parts.items()}


def _stack(axes: Axes, direction: str, bars: dict[str, dict[str, float]]) -> None:
    names = list(bars)
    left = [0.0] * len(names)
    for phase in breakdown.order(direction):
        widths = [parts.get(phase, 0.0) for parts in bars.values()]
        axes.barh(
            names,
            widths,
            0.6,
            left=left,
            label=breakdown.label(direction, phase),
            color=breakdown.colour(phase),
            edgecolor="white",
            linewidth=0.5,
        )
        left = [start + width for start, width in zip(left, widths, strict=True)]


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=9, loc="left")
    axes.invert_yaxis()
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def figure(canvas: Canvas, caption: str, salt: str) -> Figure:
    """Return ``canvas`` as a picture.

    Pictures that differ in ``caption`` or ``salt`` have different ids of markers and clip paths, so
    that one HTML page can show several of these pictures.
    """
    svg, png = io.StringIO(), io.BytesIO()
    # matplotlib makes these ids from the hashsalt. Without one, the ids would differ each time.
    with mpl.rc_context({"svg.hashsalt": f"{salt} {caption}", "svg.fonttype": "path"}):
        canvas.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        canvas.savefig(png, format="png", dpi=120)
    return Figure(caption, svg.getvalue(), png.getvalue())

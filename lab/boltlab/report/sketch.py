# SPDX-License-Identifier: GPL-2.0-only
"""Draws the README's picture of a request: what runs in the request, and what Bolt defers."""

import io

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

NAME = "request"  # the picture is the file docs/figures/request.svg

INK, FAINT = "#1f2933", "#6b7785"
CRITICAL, DEFERRED, WAITING = "#0072B2", "#E69F00", "#9aa5b1"
ONLINE, OFFLINE = "#e3f4ec", "#eef1f4"


def draw() -> Canvas:
    """Return the picture."""
    canvas = Canvas(figsize=(9.6, 5.1), facecolor="white")
    axes = canvas.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 96), ylim=(0, 51))
    axes.axis("off")
    _native(axes)
    _bolt(axes)
    _legend(axes)
    return canvas


def svg() -> str:
    """Return the picture as SVG; each call gives the same text."""
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": NAME, "svg.fonttype": "path"}):
        draw().savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def _native(axes: Axes) -> None:
    _lane(axes, 40.5, "Linux", "natively")
    _box(axes, 12, 38, 7, 5, ONLINE, "online", INK)
    _box(axes, 20, 38, 16, 5, WAITING, "waits for RCU", "white")
    _box(axes, 36.4, 38, 7, 5, CRITICAL, "critical\nteardown", "white")
    _box(axes, 43.8, 38, 10, 5, DEFERRED, "all other\nteardown", "white")
    _box(axes, 54.8, 38, 12, 5, OFFLINE, "offline", INK)
    _box(axes, 67.8, 38, 6, 5, CRITICAL, "critical\nstartup", "white")
    _box(axes, 74.2, 38, 12, 5, DEFERRED, "all other\nstartup", "white")
    _box(axes, 87.2, 38, 7, 5, ONLINE, "online", INK)
    _request(axes, 20, 45.6, "echo 0 > cpu1/online")
    _request(axes, 67.8, 45.6, "echo 1 > cpu1/online")
    _brace(axes, 20, 53.8, 36.6, "the write takes tens of milliseconds")
    _brace(axes, 67.8, 86.2, 36.6, "milliseconds")


def _bolt(axes: Axes) -> None:
    _lane(axes, 25.5, "Linux", "with Bolt")
    _box(axes, 12, 23, 7, 5, ONLINE, "online", INK)
    _box(axes, 20, 23, 7, 5, CRITICAL, "critical\nteardown", "white")
    _box(axes, 28, 23, 38.8, 5, OFFLINE, "parked: offline for every user and every task", INK)
    _box(axes, 67.8, 23, 6, 5, CRITICAL, "critical\nstartup", "white")
    _box(axes, 74.6, 23, 19.6, 5, ONLINE, "online", INK)
    _brace(axes, 20, 27, 21.6, "a fraction of a millisecond")
    _box(axes, 28, 10.4, 28, 6.4, "#fff6e3", "", INK, edge=DEFERRED)
    axes.text(42, 14.7, "pending set of the CPU", ha="center", va="center", fontsize=9, color=INK)
    axes.text(
        42,
        12.3,
        "kept: memory pools, page lists, slabs, sysfs entries",
        ha="center",
        va="center",
        fontsize=7,
        color=FAINT,
    )
    _arrow(axes, (23.5, 19.2), (29.8, 16.9), DEFERRED)
    axes.text(33, 18.4, "deferred: all other teardown", fontsize=8, color=INK, va="center")
    _arrow(axes, (56.2, 13.6), (69.4, 22.7), DEFERRED)
    axes.text(68.2, 17.6, "the CPU returns: cancelled", fontsize=8.5, color=INK, va="center")
    axes.text(
        68.2, 15.5, "neither teardown nor startup runs", fontsize=7.5, color=FAINT, va="center"
    )
    _arrow(axes, (42, 10.2), (42, 6.2), DEFERRED)
    axes.text(43.6, 8.4, "a second has passed, memory is short,", fontsize=7.5, color=FAINT)
    axes.text(43.6, 6.6, "or the kernel needs the CPU natively offline", fontsize=7.5, color=FAINT)
    _box(axes, 28, 1.4, 28, 4.6, DEFERRED, "settled: a worker runs the teardown", "white")


def _legend(axes: Axes) -> None:
    for place, (colour, text) in enumerate(
        (
            (WAITING, "waiting"),
            (CRITICAL, "critical: what correctness needs"),
            (DEFERRED, "not critical: tidies up what the CPU would set up again"),
        )
    ):
        left = 12 + (0, 12, 38)[place]
        _box(axes, left, 31.4, 1.8, 1.6, colour, "", INK)
        axes.text(left + 2.6, 32.2, text, fontsize=8, color=INK, va="center")
    axes.text(94.2, 1.6, "not to scale", fontsize=7, color=FAINT, ha="right", style="italic")
    axes.plot([1.5, 94.2], [30, 30], color="#dde2e7", linewidth=0.8)


def _lane(axes: Axes, middle: float, first: str, second: str) -> None:
    axes.text(1.5, middle + 1, first, fontsize=11, color=INK, weight="bold", va="center")
    axes.text(1.5, middle - 1.2, second, fontsize=9, color=FAINT, va="center")


def _box(
    axes: Axes,
    left: float,
    bottom: float,
    width: float,
    height: float,
    colour: str,
    text: str,
    ink: str,
    edge: str | None = None,
) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (left, bottom),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.7",
            facecolor=colour,
            edgecolor=edge or "none",
            linestyle="--" if edge else "-",
            linewidth=1.3,
        )
    )
    axes.text(
        left + width / 2,
        bottom + height / 2,
        text,
        ha="center",
        va="center",
        fontsize=8.5 if width > 8 else 7.5,
        color=ink,
        linespacing=1.15,
    )


def _request(axes: Axes, left: float, bottom: float, text: str) -> None:
    axes.text(left + 0.7, bottom + 0.9, text, fontsize=8.5, family="monospace", color=INK)
    axes.plot([left, left], [bottom - 2, bottom + 3], color=INK, linewidth=1)
    axes.plot([left, left], [22.6, 28.4], color=INK, linewidth=1)


def _brace(axes: Axes, left: float, right: float, bottom: float, text: str) -> None:
    axes.annotate(
        "",
        (left, bottom),
        (right, bottom),
        arrowprops={"arrowstyle": "<->", "color": FAINT, "linewidth": 0.8, "shrinkA": 0},
    )
    axes.text((left + right) / 2, bottom - 1.7, text, ha="center", fontsize=7.5, color=FAINT)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    axes.add_patch(
        FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=13, color=colour, linewidth=2)
    )

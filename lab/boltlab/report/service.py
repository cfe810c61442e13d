# SPDX-License-Identifier: GPL-2.0-only
"""The picture and the page of a service whose machine gains and loses CPUs."""

from collections.abc import Mapping

from matplotlib.figure import Figure as Canvas

from boltlab.bench import served
from boltlab.bench.served import LOST, Measured
from boltlab.report import figures, html
from boltlab.report.figures import WIDTH, Figure

_CAPTION = (
    "Each point is a request, at the time when it was due and with its latency. A band begins with "
    "the order that a CPU come (blue) or go (orange), and is as wide as that takes."
)
_PREFACE = (
    "A service answers requests while the host of its machine adds CPUs and takes them out. All "
    "latencies are of the guest's clock. A CPU comes or goes by its file in sysfs; the first task "
    "is counted from the same moment. Beside changes: in flight while a CPU came or went, or due "
    "up to 20 ms later."
)
_COLOURS = {"online": "#1f6fb4", "offline": "#d98200"}


def draw(measured: Measured, labels: Mapping[str, str]) -> Figure:
    """Return a timeline for each variant of ``measured``, one below the other, on the same axes."""
    outcomes, title = measured.rows, measured.title
    canvas = Canvas(figsize=(WIDTH, 0.6 + 2.2 * len(outcomes)), layout="constrained")
    canvas.suptitle(title, fontsize=9, x=0.01, ha="left")
    rows = canvas.subplots(len(outcomes), 1, sharex=True, sharey=True, squeeze=False)
    for axes, outcome in zip(rows[:, 0], outcomes, strict=True):
        for change in outcome.changes:
            axes.axvspan(
                change.begin / 1e9,
                change.end / 1e9,
                color=_COLOURS[change.change],
                alpha=0.5,
                linewidth=0.8,
            )
        shown = [(outcome.due(i) / 1e9, us) for i, us in enumerate(outcome.latencies) if us != LOST]
        axes.scatter(
            [due for due, _ in shown],
            [us / 1000 for _, us in shown],
            s=2,
            color="#333333",
            rasterized=True,
        )
        axes.set_yscale("log")
        axes.set_ylabel("latency, ms")
        axes.set_title(labels[outcome.variant], fontsize=9, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
    rows[-1, 0].set_xlabel("seconds of the guest's clock")
    return figures.figure(canvas, _CAPTION, title)


def page(measured: Measured, labels: Mapping[str, str]) -> str:
    """Return the page: the table of what was ``measured``, and its timelines."""
    picture = draw(measured, labels)
    section = html.Section(
        measured.title,
        served.COLUMNS,
        [served.row(outcome, labels[outcome.variant]) for outcome in measured.rows],
        pictures=[(picture.caption, picture.svg)],
    )
    return html.page("A machine that grows and shrinks under load", [section], _PREFACE)

# SPDX-License-Identifier: GPL-2.0-only
"""Makes the picture and the page of a service whose machine gains and loses CPUs."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator

from boltlab.bench import served
from boltlab.bench.served import LOST, Measured, Outcome
from boltlab.report import figures, html
from boltlab.report.figures import WIDTH, Figure

_CAPTION = (
    "Each point is a UDP request, at the time when it was due and with its latency, by the guest's "
    "clock. A line marks a CPU that comes or goes; where the change takes longer than the line is "
    "wide, the line is a band from the start to the end of the change."
)
_PREFACE = (
    "A service answers UDP requests while CPUs of its machine come and go. "
    "All milliseconds are measured by the guest's clock. If the emulator runs in the host's time, "
    "the guest's clock is the host's clock, and other work of the host makes times longer. Times "
    "in seconds of the host begin with the host's order to the emulator or to the guest agent. "
    "CPUs go in up to three ways, in turn: "
    "the guest writes to the CPU's file in sysfs, the guest agent writes to the file on the host's "
    "order, or the host takes a CPU out that is online. The guest does not know exactly when "
    "a change of the third way begins, and so no median in milliseconds has such changes. "
    "A UDP request counts "
    "as beside changes if the UDP request was in flight during a change, or due less than 20 ms "
    "after a change. Changes that cpuboltd makes count as well."
)
_COLOURS = {"online": "#1f6fb4", "offline": "#d98200"}
_NAMES = {"online": "a CPU comes", "offline": "a CPU goes"}
_DAEMON = {"online": "cpuboltd brings CPUs", "offline": "cpuboltd takes CPUs"}


def draw(measured: Measured) -> Figure:
    """Return a timeline for each variant of ``measured``, one below the other, scaled equally."""
    outcomes, title = measured.rows, measured.title
    canvas = Canvas(figsize=(WIDTH, 0.8 + 1.9 * len(outcomes)), layout="constrained")
    canvas.suptitle(title, fontsize=9, x=0.01, ha="left")
    rows = canvas.subplots(len(outcomes), 1, sharex=True, sharey=True, squeeze=False)
    for axes, outcome in zip(rows[:, 0], outcomes, strict=True):
        _timeline(axes, outcome)
    last = rows[-1, 0]
    last.set_xlabel("seconds of the guest's clock")
    ends = [each.due(len(each.latencies)) for each in outcomes]
    # On a busy host the sender may fall behind: the last UDP request that it has sent may have been
    # due before the last change ends.
    ends += [each.end for outcome in outcomes for each in outcome.changes]
    last.set_xlim(0, max(ends) / 1e9)
    answered = [us / 1000 for each in outcomes for us in each.latencies if us != LOST]
    last.set_ylim(min(answered) / 1.5, max(answered) * 1.5)
    daemon = any(each.by == "daemon" for outcome in outcomes for each in outcome.changes)
    keys = [Patch(color=_COLOURS[way], label=name) for way, name in _NAMES.items()]
    if daemon:
        keys += [
            Patch(color=_COLOURS[way], alpha=0.35, label=name) for way, name in _DAEMON.items()
        ]
    canvas.legend(handles=keys, loc="outside upper right", ncols=4, frameon=False, fontsize=8)
    return figures.figure(canvas, _CAPTION, title)


def _timeline(axes: Axes, outcome: Outcome) -> None:
    for change in outcome.changes:
        axes.axvspan(
            change.begin / 1e9,
            change.end / 1e9,
            color=_COLOURS[change.change],
            alpha=0.35 if change.by == "daemon" else 1,
            linewidth=0.9,
        )
    shown = [(outcome.due(i) / 1e9, us) for i, us in enumerate(outcome.latencies) if us != LOST]
    axes.scatter(
        [due for due, _ in shown],
        [us / 1000 for _, us in shown],
        s=2,
        color="#333333",
        linewidths=0,
        rasterized=True,
        zorder=3,
    )
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel("latency, ms")
    axes.set_title(outcome.label, fontsize=9, loc="left")
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def page(measured: Measured) -> str:
    """Return the page: the table of what was ``measured``, and its timelines."""
    picture = draw(measured)
    header, rows = served.table(measured.rows)
    pictures = [(picture.caption, picture.svg)]
    section = html.Section(measured.title, header, rows, pictures=pictures)
    return html.page("A machine that grows and shrinks under load", [section], _PREFACE)

# SPDX-License-Identifier: GPL-2.0-only
"""Shows result files as tables on the terminal, as figures, and as one HTML page."""

import functools
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from boltlab import paths, tables, ui
from boltlab.bench.results import DIRECTIONS, Case, Machine, Results, Stats, variants
from boltlab.boot.bootfile import BootResults
from boltlab.errors import BoltError
from boltlab.report import curve, figures, html
from boltlab.tables import Column

# Ratios beside every case: title of the column -> the variant that Bolt is compared with.
RATIOS = (("vs native", "native"), ("vs expedited", "expedited"))
NONE = "-"

# The title of columns that say how far apart the medians of single boots are. Such a column is
# about the variant of the column to its left.
BOOTS = "boots"

# Shorter names of counts and of requests whose own names are too long for a column.
SHORT = {"grace_periods": "GPs", "online_settled": "from settled"}

# Ranks of columns: a narrow terminal leaves out the columns with the highest rank first. Titles
# that are not here, such as "Bolt" and "vs native", have rank 0, and always stay. Exceptions are
# counts and BOOTS: columns() works out their ranks.
RANKS = {
    "n": 9,
    "vs expedited": 8,
    "vs seq": 7,
    "enabled=0": 6,
    "expedited": 5,
    "Bolt seq": 4,
    "chain": 3,
    "Bolt cold": 2,
    "native": 1,
}
COUNTED = 10  # rank of the first count in the table of consists()

CURVE_TEXT = (
    "medians in ms by the number of CPUs in a request, and the straight line through them: "
    "start + N * each, in us; virtual time adds up what CPUs do at once"
)
CONSISTS_TEXT = (
    "traced requests, which take longer; GPs: grace periods; sum: ms of all CPUs together; "
    "chain: ms that the request takes at most if CPUs really work at once"
)


@functools.cache
def case_help() -> dict[str, str]:
    """Return case -> a sentence that says what the case measures."""
    table = tomllib.loads((paths.DATA / "cases.toml").read_text(encoding="utf-8"))
    return dict(table["help"])


@functools.cache
def growth() -> dict[str, str]:
    """Return case -> the case with which it is compared in the same variant."""
    table = tomllib.loads((paths.DATA / "cases.toml").read_text(encoding="utf-8"))
    return dict(table["growth"])


def title(results: Results) -> str:
    """Return the line above tables and pictures that says where the figures come from."""
    if results.machine:
        return _machine_title(results, results.machine)
    return (
        f"{results.arch}, {results.setting}, {results.cpus} CPUs, Linux {results.kernel}, "
        f"QEMU {results.qemu}, {clock(results.accel)}"
    )


def _machine_title(results: Results, machine: Machine) -> str:
    under = "no hypervisor" if results.accel == "hardware" else f"hypervisor {results.accel}"
    return (
        f"{results.arch}, real time on {machine.model or 'an unknown CPU'}, {under}, "
        f"{results.cpus} CPUs, Linux {results.kernel}"
    )


def boot_title(results: BootResults) -> str:
    """Return the line that says where the figures of boot-bench come from."""
    return (
        f"boot of {results.arch}, {results.setting}, Linux {results.kernel}, "
        f"QEMU {results.qemu}, {clock(results.accel)}"
    )


def remark(results: Results) -> str:
    """Return a remark that a reader of the tables has to know, "" if there is none."""
    machine = results.machine
    parts = [results.note] if results.note else []
    if machine:
        parts.append(
            f"microcode {machine.microcode or 'unknown'}, "
            f"idle driver {machine.idle_driver or 'unknown'}, "
            f"clock source {machine.clocksource or 'unknown'}"
        )
    return "; ".join(parts)


def stem(results: Results) -> str:
    """Return the end of the names of files of ``results``: architecture and setting.

    If real hardware was measured, its hypervisor, its CPU's model and the kernel follow.
    """
    machine = results.machine
    parts = [results.arch, results.setting]
    if machine:
        parts += [results.accel, machine.model, results.kernel]
    return "-".join(re.sub(r"[^A-Za-z0-9._]+", "_", part).strip("_") for part in parts)


def clock(accel: str) -> str:
    """Return the name of the clock with which an accelerator's figures are measured."""
    return {
        "icount": "QEMU virtual time (icount)",
        "mttcg": "host time, multi-threaded TCG: stress",
        "kvm": "KVM, real time",
    }.get(accel, accel)


def ratio(case: Case, baseline: str) -> float | None:
    """Return the median of ``baseline`` divided by Bolt's.

    Returns None if one of the medians is missing, or if Bolt's is 0.
    """
    ours, theirs = case.variants.get("bolt"), case.variants.get(baseline)
    if ours is None or theirs is None or ours.median <= 0:
        return None
    return theirs.median / ours.median


def rows(results: Results, *, ranges: bool) -> tuple[list[str], list[list[str]]]:
    """Return header and cells of the table of ``results``: medians in ms, and ratios of them.

    With ``ranges`` the least and the greatest sample stand beside each median. Below a case that
    growth() compares with another measured case, a row says how much longer the first case takes.
    """
    return _table(results, results.latencies, ranges)


def others(results: Results, *, ranges: bool) -> tuple[list[str], list[list[str]]]:
    """Return header and cells of the table of the cases that curve.others() returns."""
    return _table(results, curve.others(results), ranges)


def _table(
    results: Results, cases: Sequence[Case], ranges: bool
) -> tuple[list[str], list[list[str]]]:
    shown = _shown(cases)
    header = ["case", "n", *(str(variants()[name]["short"]) for name in shown)]
    header += [name for name, _ in RATIOS]
    cells = []
    for case in cases:
        counts = sorted({stats.n for stats in case.variants.values()})
        row = [label(case), "/".join(str(count) for count in counts)]
        for name in shown:
            stats = case.variants.get(name)
            row.append(_cell(stats, ranges) if stats else NONE)
        for _, baseline in RATIOS:
            value = ratio(case, baseline)
            row.append(f"{number(value)}x" if value else NONE)
        cells.append(row)
        if base := results.find(growth().get(case.case, "")):
            cells.append(_growth(case, base, shown))
    return header, cells


def label(case: Case) -> str:
    """Return the name of ``case`` in tables.

    After Case.case stands how many CPUs a request had, if more than one, and then how many CPUs the
    guest had, if cases.toml gives that (Case.cpus).
    """
    what = case.case if case.batch == 1 else f"{case.case} {case.batch}"
    return f"{what} of {case.cpus}" if case.cpus else what


def scaling(results: Results, direction: str) -> tuple[list[str], list[list[str]]]:
    """Return header and cells of the table of requests for more and more CPUs.

    The last rows have the lines fitted to the requests.
    """
    series = curve.cases(results, direction)
    ratios = [name for name in series if name != curve.OURS and curve.OURS in series]
    header = [
        f"{direction} of {curve.machine(results)}",
        *series,
        *(f"vs {name.removeprefix('Bolt ')}" for name in ratios),
    ]
    cells = []
    for batch in sorted({batch for points in series.values() for batch in points}):
        medians = {name: points[batch].median for name, points in series.items() if batch in points}
        row = [str(batch), *(number(medians[name]) if name in medians else NONE for name in series)]
        for name in ratios:
            both = name in medians and medians.get(curve.OURS)
            row.append(f"{number(medians[name] / medians[curve.OURS])}x" if both else NONE)
        cells.append(row)
    fitted = [curve.line(points) for points in series.values()]
    for what, texts in (
        ("start, us", [f"{line.start * 1000:.0f}" if line else NONE for line in fitted]),
        ("each, us", [f"{line.each * 1000:.1f}" if line else NONE for line in fitted]),
        ("R2", [f"{line.r2:.4f}" if line else NONE for line in fitted]),
    ):
        cells.append([what, *texts, *[NONE] * len(ratios)])
    return header, cells


def consists(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return header and cells of the table of traced requests for several CPUs.

    The table has counts and times.
    """
    entries = [(name, entry) for name, found in results.batches.items() for entry in found]
    what = list(dict.fromkeys(key for _, entry in entries for key in entry.counts))
    header = ["", "request", "CPUs", *(SHORT.get(key, key) for key in what), "sum", "chain"]
    cells = [
        [
            str(variants()[name]["short"]),
            SHORT.get(entry.kind, entry.kind),
            str(entry.batch),
            *(str(entry.counts.get(key, NONE)) for key in what),
            number(entry.sum_ns / 1e6),
            number(entry.chain_ns / 1e6),
        ]
        for name, entry in entries
    ]
    return header, cells


def _growth(case: Case, base: Case, shown: Sequence[str]) -> list[str]:
    """Return the row that says how much longer ``case`` takes than ``base``."""
    row = [f"  over {base.case}", NONE]
    for name in shown:
        more, less = case.variants.get(name), base.variants.get(name)
        if more is None or less is None:
            row.append(NONE)
            continue
        gap = more.median - less.median
        row.append(f"{'-' if gap < 0 else '+'}{number(abs(gap))}")
    return row + [NONE] * len(RATIOS)


def overheads(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return header and cells of the table of other work than requests.

    The table has the median of native in ms, and says of each other variant by how many per cent
    its median exceeds that of native. Beside each median the table says how far apart the medians
    of single boots are, in per cent of this median.
    """
    shown = _shown(results.overheads)
    header = ["case", "n"]
    for name in shown:
        header += [str(variants()[name]["short"]), BOOTS]
    cells = []
    for case in results.overheads:
        native = case.variants.get("native")
        row = [case.case, "/".join(sorted({str(stats.n) for stats in case.variants.values()}))]
        for name in shown:
            stats, boots = case.variants.get(name), case.boots.get(name)
            if stats is None or not boots:
                row += [NONE, NONE]
                continue
            if name == "native" or native is None:
                row.append(f"{number(stats.median)} ms")
            else:
                row.append(f"{(stats.median / native.median - 1) * 100:+.2f}%")
            row.append(f"{(max(boots) - min(boots)) / stats.median * 100:.2f}%")
        cells.append(row)
    return header, cells


def _shown(cases: Sequence[Case]) -> list[str]:
    return [name for name in variants() if any(name in case.variants for case in cases)]


def _cell(stats: Stats, ranges: bool) -> str:
    return f"{number(stats.median)} ({spread(stats)})" if ranges else number(stats.median)


def number(value: float) -> str:
    """Return ``value`` with 3 decimals below 1, 2 below 10, 1 below 1000, and none from 1000 on."""
    digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 1000 else 0
    return f"{value:.{digits}f}"


def spread(stats: Stats) -> str:
    """Return the least and the greatest sample of ``stats``, as text."""
    return f"{number(stats.min)} to {number(stats.max)}"


def show(results: Results) -> None:
    """Print the tables of ``results``."""
    ui.prose(f"\n{title(results)}")
    if results.latencies:
        _print(*rows(results, ranges=False))
        ui.prose(
            "medians in ms; over X: how much longer the case takes than X; "
            "vs X: the median of X divided by the median of Bolt"
        )
    for direction in DIRECTIONS:
        if curve.cases(results, direction):
            _print(*scaling(results, direction))
    if curve.machine(results):
        ui.prose(CURVE_TEXT)
    if curve.others(results):
        _print(*others(results, ranges=False))
    if results.batches:
        _print(*consists(results), left=2)
        ui.prose(CONSISTS_TEXT)
    if results.overheads:
        _print(*overheads(results))
        ui.prose("without requests: medians against native; boots: how far apart their medians are")
    if remark(results):
        ui.prose(f"note: {remark(results)}")


def _print(header: Sequence[str], cells: Sequence[Sequence[str]], left: int = 1) -> None:
    tables.show(columns(header), cells, left=left)


def columns(header: Sequence[str]) -> list[Column]:
    """Return the columns with the titles ``header``.

    The rank of a column says how early a narrow terminal leaves out the column (tables.Column).
    """
    # Counts stand between the columns that name the request and the columns of its times.
    counted = list(header[3:-2]) if header[-1] == "chain" else []
    found: list[Column] = []
    for place, name in enumerate(header):
        if name == BOOTS:
            # The column BOOTS of a variant is left out before the variant's median. Those of Bolt
            # and native are left out together, after the columns BOOTS of all other variants.
            of = found[-1]
            found.append(Column(name, 2 if of.rank == 0 else of.rank + 1, f"{name} of {of.title}"))
        elif name in counted:
            found.append(Column(name, COUNTED + counted.index(name)))
        else:
            found.append(Column(name, RANKS.get(name, 0) if place else 0))
    return found


def write(runs: Sequence[Results], output: Path) -> Path:
    """Write the figures (SVG, PNG) and the page of ``runs`` to ``output``; return the page's path.

    Raises BoltError when the directory or a file cannot be written.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        pictures = [figures.draw(results, title(results)) for results in runs]
        for results, drawn in zip(runs, pictures, strict=True):
            for name, figure in drawn.items():
                file = f"{name}-{stem(results)}"
                (output / f"{file}.svg").write_text(figure.svg, encoding="utf-8")
                (output / f"{file}.png").write_bytes(figure.png)
        page = output / "report.html"
        page.write_text(_page(runs, pictures), encoding="utf-8")
    except OSError as error:
        raise BoltError(f"cannot write to {output}: {error.strerror}") from error
    return page


def _page(runs: Sequence[Results], pictures: Sequence[dict[str, figures.Figure]]) -> str:
    sections = [
        section
        for results, drawn in zip(runs, pictures, strict=True)
        for section in _sections(results, drawn)
    ]
    return html.page("Bolt: CPU hotplug latency", sections)


def _sections(results: Results, drawn: dict[str, figures.Figure]) -> Iterator[html.Section]:
    if results.latencies:
        shown = [drawn[name] for name in drawn if name != "curve"]
        yield _section(results, results.latencies, rows(results, ranges=True), shown)
    for direction in DIRECTIONS:
        if curve.cases(results, direction):
            shown = [drawn["curve"]] if direction == DIRECTIONS[-1] else []
            yield _section(results, [], scaling(results, direction), shown)
    if curve.others(results):
        yield _section(results, curve.others(results), others(results, ranges=True))
    if results.batches:
        yield _section(results, [], consists(results))
    if results.overheads:
        yield _section(results, results.overheads, overheads(results))


def _section(
    results: Results,
    cases: Sequence[Case],
    table: tuple[list[str], list[list[str]]],
    pictures: Sequence[figures.Figure] = (),
) -> html.Section:
    used = {case.case for case in cases}
    return html.Section(
        title=title(results),
        note=remark(results),
        header=table[0],
        cells=table[1],
        legend=[(name, text) for name, text in case_help().items() if name in used],
        pictures=[(figure.caption, figure.svg) for figure in pictures],
    )

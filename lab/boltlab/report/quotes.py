# SPDX-License-Identifier: GPL-2.0-only
"""Writes the figures that README and docs quote from results/, and checks these quotes.

A quote names a file in results/: ``x86_64-strict`` is the newest file of that name, and
``2026-11-20-x86_64-strict`` always the file of that day. There are two kinds of quotes:

- a table stands between ``<!-- table: KIND FILE... -->`` and ``<!-- end of table -->``; the line
  below the table names the files, and the commits on which they were measured;
- a single number in a sentence is followed by a mark, as in
  ``159x<!-- figure: FILE#CASE PART -->``, in which PART is a variant or, for a ratio, two variants:
  ``x86_64-strict#offline1 native/bolt``. CASE may also be ``offline_bulk 31 of 32``; in results
  of boot-bench CASE is ``64/16`` (CPUs/nodes). As CASE PART, ``offline each`` stands for the
  microseconds of each further CPU of a request, and ``offline start`` for the microseconds of a
  request for no CPU, by the line fitted to Bolt's requests for several CPUs (likewise ``online``).
  In results of bystanders, the CASE ``1 of 4`` is the longest time that a bystander's task could
  not run when one of four CPUs goes.
  In results of alternatives, PART is a way to keep tasks away from CPUs, and CASE is ``ARCH in``,
  ``ARCH left``, ``ARCH back`` or ``ARCH out``, times in ms that lab/guest/inout.c explains, or ARCH
  and a count such as ``wakeups``, summed over the CPUs from which tasks are kept away.

A number must be the result, rounded to as many decimals as the number has. If this rounding changes
the result by more than a tenth of it, the number must have three significant digits instead.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from boltlab import codec, kept, paths, tables
from boltlab.bench import alternatives, breakdown, results, served
from boltlab.bench.results import DIRECTIONS, Case, Results, variants
from boltlab.boot import bootfile
from boltlab.bystanders import losses
from boltlab.errors import BoltError
from boltlab.report import curve

END = "<!-- end of table -->"

_TABLE = re.compile(
    r"^<!-- table: (?P<words>[^>]*?) -->\n(?P<text>.*?)^" + END + "$", re.DOTALL | re.MULTILINE
)
_FIGURE = re.compile(
    r"(?P<number>\d[\d,]*(?:\.\d+)?)(?P<unit>x?)<!-- figure: (?P<place>[^>]*?) -->"
)
_MARK = re.compile(r"<!-- (?:figure|table):|" + END)
COARSEST = 0.1  # share of the result by which a rounded figure may be off at most
_OURS = "bolt"
_NONE = "-"

Table = tuple[list[str], list[list[str]]]


@dataclass(frozen=True)
class Stale:
    """A quote that differs from the results: its place, its text, and the text it should have.

    For a table, ``quoted`` is "another table", and ``measured`` has the first lines, three at most,
    that the table made from the results has and the quoted table lacks.
    """

    where: str
    quoted: str
    measured: str

    def __str__(self) -> str:
        return f"{self.where}: says {self.quoted}, results say {self.measured}"


def documents() -> list[Path]:
    """Return the documents that may quote figures."""
    return [paths.REPO / "README.md", *sorted((paths.REPO / "docs").glob("*.md"))]


def check(document: Path) -> list[Stale]:
    """Return the quotes in the file ``document`` that differ from the results.

    Raises BoltError for a quote that names no result, and for a malformed mark.
    """
    return renewed(document)[1]


def renewed(document: Path) -> tuple[str, list[Stale]]:
    """Return the text of ``document`` with its quotes renewed, and the quotes that were stale.

    Raises BoltError as check() does.
    """
    text = document.read_text(encoding="utf-8")
    stale: list[Stale] = []
    seen = 0

    def line(at: int) -> str:
        return f"{document.name}:{text.count(chr(10), 0, at) + 1}"

    def one_table(match: re.Match[str]) -> str:
        nonlocal seen
        seen += 2
        rows = table(match["words"])
        if rows != match["text"].strip("\n") + "\n":
            old = set(match["text"].splitlines())
            new = [row for row in rows.splitlines() if row not in old]
            stale.append(Stale(line(match.start()), "another table", "; ".join(new[:3])))
        return f"<!-- table: {match['words']} -->\n\n{rows}\n{END}"

    def one_figure(match: re.Match[str]) -> str:
        nonlocal seen
        seen += 1
        digits = match["number"].partition(".")[2]
        measured = _rounded(value(match["place"]), len(digits))
        if measured.replace(",", "") != match["number"].replace(",", ""):
            unit = match["unit"]
            stale.append(Stale(line(match.start()), match["number"] + unit, measured + unit))
            return f"{measured}{unit}<!-- figure: {match['place']} -->"
        return match[0]

    made = _FIGURE.sub(one_figure, _TABLE.sub(one_table, text))
    # All well-formed marks have been matched, so any other text of a mark is malformed.
    if seen != len(_MARK.findall(text)):
        raise BoltError(f"{document.name}: a mark of a table or of a figure is malformed")
    return made, stale


def table(words: str) -> str:
    """Return, as Markdown, the table that ``words``, a kind and files, asks for."""
    kind, *names = words.split() or [""]
    if kind not in _KINDS or not names:
        raise BoltError(f"no table '{words}' (there are: {', '.join(_KINDS)}, each of files)")
    try:
        header, rows = _KINDS[kind](names)
    except (LookupError, TypeError, ValueError) as error:
        raise BoltError(f"the results have no table '{words}'") from error
    lines = tables.markdown(header, rows)
    files = list(dict.fromkeys(kept.find(name.partition("@")[0]) for name in names))
    return "\n".join([*lines, "", _origin(files), ""])


def value(place: str) -> float:
    """Return the result that ``place``, FILE#CASE PART, names; raise BoltError if there is none."""
    name, _, key = place.partition("#")
    words = key.split()
    if len(words) < 2:
        raise BoltError(f"'{place}' is no FILE#CASE PART")
    file = kept.find(name)
    *case, part = words
    try:
        if part in ("each", "start"):
            return _slope(results.load(file), case[0], part)
        found = _medians(file, case, place)
    except (LookupError, TypeError, ValueError) as error:
        raise BoltError(f"'{place}' names no figure of {file.name}") from error
    over, _, under = part.partition("/")
    try:
        return found[over] / found[under] if under else found[over]
    except KeyError as error:
        raise BoltError(f"{file.name} has no {error.args[0]} of '{' '.join(case)}'") from error


def _rounded(figure: float, digits: int) -> str:
    """Return ``figure`` with ``digits`` decimals, or, if too coarse, with 3 significant digits.

    Decimals are too coarse if rounding changes the figure by more than the share COARSEST.
    """
    exact = Decimal(repr(figure)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    if abs(float(exact) - figure) > abs(figure) * COARSEST:
        return kept.number(figure)
    return f"{exact:,f}"


def _origin(files: Sequence[Path]) -> str:
    """Return the line below a table that says where the figures are from."""
    parts = [f"`results/{file.name}` (commit {kept.commit(file)})" for file in files]
    return "Measured: " + ", ".join(parts) + "."


def _medians(file: Path, case: Sequence[str], place: str) -> dict[str, float]:
    document = codec.document(file)
    wanted: dict[str, object]
    if document.get("kind") == losses.KIND:
        at = {"direction": "offline", "tickless": False}
        try:
            at |= {"batch": int(case[0]), "cpus": int(case[-1])}
        except ValueError as error:
            raise BoltError(f"'{' '.join(case)}' is not of the form N of M") from error
        rows = [row for row in document["rows"] if at.items() <= row.items()]
        return {row["variant"]: row["longest"] for row in rows}
    if document.get("kind") == alternatives.KIND:
        return _ways(file, *case)
    if "boots" in document:
        cpus, _, nodes = case[0].partition("/")
        wanted = {"cpus": int(cpus), "nodes": int(nodes or 1)}
    else:
        wanted = {"case": case[0], "cpus": int(case[3]) if len(case) > 3 else None}
        if len(case) > 1:
            wanted["batch"] = int(case[1])
    for entry in document["cases"]:
        if all(entry.get(key) == wish for key, wish in wanted.items()):
            return {name: stats["median"] for name, stats in entry["variants"].items()}
    raise BoltError(f"{file.name} has no case for '{place}'")


def _ways(file: Path, arch: str, what: str = "") -> dict[str, float]:
    """Return, for ``arch``, way -> median of the time ``what`` in ms, or the count ``what``.

    A count is the sum over the CPUs from which the way keeps tasks away.
    """
    found = {}
    for row in alternatives.load(file).rows:
        if row.arch != arch:
            continue
        if what in alternatives.TIMES:
            if what in row.times:
                found[row.way] = row.times[what].median
        else:
            found[row.way] = sum(float(asdict(cpu)[what]) for cpu in row.quiet)
    return found


def _slope(measured: Results, direction: str, part: str) -> float:
    points = curve.cases(measured, direction).get(curve.OURS, {})
    fitted = curve.line(points)
    if fitted is None:
        raise BoltError(f"no line through the {direction} requests of {measured.arch}")
    return (fitted.each if part == "each" else fitted.start) * 1000


def _title(measured: Results) -> str:
    return measured.arch if measured.setting == "default" else f"{measured.arch} {measured.setting}"


# Case, CPUs of a request, CPUs of the guest (0: the run's usual guest), and title of the row.
_HEADLINE = (
    ("offline1", 1, 0, "one off"),
    ("online1", 1, 0, "one on"),
    ("offline_bulk", 31, 32, "31 off"),
    ("online_bulk", 31, 32, "31 on"),
    ("total1", 1, 0, "whole cycle"),
)


def _headline(names: Sequence[str]) -> Table:
    header = ["ms", "machine", "native", "expedited", "Bolt", "native / Bolt", "expedited / Bolt"]
    rows = []
    runs = [results.load(kept.find(name)) for name in names]
    for case, batch, cpus, text in _HEADLINE:
        for measured in runs:
            entry = _case(measured, case, batch, cpus)
            if entry:
                rows.append([f"**{text}**", measured.arch, *_compared(entry)])
    return header, rows


def _case(measured: Results, case: str, batch: int, cpus: int) -> Case | None:
    for entry in measured.cases:
        if (entry.case, entry.batch, entry.cpus) == (case, batch, cpus):
            return entry
    return None


def _compared(case: Case) -> list[str]:
    medians = {name: stats.median for name, stats in case.variants.items()}
    ours = medians.get(_OURS)
    cells = [_cell(medians.get("native")), _cell(medians.get("expedited"))]
    cells.append(f"**{_cell(ours)}**")
    cells += [_times(medians.get(name), ours) for name in ("native", "expedited")]
    return cells


def _cell(figure: float | None) -> str:
    return _NONE if figure is None else kept.number(figure)


def _times(theirs: float | None, ours: float | None) -> str:
    return f"{kept.number(theirs / ours)}x" if theirs and ours else _NONE


def _cases(names: Sequence[str]) -> Table:
    header = ["case", "native", "expedited", "Bolt", "native / Bolt", "expedited / Bolt"]
    measured = results.load(kept.find(names[0]))
    # Requests for several CPUs are in the table of _bulk().
    shown = [case for case in measured.latencies if not case.case.endswith("_bulk")]
    return header, [[case.case, *_compared(case)] for case in shown]


def _bulk(names: Sequence[str]) -> Table:
    header = ["", "native, one by one", "expedited, one by one", "Bolt, one by one"]
    header += ["Bolt, at once", "native / at once"]
    rows = []
    for name in names:
        measured = results.load(kept.find(name))
        for case in measured.cases:
            together = case.case.endswith("_bulk") or case.case.startswith("smt_")
            if not together or (case.cpus and case.batch < 7):
                continue
            what = case.case.removesuffix("_bulk")
            title = what.replace("_bounded", f", {_bounded(what)},")
            alone = _case(measured, f"{what}_seq", case.batch, case.cpus)
            ours = case.variants[_OURS].median
            medians = {key: stats.median for key, stats in (alone or case).variants.items()}
            rows.append(
                [
                    f"{_title(measured)}, {title} {case.batch} of {case.cpus or measured.cpus}",
                    _cell(medians.get("native")),
                    _cell(medians.get("expedited")),
                    _cell(medians.get(_OURS)) if alone else _NONE,
                    f"**{_cell(ours)}**",
                    _times(medians.get("native"), ours),
                ]
            )
    return header, rows


def _bounded(case: str) -> str:
    """Return what is peculiar to ``case``, which was measured in a bounded guest (cases.toml).

    "The emulator's part" is a jump of virtual time when a cold x86 CPU is woken
    (docs/measuring.md). A request that takes CPUs offline wakes no CPU, and so never has this part.
    """
    woken = case.startswith(("online", "smt_on"))
    return "without the emulator's part" if woken else "with short slices of the emulator"


def _further(names: Sequence[str]) -> Table:
    header = ["", "start, us", "each further CPU, us", "native, each, us", "R2"]
    rows = []
    for name in names:
        measured = results.load(kept.find(name))
        for direction in DIRECTIONS:
            series = curve.cases(measured, direction)
            fitted = curve.line(series.get(curve.OURS, {}))
            native = curve.line(series.get("native", {}))
            if fitted and native:
                figures = (fitted.start * 1000, fitted.each * 1000, native.each * 1000)
                cells = [f"{figure:,.0f}" for figure in figures]
                rows.append([f"{_title(measured)}, {direction}", *cells, f"{fitted.r2:.3f}"])
    return header, rows


def _breakdown(names: Sequence[str]) -> Table:
    """Make the table of the phases of requests in one direction.

    Each of ``names`` is FILE@DIRECTION; the DIRECTION of the first name counts for all.
    """
    files, _, direction = zip(*(name.partition("@") for name in names), strict=True)
    way = direction[0]
    runs = [results.load(kept.find(file)) for file in files]
    header = ["phase"]
    header += [f"{_title(run)}, {name}" for run in runs for name in ("native", "Bolt")]
    rows = []
    for phase in breakdown.order(way):
        row = [breakdown.label(way, phase).removesuffix("*")]
        for run in runs:
            for name in ("native", _OURS):
                parts = run.breakdown[name][way]
                spent = next((part.median_ns for part in parts if part.phase == phase), 0)
                row.append(f"{spent / 1000:,.0f}")
        rows.append(row)
    return header, rows


def _micro(names: Sequence[str]) -> Table:
    runs = [results.load(kept.find(name)) for name in names]
    header = [
        "in per cent of native",
        *(f"{_title(run)}, {word}" for run in runs for word in _BOTH),
    ]
    rows = []
    for case in runs[0].overheads:
        row = [case.case]
        for run in runs:
            mine = run.find(case.case)
            native = mine.variants["native"].median if mine else 0.0
            for name in ("off", _OURS):
                stats = mine.variants.get(name) if mine else None
                row.append(f"{(stats.median / native - 1) * 100:+.2f}" if stats else _NONE)
        rows.append(row)
    return header, rows


_BOTH = ("enabled=0", "enabled=1")


def _bystanders(names: Sequence[str]) -> Table:
    """Make the table of what bystanders lose, with further rows where settling was measured."""
    shown = [name for name in variants() if name in losses.VARIANTS]
    loaded = dict(losses.load(kept.find(name)) for name in names)
    found = {
        (arch, row.variant, row.direction, losses.place_of(row)): row
        for arch, rows in loaded.items()
        for row in (*rows, *losses.sums(rows))
    }
    header = ["CPUs that go"]
    header += [f"{arch} {variants()[name]['short']}" for arch in loaded for name in shown]
    places = {place for _, _, direction, place in found if direction == "offline"}
    cells = []
    for place in sorted(places, key=lambda place: (place[2], place)):
        cpus, batch, tickless = place
        for direction, words in _SETTLING.items():
            rows = [found.get((arch, name, direction, place)) for arch in loaded for name in shown]
            line = [f"{batch} of {cpus}{', on a nohz_full CPU' if tickless else ''}{words}"]
            line += [
                f"{kept.number(row.longest)}, {kept.number(row.stolen)}" if row else _NONE
                for row in rows
            ]
            if any(rows):
                cells.append(line)
    return header, cells


# Direction of rows of bystanders -> the end of the first cell of a line with these rows.
_SETTLING = {"offline": "", "settle": ", settling", "sum": ", sum"}


def _boot(names: Sequence[str]) -> Table:
    """Make the table of the time that further CPUs add to a boot, a row for each size of guest."""
    measured = bootfile.load(kept.find(names[0]))
    header, rows = bootfile.dependents(measured)
    return [_boot_name(name) for name in header], rows


def _parts(names: Sequence[str]) -> Table:
    """Make the table of the parts of a boot; ``names`` has one name, FILE@CPUS/NODES."""
    name, _, size = names[0].partition("@")
    measured = bootfile.load(kept.find(name))
    cpus, _, nodes = size.partition("/")
    header, rows = bootfile.phases(measured, (int(cpus), int(nodes)))
    return header, [[_boot_name(row[0]), *row[1:]] for row in rows]


def _boot_name(variant: str) -> str:
    return {"all": "Bolt", "parallel": "at once"}.get(variant, variant)


def _service(names: Sequence[str]) -> Table:
    """Make the table of a service's latencies while CPUs came and went."""
    return served.table(served.load(kept.find(names[0])).rows)


def _alternatives(names: Sequence[str]) -> Table:
    """Make the table of ways to keep tasks away from CPUs."""
    measured = alternatives.load(kept.find(names[0]))
    return list(alternatives.COLUMNS), alternatives.table(measured.rows)


_KINDS: dict[str, Callable[[Sequence[str]], Table]] = {
    "headline": _headline,
    "cases": _cases,
    "bulk": _bulk,
    "further": _further,
    "breakdown": _breakdown,
    "micro": _micro,
    "bystanders": _bystanders,
    "alternatives": _alternatives,
    "boot": _boot,
    "parts": _parts,
    "service": _service,
}

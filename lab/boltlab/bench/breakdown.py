# SPDX-License-Identifier: GPL-2.0-only
"""Turns function_graph traces of requests into the time spent in each phase."""

import itertools
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from boltlab.bench.results import DIRECTIONS, PhaseTime
from boltlab.errors import BoltError
from boltlab.guest import traced

OTHER = "other"

_BEGIN = re.compile(r"^=== begin KIND=(\w+) cpu=(\d+) t0=(\d+) ===$")
_END = re.compile(r"^=== end t1=(\d+) ===$")
#     5.072697 |   0)   kworker-9    | + 18.602 us   |        kthread_park();
_RECORD = re.compile(
    r"^ *(?P<sec>\d+)\.(?P<usec>\d{6}) \| +(?P<cpu>\d+)\) +(?P<task>.*-(?P<pid>\d+)) *"
    r"\|[^|\d]*(?:(?P<duration>[\d.]+) us)? *\| *(?P<body>.*)$"
)
_LEAF = re.compile(r"^([\w.]+)\(\);")
_OPEN = re.compile(r"^([\w.]+)\(\) \{")
_CLOSE = re.compile(r"^\} /\* ([\w.]+) \*/")
_LOST = re.compile(r"LOST \d+ EVENTS")


@dataclass(frozen=True)
class Call:
    """One run of a traced function: entry and exit in ns; exit is None if the trace has no exit.

    ``task`` is a different text for each task.
    """

    function: str
    entry: int
    exit: int | None
    task: str = ""


@dataclass
class Request:
    """One traced request: direction, bounds in ns, and calls, some of them outside the bounds."""

    direction: str
    start: int
    end: int = 0
    calls: list[Call] = field(default_factory=list)


def order(direction: str) -> list[str]:
    """Return the phases of ``direction`` in the order in which they are drawn."""
    return list(traced.phases()[direction]["order"])


def label(direction: str, phase: str) -> str:
    """Return the name of ``phase`` in figures."""
    return str(traced.phases()["label"][direction].get(phase, phase))


def colour(phase: str) -> str:
    """Return the colour of ``phase``, as ``#rrggbb``."""
    return str(traced.phases()["colour"].get(phase, "#000000"))


def summarise(trace: Iterable[str]) -> dict[str, list[PhaseTime]]:
    """Return for each direction in the guest's ``trace`` the median time of every phase.

    Raises BoltError when the trace is cut off, has lost records or holds no request.
    """
    times: dict[str, list[dict[str, int]]] = defaultdict(list)
    for request in parse(trace):
        times[request.direction].append(paint(request))
    if not times:
        raise BoltError("the guest's trace holds no request")
    return {
        direction: [
            PhaseTime(phase, round(statistics.median(entry[phase] for entry in entries)))
            for phase in order(direction)
        ]
        for direction, entries in times.items()
    }


def blocks(
    trace: Iterable[str], first: re.Pattern[str], kinds: Collection[str]
) -> Iterator[tuple[re.Match[str], int, list[re.Match[str]]]]:
    """Yield for each traced request: a match of ``first``, the request's end in ns, its records.

    ``first`` fits the line that begins a request; its first group is the request's kind, one of
    ``kinds``. A record is a match of _RECORD. Raises BoltError when ``trace`` is damaged.
    """
    begun: re.Match[str] | None = None
    records: list[re.Match[str]] = []
    for line in trace:
        begin, end = first.match(line), _END.match(line)
        if begin and begun is None and begin[1] in kinds:
            begun, records = begin, []
        elif end and begun is not None:
            yield begun, int(end[1]), records
            begun = None
        elif begin or end:
            raise BoltError(f"the guest's trace is damaged at '{line.strip()}'")
        elif _LOST.search(line):
            raise BoltError("the guest's trace has lost records: its buffer is too small")
        elif record := _RECORD.match(line):
            records.append(record)
    if begun is not None:
        raise BoltError("the guest's trace ends inside a request")


def parse(trace: Iterable[str]) -> Iterator[Request]:
    """Yield the requests of a guest's ``trace``; raise BoltError if the trace is damaged."""
    for begin, end, records in blocks(trace, _BEGIN, DIRECTIONS):
        yield Request(begin[1], int(begin[3]), end, calls_of(records))


def paint(request: Request) -> dict[str, int]:
    """Return the ns of each phase of ``request``; the sum is exactly the length of the request.

    When several phases are under way at once, the time counts for the phase of the highest
    priority. When none is under way, the time counts for OTHER.
    """
    table = traced.phases()[request.direction]
    rank: dict[str, int] = {phase: i for i, phase in enumerate(table["priority"])}
    edges: list[tuple[int, int, str]] = []
    for phase, start, end in _intervals(request):
        start, end = max(start, request.start), min(end, request.end)
        if start < end:
            edges += [(start, 1, phase), (end, -1, phase)]
    edges.sort()
    times = dict.fromkeys(table["order"], 0)
    running: Counter[str] = Counter()
    edges = [(request.start, 0, OTHER), *edges, (request.end, 0, OTHER)]
    for (start, change, phase), (end, _, _) in itertools.pairwise(edges):
        running[phase] += change
        active = [name for name, count in running.items() if count > 0]
        times[min(active, key=rank.__getitem__, default=OTHER)] += end - start
    return times


def _intervals(request: Request) -> Iterator[tuple[str, int, int]]:
    """Yield a phase, its start and its end (ns) for each call of a function that has a phase.

    The phase of a ``mark`` of phases.toml ends with the next entry or exit of a function in the
    mark's ``until``; a call after which the trace has no such entry or exit is left out.
    """
    table = traced.phases()
    calls: dict[str, list[Call]] = defaultdict(list)
    for call in request.calls:
        calls[call.function].append(call)
    for row in table["span"]:
        phase = row.get(request.direction)
        for call in calls[row["function"]] if phase else ():
            yield phase, call.entry, request.end if call.exit is None else call.exit
    for row in table["mark"]:
        phase = row.get(request.direction)
        if not phase:
            continue
        bounds = sorted(_edges(row, calls))
        for call in calls[row["function"]]:
            until = next((bound for bound in bounds if bound > call.entry), None)
            if until is not None:
                yield phase, call.entry, until


def _edges(row: Mapping[str, Any], calls: Mapping[str, Sequence[Call]]) -> Iterator[int]:
    for name in row["until"]:
        for call in calls.get(name, ()):
            edge = call.entry if row["edge"] == "entry" else call.exit
            if edge is not None:
                yield edge


def time_of(record: re.Match[str]) -> int:
    """Return the time of a ``record`` in ns, a multiple of 1000 as traces have microseconds."""
    return (int(record["sec"]) * 1_000_000 + int(record["usec"])) * 1000


def calls_of(records: Iterable[re.Match[str]]) -> list[Call]:
    """Return the calls in the tracer's ``records``: each exit is matched with its entry."""
    open_calls: dict[str, list[tuple[str, int]]] = defaultdict(list)
    calls: list[Call] = []
    for record in records:
        now = time_of(record)
        duration = round(float(record["duration"] or 0) * 1000)
        # Every CPU has an idle task, and all idle tasks have the pid 0.
        task = record["pid"] if record["pid"] != "0" else f"idle on {record['cpu']}"
        if leaf := _LEAF.match(record["body"]):
            calls.append(Call(leaf[1], now, now + duration, task))
        elif opened := _OPEN.match(record["body"]):
            open_calls[task].append((opened[1], now))
        elif closed := _CLOSE.match(record["body"]):
            stack = open_calls[task]
            if stack and stack[-1][0] == closed[1]:
                calls.append(Call(closed[1], stack.pop()[1], now, task))
            else:  # the call began before the trace
                calls.append(Call(closed[1], now - duration, now, task))
    for task, stack in open_calls.items():
        calls += [Call(function, entry, None, task) for function, entry in stack]
    return calls

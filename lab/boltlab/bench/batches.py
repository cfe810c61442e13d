# SPDX-License-Identifier: GPL-2.0-only
"""Turns a trace of requests for several CPUs into counts, and into their longest serial chains.

In virtual time the emulator runs one CPU at a time, so the times of work that several CPUs have to
do at once add up. The serial chain estimates the time that a request would take if these CPUs
really worked at once. A callback on a hotplug thread is free if its state is concurrent
(debugfs/bolt/states says so) and is not between the first and the last serial state: unless an
unfit state is registered, hotplug threads run free callbacks without waiting for each other. The
chain is the time of the request, less the time of the free callbacks of all CPUs, plus the time of
the free callbacks of the CPU where these took longest. All other work counts in full, whichever CPU
did the work: the other callbacks on hotplug threads, for which hotplug threads take turns;
callbacks on the control CPU; waking CPUs; stop_machine. Some of that work could run at once as
well, so if CPUs really worked at once, the request would take the time of the chain at most. The
time for which free callbacks of several CPUs are under way is divided equally among these CPUs,
because the trace does not tell which of the CPUs the emulator ran. Tracing makes a request longer.
So the times of the chain and of the whole request (``sum_ns``) are taken from the same traced
requests, and can be compared with each other.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median

from boltlab.bench.breakdown import Call, blocks, calls_of, time_of
from boltlab.bench.results import Batch
from boltlab.errors import BoltError
from boltlab.guest import traced

KINDS = ("offline", "online", "settle", "online_settled")

_TOLD = re.compile(r"^# (concurrent|serial):((?: \d+)*)$")
_BEGIN = re.compile(r"^=== begin KIND=(\w+) batch=(\d+) t0=(\d+) ===$")
_ENTER = re.compile(r"^/\* cpuhp_(?:multi_)?enter: cpu: \d+ target: +\d+ step: +(\d+) ")
_EXIT = re.compile(r"^/\* cpuhp_exit: ")


@dataclass(frozen=True)
class Callback:
    """One callback that ran on a hotplug thread: CPU, state, entry and exit (both in ns)."""

    cpu: int
    state: int
    entry: int
    exit: int


@dataclass
class Request:
    """One traced request for ``batch`` CPUs: bounds in ns, calls, callbacks on hotplug threads.

    On a kernel without such requests, a Request stands for one request for each of these CPUs, one
    after the other. A Request of the kind "settle" is a write to bolt/settle. ``free`` are the
    states whose callbacks are free, see the module's text.
    """

    kind: str
    batch: int
    start: int
    end: int = 0
    calls: list[Call] = field(default_factory=list)
    callbacks: list[Callback] = field(default_factory=list)
    free: frozenset[int] = frozenset()


def summarise(trace: Iterable[str]) -> list[Batch]:
    """Return counts and times of the requests of each kind and size in the guest's ``trace``.

    A count is the greatest, and a time the median, of all requests of the same kind and size.
    Raises BoltError when the trace is cut off, has lost records or holds no request.
    """
    found: dict[tuple[str, int], list[Request]] = defaultdict(list)
    for request in parse(trace):
        found[request.kind, request.batch].append(request)
    if not found:
        raise BoltError("the guest's trace holds no request")
    return [
        Batch(
            kind=kind,
            batch=batch,
            n=len(requests),
            counts={what: max(count(each, what) for each in requests) for what in counted()},
            sum_ns=round(median(each.end - each.start for each in requests)),
            chain_ns=round(median(chain(each) for each in requests)),
        )
        for (kind, batch), requests in found.items()
    ]


def counted() -> list[str]:
    """Return the kinds of functions whose runs are counted: ``count`` in data/batches.toml."""
    return list(traced.batches()["count"])


def count(request: Request, what: str) -> int:
    """Return how often functions of the kind ``what`` ran in ``request``.

    A run inside another run of the same kind in the same task does not count.
    """
    names = set(traced.batches()["count"][what])
    runs: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for call in request.calls:
        until = request.end if call.exit is None else call.exit
        if call.function in names and call.entry <= request.end and until >= request.start:
            runs[call.task].append((call.entry, until))
    return sum(_outermost(spans) for spans in runs.values())


def _outermost(spans: list[tuple[int, int]]) -> int:
    """Return how many of the ``spans`` of one task are not inside another span."""
    found, end = 0, -1
    for _, until in sorted(spans, key=lambda span: (span[0], -span[1])):
        if until > end:
            found, end = found + 1, until
    return found


def chain(request: Request) -> int:
    """Return the ns of the longest serial chain of ``request``; see the module's text."""
    work: dict[int, Fraction] = defaultdict(Fraction)
    inside: dict[int, int] = defaultdict(int)
    edges = sorted(_edges(request))
    for (now, change, cpu), (until, _, _) in itertools.pairwise(edges):
        inside[cpu] += change
        busy = [each for each, depth in inside.items() if depth > 0]
        for each in busy:
            work[each] += Fraction(until - now, len(busy))
    saved = sum(work.values(), Fraction()) - max(work.values(), default=Fraction())
    return round(request.end - request.start - saved)


def _edges(request: Request) -> Iterator[tuple[int, int, int]]:
    for callback in request.callbacks:
        entry, until = max(callback.entry, request.start), min(callback.exit, request.end)
        if callback.state in request.free and entry < until:
            yield entry, 1, callback.cpu
            yield until, -1, callback.cpu


def parse(trace: Iterable[str]) -> Iterator[Request]:
    """Yield the requests of a guest's ``trace``; raise BoltError if the trace is damaged."""
    told: dict[str, list[int]] = {}
    for begin, end, records in blocks(_heard(trace, told), _BEGIN, KINDS):
        yield Request(
            kind=begin[1],
            batch=int(begin[2]),
            start=int(begin[3]),
            end=end,
            calls=calls_of(records),
            callbacks=_callbacks(records),
            free=_free(told),
        )


def _heard(trace: Iterable[str], told: dict[str, list[int]]) -> Iterator[str]:
    """Yield the lines of ``trace`` without those that list states; write the states to ``told``."""
    for line in trace:
        if said := _TOLD.match(line):
            told[said[1]] = [int(state) for state in said[2].split()]
        else:
            yield line


def _free(told: Mapping[str, Sequence[int]]) -> frozenset[int]:
    """Return the concurrent states before the first serial state and after the last serial state.

    If no state is serial, return all concurrent states.
    """
    serial = told.get("serial") or [0]
    low, high = min(serial), max(serial)
    return frozenset(state for state in told.get("concurrent", ()) if not low < state < high)


def _callbacks(records: Sequence[re.Match[str]]) -> list[Callback]:
    """Return the callbacks that ran on hotplug threads, of which each CPU has one."""
    begun: dict[int, tuple[int, int]] = {}
    done: list[Callback] = []
    for record in records:
        if not record["task"].startswith("cpuhp/"):
            continue
        cpu, now = int(record["cpu"]), time_of(record)
        if enter := _ENTER.match(record["body"]):
            begun[cpu] = int(enter[1]), now
        elif _EXIT.match(record["body"]) and cpu in begun:
            state, entry = begun.pop(cpu)
            done.append(Callback(cpu, state, entry, now))
    return done

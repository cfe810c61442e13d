# SPDX-License-Identifier: GPL-2.0-only
"""Reads how much CPUs that came and went delayed a service: the records of lab/guest/served.c."""

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from boltlab import codec
from boltlab.bench.results import summarise
from boltlab.errors import BoltError

KIND = "vm-demo"  # kind of result file
LOST = -1  # the latency of a UDP request that had no answer
AFTER = 20_000_000  # UDP requests due less than so many ns after a change count as beside it
TIMED = ("file", "agent")  # values of Change.by of changes that lab/guest/resize.c times exactly


@dataclass(frozen=True)
class Change:
    """CPUs that came or went.

    Times are in ns of the guest's clock, counted from when the first UDP request was due. ``by``
    says what made the change: "file", a write by the program of the service; "agent", a write by
    the guest agent on the host's order; "host", the host, which took out a CPU that was online;
    "daemon", cpuboltd. When a CPU has come, the program may send a task to this CPU: ``task`` is
    when the task ran there for the first time, 0 if the program sent no task.
    """

    change: str  # "online" or "offline"
    by: str
    cpu: int  # the first CPU, if cpuboltd changed several CPUs
    begin: int
    end: int
    task: int = 0


@dataclass(frozen=True)
class Outcome:
    """The figures of one variant. A client sends UDP requests to the service.

    ``rate`` is how many UDP requests were due in a second. ``latencies`` are in us, by the number
    of the UDP request. ``deleted`` has, for each CPU that the host took out, the seconds of the
    host from the order to take the CPU out until the emulator has no such CPU; CPUs are in the
    order in which the CPUs went. ``answered`` has, for each order to the guest agent, the seconds
    of the host until the agent's answer. ``refused`` is how many requests of cpuboltd ended
    with an error.
    """

    variant: str
    label: str  # what the variant is called
    rate: int
    latencies: list[int]
    changes: list[Change]
    deleted: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    refused: int = 0

    @property
    def lost(self) -> int:
        """How many UDP requests had no answer."""
        return self.latencies.count(LOST)

    @property
    def step(self) -> int:
        """The ns from when one UDP request is due until the next one is due."""
        return 1_000_000_000 // self.rate

    def due(self, number: int) -> int:
        """Return when the UDP request ``number`` was due, in ns since the first one was due."""
        return number * self.step

    def beside(self) -> list[int]:
        """Return the latencies, in us, of answered UDP requests near a change.

        Such a UDP request was in flight during the change, or was due less than AFTER ns after
        the end of the change.
        """
        return [us for us, near in self._answered() if near]

    def apart(self) -> list[int]:
        """Return the latencies, in us, of answered UDP requests that beside() leaves out."""
        return [us for us, near in self._answered() if not near]

    def took(self, change: str) -> list[int]:
        """Return how long each ``change`` took whose ``by`` is in TIMED, in ns."""
        return [each.end - each.begin for each in self._of(change) if each.by in TIMED]

    def first_tasks(self) -> list[int]:
        """Return how long after the start of its change each CPU that came ran a task, in ns.

        See Change.task. CPUs that cpuboltd has brought online are left out.
        """
        return [each.task - each.begin for each in self._of("online") if each.by in TIMED]

    def daemon(self, change: str) -> list[int]:
        """Return how long each ``change`` that cpuboltd made took, in ns."""
        return [each.end - each.begin for each in self._of(change) if each.by == "daemon"]

    def ordered(self, change: str) -> list[Change]:
        """Return each ``change`` that the service's program, not cpuboltd, asked for."""
        return [each for each in self._of(change) if each.by != "daemon"]

    def out(self, online: bool) -> list[float]:
        """Return the times in ``deleted`` of the CPUs that the host took out while online.

        If ``online`` is False, return the times of the CPUs that had gone offline before.
        """
        pairs = zip(self.deleted, self.ordered("offline"), strict=False)
        return [took for took, each in pairs if (each.by == "host") is online]

    def _of(self, change: str) -> list[Change]:
        return [each for each in self.changes if each.change == change]

    def _answered(self) -> list[tuple[int, bool]]:
        """Return each answered UDP request's latency, in us, and whether a change was near."""
        spans = sorted((each.begin, each.end + AFTER) for each in self.changes)
        found, first = [], 0
        for number, us in enumerate(self.latencies):
            due = self.due(number)
            while first < len(spans) and spans[first][1] <= due:
                first += 1
            last = bisect.bisect_left(spans, (due + us * 1000,))
            if us != LOST:
                found.append((us, any(due < end for _, end in spans[first:last])))
        return found


@dataclass(frozen=True)
class Measured:
    """What a file holds: where, how and on which commit the rows were measured, and the rows.

    ``system`` is the user space of the guests, ``cycles`` how often the CPUs came and went.
    """

    arch: str
    qemu: str
    accel: str
    system: str
    cycles: int
    rows: list[Outcome]
    commit: str = ""

    @property
    def title(self) -> str:
        """Where the figures come from, and by which clock the guest's latencies are measured."""
        clock = "virtual time" if self.accel == "icount" else "the host's time, with its noise"
        where = f"{self.arch}, {self.system}, QEMU {self.qemu}"
        return f"{where}, {self.accel}: {clock}; {self.cycles} cycles"


def read(
    records: Sequence[Mapping[str, Any]],
    variant: str,
    label: str,
    deleted: Sequence[float] = (),
    answered: Sequence[float] = (),
) -> Outcome:
    """Return the figures in the ``records`` of a guest.

    All other arguments: see Outcome. Raises BoltError when records are missing, or when ``deleted``
    has times, but not as many as there are offline changes, those by cpuboltd not counted.
    """
    parts = sorted((row for row in records if "served" in row), key=lambda row: row["served"])
    latencies: list[int] = []
    for row in parts:
        if row["served"] != len(latencies):
            raise BoltError(f"{variant}: latencies from {len(latencies)} on are missing")
        latencies += row["us"]
    changes = [Change(**row) for row in records if "change" in row]
    if not latencies or not changes:
        raise BoltError(f"{variant}: the guest has no record of the service")
    gone = [each for each in changes if each.change == "offline"]
    if deleted and len(deleted) != len(gone):
        raise BoltError(f"{variant}: {len(gone)} CPUs went, the host took {len(deleted)} out")
    done = [row for row in records if "CPUBOLT_OPERATION" in row]
    changes += [_of_daemon(row, parts[0]["start"]) for row in done if not _refused(row)]
    return Outcome(
        variant,
        label,
        parts[0]["rate"],
        latencies,
        sorted(changes, key=lambda each: each.begin),
        list(deleted),
        list(answered),
        sum(_refused(row) for row in done),
    )


def _refused(row: Mapping[str, Any]) -> bool:
    return int(row["CPUBOLT_ERRNO"]) != 0


def _of_daemon(row: Mapping[str, Any], start: int) -> Change:
    """Return the change in ``row``, which cpuboltd writes to the journal when a request ends."""
    end = int(row["__MONOTONIC_TIMESTAMP"]) * 1000 - start
    first = str(row["CPUBOLT_CPUS"]).partition(",")[0].partition("-")[0]
    return Change(row["CPUBOLT_OPERATION"], "daemon", int(first), end - int(row["CPUBOLT_NS"]), end)


def joined(outcomes: Sequence[Outcome]) -> Outcome:
    """Join the ``outcomes`` of several guests of one variant, in order, into one outcome."""
    first, *others = outcomes
    for each in others:
        offset = first.due(len(first.latencies))
        later = [
            replace(
                change,
                begin=change.begin + offset,
                end=change.end + offset,
                task=change.task and change.task + offset,
            )
            for change in each.changes
        ]
        first = Outcome(
            first.variant,
            first.label,
            first.rate,
            first.latencies + each.latencies,
            first.changes + later,
            first.deleted + each.deleted,
            first.answered + each.answered,
            first.refused + each.refused,
        )
    return first


def _p99(us: Sequence[int]) -> str:
    return f"{summarise([each * 1000 for each in us]).p99:.2f}" if us else ""


def _middle(ns: Sequence[float]) -> str:
    return f"{median(ns) / 1e6:.3f}" if ns else ""


def _seconds(values: Sequence[float]) -> str:
    return f"{median(values):.2f}" if values else ""


def _daemon(outcome: Outcome, change: str) -> str:
    took = outcome.daemon(change)
    return f"{len(took)}, {_middle(took)}" if took else ""


# The figures of an outcome that are shown. Latencies are measured by the guest's clock.
ROWS: tuple[tuple[str, Callable[[Outcome], str]], ...] = (
    ("requests", lambda each: f"{len(each.latencies)}"),
    ("requests lost", lambda each: f"{each.lost}"),
    ("p99 without a change, ms", lambda each: _p99(each.apart())),
    ("p99 beside changes, ms", lambda each: _p99(each.beside())),
    ("longest, ms", lambda each: f"{max(each.latencies) / 1000:.2f}"),
    ("CPUs that came", lambda each: f"{len(each.ordered('online'))}"),
    ("CPUs that went", lambda each: f"{len(each.ordered('offline'))}"),
    ("a CPU goes, ms", lambda each: _middle(each.took("offline"))),
    ("a CPU comes, ms", lambda each: _middle(each.took("online"))),
    ("CPU's first task, ms", lambda each: _middle(each.first_tasks())),
    ("cpuboltd takes: n, ms", lambda each: _daemon(each, "offline")),
    ("cpuboltd brings: n, ms", lambda each: _daemon(each, "online")),
    ("guest agent, s of host", lambda each: _seconds(each.answered)),
    ("taken out, s of host", lambda each: _seconds(each.out(online=False))),
    ("out if online, s of host", lambda each: _seconds(each.out(online=True))),
)


def table(outcomes: Sequence[Outcome]) -> tuple[list[str], list[list[str]]]:
    """Return the header, and a row for each figure with a cell for each of ``outcomes``.

    Figures that no outcome has are left out.
    """
    rows = [[name, *(cell(each) for each in outcomes)] for name, cell in ROWS]
    return ["", *(each.label for each in outcomes)], [row for row in rows if any(row[1:])]


def dumps(measured: Measured) -> str:
    """Return the JSON text of what was ``measured``."""
    rows = (asdict(row) for row in measured.rows)
    origin = asdict(replace(measured, rows=[]))
    origin.pop("rows")
    return codec.lines(KIND, origin, "rows", rows)


def load(path: Path) -> Measured:
    """Return the contents of the file ``path``; raise BoltError if it has no service's figures."""
    return codec.read(Measured, path, "has no figures of a service", KIND)

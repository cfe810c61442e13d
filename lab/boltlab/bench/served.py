# SPDX-License-Identifier: GPL-2.0-only
"""What a service felt of CPUs that came and went: the records of lab/guest/served.c."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from boltlab import codec, git
from boltlab.bench.results import summarise
from boltlab.errors import BoltError

KIND = "vm-demo"  # of result file
LOST = -1  # in place of a latency
AFTER = 20_000_000  # ns after a change in which a request still counts as one beside it


@dataclass(frozen=True)
class Change:
    """One CPU that came or went: ns of the guest's clock since the first request was due.

    ``task`` is when the first task ran on a CPU that came, 0 for one that went.
    """

    change: str  # "online" or "offline"
    cpu: int
    begin: int
    end: int
    task: int = 0


@dataclass(frozen=True)
class Outcome:
    """One run: latencies in us by number of the request, all changes, and the host's seconds.

    ``rate`` is how many requests were due in a second. ``deleted`` are the seconds of the host from
    each order to take a CPU out to the emulator's event that the CPU is out.
    """

    variant: str
    rate: int
    latencies: list[int]
    changes: list[Change]
    deleted: list[float] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """How many requests had no answer."""
        return self.latencies.count(LOST)

    def due(self, number: int) -> int:
        """Return when the request ``number`` was due, in ns since the first one was."""
        return number * (1_000_000_000 // self.rate)

    def beside(self) -> list[int]:
        """Return the latencies, in us, of requests in flight during a change or due just after."""
        return [value for number, value in self._answered() if self._near(number, value)]

    def apart(self) -> list[int]:
        """Return the latencies, in us, of all other requests."""
        return [value for number, value in self._answered() if not self._near(number, value)]

    def took(self, change: str) -> list[int]:
        """Return how long each ``change`` took, in ns."""
        return [each.end - each.begin for each in self.changes if each.change == change]

    def first_tasks(self) -> list[int]:
        """Return how long after the order to come each CPU ran its first task, in ns."""
        return [each.task - each.begin for each in self.changes if each.change == "online"]

    def _answered(self) -> list[tuple[int, int]]:
        return [(number, us) for number, us in enumerate(self.latencies) if us != LOST]

    def _near(self, number: int, us: int) -> bool:
        due = self.due(number)
        return any(due < each.end + AFTER and each.begin < due + us * 1000 for each in self.changes)


@dataclass(frozen=True)
class Measured:
    """What a file holds: where, how and on which commit the rows were measured, and the rows."""

    arch: str
    qemu: str
    accel: str
    rows: list[Outcome]
    commit: str = ""

    @property
    def title(self) -> str:
        """Where the figures come from, and of which clock the guest's latencies are."""
        clock = "virtual time" if self.accel == "icount" else "the host's time"
        return f"{self.arch}, QEMU {self.qemu}, {self.accel}: {clock}"


def read(
    records: Sequence[Mapping[str, Any]], variant: str, deleted: Sequence[float] = ()
) -> Outcome:
    """Return what the ``records`` of a guest say; BoltError when the service did not end well."""
    parts = sorted((row for row in records if "served" in row), key=lambda row: row["served"])
    latencies: list[int] = []
    for row in parts:
        if row["served"] != len(latencies):
            raise BoltError(f"{variant}: latencies from {len(latencies)} on are missing")
        latencies += row["us"]
    changes = [Change(**row) for row in records if "change" in row]
    if not latencies or not changes:
        raise BoltError(f"{variant}: the service in the guest said nothing")
    return Outcome(variant, parts[0]["rate"], latencies, changes, list(deleted))


COLUMNS = (
    "",
    "requests",
    "lost",
    "p99 apart, ms",
    "p99 beside changes, ms",
    "worst, ms",
    "CPU goes, ms",
    "CPU comes, ms",
    "first task, ms",
    "out of the machine, s of the host",
)


def row(outcome: Outcome, label: str) -> list[str]:
    """Return the cells of ``outcome`` below COLUMNS."""

    def p99(us: Sequence[int]) -> str:
        return f"{summarise([each * 1000 for each in us]).p99:.2f}" if us else ""

    def middle(ns: Sequence[float]) -> str:
        return f"{median(ns) / 1e6:.3f}" if ns else ""

    answered = [us for us in outcome.latencies if us != LOST]
    return [
        label,
        f"{len(outcome.latencies)}",
        f"{outcome.lost}",
        p99(outcome.apart()),
        p99(outcome.beside()),
        f"{max(answered) / 1000:.2f}",
        middle(outcome.took("offline")),
        middle(outcome.took("online")),
        middle(outcome.first_tasks()),
        f"{median(outcome.deleted):.2f}" if outcome.deleted else "",
    ]


def dumps(arch: str, qemu: str, accel: str, rows: Sequence[Outcome]) -> str:
    """Return the JSON text of what was measured."""
    origin = {"arch": arch, "qemu": qemu, "accel": accel, "commit": git.measured()}
    return codec.lines(KIND, origin, "rows", (asdict(row) for row in rows))


def load(path: Path) -> Measured:
    """Return what the file ``path`` holds; or BoltError."""
    return codec.read(Measured, path, "holds nothing of a service", KIND)

# SPDX-License-Identifier: GPL-2.0-only
"""Keeps in one JSON file the races that the runs of ``bolt torture --races`` have seen.

Once a run without Bolt has shown a race, no later call of the command takes the race to be due to
Bolt on the same architecture, unless one of the two functions is Bolt's. Otherwise a rare race of
the kernel itself would count as a race of Bolt's if, of the runs of one call, only runs with Bolt
happened to show the race.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from boltlab import codec
from boltlab.tables import Column
from boltlab.torture import kcsan, races
from boltlab.torture.kcsan import Report
from boltlab.torture.matrix import Case, Outcome
from boltlab.torture.races import Functions, Pair

KIND = "races"
FILE = "races.json"
FRAMES = 12  # how many frames of each stack are kept


@dataclass
class Span:
    """All runs of one scenario on one architecture.

    The times are in seconds. The time of a native run that failed does not count: the run may have
    hung, and then its time says little about how long races had a chance to be seen. The time of a
    failed run with Bolt counts, because what the run has reported counts. A file that an older lab
    has written may have the time of failed native runs as well.
    """

    arch: str
    scenario: str
    runs: int = 0
    failed: int = 0
    host_s: float = 0.0
    virtual_s: float = 0.0


@dataclass
class Sighting:
    """One pair of functions that race, on one architecture.

    ``native`` and ``bolt`` say how often the pair was reported without and with Bolt, ``paths`` how
    many of these reports are of a hotplug path: see Functions.on_path(). ``stacks``, ``repeat`` and
    ``kernel`` are of the last report that may be due to Bolt: the stacks' heads, the line that
    repeats the run, and the mark (tree.mark()) of Bolt's code.
    """

    arch: str
    pair: list[str]
    native: int = 0
    bolt: int = 0
    paths: int = 0
    first: str = ""
    last: str = ""
    kernel: str = ""
    repeat: str = ""
    stacks: list[str] = field(default_factory=list)

    def flaw(self) -> str:
        """Return what is wrong with the fields, or ""."""
        return "" if len(self.pair) == 2 else "a pair has two functions"

    @property
    def names(self) -> Pair:
        """Return the two functions of the pair."""
        return (self.pair[0], self.pair[1])


class Ledger:
    """All spans, by architecture and scenario, and all sightings, by architecture and pair."""

    def __init__(self, spans: Iterable[Span] = (), sightings: Iterable[Sighting] = ()) -> None:
        self.spans = {(each.arch, each.scenario): each for each in spans}
        self.sightings = {(each.arch, each.names): each for each in sightings}

    def add(
        self,
        case: Case,
        outcome: Outcome,
        reports: Iterable[Report],
        functions: Functions,
        date: str,
        kernel: str,
    ) -> set[Pair]:
        """Count a run of ``case`` and its ``reports``; return the pairs that may be due to Bolt.

        ``kernel`` has the mark (tree.mark()) of Bolt's code.
        """
        span = self.span(case.arch, case.story.name)
        span.runs += 1
        span.failed += bool(outcome.why)
        with_bolt = races.side(case.story.name) == races.BOLT
        if with_bolt or not outcome.why:
            span.host_s = round(span.host_s + outcome.host_s, 1)
            span.virtual_s = round(span.virtual_s + outcome.virtual_s, 1)
        suspects = set()
        for report in reports:
            pair = functions.pair(report)
            key = (case.arch, pair)
            seen = self.sightings.setdefault(key, Sighting(case.arch, list(pair), first=date))
            seen.last = max(seen.last, date)
            seen.bolt += with_bolt
            seen.native += not with_bolt
            on_path = functions.on_path(report)
            seen.paths += on_path
            # The kernel runs some of Bolt's functions even if Bolt is disabled, and so races of
            # these functions in runs without Bolt are due to Bolt as well.
            if functions.has_own(pair) or (with_bolt and on_path):
                seen.kernel, seen.repeat = kernel, case.line()
                seen.stacks = kcsan.heads(report, FRAMES)
                suspects.add(pair)
        return suspects

    def span(self, arch: str, scenario: str) -> Span:
        """Return the span of ``scenario`` on ``arch``, which is empty before the first run."""
        return self.spans.setdefault((arch, scenario), Span(arch, scenario))

    def due(self, arch: str, scenario: str, share: float) -> str:
        """Return the side, without Bolt or with Bolt, whose run is next.

        A run with Bolt is next if there was a run without Bolt, and the runs without Bolt have
        taken at least ``share`` times as long as the runs with Bolt will have taken after one more
        run. Runs without Bolt that failed do not count.
        """
        native, bolt = (self.span(arch, name) for name in races.sides(scenario))
        passed = native.runs - native.failed
        runs = passed + bolt.runs
        usual = (native.host_s + bolt.host_s) / runs if runs else 0.0
        enough = passed and native.host_s >= share * (bolt.host_s + usual)
        return races.BOLT if enough else races.NATIVE

    def open(
        self, arch: str, functions: Functions, known: Collection[Pair], kernel: str
    ) -> list[Sighting]:
        """Return the races on ``arch`` that are due to Bolt, and whose pair is not ``known``.

        A race is due to Bolt if its pair has a function of Bolt's, or if a report with Bolt is of a
        hotplug path and the pair was never reported without Bolt. Only
        races count whose last report that may be due to Bolt, see add(), is of the code of Bolt
        that has the mark ``kernel``.
        """
        return [
            seen
            for _, seen in sorted(self.sightings.items())
            if seen.arch == arch
            and seen.kernel == kernel
            and seen.names not in known
            and (not seen.native or functions.has_own(seen.names))
        ]

    def dumps(self) -> str:
        """Return the ledger as JSON text, each pair on its own line."""
        spans = [asdict(self.spans[key]) for key in sorted(self.spans)]
        rows = (asdict(self.sightings[key]) for key in sorted(self.sightings))
        return codec.lines(KIND, {"spans": spans}, "sightings", rows)

    def save(self, path: Path) -> None:
        """Write the file ``path``, whole or not at all."""
        codec.save(self.dumps(), path)


@dataclass(frozen=True)
class _Kept:
    """The contents of a ledger's file."""

    spans: list[Span]
    sightings: list[Sighting]


def load(path: Path) -> Ledger:
    """Return the ledger in ``path``, empty if there is no file.

    Raises BoltError if the file is no ledger.
    """
    if not path.exists():
        return Ledger()
    kept = codec.read(_Kept, path, "holds no races", KIND)
    return Ledger(kept.spans, kept.sightings)


# Columns of table(): a narrow terminal leaves out the columns with the highest rank first.
COLUMNS = (
    Column("arch"),
    Column("scenario"),
    Column("runs", 2),
    Column("failed", 1),
    Column("host"),
    Column("virtual", 2),
)


def table(ledger: Ledger, arches: Sequence[str]) -> list[list[str]]:
    """Return the cells of COLUMNS for each scenario with runs on ``arches``."""
    return [
        [
            span.arch,
            span.scenario,
            str(span.runs),
            str(span.failed),
            f"{span.host_s / 60:.1f} m",
            f"{span.virtual_s / 60:.1f} m",
        ]
        for _, span in sorted(ledger.spans.items())
        if span.arch in arches and span.runs
    ]


def summary(ledger: Ledger, arch: str, known: Collection[Pair]) -> str:
    """Return in one line how many pairs have raced on ``arch`` without and with Bolt."""
    seen = [each for each in ledger.sightings.values() if each.arch == arch]
    only = [each for each in seen if each.bolt and not each.native]
    return (
        f"{arch}: {sum(each.native > 0 for each in seen)} pairs without Bolt, "
        f"{sum(each.bolt > 0 for each in seen)} with Bolt, {len(only)} with Bolt only, of which "
        f"{sum(bool(each.kernel) for each in only)} taken to be due to Bolt and "
        f"{sum(each.names in known for each in only)} known"
    )

# SPDX-License-Identifier: GPL-2.0-only
"""Says which guests of a bench have failed and why, what has no figures, and how to go on."""

from collections.abc import Sequence
from dataclasses import dataclass

from boltlab.bench import ledger
from boltlab.bench.keeping import RESUME
from boltlab.errors import BoltError, GuestError


@dataclass(frozen=True)
class Failed:
    """A guest that failed: its name, its variant, its error, and what it was to measure."""

    name: str
    variant: str
    error: GuestError
    lacking: tuple[str, ...]

    def __str__(self) -> str:
        return str(GuestError(f"{self.name}: {self.error.cause}", self.error.log))


class UnfinishedError(BoltError):
    """Guests of the bench ``what`` have ``failed``, of ``number`` guests in all."""

    def __init__(self, what: str, failed: Sequence[Failed], number: int) -> None:
        self.count = f"{what}: {len(failed)} of {number} guests failed"
        super().__init__(f"{self.count}, the first is {failed[0]}")
        self.failed = failed
        self.kept = len(failed) < number

    def lines(self, again: str) -> list[str]:
        """Return the lines that a user gets to see; the command ``again`` repeats the bench."""
        lacking: dict[str, dict[str, None]] = {}
        for each in self.failed:
            lacking.setdefault(each.variant, {}).update(dict.fromkeys(each.lacking))
        return [
            self.count,
            *map(str, self.failed),
            *(f"no figures of {name}: {', '.join(cases)}" for name, cases in lacking.items()),
            *([f"the other guests' figures are kept in {ledger.folder()}"] if self.kept else []),
            f"go on: {again}{RESUME if self.kept else ''}",
        ]

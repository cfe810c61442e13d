# SPDX-License-Identifier: GPL-2.0-only
"""Checks limits of a scenario: one case's median is at most so many times another's."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from boltlab.errors import BoltError

_FORM = re.compile(r"(\w+) <= (\d+(?:\.\d+)?) (\w+)")


@dataclass(frozen=True)
class Verdict:
    """What became of a limit: whether it ``holds``, and a line that compares the two medians."""

    holds: bool
    text: str


@dataclass(frozen=True)
class Limit:
    """The median of ``case`` is at most ``factor`` times that of ``base``."""

    case: str
    factor: float
    base: str

    def judge(self, samples: Mapping[str, Sequence[int]]) -> Verdict:
        """Compare the medians in ``samples`` (case -> ns); raise BoltError if a case is missing."""
        for case in (self.case, self.base):
            if not samples.get(case):
                raise BoltError(f"the guest has not measured {case}")
        ours, theirs = median(samples[self.case]), median(samples[self.base])
        ratio = f"{ours / theirs:.2f} times" if theirs else f"{ours / 1e6:.3f} ms beside 0 ms of"
        return Verdict(
            ours <= self.factor * theirs,
            f"{self.case} is {ratio} {self.base}; the limit is {self.factor:g} times {self.base}",
        )


def parse(text: str) -> Limit:
    """Return the limit in ``text``; raise BoltError unless it is like "CASE <= FACTOR CASE"."""
    found = _FORM.fullmatch(text)
    if not found:
        raise BoltError(f"'{text}' is not of the form 'CASE <= FACTOR CASE'")
    return Limit(found[1], float(found[2]), found[3])

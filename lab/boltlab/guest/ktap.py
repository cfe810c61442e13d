# SPDX-License-Identifier: GPL-2.0-only
"""Finds what is wrong with KUnit suites, whose results the guest's command ``kunit`` reports."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

# Lines of a suite's tests are indented by four blanks; lines of a test's parameters by eight.
_PLAN = re.compile(r" {4}1\.\.(\d+)")
_TEST = re.compile(r" {4}(not )?ok \d+ ")


def failed(records: Iterable[Mapping[str, Any]]) -> str | None:
    """Return what the first failed test or suite in a guest's ``records`` says, or None."""
    for row in records:
        if "kunit" in row and row["line"].lstrip().startswith("not ok "):
            return f"KUnit {row['kunit']}: {row['line'].strip()}"
    return None


def complaint(records: Iterable[Mapping[str, Any]]) -> str | None:
    """Return what is wrong with the first bad suite in a guest's ``records``, or None.

    A kernel that has suites but does not run their tests calls each suite ok. A suite is therefore
    bad as well if it has no plan, or fewer results than its plan has tests.
    """
    records = list(records)
    if said := failed(records):
        return said
    suites = defaultdict[str, list[str]](list)
    for row in records:
        if "kunit" in row:
            suites[row["kunit"]].append(row["line"])
    for name, lines in suites.items():
        planned = sum(int(match[1]) for match in map(_PLAN.match, lines) if match)
        ran = sum(1 for line in lines if _TEST.match(line))
        if not planned or ran < planned:
            return f"KUnit {name}: {ran} of {planned} tests have run"
    return None

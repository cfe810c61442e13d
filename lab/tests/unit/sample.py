# SPDX-License-Identifier: GPL-2.0-only
"""A result that tests of tables, quotes and reports begin with, and vary."""

import dataclasses
from typing import Any

from boltlab.bench.results import Case, Results, Stats


def stats(median: float, n: int = 20) -> Stats:
    """Return ``n`` measurements, all of them ``median``."""
    return Stats(n, median, median, median, median)


def sample(cases: list[Case], **others: Any) -> Results:
    """Return a result of a guest with four CPUs, of x86_64 and the setting ``strict``.

    ``others`` replace fields of this result.
    """
    plain = Results(
        arch="x86_64",
        setting="strict",
        accel="icount",
        qemu="10.0.2",
        kernel="6.12.117",
        config_sha="0123abcd",
        cpus=4,
        nodes=1,
        cases=cases,
    )
    return dataclasses.replace(plain, **others)

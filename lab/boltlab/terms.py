# SPDX-License-Identifier: GPL-2.0-only
"""Fits sums of terms to measured values, to predict values of machines too large to run."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

EXACT = 1e-12  # a fit with an error below this one is exact but for rounding


def fit(terms: Mapping[str, Sequence[float]], values: Sequence[float]) -> dict[str, float]:
    """Return factors for ``terms``, none below 0, with which their sum fits ``values`` best.

    ``terms`` has, for each name, the term's value for each of ``values``, which are above 0. The
    error of a fit is the sum of the squares of the relative errors. Small sets of terms are tried
    first, and a later set is taken only if its error is more than a fifth smaller than that of the
    set taken before. The result has only the terms of the set that is taken in the end.
    """
    best: tuple[float, dict[str, float]] | None = None
    sets = itertools.chain.from_iterable(
        itertools.combinations(terms, size) for size in range(1, len(terms) + 1)
    )
    for chosen in sets:
        rows = [
            [terms[name][place] / value for name in chosen] for place, value in enumerate(values)
        ]
        found, *_ = np.linalg.lstsq(np.array(rows), np.ones(len(rows)), rcond=None)
        if (found < 0).any():
            continue
        error = float(np.square(np.array(rows) @ found - 1).sum())
        if best is None or error < 0.8 * best[0] - EXACT:
            best = error, dict(zip(chosen, map(float, found), strict=True))
    return best[1] if best else {next(iter(terms)): 0.0}

# SPDX-License-Identifier: GPL-2.0-only
"""Requests for more and more CPUs: series of times, and a line through each series."""

import pytest

from boltlab.bench.results import Batch, Case, Results
from boltlab.report import curve, summary
from tests.unit.sample import sample, stats

SIZES = (1, 3, 7, 15, 31)


def run() -> Results:
    """Return results: natively each of 32 CPUs takes 20 ms, alone or in a batch.

    With Bolt a CPU alone takes 0.3 ms, and a batch takes 0.1 ms, plus 0.05 ms for each CPU.
    """
    cases = []
    for n in SIZES:
        native, bolt = stats(20.0 * n), stats(0.1 + 0.05 * n)
        cases.append(Case("offline_seq", n, {"native": native, "bolt": stats(0.3 * n)}, cpus=32))
        cases.append(Case("offline_bulk", n, {"native": native, "bolt": bolt}, cpus=32))
    cases.append(Case("smt_off", 8, {"bolt": stats(2.0)}, cpus=16))
    cases.append(Case("offline_seq", 3, {"native": stats(70.0)}))
    batches = {
        "bolt": [
            Batch("offline", 3, 2, {"stops": 1}, 400_000, 200_000),
            Batch("online_settled", 3, 2, {"stops": 0}, 500_000, 500_000),
        ]
    }
    return sample(
        cases=cases,
        batches=batches,
    )


def test_a_line_is_found() -> None:
    found = curve.fit([(n, 40.0 + 2.5 * n) for n in SIZES])
    assert found is not None
    assert (found.start, found.each, found.r2) == pytest.approx((40.0, 2.5, 1.0))
    assert found.at(10) == pytest.approx(65.0)


def test_what_is_no_line_fits_badly() -> None:
    found = curve.fit([(1, 1.0), (2, 9.0), (3, 2.0), (4, 8.0)])
    assert found is not None
    assert found.r2 < 0.5
    flat = curve.fit([(1, 5.0), (2, 5.0), (3, 5.0)])
    assert flat is not None
    assert (flat.each, flat.r2) == (0.0, 1.0)


def test_two_points_are_no_fit() -> None:
    assert curve.fit([(1, 1.0), (2, 2.0)]) is None
    assert curve.fit([(1, 1.0), (1, 1.1), (2, 2.0)]) is None


def test_series_are_of_large_guests_only() -> None:
    series = curve.cases(run(), "offline")
    assert list(series) == ["native", "Bolt seq", "Bolt bulk"]
    assert list(series["native"]) == [1, 3, 7, 15, 31]
    assert series["native"][3].median == 60.0
    assert curve.cases(run(), "online") == {}
    assert [case.case for case in curve.others(run())] == ["smt_off"]


def test_the_table_has_ratios_and_the_fit() -> None:
    header, cells = summary.scaling(run(), "offline")
    assert header == ["offline of 32", "native", "Bolt seq", "Bolt bulk", "vs native", "vs seq"]
    assert cells[1] == ["3", "60.0", "0.900", "0.250", "240.0x", "3.60x"]
    assert cells[-3] == ["start, us", "0", "0", "100", "-", "-"]
    assert cells[-2] == ["each, us", "20000.0", "300.0", "50.0", "-", "-"]
    assert cells[-1] == ["R2", "1.0000", "1.0000", "1.0000", "-", "-"]


def test_the_table_of_other_cases_says_how_many_cpus() -> None:
    _, cells = summary.others(run(), ranges=False)
    assert [row[0] for row in cells] == ["smt_off 8 of 16"]
    _, cells = summary.rows(run(), ranges=False)
    assert [row[0] for row in cells] == ["offline_seq 3"]


def test_the_table_of_what_requests_consist_of() -> None:
    header, cells = summary.consists(run())
    assert header == ["", "request", "CPUs", "stops", "sum", "chain"]
    assert cells == [
        ["Bolt", "offline", "3", "1", "0.400", "0.200"],
        ["Bolt", "from settled", "3", "0", "0.500", "0.500"],
    ]

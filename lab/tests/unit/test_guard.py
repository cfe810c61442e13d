# SPDX-License-Identifier: GPL-2.0-only
"""The check of Bolt's times: with which results it compares a run, and what it finds slower."""

from dataclasses import replace
from pathlib import Path

import pytest

from boltlab.arch import ARCHES
from boltlab.bench import guard, results
from boltlab.bench.results import Case, Results
from boltlab.errors import BoltError


def stats(median: float) -> results.Stats:
    return results.Stats(n=3, min=median, median=median, p99=median, max=median)


def case(name: str, native: float, bolt: float, batch: int = 1, cpus: int = 0) -> Case:
    return Case(name, batch, {"native": stats(native), "bolt": stats(bolt)}, cpus=cpus)


RUN = Results(
    arch="x86_64",
    setting="strict",
    accel="icount",
    qemu="10.0.2",
    kernel="6.12.117",
    config_sha="0",
    cpus=4,
    nodes=1,
    cases=[
        case("offline1", 30, 0.2),
        case("offline_bulk", 60, 0.3, batch=3),
        case("offline_bulk", 600, 2, batch=31, cpus=32),
    ],
)


def slower(number: int, factor: float) -> Results:
    """Return RUN with Bolt's median of the case ``number`` multiplied by ``factor``."""
    cases = list(RUN.cases)
    old = cases[number]
    bolt = stats(old.variants["bolt"].median * factor)
    cases[number] = replace(old, variants={**old.variants, "bolt": bolt})
    return replace(RUN, cases=cases)


@pytest.mark.parametrize("number", range(3))
def test_what_became_slower_is_found(number: int) -> None:
    assert guard.compared(RUN, RUN) == 3
    assert guard.slower(slower(number, 1.2), RUN) == []
    (line,) = guard.slower(slower(number, 1.3), RUN)
    assert line.startswith(RUN.cases[number].case)


def test_native_medians_make_no_difference() -> None:
    def quick(run: Results) -> Results:
        """Return ``run`` with a native median of offline1 that is a quarter smaller."""
        first = run.cases[0]
        native = stats(first.variants["native"].median * 0.75)
        variants = {**first.variants, "native": native}
        return replace(run, cases=[replace(first, variants=variants), *run.cases[1:]])

    assert guard.slower(quick(RUN), RUN) == []
    assert guard.slower(RUN, quick(RUN)) == []
    for run, before in ((quick(slower(0, 1.3)), RUN), (slower(0, 1.3), quick(RUN))):
        (line,) = guard.slower(run, before)
        assert line.startswith("offline1")


def test_what_was_not_measured_is_not_compared() -> None:
    alone = replace(slower(0, 1.3), cases=slower(0, 1.3).cases[:1])
    assert guard.compared(alone, RUN) == 1
    line = "offline1, 1 CPUs of 4: 0.26 ms with Bolt, 0.2 ms in results/"
    assert guard.slower(alone, RUN) == [line]


def test_results_of_the_same_emulator_go_first(tmp_path: Path) -> None:
    saved = {
        "2026-01-01-x86_64-strict": RUN,
        "2026-01-02-x86_64-strict": replace(RUN, kernel="6.12.118"),
        "2026-01-03-x86_64-strict-qemu7.2": replace(RUN, qemu="7.2.22"),
        "2026-01-04-x86_64-strict": replace(RUN, accel="kvm"),
        "2026-01-05-x86_64-strict": replace(RUN, cases=[case("suspend", 3, 2)]),
    }
    (tmp_path / "2026-01-06-x86_64-strict-boot.json").write_text("of another kind")
    for name, run in saved.items():
        results.save(run, tmp_path / f"{name}.json")
    assert guard.recorded(RUN, tmp_path).kernel == "6.12.118"
    assert guard.recorded(replace(RUN, qemu="7.2.20"), tmp_path).qemu == "7.2.22"
    assert guard.recorded(replace(RUN, qemu="11.0.0"), tmp_path).qemu == "7.2.22"
    with pytest.raises(BoltError, match="no results of arm64"):
        guard.recorded(replace(RUN, arch="arm64"), tmp_path)


def test_results_are_of_the_same_series(tmp_path: Path) -> None:
    newer = replace(RUN, kernel="7.3.4")
    results.save(newer, tmp_path / "2026-01-01-x86_64-strict-linux7.3.json")
    with pytest.raises(BoltError, match=r"no results of x86_64, strict, 6\.12"):
        guard.recorded(RUN, tmp_path)
    results.save(RUN, tmp_path / "2026-01-02-x86_64-strict.json")
    for run in (RUN, newer):
        assert guard.recorded(replace(run, commit="x"), tmp_path) == run


@pytest.mark.parametrize("name", ARCHES)
def test_there_are_results_of_every_setting(name: str) -> None:
    """Each setting of a guest has results from QEMU 10, the version on which goals are judged."""
    for setting in ARCHES[name].settings:
        found = guard.recorded(replace(RUN, arch=name, setting=setting))
        assert found.qemu.startswith("10.")
        assert guard.compared(found, found) >= 4

# SPDX-License-Identifier: GPL-2.0-only
"""Compares Bolt's medians in a run with those in results/: requests must not become slower."""

from collections.abc import Sequence
from pathlib import Path

from boltlab import kept, versions
from boltlab.bench import results
from boltlab.bench.results import Case, Results
from boltlab.errors import BoltError

MOST = 1.25  # a median of a run may be at most so many times that in results/


def recorded(run: Results, folder: Path = kept.FOLDER) -> Results:
    """Return the newest results in ``folder`` that ``run`` can be compared with.

    The results must be of the architecture, setting, kernel series, accelerator and number of CPUs
    of ``run``, and must have figures of the case offline1 for native and Bolt. Results from the
    same major version of QEMU are preferred to newer results from another version. Raises BoltError
    when there are no such results.
    """
    found = []
    series = versions.of_release(run.kernel)
    named = f"*-{kept.named(run.arch, run.setting, series)}"
    for file in sorted([*folder.glob(f"{named}.json"), *folder.glob(f"{named}-qemu*.json")]):
        other = results.load(file)
        if (other.accel, other.cpus) == (run.accel, run.cpus) and _both(other.find("offline1")):
            found.append(other)
    if not found:
        raise BoltError(
            f"{folder.name}/ has no results of {run.arch}, {run.setting}, {series.series}, "
            f"{run.accel}, {run.cpus} CPUs"
        )
    alike = [other for other in found if _major(other) == _major(run)]
    return (alike or found)[-1]


def slower(run: Results, before: Results) -> list[str]:
    """Return a line for each case whose median with Bolt is over MOST times that in ``before``.

    Native medians are not compared: a native offline request waits for ticks, and so the median of
    100 requests is 24 ms in one run and 31 ms in another (arm64, the same kernel). A case of
    Results.latencies or Results.large is compared if both runs have the case with the same
    ``batch`` and ``cpus``, and with figures of native and of Bolt.
    """
    now = _timed(run)
    lines = []
    for key, case in _timed(before).items():
        if key in now and _both(case) and _both(now[key]):
            old, new = (each.variants["bolt"].median for each in (case, now[key]))
            if new > MOST * old:
                name = f"{case.case}, {case.batch} CPUs of {case.cpus or before.cpus}"
                lines.append(f"{name}: {new:.3g} ms with Bolt, {old:.3g} ms in results/")
    return lines


def compared(run: Results, before: Results) -> int:
    """Return how many cases slower() compares."""
    both = _timed(run).keys() & _timed(before).keys()
    return sum(_both(_timed(run)[key]) and _both(_timed(before)[key]) for key in both)


def _timed(run: Results) -> dict[tuple[str, int, int], Case]:
    cases: Sequence[Case] = [*run.latencies, *run.large]
    return {(case.case, case.batch, case.cpus): case for case in cases}


def _both(case: Case | None) -> bool:
    """Tell whether ``case`` has native figures and figures of Bolt."""
    return case is not None and {"native", "bolt"} <= case.variants.keys()


def _major(run: Results) -> str:
    return run.qemu.partition(".")[0]

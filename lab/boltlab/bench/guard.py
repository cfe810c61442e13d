# SPDX-License-Identifier: GPL-2.0-only
"""Compares Bolt's gain in a run with its gain in results/: the gain must not shrink."""

from collections.abc import Sequence
from pathlib import Path

from boltlab import kept
from boltlab.bench import results
from boltlab.bench.results import Case, Results
from boltlab.errors import BoltError

SHARE = 0.8  # the share of a recorded ratio that a run must reach


def recorded(run: Results, folder: Path = kept.FOLDER) -> Results:
    """Return the newest results in ``folder`` that ``run`` can be compared with.

    The results must be of the architecture, setting, accelerator and number of CPUs of ``run``, and
    must have figures of single requests for native and Bolt. Results from the same major version of
    QEMU are preferred to newer results from another version. Raises BoltError when there are no
    such results.
    """
    found = []
    named = f"*-{run.arch}-{run.setting}"
    for file in sorted([*folder.glob(f"{named}.json"), *folder.glob(f"{named}-qemu*.json")]):
        other = results.load(file)
        if (other.accel, other.cpus) == (run.accel, run.cpus) and _ratio(other.find("offline1")):
            found.append(other)
    if not found:
        raise BoltError(f"{folder.name}/ has no results of {run.arch}, {run.setting}")
    alike = [other for other in found if _major(other) == _major(run)]
    return (alike or found)[-1]


def lost(run: Results, before: Results, share: float = SHARE) -> list[str]:
    """Return a line for each case of ``run`` whose ratio is below ``share`` of that in ``before``.

    The ratio is the native median divided by Bolt's. A native offline request waits for ticks,
    and so the median of 100 requests is 24 ms in one run and 31 ms in the next (arm64, the same
    kernel). This difference says nothing of Bolt, and so both ratios are made with the same native
    median, the larger one of ``run`` and ``before``. Only cases that time requests and that both
    results have are compared.
    """
    now = _timed(run)
    lines = []
    for key, case in _timed(before).items():
        if key in now and _ratio(case) and _ratio(now[key]):
            native = max(each.variants["native"].median for each in (case, now[key]))
            old, new = (native / each.variants["bolt"].median for each in (case, now[key]))
            if new < share * old:
                name = f"{case.case}, {case.batch} CPUs of {case.cpus or before.cpus}"
                lines.append(f"{name}: {new:.1f}x faster than native, {old:.1f}x in results/")
    return lines


def compared(run: Results, before: Results) -> int:
    """Return how many cases lost() compares."""
    both = _timed(run).keys() & _timed(before).keys()
    return sum(bool(_ratio(_timed(run)[key]) and _ratio(_timed(before)[key])) for key in both)


def _timed(run: Results) -> dict[tuple[str, int, int], Case]:
    cases: Sequence[Case] = [*run.latencies, *run.large]
    return {(case.case, case.batch, case.cpus): case for case in cases}


def _ratio(case: Case | None) -> float | None:
    """Return the native median divided by Bolt's, or None when one of them is missing."""
    if case is None or not {"native", "bolt"} <= case.variants.keys():
        return None
    return case.variants["native"].median / case.variants["bolt"].median


def _major(run: Results) -> str:
    return run.qemu.partition(".")[0]

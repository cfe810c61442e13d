# SPDX-License-Identifier: GPL-2.0-only
"""The gain stays: what Bolt gains in a run is compared with what it gained in results/."""

from collections.abc import Sequence
from pathlib import Path

from boltlab import kept
from boltlab.bench import results
from boltlab.bench.results import Case, Results
from boltlab.errors import BoltError

SHARE = 0.8  # of a recorded ratio, that a run must reach


def recorded(run: Results, folder: Path = kept.FOLDER) -> Results:
    """Return the newest results in ``folder`` that ``run`` can be compared with.

    These are of its architecture, setting and accelerator, with native figures and Bolt's of single
    requests. Results with the same major version of QEMU go before all that were measured with
    another one. Raises BoltError when there are none.
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
    """Return a line for each case of ``run`` with less than ``share`` of the ratio in ``before``.

    The ratio is a native median over Bolt's. A native offline waits for ticks: its median of 100
    requests is 24 ms in one run and 31 ms in the next (arm64, the same kernel), which says nothing
    of Bolt. So both ratios are taken of the larger native median of ``run`` and ``before``.
    Only cases that both have are compared, and only those that time requests.
    """
    now = _timed(run)
    lines = []
    for key, case in _timed(before).items():
        if key in now and _ratio(case) and _ratio(now[key]):
            native = max(each.variants["native"].median for each in (case, now[key]))
            old, new = (native / each.variants["bolt"].median for each in (case, now[key]))
            if new < share * old:
                name = f"{case.case}, {case.batch} CPUs of {case.cpus or before.cpus}"
                lines.append(f"{name}: {new:.1f}x native, recorded are {old:.1f}x")
    return lines


def compared(run: Results, before: Results) -> int:
    """Return how many cases lost() compares."""
    both = _timed(run).keys() & _timed(before).keys()
    return sum(bool(_ratio(_timed(run)[key]) and _ratio(_timed(before)[key])) for key in both)


def _timed(run: Results) -> dict[tuple[str, int, int], Case]:
    cases: Sequence[Case] = [*run.latencies, *run.large]
    return {(case.case, case.batch, case.cpus): case for case in cases}


def _ratio(case: Case | None) -> float | None:
    """Return how many times Bolt's median is in the native one, or None when one is missing."""
    if case is None or not {"native", "bolt"} <= case.variants.keys():
        return None
    return case.variants["native"].median / case.variants["bolt"].median


def _major(run: Results) -> str:
    return run.qemu.partition(".")[0]

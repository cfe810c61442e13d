# SPDX-License-Identifier: GPL-2.0-only
"""A service under load while CPUs go and come, in virtual time.

A run fails by itself when the guest's kernel prints a splat, or when the service loses a request
of a client. Here the guest itself takes and brings CPUs; in tests/userland/test_vm_demo.py the host
adds and removes CPUs.
"""

from statistics import median

import pytest

from boltlab.arch import ARCHES
from boltlab.bench import bare
from boltlab.bench.results import variants
from boltlab.bench.served import Outcome
from boltlab.commands import vm_demo
from tests.guest.test_guest import Kernels

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("arch", ARCHES)]


def run(
    kernel: Kernels, arch: str, names: tuple[str, ...], cycles: int, dwell: int
) -> list[Outcome]:
    """Run the guests of the variants ``names``; return the outcome of each guest's service."""
    target = ARCHES[arch]
    jobs = [
        bare.job(kernel(arch, variants()[name]["kernel"]), target, name, cycles, dwell)
        for name in names
    ]
    measured = vm_demo.measure_bare(target, jobs, cycles)
    for outcome in measured.rows:
        assert len(outcome.took("online")) == len(outcome.took("offline")) == 3 * cycles
        assert len(outcome.latencies) > 100
    return measured.rows


def test_nothing_is_lost(kernel: Kernels, arch: str) -> None:
    native, ours = run(kernel, arch, ("native", "bolt"), cycles=1, dwell=100)
    assert median(ours.took("offline")) < median(native.took("offline")) / 10
    assert median(ours.first_tasks()) < median(native.first_tasks())


@pytest.mark.nightly
def test_nothing_is_lost_in_a_thousand_pairs(kernel: Kernels, arch: str) -> None:
    run(kernel, arch, ("bolt",), cycles=334, dwell=10)

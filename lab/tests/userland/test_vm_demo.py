# SPDX-License-Identifier: GPL-2.0-only
"""A Debian guest under load whose CPUs come and go; with mttcg the host adds and removes these.

A run fails by itself when the guest's kernel prints a splat, when the service loses a request of a
client, or when the guest keeps a CPU that the host takes out. In a variant with cpuboltd, a run
also fails when cpuboltd takes no CPU offline, brings back no CPU, or does not print what the
variant wants.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from boltlab import arch
from boltlab.commands import vm_demo
from boltlab.debian import vmdemo
from boltlab.guest import serving
from boltlab.kernel.build import Kernel

pytestmark = [
    pytest.mark.guest,
    pytest.mark.nightly,
    pytest.mark.skipif(arch.host().name != vm_demo.ONLY, reason="QEMU adds CPUs to x86_64 only"),
]


@pytest.mark.parametrize("name", vmdemo.variants())
@pytest.mark.parametrize("accel", ["mttcg", "icount"])
def test_each_variant(
    kernel: Callable[[str, str], Kernel], image: Path, name: str, accel: str
) -> None:
    built = kernel(vm_demo.ONLY, vmdemo.variant(name)["kernel"])
    outcome = vm_demo.measure(built, image, name, 2, accel)
    ways = serving.WAYS if vmdemo.adds(accel) else serving.WAYS[:-1]
    assert {each.by for each in outcome.ordered("offline")} == set(ways)
    assert len(outcome.deleted) == (6 if vmdemo.adds(accel) else 0)
    assert len(outcome.answered) >= 4


def test_a_thousand_cpus_are_added_and_removed(
    kernel: Callable[[str, str], Kernel], image: Path
) -> None:
    built = kernel(vm_demo.ONLY, vmdemo.variant("bolt")["kernel"])
    outcome = vm_demo.measure(built, image, "bolt", 334, "mttcg", 10)
    assert len(outcome.deleted) == len(outcome.ordered("online")) == 1002

# SPDX-License-Identifier: GPL-2.0-only
"""Runs a service under load in the lab's own small guest, in virtual time; CPUs go and come."""

from dataclasses import dataclass

from boltlab.arch import Arch
from boltlab.bench.results import variants
from boltlab.guest import guests, serving
from boltlab.guest.machine import Machine
from boltlab.guest.qemu import Guest, GuestResult
from boltlab.kernel.build import Kernel

VARIANTS = ("native", "expedited", "bolt")
LONGEST = 3 * 3600  # seconds of the host that a guest may take
SYSFS = "/sys/devices/system/cpu"


@dataclass(frozen=True)
class Job:
    """The guest of one variant; see guests.Job."""

    variant: str
    name: str
    guest: Guest
    units: int = 1


def job(kernel: Kernel, arch: Arch, variant: str, cycles: int, dwell_ms: int) -> Job:
    """Return the guest of ``variant``, in which serving.cpus() come and go ``cycles`` times.

    ``dwell_ms``: see serving.words().
    """
    cpus = serving.cpus()
    words = serving.words(cycles, dwell_ms, ways=1, slots=False)
    script = (
        *variants()[variant]["commands"],
        *(f"write {SYSFS}/cpu{cpu}/online 0" for cpu in cpus),
        f"run /{serving.PROGRAM} {' '.join(words)}",
        f"expect {SYSFS}/online 0-{cpus.start - 1}",
    )
    guest = Guest(
        arch,
        kernel.image,
        script,
        append=arch.settings[arch.default_setting],
        machine=Machine(cpus=cpus.stop, accel="icount"),
        timeout=LONGEST,
    )
    return Job(variant, f"{arch.name}-served-{variant}", guest)


def run(jobs: list[Job], title: str) -> dict[str, GuestResult]:
    """Run the guests of ``jobs``; return each variant's result, or raise BoltError if one fails."""
    return {each.variant: done for each, done in guests.run_all(jobs, title)}

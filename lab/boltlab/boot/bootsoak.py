# SPDX-License-Identifier: GPL-2.0-only
"""Boots machines of random sizes with the variants of boot.toml that have Bolt's kernel.

All CPUs must come. Then all CPUs but CPU 0 must go in one request, and come back in another. The
kernel must print no complaint.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boltlab.arch import Arch
from boltlab.boot import boots
from boltlab.guest import qemu
from boltlab.guest.machine import Machine
from boltlab.guest.qemu import Guest
from boltlab.kernel.build import Kernel


@dataclass(frozen=True)
class Soak:
    """One boot of many: its number, its variant, and the guest."""

    number: int
    variant: str
    guest: Guest

    @property
    def cpus(self) -> int:
        """CPUs of the machine."""
        return self.guest.machine.cpus

    @property
    def name(self) -> str:
        """Name of the run's directory."""
        machine = self.guest.machine
        return (
            f"soak-{self.guest.arch.name}-{self.number}-{self.variant}"
            f"-{machine.cpus}-{machine.nodes}-{machine.accel}"
        )

    @property
    def units(self) -> int:
        """The boot's share of the progress that the lab shows: large machines boot longer."""
        return self.cpus


def draw(
    target: Arch, setting: str, kernels: Mapping[str, Kernel], count: int, seed: int = 1
) -> list[Soak]:
    """Return ``count`` boots of the variants of Bolt's kernel; boot.toml has the possible sizes."""
    rows = boots.table()["soak"]
    ways = {
        name: row for name, row in boots.variants(target.name).items() if row["kernel"] == "bolt"
    }
    rng = random.Random(seed)
    found = []
    for number in range(count):
        cpus = rng.choice(rows["cpus"][target.name])
        accel = rng.choice(qemu.EMULATED)
        nodes = rng.choice([n for n in rows["nodes"] if cpus % n == 0])
        # Variants take turns, so that chance leaves no variant out.
        variant = list(ways)[number % len(ways)]
        # In a trial the kernel compares how long groups of CPUs and lone CPUs take (docs/boot.md).
        # If CPUs of a guest really run at once, a group may be too slow, and then all further CPUs
        # come one by one. Some boots have no trial, so that large requests are tested in any case.
        trial = "bolt.trial=" + rng.choice(("on", "off"))
        found.append(
            Soak(
                number,
                variant,
                Guest(
                    arch=target,
                    image=kernels["bolt"].image,
                    script=tuple(_script(rows, cpus)),
                    append=boots.append(target, setting, f"{ways[variant]['append']} {trial}"),
                    machine=Machine(
                        cpus=cpus,
                        nodes=nodes,
                        memory=rows["memory"],
                        # On a host with few CPUs, many CPUs that run at once each get so little
                        # time that the guest's kernel reports lockups.
                        accel=accel if cpus <= rows["mttcg"] else "icount",
                    ),
                    timeout=rows["timeout"],
                ),
            )
        )
    return found


def _script(rows: Mapping[str, Any], cpus: int) -> list[str]:
    last = str(cpus - 1)
    return [line.replace("LAST", last) for line in rows["commands"]]

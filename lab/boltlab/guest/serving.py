# SPDX-License-Identifier: GPL-2.0-only
"""Makes the arguments of lab/guest/served.c, a service under load while CPUs come and go."""

import tomllib
from typing import Any

from boltlab import paths

TABLE = paths.DATA / "vm-demo.toml"
PROGRAM = "bin/served"
# What brings a CPU online or takes a CPU offline, in the order of lab/guest/served.h. "host" needs
# slots, and only takes online CPUs out of the guest: if "host" has its turn when a CPU is to come
# online, "file" brings the CPU online.
WAYS = ("file", "agent", "host")


def table() -> dict[str, Any]:
    """Return data/vm-demo.toml."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def cpus() -> range:
    """Return the CPUs that come and go."""
    first, _, last = table()["load"]["cpus"].partition("-")
    return range(int(first), int(last) + 1)


def words(cycles: int, dwell_ms: int, ways: int, slots: bool) -> list[str]:
    """Return the arguments for a guest whose CPUs come and go ``cycles`` times.

    ``ways``: how many of WAYS, from the first on, the changes use in turn. ``dwell_ms``: how long
    the guest waits at least between two changes. ``slots``: the host adds the CPUs, and takes the
    CPUs out; otherwise the guest has the CPUs all the time, offline at first.
    """
    load = {**table()["load"], "cycles": cycles, "dwell_ms": dwell_ms}
    load |= {"ways": ways, "slots": int(slots)}
    return [f"{key}={value}" for key, value in load.items()]

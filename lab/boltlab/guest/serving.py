# SPDX-License-Identifier: GPL-2.0-only
"""What lab/guest/served.c is told: a service under load while CPUs come and go."""

import tomllib
from typing import Any

from boltlab import paths

TABLE = paths.DATA / "vm-demo.toml"
PROGRAM = "bin/served"
# Who changes a CPU, in the order of lab/guest/served.h; the last one needs slots.
WAYS = ("file", "agent", "host")


def table() -> dict[str, Any]:
    """Return what data/vm-demo.toml says."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def cpus() -> range:
    """Return the CPUs that come and go."""
    first, _, last = table()["load"]["cpus"].partition("-")
    return range(int(first), int(last) + 1)


def words(cycles: int, dwell_ms: int, ways: int, slots: bool) -> list[str]:
    """Return the words for a guest whose CPUs come and go ``cycles`` times by the first ``ways``.

    ``dwell_ms``: how long the guest waits between two changes. ``slots``: the host adds the CPUs
    and takes them out; otherwise the CPUs are there, offline at first.
    """
    load = {**table()["load"], "cycles": cycles, "dwell_ms": dwell_ms}
    load |= {"ways": ways, "slots": int(slots)}
    return [f"{key}={value}" for key, value in load.items()]

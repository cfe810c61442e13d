# SPDX-License-Identifier: GPL-2.0-only
"""A model of boots of machines that are too large to run, or whose CPUs really work at once.

The model's costs come from measured boots: each phase of a variant is a sum of terms in the number
of CPUs and nodes, fitted to the boots of all machines. In virtual time CPUs take turns; for that
case the model adds up the work of all CPUs, and check() compares the sum with the boots. For CPUs
that work at once the model plays SMP init: which CPUs come at the same time, and which work only
one CPU can do at a time. All other phases count as in virtual time.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boltlab import terms
from boltlab.boot.boots import Boot

SMP = "SMP init"

# Boots that the talk (docs/boot.md names it) shows: CPUs, nodes, seconds. The talk's machines have
# another speed than the emulator's, so talk() multiplies the model's times by one factor first.
TALK = ((32, 1, 0.5), (960, 15, 11.0), (1024, 16, 15.0), (1780, 16, 45.0))
LARGE = (1780, 16)
# How many CPUs come in each of the first requests, which are a trial. The model assumes that the
# trial ends well, so that all other CPUs come in one more request, and not one by one.
# kernel/bolt/boot/cpus.c has the same numbers.
GROUPS = (1, 1, 1, 2, 4, 8)

# Terms that a phase may have: functions of the number of CPUs that come (n) and of nodes (m).
_TERMS: Mapping[str, Callable[[int, int], float]] = {
    "N": lambda n, m: float(n),
    "N^2": lambda n, m: float(n) ** 2,
    "N^2 nodes": lambda n, m: float(n) ** 2 * m,
    "N^3": lambda n, m: float(n) ** 3,
}
_PHASES: Mapping[str, tuple[str, ...]] = {
    "boot CPU": ("N", "N^2", "N^3"),
    SMP: ("N", "N^2", "N^2 nodes"),
    "domain build": ("N", "N^2"),
    "initcalls": ("N", "N^2"),
}


@dataclass(frozen=True)
class Bringup:
    """The costs, in ns, of bringing up one CPU on a machine of a certain size.

    First another CPU prepares (``ahead``) and wakes (``wake``) the CPU that comes. Then the CPU
    that comes takes ``own`` until it idles, and ``after`` for its startup callbacks. Last the
    control task takes ``active`` to make the CPU active. Of ``ahead`` and ``own`` the share
    ``turns`` can be done for one CPU at a time only.
    """

    ahead: float
    wake: float
    own: float
    after: float
    active: float
    turns: float = 0.25


@dataclass(frozen=True)
class Model:
    """Terms of each phase (phase -> term -> ns), and two shares of SMP init.

    Of the time of SMP init, callbacks that run before a CPU is woken take the share ``ahead``, and
    callbacks that the woken CPU runs take the share ``after``.
    """

    terms: Mapping[str, Mapping[str, float]]
    ahead: float
    after: float

    def phase(self, name: str, cpus: int, nodes: int) -> float:
        """Return by how many ns a phase is longer than on one CPU; all CPUs' work is added up."""
        return sum(each * _TERMS[term](cpus - 1, nodes) for term, each in self.terms[name].items())

    def summed(self, cpus: int, nodes: int) -> float:
        """Return the CPU-dependent ns of a boot, the work of all CPUs added up."""
        return sum(self.phase(name, cpus, nodes) for name in self.terms)

    def bringup(self, cpus: int, nodes: int) -> Bringup:
        """Return the average cost of one CPU on a machine of that size."""
        each = self.phase(SMP, cpus, nodes) / (cpus - 1)
        rest = each * (1 - self.ahead - self.after)
        return Bringup(
            ahead=each * self.ahead,
            wake=rest * 0.3,
            own=rest * 0.6,
            after=each * self.after,
            active=rest * 0.1,
        )

    def path(self, cpus: int, nodes: int, order: str) -> float:
        """Return the CPU-dependent ns of a boot whose CPUs really work at once.

        In SMP init CPUs come in ``order``, as in play(). All other phases count as in summed().
        """
        others = sum(self.phase(name, cpus, nodes) for name in self.terms if name != SMP)
        return others + play(self.bringup(cpus, nodes), cpus - 1, order)


def model(boots: Sequence[Boot], variant: str) -> Model | None:
    """Return the model of ``variant`` from those of ``boots`` that are boots of this variant.

    Returns None if none of these is on one CPU, or if fewer than 3 are on larger machines.
    """
    base = next((b for b in boots if (b.variant, b.cpus) == (variant, 1)), None)
    runs = [boot for boot in boots if boot.variant == variant and boot.cpus > 1]
    if base is None or len(runs) < 3:
        return None
    fitted = {
        name: terms.fit(
            {term: [_TERMS[term](boot.cpus - 1, boot.nodes) for boot in runs] for term in known},
            [max(1.0, boot.phases[name] - base.phases[name]) for boot in runs],
        )
        for name, known in _PHASES.items()
    }
    traced = [boot for boot in runs if boot.callbacks]
    ahead, after = _shares(traced[-1]) if traced else (0.35, 0.35)
    return Model(fitted, ahead, after)


def _shares(boot: Boot) -> tuple[float, float]:
    """Return two shares of SMP init: callbacks before a CPU is woken, and callbacks on that CPU."""
    ahead = sum(entry.early_ns for entry in boot.callbacks if entry.ahead)
    after = sum(entry.early_ns for entry in boot.callbacks if not entry.ahead)
    whole = max(boot.phases[SMP], 1.2 * (ahead + after))
    return ahead / whole, after / whole


def play(cost: Bringup, comers: int, order: str) -> float:
    """Return the ns until ``comers`` CPUs are up; ``order`` is "serial", "parallel" or "tree"."""
    if order == "serial":
        return comers * (cost.ahead + cost.wake + cost.own + cost.after + cost.active)
    now, come = 0.0, 0
    for size in (*GROUPS, comers):
        n = min(size, comers - come)
        if n:
            arrivals = _at_once(cost, n) if order == "parallel" else _tree(cost, n, come)
            # Startup callbacks begin when all CPUs of a group idle, and run on all CPUs at once.
            now += max(arrivals) + cost.after + n * cost.active
            come += n
    return now


def _at_once(cost: Bringup, comers: int) -> list[float]:
    """Return the ns until each CPU idles if one task prepares all CPUs, and then wakes them."""
    now = comers * cost.ahead
    turn = 0.0
    arrivals: list[float] = []
    for _ in range(comers):
        now += cost.wake
        turn = max(turn, now + cost.own * (1 - cost.turns)) + cost.own * cost.turns
        arrivals.append(turn)
    return arrivals


def _tree(cost: Bringup, comers: int, come: int) -> list[float]:
    """Return the ns until each CPU idles if in every round each CPU brings up another CPU.

    ``come`` CPUs have come before. The boot CPU brings up a CPU only while no other CPU has come.
    """
    now = 0.0
    arrivals: list[float] = []
    while len(arrivals) < comers:
        jobs = min(max(1, come + len(arrivals)), comers - len(arrivals))
        now += cost.ahead * (1 - cost.turns) + jobs * cost.ahead * cost.turns
        turn = now
        for _ in range(jobs):
            ready = now + cost.wake + cost.own * (1 - cost.turns)
            turn = max(turn, ready) + cost.own * cost.turns
            arrivals.append(turn)
        now = turn
    return arrivals


def check(boots: Sequence[Boot]) -> dict[str, Any]:
    """Return the model's errors at each booted size, and its times for machines of the talk.

    For each variant with a model there are times for the talk's largest machine (LARGE), of which
    "summed_acpi_ms" leaves out the phase "boot CPU", for the reason that talk() names. The native
    model is also compared with all four of the talk's machines (TALK).
    """
    names = list(dict.fromkeys(boot.variant for boot in boots))
    models = {name: found for name in names if (found := model(boots, name))}
    said: dict[str, Any] = {"errors": {}, "large": {}}
    for name, mine in models.items():
        base = next(b for b in boots if (b.variant, b.cpus) == (name, 1))
        said["errors"][name] = {
            f"{boot.cpus}/{boot.nodes}": mine.summed(boot.cpus, boot.nodes)
            / max(1, boot.booted - base.booted)
            - 1
            for boot in boots
            if boot.variant == name and boot.cpus > 1
        }
        said["large"][name] = {
            "summed_ms": mine.summed(*LARGE) / 1e6,
            "summed_acpi_ms": (mine.summed(*LARGE) - mine.phase("boot CPU", *LARGE)) / 1e6,
            **{
                f"{order}_ms": mine.path(*LARGE, order) / 1e6
                for order in ("serial", "parallel", "tree")
            },
        }
    if "native" in models:
        said["talk"] = talk(models["native"])
    return said


def talk(native: Model) -> dict[str, Any]:
    """Compare the native model with the talk's four machines; one factor scales the model's times.

    The talk's machines have no devicetree, and so the model's phase "boot CPU", in which the boot
    CPU reads the devicetree before other CPUs are woken, is left out.
    """
    guessed = [
        native.summed(cpus, nodes) - native.phase("boot CPU", cpus, nodes)
        for cpus, nodes, _ in TALK
    ]
    # The talk's seconds include the boot on one CPU, and the talk does not say how long that takes.
    # So try times up to the whole boot of the smallest machine, and take the time with the
    # least error.
    tries = [_scaled(guessed, TALK[0][2] * step / 100) for step in range(100)]
    base, factor, _ = min(tries, key=lambda found: found[2])
    return {
        "base_s": base,
        "factor": factor * 1e9,
        "points": [
            {
                "cpus": cpus,
                "nodes": nodes,
                "talk_s": seen,
                "model_s": base + ours * factor,
                "error": (base + ours * factor) / seen - 1,
            }
            for (cpus, nodes, seen), ours in zip(TALK, guessed, strict=True)
        ],
    }


def _scaled(guessed: Sequence[float], base: float) -> tuple[float, float, float]:
    """Fit ``base`` + ``guessed`` * factor to TALK; return ``base``, the factor, the fit's error.

    ``base`` are the seconds that a boot on one CPU is taken to last, ``guessed`` the model's times
    of the machines of TALK, in ns.
    """
    pairs = [((seen - base), ours) for (_, _, seen), ours in zip(TALK, guessed, strict=True)]
    factor = math.exp(sum(math.log(seen / ours) for seen, ours in pairs) / len(pairs))
    error = sum(math.log((base + ours * factor) / (base + seen)) ** 2 for seen, ours in pairs)
    return base, factor, error

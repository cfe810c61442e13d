# SPDX-License-Identifier: GPL-2.0-only
"""The command cpubolt in guests: the requests that it makes, and the cost of one request."""

import json
import re
from collections.abc import Callable
from statistics import median

import pytest

from boltlab.arch import ARCHES
from boltlab.guest import qemu, scenario
from boltlab.guest.qemu import GuestResult
from boltlab.kernel.build import Kernel

Kernels = Callable[[str, str], Kernel]

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("arch", ARCHES)]

NATIVELY = "cpubolt: Bolt is not enabled: the CPUs changed one after the other"


def play(kernel: Kernels, arch: str, name: str) -> GuestResult:
    """Run the scenario ``name`` on ``arch``; the run fails if a command of the scenario fails."""
    wanted = scenario.load(name)
    target = ARCHES[arch]
    guest = wanted.guest(target, kernel(arch, wanted.kernel), target.default_setting)
    return qemu.run(guest, f"test-{arch}-{name}")


def output(done: GuestResult) -> list[str]:
    return [row["output"] for row in done.records if "output" in row]


def test_requests(kernel: Kernels, arch: str) -> None:
    """The scenario checks which CPUs are online; this test checks what cpubolt prints."""
    lines = output(play(kernel, arch, "cpubolt"))
    text = "\n".join(lines)
    assert len(re.findall(r"^CPUs 2-3 are offline, \d+\.\d\d ms$", text, re.M)) >= 2
    # More lines may come from requests during which another program changed a CPU.
    assert lines.count(NATIVELY) >= 3
    assert lines.index("Bolt: disabled") > lines.index(NATIVELY)
    assert "Bolt: enabled, settle delay 60000 ms" in lines
    assert "Bolt: disabled" in lines
    found = json.loads(text[text.index("{\n") : text.index("\n}\n") + 2])
    assert found["bolt"] == "enabled"
    assert [cpu["state"] for cpu in found["cpus"]] == ["online", "online", "parked", "parked"]
    assert {cpu["lastop"] for cpu in found["cpus"][2:]} == {"offline"}
    # cpubolt remembers the topology of CPUs that are parked.
    assert [cpu["core"] for cpu in found["cpus"]] == [0, 1, 2, 3]
    assert re.search(
        r"^cpubolt: CPU 3 .* real-time task \"cost\" \(pid \d+, SCHED_FIFO 5", text, re.M
    )
    assert re.search(r"^cpubolt: CPU 2 .* virtual CPU \"CPU 0/KVM\" \(pid \d+\)", text, re.M)
    assert "irq_keep" in text


def test_a_kernel_without_bolt(kernel: Kernels, arch: str) -> None:
    lines = output(play(kernel, arch, "cpubolt-native"))
    said = "cpubolt: this kernel has no Bolt: the CPUs changed one after the other"
    assert lines.count(said) == 3
    assert "Bolt: this kernel has none" in lines
    assert "cpubolt: this kernel has no Bolt, so no CPU is parked" in lines


def test_what_a_request_costs(kernel: Kernels, arch: str) -> None:
    """Samples are virtual time from cpubolt's first instruction to its end, request included."""
    done = play(kernel, arch, "cpubolt-cost")
    samples = {name: median(ns) / 1e6 for name, ns in done.samples().items()}
    assert [row["tasks"] for row in done.records if "tasks" in row] == [200]
    assert 0 < samples["version"] < samples["offline_no_check"] < samples["offline_look"]
    assert samples["offline_no_check"] < 1
    # The fastest sample counts, because in the emulator virtual time jumps by up to 1 ms in a cold
    # bring-up of an x86 CPU, but not in a warm one: docs/measuring.md.
    assert min(done.samples()["online"]) < 1e6
    assert samples["offline_look"] < 5

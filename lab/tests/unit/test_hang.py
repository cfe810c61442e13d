# SPDX-License-Identifier: GPL-2.0-only
"""How the lab finds out that QEMU has lost the end of an interrupt in a guest that hangs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from boltlab.errors import EmulatorError
from boltlab.guest import hang

# Shortened answers of QEMU 10.0.2 about a guest that hung; STALL is a line of its console.
REGISTERS = """CPU#0
RIP=ffffffff8167d703 RFL=00000246 [---Z-P-] CPL=0 II=0 A20=1 SMM=0 HLT=1
CPU#1
RIP=ffffffff8167d703 RFL=00000246 [---Z-P-] CPL=0 II=0 A20=1 SMM=0 HLT=1
"""
LOST = "LVTT\t 0x000200ec periodic Fixed  (vec 236)\nISR\t 236 \nIRR\t 32 37 236 \n"
WELL = "LVTT\t 0x000000ec one-shot Fixed  (vec 236)\nISR\t (none)\nIRR\t (none)\n"
STALL = "[   64.6] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n"


def test_many_cpus_take_few_words() -> None:
    idle = [(cpu, "default_idle") for cpu in range(1, 32)]
    assert hang.brief([(0, "multi_cpu_stop"), *idle]) == (
        "CPU 0 in multi_cpu_stop, 31 CPUs in default_idle (registers.txt)"
    )
    apart = [(cpu, f"f{cpu}") for cpu in range(32)]
    assert (
        hang.brief(apart)
        == "CPU 0 in f0, CPU 1 in f1, CPU 2 in f2, 29 CPUs elsewhere (registers.txt)"
    )


def test_a_guest_of_32_cpus_is_described_in_a_short_line(tmp_path: Path) -> None:
    (tmp_path / "console.log").write_text("[    1.000000] " + "word " * 200 + "\n")
    monitor: Any = Monitor([], "".join(f"CPU#{cpu}\nRIP={cpu:016x}\n" for cpu in range(32)))
    said = asyncio.run(hang.describe(monitor, tmp_path / "image", tmp_path))
    assert "word ..." in said
    assert len(said) < 250


class Monitor:
    """A monitor that gives recorded answers."""

    def __init__(self, apics: list[str], registers: str = REGISTERS) -> None:
        self.apics, self.registers = apics, registers

    async def execute(self, command: str, arguments: dict[str, Any]) -> str:
        assert command == "human-monitor-command"
        if arguments["command-line"] == "info registers -a":
            return self.registers
        # "cpu-index" selects the CPU, because an argument of "info lapic" would be an APIC ID, not
        # the number of a CPU.
        assert arguments["command-line"] == "info lapic"
        return str(self.apics[arguments["cpu-index"]])


class Changing(Monitor):
    """A monitor with other answers about the APICs at each look."""

    def __init__(self, *looks: list[str]) -> None:
        super().__init__([])
        self.looks = iter(looks)

    async def execute(self, command: str, arguments: dict[str, Any]) -> str:
        if arguments["command-line"] == "info registers -a":
            self.apics = next(self.looks)
        return await super().execute(command, arguments)


def watch(monitor: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hang, "LOOK", 0)
    asyncio.run(hang.watch(monitor, folder))


def test_a_halted_cpu_inside_of_an_interrupt() -> None:
    assert hang.deaf(REGISTERS, [WELL, LOST]) == {1: 236}
    assert hang.deaf(REGISTERS, [WELL, WELL]) == {}


@pytest.mark.parametrize("state", ["RFL=00000046", "HLT=0"])
def test_a_cpu_that_runs_or_takes_no_interrupts_is_no_proof(state: str) -> None:
    name = state.split("=")[0]
    registers = "\n".join(
        " ".join(state if word.startswith(f"{name}=") else word for word in line.split(" "))
        for line in REGISTERS.splitlines()
    )
    assert hang.deaf(registers, [LOST, LOST]) == {}


def test_a_stall_that_qemu_has_caused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "console.log").write_text(STALL)
    with pytest.raises(EmulatorError, match=r"lost the EOI \(end of interrupt\) of 236 on CPU 0"):
        watch(Monitor([LOST, WELL]), tmp_path, monkeypatch)
    assert "ISR\t 236" in (tmp_path / hang.APICS).read_text()


def test_a_stall_that_qemu_has_not_caused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "console.log").write_text(STALL)
    watch(Monitor([WELL, WELL]), tmp_path, monkeypatch)


def test_a_cpu_that_has_gone_on_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One look proves nothing: the guest runs on while QEMU tells first registers, then APICs."""
    (tmp_path / "console.log").write_text(STALL)
    looks = [[LOST, WELL], [WELL, LOST]] * hang.LOOKS
    watch(Changing(*looks[: hang.LOOKS]), tmp_path, monkeypatch)


def test_a_lost_cpu_may_be_awake_at_one_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "console.log").write_text(STALL)
    looks = [[LOST, WELL], [WELL, WELL], [LOST, WELL], [LOST, WELL]]
    with pytest.raises(EmulatorError, match=r"lost the EOI \(end of interrupt\) of 236 on CPU 0"):
        watch(Changing(*looks), tmp_path, monkeypatch)


class Silent:
    """A monitor that does not answer."""

    async def execute(self, command: str, arguments: dict[str, Any]) -> str:
        raise TimeoutError


def test_qemu_does_not_answer_after_a_stall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "console.log").write_text(STALL)
    watch(Silent(), tmp_path, monkeypatch)
    assert not (tmp_path / hang.APICS).exists()

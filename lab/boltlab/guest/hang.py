# SPDX-License-Identifier: GPL-2.0-only
"""What a guest that does not end was doing: its last words, and where its CPUs are.

QEMU 10 can lose the end of an interrupt: a vCPU writes to its APIC while another one has just
changed where the devices lie in memory, as Linux does for each PCI device at boot, and the write
reaches another device. That vCPU takes no timer interrupt any more. See docs/measuring.md.
"""

import asyncio
import bisect
import contextlib
import re
from collections.abc import Sequence
from pathlib import Path

from qemu.qmp import QMPClient, QMPError

from boltlab.errors import EmulatorError
from boltlab.guest import console
from boltlab.kernel import symbols

REGISTERS = "registers.txt"
APICS = "apics.txt"
ANSWER = 20  # seconds that the emulator has to tell registers
# x86_64, arm64; a CPU's registers follow its number.
_CPU = re.compile(r"^CPU#(\d+)", re.M)
_PC = re.compile(r"\b(?:RIP|PC)=([0-9a-f]{16})")
_HALTED = re.compile(r"\bRFL=([0-9a-f]{8}).*\bHLT=1")
_IN_SERVICE = re.compile(r"^ISR\s+(\d+)", re.M)
INTERRUPTS_ON = 0x200  # a bit of RFL
STALL = "detected stalls on CPUs"
LOOK = 5  # seconds between two looks at the console


async def describe(client: QMPClient, image: Path, folder: Path) -> str:
    """Return what the guest, which runs ``image`` in ``folder``, was doing, in one line.

    All registers are left in ``folder``. An emulator that does not answer is said to be stuck.
    """
    said = last_line(folder / "console.log")
    words = f"; the console's last line: {said}" if said else "; the console is empty"
    try:
        text = await _ask(client, "info registers -a")
    except (QMPError, OSError, EOFError):  # TimeoutError is an OSError
        return f"{words}; the emulator does not answer"
    (folder / REGISTERS).write_text(text, encoding="utf-8")
    return words + "".join(f"; CPU {cpu} in {name}" for cpu, name in places(text, image))


async def _ask(client: QMPClient, command: str) -> str:
    """Return what QEMU's monitor answers to ``command``."""
    async with asyncio.timeout(ANSWER):
        arguments = {"command-line": command}
        return str(await client.execute("human-monitor-command", arguments))


async def watch(client: QMPClient, folder: Path) -> None:
    """Raise EmulatorError when the console in ``folder`` tells of a stall that QEMU has caused.

    For guests of x86_64 whose vCPUs run at once. What QEMU says of the APICs is left in
    ``folder``.
    """
    seen = ""
    while STALL not in seen:
        await asyncio.sleep(LOOK)
        with contextlib.suppress(OSError):
            seen = (folder / "console.log").read_text(encoding="utf-8", errors="replace")
    registers = await _ask(client, "info registers -a")
    count = len(_CPU.findall(registers))
    apics = [await _ask(client, f"info lapic {cpu}") for cpu in range(count)]
    (folder / APICS).write_text(registers + "".join(apics), encoding="utf-8")
    if lost := deaf(registers, apics):
        what = ", ".join(f"{vector} on CPU {cpu}" for cpu, vector in lost.items())
        raise EmulatorError(f"QEMU has lost the end of interrupts: {what}", folder / "console.log")


def deaf(registers: str, apics: Sequence[str]) -> dict[int, int]:
    """Return the interrupt in service of each CPU that halts and waits for interrupts.

    ``registers``: QEMU's "info registers -a"; ``apics``: its "info lapic" of each CPU. No kernel
    of x86_64 halts inside of an interrupt that it has not ended.
    """
    found = {}
    # After what comes before the first CPU: number and registers of each.
    for cpu, (state, apic) in enumerate(zip(_CPU.split(registers)[2::2], apics, strict=False)):
        halted, served = _HALTED.search(state), _IN_SERVICE.search(apic)
        if halted and int(halted[1], 16) & INTERRUPTS_ON and served:
            found[cpu] = int(served[1])
    return found


def places(registers: str, image: Path) -> list[tuple[int, str]]:
    """Return each CPU of QEMU's ``registers`` with its function, or the address outside of any.

    The System.map beside ``image`` names them, if there is one.
    """
    names: list[tuple[int, str]] = []
    with contextlib.suppress(OSError, ValueError):
        names = symbols.read(image.parent / "System.map")
    starts = [at for at, _ in names]
    numbers = [int(found) for found in _CPU.findall(registers)]
    counters = [int(found, 16) for found in _PC.findall(registers)]
    found = []
    for cpu, at in zip(numbers, counters, strict=False):
        place = bisect.bisect_right(starts, at)
        # User space lies before all functions; modules of x86_64 behind the last.
        found.append((cpu, names[place - 1][1] if 0 < place < len(names) else f"{at:#x}"))
    return found


def last_line(log: Path) -> str:
    """Return the last line of ``log`` that says something, without its time; or nothing."""
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in reversed(lines):
            if said := console.message(line).strip():
                return said
    return ""

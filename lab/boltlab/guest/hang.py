# SPDX-License-Identifier: GPL-2.0-only
"""Finds out what a guest that does not end was doing: its last message, and where its CPUs are.

If vCPUs run in parallel, QEMU 10 can lose the end of an interrupt. When one vCPU changes where
devices lie in memory, as Linux does for each PCI device at boot, the write by which another vCPU
tells its own APIC that an interrupt has ended can reach a wrong device. The APIC then still takes
the interrupt to be in service, and so delivers no interrupt of the same or a lower priority to its
vCPU any more. If the timer's interrupt is among these, the guest's kernel reports a stall, and
watch() finds the vCPU. See docs/measuring.md.
"""

import asyncio
import bisect
import contextlib
import re
import textwrap
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from qemu.qmp import QMPClient, QMPError

from boltlab.errors import EmulatorError
from boltlab.guest import console
from boltlab.kernel import symbols

REGISTERS = "registers.txt"
APICS = "apics.txt"
ANSWER = 20  # seconds in which the emulator must answer a command
# On x86_64 and arm64 QEMU prints a CPU's registers after the CPU's number.
_CPU = re.compile(r"^CPU#(\d+)", re.M)
_PC = re.compile(r"\b(?:RIP|PC)=([0-9a-f]{16})")
_HALTED = re.compile(r"\bRFL=([0-9a-f]{8}).*\bHLT=1")
_IN_SERVICE = re.compile(r"^ISR\s+(\d+)", re.M)
INTERRUPTS_ON = 0x200  # the bit of RFL that enables interrupts
STALL = "detected stalls on CPUs"
LOOK = 5  # seconds between two looks at the console, or at the CPUs
LOOKS = 5  # at most so many looks at the CPUs of a guest that has reported a stall
WIDTH = 100  # a message repeats at most so many characters of the console's last line
PLACES = 3  # a message names at most so many functions


async def describe(client: QMPClient, image: Path, folder: Path) -> str:
    """Return in one line what the guest that runs ``image`` in ``folder`` was doing.

    describe() writes all registers to the file REGISTERS in ``folder``. If the emulator does not
    answer, describe() writes no file, and the line says that there is no answer.
    """
    said = last_line(folder / "console.log")
    said = textwrap.shorten(said, WIDTH, placeholder=" ...")
    words = f"; the console's last line: {said}" if said else "; the console is empty"
    try:
        text = await _ask(client, "info registers -a")
    except (QMPError, OSError, EOFError):  # TimeoutError is an OSError
        return f"{words}; the emulator does not answer"
    (folder / REGISTERS).write_text(text, encoding="utf-8")
    found = places(text, image)
    return f"{words}; {brief(found)}" if found else words


def brief(found: Sequence[tuple[int, str]]) -> str:
    """Return in a few words in which functions the CPUs are; ``found`` is what places() returned.

    Functions come in the order of the lowest CPU in each function, and so the function of CPU 0,
    usually the control CPU, is first. The words name REGISTERS, the file that describe() writes.
    """
    cpus: dict[str, list[int]] = defaultdict(list)
    for cpu, name in found:
        cpus[name].append(cpu)
    named = [
        f"CPU {each[0]} in {name}" if len(each) == 1 else f"{len(each)} CPUs in {name}"
        for name, each in cpus.items()
    ]
    others = sum(map(len, list(cpus.values())[PLACES:]))
    more = [f"{others} CPU{'s' if others > 1 else ''} elsewhere"] if others else []
    return f"{', '.join(named[:PLACES] + more)} ({REGISTERS})"


async def _ask(client: QMPClient, command: str, cpu: int = 0) -> str:
    """Return the answer of QEMU's monitor to ``command``, which may be about the CPU ``cpu``."""
    async with asyncio.timeout(ANSWER):
        arguments = {"command-line": command, "cpu-index": cpu}
        return str(await client.execute("human-monitor-command", arguments))


async def watch(client: QMPClient, folder: Path) -> None:
    """Wait until the console tells of a stall; raise EmulatorError if QEMU has caused the stall.

    Returns if the looks do not show QEMU as the cause, or if QEMU does not answer. A guest runs on
    while QEMU tells the guest's registers and then its APICs, and interrupts other than the timer's
    may wake a CPU. So QEMU counts as the cause only if two looks in a row, among LOOKS looks at
    most, find the same interrupt in service on the same halted CPU (see deaf()).
    The console is a file in ``folder``; QEMU's last answers are written to the file APICS there.
    Only guests of x86_64 whose vCPUs run in parallel need watch().
    """
    seen = ""
    while STALL not in seen:
        await asyncio.sleep(LOOK)
        with contextlib.suppress(OSError):
            seen = (folder / "console.log").read_text(encoding="utf-8", errors="replace")
    before: dict[int, int] = {}
    for _ in range(LOOKS):
        try:
            registers, apics = await _look(client)
        except (QMPError, OSError, EOFError):  # TimeoutError is an OSError
            return
        (folder / APICS).write_text(registers + "".join(apics), encoding="utf-8")
        found = deaf(registers, apics)
        if lost := sorted(before.items() & found.items()):
            what = ", ".join(f"{vector} on CPU {cpu}" for cpu, vector in lost)
            why = f"QEMU has lost the EOI (end of interrupt) of {what}"
            raise EmulatorError(why, folder / "console.log", stalls=True)
        before = found
        await asyncio.sleep(LOOK)


async def _look(client: QMPClient) -> tuple[str, list[str]]:
    """Return the registers of all CPUs, and the APIC of each CPU."""
    registers = await _ask(client, "info registers -a")
    count = len(_CPU.findall(registers))
    # _ask() selects the CPU, because an argument of "info lapic" would be an APIC ID, which can
    # differ from the CPU's number.
    return registers, [await _ask(client, "info lapic", cpu) for cpu in range(count)]


def deaf(registers: str, apics: Sequence[str]) -> dict[int, int]:
    """Return CPU -> interrupt in service, of the CPUs that are halted with interrupts enabled.

    ``registers`` is QEMU's "info registers -a", ``apics`` its "info lapic" of each CPU. An x86_64
    kernel never halts a CPU with interrupts enabled before it has ended the CPU's interrupts: if
    the two texts tell of the same moment, QEMU has lost the end of each returned interrupt.
    """
    found = {}
    # Skip the text before the first CPU; then number and registers of each CPU follow.
    for cpu, (state, apic) in enumerate(zip(_CPU.split(registers)[2::2], apics, strict=False)):
        halted, served = _HALTED.search(state), _IN_SERVICE.search(apic)
        if halted and int(halted[1], 16) & INTERRUPTS_ON and served:
            found[cpu] = int(served[1])
    return found


def places(registers: str, image: Path) -> list[tuple[int, str]]:
    """Return each CPU in ``registers`` and where it is: a function, or an address if none is known.

    The System.map beside ``image``, if there is one, has the names of functions.
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
        # Addresses that are in no function of System.map stay addresses: those of user space and
        # of arm64's modules are below all functions, those of x86_64's modules above.
        found.append((cpu, names[place - 1][1] if 0 < place < len(names) else f"{at:#x}"))
    return found


def last_line(log: Path) -> str:
    """Return the last line of ``log`` that is not blank, without its time; "" if there is none."""
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in reversed(lines):
            if said := console.message(line).strip():
                return said
    return ""

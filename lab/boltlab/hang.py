# SPDX-License-Identifier: GPL-2.0-only
"""What a guest that does not end was doing: its last words, and where its CPUs are."""

import asyncio
import bisect
import contextlib
import re
from pathlib import Path

from qemu.qmp import QMPClient, QMPError

from boltlab import bootwork, console

REGISTERS = "registers.txt"
ANSWER = 20  # seconds that the emulator has to tell registers
# x86_64, arm64; a CPU's registers follow its number.
_CPU = re.compile(r"^CPU#(\d+)", re.M)
_PC = re.compile(r"\b(?:RIP|PC)=([0-9a-f]{16})")


async def describe(client: QMPClient, image: Path, folder: Path) -> str:
    """Return what the guest, which runs ``image`` in ``folder``, was doing, in one line.

    All registers are left in ``folder``. An emulator that does not answer is said to be stuck.
    """
    said = last_line(folder / "console.log")
    words = f"; the console's last line: {said}" if said else "; the console is empty"
    try:
        async with asyncio.timeout(ANSWER):
            arguments = {"command-line": "info registers -a"}
            text = str(await client.execute("human-monitor-command", arguments))
    except (QMPError, OSError, EOFError):  # TimeoutError is an OSError
        return f"{words}; the emulator does not answer"
    (folder / REGISTERS).write_text(text, encoding="utf-8")
    return words + "".join(f"; CPU {cpu} in {name}" for cpu, name in places(text, image))


def places(registers: str, image: Path) -> list[tuple[int, str]]:
    """Return each CPU of QEMU's ``registers`` with its function, or the address outside of any.

    The System.map beside ``image`` names them, if there is one.
    """
    names: list[tuple[int, str]] = []
    with contextlib.suppress(OSError, ValueError):
        names = bootwork.symbols(image.parent / "System.map")
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

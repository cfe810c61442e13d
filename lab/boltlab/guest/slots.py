# SPDX-License-Identifier: GPL-2.0-only
"""Adds CPUs to a running guest, and takes CPUs out again, as the guest asks."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qemu.qmp import ExecuteError, QMPClient

from boltlab.errors import BoltError
from boltlab.guest import qemu

POLL = 0.2  # seconds between two looks for requests of the guest
LOOK = 0.01  # seconds between two looks whether a CPU is out
PATIENCE = 120  # seconds in which a CPU must be out, if the time until then is to be measured


async def obey(
    client: QMPClient,
    folder: Path,
    out: Callable[[float], None] | None = None,
    poll: float = POLL,
) -> None:
    """Add and eject CPUs as the guest's records "slot" say, "add N" or "eject N", until cancelled.

    Slots are counted from 0, in the order of their sockets. obey() reports nothing to the guest,
    because the guest itself sees when a CPU has come or gone. ``out`` is called each time that a
    CPU is out, with the seconds of the host since the order to the emulator to take the CPU out.
    ``poll``: see qemu.wishes(). Raises BoltError for any record "slot" with another verb, if the
    emulator refuses an order, and, if ``out`` is given, when a CPU that the host takes out stays
    for longer than PATIENCE; raises QMPError if the connection to the emulator is lost.
    """
    async for wish in qemu.wishes(folder, "slot", poll):
        try:
            await _obey(client, wish, out)
        except ExecuteError as error:
            raise BoltError(f"the emulator does not obey '{wish}': {error}") from error


async def _obey(client: QMPClient, wish: str, out: Callable[[float], None] | None) -> None:
    verb, _, number = wish.partition(" ")
    name = f"slot{number}"
    if verb == "add":
        slot = _slots(await client.execute("query-hotpluggable-cpus"))[int(number)]
        sent = {"driver": slot["type"], "id": name, **slot["props"]}
        await client.execute("device_add", sent)
    elif verb == "eject" and out:
        out(await _timed(client, int(number)))
    elif verb == "eject":
        await client.execute("device_del", {"id": name})
    else:
        raise BoltError(f"the guest asks for '{wish}', which is neither add nor eject")


async def _timed(client: QMPClient, number: int) -> float:
    """Take the CPU of a slot out; return the seconds until the slot is empty.

    The event DEVICE_DELETED comes when QEMU frees the object of the CPU. Without KVM, QEMU 10.0.2
    had not freed the object two minutes after the CPU was out. So this function asks QEMU which
    slots have a CPU.
    """
    begin = time.monotonic()
    await client.execute("device_del", {"id": f"slot{number}"})
    while "qom-path" in _slots(await client.execute("query-hotpluggable-cpus"))[number]:
        if time.monotonic() - begin > PATIENCE:
            raise BoltError(f"the guest keeps CPU {number}, which the host wants out")
        await asyncio.sleep(LOOK)
    return time.monotonic() - begin


def _slots(answer: Any) -> list[Any]:
    """Return the slots that the emulator's ``answer`` lists, in the order of their sockets."""
    return sorted(answer, key=lambda row: sorted(row["props"].items()))

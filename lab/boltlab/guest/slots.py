# SPDX-License-Identifier: GPL-2.0-only
"""Adds CPUs to a running guest and takes them out again, as the guest asks for it."""

import asyncio
from pathlib import Path
from typing import Any

from qemu.qmp import QMPClient

from boltlab.errors import BoltError
from boltlab.guest import qemu

POLL = 0.2  # seconds between two looks for what the guest wants


async def obey(client: QMPClient, folder: Path) -> None:
    """Do what the guest's records "slot" say, "add N" or "eject N", until cancelled.

    Slots are counted from 0, in the order of their sockets. The guest sees when it is done.
    """
    done = 0
    while True:
        await asyncio.sleep(POLL)
        records = qemu.records_of(folder / qemu.PORTS["bolt.results"])
        for row in [row for row in records if "slot" in row][done:]:
            done += 1
            await _obey(client, str(row["slot"]))


async def _obey(client: QMPClient, wish: str) -> None:
    verb, _, number = wish.partition(" ")
    name = f"slot{number}"
    if verb == "add":
        slot = _slots(await client.execute("query-hotpluggable-cpus"))[int(number)]
        sent = {"driver": slot["type"], "id": name, **slot["props"]}
        await client.execute("device_add", sent)
    elif verb == "eject":
        await client.execute("device_del", {"id": name})
    else:
        raise BoltError(f"the guest wants '{wish}' of a slot")


def _slots(answer: Any) -> list[Any]:
    """Return the slots in the ``answer`` of the emulator, in order."""
    return sorted(answer, key=lambda row: sorted(row["props"].items()))

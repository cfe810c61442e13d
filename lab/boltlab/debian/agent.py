# SPDX-License-Identifier: GPL-2.0-only
"""Sends requests from the host to a guest agent whenever the guest asks the host to do so."""

import asyncio
import base64
import contextlib
import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from qemu.qmp import QMPClient

from boltlab.errors import BoltError
from boltlab.guest import qemu

POLL = 0.2  # seconds between two looks for requests of the guest
ANSWER = 120  # seconds in which the agent must answer
FILE = "/run/agent"  # a file in the guest: a line for each answer, then "end"


def request(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request to the agent that ``row`` describes; ``vcpus`` are pairs [CPU, online]."""
    sent = {"execute": row["execute"]}
    if "vcpus" in row:
        vcpus = [{"logical-id": cpu, "online": online} for cpu, online in row["vcpus"]]
        sent["arguments"] = {"vcpus": vcpus}
    return sent


class Agent:
    """Sends the requests ``rows`` at each record "agent" of the guest; writes answers to FILE."""

    def __init__(self, link: socket.socket, rows: Sequence[Mapping[str, Any]]) -> None:
        self.link = link
        self.requests = [request(row) for row in rows]

    async def __call__(self, _client: QMPClient, folder: Path) -> None:
        """Watch the guest's records until this task is cancelled.

        Raises BoltError when the agent does not answer, or cannot write FILE.
        """
        reader, writer = await asyncio.open_unix_connection(sock=self.link)
        with contextlib.closing(writer):
            async for _ in qemu.wishes(folder, "agent", POLL):
                await self._answer(reader, writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = []
        for sent in self.requests:
            lines.append(json.dumps(await _ask(reader, writer, sent), sort_keys=True))
        text = "".join(f"{line}\n" for line in (*lines, "end")).encode()
        opened = {"path": FILE, "mode": "w"}
        answer = await _ask(reader, writer, {"execute": "guest-file-open", "arguments": opened})
        write = {"handle": answer.get("return"), "buf-b64": base64.b64encode(text).decode()}
        for name, arguments in (
            ("guest-file-write", write),
            ("guest-file-close", {"handle": answer.get("return")}),
        ):
            answer = await _ask(reader, writer, {"execute": name, "arguments": arguments})
            if "error" in answer:
                raise BoltError(f"the guest agent cannot write {FILE}: {answer['error']}")


async def set_cpus(
    link: socket.socket, folder: Path, took: Callable[[float], None], poll: float = POLL
) -> None:
    """Have the agent set CPUs as the guest's records "vcpu" say, "online N" or "offline N".

    Go on until cancelled. ``took`` is called with the host's seconds from each order to its answer.
    ``poll``: see qemu.wishes(). Raises BoltError when the agent refuses an order, or does not
    answer.
    """
    reader, writer = await asyncio.open_unix_connection(sock=link)
    with contextlib.closing(writer):
        async for wish in qemu.wishes(folder, "vcpu", poll):
            state, _, cpu = wish.partition(" ")
            vcpus = [[int(cpu), state == "online"]]
            begin = time.monotonic()
            sent = request({"execute": "guest-set-vcpus", "vcpus": vcpus})
            answer = await _ask(reader, writer, sent)
            if answer.get("return") != len(vcpus):
                raise BoltError(f"the guest agent does not set CPU {cpu} {state}: {answer}")
            took(time.monotonic() - begin)


async def _ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the agent's answer to ``sent``; raise BoltError when the agent does not answer."""
    writer.write(json.dumps(sent).encode() + b"\n")
    try:
        async with asyncio.timeout(ANSWER):
            answer = json.loads(await reader.readline())
    except (OSError, ValueError) as error:  # TimeoutError is an OSError
        raise BoltError(f"the guest agent does not answer {sent['execute']}") from error
    return dict(answer)

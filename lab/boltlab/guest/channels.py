# SPDX-License-Identifier: GPL-2.0-only
"""The files that a guest reports to, and the emulator's devices through which the guest does so.

Most guests have virtio-serial ports. A guest that suspends has shared memory for its results and
its log, because the driver of these ports in Linux 7.3 asks for the state of each port before the
driver can get an answer, and so loses the ports in suspend. The port for traces stays in such a
guest as well, because without the virtio-serial device the guest would suspend at another moment
between two ticks, and the measured times depend on this moment.
"""

import contextlib
import json
import mmap
from pathlib import Path
from typing import Any

# Name of the port -> file in the run's directory.
FILES = {
    "bolt.results": "results.jsonl",
    "bolt.dmesg": "dmesg.log",
    "bolt.trace": "trace.txt",
}
# The reports for which a guest that suspends has shared memory -> slot of the PCI device. The
# guest's programs know the same slots (lab/guest/channels.c).
SLOTS = {"bolt.results": 0x18, "bolt.dmesg": 0x19}
SIZE = 4 << 20  # bytes of shared memory for each of these reports


def logs(folder: Path) -> tuple[Path, Path]:
    """Return the files in ``folder`` with the messages of a guest's kernel: console and log."""
    return folder / "console.log", folder / FILES["bolt.dmesg"]


def records(folder: Path) -> list[dict[str, Any]]:
    """Return the records of the guest's run in ``folder``, up to a line cut off or garbled."""
    found = []
    with contextlib.suppress(OSError, ValueError):
        # Bytes are read, and not text, because otherwise a character that is cut off at the end of
        # the file would make all lines unreadable.
        for line in (folder / FILES["bolt.results"]).read_bytes().splitlines():
            found.append(json.loads(line))
    return found


def escaped(path: Path) -> str:
    """Return ``path`` for QEMU's option lists, in which a comma is written twice."""
    return str(path).replace(",", ",,")


def devices(folder: Path, *, suspends: bool = False) -> list[str]:
    """Return QEMU's arguments for channels to files in ``folder``.

    ``suspends``: see Machine.suspends.
    """
    shared = SLOTS if suspends else {}
    args = ["-device", "virtio-serial-pci"]
    for number, (port, file) in enumerate(FILES.items()):
        path = escaped(folder / file)
        if slot := shared.get(port):
            back = f"memory-backend-file,id=channel{slot},share=on,size={SIZE},mem-path={path}"
            args += ["-object", back]
            args += ["-device", f"ivshmem-plain,memdev=channel{slot},addr={slot:#x}"]
        else:
            args += ["-chardev", f"file,id=port{number},path={path}"]
            args += ["-device", f"virtserialport,chardev=port{number},name={port}"]
    return args


def cut(folder: Path) -> None:
    """Cut the zeros that end each file of shared memory in ``folder``."""
    for port in SLOTS:
        path = folder / FILES[port]
        if not path.is_file() or path.stat().st_size != SIZE:
            continue
        with path.open("r+b") as file:
            with mmap.mmap(file.fileno(), SIZE, access=mmap.ACCESS_READ) as text:
                end = text.find(b"\0")
            if end >= 0:
                file.truncate(end)

# SPDX-License-Identifier: GPL-2.0-only
"""Makes a guest's initramfs: the lab's static programs, and files of one run such as its script."""

import hashlib
import signal
import stat
import struct
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from boltlab import paths
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.locks import lock

SOURCES = paths.REPO / "lab" / "guest"
# Headers that the programs share with the kernel's selftests, included as "lib/NAME.h".
LIBRARY = paths.KERNEL / "overlay" / "tools" / "testing" / "selftests" / "bolt" / "lib"
FLAGS = ("-static", "-O2", "-Wall", "-Wextra", "-Werror")

# Sources of every program.
SHARED = ("channels.c", "util.c")

# Program in the guest -> its sources. Programs also include headers in SOURCES and in LIBRARY: if
# any .c or .h file there has changed, base() compiles all programs again.
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "init": ("init.c", "power.c", *SHARED),
    "bin/measure": (
        "measure.c",
        "moment.c",
        "freeze.c",
        "stops.c",
        "tracing.c",
        "busy.c",
        "ballast.c",
        "vectors.c",
        *SHARED,
    ),
    "bin/breakdown": ("breakdown.c", "tracing.c", *SHARED),
    "bin/batches": ("batches.c", "tracing.c", *SHARED),
    "bin/micro": ("micro.c", *SHARED),
    "bin/bystand": ("bystand.c", *SHARED),
    "bin/cost": ("cost.c", *SHARED),
    "bin/undisturbed": (
        "undisturbed.c",
        "pause.c",
        "inout.c",
        "thread.c",
        "taken.c",
        "tracing.c",
        *SHARED,
    ),
    "bin/served": ("served.c", "resize.c", "thread.c", *SHARED),
    "bin/unit": ("unit.c", "daemon.c", "day.c", *SHARED),
    "bin/load": (
        "load.c",
        "load_cpu.c",
        "load_time.c",
        "load_disk.c",
        "load_net.c",
        "load_group.c",
        "load_sched.c",
        "load_bpf.c",
        *SHARED,
    ),
}

DIRECTORIES = ("bin", "dev", "lib", "proc", "run", "sys", "tmp")

_programs: dict[str, bytes] = {}  # what programs() has returned, by architecture


@dataclass(frozen=True)
class Node:
    """One entry of a cpio archive: its mode with type bits, contents, and device numbers."""

    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def directory() -> Node:
    """Return the node of a directory."""
    return Node(stat.S_IFDIR | 0o755)


def file(data: bytes, mode: int = 0o644) -> Node:
    """Return the node of a regular file that holds ``data``."""
    return Node(stat.S_IFREG | mode, data)


def cpio(nodes: Mapping[str, Node]) -> bytes:
    """Return a newc archive of ``nodes`` (path without leading slash -> node).

    The kernel unpacks several archives that follow each other in one file, such as the two that
    data() joins. Equal nodes in the same order give equal bytes.
    """
    out = bytearray()
    for number, (name, node) in enumerate([*nodes.items(), ("TRAILER!!!", Node(0))], start=1):
        path = name.encode() + b"\0"
        fields = (
            number if node.mode else 0,
            node.mode,
            0,  # uid
            0,  # gid
            2 if stat.S_ISDIR(node.mode) else 1,
            0,  # mtime
            len(node.data),
            0,  # major number of the device that has the file, unused
            0,  # minor number of that device, unused
            *node.device,
            len(path),
            0,  # checksum, unused
        )
        out += b"070701" + b"".join(b"%08x" % value for value in fields) + path
        out += bytes(-len(out) % 4) + node.data
        out += bytes(-len(out) % 4)
    return bytes(out + bytes(-len(out) % 512))


def base(arch: Arch, sources: Path = SOURCES) -> Path:
    """Return the path of the archive of the lab's programs for ``arch``.

    The programs are compiled again if a source, the compiler, FLAGS, PROGRAMS or DIRECTORIES has
    changed. Raises BoltError when a program does not compile, or the compiler cannot be run.
    """
    folder = paths.cache() / "guest"
    archive = folder / f"{arch.name}-{_fingerprint(arch, sources)}.cpio"
    with lock(folder / arch.name):
        if not archive.exists():
            nodes = {name: directory() for name in DIRECTORIES}
            nodes["dev/console"] = Node(stat.S_IFCHR | 0o600, device=(5, 1))
            for program, names in PROGRAMS.items():
                nodes[program] = file(_compile(arch, sources, names, folder), 0o755)
            half = archive.with_suffix(".half")
            half.write_bytes(cpio(nodes))
            for stale in folder.glob(f"{arch.name}-*.cpio"):
                stale.unlink()
            half.rename(archive)
    return archive


def programs(arch: Arch) -> bytes:
    """Return the archive of base(), as that archive was when this call of the lab first asked.

    Thus all guests of a call have the same programs, even if a source changes meanwhile: figures of
    several guests are in one table.
    """
    if arch.name not in _programs:
        _programs[arch.name] = base(arch).read_bytes()
    return _programs[arch.name]


def program(arch: Arch, name: str) -> bytes:
    """Return the program ``name`` of PROGRAMS, for a guest that boots a system such as Debian.

    Raises BoltError when the program does not compile, or the compiler cannot be run.
    """
    folder = paths.cache() / "guest"
    with lock(folder / arch.name):
        return _compile(arch, SOURCES, PROGRAMS[name], folder)


def make(
    arch: Arch, script: Iterable[str], to: Path, extra: Mapping[str, Node] | None = None
) -> None:
    """Write the initramfs of one run to ``to``; see data()."""
    to.write_bytes(data(arch, script, extra))


def data(arch: Arch, script: Iterable[str], extra: Mapping[str, Node] | None = None) -> bytes:
    """Return the initramfs of one run: the lab's programs, ``script``, and ``extra`` nodes."""
    text = "".join(f"{line}\n" for line in script)
    nodes = {"script": file(text.encode()), **(extra or {})}
    return programs(arch) + cpio(nodes)


def second(arch: Arch, image: Path, script: Iterable[str]) -> dict[str, Node]:
    """Return files for the guest's command kexec: a kernel, and an initramfs with ``script``."""
    return {
        "kexec": directory(),
        "kexec/image": file(image.read_bytes()),
        "kexec/initrd": file(data(arch, script)),
    }


def power_off() -> dict[str, Node]:
    """Return files for the command "kexec last" on arm64: an image that powers the guest off.

    The image has the header of a kernel with pages of 4 KiB, and its code calls PSCI's SYSTEM_OFF.
    """
    header = struct.pack("<IIQQQ24x4sI", 0x14000010, 0xD503201F, 0, 0x1000, 0xA, b"ARMd", 0)
    code = struct.pack("<4I", 0x52800100, 0x72B08000, 0xD4000002, 0x14000000)
    return {"kexec": directory(), "kexec/image": file(header + code)}


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run ``command`` to its end, and return the result with the output.

    Raises BoltError if the command's program cannot be run, and KeyboardInterrupt if Ctrl-C has
    ended the command.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BoltError(f"cannot run {command[0]}: {error.strerror}") from error
    # This status means that Ctrl-C has ended the command. While asyncio runs the lab, Ctrl-C raises
    # nothing here, but cancels asyncio's main task at its next await. Before that, the caller would
    # take the signal for a failure of the command.
    if done.returncode == -signal.SIGINT:
        raise KeyboardInterrupt
    return done


def _fingerprint(arch: Arch, sources: Path) -> str:
    digest = hashlib.sha256(repr((FLAGS, PROGRAMS, DIRECTORIES)).encode())
    digest.update(run([arch.cc, "--version"]).stdout.encode())
    for folder in (sources, LIBRARY):
        for path in sorted(folder.glob("*.[ch]")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _compile(arch: Arch, sources: Path, names: Iterable[str], folder: Path) -> bytes:
    program = folder / f"{arch.name}.program"
    inputs = [str(sources / name) for name in names]
    done = run([arch.cc, *FLAGS, f"-I{LIBRARY.parent}", "-o", str(program), *inputs])
    if done.returncode:
        log = paths.new_log(f"guest-{arch.name}")
        log.write_text(done.stderr, encoding="utf-8")
        raise BoltError(f"the guest's programs do not compile for {arch.name}", log)
    data = program.read_bytes()
    program.unlink()
    return data

# SPDX-License-Identifier: GPL-2.0-only
"""Runs one guest in QEMU to its end, and judges whether the guest ended well."""

import asyncio
import contextlib
import functools
import logging
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qemu.qmp import EventListener, ExecuteError, QMPClient, QMPError

from boltlab import errors, locks, packages, paths
from boltlab.arch import Arch
from boltlab.errors import KILLED, USAGE, BoltError, EmulatorError, GuestError
from boltlab.guest import channels, console, guestimage, hang, ktap, pause, tries
from boltlab.guest.guestimage import Node
from boltlab.guest.machine import Machine
from boltlab.kernel import build, config

# "icount" is virtual time: one thread of QEMU runs all CPUs in turn, an instruction takes 2^1 ns
# unless the guest has a seed or its machine has another shift, and idle time costs no host time.
# Only in virtual time are latencies repeatable.
ACCELERATORS = {
    "icount": ("-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off"),
    "mttcg": ("-accel", "tcg,thread=multi"),
    "kvm": ("-accel", "kvm"),
}
EMULATED = ("mttcg", "icount")  # the accelerators that every host has
PLUGIN = "plugin.jsonl"
# The beginnings of messages about a guest that does not end, and about a QEMU that ends too early.
HUNG = "the guest hung: no end after"
# Functions of QEMU in which QEMU aborts when a vCPU writes to another device than the guest wanted
# to write to; docs/measuring.md says why.
ABORTS = ("iotlb_to_section", "msix_table_mmio_write")
ENDED = "QEMU ended with status"
# In virtual time a guest's seed selects how long an instruction takes: 1, 2 or 4 ns.
SHIFTS = 3
# In virtual time a CPU runs without a break at most until the next timer of the emulator is due:
# such a run is a slice. On x86_64 the emulator counts the rest of the slice as executed when a
# CPU is reset, and so virtual time jumps. BOUND is a network filter that no packet reaches: the
# filter's timer, which is due every 50 us, keeps slices, and thus the jumps, short.
BOUND = (
    *("-netdev", "hubport,id=bound,hubid=0"),
    *("-object", "filter-buffer,id=bounds,netdev=bound,interval=50"),
)
BLOCK = 512
DISK = 512 << 20  # bytes of a scratch disk, which is a sparse file
# The only address that a guest's network card reaches: an echo server.
ECHO = "restrict=on,guestfwd=tcp:10.0.2.100:7-cmd:cat"
PVPANIC = ("pvpanic", "pvpanic-pci")
# The lab prints one line for an error, and so the library qemu.qmp must not print anything.
logging.getLogger("qemu.qmp").addHandler(logging.NullHandler())

# A coroutine that runs while a guest runs. The coroutine gets the connection to QEMU's monitor and
# the run's directory, and may raise BoltError.
Watcher = Callable[[QMPClient, Path], Coroutine[Any, Any, None]]

KEEP_RUNS = 200
START_TIMEOUT = 30  # seconds in which QEMU must answer
CLOSING = 3  # most seconds from the loss of QEMU's monitor to the end of QEMU
POLL = 0.5  # seconds between two looks at a running guest


@dataclass(frozen=True)
class Guest:
    """What to run: a kernel, a script, and a machine. ``timeout`` is in seconds of the host.

    ``programs`` (path without the leading slash -> node) are added to the lab's initramfs.
    ``bounded``: no CPU runs for more than 50 us of virtual time before the next CPU runs (see
    BOUND). ``seed``: in virtual time all random numbers, and the time of an instruction, come
    from the seed, so that the run can be repeated.
    ``plugin`` is a plugin of the emulator, which writes to PLUGIN in the run's directory;
    ``plugin_args`` are the plugin's arguments, NAME=VALUE,... ``warns`` are patterns of complaints
    that the kernel must print, each just once.
    ``root`` is the image of a disk with a whole system, such as Debian, in place of the lab's
    initramfs; a guest with ``root`` gets no ``programs``. The guest's writes to that disk are
    dropped unless ``keep`` is set. The second disk holds the script, which the system runs, and the
    third the kernel; the images ``media`` are further disks, which are read-only. ``initrd`` is an
    initramfs with which such a system boots. ``agent`` is the emulator's end of a connection to the
    guest agent of such a system.
    ``slots``: the machine has room for so many CPUs, each a socket; CPUs beyond the machine's
    ``cpus`` can be added while the guest runs. ``board`` are the emulator's arguments for the type
    of machine and the CPU model, in place of those of the architecture (see arch.py).
    """

    arch: Arch
    image: Path
    script: tuple[str, ...]
    append: str = ""
    machine: Machine = field(default_factory=Machine)
    timeout: float = 900
    bounded: bool = False
    seed: int | None = None
    plugin: Path | None = None
    plugin_args: str = ""
    warns: tuple[str, ...] = ()
    programs: Mapping[str, Node] = field(default_factory=dict)
    root: Path | None = None
    keep: bool = False
    media: tuple[Path, ...] = ()
    initrd: Path | None = None
    agent: socket.socket | None = None
    slots: int = 0
    board: tuple[str, ...] = ()


@dataclass(frozen=True)
class GuestResult:
    """The result of a guest that ended well: the run's directory, and the records of the guest."""

    folder: Path
    records: list[dict[str, Any]]

    @property
    def trace(self) -> Path:
        """Path of the raw trace; the file is empty unless the guest has traced or sent a file."""
        return self.folder / channels.FILES["bolt.trace"]

    def samples(self) -> dict[str, list[int]]:
        """Return the samples of every case, in ns."""
        return {row["case"]: row["samples"] for row in self.records if "case" in row}


def run(guest: Guest, name: str) -> GuestResult:
    """Run ``guest`` to its end (see boot()); boot again after a known fault of QEMU (see tries.py).

    A guest whose disk is kept is not booted again, because that disk may hold half of the script's
    work.
    """

    def play() -> GuestResult:
        return asyncio.run(boot(guest, name))

    return play() if guest.keep else tries.again(name, play, warns=guest.warns)


def run_in(
    guest: Guest,
    folder: Path,
    ignored: Sequence[re.Pattern[str]] = (),
    watcher: Watcher | None = None,
) -> GuestResult:
    """Run ``guest`` to its end in ``folder``, which new_run() has made; see boot()."""
    return asyncio.run(boot(guest, folder.name, folder=folder, ignored=ignored, watcher=watcher))


async def boot(
    guest: Guest,
    name: str,
    seen: Callable[[int], None] | None = None,
    *,
    folder: Path | None = None,
    ignored: Sequence[re.Pattern[str]] = (),
    watcher: Watcher | None = None,
) -> GuestResult:
    """Run ``guest`` to its end in a new directory for ``name``, and return the guest's result.

    ``folder`` is used in place of a new directory. ``seen`` is called now and then with the number
    of records so far; ``watcher`` runs while the guest runs. Raises BoltError with a log when QEMU
    does not start, was killed in a Slurm job, or is asked for too much by require_room(), and
    KernelChangedError when another call of the lab has replaced the kernel. Raises GuestError when
    QEMU ends without telling the reason, when the guest hangs, when ``watcher`` fails because
    QEMU's monitor does, or when judge() raises GuestError for the way in which the guest ended; the
    GuestError is an EmulatorError if a known fault of QEMU has stopped the guest. An error of
    ``watcher`` ends the guest. If the script has the command ``host``, the default ``watcher`` is
    pause.obey().
    """
    require_room(guest)
    folder = folder or new_run(name)
    if watcher is None and any(line.startswith("host ") for line in guest.script):
        watcher = pause.obey
    initrd = guest.initrd or folder / "initrd.cpio"
    if not guest.root:
        guestimage.make(guest.arch, guest.script, initrd, guest.programs)
    ours, theirs = socket.socketpair()
    serial = ["-serial", f"file:{channels.escaped(folder / 'console.log')}"]
    ways = channels.devices(folder, suspends=guest.machine.suspends)
    args = [*command(guest, initrd), *serial, *ways, *system(guest, folder)]
    args += [*disks(guest, folder), *nics(guest)]
    if guest.plugin:
        out = channels.escaped(folder / PLUGIN)
        words = [f"file={channels.escaped(guest.plugin)}", f"out={out}", guest.plugin_args]
        args += ["-plugin", ",".join(filter(None, words))]
    (folder / "command.txt").write_text(shlex.join(args) + "\n", encoding="utf-8")
    control = ["-S", "-chardev", f"socket,id=qmp,fd={theirs.fileno()}"]
    control += ["-mon", "chardev=qmp,mode=control"]
    with locks.use(folder):
        try:
            async with _process([*args, *control], folder, theirs, guest.agent) as process:
                reason = await _watch(process, ours, guest, folder, seen, watcher)
        finally:
            for scratch in folder.glob("*.img"):
                scratch.unlink()
            channels.cut(folder)
        return judge(folder, reason, ignored, guest.warns)


def command(guest: Guest, initrd: Path) -> list[str]:
    """Return the part of QEMU's command line that makes the machine and boots it."""
    arch, machine = guest.arch, guest.machine
    if machine.accel not in ACCELERATORS:
        known = ", ".join(ACCELERATORS)
        raise BoltError(f"unknown accelerator '{machine.accel}' (one of {known})")
    board = arch.kvm_machine_args if machine.accel == "kvm" else arch.machine_args
    board = guest.board or board
    # After an oops a guest might wait for the dead task until the run's time is over. So an oops
    # makes the kernel panic.
    start = "root=/dev/vda rw" if guest.root else "rdinit=/init"
    fixed = f"console={arch.console} loglevel=5 panic=-1 oops=panic {start}"
    append = f"{fixed} {guest.append}".strip()
    args = [binary(arch.qemu), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    if machine.features:
        board = (*board[:-1], f"{board[-1]},{machine.features}")
    args += [*board, *accelerator(guest), "-m", machine.memory, "-smp", smp(guest)]
    args += [*numa(machine), *unequal(guest)]
    args += BOUND if guest.bounded else ()
    args += ["-kernel", str(guest.image), "-append", append]
    args += [] if guest.root and not guest.initrd else ["-initrd", str(initrd)]
    panic = next((device for device in PVPANIC if device in devices(arch.qemu)), None)
    return [*args, "-device", panic] if panic else args


def require_room(guest: Guest) -> None:
    """Raise BoltError if the machine of ``guest`` has more CPUs or nodes than its kernel can use.

    Such a kernel boots without the further CPUs, or takes all nodes for one. The limits are in the
    .config that the lab keeps beside each of its kernels; other kernels are not checked.
    """
    file = guest.image.parent / "config"
    if not file.is_file():
        return
    options = config.parse(file.read_text(encoding="utf-8"))
    for what, number, most in (
        ("CPUs", guest.machine.cpus, int(options.get("CONFIG_NR_CPUS", "1"))),
        ("nodes", guest.machine.nodes, 1 << int(options.get("CONFIG_NODES_SHIFT", "0"))),
    ):
        if number > most:
            wrong = f"the kernel can use {most} of the machine's {number} {what}"
            raise BoltError(wrong, file, USAGE)


def accelerator(guest: Guest) -> list[str]:
    """Return QEMU's arguments for the accelerator.

    If the guest has a seed, the arguments also fix QEMU's random numbers and the clock.
    """
    words = list(ACCELERATORS[guest.machine.accel])
    if guest.machine.accel == "icount":
        shift = guest.machine.shift if guest.seed is None else guest.seed % SHIFTS
        words = [word.replace("shift=1", f"shift={shift}") for word in words]
    if guest.seed is None:
        return words
    return [*words, "-seed", str(guest.seed % 2**31), "-rtc", "base=2026-01-01T00:00:00,clock=vm"]


def unequal(guest: Guest) -> list[str]:
    """Return QEMU's arguments for the CPUs from CPU 1 on, if each of them lacks a feature.

    Each of these CPUs is a core of its own.
    """
    model = guest.arch.machine_args[-1]
    cpu = f"{model}-{guest.arch.name}-cpu,socket-id=0,thread-id=0"
    args = []
    for number, feature in enumerate(guest.machine.lacks, 1):
        args += ["-device", f"{cpu},core-id={number},{feature}=off"]
    return args


def smp(guest: Guest) -> str:
    """Return the argument of -smp. A node is a socket, so that cores share caches in a node only.

    In a guest with ``slots`` each CPU is a socket instead. CPUs that lack a feature are added as
    devices, and then -smp makes the first CPU only, and room for the others.
    """
    machine = guest.machine
    if machine.lacks:
        if machine.cpus != len(machine.lacks) + 1 or machine.nodes > 1 or machine.threads > 1:
            raise BoltError(f"{machine.cpus} CPUs cannot lack {len(machine.lacks)} features")
        return f"1,maxcpus={machine.cpus},sockets=1,cores={machine.cpus},threads=1"
    if guest.slots:
        return f"{machine.cpus},maxcpus={guest.slots},sockets={guest.slots}"
    if machine.threads == 1:
        return (
            str(machine.cpus) if machine.nodes == 1 else f"{machine.cpus},sockets={machine.nodes}"
        )
    cores, rest = divmod(machine.cpus, machine.nodes * machine.threads)
    if rest:
        raise BoltError(
            f"{machine.cpus} CPUs cannot be divided into cores of {machine.threads} threads"
        )
    return f"{machine.cpus},sockets={machine.nodes},cores={cores},threads={machine.threads}"


def numa(machine: Machine) -> list[str]:
    """Return QEMU's arguments for the nodes, which get equal shares of CPUs and memory.

    Shares of memory are whole MiB; node 0 also gets what is left over.
    """
    if machine.nodes == 1:
        return []
    if machine.cpus % machine.nodes:
        raise BoltError(f"{machine.cpus} CPUs do not fill {machine.nodes} nodes")
    share, rest = divmod(machine.mebibytes, machine.nodes)
    each = machine.cpus // machine.nodes
    args = []
    for node in range(machine.nodes):
        cpus = f"{node * each}-{node * each + each - 1}"
        filled = share + (rest if node == 0 else 0)
        args += ["-object", f"memory-backend-ram,id=node{node},size={filled}M"]
        args += ["-numa", f"node,nodeid={node},cpus={cpus},memdev=node{node}"]
    return args


def system(guest: Guest, folder: Path) -> list[str]:
    """Return QEMU's arguments for the disks and agent of a guest that has ``root``; see Guest."""
    if not guest.root:
        return []
    script = folder / "script"
    text = "".join(f"{line}\n" for line in guest.script).encode()
    # A shell reads the whole disk, whose size is whole blocks: newlines fill the last block.
    script.write_bytes(text + b"\n" * (-len(text) % BLOCK))
    args = []
    mode = "cache=unsafe" if guest.keep else "snapshot=on"
    disks = [(guest.root, mode)]
    disks += [(path, "readonly=on") for path in (script, guest.image, *guest.media)]
    for number, (path, mode) in enumerate(disks):
        drive = f"if=none,id=system{number},format=raw,{mode},file={channels.escaped(path)}"
        args += ["-drive", drive, "-device", f"virtio-blk-pci,drive=system{number}"]
    if guest.agent:
        args += ["-chardev", f"socket,id=agent,fd={guest.agent.fileno()}"]
        args += ["-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0"]
    return args


def disks(guest: Guest, folder: Path) -> list[str]:
    """Make the guest's scratch disks in ``folder``, and return QEMU's arguments for these disks."""
    args = []
    machine = guest.machine
    for number in range(machine.disks):
        path = folder / f"disk{number}.img"
        with path.open("wb") as file:
            file.truncate(DISK)
        if number < machine.ext4:
            _output([binary("mkfs.ext4"), "-q", "-F", str(path)])
        # QEMU must not wait for the host's disk, because virtual time goes on meanwhile.
        drive = f"if=none,id=disk{number},format=raw,cache=unsafe,file={channels.escaped(path)}"
        device = f"virtio-blk-pci,drive=disk{number},num-queues={machine.cpus}"
        args += ["-drive", drive, "-device", device]
    return args


def nics(guest: Guest) -> list[str]:
    """Return QEMU's arguments for the guest's network cards.

    A card could have several queues. A network in user mode has one queue, and so the card has one.
    """
    args = []
    for number in range(guest.machine.nics):
        device = f"virtio-net-pci,netdev=net{number},mq=on,romfile="
        args += ["-netdev", f"user,id=net{number},{ECHO}", "-device", device]
    return args


def binary(emulator: str) -> str:
    """Return the path of the program ``emulator``; raise BoltError if it is not installed."""
    path = packages.which(emulator)
    if path is None:
        raise BoltError(f"{emulator} is not installed")
    return path


@functools.cache
def version(emulator: str) -> str:
    """Return the version of ``emulator``, as "10.0.2"."""
    words = _output([binary(emulator), "--version"]).split()
    if "version" not in words:
        raise BoltError(f"{emulator} does not tell its version")
    return words[words.index("version") + 1]


@functools.cache
def devices(emulator: str) -> frozenset[str]:
    """Return the names of the devices that ``emulator`` offers."""
    text = _output([binary(emulator), "-machine", "none", "-device", "help"])
    lines = [line for line in text.splitlines() if line.startswith('name "')]
    return frozenset(line.split('"')[1] for line in lines)


def new_run(name: str) -> Path:
    """Make and return the directory of a new run called ``name``; have prune() remove old runs."""
    root = paths.cache() / "runs"
    root.mkdir(exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1000):
        folder = root / (f"{stamp}-{name}-{number}" if number else f"{stamp}-{name}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            paths.prune(root, KEEP_RUNS)
            return folder
    raise BoltError(f"cannot make a directory for the run in {root}")


def judge(
    folder: Path,
    reason: str,
    ignored: Sequence[re.Pattern[str]] = (),
    warns: Sequence[str] = (),
) -> GuestResult:
    """Return the result of the run in ``folder``, which ended for ``reason``.

    Raises GuestError unless the guest powered off by itself, its script ran to the end, its KUnit
    suites have passed (see ktap.py), and its console and its kernel log hold no complaint but those
    that ``ignored`` or ``warns`` fit. Each pattern of ``warns`` must fit a complaint, and no log
    may have two complaints for one pattern.
    """
    log = folder / "console.log"
    expected = [re.compile(text) for text in warns]
    missing = set(expected)
    for path in channels.logs(folder):
        splats = console.scan_file(path, ignored)
        missing -= {one for one in expected for splat in splats if splat.fits(one)}
        if wrong := console.unexpected(splats, expected):
            raise GuestError(f"the guest's kernel complained: {wrong[0]}", path)
    if reason != "guest-shutdown":
        raise GuestError(f"the guest did not power off by itself ({reason})", log)
    records = channels.records(folder)
    end = records[-1] if records else {}
    if end.get("end") == "error":
        why = _last_words(log) or os.strerror(end["errno"])
        raise GuestError(f"the guest failed at '{end['command']}': {why}", log)
    if end.get("end") != "ok":
        raise GuestError("the guest ended before its script did", log)
    if said := ktap.complaint(records):
        raise GuestError(said, folder / channels.FILES["bolt.results"])
    if missing:
        texts = ", ".join(sorted(one.pattern for one in missing))
        raise GuestError(f"the guest's kernel did not complain as it should: {texts}", log)
    return GuestResult(folder, records[:-1])


@contextlib.asynccontextmanager
async def _process(
    args: list[str], folder: Path, qmp: socket.socket, agent: socket.socket | None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run QEMU, which the terminal's Ctrl-C does not reach; end QEMU when the context ends."""
    with (folder / "qemu.log").open("wb") as log, qmp:
        process = await asyncio.create_subprocess_exec(
            *args,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[each.fileno() for each in (qmp, agent) if each],
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _watch(
    process: asyncio.subprocess.Process,
    qmp: socket.socket,
    guest: Guest,
    folder: Path,
    seen: Callable[[int], None] | None,
    watcher: Watcher | None,
) -> str:
    """Let the guest run to its end, and return the reason that QEMU gives for the end."""
    client = QMPClient("guest")
    listener = EventListener(names=("SHUTDOWN", "GUEST_PANICKED", "WATCHDOG"))
    client.register_listener(listener)
    try:
        async with asyncio.timeout(START_TIMEOUT):
            await client.connect(qmp)
            await client.execute("cont")
    except (QMPError, OSError) as error:  # TimeoutError is an OSError
        why = _complaint(folder / "qemu.log")
        raise BoltError(f"{guest.arch.qemu} did not start{why}", folder / "qemu.log") from error
    start = time.monotonic()
    beside = asyncio.create_task(_beside(guest, watcher, client, folder))
    end = asyncio.create_task(process.wait())
    try:
        # By now QEMU has read the image: if the image is replaced later, the guest is not affected.
        build.require_unchanged(guest.image)
        while True:
            # An error of ``beside`` must be seen at once: QEMU may end before the next look.
            awaited = {end} if beside.done() else {end, beside}
            await asyncio.wait(awaited, timeout=POLL, return_when=asyncio.FIRST_COMPLETED)
            if beside.done():
                await _ended(beside, process, folder)
            if end.done():
                break
            if seen:
                seen(_lines(folder / channels.FILES["bolt.results"]))
            if time.monotonic() - start > guest.timeout:
                what = await hang.describe(client, guest.image, folder)
                raise GuestError(
                    f"{HUNG} {guest.timeout:.0f} s{what}",
                    folder / "console.log",
                )
    finally:
        beside.cancel()
        end.cancel()
        with contextlib.suppress(QMPError, OSError, EOFError):
            await client.disconnect()
    return _reason(listener, process.returncode, folder)


async def _beside(guest: Guest, watcher: Watcher | None, client: QMPClient, folder: Path) -> None:
    """Run ``watcher``, if there is one, and hang.watch() if QEMU can lose interrupts of ``guest``.

    QEMU can lose interrupts only of guests of x86_64 whose vCPUs run in parallel.
    """
    async with asyncio.TaskGroup() as group:
        if watcher:
            group.create_task(watcher(client, folder))
        if guest.arch.name == "x86_64" and guest.machine.accel == "mttcg":
            group.create_task(hang.watch(client, folder))


async def _ended(
    beside: asyncio.Task[None], process: asyncio.subprocess.Process, folder: Path
) -> None:
    """Raise the error, if any, that ended the task ``beside``; GuestError in place of QMPError.

    When QEMU ends, ``beside`` can no longer reach QEMU's monitor or stop threads of QEMU. So an
    error that the end of QEMU can cause is an error only if QEMU has not ended CLOSING seconds
    later. Of several errors, an EmulatorError is raised only if no other BoltError is there.
    """
    wrong: list[BoltError | QMPError | OSError] = []
    try:
        beside.result()
    except* (BoltError, QMPError, OSError) as raised:
        wrong = list(errors.leaves(raised))
    if not wrong:
        return
    if all(map(_by_the_end, wrong)):
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), CLOSING)
            return
    for kind in (BoltError, OSError):
        own = [each for each in wrong if isinstance(each, kind)]
        if own:
            raise min(own, key=lambda each: isinstance(each, EmulatorError))
    raise GuestError(f"QEMU's monitor failed: {errors.texts(wrong)}", folder / "qemu.log")


def _by_the_end(error: BoltError | QMPError | OSError) -> bool:
    """Tell whether the end of QEMU can cause ``error`` beside the guest."""
    if isinstance(error, QMPError):
        return not isinstance(error, ExecuteError)
    return isinstance(error, pause.NotStoppedError)


def _complaint(log: Path) -> str:
    """Return the last line of QEMU's ``log``, after a colon, or "" if the log is empty."""
    said = hang.last_line(log)
    return f": {said}" if said else ""


def _reason(listener: EventListener, status: int | None, folder: Path) -> str:
    reason = ""
    for event in listener.clear():
        if event["event"] == "GUEST_PANICKED":
            return "panic"
        if event["event"] == "WATCHDOG":
            return "watchdog"
        if event["event"] == "SHUTDOWN":
            reason = _shutdown_reason(event.get("data"))
    if not reason:
        log = folder / "qemu.log"
        if status == -signal.SIGKILL and "SLURM_JOB_ID" in os.environ:
            # If an element of a job array takes too much memory, the host's kernel kills the
            # largest process of the element. The element must then end as if all of its processes
            # had been killed, so that the lab submits the element again.
            raise BoltError("QEMU was killed, perhaps for lack of memory", log, KILLED)
        said = _complaint(log)
        kind = EmulatorError if any(name in said for name in ABORTS) else GuestError
        raise kind(f"{ENDED} {status}{said}", log)
    return reason


def _shutdown_reason(data: object) -> str:
    return str(data.get("reason", "unknown")) if isinstance(data, dict) else "unknown"


async def wishes(folder: Path, key: str, poll: float) -> AsyncIterator[str]:
    """Yield the text of each record ``key`` of the guest in ``folder``, as the records come.

    ``poll``: seconds of the host between two looks.
    """
    done = 0
    while True:
        await asyncio.sleep(poll)
        records = channels.records(folder)
        for row in [row for row in records if key in row][done:]:
            done += 1
            yield str(row[key])


def _lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0


def _last_words(log: Path) -> str:
    """Return the last message of the lab's programs on the console, without "guest: ", or ""."""
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = [line for line in lines if line.startswith("guest: ")]
        if said:
            return said[-1].removeprefix("guest: ")
    return ""


def _output(args: list[str]) -> str:
    done = guestimage.run(args)
    if done.returncode:
        raise BoltError(f"{Path(args[0]).name} does not run: {done.stderr.strip()}")
    return done.stdout

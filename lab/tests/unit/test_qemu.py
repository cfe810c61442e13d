# SPDX-License-Identifier: GPL-2.0-only
import asyncio
import json
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from qemu.qmp import ExecuteError, Message, QMPError
from qemu.qmp.models import ErrorResponse

from boltlab import arch, locks, packages, paths
from boltlab.errors import BoltError, EmulatorError, GuestError, KernelChangedError
from boltlab.guest import channels, guestimage, hang, qemu, slots
from boltlab.guest.machine import Machine
from boltlab.guest.pause import NotStoppedError
from boltlab.guest.qemu import Guest
from boltlab.kernel import build

X86 = arch.ARCHES["x86_64"]
ARM = arch.ARCHES["arm64"]

# A program that stands in for QEMU. The environment variable PLAY says what the program writes to
# the console and the ports, which events it sends on the descriptor of QMP, and how it ends. With
# "before", a path, only the first run ends by "abort": that run makes the file of that path.
FAKE = """\
#!{python}
import json, os, socket, sys, time
args = sys.argv[1:]
if "--version" in args:
    print("QEMU emulator version 10.0.2 (Debian)"); sys.exit(0)
if "help" in args:
    print('name "pvpanic-pci", bus PCI\\nname "virtserialport", bus virtio-serial-bus'); sys.exit(0)
play = json.loads(os.environ["PLAY"])
files = dict(arg.split("path=") for arg in args if arg.startswith("file,id="))
serial = args[args.index("-serial") + 1].removeprefix("file:")
names = [args[i + 1] for i, arg in enumerate(args) if arg == "-device" and "name=" in args[i + 1]]
ports = {{n.split("name=")[1]: path for n, path in zip(names, files.values())}}
open(serial, "w").write(play.get("console", ""))
for name, text in play.get("ports", {{}}).items():
    open(ports[name], "w").write(text)
if "die" in play:
    sys.stderr.write(play["die"]); sys.exit(1)
fd = int(next(a for a in args if a.startswith("socket,id=qmp")).split("fd=")[1])
link = socket.socket(fileno=fd)
def send(what):
    link.sendall(json.dumps(what).encode() + b"\\n")
send({{"QMP": {{"version": {{"qemu": {{"major": 10, "minor": 0, "micro": 2}}, "package": ""}},
     "capabilities": []}}}})
for command in ("qmp_capabilities", "cont"):
    request = json.loads(link.recv(4096))  # one message, without a newline
    assert request["execute"] == command
    send({{"return": {{}}, **({{"id": request["id"]}} if "id" in request else {{}})}})
if "registers" in play:
    request = json.loads(link.recv(4096))
    assert request["execute"] == "human-monitor-command"
    send({{"return": play["registers"], "id": request["id"]}})
time.sleep(play.get("sleep", 0))
if "abort" in play and not os.path.exists(play.get("before", "")):
    open(play.get("before", os.devnull), "w").close()
    sys.stderr.write(play["abort"] + "\\n"); sys.stderr.flush(); os.abort()
for event in play.get("events", []):
    send({{"timestamp": {{"seconds": 1, "microseconds": 0}}, **event}})
time.sleep(0.05)
"""
OFF = {"event": "SHUTDOWN", "data": {"guest": True, "reason": "guest-shutdown"}}
CASE = {"case": "offline1", "batch": 1, "samples": [1, 2]}


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    program = tmp_path / "fake-qemu"
    program.write_text(FAKE.format(python=sys.executable), encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(packages, "which", lambda _: str(program))
    monkeypatch.setattr(guestimage, "make", lambda *args: args[2].touch())
    qemu.version.cache_clear()
    qemu.devices.cache_clear()
    yield program
    qemu.version.cache_clear()
    qemu.devices.cache_clear()


def play(
    monkeypatch: pytest.MonkeyPatch, what: dict[str, object], timeout: float = 20
) -> qemu.GuestResult:
    monkeypatch.setenv("PLAY", json.dumps(what))
    return qemu.run(Guest(X86, Path("image"), ("kunit",), timeout=timeout), "test")


def test_a_good_run(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ports = {"bolt.results": lines(CASE, {"end": "ok"}), "bolt.trace": "raw"}
    what: dict[str, object] = {
        "events": [OFF],
        "ports": ports,
        "console": "[    1.000000] all well\n",
    }
    done = play(monkeypatch, what)
    assert done.records == [CASE]
    assert done.samples() == {"offline1": [1, 2]}
    assert done.trace.read_text(encoding="utf-8") == "raw"
    assert done.folder.parent == paths.cache() / "runs"
    command = (done.folder / "command.txt").read_text(encoding="utf-8")
    assert "shift=1,sleep=off" in command
    assert "-device pvpanic-pci" in command


OK = {"bolt.results": lines({"end": "ok"})}


REFUSED = {"error": {"class": "GenericError", "desc": "no such CPU"}}


FAILED = "QEMU's monitor failed"


def beside(error: Exception) -> qemu.Watcher:
    """Return a watcher that raises ``error`` inside exception groups, as nested TaskGroups do."""

    async def fail(client: object, folder: Path) -> None:
        raise ExceptionGroup("beside", [ExceptionGroup("inner", [error])])

    return fail


@pytest.mark.parametrize(
    ("error", "sleep", "said"),
    [
        (QMPError("disconnected"), 2, ""),
        (QMPError("disconnected"), 60, f"{FAILED}: disconnected"),
        (QMPError(""), 60, f"{FAILED}: QMPError"),
        (ExecuteError(ErrorResponse(REFUSED), Message(), Message()), 2, f"{FAILED}: no such CPU"),
        (NotStoppedError("no such thread"), 2, ""),
        (NotStoppedError("no such thread"), 60, "no such thread"),
        (OSError("no space left"), 2, "no space left"),
    ],
)
def test_what_fails_beside_a_guest(
    fake: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, sleep: float, said: str
) -> None:
    """What the end of QEMU can cause is no failure if QEMU ends soon afterwards."""
    monkeypatch.setenv("PLAY", json.dumps({"events": [OFF], "ports": OK, "sleep": sleep}))
    monkeypatch.setattr(qemu, "CLOSING", 2 if sleep == 60 else 30)
    guest = Guest(X86, Path("image"), ("kunit",), timeout=90)
    if not said:
        assert qemu.run_in(guest, qemu.new_run("test"), watcher=beside(error)).records == []
        return
    with pytest.raises(GuestError if FAILED in said else type(error), match=said):
        qemu.run_in(guest, qemu.new_run("test"), watcher=beside(error))


@pytest.mark.parametrize(
    ("what", "message", "log"),
    [
        ({"events": [OFF], "ports": OK, "console": "[ 1.000000] BUG: x"}, "BUG in line 1: BUG: x",
         "console.log"),
        ({"events": [OFF], "ports": {**OK, "bolt.dmesg": "<4>[    1.000000] WARNING: x"}},
         "complained: WARNING in line 1", "dmesg.log"),
        ({"events": [OFF]}, "ended before its script did", "console.log"),
        ({"events": [OFF], "ports": {"bolt.results": lines(CASE) + '{"end": "o'}},
         "ended before its script did", "console.log"),
        ({"events": [OFF], "console": "guest: CPU 9: no such CPU\n", "ports": {"bolt.results":
          lines({"end": "error", "command": "measure pairs", "errno": 71})}},
         "failed at 'measure pairs': CPU 9: no such CPU", "console.log"),
        ({"events": [OFF], "ports": {"bolt.results":
          lines({"end": "error", "command": "write /x 1", "errno": 2})}},
         "failed at 'write /x 1': No such file or directory", "console.log"),
        ({"events": [{"event": "SHUTDOWN", "data": {"guest": True, "reason": "guest-reset"}}],
          "ports": OK}, r"power off by itself \(guest-reset\)", "console.log"),
        ({"events": [{"event": "GUEST_PANICKED", "data": {"action": "poweroff"}}, OFF],
          "ports": OK}, r"power off by itself \(panic\)", "console.log"),
        ({"events": [{"event": "WATCHDOG", "data": {"action": "reset"}}, OFF], "ports": OK},
         r"\(watchdog\)", "console.log"),
        ({"ports": OK}, "QEMU ended with status 0", "qemu.log"),
        ({"die": "no such machine"}, "did not start: no such machine", "qemu.log"),
        ({"ports": OK, "abort": "no more threads"}, "ended with status -6: no more threads",
         "qemu.log"),
        ({"events": [OFF], "ports": {"bolt.results": lines(
          {"kunit": "bolt", "line": "    not ok 2 test_x"}, {"end": "ok"})}},
         "KUnit bolt: not ok 2 test_x", "results.jsonl"),
    ],
)  # fmt: skip
def test_a_bad_run(
    fake: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: dict[str, object],
    message: str,
    log: str,
) -> None:
    with pytest.raises(BoltError, match=message) as caught:
        play(monkeypatch, what)
    assert caught.value.log is not None
    assert caught.value.log.name == log
    assert caught.value.log.exists()


REGISTERS = """\
CPU#0
RAX=0000000000000000 RIP=ffffffff81000123 RFL=00000246
CPU#1
RIP=00007f0000000000 RFL=00000246
"""


def test_a_guest_that_hangs_is_ended(
    fake: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "System.map").write_text(
        "ffffffff81000100 T cpu_idle\nffffffff81000200 t next\nffffffff81000300 D data\n"
    )
    what = {"sleep": 60, "registers": REGISTERS, "console": "[    1.000000] last words\n\n"}
    monkeypatch.setenv("PLAY", json.dumps(what))
    start = time.monotonic()
    guest = Guest(X86, tmp_path / "image", (), timeout=1)
    with pytest.raises(BoltError, match=r"hung: no end after 1 s; .*: last words; ") as caught:
        qemu.run(guest, "test")
    assert time.monotonic() - start < 20
    assert caught.value.message.endswith(
        "; CPU 0 in cpu_idle, CPU 1 in 0x7f0000000000 (registers.txt)"
    )
    assert caught.value.log is not None
    assert (caught.value.log.parent / hang.REGISTERS).read_text() == REGISTERS


def test_an_emulator_that_hangs_is_ended(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hang, "ANSWER", 0.5)
    with pytest.raises(BoltError, match="the console is empty; the emulator does not answer"):
        play(monkeypatch, {"sleep": 60}, timeout=1)


def test_an_interrupted_run_leaves_no_emulator(
    fake: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PLAY", json.dumps({"sleep": 60}))
    pids: list[int] = []
    start = asyncio.create_subprocess_exec

    async def spy(*args: str, **kwargs: object) -> asyncio.subprocess.Process:
        process = await start(*args, **kwargs)  # type: ignore[arg-type]
        pids.append(process.pid)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", spy)

    async def cancelled() -> None:
        task = asyncio.create_task(qemu.boot(Guest(X86, Path("image"), ()), "test"))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert len(pids) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_records_are_counted_while_it_runs(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = lines(CASE, CASE, {"end": "ok"})
    what = {"events": [OFF], "ports": {"bolt.results": text}, "sleep": 1.5}
    monkeypatch.setenv("PLAY", json.dumps(what))
    seen: list[int] = []
    asyncio.run(qemu.boot(Guest(X86, Path("image"), ()), "test", seen.append))
    assert seen
    assert seen[-1] == 3


def test_a_system_of_its_own(tmp_path: Path) -> None:
    guest = Guest(X86, Path("image"), ("true", "finish"), root=Path("debian.ext4"))
    args = qemu.command(guest, Path("initrd"))
    assert "-initrd" not in args
    assert "root=/dev/vda rw" in args[args.index("-append") + 1]
    text = " ".join(qemu.system(guest, tmp_path))
    # The guest must not change the image, which stays in the cache and serves the next guest too.
    assert "snapshot=on,file=debian.ext4" in text
    assert "guest_agent" not in text
    script = (tmp_path / "script").read_bytes()
    assert (script[:12], len(script)) == (b"true\nfinish\n", 512)
    assert script[12:].strip() == b""
    assert qemu.system(Guest(X86, Path("image"), ()), tmp_path) == []
    ours, theirs = socket.socketpair()
    with ours, theirs:
        args = qemu.system(replace(guest, agent=theirs), tmp_path)
        assert f"socket,id=agent,fd={theirs.fileno()}" in args


def test_command_lines(fake: Path) -> None:
    initrd = Path("initrd")
    x86 = qemu.command(
        Guest(X86, Path("image"), (), "cpu_init_udelay=0", machine=Machine(cpus=8)), initrd
    )
    assert x86[x86.index("-append") + 1] == (
        "console=ttyS0 loglevel=5 panic=-1 oops=panic rdinit=/init cpu_init_udelay=0"
    )
    assert x86[x86.index("-smp") + 1] == "8"
    assert x86[x86.index("-cpu") + 1] == "max"
    arm = qemu.command(Guest(ARM, Path("image"), (), machine=Machine(accel="mttcg")), initrd)
    assert "console=ttyAMA0" in arm[arm.index("-append") + 1]
    assert "-icount" not in arm
    assert "tcg,thread=multi" in arm
    kvm = qemu.command(Guest(X86, Path("image"), (), machine=Machine(accel="kvm")), initrd)
    assert kvm[kvm.index("-cpu") + 1] == "host"
    assert "-numa" not in x86
    intel = qemu.command(
        Guest(X86, Path("image"), (), machine=Machine(features="vendor=GenuineIntel")), initrd
    )
    assert intel[intel.index("-cpu") + 1] == "max,vendor=GenuineIntel"
    two = qemu.command(Guest(ARM, Path("image"), (), machine=Machine(nodes=2)), initrd)
    assert two[two.index("-smp") + 1] == "4,sockets=2"
    assert two[two.index("-numa") + 1] == "node,nodeid=0,cpus=0-1,memdev=node0"
    assert "memory-backend-ram,id=node1,size=512M" in two
    less = qemu.command(
        Guest(ARM, Path("image"), (), machine=Machine(nodes=2, memory="768M")), initrd
    )
    assert "memory-backend-ram,id=node1,size=384M" in less
    three = qemu.command(Guest(ARM, Path("image"), (), machine=Machine(cpus=6, nodes=3)), initrd)
    assert "memory-backend-ram,id=node0,size=342M" in three
    assert "memory-backend-ram,id=node2,size=341M" in three
    smt = qemu.command(Guest(X86, Path("image"), (), machine=Machine(threads=2)), initrd)
    assert smt[smt.index("-smp") + 1] == "4,sockets=1,cores=2,threads=2"
    assert qemu.smp(Guest(X86, Path("image"), (), machine=Machine(nodes=2, threads=2))) == (
        "4,sockets=2,cores=1,threads=2"
    )
    with pytest.raises(BoltError, match="4 CPUs cannot be divided into cores of 3 threads"):
        qemu.command(Guest(X86, Path("image"), (), machine=Machine(threads=3)), initrd)
    with pytest.raises(BoltError, match="4 CPUs do not fill 3 nodes"):
        qemu.command(Guest(ARM, Path("image"), (), machine=Machine(nodes=3)), initrd)
    with pytest.raises(BoltError, match="'1T' is no size of memory such as 512M or 2G"):
        qemu.command(Guest(ARM, Path("image"), (), machine=Machine(nodes=2, memory="1T")), initrd)
    with pytest.raises(BoltError, match="unknown accelerator 'warp'"):
        qemu.command(Guest(X86, Path("image"), (), machine=Machine(accel="warp")), initrd)


def test_cpus_that_lack_a_feature(fake: Path) -> None:
    guest = Guest(X86, Path("image"), (), machine=Machine(cpus=3, lacks=("ss", "acpi")))
    args = qemu.command(guest, Path("initrd"))
    assert args[args.index("-smp") + 1] == "1,maxcpus=3,sockets=1,cores=3,threads=1"
    assert [arg for arg in args if "core-id" in arg] == [
        "max-x86_64-cpu,socket-id=0,thread-id=0,core-id=1,ss=off",
        "max-x86_64-cpu,socket-id=0,thread-id=0,core-id=2,acpi=off",
    ]
    with pytest.raises(BoltError, match="4 CPUs cannot lack 1 features"):
        qemu.smp(Guest(X86, Path("image"), (), machine=Machine(lacks=("ss",))))
    with pytest.raises(BoltError, match="cannot lack"):
        qemu.smp(Guest(X86, Path("image"), (), machine=Machine(cpus=2, nodes=2, lacks=("ss",))))


def test_slots_for_cpus_and_a_machine_of_its_own(fake: Path) -> None:
    guest = Guest(
        X86,
        Path("image"),
        (),
        slots=4,
        board=("-machine", "pc", "-cpu", "x"),
        machine=Machine(cpus=2),
    )
    args = qemu.command(guest, Path("initrd"))
    assert args[args.index("-smp") + 1] == "2,maxcpus=4,sockets=4"
    assert args[args.index("-machine") + 1] == "pc"
    assert args[args.index("-cpu") + 1] == "x"


def test_a_seed_makes_a_run_that_can_be_repeated() -> None:
    plain = qemu.accelerator(Guest(X86, Path("image"), ()))
    assert plain == list(qemu.ACCELERATORS["icount"])
    slow = qemu.accelerator(Guest(X86, Path("image"), (), machine=Machine(shift=4)))
    assert slow[-1] == "shift=4,sleep=off"
    words = [qemu.accelerator(Guest(X86, Path("image"), (), seed=seed)) for seed in (3, 4, 5)]
    shifts = [each[each.index("-icount") + 1] for each in words]
    assert shifts == [f"shift={shift},sleep=off" for shift in (0, 1, 2)]
    assert [each[each.index("-seed") + 1] for each in words] == ["3", "4", "5"]
    assert all(each[each.index("-rtc") + 1].endswith("clock=vm") for each in words)
    several = qemu.accelerator(
        Guest(X86, Path("image"), (), seed=4, machine=Machine(accel="mttcg"))
    )
    assert several[-4:-2] == ["-seed", "4"]


def test_plugin_and_watcher(fake: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    what = {"events": [OFF], "ports": {"bolt.results": lines({"end": "ok"})}, "sleep": 1.5}
    monkeypatch.setenv("PLAY", json.dumps(what))
    watched: list[Path] = []

    async def watcher(client: object, folder: Path) -> None:
        watched.append(folder)

    folder = qemu.new_run("test")
    guest = Guest(X86, Path("image"), (), plugin=tmp_path / "p,1.so")
    assert qemu.run_in(guest, folder, watcher=watcher).folder == folder
    assert watched == [folder]
    words = (folder / "command.txt").read_text()
    assert f"file={tmp_path}/p,,1.so,out={folder}/plugin.jsonl" in words

    async def fail(client: object, folder: Path) -> None:
        raise BoltError("it cannot be watched")

    with pytest.raises(BoltError, match="it cannot be watched"):
        qemu.run_in(guest, qemu.new_run("test"), watcher=fail)


def test_an_error_beside_a_guest_is_seen_soon_before_the_end(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes before the lab's first look at the guest, and so does the end of QEMU."""
    monkeypatch.setenv("PLAY", json.dumps({"events": [OFF], "ports": OK, "sleep": 2}))
    monkeypatch.setattr(qemu, "POLL", 60)
    guest = Guest(X86, Path("image"), ())
    several = ExceptionGroup("", [EmulatorError("lost"), BoltError("it cannot be watched")])
    with pytest.raises(BoltError, match="it cannot be watched"):
        qemu.run_in(guest, qemu.new_run("test"), watcher=beside(several))


def test_a_panic_while_the_lab_adds_a_cpu_is_not_hidden(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """QEMU ends before it answers, so that slots.obey() loses the connection to QEMU."""
    ports = {"bolt.results": lines({"slot": "eject 1"})}
    panic = {"event": "GUEST_PANICKED", "data": {"action": "poweroff"}}
    what = {"events": [panic, OFF], "ports": ports, "console": "[    1.000000] BUG: x", "sleep": 1}
    monkeypatch.setenv("PLAY", json.dumps(what))
    with pytest.raises(GuestError, match="complained: BUG in line 1"):
        qemu.run_in(Guest(X86, Path("image"), ()), qemu.new_run("test"), watcher=slots.obey)


ABORTS = [
    "qemu: system/physmem.c:2678: iotlb_to_section: Assertion `section_index < 4' failed.",
    "qemu: hw/pci/msix.c:228: msix_table_mmio_write: Assertion `addr + size <= 16' failed.",
]


@pytest.mark.parametrize("abort", ABORTS)
@pytest.mark.parametrize("keep", [False, True])
def test_after_an_abort_of_qemu_the_guest_is_booted_again(
    fake: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keep: bool, abort: str
) -> None:
    """A guest that keeps its disk is booted once only: see qemu.run()."""
    what = {"events": [OFF], "ports": OK, "abort": abort, "before": str(tmp_path / "before")}
    monkeypatch.setenv("PLAY", json.dumps(what))
    guest = Guest(X86, Path("image"), ("kunit",), keep=keep)
    if keep:
        with pytest.raises(EmulatorError, match="Assertion"):
            qemu.run(guest, "test")
    else:
        assert qemu.run(guest, "test").records == []
    assert len(list((paths.cache() / "runs").iterdir())) == (1 if keep else 2)


@pytest.mark.parametrize(
    ("target", "accel", "watched"),
    [(X86, "mttcg", True), (X86, "icount", False), (ARM, "mttcg", False)],
)
def test_which_guests_are_looked_at_for_a_fault_of_qemu(
    fake: Path, monkeypatch: pytest.MonkeyPatch, target: arch.Arch, accel: str, watched: bool
) -> None:
    async def lost(client: object, folder: Path) -> None:
        raise EmulatorError("lost the EOI", stalls=True)

    monkeypatch.setattr(hang, "watch", lost)
    monkeypatch.setenv("PLAY", json.dumps({"events": [OFF], "ports": OK, "sleep": 1.5}))
    guest = Guest(target, Path("image"), ("kunit",), machine=Machine(accel=accel))
    if watched:
        with pytest.raises(EmulatorError, match="lost the EOI"):
            qemu.run_in(guest, qemu.new_run("test"))
    else:
        assert qemu.run_in(guest, qemu.new_run("test")).records == []


def test_a_machine_that_is_too_large_for_its_kernel(tmp_path: Path) -> None:
    """The kernel would boot without the further CPUs, and figures would name too many CPUs."""
    image = tmp_path / "image"
    qemu.require_room(Guest(X86, image, (), machine=Machine(cpus=4096)))  # without a .config
    (tmp_path / "config").write_text("CONFIG_NR_CPUS=64\nCONFIG_NODES_SHIFT=4\n")
    qemu.require_room(Guest(X86, image, (), machine=Machine(cpus=64, nodes=16)))
    for machine, said in (
        (Machine(cpus=65), "can use 64 of the machine's 65 CPUs"),
        (Machine(cpus=64, nodes=32), "can use 16 of the machine's 32 nodes"),
    ):
        with pytest.raises(BoltError, match=said):
            qemu.require_room(Guest(X86, image, (), machine=machine))
        with pytest.raises(BoltError, match=said):
            qemu.run(Guest(X86, image, (), machine=machine), "test")
    assert not (paths.cache() / "runs").exists()


def test_disks(tmp_path: Path) -> None:
    assert qemu.disks(Guest(X86, Path("image"), ()), tmp_path) == []
    folder = tmp_path / "a,b"
    folder.mkdir()
    args = qemu.disks(Guest(X86, Path("image"), (), machine=Machine(cpus=3, disks=2)), folder)
    devices = [
        value for name, value in zip(args[::2], args[1::2], strict=True) if name == "-device"
    ]
    assert devices == [f"virtio-blk-pci,drive=disk{n},num-queues=3" for n in (0, 1)]
    drives = [value for name, value in zip(args[::2], args[1::2], strict=True) if name == "-drive"]
    assert all("format=raw" in drive and "a,,b/disk" in drive for drive in drives)
    assert [path.stat().st_size for path in folder.glob("disk*.img")] == [qemu.DISK] * 2


def test_disks_with_a_file_system(tmp_path: Path) -> None:
    packages.ensure("guest", arches=[X86])
    qemu.disks(Guest(X86, Path("image"), (), machine=Machine(disks=2, ext4=1)), tmp_path)
    magic = [path.read_bytes()[0x438:0x43A] for path in sorted(tmp_path.glob("disk*.img"))]
    assert magic == [b"\x53\xef", b"\0\0"]
    assert {path.stat().st_size for path in tmp_path.glob("disk*.img")} == {qemu.DISK}


def test_disks_do_not_outlive_the_run(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAY", json.dumps({"events": [OFF], "ports": OK}))
    done = qemu.run(Guest(X86, Path("image"), ("kunit",), machine=Machine(disks=1)), "test")
    assert "disk0.img" in (done.folder / "command.txt").read_text(encoding="utf-8")
    assert not list(done.folder.glob("*.img"))


def test_nics() -> None:
    assert qemu.nics(Guest(X86, Path("image"), ())) == []
    args = qemu.nics(Guest(X86, Path("image"), (), machine=Machine(nics=2)))
    for number in (0, 1):
        netdev = args[args.index("-netdev", 4 * number) + 1]
        assert netdev.startswith(f"user,id=net{number},restrict=on,")
        device = args[args.index("-device", 4 * number) + 1]
        assert device.startswith(f"virtio-net-pci,netdev=net{number},mq=on")


def test_version_and_devices(fake: Path) -> None:
    assert qemu.version("qemu-system-x86_64") == "10.0.2"
    assert qemu.devices("qemu-system-x86_64") == {"pvpanic-pci", "virtserialport"}
    qemu.version.cache_clear()
    fake.chmod(0o644)
    with pytest.raises(BoltError, match=r"cannot run .*fake-qemu: Permission denied"):
        qemu.version("qemu-system-x86_64")


def test_no_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "which", lambda _: None)
    with pytest.raises(BoltError, match="qemu-system-x86_64 is not installed"):
        qemu.command(Guest(X86, Path("image"), ()), Path("initrd"))


def another_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """End the call of the lab that made the runs so far; begin another, as if a minute later."""
    paths._until_the_end.close()
    paths._note_call.cache_clear()
    monkeypatch.setattr(paths, "START", time.time() + 60)


def test_run_directories_are_new_and_old_ones_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "KEEP_RUNS", 3)
    made = [qemu.new_run("same") for _ in range(5)]
    # A call of the lab keeps all runs that it made itself, even if they are more than KEEP_RUNS.
    assert all(folder.is_dir() for folder in made)
    another_call(monkeypatch)
    made = [qemu.new_run("same") for _ in range(5)]
    assert made[-1].is_dir()
    assert len(list((paths.cache() / "runs").iterdir())) == 3


def test_runs_of_a_call_that_has_not_ended_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "KEEP_RUNS", 1)
    older = paths.cache() / "calls" / f"{time.time() - 60}-1"
    older.mkdir(parents=True)
    with locks.use(older):
        made = [qemu.new_run("older") for _ in range(3)]
        another_call(monkeypatch)
        qemu.new_run("newer")
        assert all(folder.is_dir() for folder in made)
    qemu.new_run("newer")
    assert not any(folder.is_dir() for folder in made)
    assert not older.exists()


def test_the_directory_of_a_guest_that_runs_stays(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qemu, "KEEP_RUNS", 1)
    ended = qemu.new_run("ended")

    async def other_call(client: object, folder: Path) -> None:
        """Make new runs, as another call of the lab does while the guest runs."""
        another_call(monkeypatch)
        for _ in range(3):
            qemu.new_run("other")

    monkeypatch.setenv("PLAY", json.dumps({"events": [OFF], "ports": OK, "sleep": 1.5}))
    folder = qemu.new_run("test")
    qemu.run_in(Guest(X86, Path("image"), ()), folder, watcher=other_call)
    assert folder.is_dir()
    assert not ended.exists()
    qemu.new_run("other")
    assert not folder.exists()


def test_a_guest_whose_kernel_has_been_replaced_ends(
    fake: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    kernels = cache / "kernels" / "x"
    monkeypatch.setattr(build, "_got", {kernels: "stamp"})
    monkeypatch.setenv("PLAY", json.dumps({"events": [OFF], "ports": OK, "sleep": 60}))
    with pytest.raises(KernelChangedError, match="another call of the lab has meanwhile built"):
        qemu.run(Guest(X86, kernels / "image", ()), "test")


def test_what_the_kernel_must_complain_about(tmp_path: Path) -> None:
    warned = "------------[ cut here ]------------\nlost\nWARNING: CPU: 1 PID: 1 at x\n"
    (tmp_path / "results.jsonl").write_text('{"end":"ok"}\n', encoding="utf-8")
    log = tmp_path / "console.log"
    for text, warns, error in (
        ("", (), ""),
        (warned, ("^lost$",), ""),
        (warned, (), "complained: WARNING"),
        (warned + "x\n" * 200 + warned, ("^lost$",), "complained: WARNING"),
        (warned, ("^found$",), "complained: WARNING"),
        ("lost\n", ("^lost$",), "did not complain as it should: \\^lost"),
        (warned, ("^lost$", "^found$"), "did not complain as it should: \\^found"),
    ):
        log.write_text(text, encoding="utf-8")
        if not error:
            assert qemu.judge(tmp_path, "guest-shutdown", warns=warns).records == []
            continue
        with pytest.raises(BoltError, match=error):
            qemu.judge(tmp_path, "guest-shutdown", warns=warns)


def test_a_character_that_is_cut_off_costs_one_record(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    file.write_bytes('{"a":1}\n{"b":"é'.encode()[:-1])
    assert channels.records(tmp_path) == [{"a": 1}]

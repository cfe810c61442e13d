# SPDX-License-Identifier: GPL-2.0-only
"""Checks of Debian's user space that need no guest: scripts, comparison, guest agent, CPU slots."""

import asyncio
import base64
import contextlib
import json
import re
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from qemu.qmp import ExecuteError, Message, QMPClient
from qemu.qmp.models import ErrorResponse

from boltlab.debian import agent, userland
from boltlab.debian.userland import Check
from boltlab.errors import UNAVAILABLE, BoltError, EmulatorError, GuestError
from boltlab.guest import slots, tries


def record(mode: str, output: str, **changes: Any) -> Mapping[str, Any]:
    parked = "2-3" if mode == "bolt" else ""
    text = base64.b64encode(output.encode()).decode()
    row = {"check": "one", "mode": mode, "status": 0, "parked": parked, "output": text}
    return row | changes


ONE = Check("one", "true", away="2-3", vary={r"\d+ ms": "N ms"}, wants=("^all",))


def test_equal_but_for_what_may_vary() -> None:
    records = [record("native", "all of 3 ms\n"), record("bolt", "all of 12 ms\n")]
    assert userland.differences([ONE], records) == []


@pytest.mark.parametrize(
    ("output", "changes", "why"),
    [
        ("all of 3 ms", {"status": 1}, "differs"),
        ("all of 3 ms", {"parked": ""}, "parked are ''"),
        ("all of 3 ms", {"check": "two"}, "not run"),
        ("all of 3 s", {}, "differs"),
        ("some of 3 ms", {}, "no '\\^all'"),
    ],
)
def test_what_is_wrong(output: str, changes: dict[str, Any], why: str) -> None:
    records = [record("native", "all of 3 ms"), record("bolt", output, **changes)]
    assert any(re.search(why, line) for line in userland.differences([ONE], records))


def test_cpus_parked_in_the_native_run_are_no_native_run() -> None:
    records = [record("native", "all", parked="2-3"), record("bolt", "all")]
    assert userland.differences([ONE], records) == ["one: parked are '2-3' (native)"]


def test_only_the_status_may_be_compared() -> None:
    row = Check("one", "true", away="2-3", same=False)
    records = [record("native", "this"), record("bolt", "that")]
    assert userland.differences([row], records) == []
    records[1] = record("bolt", "that", status=1)
    assert len(userland.differences([row], records)) == 1


def test_times_are_by_check_and_mode() -> None:
    records: list[Mapping[str, Any]] = [
        {"check": "one", "mode": "native", "ms": 30},
        {"check": "one", "mode": "bolt", "ms": 20},
        {"end": "ok"},
    ]
    assert userland.times(records) == {"one": {"native": 30, "bolt": 20}}


def test_every_row_of_the_table() -> None:
    rows = userland.checks()
    names = [row.name for row in rows]
    assert len(names) == len(set(names))
    assert names[0] == "boot"
    for row in rows:
        assert all(re.compile(pattern) for pattern in (*row.wants, *(row.vary or {})))
        # A check that wants no line would pass if it failed natively and with Bolt in the same way.
        assert row.wants, row.name


def test_the_script_is_one_of_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text("\n".join(userland.script(userland.checks(), "bolt")) + "\n", encoding="utf-8")
    assert subprocess.run(["sh", "-n", str(path)], check=False).returncode == 0
    for row in userland.checks():
        path.write_text(row.command, encoding="utf-8")
        assert subprocess.run(["sh", "-n", str(path)], check=False).returncode == 0, row.name


def test_the_script_has_every_check() -> None:
    rows = [Check("a", "echo 'it is'\ntrue"), Check("b", "true", away="1,3")]
    text = "\n".join(userland.script(rows, "native"))
    assert text.index("\nmode native") < text.index("\ncheck a") < text.rindex("\nfinish")
    assert text.count("check a '' 300 ") == text.count("check b 1,3 300 true") == 1


@pytest.mark.parametrize(
    ("cpus", "numbers"), [("2-3", ["2", "3"]), ("1,3", ["1", "3"]), ("", []), ("2", ["2"])]
)
def test_numbers_in_the_guest(cpus: str, numbers: list[str]) -> None:
    functions = userland.PROLOGUE.read_text(encoding="utf-8")
    begin = functions.index("numbers() {")
    text = functions[begin : functions.index("}\n", functions.index("done", begin)) + 2]
    words = ["sh", "-c", f"{text}\nnumbers {cpus or repr('')}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == numbers


def test_an_image_for_each_release_and_choice_of_packages() -> None:
    first = userland.stamp("bookworm", ("a", "b"))
    assert first == userland.stamp("bookworm", ("b", "a"))
    assert len({first, userland.stamp("trixie", ("a", "b")), userland.stamp("bookworm", "a")}) == 3


def test_files_of_the_image(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "fstab").write_text("of Debian's", encoding="utf-8")
    for name, text in userland.FILES.items():
        userland.put(tmp_path / name, text)
    assert (tmp_path / "etc/fstab").read_text(encoding="utf-8") == ""
    wanted = tmp_path / "etc/systemd/system/multi-user.target.wants/checks.service"
    assert wanted.readlink() == Path("/etc/systemd/system/checks.service")
    assert userland.SCRIPT in userland.UNIT


def test_what_the_agent_is_sent() -> None:
    assert agent.request({"execute": "guest-get-vcpus"}) == {"execute": "guest-get-vcpus"}
    sent = agent.request({"execute": "guest-set-vcpus", "vcpus": [[1, False]]})
    assert sent["arguments"] == {"vcpus": [{"logical-id": 1, "online": False}]}
    assert all(agent.request(row) for row in userland.requests())


def test_the_agent_is_asked_when_the_guest_wants_it(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"agent":"native"}\n', encoding="utf-8")
    got: list[dict[str, Any]] = []

    async def answer(link: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=link)
        while not got or got[-1]["execute"] != "guest-file-close":
            got.append(json.loads(await reader.readline()))
            writer.write(b'{"return": 7}\n')
        writer.close()

    async def play() -> None:
        ours, theirs = socket.socketpair()
        watcher = agent.Agent(ours, [{"execute": "guest-get-vcpus"}])
        asked = asyncio.create_task(watcher(QMPClient("none"), tmp_path))
        await answer(theirs)
        asked.cancel()

    asyncio.run(play())
    assert [each["execute"] for each in got[:2]] == ["guest-get-vcpus", "guest-file-open"]
    assert base64.b64decode(got[2]["arguments"]["buf-b64"]) == b'{"return": 7}\nend\n'


def test_nothing_without_debian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": "fedora"})
    with pytest.raises(BoltError, match="the host is no Debian") as caught:
        userland.image()
    assert caught.value.code == UNAVAILABLE


class Emulator:
    """Stands in for a connection to QEMU: answers commands of slots.obey(), and remembers these."""

    def __init__(self) -> None:
        self.got: list[tuple[str, Any]] = []

    async def execute(self, name: str, arguments: Any = None) -> Any:
        self.got.append((name, arguments))
        if name != "query-hotpluggable-cpus":
            return {}
        return [{"type": "cpu", "props": {"socket-id": number}} for number in (2, 0, 1)]


def test_slots_are_filled_and_emptied_when_the_guest_wants_it(tmp_path: Path) -> None:
    lines = ['{"slot":"add 2"}', '{"check":"one"}', '{"slot":"eject 2"}', ""]
    (tmp_path / "results.jsonl").write_text("\n".join(lines), encoding="utf-8")
    emulator = Emulator()

    async def play() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2 * slots.POLL):
                await slots.obey(cast(QMPClient, emulator), tmp_path)

    asyncio.run(play())
    assert emulator.got[1:] == [
        ("device_add", {"driver": "cpu", "id": "slot2", "socket-id": 2}),
        ("device_del", {"id": "slot2"}),
    ]


class Refusing(Emulator):
    """An emulator that refuses to add a CPU."""

    async def execute(self, name: str, arguments: Any = None) -> Any:
        if name == "device_add":
            answer = {"error": {"class": "GenericError", "desc": "no such type"}}
            raise ExecuteError(ErrorResponse(answer), Message(), Message())
        return await super().execute(name, arguments)


def test_an_emulator_that_adds_no_cpu(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"slot":"add 1"}\n', encoding="utf-8")
    with pytest.raises(BoltError, match="the emulator does not obey 'add 1': no such type"):
        asyncio.run(slots.obey(cast(QMPClient, Refusing()), tmp_path, poll=0.01))


class Slow(Emulator):
    """An emulator in which each slot has a CPU for the first ``left`` queries."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    async def execute(self, name: str, arguments: Any = None) -> Any:
        rows = await super().execute(name, arguments)
        if name == "query-hotpluggable-cpus":
            self.left -= 1
            return [row | ({"qom-path": "/"} if self.left >= 0 else {}) for row in rows]
        return rows


@pytest.mark.parametrize("left", [0, 2, 10**6])
def test_a_cpu_is_out_when_the_emulator_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    (tmp_path / "results.jsonl").write_text('{"slot":"eject 2"}\n', encoding="utf-8")
    monkeypatch.setattr(slots, "PATIENCE", 0.1)
    took: list[float] = []

    async def play() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                emulator = cast(QMPClient, Slow(left))
                await slots.obey(emulator, tmp_path, took.append, 0.01)

    if left < 10:
        asyncio.run(play())
        assert len(took) == 1
        assert took[0] >= left * slots.LOOK
    else:
        with pytest.raises(BoltError, match="the guest keeps CPU 2"):
            asyncio.run(play())


def test_what_goes_wrong_beside_a_guest_is_one_error() -> None:
    def boot() -> None:
        raise ExceptionGroup("beside", [BoltError("the agent is mute")])

    with pytest.raises(BoltError, match="the agent is mute"):
        tries.again("demo", boot)
    lost = [EmulatorError("lost")]

    def unlucky() -> str:
        if lost:
            raise lost.pop()
        return "done"

    assert tries.again("demo", unlucky) == "done"


STALL = "[    9.000000] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n"


WARNING = "[    1.000000] WARNING: CPU: 1 PID: 9 at kernel/cpu.c:9 x+0x1/0x2\n"
RACE = "[    1.000000] BUG: KCSAN: data-race in a / b\n"
PANIC = "[    1.000000] Kernel panic - not syncing: sysrq triggered crash\n"


@pytest.mark.parametrize(
    ("name", "said", "stalls", "complaint"),
    [
        ("console.log", STALL, True, ""),
        ("console.log", WARNING + STALL, True, "WARNING in line 1"),
        ("dmesg.log", WARNING, True, "WARNING in line 1"),
        ("console.log", RACE + PANIC + STALL, True, ""),
        # QEMU aborts (the error names qemu.log). An abort makes no CPU stall: an RCU stall counts.
        ("console.log", WARNING, False, "WARNING in line 1"),
        ("console.log", STALL, False, "RCU stall in line 1"),
        ("console.log", "", False, ""),
    ],
)
def test_a_complaint_before_a_fault_of_qemu_counts(
    tmp_path: Path, name: str, said: str, stalls: bool, complaint: str
) -> None:
    (tmp_path / name).write_text(said, encoding="utf-8")
    log = tmp_path / ("console.log" if stalls else "qemu.log")
    boots = []

    def boot() -> str:
        boots.append(1)
        if len(boots) == 1:
            raise ExceptionGroup("beside", [EmulatorError("lost", log, stalls=stalls)])
        return "done"

    known = [re.compile("^BUG: KCSAN: ")], ["sysrq triggered crash"]
    if complaint:
        with pytest.raises(GuestError, match=f"complained: {complaint}"):
            tries.again("demo", boot, *known)
    else:
        assert tries.again("demo", boot, *known) == "done"


@pytest.mark.parametrize(
    ("record", "failure"),
    [
        ({"kunit": "bolt", "line": "    not ok 2 test_x"}, "KUnit bolt: not ok 2 test_x"),
        ({"kunit": "bolt", "line": "    ok 2 test_x"}, ""),
        ({"end": "error", "command": "kunit", "errno": 2}, "the guest failed at 'kunit'"),
        ({"end": "ok"}, ""),
    ],
)
def test_a_failure_before_a_fault_of_qemu_counts(
    tmp_path: Path, record: dict[str, Any], failure: str
) -> None:
    (tmp_path / "results.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    lost = [EmulatorError("lost", tmp_path / "qemu.log")]

    def boot() -> str:
        if lost:
            raise lost.pop()
        return "done"

    if failure:
        with pytest.raises(GuestError, match=failure):
            tries.again("demo", boot)
    else:
        assert tries.again("demo", boot) == "done"


def test_every_guest_of_the_table_has_a_check() -> None:
    assert {row.guest for row in userland.checks()} == set(userland.guests())


def test_root_makes_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the image is there, a user who is not root is refused before kernels are built."""
    monkeypatch.setattr(userland, "release", lambda: "bookworm")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    place = userland.require()
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(BoltError, match="by root only") as refused:
        userland.require()
    assert refused.value.code == UNAVAILABLE
    place.parent.mkdir(parents=True)
    place.touch()
    userland.require()

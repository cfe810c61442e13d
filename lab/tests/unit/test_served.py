# SPDX-License-Identifier: GPL-2.0-only
"""A service whose machine gains and loses CPUs: its script, its records, its picture."""

import asyncio
import contextlib
import json
import re
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from boltlab import arch, ui
from boltlab.bench import bare, served
from boltlab.bench.served import Measured, Outcome
from boltlab.commands import vm_demo
from boltlab.debian import agent, vmdemo
from boltlab.errors import BoltError
from boltlab.guest import guestimage, serving, tools
from boltlab.guest.qemu import GuestResult
from boltlab.kernel import flavours
from boltlab.kernel.build import Kernel
from boltlab.report import service

MS = 1_000_000
START = 7_000 * MS
DAEMON = {
    "CPUBOLT_OPERATION": "offline",
    "CPUBOLT_CPUS": "3-4",
    "CPUBOLT_NS": f"{2 * MS}",
    "CPUBOLT_ERRNO": "0",
    "__MONOTONIC_TIMESTAMP": "7152000",
}


def change(**other: Any) -> dict[str, Any]:
    return {"change": "offline", "by": "file", "cpu": 2, **other}


RECORDS: list[dict[str, Any]] = [
    {"slot": "add 2"},
    change(change="online", begin=100 * MS, end=101 * MS, task=102 * MS),
    change(begin=300 * MS, end=330 * MS),
    # A UDP request is due every 10 ms. UDP request 30 is due when CPU 2 begins to go, and takes
    # 40 ms.
    {"served": 0, "start": START, "rate": 100, "us": [500] * 20},
    {"served": 20, "start": START, "rate": 100, "us": [500] * 9 + [15000, 40000] + [500] * 9},
]


def read(records: list[dict[str, Any]] = RECORDS, deleted: tuple[float, ...] = ()) -> Outcome:
    return served.read(records, "native", "native", deleted, [0.5])


def test_what_a_service_felt() -> None:
    lost = [*RECORDS[:3], {**RECORDS[3], "us": [500] * 5 + [-1] + [500] * 14}, RECORDS[4]]
    outcome = read(lost)
    assert (len(outcome.latencies), outcome.lost) == (40, 1)
    assert outcome.took("offline") == [30 * MS]
    assert outcome.took("online") == [1 * MS]
    assert outcome.first_tasks() == [2 * MS]
    # UDP request 10 is due when CPU 2 begins to come, and 11 and 12 are due less than 20 ms after
    # CPU 2 has come. UDP request 29 is in flight when CPU 2 begins to go, 30 to 33 are due while
    # CPU 2 goes, and 34 is due 10 ms after CPU 2 has gone. UDP request 35 is due exactly 20 ms
    # after CPU 2 has gone, and does not count.
    assert sorted(outcome.beside()) == [500] * 7 + [15000, 40000]
    assert outcome.apart() == [500] * 30


def test_who_changes_a_cpu() -> None:
    """took() returns times measured by the guest, out() how long the host took to take CPUs out."""
    records = [
        *RECORDS,
        change(by="agent", begin=350 * MS, end=360 * MS),
        change(by="host", begin=370 * MS, end=399 * MS),
        DAEMON,
        {**DAEMON, "CPUBOLT_ERRNO": "16"},
    ]
    outcome = read(records, (1.0, 2.0, 9.0))
    assert outcome.took("offline") == [30 * MS, 10 * MS]
    assert (outcome.out(online=False), outcome.out(online=True)) == ([1.0, 2.0], [9.0])
    assert (outcome.daemon("offline"), outcome.daemon("online")) == ([2 * MS], [])
    assert outcome.refused == 1
    assert [each.begin for each in outcome.changes if each.by == "daemon"] == [150 * MS]
    with pytest.raises(BoltError, match="3 CPUs went, the host took 2 out"):
        read(records, (1.0, 2.0))


def test_the_table() -> None:
    header, rows = served.table([read(deleted=(1.5,)), read()])
    assert header == ["", "native", "native"]
    assert {row[0]: row[1:] for row in rows} == {
        "requests": ["40", "40"],
        "requests lost": ["0", "0"],
        "p99 without a change, ms": ["0.50", "0.50"],
        "p99 beside changes, ms": ["40.00", "40.00"],
        "longest, ms": ["40.00", "40.00"],
        "CPUs that came": ["1", "1"],
        "CPUs that went": ["1", "1"],
        "a CPU goes, ms": ["30.000", "30.000"],
        "a CPU comes, ms": ["1.000", "1.000"],
        "CPU's first task, ms": ["2.000", "2.000"],
        "guest agent, s of host": ["0.50", "0.50"],
        "taken out, s of host": ["1.50", ""],
    }


def test_several_guests_are_one_run() -> None:
    outcome = served.joined([read(deleted=(1.5,)), read(deleted=(2.5,))])
    assert len(outcome.latencies) == 80
    assert outcome.deleted == [1.5, 2.5]
    assert outcome.changes[2].begin == 500 * MS
    assert (outcome.changes[2].task, outcome.changes[3].task) == (502 * MS, 0)
    assert sorted(outcome.beside()) == sorted([*read().beside()] * 2)


def test_a_service_that_did_not_end_is_an_error() -> None:
    with pytest.raises(BoltError, match="latencies from 20 on are missing"):
        read([*RECORDS[:4], {"served": 21, "start": START, "rate": 100, "us": [1]}])
    with pytest.raises(BoltError, match="has no record of the service"):
        read(RECORDS[:3])


def ran(monkeypatch: pytest.MonkeyPatch, records: list[dict[str, Any]], name: str) -> Outcome:
    """Measure a guest that has left ``records``."""
    guest = vmdemo.Ran(GuestResult(Path("none"), records), (1.5,), (0.5,))
    monkeypatch.setattr(vmdemo, "run", lambda *_: [guest])
    kernel = Kernel("x86_64", "userland", "6.12", "6.12", "", "", Path("none"))
    return vm_demo.measure(kernel, Path("none"), name, 1, "mttcg")


def test_a_lost_request_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ran(monkeypatch, RECORDS, "native").label == "native"
    records = [*RECORDS, {"served": 40, "start": START, "rate": 100, "us": [-1]}]
    with pytest.raises(BoltError, match="native: 1 UDP requests had no answer"):
        ran(monkeypatch, records, "native")


def test_a_daemon_that_does_nothing_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [*RECORDS, DAEMON, {**DAEMON, "CPUBOLT_OPERATION": "online"}]
    assert ran(monkeypatch, both, "load").daemon("online") == [2 * MS]
    with pytest.raises(BoltError, match="load: cpuboltd has set no CPU online"):
        ran(monkeypatch, both[:-1], "load")


def test_fields_of_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [*RECORDS, DAEMON, {**DAEMON, "CPUBOLT_OPERATION": "online"}]
    moved = {"MESSAGE": "moved", "CPUBOLT_EVENT": "interrupt"}
    moved |= {"CPUBOLT_IRQ": "24", "CPUBOLT_CPU": "0", "CPUBOLT_WHY": "idle"}
    ran(monkeypatch, [*both, moved], "load")
    for missing in ("IRQ", "CPU", "WHY"):
        less = {key: text for key, text in moved.items() if key != f"CPUBOLT_{missing}"}
        with pytest.raises(BoltError, match=f"'interrupt' has no field CPUBOLT_{missing}"):
            ran(monkeypatch, [*both, less], "load")


def test_each_field_of_the_journal_is_in_the_manual() -> None:
    text = (tools.SOURCES / "man" / "cpuboltd.8.scd").read_text(encoding="utf-8")
    for event, names in vm_demo.FIELDS.items():
        (part,) = re.findall(rf"^- _{event}_: (.*?)(?=^- _|^$)", text, re.M | re.S)
        assert set(re.findall(r"\*CPUBOLT_(\w+)\*", part)) == set(names)


def test_what_the_daemon_has_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [*RECORDS, DAEMON, {**DAEMON, "CPUBOLT_OPERATION": "online"}]
    said = [
        {"MESSAGE": text}
        for text in (
            "irqbalance (PID 7) was told to leave 12 interrupts to cpuboltd",
            "interrupt 24 (virtio1-input.0) went from CPU 1 to CPU 0: CPU 1 is about to go",
            "interrupts that have their affinity back: 3",
        )
    ]
    assert ran(monkeypatch, both + said, "irqbalance").daemon("online") == [2 * MS]
    for missing in said:
        some = [each for each in said if each is not missing]
        with pytest.raises(BoltError, match="irqbalance: cpuboltd has not said"):
            ran(monkeypatch, both + some, "irqbalance")


def test_guests_of_a_run() -> None:
    # With mttcg a guest begins with two CPUs, and each cycle adds three CPUs. Over its whole life a
    # guest can have 254 CPUs, those included that were removed: many cycles need several guests.
    assert vmdemo.guests(2, "mttcg") == [2]
    assert vmdemo.guests(334, "mttcg") == [84, 84, 84, 82]
    assert vmdemo.guests(334, "icount") == [334]


def test_scripts(tmp_path: Path) -> None:
    path = tmp_path / "script"
    for name, row in vmdemo.variants().items():
        flavours.get(str(row["kernel"]))
        for accel, ways, slots in (("mttcg", 3, 1), ("icount", 2, 0)):
            lines = vmdemo.script(name, 7, accel, 250)
            dwell = row.get("dwell_ms", 250)
            words = f" cycles=7 dwell_ms={dwell} ways={ways} slots={slots}"
            (line,) = (line for line in lines if line.startswith("served cpus=2-4 "))
            assert line.endswith(words)
            assert ("chcpu -d 2-4" in lines) == (slots == 0)
            assert (f"daemon {row.get('daemon')}" in lines) == ("daemon_said" in lines)
            assert lines[-1] == "finish"
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            assert subprocess.run(["sh", "-n", str(path)], check=False).returncode == 0
    with pytest.raises(BoltError, match="no variant 'fast'"):
        vmdemo.script("fast", 1, "mttcg", 250)


def test_the_small_guest() -> None:
    kernel = Kernel("arm64", "bolt", "6.12", "6.12", "", "", Path("none"))
    for name in bare.VARIANTS:
        guest = bare.job(kernel, arch.ARCHES["arm64"], name, 5, 100).guest
        assert (guest.machine.cpus, guest.machine.accel) == (5, "icount")
        assert "write /sys/devices/system/cpu/cpu4/online 0" in guest.script
        assert guest.script[-2].endswith(" cycles=5 dwell_ms=100 ways=1 slots=0")
        assert guest.script[-1] == "expect /sys/devices/system/cpu/online 0-1"


def test_ways_are_those_of_the_guests_program() -> None:
    text = (guestimage.SOURCES / "resize.c").read_text(encoding="utf-8")
    names = ", ".join(f'"{name}"' for name in serving.WAYS)
    assert f"way_names[WAYS] = {{ {names} }}" in text


def test_the_unit_starts_the_daemon_that_is_on_the_medium(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "nodes", lambda _arch, names: {"bin/" + names[0]: names})
    monkeypatch.setattr(guestimage, "program", lambda _arch, _name: b"served")
    target = arch.ARCHES["x86_64"]
    assert set(vmdemo.nodes(target, {})) == {"bin/served"}
    found = vmdemo.nodes(target, {"daemon": "load"})
    unit = found["cpuboltd.service"].data.decode()
    assert "\nExecStart=/run/bolt/bin/cpuboltd --config /run/cpuboltd.conf\n" in unit
    assert "@" not in unit
    assert "bin/cpuboltd" in found


def test_the_agent_sets_cpus(tmp_path: Path) -> None:
    lines = ['{"vcpu":"online 2"}', '{"slot":"add 3"}', '{"vcpu":"offline 2"}', ""]
    (tmp_path / "results.jsonl").write_text("\n".join(lines), encoding="utf-8")
    got: list[Any] = []
    took: list[float] = []

    async def play() -> None:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_unix_connection(sock=theirs)
        asked = asyncio.create_task(agent.set_cpus(ours, tmp_path, took.append, 0.01))
        for answer in (1, 0):
            got.append(json.loads(await reader.readline())["arguments"]["vcpus"])
            writer.write(json.dumps({"return": answer}).encode() + b"\n")
        with contextlib.closing(writer):
            await asked

    with pytest.raises(BoltError, match="does not set CPU 2 offline"):
        asyncio.run(play())
    assert got == [[{"logical-id": 2, "online": True}], [{"logical-id": 2, "online": False}]]
    assert len(took) == 1


def every() -> Measured:
    """Return a run of all variants, with figures of up to two digits before the point."""
    outcomes = [
        served.read([*RECORDS, DAEMON], name, str(row["label"]), [12.5], [12.5])
        for name, row in vmdemo.variants().items()
    ]
    return Measured("x86_64", "10.0.2", "icount", "Debian", 2, outcomes)


def test_a_page_with_timelines(tmp_path: Path) -> None:
    file = tmp_path / "2026-01-01-x86_64-vm-demo.json"
    file.write_text(served.dumps(every()))
    measured = served.load(file)
    assert measured.rows == every().rows
    text = service.page(measured)
    assert "x86_64, Debian, QEMU 10.0.2, icount: virtual time; 2 cycles" in text
    assert text.count("<svg") == 1
    for outcome in measured.rows:
        assert f"<th>{outcome.label}</th>" in text
    assert "in flight during a change" in text


def test_the_table_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(width=80, force_terminal=True, color_system=None, record=True)
    monkeypatch.setattr(ui, "console", console)
    vm_demo.show(every())
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("no room for" in line for line in lines)

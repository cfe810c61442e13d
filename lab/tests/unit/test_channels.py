# SPDX-License-Identifier: GPL-2.0-only
import re
from pathlib import Path

import pytest

from boltlab.errors import BoltError
from boltlab.guest import channels, guestimage, scenario


def test_each_file_has_a_port(tmp_path: Path) -> None:
    folder = tmp_path / "a,b"
    text = " ".join(channels.devices(folder))
    for port, file in channels.FILES.items():
        assert f"path={tmp_path}/a,,b/{file} " in text
        assert f"name={port}" in text


def test_a_guest_that_suspends_has_no_driver_for_its_results(tmp_path: Path) -> None:
    args = channels.devices(tmp_path, suspends=True)
    ports = re.findall(r"virtserialport\S*name=(\S+)", " ".join(args))
    assert ports == ["bolt.trace"]
    for port in ("bolt.results", "bolt.dmesg"):
        [back] = [arg for arg in args if f"mem-path={tmp_path / channels.FILES[port]}" in arg]
        [name] = re.findall(r"id=(\w+)", back)
        assert f"ivshmem-plain,memdev={name},addr={channels.SLOTS[port]:#x}" in args


def test_the_guest_knows_the_slots() -> None:
    text = (guestimage.SOURCES / "channels.c").read_text(encoding="utf-8")
    found = re.findall(r"0000:00:(\w+)\.0/resource2", text)
    assert [int(slot, 16) for slot in found] == [*channels.SLOTS.values()]


@pytest.mark.parametrize(
    ("held", "kept"),
    [
        (b'{"a":1}\n' + bytes(channels.SIZE - 8), b'{"a":1}\n'),
        (bytes(channels.SIZE), b""),
        (b"x" * channels.SIZE, b"x" * channels.SIZE),
        (b"a port\0writes this\n", b"a port\0writes this\n"),
    ],
)
def test_the_zeros_of_shared_memory_are_cut(tmp_path: Path, held: bytes, kept: bytes) -> None:
    path = tmp_path / channels.FILES["bolt.results"]
    path.write_bytes(held)
    channels.cut(tmp_path)
    assert path.read_bytes() == kept
    assert [*tmp_path.iterdir()] == [path]


def test_scenarios_say_whether_the_guest_suspends() -> None:
    table = {"description": "d", "commands": ["c"]}
    assert not scenario.parse("s", table).machine.suspends
    assert scenario.parse("s", {**table, "suspends": True}).machine.suspends
    with pytest.raises(BoltError, match="'suspends' has a wrong value"):
        scenario.parse("s", {**table, "suspends": 1})
    for path in scenario.FOLDER.glob("*.toml"):
        if "/sys/power/state" in path.read_text(encoding="utf-8"):
            assert scenario.load(path.stem).machine.suspends, path.stem

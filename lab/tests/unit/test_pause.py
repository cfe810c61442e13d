# SPDX-License-Identifier: GPL-2.0-only
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boltlab.errors import BoltError
from boltlab.guest import pause

COUNT = """
import os, threading, time
def count():
    while True:
        os.write(1, b"%d\\n" % threading.get_native_id())  # one write, so that lines do not mix
        time.sleep(0.01)
for _ in range(2):
    threading.Thread(target=count).start()
"""


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[tuple[Path, list[int]]]:
    """Run two threads that print their thread IDs all the time; yield the output and the IDs."""
    out = tmp_path / "out"
    with out.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-c", COUNT], stdout=file)
    try:
        end = time.monotonic() + 30
        while len(set(out.read_text().split())) < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
        yield out, sorted({int(word) for word in out.read_text().split()})
    finally:
        process.kill()
        process.wait()


def said(out: Path, thread: int, seconds: float) -> bool:
    before = out.read_text().split().count(str(thread))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if out.read_text().split().count(str(thread)) > before:
            return True
        time.sleep(0.01)
    return False


def test_one_thread_stops_and_the_other_runs(counting: tuple[Path, list[int]]) -> None:
    out, (one, other) = counting
    stopped = pause.Stopped()
    stopped.stop(one)
    stopped.stop(one)
    time.sleep(0.05)
    assert not said(out, one, 0.3)
    assert said(out, other, 30)
    stopped.go(one)
    assert said(out, one, 30)
    stopped.stop(other)
    stopped.all_go()
    assert stopped.threads == set()
    assert said(out, other, 30)


def test_who_cannot_be_stopped() -> None:
    with pytest.raises(BoltError, match="cannot stop a thread"):
        pause.Stopped().stop(2**22 + 1)


def test_what_a_guest_asks_for() -> None:
    text = '{"host":"stop 2"}\n{"output":"x"}\n[1]\n{"host":"go 2"}\n{"host'
    assert pause.wishes(text) == [("stop", 2), ("go", 2)]


class Client:
    """Stand in for the control connection to an emulator: ``threads`` are the threads of CPUs."""

    def __init__(self, threads: list[int]) -> None:
        self.threads = threads

    async def execute(self, command: str) -> Any:
        assert command == "query-cpus-fast"
        return [{"cpu-index": n, "thread-id": tid} for n, tid in enumerate(self.threads)]


def test_wishes_are_granted(tmp_path: Path, counting: tuple[Path, list[int]]) -> None:
    out, (one, other) = counting
    results = tmp_path / "results.jsonl"

    async def follow() -> None:
        client: Any = Client([one, other])
        task = asyncio.create_task(pause.obey(client, tmp_path))
        await asyncio.sleep(0.2)
        results.write_text('{"host":"stop 1"}\n')
        await asyncio.sleep(0.5)
        assert not said(out, other, 0.3)
        results.write_text('{"host":"stop 1"}\n{"host":"go 1"}\n')
        await asyncio.sleep(0.5)
        assert said(out, other, 30)
        task.cancel()

    asyncio.run(follow())


def test_one_thread_for_all_cpus_is_refused(tmp_path: Path) -> None:
    client: Any = Client([os.getpid(), os.getpid()])
    for beside in (pause.obey, pause.AtRandom(3)):
        with pytest.raises(BoltError, match="mttcg"):
            asyncio.run(beside(client, tmp_path))


def test_at_random_everybody_goes_on_in_the_end(
    tmp_path: Path, counting: tuple[Path, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, threads = counting
    watcher = pause.AtRandom(3)

    async def follow() -> None:
        client: Any = Client(threads)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(watcher(client, tmp_path), 3)

    asyncio.run(follow())
    assert watcher.times > 0
    assert all(said(out, thread, 30) for thread in threads)

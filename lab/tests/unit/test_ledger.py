# SPDX-License-Identifier: GPL-2.0-only
"""Figures of a bench's guests are kept, and are taken again for a guest of the same origin only."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from boltlab import paths
from boltlab.bench import ledger
from boltlab.bench.ledger import Origin
from boltlab.errors import BoltError
from boltlab.guest.qemu import GuestResult

ORIGIN = Origin(tree="c0ffee", kernel="stamp", emulator="10.0.2", settings="cpus=4")
CASE = '{"case": "offline1", "batch": 1, "samples": [5]}\n'


def ran(folder: Path, end: str = '{"end": "ok"}\n') -> GuestResult:
    folder.mkdir(exist_ok=True)
    (folder / "console.log").write_text("guest: done\n")
    (folder / "trace.txt").write_text("a trace\n")
    (folder / "results.jsonl").write_text(CASE + end)
    return GuestResult(folder, [])


def test_what_is_kept_outlives_the_run(tmp_path: Path) -> None:
    assert ledger.take("guest-1", ORIGIN) is None
    kept = ledger.keep("guest-1", ORIGIN, ran(tmp_path / "run"))
    shutil.rmtree(tmp_path / "run")
    assert kept.trace.read_text() == "a trace\n"
    taken = ledger.take("guest-1", ORIGIN)
    assert taken is not None
    assert taken.samples() == {"offline1": [5]}
    assert taken.trace.read_text() == "a trace\n"
    assert ledger.take("guest-2", ORIGIN) is None
    ledger.keep("guest-1", ORIGIN, ran(tmp_path / "run"))  # replaces what was kept first
    assert len(list(ledger.folder().iterdir())) == 1
    ledger.forget("guest-1", ORIGIN)
    assert ledger.take("guest-1", ORIGIN) is None


@pytest.mark.parametrize("key", ledger.DIFFERS)
def test_another_origin_is_not_taken(key: str, tmp_path: Path) -> None:
    wanted = [("guest-1", ORIGIN), ("guest-2", ORIGIN)]
    assert ledger.why_none(wanted) == "no figures of this bench's guests are kept"
    ledger.keep("guest-2", replace(ORIGIN, **{key: "another"}), ran(tmp_path / "run"))
    assert [ledger.take(*each) for each in wanted] == [None, None]
    assert ledger.why_none(wanted) == f"since guest-2 was measured: {ledger.DIFFERS[key]}"


def test_every_part_of_an_origin_has_its_words() -> None:
    assert list(ledger.DIFFERS) == list(Origin.__dataclass_fields__)


def test_damaged_figures_are_not_taken(tmp_path: Path) -> None:
    ledger.keep("guest-1", ORIGIN, ran(tmp_path / "run", end='{"en'))
    assert ledger.take("guest-1", ORIGIN) is None


def test_what_cannot_be_written_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(BoltError, match=r"cannot keep figures in .*: No space left"):
        ledger.keep("guest-1", ORIGIN, ran(tmp_path / "run"))
    assert ledger.take("guest-1", ORIGIN) is None


def test_another_call_keeps_the_same_guest_just_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another call puts its folder in place between rmtree() and rename(), once or always."""
    remove = shutil.rmtree

    def quicker(times: int) -> None:
        left = iter(range(times))

        def rmtree(path: Path, **more: Any) -> None:
            if next(left, None) is None:
                remove(path, **more)

        monkeypatch.setattr(shutil, "rmtree", rmtree)

    first = ledger.keep("guest-1", ORIGIN, ran(tmp_path / "run"))
    quicker(times=1)
    assert ledger.keep("guest-1", ORIGIN, ran(tmp_path / "run")).folder == first.folder
    assert ledger.take("guest-1", ORIGIN) is not None
    quicker(times=99)
    with pytest.raises(BoltError, match=r"cannot keep figures in .*: Directory not empty"):
        ledger.keep("guest-1", ORIGIN, ran(tmp_path / "run"))


def test_the_oldest_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "KEPT", 2)
    for number in range(3):
        ledger.keep(f"guest-{number}", ORIGIN, ran(tmp_path / "run"))
        for folder in ledger.folder().glob(f"guest-{number}-*"):
            os.utime(folder, (number, number))
    assert [ledger.take(f"guest-{number}", ORIGIN) is None for number in range(3)] == [
        True, False, False,
    ]  # fmt: skip


def test_the_tree_is_what_figures_depend_on(tmp_path: Path) -> None:
    def changed(name: str, text: str) -> bool:
        before = ledger.fingerprint.__wrapped__(tmp_path)
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        return bool(ledger.fingerprint.__wrapped__(tmp_path) != before)

    assert changed("kernel/overlay/a.c", "1")
    assert changed("lab/guest/b.c", "1")
    assert changed("lab/guest/b.c", "2")
    assert not changed("lab/guest/b.c", "2")
    assert not changed("docs/c.md", "1")
    assert not changed("lab/__pycache__/d.pyc", "1")
    assert not changed("lab/.ruff_cache/e", "1")
    assert ledger.fingerprint() == ledger.fingerprint.__wrapped__(paths.REPO)

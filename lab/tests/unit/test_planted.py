# SPDX-License-Identifier: GPL-2.0-only
import json
import re
from pathlib import Path
from typing import Any

import pytest

from boltlab import paths, versions
from boltlab.arch import ARCHES
from boltlab.errors import BoltError, EmulatorError
from boltlab.guest import guestimage, qemu
from boltlab.guest.qemu import Guest, GuestResult
from boltlab.kernel import build
from boltlab.kernel.build import Kernel
from boltlab.kernel.source import Source
from boltlab.torture import planted

BUGS = planted.bugs()
GOOD: dict[str, Any] = {"what": "x", "scenario": "quiet", "says": "storm"}


def test_there_are_at_least_twelve() -> None:
    assert len(BUGS) >= 12
    assert any("arm64" in bug.arches for bug in BUGS.values())


@pytest.mark.parametrize("name", BUGS)
def test_every_bug_is_a_small_patch(name: str) -> None:
    bug = BUGS[name]
    text = bug.patch.read_text(encoding="utf-8")
    assert "\n--- a/" in text
    assert re.compile(bug.says)
    assert bug.check.kernel == planted.FLAVOUR
    changed = [line for line in text.splitlines() if re.match(r"[+-](?![+-]{2})", line)]
    assert 0 < len(changed) <= 12


def test_every_patch_is_in_the_table_and_the_docs() -> None:
    assert {path.stem for path in planted.FOLDER.glob("*.patch")} == set(BUGS)
    page = (paths.REPO / "docs" / "planted.md").read_text(encoding="utf-8")
    assert [name for name in BUGS if f"`{name}`" not in page] == []


def test_a_bug_is_of_series_that_there_are() -> None:
    known = {version.series for version in versions.load()}
    for bug in BUGS.values():
        assert {*bug.series} <= known
    here = planted.parse("a", {**GOOD, "series": ["6.12"]})
    assert (here.is_of("6.12"), here.is_of("7.3")) == (True, False)
    assert planted.parse("a", GOOD).is_of("7.3")


def test_keys_of_the_scenario_change_the_check() -> None:
    bug = planted.parse("a", {**GOOD, "commands": ["kunit"], "timeout": 5})
    assert (bug.check.commands, bug.check.timeout) == (("kunit",), 5)
    for row, text in (
        ({**GOOD, "whatever": 1}, "unknown key 'whatever'"),
        ({**GOOD, "says": ""}, "'says' is missing"),
    ):
        with pytest.raises(BoltError, match=text):
            planted.parse("a", row)


def test_a_patch_is_applied_though_lines_have_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planted, "FOLDER", tmp_path)
    (tmp_path / "a.patch").write_text("--- a/f.c\n+++ b/f.c\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "f.c").write_text("0\n0\na\nb\nc\n")
    bug = planted.parse("a", GOOD)
    assert planted.plant(bug, tree) == "a"
    assert (tree / "f.c").read_text() == "0\n0\na\nx\nc\n"
    with pytest.raises(BoltError, match="the planted bug a does not apply"):
        planted.plant(bug, tree)


def test_a_failure_of_another_kind_does_not_count() -> None:
    bug = planted.parse("a", {**GOOD, "says": "storm"})
    assert planted.judge(bug, "x86_64", "the guest failed at 'run /bin/storm'", "d").caught
    assert not planted.judge(bug, "x86_64", "QEMU ended with status 1", "d").caught
    assert not planted.judge(bug, "x86_64", "", "d").caught
    hung = "the guest hung: no end after 600 s; the console's last line: x; CPU 0 in storm_wait"
    for said in (hung, "QEMU ended with status -6: a storm"):
        assert not planted.judge(bug, "x86_64", said, "d").caught
    bug = planted.parse("a", {**GOOD, "says": "storm|hung"})
    assert planted.judge(bug, "x86_64", hung, "d").caught


@pytest.mark.parametrize("kind", [BoltError, EmulatorError])
def test_a_guest_that_cannot_run_is_no_complaint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[BoltError]
) -> None:
    def run(guest: Guest, name: str) -> GuestResult:
        raise kind("qemu-system-x86_64 did not start: storm")

    monkeypatch.setattr(qemu, "run", run)
    monkeypatch.setattr("boltlab.guest.selftest.build", lambda arch, tree, names: {})
    built = Kernel("x86_64", "planted", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)
    with pytest.raises(BoltError, match="did not start"):
        planted.check(planted.parse("a", GOOD), "x86_64", built)


def test_a_sound_check_runs_again_only_if_something_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as nothing has changed, not even the kernel without the bug is built."""
    built = Kernel("x86_64", "planted", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)
    bug, target = planted.parse("a", GOOD), ARCHES["x86_64"]
    source = Source(tmp_path, "6.12.1-0", "6.12.1", versions.default())
    done: list[str] = []

    def kernel(*_: object) -> Kernel:
        done.append("kernel")
        return built

    def check(*_: object) -> str:
        done.append("check")
        return ""

    def again() -> list[str]:
        done.clear()
        planted.require_sound(bug, target, source, 1)
        return done

    program, module = tmp_path / "guest" / "init.c", tmp_path / "guest" / "module" / "module.c"
    module.parent.mkdir(parents=True)
    program.touch()
    module.touch()
    monkeypatch.setattr(guestimage, "SOURCES", program.parent)
    monkeypatch.setattr(build, "stamp_of", lambda *_: "stamp")
    monkeypatch.setattr(planted, "kernel", kernel)
    monkeypatch.setattr(planted, "check", check)
    assert again() == ["kernel", "check"]
    assert again() == []
    for file in (program, module):
        file.write_text("changed")
        assert again() == ["kernel", "check"]
    monkeypatch.setattr(build, "stamp_of", lambda *_: "other")
    assert again() == ["kernel", "check"]


def test_what_the_console_is_to_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "nothing"

    def run(guest: Guest, name: str) -> GuestResult:
        (tmp_path / "console.log").write_text(said, encoding="utf-8")
        return GuestResult(tmp_path, [])

    monkeypatch.setattr(qemu, "run", run)
    monkeypatch.setattr("boltlab.guest.selftest.build", lambda arch, tree, names: {})
    built = Kernel("x86_64", "planted", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)
    bug = planted.parse("a", {**GOOD, "expects": "settle: cpu=3"})
    assert planted.check(bug, "x86_64", built) == "the console does not show 'settle: cpu=3'"
    said = "[1] settle: cpu=3"
    assert planted.check(bug, "x86_64", built) == ""


def test_verdicts_replace_older_ones(tmp_path: Path) -> None:
    path = tmp_path / "planted.json"
    bug = BUGS["wrong-order"]
    planted.save(path, [planted.judge(bug, "x86_64", "", "2026-01-01")])
    planted.save(path, [planted.judge(bug, "arm64", "", "2026-01-02")])
    planted.save(path, [planted.judge(bug, "x86_64", bug.says, "2026-01-03")])
    rows = json.loads(path.read_text(encoding="utf-8"))["bugs"]
    assert [(row["arch"], row["caught"]) for row in rows] == [("arm64", False), ("x86_64", True)]

# SPDX-License-Identifier: GPL-2.0-only
"""Hooks: parsing, applying with fuzz 0, refreshing, hunks that moved."""

from pathlib import Path

import pytest

from boltlab.errors import BoltError
from boltlab.kernel import hooks, refresh
from tests.unit.conftest import CPU_C, MESSAGE, make_hook, write_tree


@pytest.fixture
def folder(bolt_kernel: Path) -> Path:
    return bolt_kernel / "hooks" / "6.12"


@pytest.fixture
def hook(kernel_tree: Path, folder: Path) -> Path:
    edits = {"kernel/cpu.c": ("\tb4();\n", "\tb4();\n\tbolt();\n")}
    return make_hook(kernel_tree, folder, "0001-call.patch", edits)


def test_parse(hook: Path) -> None:
    found = hooks.parse(hook)
    assert found.message == MESSAGE
    assert found.files == ["kernel/cpu.c"]
    (hunk,) = found.hunks
    assert (hunk.lines, hunk.new_lines, hunk.added, hunk.removed) == (6, 7, 1, 0)
    assert hunk.function == "static int second(void)"


def test_parse_format_patch_signature(hook: Path) -> None:
    before = hooks.parse(hook).hunks
    hook.write_text(hook.read_text() + "-- \n2.39.5\n")
    assert hooks.parse(hook).hunks == before


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("nothing\n", "no 'diff --git' line"),
        ("diff --git a/x b/x\n", "has no hunk"),
        ("diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n", "overlay/ adds"),
        ("diff --git a/x b/x\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", ": x is new or gone"),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n a\n+b\n", "cut short"),
    ],
)
def test_parse_malformed(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "0001-x.patch"
    path.write_text(text)
    with pytest.raises(BoltError, match=error):
        hooks.parse(path)


def test_apply_in_order(kernel_tree: Path, folder: Path, hook: Path) -> None:
    hooked = CPU_C.replace("b4();\n", "b4();\n\tbolt();\n")
    once = write_tree(folder.parent / "once", {"kernel/cpu.c": hooked})
    edits = {"kernel/cpu.c": ("\tbolt();\n", "\tbolt(1);\n")}
    make_hook(once, folder, "0002-argument.patch", edits)
    files = hooks.apply(hooks.load(folder), kernel_tree, "6.12.117")
    assert list(files) == ["kernel/cpu.c"]
    assert files["kernel/cpu.c"].decode() == CPU_C.replace("\tb4();\n", "\tb4();\n\tbolt(1);\n")
    assert (kernel_tree / "kernel/cpu.c").read_text() == CPU_C, "the source changed"


def test_offset_is_fine_fuzz_is_not(kernel_tree: Path, folder: Path, hook: Path) -> None:
    file = kernel_tree / "kernel/cpu.c"
    file.write_text("/* one line more */\n" * 7 + CPU_C)
    assert (
        b"\tbolt();\n" in hooks.apply(hooks.load(folder), kernel_tree, "6.12.118")["kernel/cpu.c"]
    )
    file.write_text(CPU_C.replace("b2();", "c2();"))
    with pytest.raises(BoltError) as failure:
        hooks.apply(hooks.load(folder), kernel_tree, "6.12.118")
    message = str(failure.value)
    for part in ("0001-call.patch", "linux 6.12.118", "kernel/cpu.c hunk 1", "second(void)"):
        assert part in message
    assert "\n" not in message
    assert sorted(path.name for path in file.parent.iterdir()) == ["Makefile", "cpu.c"]


def test_already_applied(kernel_tree: Path, folder: Path, hook: Path) -> None:
    file = kernel_tree / "kernel/cpu.c"
    file.write_bytes(hooks.apply(hooks.load(folder), kernel_tree, "6.12.117")["kernel/cpu.c"])
    with pytest.raises(BoltError, match="does not apply"):
        hooks.apply(hooks.load(folder), kernel_tree, "6.12.117")


def test_file_is_gone(kernel_tree: Path, folder: Path, hook: Path) -> None:
    (kernel_tree / "kernel/cpu.c").unlink()
    with pytest.raises(BoltError, match=r"linux 6\.12\.200 has no kernel/cpu\.c"):
        hooks.apply(hooks.load(folder), kernel_tree, "6.12.200")


def test_refresh_without_need(kernel_tree: Path, folder: Path, hook: Path) -> None:
    before = hook.read_text()
    assert refresh.refresh(folder, kernel_tree, "6.12.117") in ([], [hook.name])
    # The first refresh may change the index lines that make_hook() wrote; the second one may not.
    assert refresh.refresh(folder, kernel_tree, "6.12.117") == []
    assert hooks.parse(hook).hunks == hooks.parse_text(hook, before).hunks


def test_refresh_moves_lines(kernel_tree: Path, folder: Path, hook: Path) -> None:
    file = kernel_tree / "kernel/cpu.c"
    file.write_text("/* one line more */\n" * 7 + CPU_C)
    old = hooks.parse(hook)
    assert refresh.refresh(folder, kernel_tree, "6.12.118") == [hook.name]
    new = hooks.parse(hook)
    assert new.message == MESSAGE
    assert new.hunks[0].start == old.hunks[0].start + 7
    assert new.hunks[0].function == old.hunks[0].function
    assert hooks.apply([new], kernel_tree, "6.12.118")


def test_refresh_keeps_bytes_that_are_no_utf8(kernel_tree: Path, folder: Path, hook: Path) -> None:
    old, new = b"\tb2();\n", b"\tb2(); /* \xfc */\n"
    file = kernel_tree / "kernel/cpu.c"
    file.write_bytes(b"/* one line more */\n" * 7 + CPU_C.encode().replace(old, new))
    hook.write_bytes(hook.read_bytes().replace(old, new))
    assert refresh.refresh(folder, kernel_tree, "6.12.118") == [hook.name]
    assert b" " + new in hook.read_bytes()
    applied = hooks.apply(hooks.load(folder), kernel_tree, "6.12.118")
    assert new in applied["kernel/cpu.c"]
    assert refresh.refresh(folder, kernel_tree, "6.12.118") == []


def test_refresh_notices_another_function(kernel_tree: Path, folder: Path, hook: Path) -> None:
    file = kernel_tree / "kernel/cpu.c"
    file.write_text(CPU_C.replace("int second(", "int other("))
    before = hook.read_text()
    with pytest.raises(BoltError, match=r"'second' now lands in 'other'"):
        refresh.refresh(folder, kernel_tree, "6.12.118")
    assert hook.read_text() == before


def test_refresh_replaces_a_label(kernel_tree: Path, folder: Path, hook: Path) -> None:
    hook.write_text(hook.read_text().replace("@@ static int second(void)", "@@ out:"))
    assert refresh.refresh(folder, kernel_tree, "6.12.117") == [hook.name]
    assert hooks.parse(hook).hunks[0].function == "static int second(void)"


def test_refresh_whatever_the_order_of_files(kernel_tree: Path, folder: Path) -> None:
    edits = {
        "kernel/cpu.c": ("\tb4();\n", "\tb4();\n\tbolt();\n"),
        "kernel/Makefile": ("obj-y += cpu.o\n", "obj-y += cpu.o bolt.o\n"),
    }
    path = make_hook(kernel_tree, folder, "0001-both.patch", edits)
    message, first, second = path.read_text().split("diff --git ")
    path.write_text(f"{message}diff --git {second}diff --git {first}")
    assert refresh.refresh(folder, kernel_tree, "6.12.117") == [path.name]
    assert hooks.parse(path).files == ["kernel/Makefile", "kernel/cpu.c"]


def test_refresh_changes_all_or_nothing(kernel_tree: Path, folder: Path, hook: Path) -> None:
    edits = {"kernel/Makefile": ("obj-y += cpu.o\n", "obj-y += cpu.o bolt.o\n")}
    bad = make_hook(kernel_tree, folder, "0002-makefile.patch", edits)
    (kernel_tree / "kernel/cpu.c").write_text("/* one line more */\n" + CPU_C)
    (kernel_tree / "kernel/Makefile").write_text("obj-y := cpu.o\n")
    before = {path: path.read_text() for path in (hook, bad)}
    with pytest.raises(BoltError, match=r"0002-makefile\.patch does not apply"):
        refresh.refresh(folder, kernel_tree, "6.12.118")
    assert {path: path.read_text() for path in before} == before
    assert len(list(folder.iterdir())) == 2


def test_line_map() -> None:
    old = b"a\nb\nc\nd\n"
    assert hooks.line_map(old, b"a\nx\ny\nc\nd\n") == {1: 1, 3: 4, 4: 5}
    assert hooks.line_map(old, old) == {1: 1, 2: 2, 3: 3, 4: 4}

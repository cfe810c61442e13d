# SPDX-License-Identifier: GPL-2.0-only
"""Build trees: copying a source, adding and removing Bolt's files, file times, which make reads."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from boltlab import paths
from boltlab.errors import BoltError
from boltlab.kernel import tree
from boltlab.kernel.source import COMPLETE, Source
from boltlab.kernel.tree import Content
from tests.unit.conftest import CPU_C, make_hook, write_tree

OLD = 1_600_000_000


def age(*files: Path) -> None:
    for path in files:
        os.utime(path, (OLD, OLD))


def mtime(path: Path) -> float:
    return path.stat().st_mtime


@pytest.fixture
def copied(kernel_tree: Path, tmp_path: Path) -> Path:
    age(*(path for path in kernel_tree.rglob("*") if path.is_file()))
    target = tmp_path / "build" / "copied"
    tree.copy(kernel_tree, target, "copying")
    return target


def test_copy_keeps_times_and_drops_the_stamp(kernel_tree: Path, tmp_path: Path) -> None:
    (kernel_tree / COMPLETE).touch()
    age(kernel_tree / "kernel/cpu.c")
    target = tmp_path / "build" / "x"
    tree.copy(kernel_tree, target, "copying")
    assert mtime(target / "kernel/cpu.c") == OLD
    assert not (target / COMPLETE).exists()


def test_copy_relocates_the_records_of_tools(kernel_tree: Path, tmp_path: Path) -> None:
    record = kernel_tree / "tools/objtool/.elf.o.cmd"
    write_tree(kernel_tree, {"tools/objtool/.elf.o.cmd": f"cmd_{kernel_tree}/tools/objtool/elf.o"})
    age(record)
    target = tmp_path / "build" / "x"
    tree.copy(kernel_tree, target, "copying")
    copied = target / "tools/objtool/.elf.o.cmd"
    assert copied.read_text() == f"cmd_{target}/tools/objtool/elf.o"
    assert mtime(copied) == OLD


def test_copy_replaces_what_was_left_half(kernel_tree: Path, tmp_path: Path) -> None:
    write_tree(tmp_path / "build" / "x.half", {"kernel/old.c": ""})
    tree.copy(kernel_tree, tmp_path / "build" / "x", "copying")
    assert not (tmp_path / "build" / "x" / "kernel/old.c").exists()
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["x"]


def test_copy_needs_space(
    kernel_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "SPACE", 1e9)
    with pytest.raises(BoltError, match=r"copying needs .* GB in"):
        tree.copy(kernel_tree, tmp_path / "build" / "x", "copying")
    assert not list((tmp_path / "build").iterdir())


def test_sync_writes_only_what_differs(copied: Path, kernel_tree: Path) -> None:
    files = {
        "kernel/cpu.c": Content(b"changed\n"),
        "kernel/bolt/request.c": Content(b"new\n"),
        "kernel/Makefile": Content((kernel_tree / "kernel/Makefile").read_bytes()),
    }
    assert tree.sync(copied, kernel_tree, files) == ["kernel/cpu.c", "kernel/bolt/request.c"]
    assert mtime(copied / "kernel/Makefile") == OLD
    assert mtime(copied / "kernel/cpu.c") > OLD
    age(copied / "kernel/cpu.c", copied / "kernel/bolt/request.c")
    assert tree.sync(copied, kernel_tree, files) == []
    assert mtime(copied / "kernel/cpu.c") == OLD
    files["kernel/bolt/request.c"] = Content(b"newer\n")
    assert tree.sync(copied, kernel_tree, files) == ["kernel/bolt/request.c"]


def test_sync_takes_back(copied: Path, kernel_tree: Path) -> None:
    files = {"kernel/cpu.c": Content(b"changed\n"), "kernel/bolt/request.c": Content(b"new\n")}
    tree.sync(copied, kernel_tree, files)
    assert sorted(tree.sync(copied, kernel_tree, {})) == ["kernel/bolt/request.c", "kernel/cpu.c"]
    assert (copied / "kernel/cpu.c").read_text() == CPU_C
    assert mtime(copied / "kernel/cpu.c") > OLD, "make would keep the object of the changed file"
    assert not (copied / "kernel/bolt/request.c").exists()
    assert tree.sync(copied, kernel_tree, {}) == []


def test_sync_interrupted(copied: Path, kernel_tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = tree._write

    def stop(path: Path, content: Content) -> None:
        if path.name == "late.c":
            raise KeyboardInterrupt
        write(path, content)

    files = {"kernel/cpu.c": Content(b"changed\n"), "late.c": Content(b"")}
    with monkeypatch.context() as patch:
        patch.setattr(tree, "_write", stop)
        with pytest.raises(KeyboardInterrupt):
            tree.sync(copied, kernel_tree, files)
    tree.sync(copied, kernel_tree, {})
    assert (copied / "kernel/cpu.c").read_text() == CPU_C


def test_sync_modes(copied: Path, kernel_tree: Path) -> None:
    tree.sync(copied, kernel_tree, {"run.sh": Content(b"", executable=True)})
    assert os.access(copied / "run.sh", os.X_OK)
    assert tree.sync(copied, kernel_tree, {"run.sh": Content(b"")}) == ["run.sh"]
    assert not os.access(copied / "run.sh", os.X_OK)
    assert json.loads((copied / tree.MANIFEST).read_text()) == ["run.sh"]


def test_bolt_files(
    kernel_tree: Path, bolt_kernel: Path, make_source: Callable[[Path], Source]
) -> None:
    overlay = {"kernel/bolt/request.c": "x\n", "tools/t.sh": "#!/bin/sh\n"}
    write_tree(bolt_kernel / "overlay", overlay)
    (bolt_kernel / "overlay/tools/t.sh").chmod(0o755)
    edits = {"kernel/Makefile": ("cpu.o\n", "cpu.o bolt/\n")}
    make_hook(kernel_tree, bolt_kernel / "hooks/6.12", "0001-makefile.patch", edits)
    source = make_source(kernel_tree)
    assert tree.bolt_files(source, bolt_kernel) == {
        "kernel/Makefile": Content(b"obj-y += cpu.o bolt/\n"),
        "kernel/bolt/request.c": Content(b"x\n"),
        "tools/t.sh": Content(b"#!/bin/sh\n", executable=True),
    }
    write_tree(bolt_kernel / "overlay", {"kernel/cpu.c": ""})
    with pytest.raises(BoltError, match=r"overlay/kernel/cpu\.c is in linux 6\.12\.117 already"):
        tree.bolt_files(source, bolt_kernel)


def test_fingerprint(
    kernel_tree: Path, bolt_kernel: Path, make_source: Callable[[Path], Source]
) -> None:
    source = make_source(kernel_tree)
    seen = [tree.fingerprint(source.version, bolt_kernel)]
    steps: list[tuple[str, str]] = [
        ("overlay/a.c", "1"),
        ("overlay/a.c", "2"),
        ("hooks/6.12/0001-x.patch", "1"),
        ("overlay/b/a.c", "2"),
    ]
    for name, text in steps:
        write_tree(bolt_kernel, {name: text})
        seen.append(tree.fingerprint(source.version, bolt_kernel))
    (bolt_kernel / "overlay/a.c").rename(bolt_kernel / "overlay/c.c")
    seen.append(tree.fingerprint(source.version, bolt_kernel))
    assert len(set(seen)) == len(seen)
    write_tree(bolt_kernel, {"hooks/6.12/series.toml": ""})
    same = tree.fingerprint(source.version, bolt_kernel)
    assert same == seen[-1], "series.toml does not change kernels"


def test_words_do_not_change_the_mark(
    kernel_tree: Path, bolt_kernel: Path, make_source: Callable[[Path], Source]
) -> None:
    version = make_source(kernel_tree).version
    folder = bolt_kernel / "hooks/6.12"
    hook = folder / "0001-x.patch"

    def mark(text: str, added: str) -> str:
        edits = {"kernel/cpu.c": ("\tb0();\n", f"{added}\tb0();\n")}
        hook.unlink(missing_ok=True)
        make_hook(kernel_tree, folder, hook.name, edits)
        write_tree(bolt_kernel, {"overlay/a.c": text, "overlay/Documentation/a.rst": text})
        return tree.mark(version, bolt_kernel)

    words = [
        mark('f("/*", a);\n', "\tc();\n"),
        mark('/* Why\n * f. */\nf("/*",\n  a); // b\n', "\t/* c, not d. */\n\tc();\n"),
        mark('f("/*", a); /* a */ /* b */', "\t/*\n\t * It's c.\n\t */\n\n\tc();\n"),
    ]
    assert len(set(words)) == 1
    code = [
        mark('f("/*", b);\n', "\tc();\n"),
        mark('f("*/", a);\n', "\tc();\n"),
        mark('f("/*", a);\n', "\td();\n"),
        mark('f("/*", a);\n', "\tc(); /* c */ d();\n"),
        words[0],
    ]
    assert len(set(code)) == len(code)


def test_changes_inside_a_comment() -> None:
    """A hunk may add lines to a comment that begins before the hunk."""
    assert tree.code("a.c", " * It's more.\n */\nf();\n") == "f();"
    assert tree.code("a.c", "x = a\n * b;\n") == "x = a * b;"
    assert tree.code("Makefile", "a := b /* c\n") == "a := b /* c"


def test_repository_overlay_is_where_the_lab_looks() -> None:
    assert (paths.KERNEL / "versions.toml").is_file()


def test_files_of_some_hooks(
    kernel_tree: Path, bolt_kernel: Path, make_source: Callable[[Path], Source]
) -> None:
    """The files of some hooks have no overlay file among them, and no change by another hook."""
    folder = bolt_kernel / "hooks/6.12"
    make_hook(kernel_tree, folder, "0001-split.patch", {"kernel/cpu.c": ("\tb4();\n", "\tb();\n")})
    edits = {"kernel/Makefile": ("cpu.o\n", "cpu.o bolt/\n")}
    make_hook(kernel_tree, folder, "0002-makefile.patch", edits)
    source = make_source(kernel_tree)
    assert tree.hooked_files(source, {"0001-split.patch"}) == {
        "kernel/cpu.c": Content(CPU_C.replace("\tb4();\n", "\tb();\n").encode())
    }
    assert set(tree.hooked_files(source)) == {"kernel/cpu.c", "kernel/Makefile"}


PREPARES = """
[[posting]]
name = "preparation"
title = "t"
cover = "c"

[[commit]]
subject = "cpu: split"
refactor = true
overlay = ["kernel/cpuhp.h"]
hooks = ["0001-split.patch"]
"""


def test_files_that_prepare_for_bolt(
    kernel_tree: Path, bolt_kernel: Path, make_source: Callable[[Path], Source]
) -> None:
    """Files that prepare for Bolt are those of commits that refactor, including new files."""
    folder = bolt_kernel / "hooks/6.12"
    make_hook(kernel_tree, folder, "0001-split.patch", {"kernel/cpu.c": ("\tb4();\n", "\tb();\n")})
    write_tree(bolt_kernel / "overlay", {"kernel/cpuhp.h": "x\n", "kernel/bolt/a.c": "y\n"})
    write_tree(folder, {"series.toml": PREPARES})
    files = tree.prepared_files(make_source(kernel_tree), bolt_kernel)
    assert sorted(files) == ["kernel/cpu.c", "kernel/cpuhp.h"]
    assert files["kernel/cpuhp.h"].data == b"x\n"

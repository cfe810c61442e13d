# SPDX-License-Identifier: GPL-2.0-only
"""The lab's kernel modules, built in a tree whose make only copies."""

from dataclasses import replace
from pathlib import Path

import pytest

from boltlab import arch
from boltlab.errors import BoltError
from boltlab.guest import modules
from boltlab.kernel.build import BUILT, Kernel
from tests.unit.conftest import write_tree

HOST = arch.host()
MAKEFILE = """
modules_prepare:
\t@echo prepared >>prepared
modules:
\t@cat $(M)/ballast.c $(KBUILD_EXTRA_SYMBOLS) >$(M)/ballast.ko && ! grep broken $(M)/ballast.c
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "guest"
    write_tree(path, {"ballast/Kbuild": "obj-m := ballast.o", "ballast/ballast.c": "module\n"})
    monkeypatch.setattr(modules, "FOLDER", path)
    return path


@pytest.fixture
def kernel(cache: Path) -> Kernel:
    kernel = Kernel(HOST.name, "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", cache)
    files = {"Makefile": MAKEFILE, "vmlinux.symvers": "symbols\n", BUILT: kernel.stamp}
    write_tree(kernel.tree, files)
    return kernel


def rebuilt(kernel: Kernel) -> Kernel:
    """Return the kernel that is in the tree of ``kernel`` after another build."""
    write_tree(kernel.tree, {BUILT: "new"})
    return replace(kernel, stamp="new")


def prepared(kernel: Kernel) -> int:
    return len((kernel.tree / "prepared").read_text().splitlines())


def test_there_are_modules() -> None:
    assert "ballast" in modules.names()


def test_built_once_and_again_on_change(folder: Path, kernel: Kernel) -> None:
    first = modules.build(kernel, "ballast")
    assert first.read_text() == "module\nsymbols\n"
    assert modules.build(kernel, "ballast") == first
    assert prepared(kernel) == 1
    (folder / "ballast" / "ballast.c").write_text("other\n")
    assert modules.build(kernel, "ballast").read_text() == "other\nsymbols\n"
    assert prepared(kernel) == 2
    modules.build(rebuilt(kernel), "ballast")
    assert prepared(kernel) == 3
    # Outdated modules are removed, and no half-made module stays.
    assert len(list(first.parent.glob("*"))) == 1


def test_nodes_of_an_initramfs(folder: Path, kernel: Kernel) -> None:
    assert modules.nodes(kernel, []) == {}
    nodes = modules.nodes(kernel, ["ballast"])
    assert nodes["lib/ballast.ko"].data == b"module\nsymbols\n"


def test_errors(folder: Path, kernel: Kernel) -> None:
    with pytest.raises(BoltError, match=r"no module 'none' \(there are: ballast\)"):
        modules.build(kernel, "none")
    (folder / "ballast" / "ballast.c").write_text("broken\n")
    with pytest.raises(BoltError, match="building the module ballast"):
        modules.build(kernel, "ballast")
    with pytest.raises(BoltError, match="the tree of the debug kernel is gone"):
        modules.build(replace(kernel, flavour="debug"), "ballast")


def test_the_kernels_own_modules(folder: Path, kernel: Kernel) -> None:
    made = "modules:\n\t@echo made >>made && mkdir -p a && echo code >a/b.ko\n"
    made += "\t@echo a/b.o >modules.order\n"
    write_tree(kernel.tree, {"Makefile": made})
    assert modules.nodes(kernel, ["b"])["lib/b.ko"].data == b"code\n"
    modules.built_in_tree(kernel, "b")
    new = rebuilt(kernel)
    modules.built_in_tree(new, "b")
    assert (kernel.tree / "made").read_text().split() == ["made", "made"]
    with pytest.raises(BoltError, match=r"no module 'c' \(there are: ballast, b\)"):
        modules.nodes(new, ["c"])
    gone = replace(kernel, flavour="gone")
    with pytest.raises(BoltError, match="the tree of the gone kernel is gone"):
        modules.built_in_tree(gone, "b")


def test_no_module_is_built_in_the_tree_of_another_kernel(folder: Path, kernel: Kernel) -> None:
    for mark in ("other", None):  # files of another kernel are in the tree, or a build has failed
        (kernel.tree / BUILT).unlink()
        if mark:
            write_tree(kernel.tree, {BUILT: mark})
        for build in (modules.build, modules.built_in_tree):
            with pytest.raises(BoltError, match=r"the tree of the bolt kernel .* has changed"):
                build(kernel, "ballast")
    assert not (kernel.tree / "prepared").exists()

# SPDX-License-Identifier: GPL-2.0-only
"""Building commit by commit: the tree after each commit, and which files are built."""

from collections.abc import Callable
from pathlib import Path

import pytest

from boltlab import paths
from boltlab.arch import ARCHES
from boltlab.kernel import each
from boltlab.kernel.build import Prepared
from boltlab.kernel.each import Step
from boltlab.kernel.series import Commit
from boltlab.kernel.source import Source
from boltlab.kernel.tree import Content
from tests.unit.conftest import make_hook, write_tree

SERIES = """# SPDX-License-Identifier: GPL-2.0-only
[[posting]]
name = "all"
title = "t"
cover = "cover.txt"

[[commit]]
posting = "all"
subject = "cpu/bolt: first"
overlay = ["kernel/bolt/*"]

[[commit]]
posting = "all"
subject = "cpu/bolt: second"
hooks = ["0001-x.patch"]
adds = { "kernel/bolt/a.c" = ["late"] }
"""


def test_steps(
    kernel_tree: Path,
    bolt_kernel: Path,
    make_source: Callable[[Path], Source],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = bolt_kernel / "hooks/6.12"
    write_tree(bolt_kernel / "overlay", {"kernel/bolt/a.c": "int now;\nint late;\n"})
    make_hook(kernel_tree, folder, "0001-x.patch", {"kernel/cpu.c": ("\tb4();\n", "\tb();\n")})
    write_tree(folder, {"series.toml": SERIES})
    monkeypatch.setattr(paths, "KERNEL", bolt_kernel)
    first, second = each.steps(make_source(kernel_tree))
    assert first.changed == ["kernel/bolt/a.c"]
    assert first.files == {"kernel/bolt/a.c": Content(b"int now;\n")}
    assert sorted(second.changed) == ["kernel/bolt/a.c", "kernel/cpu.c"]
    assert second.files["kernel/bolt/a.c"].data == b"int now;\nint late;\n"
    assert b"\tb();\n" in second.files["kernel/cpu.c"].data


FILES = {
    "kernel/cpu.c": Content(b"#include <linux/bolt.h>\n"),
    "kernel/sched/core.c": Content(b""),
    "kernel/bolt/a.c": Content(b'#include <linux/bolt.h>\n#include "a.h"\n'),
    "kernel/bolt/a.h": Content(b""),
    "include/linux/bolt.h": Content(b""),
    "arch/x86/kernel/bolt.c": Content(b""),
    "arch/x86/kernel/Makefile": Content(b"obj-$(CONFIG_BOLT) += bolt.o\n"),
}


@pytest.mark.parametrize(
    ("changed", "selected", "targets"),
    [
        (["kernel/cpu.c"], False, ["kernel/cpu.o"]),
        (["kernel/sched/core.c"], False, []),  # the pristine kernel has no object of it
        (["kernel/bolt/a.c"], False, []),
        (["kernel/bolt/a.h"], True, ["kernel/bolt/", "kernel/cpu.o"]),
        (["include/linux/bolt.h"], False, ["kernel/cpu.o"]),
        (["arch/x86/kernel/bolt.c"], True, ["arch/x86/kernel/bolt.o"]),
    ],
)
def test_targets(
    tmp_path: Path,
    make_source: Callable[[Path], Source],
    changed: list[str],
    selected: bool,
    targets: list[str],
) -> None:
    pristine = write_tree(
        tmp_path / "pristine",
        {"kernel/cpu.c": "", "kernel/cpu.o": "", "kernel/sched/core.c": "", "arch/x86/x": ""},
    )
    ready = Prepared(pristine, "", tmp_path / "log", 0)
    run = each.Run(ARCHES["x86_64"], make_source(pristine), ready, pristine, 1, selected)
    assert each.targets(run, Step(Commit("x"), FILES, changed), selected) == targets


LOG = """\
kernel/cpu.c:12:4: warning: unused variable 'x' [-Wunused-variable]
kernel/cpu.c:99: warning: Function parameter 'y' not described
./include/linux/a.h:3:1: warning: something
kernel/cpu.c: In function 'f':
"""


def test_warnings_are_told_apart_by_what_they_say() -> None:
    known = each.warnings(LOG)
    moved = LOG.replace(":12:4:", ":40:4:")
    assert each.warnings(moved) - known == {}
    assert list(each.warnings(moved.replace("'x'", "'z'")) - known) == [
        "kernel/cpu.c: unused variable 'z' [-Wunused-variable]"
    ]
    assert "include/linux/a.h: something" in known

# SPDX-License-Identifier: GPL-2.0-only
"""Building commit by commit: the tree after each commit, and which files are built."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from boltlab import paths, versions
from boltlab.arch import ARCHES
from boltlab.errors import BoltError
from boltlab.kernel import build, config, each, tree
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
    "arch/x86/kernel/bolt_warm_64.S": Content(b""),
    "arch/x86/kernel/Makefile": Content(b"obj-$(CONFIG_BOLT) += bolt.o bolt_warm_64.o\n"),
    "arch/arm64/kernel/bolt.c": Content(b""),
    "arch/arm64/kernel/Makefile": Content(b"obj-$(CONFIG_BOLT) += bolt.o\n"),
}
X86 = ["arch/x86/kernel/bolt.o", "arch/x86/kernel/bolt_warm_64.o"]


@pytest.mark.parametrize(
    ("changed", "selected", "targets"),
    [
        (["kernel/cpu.c"], False, ["kernel/cpu.o"]),
        (["kernel/sched/core.c"], False, []),  # not built in the pristine kernel
        (["kernel/bolt/a.c"], False, []),
        (["kernel/bolt/a.h"], True, ["kernel/bolt/", "kernel/cpu.o"]),
        (["include/linux/bolt.h"], False, ["kernel/cpu.o"]),
        (["arch/x86/kernel/bolt.c"], True, X86[:1]),
        (["arch/x86/kernel/bolt_warm_64.S"], True, X86[1:]),
        # A file may come in an earlier commit than the line of the Makefile that names its object.
        # So the Makefile's commit, with CONFIG_BOLT, builds all objects of Bolt that the Makefile
        # names.
        (["arch/x86/kernel/Makefile"], True, X86),
        (["arch/x86/kernel/Makefile"], False, []),
        # Files of another architecture are not built.
        (["arch/arm64/kernel/bolt.c", "arch/arm64/kernel/Makefile"], True, []),
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
        {
            "kernel/cpu.c": "",
            "kernel/cpu.o": "",
            "kernel/sched/core.c": "",
            "arch/x86/kernel/Makefile": "",
            "arch/arm64/kernel/Makefile": "",
        },
    )
    ready = Prepared(pristine, "", tmp_path / "log", 0)
    run = each.Run(ARCHES["x86_64"], make_source(pristine), ready, pristine, 1, selected)
    assert each.targets(run, Step(Commit("x"), FILES, changed), selected) == targets


def test_a_changed_hook_has_later_commits_built_again() -> None:
    before = [
        Step(Commit("one"), {"a.c": Content(b"1")}, ["a.c"]),
        Step(Commit("two"), {"a.c": Content(b"1"), "b.c": Content(b"2")}, ["b.c"]),
        Step(Commit("three"), {"a.c": Content(b"3"), "b.c": Content(b"2")}, ["a.c"]),
    ]
    changed = [before[0], Step(Commit("two"), {"b.c": Content(b"4")}, ["b.c"]), before[2]]
    old, new = each.keys("x", before), each.keys("x", changed)
    assert [one == other for one, other in zip(old, new, strict=True)] == [True, False, False]
    assert not set(old) & set(each.keys("another compiler", before))


def test_what_was_built_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "each/x86_64.json"
    record = {"targets": ["a.o"], "linked": False, "files": ["a.c"]}
    each.Past(file).keep("key", record)
    assert each.Past(file).records == {"key": record}


def counting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: Source, *, fail_at: int | None = None
) -> tuple[each.Report | None, list[str]]:
    """Check two commits with a stand-in for make, whose call number ``fail_at``, from 0, fails.

    Returns the report, or None after such a failure, and what each call of make that did not fail
    was to build.
    """
    files = {name: FILES[name] for name in ("kernel/cpu.c", "include/linux/bolt.h")}
    kconfig = {
        "init/Kconfig": Content(b'source "kernel/bolt/Kconfig"\n'),
        "kernel/bolt/Kconfig": Content(b"config BOLT\n"),
    }
    early = {"kernel/bolt/early.c": Content(b"")}
    found = [
        Step(Commit("first", posting="p"), {**files, **early}, ["kernel/cpu.c", *early]),
        Step(
            Commit("second", posting="p"),
            {**files, **early, **kconfig},
            ["include/linux/bolt.h", "kernel/bolt/Kconfig"],
        ),
    ]
    made: list[str] = []

    def make(run: each.Run, targets: list[str], title: str, **_: bool) -> str:
        if fail_at is not None and len(made) == fail_at:
            raise BoltError("interrupted")
        made.append(f"{title}: {' '.join(targets)}")
        return ""

    @contextmanager
    def prepared(*_: object) -> Iterator[Prepared]:
        yield Prepared(tmp_path / "tree", "", tmp_path / "log", 0)

    @contextmanager
    def pristine(*_: object) -> Iterator[Path]:
        yield write_tree(tmp_path / "pristine", {"kernel/cpu.c": "", "kernel/cpu.o": ""})

    monkeypatch.setenv("BOLT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(each, "steps", lambda _: found)
    monkeypatch.setattr(each, "_make", make)
    monkeypatch.setattr(each, "_configure", lambda *_: None)
    monkeypatch.setattr(tree, "sync", lambda *_: None)
    monkeypatch.setattr(build, "prepared", prepared)
    monkeypatch.setattr(build, "built_tree", pristine)
    try:
        return each.check(ARCHES["x86_64"], source), made
    except BoltError:
        return None, made


def test_an_interrupted_check_goes_on(
    tmp_path: Path,
    kernel_tree: Path,
    make_source: Callable[[Path], Source],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = make_source(kernel_tree)
    report, made = counting(monkeypatch, tmp_path, source, fail_at=2)
    assert report is None
    assert made == [
        "the pristine kernel: kernel/cpu.o",
        "'first' without CONFIG_BOLT: kernel/cpu.o",
    ]
    report, made = counting(monkeypatch, tmp_path, source)
    # The second check builds what the first check did not. The first commit comes before
    # CONFIG_BOLT can be chosen, and so is built only without CONFIG_BOLT.
    assert made == [
        "'second' without CONFIG_BOLT: kernel/cpu.o",
        "'second' with CONFIG_BOLT: kernel/bolt/ kernel/cpu.o",
    ]
    assert report
    assert (report.objects, report.kept, report.links) == (4, 1, 0)
    # kernel/bolt/early.c is of the first commit, and is built with its directory at the second
    # commit.
    assert report.unbuilt == ()


@pytest.mark.parametrize(
    ("series", "model", "other"),
    [("6.12", "PREEMPT_VOLUNTARY", "PREEMPT_LAZY"), ("7.3", "PREEMPT_LAZY", "PREEMPT_VOLUNTARY")],
)
def test_a_series_names_the_options(
    series: str,
    model: str,
    other: str,
    tmp_path: Path,
    kernel_tree: Path,
    make_source: Callable[[Path], Source],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[str] = []
    monkeypatch.setattr(
        config, "configure", lambda tree, arch, fragment, *_: given.append(fragment)
    )
    source = replace(make_source(kernel_tree), version=versions.named(series))
    ready = Prepared(kernel_tree, "", tmp_path / "log", 0)
    run = each.Run(ARCHES["x86_64"], source, ready, kernel_tree, 1, bolt=True)
    each._configure(run, ())
    each._configure(run, ("BOLT",))
    common = given[0].splitlines()
    assert f"CONFIG_{model}=y" in common
    assert given[1].splitlines() == [*common, "CONFIG_BOLT=y"]
    begin = each._begin(run)
    assert model in begin
    assert not [text for text in (given[0], begin) if other in text]


LOG = """\
kernel/cpu.c:12:4: warning: unused variable 'x' [-Wunused-variable]
kernel/cpu.c:99: warning: Function parameter 'y' not described
./include/linux/a.h:3:1: warning: something
kernel/cpu.c: In function 'f':
"""


def test_warnings_are_told_apart_by_what_they_say() -> None:
    known = each.warnings(LOG)
    moved = LOG.replace(":12:4:", ":40:4:")
    assert each.warnings(moved) == known
    assert list(each.warnings(moved.replace("'x'", "'z'")) - known) == [
        "kernel/cpu.c: unused variable 'z' [-Wunused-variable]"
    ]
    assert "include/linux/a.h: something" in known

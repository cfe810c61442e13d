# SPDX-License-Identifier: GPL-2.0-only
"""The exported series: no file is left out, git am applies it, and verify() names differences."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from boltlab import checkpatch, kept, packages, paths
from boltlab.errors import BoltError
from boltlab.kernel import export, series
from boltlab.kernel.series import Commit
from boltlab.kernel.source import Source
from tests.unit.conftest import make_hook, write_tree

SERIES = """# SPDX-License-Identifier: GPL-2.0-only
[[posting]]
name = "preparation"
title = "cpu: Before Bolt"
cover = "cover/preparation.txt"

[[posting]]
name = "frame"
title = "cpu/bolt: The frame"
cover = "cover/frame.txt"
figures = { off = "x cases[case=offline1].bolt" }

[[commit]]
posting = "frame"
subject = "cpu/bolt: add the path"
body = \"\"\"
Dead code for now.
\"\"\"
overlay = ["kernel/bolt/*", "kernel/bolt/tests/*"]

[[commit]]
subject = "cpu: split in two"
refactor = true
hooks = ["0001-split.patch"]

[[commit]]
posting = "frame"
subject = "cpu: call the path"
body = "And document it."
overlay = ["Documentation/*"]
hooks = ["0002-makefile.patch"]
adds = { "kernel/bolt/batch.c" = ["tables("] }
"""

BATCH_C = """// SPDX-License-Identifier: GPL-2.0-only
int batch(void)
{
\treturn 0;
}

/* Not before the end. */
int tables(void)
{
\treturn 1;
}
"""
MAKEFILE = "obj-y := batch.o\nobj-$(CONFIG_X) += tests/\n"
COVER = {
    "cover/preparation.txt": "SPDX-License-Identifier: GPL-2.0-only\n\nFirst things first.\n",
    "cover/frame.txt": "It takes {off} ms.\n",
}


@pytest.fixture
def source(
    kernel_tree: Path,
    bolt_kernel: Path,
    make_source: Callable[[Path], Source],
    monkeypatch: pytest.MonkeyPatch,
) -> Source:
    folder = bolt_kernel / "hooks/6.12"
    files = {
        "kernel/bolt/batch.c": BATCH_C,
        "kernel/bolt/Makefile": MAKEFILE,
        "kernel/bolt/tests/a.c": "y\n",
        "Documentation/b": "z\n",
    }
    write_tree(bolt_kernel / "overlay", files)
    write_tree(folder, COVER)
    results = {"cases": [{"case": "online1", "bolt": 7}, {"case": "offline1", "bolt": 0.2024}]}
    write_tree(bolt_kernel.parent, {"results/x.json": json.dumps(results)})
    monkeypatch.setattr(kept, "FOLDER", bolt_kernel.parent / "results")
    make_hook(kernel_tree, folder, "0001-split.patch", {"kernel/cpu.c": ("\tb4();\n", "\tb();\n")})
    edits = {"kernel/Makefile": ("cpu.o\n", "cpu.o bolt/\n")}
    make_hook(kernel_tree, folder, "0002-makefile.patch", edits)
    (folder / "series.toml").write_text(SERIES)
    monkeypatch.setattr(paths, "KERNEL", bolt_kernel)
    return make_source(kernel_tree)


def test_export_and_verify(source: Source, tmp_path: Path) -> None:
    output = tmp_path / "series"
    patches = export.export(source, output)
    assert [path.relative_to(output).as_posix() for path in patches] == [
        "1-preparation/0001-cpu-split-in-two.patch",
        "2-frame/0001-cpu-bolt-add-the-path.patch",
        "2-frame/0002-cpu-call-the-path.patch",
    ]
    text = patches[1].read_text()
    assert "Subject: [PATCH 1/2] cpu/bolt: add the path\n" in text
    assert "Dead code for now.\n\nSigned-off-by: " in text
    assert "b/kernel/bolt/tests/a.c" in text
    assert "tables" not in text, "a piece came in an earlier commit than its own"
    assert "+int tables(void)\n" in patches[2].read_text()
    letter = (output / "2-frame/0000-cover-letter.patch").read_text()
    assert "Subject: [PATCH 0/2] cpu/bolt: The frame\n" in letter
    assert "It takes 0.202 ms.\n" in letter
    assert " 3 files changed" in letter or " 5 files changed" in letter
    first = (output / "1-preparation/0000-cover-letter.patch").read_text()
    assert "SPDX" not in first
    export.verify(source, patches)
    before = {path: path.read_bytes() for path in patches}
    assert export.export(source, output) == patches
    assert {path: path.read_bytes() for path in patches} == before, "the second export differs"


def test_verify_notices_a_wrong_series(source: Source, tmp_path: Path) -> None:
    patches = export.export(source, tmp_path / "series")
    with pytest.raises(BoltError, match=r"does not give the kernel/Makefile"):
        export.verify(source, patches[:2])
    patches[0].write_text(patches[0].read_text().replace("-\tb4();", "-\tb5();"))
    with pytest.raises(BoltError, match="git am failed"):
        export.verify(source, patches)


def test_verify_notices_a_file_too_many(source: Source, tmp_path: Path) -> None:
    patches = export.export(source, tmp_path / "series")
    (paths.KERNEL / "overlay/kernel/bolt/tests/a.c").unlink()
    with pytest.raises(BoltError, match=r"differ in kernel/bolt/tests/a\.c"):
        export.verify(source, patches)


def test_output_with_other_files(source: Source, tmp_path: Path) -> None:
    output = write_tree(tmp_path / "series", {"thesis.txt": "precious"})
    with pytest.raises(BoltError, match=r"thesis\.txt"):
        export.export(source, output)
    assert [path.name for path in output.iterdir()] == ["thesis.txt"]


def test_git_is_installed_before_it_is_asked(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ensure(*groups: str) -> None:
        raise BoltError(f"install {groups}")

    monkeypatch.setattr(packages, "ensure", ensure)
    monkeypatch.setattr(subprocess, "run", lambda *_, **named: pytest.fail("git was called"))
    with pytest.raises(BoltError, match=r"install \('export',\)"):
        export.export(source, tmp_path / "out")


def test_failed_export_changes_nothing(source: Source, tmp_path: Path) -> None:
    output = tmp_path / "series"
    patches = export.export(source, output)
    before = {path: path.read_bytes() for path in patches}
    (source.path / "kernel/Makefile").write_text("other\n")
    with pytest.raises(BoltError, match="does not apply"):
        export.export(source, output)
    assert {path: path.read_bytes() for path in before} == before


def test_a_large_commit_is_refused(source: Source, tmp_path: Path) -> None:
    """The error counts the commit's lines, without those of tests and documentation."""
    overlay = paths.KERNEL / "overlay"
    long = "".join(f"int a{number};\n" for number in range(series.LARGEST))
    write_tree(overlay, {"kernel/bolt/tests/a.c": long, "Documentation/b": long})
    export.export(source, tmp_path / "series")
    write_tree(overlay, {"kernel/bolt/batch.c": BATCH_C + long})
    with pytest.raises(BoltError, match=r"800 lines .*: 'cpu/bolt: add the path' 80\d$"):
        export.export(source, tmp_path / "series")


def test_refactors(source: Source) -> None:
    assert series.refactors(source.version.hooks) == {"0001-split.patch"}


OVERLAY = ["kernel/bolt/a.c", "kernel/bolt/b.c"]
PATCHES = ["0001-x.patch", "0002-y.patch"]


def test_assign() -> None:
    commits = [
        Commit("one", overlay=("*/a.c", "*a*")),
        Commit("two", "", ("*/b.c",), tuple(PATCHES)),
    ]
    assert series.assign(commits, OVERLAY, PATCHES) == [["kernel/bolt/a.c"], ["kernel/bolt/b.c"]]


@pytest.mark.parametrize(
    ("commits", "error"),
    [
        ([Commit("x", overlay=("*/a.c",), hooks=tuple(PATCHES))], r"b\.c is in no commit"),
        ([Commit("x", overlay=("*",), hooks=("0001-x.patch",))], r"0002-y\.patch is in no commit"),
        (
            [Commit("x", overlay=("*",), hooks=tuple(PATCHES)), Commit("y", overlay=("*/a.c",))],
            r"a\.c is in several commits",
        ),
        (
            [
                Commit("x", overlay=("*",), hooks=tuple(PATCHES)),
                Commit("y", hooks=("0001-x.patch",)),
            ],
            r"0001-x\.patch is in several commits",
        ),
        ([Commit("x", overlay=("*", "tools/*"), hooks=tuple(PATCHES))], r"'tools/\*' matches no"),
        (
            [Commit("x", overlay=("*",), hooks=(*PATCHES, "0003-z.patch"))],
            "there is no hook 0003-z",
        ),
        ([Commit("x", overlay=("*",), hooks=tuple(PATCHES)), Commit("y")], "'y' is empty"),
    ],
)
def test_assign_refuses(commits: list[Commit], error: str) -> None:
    with pytest.raises(BoltError, match=error):
        series.assign(commits, OVERLAY, PATCHES)


def test_malformed_series(tmp_path: Path) -> None:
    with pytest.raises(BoltError, match="cannot read"):
        series.load(tmp_path)
    (tmp_path / "series.toml").write_text("[[commit]]\nbody = 'x'\n")
    with pytest.raises(BoltError, match=r"cannot read .*subject"):
        series.load(tmp_path)


CHECKPATCH = """#!/usr/bin/perl
# Stands in for the kernel's script: has the same output and status, and needs no tree.
my $patch = $ARGV[-1];
open(my $f, "<", $patch) or die "cannot open $patch\\n";
my $bad = 0;
while (<$f>) {
    next unless /^\\+.*[ ]$/ or /die/;
    die "broken\\n" if /die/;
    print "$patch:$.: ERROR:TRAILING_WHITESPACE: trailing whitespace\\n";
    $bad = 1;
}
exit($bad);
"""


def test_checkpatch(tmp_path: Path) -> None:
    write_tree(tmp_path, {"scripts/checkpatch.pl": CHECKPATCH})
    texts = {"good.patch": "+int a;\n", "bad.patch": "+int a; \n", "worse.patch": "die\n"}
    write_tree(tmp_path, texts)
    good, bad, worse = (tmp_path / name for name in texts)
    assert checkpatch.check(tmp_path, [good]) == []
    (finding,) = checkpatch.check(tmp_path, [good, bad])
    assert finding.patch == "bad.patch"
    assert "TRAILING_WHITESPACE" in finding.lines[0]
    with pytest.raises(BoltError, match=r"checkpatch failed on worse\.patch: broken"):
        checkpatch.check(tmp_path, [worse])

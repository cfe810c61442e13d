# SPDX-License-Identifier: GPL-2.0-only
"""Hooks on other kernels: which apply, which need a look, which fail; functions that changed."""

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from boltlab import cli, paths, tables
from boltlab.errors import BoltError
from boltlab.kernel import callees, hookcheck, hooks
from boltlab.kernel.callees import Change
from boltlab.kernel.hookcheck import Place, Report, State
from boltlab.kernel.tree import overlay_files
from tests.unit.conftest import CPU_C, MAKEFILE, make_hook, write_tree

HELP_H = """/* SPDX-License-Identifier: GPL-2.0 */
#define twice(x) ((x) + \\
\t\t  (x))

int help(int cpu, void *data);
static inline int help_short(int cpu)
{
\treturn help(cpu, 0);	/* with nothing */
}
"""
HELP_C = """// SPDX-License-Identifier: GPL-2.0
int help(int cpu, void *data)
{
\treturn cpu;
}
"""
ADDED = "\tbolt();\n\thelp(1, 0);\n\thelp_short(twice(2));\n"
VERSIONS = """[kernel."6.12"]
package = "linux-source-6.12"
hooks = "hooks/6.12"
tested = ["6.12.117"]
architectures = ["x86_64"]
"""


@pytest.fixture
def ours(kernel_tree: Path) -> Path:
    return write_tree(kernel_tree, {"include/linux/help.h": HELP_H, "lib/help.c": HELP_C})


@pytest.fixture
def theirs(ours: Path, tmp_path: Path) -> Path:
    other = tmp_path / "other"
    shutil.copytree(ours, other)
    return write_tree(other, {"Makefile": MAKEFILE.format(sublevel=118)})


@pytest.fixture
def folder(bolt_kernel: Path, ours: Path) -> Path:
    folder = bolt_kernel / "hooks" / "6.12"
    edits = {"kernel/cpu.c": ("\tb4();\n", f"\tb4();\n{ADDED}")}
    make_hook(ours, folder, "0001-call.patch", edits)
    return folder


def check(folder: Path, ours: Path, theirs: Path) -> Report:
    overlay = folder.parents[1] / "overlay"
    files = {name: overlay / name for name in overlay_files(overlay)}
    series = hooks.load(folder)
    return hookcheck.check(series, files, (ours, "6.12.117"), (theirs, "6.12.118"))


def only(report: Report) -> Place:
    (verdict,) = report.verdicts
    (place,) = verdict.places
    assert verdict.state is place.state
    return place


def edit(tree: Path, name: str, old: str, new: str) -> None:
    text = (tree / name).read_text()
    assert text.count(old) == 1
    (tree / name).write_text(text.replace(old, new))


def test_the_same_kernel(folder: Path, ours: Path, theirs: Path) -> None:
    report = check(folder, ours, theirs)
    assert only(report) == Place(only(report).hunk, only(report).hunk.start)
    assert not report.failed
    assert report.functions() == {}


def test_context_that_is_no_utf8(folder: Path, ours: Path, theirs: Path) -> None:
    for file in (ours / "kernel/cpu.c", theirs / "kernel/cpu.c", folder / "0001-call.patch"):
        file.write_bytes(file.read_bytes().replace(b"\tb3();", b"\tb3(); //\xfc"))
    assert only(check(folder, ours, theirs)).state is State.APPLIES


def test_moved_is_fine(folder: Path, ours: Path, theirs: Path) -> None:
    edit(theirs, "kernel/cpu.c", "// SPDX", "/* one */\n/* two */\n// SPDX")
    place = only(check(folder, ours, theirs))
    assert place.state is State.APPLIES
    assert place.line == place.hunk.new_start + 2


# The hunk begins with b2(), in line 19, and ends with b7(), in line 24.
@pytest.mark.parametrize(
    ("line", "state"),
    [(8, State.APPLIES), (9, State.LOOK), (18, State.LOOK), (34, State.LOOK), (35, State.APPLIES)],
)
def test_ten_lines_around(line: int, state: State, folder: Path, ours: Path, theirs: Path) -> None:
    for tree in (ours, theirs):
        with (tree / "kernel/cpu.c").open("a") as file:
            file.write("".join(f"/* {number} */\n" for number in range(20)))
    lines = (theirs / "kernel/cpu.c").read_text().splitlines()
    lines[line - 1] += " /* changed */"
    (theirs / "kernel/cpu.c").write_text("\n".join(lines) + "\n")
    place = only(check(folder, ours, theirs))
    assert place.state is state
    side = "before" if line < 19 else "after"
    changed = f"the 10 lines {side} the hunk changed"
    assert place.looks == ((changed,) if state is State.LOOK else ())


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("\tb3();", "\tc3();", "the file does not have the lines of the hunk"),
        (
            "static int second(void)\n{\n\tb0();\n\tb1();\n\tb2();",
            "int x;",
            "second() is gone from",
        ),
    ],
)
def test_context_changed(
    old: str, new: str, why: str, folder: Path, ours: Path, theirs: Path
) -> None:
    edit(theirs, "kernel/cpu.c", old, new)
    report = check(folder, ours, theirs)
    assert only(report).state is State.FAILS
    assert why in only(report).failed
    assert report.failed


def test_file_gone_and_already_there(folder: Path, ours: Path, theirs: Path) -> None:
    edit(theirs, "kernel/cpu.c", "\tb4();\n", f"\tb4();\n{ADDED}")
    assert only(check(folder, ours, theirs)).failed == "the kernel has the change already"
    (theirs / "kernel/cpu.c").unlink()
    assert only(check(folder, ours, theirs)).failed == "the file is gone"


def test_another_function(folder: Path, ours: Path, theirs: Path) -> None:
    edit(theirs, "kernel/cpu.c", "int second(", "int other(")
    assert "the hunk was in second, and is in other" in only(check(folder, ours, theirs)).looks


def test_hunks_are_judged_one_by_one(folder: Path, ours: Path, theirs: Path) -> None:
    text = CPU_C.replace("\ta4();\n", "\ta4();\n\tbolt();\n").replace(
        "\tb4();\n", "\tb4();\n\tx();\n"
    )
    (folder / "0001-call.patch").unlink()
    long = {"kernel/cpu.c": CPU_C.replace("\treturn 0;\n}\n\n", "\treturn 0;\n}\n" + "\n" * 20)}
    for tree in (ours, theirs):
        write_tree(tree, long)
    edits = {"kernel/cpu.c": (long["kernel/cpu.c"], text.replace("}\n\n", "}\n" + "\n" * 20))}
    make_hook(ours, folder, "0001-both.patch", edits)
    edit(theirs, "kernel/cpu.c", "\ta4();", "\tc4();")
    (verdict,) = check(folder, ours, theirs).verdicts
    assert [place.state for place in verdict.places] == [State.FAILS, State.APPLIES]
    assert (verdict.state, verdict.count(State.FAILS)) == (State.FAILS, 1)


@pytest.mark.parametrize(
    ("file", "old", "new", "called"),
    [
        ("lib/help.c", "return cpu;", "return cpu + 1;", {"help": Change.BODY}),
        ("lib/help.c", "return cpu;", "return cpu; /* as before */", {}),
        ("lib/help.c", "int cpu, void *data", "int cpu", {"help": Change.PROTOTYPE}),
        ("lib/help.c", "int help", "static int help", {"help": Change.BODY}),
        ("include/linux/help.h", "help_short(", "x(", {"help_short": Change.GONE}),
        ("include/linux/help.h", "static inline", "static __always_inline", {}),
        ("lib/help.c", "int help", "int __init help", {"help": Change.PROTOTYPE}),
        ("include/linux/help.h", "((x) +", "((x) -", {"twice": Change.BODY}),
        ("include/linux/help.h", "twice(x)", "twice(x, y)", {"twice": Change.PROTOTYPE}),
        ("kernel/cpu.c", "return 0;\n}\n\n", "return 0;\n}\n", {}),
    ],
)
def test_what_a_hook_calls(
    file: str, old: str, new: str, called: dict[str, Change], folder: Path, ours: Path, theirs: Path
) -> None:
    edit(theirs, file, old, new)
    report = check(folder, ours, theirs)
    assert dict(only(report).called) == called
    assert [key[0] for key in report.functions()] == list(called)
    if called:
        assert only(report).state is State.LOOK
    assert not report.failed


def test_functions_of_the_same_name_elsewhere(folder: Path, ours: Path, theirs: Path) -> None:
    other = "static int help(int x)\n{\n\treturn 1;\n}\n"
    write_tree(ours, {"kernel/other.c": other, "arch/arm64/include/asm/h.h": other})
    write_tree(theirs, {"kernel/other.c": other.replace("1", "2")})
    report = check(folder, ours, theirs)
    assert only(report).called == {}


def test_ones_own_function_counts_before_others(folder: Path, ours: Path, theirs: Path) -> None:
    own = "static int help(int cpu, void *data)\n{\n\treturn 2;\n}\n"
    for tree in (ours, theirs):
        edit(tree, "kernel/cpu.c", "// SPDX-License-Identifier: GPL-2.0\n", f"/* x */\n{own}")
    edit(theirs, "lib/help.c", "return cpu;", "return 3;")
    assert only(check(folder, ours, theirs)).called == {}
    edit(theirs, "kernel/cpu.c", "return 2;", "return 3;")
    assert dict(only(check(folder, ours, theirs)).called) == {"help": Change.BODY}


def test_the_overlay(folder: Path, ours: Path, theirs: Path) -> None:
    overlay = folder.parents[1] / "overlay"
    code = '/* help_short(1) */\nvoid bolt(void)\n{\n\tpr("twice(2)");\n\thelp(1, 0);\n}\n'
    write_tree(overlay, {"kernel/bolt/core.c": code})
    edit(theirs, "include/linux/help.h", "help_short", "help_long")
    edit(theirs, "include/linux/help.h", "twice", "thrice")
    (theirs / "lib/help.c").write_text(HELP_C.replace("void *data", "long data"))
    report = check(folder, ours, theirs)
    assert report.overlay == {"kernel/bolt/core.c": {"help": Change.PROTOTYPE}}
    assert not report.failed
    write_tree(theirs, {"kernel/bolt/core.c": code})
    report = check(folder, ours, theirs)
    assert report.taken == ("kernel/bolt/core.c",)
    assert report.failed


def test_hooks_must_apply_where_they_were_made(folder: Path, ours: Path, theirs: Path) -> None:
    with pytest.raises(BoltError, match=r"0001-call\.patch does not apply to linux 6\.12\.118"):
        edit(ours, "kernel/cpu.c", "\tb4();", "\tc4();")
        hookcheck.check(hooks.load(folder), {}, (ours, "6.12.118"), (theirs, "6.12.117"))


def test_files_of_hooks_must_be_where_they_were_made(
    folder: Path, ours: Path, theirs: Path
) -> None:
    (ours / "kernel/cpu.c").unlink()
    with pytest.raises(BoltError, match=r"0001-call\.patch does not apply to linux 6\.12\.118"):
        hookcheck.check(hooks.load(folder), {}, (ours, "6.12.118"), (theirs, "6.12.117"))


def test_calls_are_found_in_parts_of_files() -> None:
    text = (
        ' * in_comment() ends */\n\tif (a(b(1)) && x->method(2))\n\t\tprintk("c(3)"); /* d(4) */\n'
    )
    assert callees.calls(text) == {"a", "b", "printk"}
    assert callees.calls("int (*pointer)(void);\nfor_each(cpu)\n") == {"for_each"}


def test_definitions_of_all_kinds(tmp_path: Path) -> None:
    code = (
        "int\nsplit(int a,\n\tint b)\n{\n}\n"
        "static DEFINE_MUTEX(lock);\nSYSCALL_DEFINE0(x)\n{\n}\n"
        "#define make(name) \\\nint name(void) { return 0; }\n"
        "static inline int one(void) { return 1; }\nint late(void) __attr(1);\n"
    )
    write_tree(tmp_path, {"kernel/x.h": code})
    names = ("split", "lock", "DEFINE_MUTEX", "SYSCALL_DEFINE0", "name", "make", "one", "late")
    found = callees.index(tmp_path, names, [])
    assert {name: each[0].signature for name, each in found.items()} == {
        "split": "int split(int a,int b)",
        "make": "#define make(name)",
        "one": "static int one(void)",
        "late": "int late(void)",
    }
    assert found["one"][0].body == "return 1;}"


@pytest.fixture
def repo(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    kernel = folder.parents[1]
    write_tree(kernel, {"versions.toml": VERSIONS})
    monkeypatch.setattr(paths, "KERNEL", kernel)
    return kernel


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("old", "new", "status"),
    [("b4();", "b4();", 0), ("int second(", "int other(", 0), ("b4();", "c4();", 1)],
)
def test_the_command(
    packed: bool,
    old: str,
    new: str,
    status: int,
    repo: Path,
    ours: Path,
    theirs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # There are no hooks for the kernel's series, and so the newest hooks are tried.
    edit(theirs, "kernel/cpu.c", old, new)
    edit(theirs, "Makefile", "VERSION = 6", "VERSION = 9")
    before = sorted((path, path.read_bytes()) for path in theirs.rglob("*.[ch]"))
    given = theirs
    if packed:
        given = tmp_path / "other.tar.gz"
        with tarfile.open(given, "w:gz") as tar:
            tar.add(theirs, "linux-9.12.118")
    file = tmp_path / "check.json"
    words = ["kernel", "check-hooks", "--source", str(given), "--against", str(ours)]
    assert cli.main([*words, "--json", str(file)]) == status
    shown = capsys.readouterr().out
    state = "fails" if status else "applies" if old == new else "look"
    assert f"0001-call  {state}" in shown
    assert "9.12.118" in shown
    document = json.loads(file.read_text())
    assert document["hooks"][0]["state"] == state
    assert document["counts"]["hunks"][state] == 1
    assert before == sorted((path, path.read_bytes()) for path in theirs.rglob("*.[ch]"))
    assert cli.main([*words, "--json", "-"]) == status
    said = capsys.readouterr().out
    assert json.loads(said[said.index("{") :]) == document


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_of_the_overlay_anywhere(
    packed: bool,
    repo: Path,
    ours: Path,
    theirs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "Documentation/core-api/bolt.rst"
    write_tree(repo / "overlay", {name: "Bolt\n", "tools/bolt.c": "\n"})
    write_tree(theirs, {name: "of the kernel\n"})
    given = theirs
    if packed:
        given = tmp_path / "other.tar"
        with tarfile.open(given, "w") as tar:
            tar.add(theirs, "linux-6.12.118")
    words = ["kernel", "check-hooks", "--source", str(given), "--against", str(ours)]
    assert cli.main([*words, "--json", str(tmp_path / "check.json")]) == 1
    assert json.loads((tmp_path / "check.json").read_text())["overlay"]["taken"] == [name]


@pytest.mark.parametrize("words", [["--source", "nowhere"], ["--source", "."], []])
def test_bad_input(
    words: list[str],
    repo: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status = cli.main(["kernel", "check-hooks", *words])
    except SystemExit as ended:
        status = int(str(ended.code))
    assert status == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_tables_on_narrow_terminals(
    folder: Path, ours: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boltlab.commands import kernel as cmd_kernel
    from tests.unit.test_tables import check as whole
    from tests.unit.test_tables import terminal

    edit(theirs, "kernel/cpu.c", "int second(", "int other(")
    edit(theirs, "lib/help.c", "int cpu, void *data", "int cpu")
    report = check(folder, ours, theirs)
    show = tables.show
    for width in (None, 80, 60):
        out = terminal(monkeypatch, width)
        seen: list[object] = []

        def spy(columns, cells, width=width, out=out, seen=seen, **words):  # type: ignore[no-untyped-def]
            out.truncate(0)
            out.seek(0)
            show(columns, cells, **words)
            whole(out.getvalue(), columns, cells, width)
            seen.append(columns)

        monkeypatch.setattr(tables, "show", spy)
        cmd_kernel.show_check(report)
        monkeypatch.setattr(tables, "show", show)
        assert len(seen) == 3

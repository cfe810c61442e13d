# SPDX-License-Identifier: GPL-2.0-only
"""The identity check: what counts as a difference between objects of the host's compiler."""

import subprocess
from pathlib import Path

import pytest

from boltlab import arch
from boltlab.kernel import hooks, identity
from tests.unit.conftest import write_tree

C = """
extern int check(int line, const char *text);
int other(int x);
int one(int x)
{
\tstatic int once;
\tif (!once++)
\t\tcheck(__LINE__, "one");
\treturn other(x) + 3;
}
__attribute__((section(".init.text"))) int two(int x)
{
\treturn other(x) * 5;
}
"""


def compiled(folder: Path, name: str, text: str) -> list[str]:
    """Compile ``text`` as the file x.c in ``folder``/``name``; return the disassembly of x.o."""
    place = folder / name
    place.mkdir()
    (place / "x.c").write_text(text)
    command = ["gcc", "-O2", "-g0", "-fno-pic", "-c", "x.c", "-o", "x.o"]
    subprocess.run(command, cwd=place, check=True)
    return identity.disassemble(arch.host(), place / "x.o")


def compare(tmp_path: Path, changed: str) -> str:
    lines = hooks.line_map(C.encode(), changed.encode())
    one, other = compiled(tmp_path, "a", C), compiled(tmp_path, "b", changed)
    return identity.difference(one, other, lines)


def test_moved_lines_are_identical(tmp_path: Path) -> None:
    assert compare(tmp_path, C.replace("int other(", "\n\n/* more */\nint other(")) == ""


def test_disassembly_has_all_code(tmp_path: Path) -> None:
    code = "\n".join(compiled(tmp_path, "a", C))
    assert ".text" in code
    assert ".init.text" in code
    assert "other" in code, "without relocations the callee is lost"
    assert "file format" not in code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("+ 3", "+ 4"),
        ("* 5", "* 7"),
        ("other(x) +", "check(x, 0) +"),
        ("\tstatic int once;\n\tif (!once++)\n", ""),
        ("__LINE__", "__LINE__ + 1"),
        ("int two(", "int three("),
        ("return other(x) + 3;\n}", "return other(x) + 3;\n}\nint more(int x)\n{\n\treturn x;\n}"),
    ],
)
def test_changed_code_is_noticed(tmp_path: Path, old: str, new: str) -> None:
    assert C.count(old) == 1
    assert compare(tmp_path, C.replace(old, new)) != ""


def test_a_line_number_must_move_as_its_line_did() -> None:
    one, two, three = (
        ["Disassembly of section .text:", f"   0:\tmov    $0x{n:x},%edi"] for n in (8, 10, 11)
    )
    assert identity.difference(one, two, {8: 10}) == ""
    assert identity.difference(one, three, {8: 10}) == (
        ".text: '0: mov $0x8,%edi' became '0: mov $0xb,%edi'"
    )
    assert identity.difference(one, two, {}) != ""


def test_normalise() -> None:
    text = """
x.o:     file format elf64-littleaarch64

Disassembly of section .text:

0000000000000000 <f.isra.0>:
   0:\tmov\tx1, #0x28                  \t// #40
\t\t\tR_AARCH64_ADR_PREL_PG_HI21\t__already_done.12
   4:\tldr\tx0, [x1, #0.5]
  20:\tjmp 25 <__UNIQUE_ID___addressable___SCK__might_resched37.12+0x5>
"""
    assert list(identity.normalise(text)) == [
        "Disassembly of section .text:",
        "0000000000000000 <f.isra.N>:",
        "   0:\tmov\tx1, #0x28",
        "\t\t\tR_AARCH64_ADR_PREL_PG_HI21\t__already_done.N",
        "   4:\tldr\tx0, [x1, #0.5]",
        "  20:\tjmp 25 <__UNIQUE_ID___addressable___SCK__might_reschedN.N+0x5>",
    ]


def test_missing_line_is_a_difference() -> None:
    assert identity.difference(["a", "b"], ["a"], {}) == "no section: 'b' became '(nothing)'"
    assert identity.difference(["a"], ["a", "b"], {}) == "no section: '(nothing)' became 'b'"


def test_objects_of(tmp_path: Path) -> None:
    files = {
        "kernel/sched/.all.o.cmd": "deps := \\\n  kernel/sched/part.c \\\n  kernel/sched/x.h \\\n",
        "kernel/sched/.fair.o.cmd": "deps := \\\n  kernel/sched/apart.c \\\n",
        "kernel/cpu.o": "",
    }
    write_tree(tmp_path, files)
    assert identity.objects_of("kernel/cpu.c", tmp_path) == ["kernel/cpu.o"]
    assert identity.objects_of("kernel/sched/part.c", tmp_path) == ["kernel/sched/all.o"]
    assert identity.objects_of("kernel/other.c", tmp_path) == []
    assert identity.objects_of("kernel/Makefile", tmp_path) == []

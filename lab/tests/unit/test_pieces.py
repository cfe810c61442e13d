# SPDX-License-Identifier: GPL-2.0-only
"""Files as an early commit has them, without pieces that a later commit adds.

A piece is a whole statement, row, function, preprocessor line or block, or section of Kconfig.
"""

import pytest

from boltlab.errors import BoltError
from boltlab.kernel import pieces

TABLE = """\
#include "names.h"
#include "rows.h"

static const struct row rows[] = {
\t/* All of them. */
\t[FIRST] =
\t\tCRITICAL("first; with a comma, and a brace {"),
\t/* This one waits. */
\t[SECOND] = {
\t\tLAZY, ALONE,
\t\t"second" },
\t[THIRD] = CRITICAL("third"),
};

/**
 * park - what it does
 * @cpu: the CPU
 */
static int park(unsigned int cpu,
\t\tint state)
{
\tif (cpu)
\t\treturn state;

\tfor_each(cpu) {
\t\tif (cpu > 1)
\t\t\tsettle(cpu);
\t}
\tleave(cpu,
\t      state);
\treturn 0;
}

#ifdef CONFIG_X
#define again() \\
\tpark(0, 0)
#endif

core_initcall(later);
"""


def left(text: str, *anchors: str) -> list[str]:
    """Return the lines of ``text`` that are left out with the pieces that have ``anchors``."""
    kept = iter(pieces.without("a.c", text, anchors).splitlines())
    line = next(kept, None)
    out = []
    for each in text.splitlines():
        if each == line:
            line = next(kept, None)
        else:
            out.append(each)
    assert line is None, "lines that stay have changed their order"
    return [line for line in out if line]


@pytest.mark.parametrize(
    ("anchor", "gone"),
    [
        ("names.h", ['#include "names.h"']),
        ("[FIRST]", ["\t/* All of them. */", "\t[FIRST] =", TABLE.splitlines()[6]]),
        ("[SECOND]", ["\t/* This one waits. */", *TABLE.splitlines()[8:11]]),
        ("[THIRD]", ['\t[THIRD] = CRITICAL("third"),']),
        ("return state", ["\tif (cpu)", "\t\treturn state;"]),
        ("settle(", ["\t\tif (cpu > 1)", "\t\t\tsettle(cpu);"]),
        ("^settle(", ["\tfor_each(cpu) {", "\t\tif (cpu > 1)", "\t\t\tsettle(cpu);", "\t}"]),
        ("leave(", ["\tleave(cpu,", "\t      state);"]),
        ("CONFIG_X", ["#ifdef CONFIG_X", "#define again() \\", "\tpark(0, 0)", "#endif"]),
        ("core_initcall", ["core_initcall(later);"]),
        ("static int park", [line for line in TABLE.splitlines()[14:33] if line]),
    ],
)
def test_without(anchor: str, gone: list[str]) -> None:
    assert left(TABLE, anchor) == gone


def test_blank_lines_do_not_add_up() -> None:
    text = pieces.without("a.c", TABLE, ["static int park", "CONFIG_X", "core_initcall"])
    assert "\n\n\n" not in text
    assert text.endswith("};\n")
    assert "{\n\n" not in pieces.without("a.c", TABLE, ["return state"])


def test_all_that_has_the_text() -> None:
    gone = left("int keep_show(void);\nint other;\nrow(keep);\n", "keep")
    assert gone == ["int keep_show(void);", "row(keep);"]


def test_comments_and_strings_are_no_code() -> None:
    text = '/* settle( */\nint a = f("/*"); /* b; */\nint settle(void);\n'
    assert left(text, "settle(") == ["int settle(void);"]
    with pytest.raises(
        BoltError, match=r"the text 'nothing', which is nowhere in the code of a\.c"
    ):
        pieces.without("a.c", TABLE, ["nothing"])


def test_kconfig() -> None:
    text = "config A\n\tbool\n\n\thelp\n\t  Text.\n\nconfig B\n\tbool\n"
    assert pieces.without("x/Kconfig", text, ["config A"]) == "config B\n\tbool\n"
    assert pieces.without("x/Kconfig", text, ["config B"]) == text[: text.index("\nconfig B")]


MAKEFILE = """\
# a.o is made by hand.
obj-y := a.o b.o \\
\t c.o
obj-$(CONFIG_D) += d.o
obj-$(CONFIG_T) += tests/
TEST_GEN_PROGS := one two
CFLAGS_a.o = -O2
"""


def test_makefile() -> None:
    assert pieces.makefile("k/Makefile", MAKEFILE, set()) == MAKEFILE
    missing = {"k/b.c", "k/d.c", "k/tests/", "k/tests/x.c", "k/two.c"}
    assert pieces.makefile("k/Makefile", MAKEFILE, missing) == (
        "# a.o is made by hand.\nobj-y := a.o \\\n\t c.o\nTEST_GEN_PROGS := one\nCFLAGS_a.o = -O2\n"
    )
    assert pieces.makefile("k/Makefile", "obj-y := b.o\n", {"k/b.S"}) == ""


def test_a_block_of_one_statement_has_no_braces() -> None:
    text = (
        "int f(void)\n{\n\tif (a &&\n\t    b) {\n\t\tgo();\n\t\tlater();\n\t}\n"
        "\tif (c) {\n\t\tone();\n\t} else if (d) {\n\t\tlater();\n\t\ttwo();\n\t}\n}\n"
    )
    assert pieces.without("a.c", text, ["later("]) == (
        "int f(void)\n{\n\tif (a &&\n\t    b)\n\t\tgo();\n"
        "\tif (c) {\n\t\tone();\n\t} else if (d) {\n\t\ttwo();\n\t}\n}\n"
    )

# SPDX-License-Identifier: GPL-2.0-only
"""Bolt's policy lists each hotplug state that a kernel of x86_64 or arm64 can register."""

import re
from pathlib import Path

import pytest

from boltlab.errors import BoltError
from boltlab.kernel import hooks, states
from boltlab.kernel.source import Source
from boltlab.paths import KERNEL

NAMES = KERNEL / "overlay/kernel/bolt/names.h"
ROWS = KERNEL / "overlay/kernel/bolt/rows.h"
DOCUMENT = KERNEL / "overlay/Documentation/core-api/bolt.rst"
VERSIONS = KERNEL / "README.md"


@pytest.fixture(scope="module")
def registered(kernel_source: Source) -> list[states.Registration]:
    return states.registered(kernel_source.path)


@pytest.fixture(scope="module")
def named(kernel_source: Source) -> list[states.Named]:
    """Return the rows of names.h, and those of compat-names.h of this kernel version."""
    own = kernel_source.version.hooks / "overlay/kernel/bolt/compat-names.h"
    return [*states.named(NAMES), *states.named(own)]


def declares(folder: Path) -> set[str]:
    """Return the files whose hook calls bolt_defer_state() for a dynamic state."""
    found = set()
    for hook in hooks.load(folder):
        file = ""
        for line in hook.path.read_text(encoding="utf-8").splitlines():
            if line.startswith("+++ b/"):
                file = line.removeprefix("+++ b/")
            elif re.match(r"\+.*\bbolt_defer_state\((?!CPUHP_)", line):
                found.add(file)
    return found


def test_dynamic_states_are_declared(
    kernel_source: Source, registered: list[states.Registration], named: list[states.Named]
) -> None:
    """A dynamic state has a row with its name, or a hook declares it; no row is superfluous."""
    done = declares(kernel_source.version.hooks)
    dynamic = [one for one in registered if one.state in states.DYNAMIC]
    wanted = {one.name for one in dynamic if one.file not in done}
    assert {one.name for one in named} == wanted
    assert len(dynamic) >= 80


def test_fixed_states_have_rows(
    kernel_source: Source, registered: list[states.Registration]
) -> None:
    """Each fixed state has a row in rows.h, or in compat-rows.h of this kernel version."""
    own = kernel_source.version.hooks / "overlay/kernel/bolt/compat-rows.h"
    texts = [path.read_text(encoding="utf-8") for path in (ROWS, own)]
    rows = set(re.findall(r"\[(CPUHP_\w+)\]", "".join(texts)))
    fixed = {one.state for one in registered} - set(states.DYNAMIC)
    assert fixed - rows == set()
    assert len(fixed) >= 80


def test_deferred_fixed_states_have_a_teardown(
    kernel_source: Source, registered: list[states.Registration]
) -> None:
    """A fixed state whose row is not critical is registered with a teardown."""
    own = kernel_source.version.hooks / "overlay/kernel/bolt/compat-rows.h"
    texts = [path.read_text(encoding="utf-8") for path in (ROWS, own)]
    deferred = set(
        re.findall(r"\[(CPUHP_\w+)\] = \{\s*BOLT_(?:ASYNC|LAZY|ELIDE)\b", "".join(texts))
    )
    teardowns = {}
    for one in registered:
        if one.state in deferred:
            text = (kernel_source.path / one.file).read_text(encoding="utf-8")
            call = re.search(rf"cpuhp_setup_state\w*\(\s*{one.state}\b[^)]*?(\w+)\)", text)
            teardowns[one.state] = call and call[1]
    assert [state for state, teardown in teardowns.items() if teardown in (None, "NULL")] == []
    assert len(teardowns) >= 10


def test_modules_are_those_of_the_callbacks(
    kernel_source: Source, registered: list[states.Registration], named: list[states.Named]
) -> None:
    files = {one.name: one.file for one in registered} | states.CALLBACKS
    modules = {
        one.name: states.module_of(kernel_source.path, files[one.name])
        for one in named
        if one.name in files
    }
    assert {one.name: one.module for one in named} == modules


def test_names_are_sorted_and_have_reasons() -> None:
    table = states.named(NAMES)
    names = [one.name for one in table]
    assert names == sorted(set(names))
    assert len(table) == NAMES.read_text(encoding="utf-8").count("NAMED_")
    assert all(one.reason for one in table)


def test_unfit_states_are_documented(named: list[states.Named]) -> None:
    """core-api/bolt.rst or kernel/README.md names each unfit dynamic state."""
    text = "".join(one.read_text(encoding="utf-8") for one in (DOCUMENT, VERSIONS))
    unfit = [one.name for one in named if one.fit == "UNFIT"]
    assert [name for name in unfit if name not in text] == []


def test_a_new_state_is_found(tmp_path: Path) -> None:
    """A state's name may be a string, a macro or a parameter; any other name is an error."""
    folder = tmp_path / "drivers"
    folder.mkdir()
    file = folder / "new.c"
    file.write_text(
        '#define NAME "new" ":online"\n'
        "int init(void)\n{\n"
        "\tcpuhp_setup_state(CPUHP_AP_ONLINE_DYN,\n\t\t\t  NAME, up, down);\n"
        '\treturn cpuhp_setup_state_multi(CPUHP_BIO_DEAD, "two", up, NULL);\n}\n'
    )
    assert states.registered(tmp_path) == [
        states.Registration("drivers/new.c", "CPUHP_AP_ONLINE_DYN", "new:online"),
        states.Registration("drivers/new.c", "CPUHP_BIO_DEAD", "two"),
    ]
    file.write_text(
        "static void setup(int (*online)(unsigned int cpu),\n\t\t  char *name)\n{\n"
        "\tcpuhp_setup_state(CPUHP_AP_ONLINE_DYN, name, online, NULL);\n}\n\n"
        'int init(void)\n{\n\tsetup(first, "one");\n\tsetup(second,\n\t      "two");\n}\n'
    )
    assert [one.name for one in states.registered(tmp_path)] == ["one", "two"]
    file.write_text("cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, whatever, up, down);\n")
    with pytest.raises(BoltError, match="no string called whatever"):
        states.registered(tmp_path)

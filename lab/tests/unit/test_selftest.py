# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios of selftests follow from the selftests' Makefile and a table of exceptions."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from boltlab.arch import ARCHES
from boltlab.errors import BoltError
from boltlab.guest import scenario, selftest
from boltlab.guest.machine import Machine
from boltlab.kernel.build import Kernel

MAKEFILE = "TEST_GEN_PROGS := aim bow_string\n"
Made = Callable[[str], None]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """Return a function that writes a text as selftests.toml; there are two selftests."""
    folder = tmp_path / selftest.FOLDER
    folder.mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    spdx = "// SPDX-License-Identifier: GPL-2.0\n"
    (folder / "aim.c").write_text(f"{spdx}/* Aims, e.g. at x. And more. */\n", encoding="utf-8")
    (folder / "bow_string.c").write_text(f"{spdx}/*\n * Pulls\n * it.\n */\n", encoding="utf-8")
    monkeypatch.setattr(selftest, "OVERLAY", tmp_path)
    monkeypatch.setattr(selftest, "TABLE", tmp_path / "selftests.toml")

    def make(text: str) -> None:
        (tmp_path / "selftests.toml").write_text(text, encoding="utf-8")
        selftest.scenarios.cache_clear()

    yield make
    selftest.scenarios.cache_clear()


def test_a_program_is_a_scenario(table: Made) -> None:
    table("elsewhere = []\n")
    assert selftest.scenarios() == {
        "selftest-aim": {
            "description": "Aims, e.g. at x.",
            "kernel": "bolt",
            "selftests": ["aim"],
            "commands": ["run /bin/aim"],
        },
        "selftest-bow-string": {
            "description": "Pulls it.",
            "kernel": "bolt",
            "selftests": ["bow_string"],
            "commands": ["run /bin/bow_string"],
        },
    }
    assert "selftest-bow-string" in scenario.names()
    assert scenario.load("selftest-aim").script == ("run /bin/aim",)


def test_the_table_has_what_is_otherwise(table: Made) -> None:
    table(
        'elsewhere = ["bow_string"]\n[aim]\ncpus = 8\nkernel = "debug"\n'
        '[both]\ndescription = "x"\nselftests = ["aim", "bow_string"]\n'
    )
    assert [*selftest.scenarios()] == ["selftest-aim", "selftest-both"]
    aim, both = (scenario.load(name) for name in selftest.scenarios())
    assert (aim.kernel, aim.machine.cpus, aim.description) == ("debug", 8, "Aims, e.g. at x.")
    assert both.script == ("run /bin/aim", "run /bin/bow_string")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('elsewhere = ["bow"]\n', r"no selftest 'bow' \(there are: aim, bow_string\)"),
        ("elsewhere = []\n[arm]\ncpus = 8\n", "'arm' is no selftest and lists none"),
        ("[aim]\ncpus = 8\n", "'elsewhere' is missing"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table: Made, text: str, message: str) -> None:
    table(text)
    with pytest.raises(BoltError, match=message):
        selftest.scenarios()


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (Machine(), ""),
        (Machine(disks=1, nics=1), "BOLT_DISK=vda BOLT_NIC=eth0"),
        (Machine(disks=2, ext4=1), "BOLT_DISK=vdb"),
        (Machine(disks=1, ext4=1, nics=2), "BOLT_NIC=eth0"),
    ],
)
def test_the_guest_tells_selftests_which_devices_are_theirs(
    machine: Machine, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "build", lambda arch, tree, names: {})
    kernel = Kernel("x86_64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)
    table = {"description": "x", "commands": ["run /bin/aim"], "append": "BOLT_PARKS=1"}
    plain = replace(scenario.parse("a", table), machine=machine)
    wanted = {(): "BOLT_PARKS=1", ("aim",): f"BOLT_PARKS=1 {words}".strip()}
    for names, append in wanted.items():
        guest = replace(plain, selftests=names).guest(ARCHES["x86_64"], kernel, "legacy")
        assert guest.append == f"cpu_init_udelay=10000 {append}"


@pytest.mark.parametrize(
    ("line", "watched"),
    [
        ("run /bin/aim", "selftest /bin/aim"),
        ("run  /bin/aim -t far", "selftest  /bin/aim -t far"),
        ("run /bin/aims", "run /bin/aims"),
        ("run /bin/load beside=/bin/aim", "run /bin/load beside=/bin/aim"),
        ("write /bin/aim 1", "write /bin/aim 1"),
        ("kunit", "kunit"),
    ],
)
def test_a_selftest_must_leave_the_settings_as_they_were(line: str, watched: str) -> None:
    assert selftest.watched(line, ["bow_string", "aim"]) == watched
    assert selftest.watched(line, []) == line


@pytest.mark.parametrize(
    ("asks", "word"), [("no_disk()", "BOLT_DISK=vda"), ("no_nic()", "BOLT_NIC=eth0")]
)
def test_each_device_that_a_selftest_asks_for_is_there(asks: str, word: str) -> None:
    """A selftest that asks for a device is skipped, in whole or in part, where there is none."""
    folder = selftest.OVERLAY / selftest.FOLDER
    users = {path.stem for path in folder.glob("*.c") if asks in path.read_text(encoding="utf-8")}
    assert users
    having = {
        name
        for each in map(scenario.load, scenario.names())
        if word in selftest.variables(each.machine).split()
        for name in each.selftests
    }
    assert users <= having


def test_every_selftest_is_run() -> None:
    """Each selftest is in a scenario; no scenario's file has the name of a derived scenario."""
    run = {name for each in scenario.names() for name in scenario.load(each).selftests}
    assert run == set(selftest.names(selftest.OVERLAY))
    files = {path.stem for path in scenario.FOLDER.glob("*.toml")}
    assert not files & selftest.scenarios().keys()

# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios of selftests follow from the selftests' Makefile and a table of exceptions."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from boltlab.errors import BoltError
from boltlab.guest import scenario, selftest

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


def test_every_selftest_is_run() -> None:
    """A scenario runs each selftest; no file of a scenario has the name of a derived scenario."""
    run = {name for each in scenario.names() for name in scenario.load(each).selftests}
    assert run == set(selftest.names(selftest.OVERLAY))
    files = {path.stem for path in scenario.FOLDER.glob("*.toml")}
    assert not files & selftest.scenarios().keys()

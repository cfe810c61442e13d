# SPDX-License-Identifier: GPL-2.0-only
from pathlib import Path
from typing import Any

import pytest

from boltlab import arch, flavours, scenario
from boltlab.build import Kernel
from boltlab.errors import USAGE, BoltError

GOOD: dict[str, Any] = {"description": "x", "commands": ["measure pairs cpus=1", "kunit"]}


@pytest.mark.parametrize("name", scenario.names())
def test_shipped_scenarios_load(name: str) -> None:
    loaded = scenario.load(name)
    flavours.get(loaded.kernel)
    assert loaded.name == name
    assert loaded.description.endswith(".")
    known = {"write", "expect", "measure", "trace", "run", "kunit", "shell"}
    for line in loaded.script:
        assert line.split()[0] in known
        # What init's buffers hold.
        assert len(line) < 8000
        assert len(line.split()) <= 64
        assert "{" not in line


def test_there_are_scenarios() -> None:
    assert {"pair", "churn", "kunit"} <= set(scenario.names())


def test_defaults() -> None:
    parsed = scenario.parse("a", GOOD)
    assert (parsed.kernel, parsed.cpus, parsed.accel, parsed.repeat) == ("pristine", 4, "icount", 1)
    assert parsed.script == ("measure pairs cpus=1", "kunit")
    assert parsed.arches == ("x86_64", "arm64")


def test_repeat_repeats_all_commands() -> None:
    assert scenario.parse("a", {**GOOD, "repeat": 2}).script == tuple(GOOD["commands"]) * 2


def test_functions_are_filled_in() -> None:
    table = {**GOOD, "commands": ["trace x functions={functions}"]}
    assert "functions=synchronize_rcu," in scenario.parse("a", table).script[0]


def test_the_guest_gets_setting_and_arguments(tmp_path: Path) -> None:
    parsed = scenario.parse("a", {**GOOD, "append": "kunit.enable=1", "cpus": 2, "timeout": 7})
    kernel = Kernel("x86_64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)
    guest = parsed.guest(arch.ARCHES["x86_64"], kernel, "nodelay")
    assert (guest.image, guest.programs) == (kernel.image, {})
    assert guest.append == "cpu_init_udelay=0 kunit.enable=1"
    assert (guest.cpus, guest.timeout, guest.script) == (2, 7, parsed.script)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"comands": []}, "unknown key 'comands'"),
        ({"name": "b"}, "unknown key 'name'"),
        ({"description": ""}, "'description' is missing"),
        ({"commands": []}, "'commands' is missing"),
        ({"commands": "kunit"}, "'commands' has a wrong value"),
        ({"commands": [1]}, "'commands' has a wrong value"),
        ({"cpus": "4"}, "'cpus' has a wrong value"),
        ({"cpus": 0}, "'cpus' has a wrong value"),
        ({"timeout": True}, "'timeout' has a wrong value"),
        ({"kernel": 6}, "'kernel' has a wrong value"),
        ({"accel": "warp"}, "unknown accelerator 'warp'"),
        ({"arches": ["vax"]}, "unknown architecture 'vax'"),
    ],
)
def test_wrong_scenarios_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BoltError, match=message):
        scenario.parse("a", {**GOOD, **change})


def test_an_unknown_scenario_is_a_usage_error() -> None:
    with pytest.raises(BoltError, match=r"there are: .*pair") as caught:
        scenario.load("nonesuch")
    assert caught.value.code == USAGE


def test_a_file_of_the_user(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('description = "x."\ncommands = ["kunit"]\n', encoding="utf-8")
    assert scenario.load(str(file)).name == "mine"
    file.write_text("description = ", encoding="utf-8")
    with pytest.raises(BoltError, match="cannot read the scenario"):
        scenario.load(str(file))

# SPDX-License-Identifier: GPL-2.0-only
import re
from pathlib import Path
from typing import Any

import pytest

from boltlab import arch, paths
from boltlab.errors import USAGE, BoltError
from boltlab.guest import guestimage, modules, scenario
from boltlab.guest.machine import Machine
from boltlab.kernel import flavours
from boltlab.kernel.build import Kernel

GOOD: dict[str, Any] = {"description": "x", "commands": ["measure pairs cpus=1", "kunit"]}


@pytest.mark.parametrize("name", scenario.names())
def test_shipped_scenarios_load(name: str) -> None:
    loaded = scenario.load(name)
    flavours.get(loaded.kernel)
    assert loaded.name == name
    assert loaded.description.endswith(".")
    source = (guestimage.SOURCES / "init.c").read_text(encoding="utf-8")
    known = set(re.findall(r'^\t\{ "(\w+)", do_', source, re.M))
    for line in (*loaded.script, *loaded.kexec):
        assert line.split()[0] in known
        # init's buffers have room for such a line.
        assert len(line) < 8000
        assert len(line.split()) <= 64
        assert "{" not in line


def test_there_are_scenarios() -> None:
    assert {"pair", "churn", "kunit"} <= set(scenario.names())


def test_defaults() -> None:
    parsed = scenario.parse("a", GOOD)
    assert (parsed.kernel, parsed.machine, parsed.repeat) == ("pristine", Machine(), 1)
    assert parsed.script == ("measure pairs cpus=1", "kunit")
    assert parsed.arches == ("x86_64", "arm64")


def test_repeat_repeats_all_commands() -> None:
    assert scenario.parse("a", {**GOOD, "repeat": 2}).script == tuple(GOOD["commands"]) * 2


def test_functions_are_filled_in() -> None:
    table = {**GOOD, "commands": ["trace x functions={functions}"]}
    assert "functions=synchronize_rcu," in scenario.parse("a", table).script[0]


def test_the_guest_gets_setting_and_arguments(tmp_path: Path) -> None:
    table = {**GOOD, "append": "kunit.enable=1", "cpus": 2, "timeout": 7, "disks": 3, "nics": 1}
    parsed = scenario.parse("a", table)
    kernel = Kernel("x86_64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)
    guest = parsed.guest(arch.ARCHES["x86_64"], kernel, "nodelay")
    assert (guest.image, guest.programs) == (kernel.image, {})
    assert guest.append == "cpu_init_udelay=0 kunit.enable=1"
    assert (guest.machine.cpus, guest.timeout, guest.script) == (2, 7, parsed.script)
    assert (guest.machine.disks, guest.machine.nics) == (3, 1)
    assert (guest.machine.threads, guest.machine.ext4) == (1, 0)
    assert guest.warns == ()
    assert scenario.parse("a", {**GOOD, "warns": ["^a$"]}).guest(
        arch.ARCHES["x86_64"], kernel, "nodelay"
    ).warns == ("^a$",)
    own = {**GOOD, "arches": ["x86_64"], "setting": "legacy", "features": "-hypervisor"}
    guest = scenario.parse("a", own).guest(arch.ARCHES["x86_64"], kernel, "nodelay")
    assert (guest.append, guest.machine.features) == ("cpu_init_udelay=10000", "-hypervisor")
    assert (guest.machine.threads, guest.machine.ext4) == (1, 0)


def test_the_guest_gets_modules_and_a_second_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "image").write_bytes(b"kernel")
    built = tmp_path / "built.ko"
    built.write_bytes(b"module")
    monkeypatch.setattr(modules, "build", lambda kernel, name: built)
    monkeypatch.setattr(guestimage, "data", lambda arch, script: " / ".join(script).encode() + b".")
    kernel = Kernel("x86_64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)
    table = {**GOOD, "modules": ["ballast"], "kexec": ["kunit", "kmemleak"], "threads": 2}
    table["files"] = ["README.md"]
    guest = scenario.parse("a", table).guest(arch.ARCHES["x86_64"], kernel, "strict")
    assert guest.machine.threads == 2
    assert guest.programs["lib/ballast.ko"].data == b"module"
    assert guest.programs["README.md"].data == (paths.REPO / "README.md").read_bytes()
    assert guest.programs["kexec/image"].data == b"kernel"
    assert guest.programs["kexec/initrd"].data == b"kunit / kmemleak."


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
        ({"disks": "1"}, "'disks' has a wrong value"),
        ({"threads": 0}, "'threads' has a wrong value"),
        ({"ext4": "1"}, "'ext4' has a wrong value"),
        ({"modules": "ballast"}, "'modules' has a wrong value"),
        ({"kexec": [1]}, "'kexec' has a wrong value"),
        ({"files": ["no/such"]}, "there is no file no/such"),
        ({"shift": "4"}, "'shift' has a wrong value"),
        ({"warns": "x"}, "'warns' has a wrong value"),
        ({"warns": ["("]}, "'\\(' is no pattern"),
        ({"limits": "a <= 3 b"}, "'limits' has a wrong value"),
        ({"limits": ["a <= b"]}, "scenario a: 'a <= b' is not of the form"),
        ({"nics": -1}, "'nics' has a wrong value"),
        ({"timeout": True}, "'timeout' has a wrong value"),
        ({"kernel": 6}, "'kernel' has a wrong value"),
        ({"accel": "warp"}, "unknown accelerator 'warp'"),
        ({"arches": ["vax"]}, "unknown architecture 'vax'"),
        ({"setting": "nodelay"}, "arm64 has no setting 'nodelay'"),
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


def test_fields_of_the_machine_are_changed_like_others() -> None:
    parsed = scenario.parse("a", {**GOOD, "cpus": 8, "disks": 2})
    other = parsed.changed(cpus=16, kernel="bolt")
    assert (other.machine, other.kernel) == (Machine(cpus=16, disks=2), "bolt")
    assert (parsed.machine, parsed.kernel) == (Machine(cpus=8, disks=2), "pristine")
    assert {"cpus", "commands"} <= scenario.allowed()
    assert "machine" not in scenario.allowed()

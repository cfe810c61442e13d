# SPDX-License-Identifier: GPL-2.0-only
import pytest

from boltlab import arch, packages
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.guest import plugins, qemu


@pytest.mark.parametrize(("version", "number"), [("7.2.11", 1), ("9.0.0", 2), ("10.0.2", 2)])
def test_the_interface_of_the_emulator(version: str, number: int) -> None:
    assert plugins.api(version) == number


def test_an_emulator_whose_plugins_cannot_tell_cpus_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "version", lambda emulator: "8.2.2")
    with pytest.raises(BoltError, match=r"QEMU 8\.2\.2 does not tell .* needs QEMU 7\.2, or "):
        plugins.build("bystanders", arch.ARCHES["x86_64"])


@pytest.mark.parametrize("name", ["bystanders", "bootwork"])
@pytest.mark.parametrize("target", [arch.ARCHES[name] for name in ("x86_64", "arm64")])
@pytest.mark.parametrize("version", ["7.2.0", "10.0.2"])
def test_the_plugin_compiles_once(
    name: str, target: Arch, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if packages.which("gcc") is None:
        pytest.skip("gcc is not installed")
    monkeypatch.setattr(qemu, "version", lambda emulator: version)
    found = plugins.build(name, target)
    assert found.read_bytes()[:4] == b"\x7fELF"
    before = found.stat().st_mtime_ns
    assert plugins.build(name, target) == found
    assert found.stat().st_mtime_ns == before

# SPDX-License-Identifier: GPL-2.0-only
"""Where the lab finds configurations of Debian's kernels and of the running kernel."""

import fcntl
import gzip
import lzma
import platform
import shutil
from pathlib import Path

import pytest

from boltlab import arch, debs, packages, versions
from boltlab.errors import BoltError
from boltlab.kernel import config, distro, flavours

HOST = arch.host()
OTHER = next(each for each in arch.ARCHES.values() if not each.is_host)
DEFAULT = versions.default()
DEBIAN = """CONFIG_SMP=y
CONFIG_MODULE_SIG=y
# CONFIG_DEBUG_INFO_NONE is not set
CONFIG_DEBUG_INFO_BTF=y
CONFIG_SYSTEM_TRUSTED_KEYS="debian/certs/debian-uefi-certs.pem"
"""


@pytest.fixture
def places(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIGS", "BOOT"):
        monkeypatch.setattr(distro, name, tmp_path)
    monkeypatch.setattr(distro, "PROC", tmp_path / "config.gz")
    monkeypatch.setattr(debs, "unpack", lambda *words: pytest.fail("a package is fetched"))
    return tmp_path


def put(places: Path, flavour: str, of: arch.Arch = HOST, series: str = "6.12") -> None:
    name = debs.NAMES[of.name]
    folder = places / f"linux-config-{series}"
    folder.mkdir(parents=True)
    path = folder / f"config.{name}_none_{flavour.format(arch=name)}.xz"
    path.write_bytes(lzma.compress(DEBIAN.encode()))


@pytest.mark.parametrize(("name", "flavour"), [("cloud", "cloud-{arch}"), ("debian", "{arch}")])
def test_debians(places: Path, name: str, flavour: str) -> None:
    put(places, flavour)
    assert distro.base(name, HOST, DEFAULT) == DEBIAN


def test_the_configuration_is_of_the_series(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debs, "unpack", lambda of, names, to: to.mkdir(parents=True))
    (newer,) = (each for each in versions.load() if each.series == "7.3")
    put(places, "cloud-{arch}")
    with pytest.raises(BoltError, match=r"the package linux-config-7\.3 has no"):
        distro.base("cloud", HOST, newer)
    put(places, "cloud-{arch}", series="7.3")
    assert distro.base("cloud", HOST, newer) == DEBIAN


@pytest.mark.parametrize("of", [HOST, OTHER], ids=str)
def test_a_missing_package_is_fetched_once(
    places: Path, of: arch.Arch, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def unpack(of: arch.Arch, names: list[str], to: Path) -> None:
        asked.append((of, names))
        put(to / "usr" / "src", "cloud-{arch}", of)

    monkeypatch.setattr(debs, "unpack", unpack)
    assert distro.base("cloud", of, DEFAULT) == distro.base("cloud", of, DEFAULT) == DEBIAN
    assert asked == [(of, ["linux-config-6.12"])]


def test_a_package_that_was_half_unpacked_is_fetched_again(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unpack(of: arch.Arch, names: list[str], to: Path) -> None:
        with pytest.raises(BlockingIOError), lock_of(to).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(to, ignore_errors=True)
        put(to / "usr" / "src", "cloud-{arch}", of)
        if not interrupted:
            interrupted.append(to)
            raise KeyboardInterrupt

    interrupted: list[Path] = []
    monkeypatch.setattr(debs, "unpack", unpack)
    with pytest.raises(KeyboardInterrupt):
        distro.base("cloud", HOST, DEFAULT)
    assert distro.base("cloud", HOST, DEFAULT) == DEBIAN
    assert interrupted


def lock_of(half: Path) -> Path:
    return half.with_name(f"{half.name.removesuffix('.half')}.lock")


def test_a_package_without_the_configuration(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debs, "unpack", lambda of, names, to: to.mkdir(parents=True))
    with pytest.raises(BoltError, match=r"^the package linux-config-6\.12 has no config\..*_none_"):
        distro.base("debian", HOST, DEFAULT)


def test_the_running_kernel_is_of_the_host(places: Path) -> None:
    with pytest.raises(BoltError, match=f"the running kernel is not one of {OTHER.name}"):
        distro.base("running", OTHER, DEFAULT)


def test_running(places: Path) -> None:
    with pytest.raises(BoltError, match="the running kernel's configuration is neither "):
        distro.base("running", HOST, DEFAULT)
    distro.PROC.write_bytes(gzip.compress(b"CONFIG_PROC=y\n"))
    assert distro.base("running", HOST, DEFAULT) == "CONFIG_PROC=y\n"
    (places / f"config-{platform.release()}").write_text("CONFIG_BOOT=y\n")
    assert distro.base("running", HOST, DEFAULT) == "CONFIG_BOOT=y\n"


@pytest.mark.parametrize(
    ("pahole", "base", "kept"),
    [(True, DEBIAN, True), (False, DEBIAN, False), (True, "CONFIG_SMP=y\n", False)],
)
def test_btf_is_kept_where_pahole_is(
    pahole: bool, base: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distro, "pahole", lambda: pahole)
    settings = config.parse(config.merged(base, distro.debug_info(base)))
    assert (settings["CONFIG_DEBUG_INFO_NONE"] == "n") == kept
    assert (settings.get("CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT") == "y") == kept


@pytest.mark.parametrize(
    ("said", "enough"), [("v1.24", True), ("v1.22\n", True), ("v1.9", False), ("what?", False)]
)
def test_which_pahole(
    said: str, enough: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "pahole"
    tool.write_text(f"#!/bin/sh\necho '{said}'\n")
    tool.chmod(0o755)
    monkeypatch.setattr(packages, "which", lambda name: str(tool))
    assert distro.pahole() == enough
    monkeypatch.setattr(packages, "which", lambda name: None)
    assert not distro.pahole()


def test_keys_of_debians_build_go() -> None:
    for name in distro.BASES:
        kind = flavours.get(name)
        settings = config.parse(config.merged(DEBIAN, kind.fragment(HOST)))
        assert settings["CONFIG_SYSTEM_TRUSTED_KEYS"] == config.EMPTY
        assert settings["CONFIG_MODULE_SIG_ALL"] == "n"
        assert settings["CONFIG_MODULE_SIG"] == settings["CONFIG_BOLT"] == "y"
        assert settings["CONFIG_LOCALVERSION"] == f'"-{name}-bolt"'


def test_an_empty_text_need_not_be_there() -> None:
    assert config.lost('CONFIG_KEY=""\n', "CONFIG_SMP=y\n") == []
    assert config.lost('CONFIG_KEY=""\n', 'CONFIG_KEY="x"\n') == ['CONFIG_KEY=""']

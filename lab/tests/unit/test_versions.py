# SPDX-License-Identifier: GPL-2.0-only
"""kernel/versions.toml: the repository's file, and malformed files."""

import argparse
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from boltlab import arch, cli, versions
from boltlab.errors import BoltError
from boltlab.kernel import series, tree


def test_repository_table() -> None:
    version = versions.default()
    assert version.series == "6.12"
    assert version.tested
    assert set(version.architectures) <= set(arch.ARCHES)


def test_of_release() -> None:
    assert versions.of_release("6.12").series == "6.12"
    assert versions.of_release("6.12.3-rt").series == "6.12"
    for other in ("6.1", "6.120.1", "7.12.0"):
        with pytest.raises(BoltError, match="not supported"):
            versions.of_release(other)


def test_named() -> None:
    assert [versions.named(each.series) for each in versions.load()] == versions.load()
    with pytest.raises(ArgumentTypeError, match=r"no hooks for '5\.4'"):
        versions.named("5.4")


# Arguments that a command must have.
REQUIRED = {"run": ("boot",)}
# Commands that have nothing to do with a kernel series, and the reason.
OF_NO_SERIES = {
    "lint": "checks files of the repository, with checkpatch from a source that is unpacked",
    "report": "makes tables of results that were measured before",
}


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_commands_take_a_series(name: str) -> None:
    """Each command takes --version, or is in OF_NO_SERIES; each action of ``kernel`` takes it."""
    parser = argparse.ArgumentParser()
    cli.load(name).add_arguments(parser)
    actions = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    parsers = list(actions[0].choices.values()) if actions else [parser]
    for each in parsers:
        takes = "--version 6.12|7.3" in " ".join(each.format_help().split())
        assert takes != (name in OF_NO_SERIES)
        if takes:
            args = each.parse_args([*REQUIRED.get(name, ()), "--version", "7.3"])
            assert versions.named("7.3") in vars(args).values()


def test_the_series_have_the_same_compat_headers() -> None:
    """Each kernel series has the same compat headers, and all its hooks are in commits.

    No file in the overlay asks for the kernel's version.
    """
    own = {
        version.series: sorted(
            path.name
            for path in (version.hooks / "overlay").rglob("*.h")
            if path.name.startswith("compat")
        )
        for version in versions.load()
    }
    assert (
        own["7.3"]
        == own["6.12"]
        == ["compat-defers.h", "compat-names.h", "compat-rows.h", "compat.h"]
    )
    for version in versions.load():
        plan = series.load(version.hooks)
        series.check(plan)
        patches = sorted(path.name for path in version.hooks.glob("*.patch"))
        series.assign(plan.commits, list(tree.overlaid(version)), patches)
        for path in tree.overlaid(version).values():
            assert b"LINUX_VERSION_CODE" not in path.read_bytes()


def test_configurations_are_translated(tmp_path: Path) -> None:
    """An option with another name in a series gets that name; one that is gone is left out."""
    file = tmp_path / "versions.toml"
    file.write_text(
        '[kernel."9.1"]\npackage = "x"\nhooks = "h"\ntested = []\narchitectures = []\n'
        '[kernel."9.1".symbols]\nOLD = "NEW"\nGONE = ""\n'
    )
    (version,) = versions.load(file)
    text = "# about OLD\nCONFIG_OLD=y\nCONFIG_OLDER=y\n# CONFIG_OLD is not set\nCONFIG_GONE=y\n"
    assert version.translated(text) == (
        "# about OLD\nCONFIG_NEW=y\nCONFIG_OLDER=y\n# CONFIG_NEW is not set\n"
    )


@pytest.mark.parametrize("text", ["", "[kernel", "kernel = 3", '[kernel."6.12"]\npackage = "x"'])
def test_malformed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "versions.toml"
    file.write_text(text)
    with pytest.raises(BoltError, match="cannot read"):
        versions.load(file)

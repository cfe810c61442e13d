# SPDX-License-Identifier: GPL-2.0-only
"""The repository's own files: linters, licences, nothing of one machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from boltlab import packages, paths

LAB = paths.REPO / "lab"
SHELL = ("bolt", ".ci/run")
LARGEST = 900  # lines of a source file with one purpose


def tracked() -> list[Path]:
    """All files of the repository that git tracks, or would if they were added."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=paths.REPO,
        capture_output=True,
        text=True,
        check=True,
    )
    files = [paths.REPO / name for name in listing.stdout.splitlines()]
    return [path for path in files if path.is_file()]


def clean(*command: str) -> None:
    done = subprocess.run(command, cwd=LAB, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_check() -> None:
    clean(sys.executable, "-m", "ruff", "check", ".")


def test_ruff_format() -> None:
    clean(sys.executable, "-m", "ruff", "format", "--check", ".")


@pytest.mark.parametrize("what", ["boltlab", "tests"])
def test_mypy(what: str) -> None:
    clean(sys.executable, "-m", "mypy", what)


@pytest.mark.parametrize("script", SHELL)
def test_shellcheck(script: str) -> None:
    packages.ensure("test")
    clean("shellcheck", str(paths.REPO / script))


def test_every_file_has_a_licence() -> None:
    named = re.compile(r"SPDX-License-Identifier: GPL-2\.0(-only)?\b")
    data = {".log", ".txt", ".json", ".svg", ".png", ".html"}
    # Formats without comments, and what git and the licence themselves need.
    bare = {"COPYING", "README.md", "config", "settings", "sysfs-devices-system-cpu-bolt"}
    without = [
        path.relative_to(paths.REPO).as_posix()
        for path in tracked()
        if path.suffix not in data
        and path.name not in bare
        and not named.search("\n".join(path.read_text(encoding="utf-8").splitlines()[:3]))
    ]
    assert without == []


def test_nothing_of_one_machine() -> None:
    """No directory around the repository and no address of a package registry."""
    around = f"{paths.REPO.parent}/"
    address = re.compile(
        r"inde[x]-url|GOPROX[Y]=http|registr[y]=http|^de[b] +(\[[^]]*\] +)?http|URI[s]: *http", re.M
    )
    found = []
    for path in tracked():
        text = path.read_text(encoding="utf-8", errors="replace")
        if (len(around) > 2 and around in text) or address.search(text):
            found.append(path.relative_to(paths.REPO).as_posix())
    assert found == []


def test_files_are_small() -> None:
    large = [
        path.name
        for path in tracked()
        if path.suffix in {".c", ".h", ".py"}
        and len(path.read_text(encoding="utf-8").splitlines()) > LARGEST
    ]
    assert large == []

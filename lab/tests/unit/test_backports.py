# SPDX-License-Identifier: GPL-2.0-only
import subprocess
from pathlib import Path

import pytest

from boltlab import arch, packages
from boltlab.errors import BoltError
from boltlab.guest import backports, qemu

X86 = [arch.ARCHES["x86_64"]]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], str]]:
    """Stand in for Debian 12 with QEMU 7.2 and a user at a terminal.

    Returns a list to which install() and _enable() add what is installed, and from which mirror
    the suite is enabled.
    """
    calls: list[tuple[list[str], str]] = []

    def install(names: list[str], suite: str = "") -> None:
        calls.append((names, suite))

    def version(_emulator: str) -> str:
        return "7.2.22"

    version.cache_clear = lambda: None  # type: ignore[attr-defined]
    monkeypatch.setattr(qemu, "version", version)
    monkeypatch.setattr(packages, "install", install)
    monkeypatch.setattr(packages, "can_install", lambda: True)
    monkeypatch.setattr(backports, "mirror", lambda: "mirror/")
    monkeypatch.setattr(backports, "is_enabled", lambda: False)
    monkeypatch.setattr(backports, "_enable", lambda uri: calls.append(([uri], "enabled")))
    monkeypatch.setattr("os.isatty", lambda descriptor: True)
    return calls


def test_a_yes_installs(installed: list[tuple[list[str], str]]) -> None:
    backports.offer(X86, lambda _question: " Yes ")
    assert installed == [(["mirror/"], "enabled"), (["qemu-system-x86"], backports.SUITE)]


def test_a_suite_that_is_enabled_is_not_enabled_again(
    installed: list[tuple[list[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two entries of a suite with different keys would stop all calls of apt."""
    monkeypatch.setattr(backports, "is_enabled", lambda: True)
    backports.offer(X86, lambda _question: "y")
    assert installed == [(["qemu-system-x86"], backports.SUITE)]


@pytest.mark.parametrize("enabled", [True, False])
def test_what_the_lab_has_enabled_goes_if_the_installation_fails(
    installed: list[tuple[list[str], str]], monkeypatch: pytest.MonkeyPatch, enabled: bool
) -> None:
    commands: list[list[str]] = []

    def fail(names: list[str], suite: str = "") -> None:
        raise BoltError("apt could not install qemu-system-x86")

    monkeypatch.setattr(packages, "install", fail)
    monkeypatch.setattr(packages, "as_root", lambda command, log: commands.append(command))
    monkeypatch.setattr(backports, "is_enabled", lambda: enabled)
    with pytest.raises(BoltError, match="apt could not install"):
        backports.offer(X86, lambda _question: "y")
    assert commands == ([] if enabled else [["rm", "-f", str(backports.SOURCES)]])


@pytest.mark.parametrize(
    ("fetched", "listed", "uri", "enabled"),
    [
        ("bookworm|main|mirror/\n", "bookworm|main|Packages\n", "mirror/", False),
        ("bookworm|main|mirror/\n", "bookworm-backports|main|Packages\n", "mirror/", True),
        ("bookworm|contrib|mirror/\n", "bookworm-backports|main|Sources\n", None, False),
        ("bookworm-backports|main|x/\n", "bookworm-backports|contrib|Packages\n", None, False),
        ("", "", None, False),
    ],
)
def test_what_apt_uses(
    monkeypatch: pytest.MonkeyPatch, fetched: str, listed: str, uri: str | None, enabled: bool
) -> None:
    """Only with --no-release-info does apt list a suite that is enabled but not fetched."""

    def run(words: list[str], **more: object) -> subprocess.CompletedProcess[str]:
        text = listed if "--no-release-info" in words else fetched
        return subprocess.CompletedProcess([], 0, text, "")

    monkeypatch.setattr(packages, "which", lambda _name: "/usr/bin/apt-get")
    monkeypatch.setattr(subprocess, "run", run)
    assert backports.mirror() == uri
    assert backports.is_enabled() == enabled


@pytest.mark.parametrize("answer", ["", "n", "what"])
def test_anything_else_changes_nothing(
    installed: list[tuple[list[str], str]], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    backports.offer(X86, lambda _question: answer)
    assert installed == []
    assert "QEMU 7.2.22" in "".join(capsys.readouterr())


def test_the_end_of_the_input_changes_nothing(installed: list[tuple[list[str], str]]) -> None:
    def ask(_question: str) -> str:
        raise EOFError

    backports.offer(X86, ask)
    assert installed == []


@pytest.mark.parametrize("why", ["no terminal", "a file", "no root", "no Debian 12"])
def test_nobody_is_asked(
    installed: list[tuple[list[str], str]], monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    def ask(_question: str) -> str:
        raise AssertionError("asked")

    if why == "no terminal":
        monkeypatch.setattr("os.isatty", lambda descriptor: descriptor != 0)
    elif why == "a file":  # the user would not see the question
        monkeypatch.setattr("os.isatty", lambda descriptor: descriptor != 1)
    elif why == "no root":
        monkeypatch.setattr(packages, "can_install", lambda: False)
    else:
        monkeypatch.setattr(backports, "mirror", lambda: None)
    backports.offer(X86, ask)
    assert installed == []


def test_new_enough_is_silent(
    installed: list[tuple[list[str], str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(qemu, "version", lambda _emulator: "10.0.2")
    backports.offer(X86)
    assert installed == []
    assert "".join(capsys.readouterr()) == ""


def test_sources_name_the_mirror_in_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written: list[str] = []

    def as_root(command: list[str], _log: Path) -> bool:
        written.append(Path(command[3]).read_text(encoding="utf-8"))
        return True

    monkeypatch.setattr(packages, "as_root", as_root)
    backports._enable("mirror/debian/")
    assert "URIs: mirror/debian/\nSuites: bookworm-backports\n" in written[0]

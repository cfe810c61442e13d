# SPDX-License-Identifier: GPL-2.0-only
import io
from pathlib import Path

import pytest

from boltlab import arch, packages
from boltlab.guest import backports, qemu

X86 = [arch.ARCHES["x86_64"]]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], str]]:
    """Stand in for Debian 12 with QEMU 7.2 and a user at a terminal; return what is installed."""
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
    monkeypatch.setattr(backports, "_enable", lambda uri: calls.append(([uri], "enabled")))
    monkeypatch.setattr("sys.stdin", Terminal())
    return calls


def test_a_yes_installs(installed: list[tuple[list[str], str]]) -> None:
    backports.offer(X86, lambda _question: " Yes ")
    assert installed == [(["mirror/"], "enabled"), (["qemu-system-x86"], backports.SUITE)]


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


@pytest.mark.parametrize("why", ["no terminal", "no root", "no Debian 12"])
def test_nobody_is_asked(
    installed: list[tuple[list[str], str]], monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    def ask(_question: str) -> str:
        raise AssertionError("asked")

    if why == "no terminal":
        monkeypatch.setattr("sys.stdin", io.StringIO())
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

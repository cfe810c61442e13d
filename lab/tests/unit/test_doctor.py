# SPDX-License-Identifier: GPL-2.0-only
"""The doctor: what stops ``./bolt demo``, lesser lacks, and a KVM that does not work."""

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest

from boltlab import packages, versions
from boltlab.arch import ARCHES, Arch, host
from boltlab.commands import doctor as cmd_doctor
from boltlab.guest import doctor, kvm
from boltlab.guest.doctor import Finding, Level


@pytest.mark.parametrize(
    ("free", "kernels", "level"),
    [
        (20, False, Level.GOOD),
        (8, False, Level.LACK),
        (3, False, Level.BLOCK),
        (3, True, Level.LACK),
        (0.5, True, Level.BLOCK),
    ],
)
def test_disk(free: float, kernels: bool, level: Level) -> None:
    finding = doctor._disk(free, kernels)
    assert finding.level is level
    assert bool(finding.cost) == (level is not Level.GOOD)


@pytest.mark.parametrize(
    ("kilobytes", "level"),
    [(16_000_000, Level.GOOD), (2_000_000, Level.LACK), (900_000, Level.BLOCK)],
)
def test_memory(kilobytes: int, level: Level) -> None:
    assert doctor._memory(f"MemTotal:       {kilobytes} kB\nMemFree: 1 kB\n").level is level


@pytest.mark.parametrize(
    ("line", "level", "found"),
    [
        ("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)", Level.GOOD, "10.0.2"),
        ("QEMU emulator version 7.2.17 (Debian 1:7.2+dfsg-7)", Level.LACK, "7.2.17"),
        ("", Level.LACK, "no qemu-system-aarch64"),
    ],
)
def test_qemu(monkeypatch: pytest.MonkeyPatch, line: str, level: Level, found: str) -> None:
    monkeypatch.setattr(doctor, "_first_line", lambda command: line)
    finding = doctor._qemu(ARCHES["arm64"], ARCHES["x86_64"])
    assert (finding.level, finding.found) == (level, found)


def test_the_source_of_a_series(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(versions, "DEBIAN_SOURCES", tmp_path)
    monkeypatch.setattr(packages, "candidate", lambda package: "")
    old, new = versions.load()
    new.tarball.touch()
    assert doctor._source(new) == Finding("kernel source", str(new.tarball))
    assert doctor._source(old).level is Level.BLOCK
    assert doctor._source(old).found == "no linux-source-6.12"


def test_missing_tool_blocks_where_it_cannot_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    x86, arm = ARCHES["x86_64"], ARCHES["arm64"]
    monkeypatch.setattr(packages, "can_install", lambda: False)
    assert doctor._lack("", x86, x86) is Level.BLOCK
    assert doctor._lack("", arm, x86) is Level.LACK
    monkeypatch.setattr(packages, "can_install", lambda: True)
    assert doctor._lack("", x86, x86) is Level.LACK
    assert doctor._lack("12.2.0", x86, x86) is Level.GOOD


def test_what_only_some_commands_need(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [need for need in packages.table() if need.package in ("shellcheck", "lintian")]
    monkeypatch.setattr(packages.Need, "present", lambda need: need not in rows)
    found = {each.what: each for each in doctor._tools(host()) if each.what.startswith("tools ")}
    assert [each.removeprefix("tools for ") for each in found] == list(packages.NEEDS)
    assert found["tools for lint"].found == "no shellcheck"
    assert found["tools for test"].found == "no shellcheck lintian"
    assert found["tools for test"].cost == "no test"
    assert found["tools for deb"] == Finding("tools for deb", "all")
    assert {each.level for each in found.values()} == {Level.GOOD, Level.LACK}


def test_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    findings = [Finding("disk", "1 GB", Level.LACK, "[much]"), Finding("cores", "2")]
    monkeypatch.setattr(doctor, "examine", lambda version: findings)
    assert cmd_doctor.run(argparse.Namespace(version=versions.default())) == 0
    shown = capsys.readouterr().out
    assert "[much]" in shown
    assert "demo can run here" in shown
    findings.append(Finding("memory", "none", Level.BLOCK))
    assert cmd_doctor.run(argparse.Namespace(version=versions.default())) == 1
    assert capsys.readouterr().err == "bolt: demo cannot run here: memory\n"


@pytest.mark.parametrize("each", ARCHES.values(), ids=lambda each: str(each.name))
def test_tiny_guest_ends(each: Arch, tmp_path: Path) -> None:
    """The tiny guest, which shows whether KVM works, runs in an emulator as well."""
    if shutil.which(each.qemu) is None:
        pytest.skip(f"needs {each.qemu}")
    image = tmp_path / "tiny"
    image.write_bytes(kvm.tiny_image(each))
    arguments, status = kvm.tiny_arguments(each, image)
    machine = ["-nodefaults", "-display", "none", "-accel", "tcg", *each.machine_args, "-m", "64"]
    done = subprocess.run([each.qemu, *machine, *arguments], timeout=60, check=False)
    assert done.returncode == status


QEMU = """#!/bin/sh
case "$*" in
*-kernel*) {kernel} ;;
*) {tiny} ;;
esac
"""


def fake(folder: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, tiny: str) -> None:
    emulator = folder / host().qemu
    emulator.write_text(QEMU.format(kernel=kernel, tiny=tiny))
    emulator.chmod(0o755)
    monkeypatch.setattr(packages, "which", lambda tool: str(folder / tool))
    (folder / "kvm").touch()
    monkeypatch.setattr(kvm, "NODE", folder / "kvm")
    # Short, because some of these emulators hang; but on a busy host a shell may need more than a
    # second to start.
    monkeypatch.setattr(kvm, "KERNEL_TIMEOUT", 3)


@pytest.mark.parametrize(
    ("kernel", "usable", "detail"),
    [
        ("echo '[ 1.0] VFS: Cannot open root device'", True, "booted a lab kernel"),
        ("echo 'VFS: Cannot'; exec sleep 60", True, "booted a lab kernel"),
        ("exec sleep 60", False, "a lab kernel hangs under KVM"),
        ("echo 'warning: x' >&2; echo 'error: no MSR' >&2; exit 134", False, "error: no MSR"),
        ("exit 0", False, "a lab kernel dies early"),
    ],
)
def test_kvm_with_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, usable: bool, detail: str
) -> None:
    fake(tmp_path, monkeypatch, kernel, "exit 33")
    answer = kvm.probe(host(), tmp_path / "image")
    assert (answer.usable, answer.detail.startswith(detail)) == (usable, True)


def test_kvm_without_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, status = kvm.tiny_arguments(host(), tmp_path)
    fake(tmp_path, monkeypatch, f"exit {status}", f"exit {status}")
    assert kvm.probe(host()).usable
    fake(tmp_path, monkeypatch, "exit 9", "exit 9")
    assert not kvm.probe(host()).usable


def test_no_kvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvm, "NODE", tmp_path / "absent")
    assert kvm.probe(host()).detail.startswith("there is no")
    other = next(each for each in ARCHES.values() if not each.is_host)
    assert not kvm.probe(other).usable

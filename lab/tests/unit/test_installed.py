# SPDX-License-Identifier: GPL-2.0-only
"""The stages in which a guest installs Bolt's packages; these tests start no guest."""

import base64
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from boltlab import arch, debs
from boltlab.arch import ARCHES
from boltlab.debian import installed
from boltlab.debian.installed import Stage, Step
from boltlab.errors import BoltError
from boltlab.guest import qemu
from boltlab.guest.qemu import Guest

DEBIAN = debs.NAMES[arch.host().name]


def record(name: str, output: str, status: int = 0) -> dict[str, Any]:
    return {"step": name, "status": status, "output": base64.b64encode(output.encode()).decode()}


STAGE = Stage("one", "bolt", "first", (Step("a", "true", ("^good",), ("^W:",)),))


def test_a_good_stage() -> None:
    assert installed.complaints(STAGE, [record("a", "x\ngood\n")]) == []


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([], "one: a: not run"),
        ([record("b", "good")], "one: a: not run"),
        ([record("a", "bad")], "one: a: no '^good':\nbad"),
        ([record("a", "good\nW: no")], "one: a: has '^W:':\ngood\nW: no"),
        ([record("a", "good", 1)], "one: a: status 1:\ngood"),
    ],
)
def test_a_bad_stage(records: list[dict[str, Any]], why: str) -> None:
    assert installed.complaints(STAGE, records) == [why]


def test_the_stages_of_the_table(tmp_path: Path) -> None:
    stages = installed.stages("cloud", "6.12.117+bolt1")
    assert [stage.kernel for stage in stages] == ["stock", "bolt", "bolt", "stock"]
    assert {stage.repository for stage in stages} == {"first", "second"}
    path = tmp_path / "script"
    for stage in stages:
        path.write_text("\n".join(installed.script(stage)) + "\n", encoding="utf-8")
        assert subprocess.run(["sh", "-n", str(path)], check=False).returncode == 0
        # Each stage first shows that the right kernel has booted.
        assert stage.steps[0].command.startswith("uname -r")
        names = [step.name for step in stage.steps]
        assert len(names) == len(set(names))
        for step in stage.steps:
            path.write_text(step.command, encoding="utf-8")
            assert subprocess.run(["sh", "-n", str(path)], check=False).returncode == 0, step.name
            assert all(re.compile(each) for each in (*step.wants, *step.refuses))
    wanted = [each for stage in stages for step in stage.steps for each in step.wants]
    assert any(re.search(each, "Setting up linux-image-bolt (6.12.117+bolt1)") for each in wanted)
    assert any(re.search(each, "6.12.117-cloud-bolt") for each in wanted)
    words = [*wanted, *(step.command for stage in stages for step in stage.steps)]
    assert not any("{version}" in each or "{config}" in each for each in words)


def test_packages_are_of_the_architecture() -> None:
    assert f"linux-image-cloud-{DEBIAN}" in installed.included()
    assert not any("{" in name for name in installed.included())


def disk(folder: Path, *names: str) -> Path:
    """Make a disk whose /boot has files ``names``, each with its name in it."""
    boot = folder / "root" / "boot"
    boot.mkdir(parents=True)
    for name in names:
        (boot / name).write_text(name)
    image = folder / "disk.ext4"
    with image.open("wb") as file:
        file.truncate(8 << 20)
    command = [qemu.binary("mkfs.ext4"), "-q", "-F", "-d", str(folder / "root"), str(image)]
    subprocess.run(command, check=True, capture_output=True)
    return image


STOCK = f"6.1.0-9-cloud-{DEBIAN}"


def test_kernels_are_taken_from_the_disk(tmp_path: Path) -> None:
    bolt = "6.12.117-lab-bolt"
    names = [f"{kind}-{release}" for kind in ("vmlinuz", "initrd.img") for release in (STOCK, bolt)]
    image = disk(tmp_path, *names, f"config-{bolt}")
    to = tmp_path / "to"
    to.mkdir()
    for which, release in (("stock", STOCK), ("bolt", bolt)):
        kernel, initrd = installed.kernel_of(image, which, "lab", to)
        assert kernel.read_text() == f"vmlinuz-{release}"
        assert initrd.read_text() == f"initrd.img-{release}"


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ([], "has 0 kernels"),
        (["vmlinuz-6.12.1-lab-bolt", "vmlinuz-6.12.2-lab-bolt"], "has 2 kernels"),
        (["vmlinuz-6.12.1-lab-bolt"], "has no initrd.img-6.12.1-lab-bolt"),
    ],
)
def test_a_disk_without_the_kernel(tmp_path: Path, names: list[str], why: str) -> None:
    with pytest.raises(BoltError, match=why):
        installed.kernel_of(disk(tmp_path, *names), "bolt", "lab", tmp_path)


def test_the_medium_has_what_the_stages_use(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "bolt.sources").write_text("Types: deb\nURIs: file:/elsewhere\nSuites: ./\n")
    (repository / "a_1_all.deb").write_text("package")
    image = installed.medium(repository, tmp_path / "medium.ext4")
    sources = tmp_path / "sources"
    words = [qemu.binary("debugfs"), "-R", f"dump /bolt.sources {sources}", str(image)]
    subprocess.run(words, check=True, capture_output=True)
    assert sources.read_text() == "Types: deb\nURIs: file:/srv/bolt\nSuites: ./\n"
    words = [qemu.binary("debugfs"), "-R", "ls -p /stranger", str(image)]
    listing = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert {"dkms.conf", "Kbuild", "stranger.c"} <= set(listing.split("/"))


@pytest.mark.parametrize(("keep", "mode"), [(True, "cache=unsafe"), (False, "snapshot=on")])
def test_a_disk_that_keeps_what_is_written(tmp_path: Path, keep: bool, mode: str) -> None:
    root, medium = tmp_path / "disk", tmp_path / "medium"
    guest = Guest(ARCHES["x86_64"], Path("kernel"), (), root=root, keep=keep, media=(medium,))
    text = " ".join(qemu.system(guest, tmp_path))
    assert f"id=system0,format=raw,{mode},file={root}" in text
    assert f"id=system3,format=raw,readonly=on,file={medium}" in text
    assert text.count("snapshot=on") == (not keep)


def test_an_initramfs_of_the_systems_own(tmp_path: Path) -> None:
    guest = Guest(ARCHES["x86_64"], Path("kernel"), (), root=Path("disk"), initrd=Path("initrd"))
    words = qemu.command(guest, Path("initrd"))
    assert words[words.index("-initrd") + 1] == "initrd"

# SPDX-License-Identifier: GPL-2.0-only
"""A guest with Debian installs, uses, upgrades and removes Bolt's packages.

A guest whose kernel prints a splat fails by itself: see boltlab.guest.console.
"""

import subprocess
from pathlib import Path

import pytest

from boltlab import arch, packages
from boltlab.debian import aptrepo, installed, packing
from boltlab.debian.packing import Stamp
from boltlab.errors import UNAVAILABLE, BoltError
from boltlab.kernel.source import Source

pytestmark = [pytest.mark.guest, pytest.mark.nightly]


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Return a disk with Debian that the test may write to; skip if this host cannot make one."""
    try:
        found = installed.disk()
    except BoltError as error:
        if error.code == UNAVAILABLE:
            pytest.skip(str(error))
        raise
    copy = tmp_path / "disk.ext4"
    subprocess.run(["cp", "--sparse=always", str(found), str(copy)], check=True)
    return copy


def repository(folder: Path, config: str, stamp: Stamp, kernel_source: Source, jobs: int) -> Path:
    """Build all packages, those of the kernel with the configuration ``config``.

    ``stamp`` is the time in the packages' versions. Returns a file system with their repository.
    """
    made = folder / "made"
    made.mkdir(parents=True)
    packing.tools(stamp, made, jobs)
    packing.kernel(arch.host(), config, kernel_source, stamp, made, jobs)
    aptrepo.publish(made, folder / "repository")
    return installed.medium(folder / "repository", folder / "medium.ext4")


@pytest.mark.parametrize("config", ["lab", "cloud"])
def test_install_use_upgrade_remove(
    config: str, disk: Path, kernel_source: Source, jobs: int, tmp_path: Path
) -> None:
    packages.ensure("deb", "tools")
    first = Stamp.now()
    second = Stamp(first.seconds + 60)
    media = {
        name: repository(tmp_path / name, config, stamp, kernel_source, jobs)
        for name, stamp in (("first", first), ("second", second))
    }
    for stage in installed.stages(config, second.version(kernel_source.release)):
        folder = tmp_path / stage.name
        folder.mkdir()
        records = installed.run(stage, config, disk, media[stage.repository], folder).records
        assert installed.complaints(stage, records) == []

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


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a disk with Debian that the test may write to; skip if this host cannot make one."""
    try:
        found = installed.disk()
    except BoltError as error:
        if error.code == UNAVAILABLE:
            pytest.skip(str(error))
        raise
    copy = tmp_path_factory.mktemp("disk") / "disk.ext4"
    subprocess.run(["cp", "--sparse=always", str(found), str(copy)], check=True)
    return copy


def repository(folder: Path, stamp: Stamp, kernel_source: Source, jobs: int) -> Path:
    """Build all packages with the time ``stamp``; return a file system with their repository."""
    made = folder / "made"
    made.mkdir(parents=True)
    packing.tools(stamp, made, jobs)
    packing.kernel(arch.host(), installed.CONFIG, kernel_source, stamp, made, jobs)
    aptrepo.publish(made, folder / "repository")
    return installed.medium(folder / "repository", folder / "medium.ext4")


def test_install_use_upgrade_remove(
    disk: Path, kernel_source: Source, jobs: int, tmp_path: Path
) -> None:
    packages.ensure("deb", "tools")
    first = Stamp.now()
    second = Stamp(first.seconds + 60)
    media = {
        name: repository(tmp_path / name, stamp, kernel_source, jobs)
        for name, stamp in (("first", first), ("second", second))
    }
    for stage in installed.stages(second.version(kernel_source.release)):
        folder = tmp_path / stage.name
        folder.mkdir()
        records = installed.run(stage, disk, media[stage.repository], folder).records
        assert installed.complaints(stage, records) == []

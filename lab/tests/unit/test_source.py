# SPDX-License-Identifier: GPL-2.0-only
"""Source: identification, unpacking, directories, an unpacking that was interrupted."""

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from boltlab import packages, versions
from boltlab.errors import USAGE, BoltError
from boltlab.kernel import source
from tests.unit.conftest import MAKEFILE, write_tree


def pack(tree: Path, tarball: Path, mode: str) -> Path:
    with tarfile.open(tarball, f"w:{mode}") as tar:  # type: ignore[call-overload]
        tar.add(tree, arcname="linux-6.12.117")
    return tarball


@pytest.mark.parametrize(
    ("head", "release"),
    [
        ("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n", "6.12.117"),
        ("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\nEXTRAVERSION = -rc3\n", "6.12.0-rc3"),
        ("VERSION=6\nPATCHLEVEL=12\nSUBLEVEL=\nEXTRAVERSION=\n", "6.12"),
    ],
)
def test_release(tmp_path: Path, head: str, release: str) -> None:
    write_tree(tmp_path, {"Makefile": head, "Kconfig": ""})
    assert source.release_of(tmp_path) == release


@pytest.mark.parametrize(
    "files", [{}, {"Makefile": "all:\n", "Kconfig": ""}, {"Makefile": MAKEFILE}]
)
def test_no_kernel(tmp_path: Path, files: dict[str, str]) -> None:
    tree = write_tree(tmp_path / "tree", files)
    tree.mkdir(exist_ok=True)
    with pytest.raises(BoltError, match="is no kernel source"):
        source.resolve(tree)


@pytest.mark.parametrize(("suffix", "mode"), [(".tar", ""), (".tar.gz", "gz"), (".tar.xz", "xz")])
def test_tarball(kernel_tree: Path, tmp_path: Path, cache: Path, suffix: str, mode: str) -> None:
    tarball = pack(kernel_tree, tmp_path / f"linux{suffix}", mode)
    found = source.resolve(tarball)
    assert found.release == "6.12.117"
    assert found.version.series == "6.12"
    assert found.path == cache / "src" / found.id
    assert found.id.startswith("6.12.117-")
    assert (found.path / "kernel/cpu.c").read_text() == (kernel_tree / "kernel/cpu.c").read_text()
    before = (found.path / "Makefile").stat().st_ino
    assert source.resolve(tarball) == found
    assert (found.path / "Makefile").stat().st_ino == before, "unpacked twice"


def test_half_unpacked_is_not_trusted(kernel_tree: Path, tmp_path: Path) -> None:
    tarball = pack(kernel_tree, tmp_path / "linux.tar.gz", "gz")
    found = source.resolve(tarball)
    (found.path / source.COMPLETE).unlink()
    (found.path / "kernel/cpu.c").unlink()
    again = source.resolve(tarball)
    assert again == found
    assert (again.path / "kernel/cpu.c").exists()


def test_interrupted_unpacking_leaves_nothing_in_the_way(
    kernel_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tarball = pack(kernel_tree, tmp_path / "linux.tar.gz", "gz")

    def stop(half: Path, digest: str) -> source.Source:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(source, "_finish", stop)
        with pytest.raises(KeyboardInterrupt):
            source.resolve(tarball)
    found = source.resolve(tarball)
    assert sorted(path.name for path in found.path.parent.iterdir() if path.is_dir()) == [found.id]


def test_damaged_tarball(kernel_tree: Path, tmp_path: Path, cache: Path) -> None:
    tarball = pack(kernel_tree, tmp_path / "linux.tar.gz", "gz")
    tarball.write_bytes(tarball.read_bytes()[:-40])
    with pytest.raises(BoltError, match="cannot unpack") as failure:
        source.resolve(tarball)
    assert failure.value.log and failure.value.log.read_text()
    assert not [path for path in (cache / "src").iterdir() if path.is_dir()]


@pytest.mark.parametrize(("suffix", "mode", "cut"), [(".tar", "", 12000), (".tar.gz", "gz", 40)])
def test_a_part_of_a_tarball(
    kernel_tree: Path, tmp_path: Path, suffix: str, mode: str, cut: int
) -> None:
    (kernel_tree / "kernel/late.c").write_text("int late;\n" * 2000)
    tarball = pack(kernel_tree, tmp_path / f"linux{suffix}", mode)
    wanted = (["kernel"], ["include/none.h"])
    # The tarball lacks include/none.h, which is no error.
    with source.opened(tarball, *wanted) as tree:
        assert source.release_of(tree) == "6.12.117"
        assert (tree / "kernel/late.c").read_text().endswith("int late;\n")
    tarball.write_bytes(tarball.read_bytes()[:-cut])
    with pytest.raises(BoltError, match="cannot unpack") as error, source.opened(tarball, *wanted):
        pytest.fail("the tarball was taken to be whole")
    assert error.value.code == USAGE
    assert error.value.log and error.value.log.read_text()


def test_changed_tarball_is_another_source(kernel_tree: Path, tmp_path: Path) -> None:
    tarball = tmp_path / "linux.tar"
    first = source.resolve(pack(kernel_tree, tarball, ""))
    (kernel_tree / "kernel/cpu.c").write_text("int changed;\n")
    second = source.resolve(pack(kernel_tree, tarball, ""))
    assert first.id != second.id
    assert (second.path / "kernel/cpu.c").read_text() == "int changed;\n"


def test_no_tarball(tmp_path: Path) -> None:
    file = tmp_path / "linux.zip"
    file.write_bytes(b"PK")
    with pytest.raises(BoltError, match="no tarball Bolt can unpack") as error:
        source.resolve(file)
    assert error.value.code == USAGE
    with pytest.raises(BoltError, match="no kernel source at"):
        source.resolve(tmp_path / "absent")


def test_directory(kernel_tree: Path) -> None:
    found = source.resolve(kernel_tree)
    assert found.id.startswith("6.12.117-dir-")
    assert source.resolve(kernel_tree) == found
    file = kernel_tree / "kernel/cpu.c"
    file.write_text(file.read_text() + "/* more */\n")
    assert source.resolve(kernel_tree).id != found.id


def test_a_tree_of_the_cache_is_itself(kernel_tree: Path, tmp_path: Path) -> None:
    of_a_tarball = source.resolve(pack(kernel_tree, tmp_path / "linux.tar", ""))
    of_a_tree = source.resolve(kernel_tree)
    for found in (of_a_tarball, of_a_tree):
        assert source.resolve(found.path) == found


def test_a_release_may_have_a_name_of_its_own(kernel_tree: Path) -> None:
    makefile = kernel_tree / "Makefile"
    text = makefile.read_text().replace("EXTRAVERSION =", "EXTRAVERSION = -rc1-yocto")
    makefile.write_text(text)
    found = source.resolve(kernel_tree)
    assert found.release == "6.12.117-rc1-yocto"
    assert source.resolve(found.path) == source.cached() == source.of_id(found.id) == found
    assert source.of_id("6.12.117-00000000") is None
    (found.path / source.COMPLETE).write_text("6.12.118\n")
    assert source.of_id(found.id) is None


def test_built_directory_is_refused(kernel_tree: Path) -> None:
    (kernel_tree / ".config").write_text("")
    with pytest.raises(BoltError, match="make mrproper"):
        source.resolve(kernel_tree)


def test_git_directory_gives_what_is_tracked(kernel_tree: Path) -> None:
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", str(kernel_tree), *command], check=True)
    (kernel_tree / ".config").write_text("")
    (kernel_tree / "kernel/cpu.o").write_text("")
    found = source.resolve(kernel_tree)
    assert (found.path / "kernel/cpu.c").exists()
    assert not (found.path / "kernel/cpu.o").exists()
    assert not (found.path / ".git").exists()


def test_a_clone_of_another_user(kernel_tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user names the clone, so that the lab reads the clone although git would refuse."""
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", str(kernel_tree), *command], check=True)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert (source.resolve(kernel_tree).path / "kernel/cpu.c").exists()


def test_a_clone_that_git_cannot_list(kernel_tree: Path) -> None:
    (kernel_tree / ".git").write_text("nonsense\n")
    with pytest.raises(BoltError, match=r"git cannot list .*: fatal: ") as caught:
        source.resolve(kernel_tree)
    assert "\n" not in caught.value.message


def test_links_and_modes_survive(kernel_tree: Path) -> None:
    (kernel_tree / "link").symlink_to("kernel")
    (kernel_tree / "script").write_text("#!/bin/sh\n")
    (kernel_tree / "script").chmod(0o755)
    found = source.resolve(kernel_tree)
    assert (found.path / "link").readlink() == Path("kernel")
    assert os.access(found.path / "script", os.X_OK)


def test_other_series_is_refused(kernel_tree: Path, cache: Path) -> None:
    (kernel_tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 5\n")
    with pytest.raises(BoltError, match=r"linux 6\.1\.5 is not supported"):
        source.resolve(kernel_tree)
    assert not [path for path in (cache / "src").iterdir() if path.is_dir()]


def test_untested_release_is_a_note(kernel_tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (kernel_tree / "Makefile").write_text(MAKEFILE.format(sublevel=999))
    assert source.resolve(kernel_tree).release == "6.12.999"
    assert "6.12.999 is not one of the tested releases" in capsys.readouterr().err
    source.resolve(kernel_tree)
    assert "6.12.999 is not one of the tested releases" in capsys.readouterr().err


def test_no_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(versions, "DEBIAN_SOURCES", tmp_path)
    asked: list[str] = []
    monkeypatch.setattr(packages, "install", lambda names, whats: asked.extend(names))
    monkeypatch.setattr(packages, "candidate", lambda package: "1")
    with pytest.raises(BoltError, match="has no"):
        source.resolve()
    assert asked == [versions.default().package]


def test_a_source_that_no_suite_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of one line names a suite to add to apt's suites; the lab installs nothing."""
    updates: list[int] = []
    monkeypatch.setattr(versions, "DEBIAN_SOURCES", tmp_path)
    monkeypatch.setattr(packages, "can_install", lambda: True)
    monkeypatch.setattr(packages, "candidate", lambda package: "")
    monkeypatch.setattr(packages, "update", lambda: updates.append(1))
    monkeypatch.setattr(packages, "install", lambda *words: pytest.fail("apt was called"))
    for version in versions.load():
        with pytest.raises(BoltError) as failed:
            source.resolve(version)
        assert f"{version.package} in apt's suites" in str(failed.value)
        assert f"Debian's {version.suite} " in str(failed.value)
        assert "--source" in str(failed.value)
        assert "\n" not in str(failed.value)
    assert len(updates) == len(versions.load())


def test_a_suite_that_was_added_since_the_last_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [""]
    asked: list[str] = []
    monkeypatch.setattr(versions, "DEBIAN_SOURCES", tmp_path)
    monkeypatch.setattr(packages, "can_install", lambda: True)
    monkeypatch.setattr(packages, "candidate", lambda package: found[-1])
    monkeypatch.setattr(packages, "update", lambda: found.append("6.12.1-1"))
    monkeypatch.setattr(packages, "install", lambda names, whats: asked.extend(names))
    with pytest.raises(BoltError, match="has no"):
        source.resolve(versions.default())
    assert asked == [versions.default().package]

# SPDX-License-Identifier: GPL-2.0-only
"""How tools/ is built for guests: Debian's packages, settings for meson, a program's libraries."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from boltlab import debs, packages
from boltlab.arch import ARCHES
from boltlab.errors import BoltError
from boltlab.guest import scenario, tools
from tests.unit.conftest import write_tree

ARM64 = ARCHES["arm64"]


class Apt:
    """Stands in for apt-get and dpkg-deb: remembers commands, and downloads one package."""

    def __init__(self, fails: str = "") -> None:
        self.commands: list[list[str]] = []
        self.fails = fails

    def __call__(self, command: Sequence[str], **how: Any) -> subprocess.CompletedProcess[bytes]:
        words = list(map(str, command))
        self.commands.append(words)
        if {"install", "download"} & set(words):
            (how["cwd"] / "cache/archives/libx_1_arm64.deb").touch()
        if words[0] == "dpkg-deb":
            write_tree(Path(words[3]), {"usr/include/x.h": ""})
        return subprocess.CompletedProcess(words, int(self.fails in words))


def fake(monkeypatch: pytest.MonkeyPatch, fails: str = "") -> Apt:
    apt = Apt(fails)
    monkeypatch.setattr(subprocess, "run", apt)
    monkeypatch.setattr(packages, "which", lambda tool: f"/usr/bin/{tool}")
    return apt


@pytest.mark.parametrize(("depends", "verb"), [(True, "install"), (False, "download")])
def test_packages_are_unpacked(
    depends: bool, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """apt uses a folder for its lists and state, not this machine's; the folder is then removed."""
    apt = fake(monkeypatch)
    debs.unpack(ARM64, ["libx-dev"], tmp_path / "root", depends)
    assert [path.name for path in tmp_path.glob("root*")] == ["root"]
    assert (tmp_path / "root/usr/include/x.h").is_file()
    for command in apt.commands[:2]:
        assert "-oAPT::Architectures=arm64" in command
        assert f"-oDir::State={tmp_path}/root.debs" in command
    assert "update" in apt.commands[0]
    assert verb in apt.commands[1]
    assert ("--download-only" in apt.commands[1]) == depends


@pytest.mark.parametrize("fails", ["update", "install", "dpkg-deb"])
def test_packages_that_do_not_come(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(monkeypatch, fails)
    with pytest.raises(BoltError, match=r"apt cannot get libx-dev for arm64|cannot be unpacked"):
        debs.unpack(ARM64, ["libx-dev"], tmp_path / "root", depends=True)


def test_the_cross_file_names_the_libraries_of_the_guest(tmp_path: Path) -> None:
    text = tools.cross_file(ARM64, tmp_path)
    assert "c = 'aarch64-linux-gnu-gcc'" in text
    assert f"{tmp_path}/usr/lib/aarch64-linux-gnu/pkgconfig" in text
    assert text.count(f"--sysroot={tmp_path}") == 2


def program(folder: Path, name: str, *libraries: str) -> Path:
    """Compile a program, or a shared library if ``name`` has .so, that needs ``libraries``."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = [f"-Wl,-soname,{name}", "-shared", "-fPIC", "-nostdlib"] if ".so" in name else []
    said = "int x;\n" if shared else "int main(void) { return 0; }\n"
    words = ["gcc", "-x", "c", "-", "-o", str(folder / name), "-Wl,--no-as-needed", *shared]
    done = subprocess.run([*words, "-x", "none", *libraries], input=said, text=True, check=False)
    assert done.returncode == 0
    return folder / name


def test_a_guest_gets_what_its_program_needs(tmp_path: Path) -> None:
    """A guest gets each library once, and the dynamic linker at the path that the program names.

    Libraries that a library needs are copied as well.
    """
    triplet = ARCHES["x86_64"].triplet
    root, built = tmp_path / "root", tmp_path / "built"
    second = program(root / "usr/lib" / triplet, "libsecond.so.2")
    first = program(built / "lib", "libfirst.so.1", str(second))
    own = program(built / "cpubolt", "cpubolt", str(first))
    host = Path(subprocess.check_output(["gcc", "-print-file-name=libc.so.6"], text=True).strip())
    places = [built / "lib", *tools._places(ARCHES["x86_64"], root), host.parent]
    found = tools.libraries(ARCHES["x86_64"], own, places)
    assert {"lib/libfirst.so.1", "lib/libsecond.so.2", "lib/libc.so.6"} <= set(found)
    assert found["lib/libsecond.so.2"].data == second.read_bytes()
    linker = tools.linker(own, [host.parent])
    assert any(
        name.startswith(("lib/ld-", "lib64/ld-")) and node.data for name, node in linker.items()
    )
    with pytest.raises(BoltError, match=r"there is no ld-linux.* for cpubolt"):
        tools.linker(own, [built])
    second.unlink()
    with pytest.raises(BoltError, match=r"there is no libsecond\.so\.2 for x86_64"):
        tools.libraries(ARCHES["x86_64"], first, [built / "lib"])
    with pytest.raises(BoltError, match="is no ELF file"):
        tools._needed(write_tree(tmp_path, {"text": "x"}) / "text")


def test_no_programs_need_no_build() -> None:
    assert tools.nodes(ARM64, ()) == {}


def test_absolute_links_stay_in_the_folder(tmp_path: Path) -> None:
    write_tree(tmp_path, {"lib/a.so.1": "x"})
    link = tmp_path / "usr/lib/a.so"
    link.parent.mkdir(parents=True)
    link.symlink_to("/lib/a.so.1")
    tools._relink(tmp_path)
    assert not link.readlink().is_absolute()
    assert link.read_text() == "x"


def test_a_scenario_asks_for_programs() -> None:
    row = {"description": "x", "commands": ["run /bin/cpubolt"], "tools": ["cpubolt"]}
    assert scenario.parse("x", row).tools == ("cpubolt",)
    with pytest.raises(BoltError, match="'tools' has a wrong value"):
        scenario.parse("x", {**row, "tools": "cpubolt"})


def test_each_clone_has_builds_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command in one clone does not rebuild programs that tests of another clone are running."""
    mine = tools.place("plain")
    assert mine == tools.place("plain") != tools.place("bare")
    monkeypatch.setattr(tools, "SOURCES", tmp_path / "another/tools")
    assert tools.place("plain") != mine

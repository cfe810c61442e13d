# SPDX-License-Identifier: GPL-2.0-only
import functools
import re
import shutil
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from boltlab import arch
from boltlab.errors import BoltError
from boltlab.guest import guestimage
from boltlab.guest.guestimage import Node


def entries(archive: bytes) -> dict[str, tuple[int, bytes, tuple[int, int]]]:
    """Read newc archives set end to end, as the kernel's init/initramfs.c does."""
    found = {}
    at = 0
    while at < len(archive):
        if archive[at] == 0:
            at += 1
            continue
        assert at % 4 == 0
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        name_at = at + 110
        name = archive[name_at : name_at + fields[11] - 1].decode()
        assert archive[name_at + fields[11] - 1] == 0
        data_at = -(-(name_at + fields[11]) // 4) * 4
        data = archive[data_at : data_at + fields[6]]
        at = -(-(data_at + fields[6]) // 4) * 4
        if name != "TRAILER!!!":
            found[name] = (fields[1], data, (fields[9], fields[10]))
    return found


def test_cpio_holds_what_it_is_given() -> None:
    nodes = {
        "dir": guestimage.directory(),
        "dir/file": guestimage.file(b"hello", 0o755),
        "odd": guestimage.file(b"1234567"),
        "empty": guestimage.file(b""),
        "null": Node(stat.S_IFCHR | 0o600, device=(1, 3)),
    }
    archive = guestimage.cpio(nodes)
    assert len(archive) % 512 == 0
    assert entries(archive) == {
        "dir": (0o40755, b"", (0, 0)),
        "dir/file": (0o100755, b"hello", (0, 0)),
        "odd": (0o100644, b"1234567", (0, 0)),
        "empty": (0o100644, b"", (0, 0)),
        "null": (0o20600, b"", (1, 3)),
    }


@pytest.mark.skipif(shutil.which("cpio") is None, reason="cpio is not installed")
def test_cpio_reads_it() -> None:
    nodes = {"a": guestimage.directory(), "a/b": guestimage.file(b"x" * 1000)}
    listed = subprocess.run(
        ["cpio", "-tv", "--quiet"],
        input=guestimage.cpio(nodes),
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert listed.splitlines()[0].startswith("drwxr-xr-x")
    assert listed.splitlines()[1].split()[4] == "1000"


def test_equal_nodes_give_equal_archives() -> None:
    nodes = {"script": guestimage.file(b"kunit\n")}
    assert guestimage.cpio(nodes) == guestimage.cpio(dict(nodes))


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the guest's image have one tiny program; return the directory with its source."""
    sources = tmp_path / "guest"
    sources.mkdir()
    (sources / "init.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    library = tmp_path / "selftests" / "lib"
    library.mkdir(parents=True)
    (library / "zero.h").write_text("#define ZERO 0\n", encoding="utf-8")
    monkeypatch.setattr(guestimage, "LIBRARY", library)
    monkeypatch.setattr(guestimage, "PROGRAMS", {"init": ("init.c",)})
    monkeypatch.setattr(guestimage, "FLAGS", ("-nostdlib", "-ffreestanding", "-c"))
    monkeypatch.setattr(guestimage, "_programs", {})
    return sources


def test_base_is_compiled_once_and_again_on_change(small: Path) -> None:
    host = arch.host()
    first = guestimage.base(host, small)
    found = entries(first.read_bytes())
    assert found["init"][0] == 0o100755
    assert found["init"][1].startswith(b"\x7fELF")
    assert found["dev/console"] == (0o20600, b"", (5, 1))
    stamp = first.stat().st_mtime_ns
    assert guestimage.base(host, small) == first
    assert first.stat().st_mtime_ns == stamp

    (small / "util.h").write_text("/* new */\n", encoding="utf-8")
    second = guestimage.base(host, small)
    assert second != first
    assert not first.exists()


def test_a_header_of_the_library_counts_as_a_source(small: Path) -> None:
    (small / "init.c").write_text(
        '#include "lib/zero.h"\nint main(void) { return ZERO; }\n', encoding="utf-8"
    )
    host = arch.host()
    first = guestimage.base(host, small)
    (guestimage.LIBRARY / "zero.h").write_text("#define ZERO 1\n", encoding="utf-8")
    assert guestimage.base(host, small) != first


def test_a_program_that_does_not_compile(small: Path) -> None:
    (small / "init.c").write_text("int main(void) { return }\n", encoding="utf-8")
    with pytest.raises(BoltError, match="do not compile") as caught:
        guestimage.base(arch.host(), small)
    assert caught.value.log is not None
    assert "error" in caught.value.log.read_text(encoding="utf-8")


def test_an_interrupt_is_no_error_of_the_compiler(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While asyncio runs the lab, at first only the status of the compiler tells of Ctrl-C."""

    def run(command: list[str], **_named: object) -> "subprocess.CompletedProcess[str]":
        status = 0 if "--version" in command else -signal.SIGINT
        return subprocess.CompletedProcess(command, status, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(KeyboardInterrupt):
        guestimage.base(arch.host(), small)


def test_all_guests_of_a_call_have_the_same_programs(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guestimage, "base", functools.partial(guestimage.base, sources=small))
    first = guestimage.data(arch.host(), ["kunit"])
    (small / "init.c").write_text("int main(void) { return 1; }\n", encoding="utf-8")
    assert guestimage.data(arch.host(), ["kunit"]) == first
    guestimage._programs.clear()  # as in another call
    assert guestimage.data(arch.host(), ["kunit"]) != first


def test_the_script_comes_after_the_programs(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = guestimage.base(arch.host(), small)
    monkeypatch.setattr(guestimage, "base", lambda _: base)
    image = tmp_path / "initrd"
    extra = {"etc": guestimage.directory()}
    guestimage.make(arch.host(), ["write /a 1", "kunit"], image, extra)
    found = entries(image.read_bytes())
    assert found["script"] == (0o100644, b"write /a 1\nkunit\n", (0, 0))
    assert "etc" in found
    assert "init" in found


def test_the_table_of_programs_is_complete() -> None:
    named = {source for sources in guestimage.PROGRAMS.values() for source in sources}
    assert named == {path.name for path in guestimage.SOURCES.glob("*.c")}


def included(folder: Path) -> set[str]:
    """Return the headers of the library that files in ``folder``, or these headers, include."""
    text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.[ch]"))
    wanted = set(re.findall(r'^#include "lib/(\w+\.h)"$', text, re.M))
    found: set[str] = set()
    while wanted - found:
        name = (wanted - found).pop()
        found.add(name)
        text = (guestimage.LIBRARY / name).read_text(encoding="utf-8")
        wanted |= set(re.findall(r'^#include "(\w+\.h)"$', text, re.M))
    return found


def test_the_library_is_shared() -> None:
    """Guests' programs and also selftests use each header, directly or by another one of lib/."""
    headers = {path.name for path in guestimage.LIBRARY.iterdir()}
    assert headers == included(guestimage.SOURCES) == included(guestimage.LIBRARY.parent)


NAMES = re.compile(r"^(?:static |inline |extern )*[\w ]+[ *](\w+)\([^;{}]*\)\s*\{", re.M)


def test_what_the_library_has_is_defined_once() -> None:
    """No program of a guest, and no selftest, defines a function that the library has."""
    ours = {
        name
        for header in guestimage.LIBRARY.iterdir()
        for name in NAMES.findall(header.read_text(encoding="utf-8"))
    }
    assert {"put", "now_ns", "cpulist_next", "pin", "fork_mortal"} <= ours
    again = {
        (path.name, name)
        for folder in (guestimage.SOURCES, guestimage.LIBRARY.parent)
        for path in folder.glob("*.[ch]")
        for name in NAMES.findall(path.read_text(encoding="utf-8"))
        if name in ours
    }
    assert again == set()

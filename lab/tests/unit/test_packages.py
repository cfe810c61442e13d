# SPDX-License-Identifier: GPL-2.0-only
"""Packages: the table, which ones a machine lacks, and how these are installed."""

import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from boltlab import packages, paths
from boltlab.arch import ARCHES
from boltlab.errors import BoltError
from boltlab.packages import Need

LAB = paths.REPO / "lab"
BOTH = list(ARCHES.values())


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Need, "present", lambda need: False)


def names(groups: list[str], arches: Sequence[str], machine: str) -> set[str]:
    chosen = [ARCHES[name] for name in arches]
    rows = packages.table()
    return {
        need.package
        for need in rows
        if set(groups) & set(need.groups) and need.applies(chosen, machine)
    }


def test_every_row_can_be_checked() -> None:
    for need in packages.table():
        assert sum(map(bool, (need.tool, need.header, need.file))) == 1, need
        assert need.groups
        assert need.host in ("", "other")
        assert not need.arch or need.arch in ARCHES


@pytest.mark.parametrize(
    ("machine", "arches", "cross"),
    [
        ("x86_64", ["x86_64"], set()),
        ("x86_64", ["x86_64", "arm64"], {"gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"}),
        ("aarch64", ["arm64"], set()),
        ("aarch64", ["x86_64"], {"gcc-x86-64-linux-gnu", "libc6-dev-amd64-cross"}),
    ],
)
def test_cross_compilers(machine: str, arches: list[str], cross: set[str]) -> None:
    wanted = names(["build", "guest"], arches, machine)
    assert {name for name in wanted if "linux-gnu" in name or "cross" in name} == cross
    assert {"gcc", "make", "bc", "flex", "bison", "libelf-dev"} <= wanted


def test_qemu_of_the_architecture() -> None:
    assert names(["qemu"], ["x86_64"], "x86_64") == {"qemu-system-x86"}
    assert names(["qemu"], ["arm64", "x86_64"], "x86_64") == {"qemu-system-x86", "qemu-system-arm"}


def test_missing(nothing: None) -> None:
    assert [need.package for need in packages.missing(["test"])] == ["shellcheck"]
    with pytest.raises(ValueError, match="no such groups"):
        packages.missing(["nonsense"])


def test_present(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Need("x", tool="sh").present()
    assert not Need("x", tool="no-such-tool").present()
    assert Need("x", header="stdio.h").present()
    assert not Need("x", header="no/such.h").present()
    assert not Need("x", header="stdio.h", compiler="no-such-cc").present()
    assert Need("x", file=str(tmp_path)).present()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(packages, "SBIN", (str(tmp_path / "sbin"),))
    (tmp_path / "sbin").mkdir()
    (tmp_path / "sbin" / "depmod").touch(mode=0o755)
    assert Need("kmod", tool="depmod").present(), "root's directories are not searched"


def test_no_root(nothing: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "apt-get").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(BoltError) as failure:
        packages.ensure("qemu", "test", arches=BOTH)
    assert failure.value.code == 69
    assert (
        str(failure.value) == "install these packages: shellcheck qemu-system-x86 qemu-system-arm"
    )


def test_no_apt(nothing: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BoltError) as failure:
        packages.ensure("qemu", arches=BOTH[:1])
    assert failure.value.code == 69
    assert str(failure.value) == "install these: qemu-system-x86_64"


def test_one_line_names_what_is_needed_later_too(
    nothing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = [Need("linux-source-6.12", file="/usr/src/linux-source-6.12.tar.xz")]
    monkeypatch.setattr(packages, "can_install", lambda: False)
    monkeypatch.setattr(packages, "_privilege", lambda: None)
    with pytest.raises(
        BoltError, match=r"install these.*: shellcheck linux-source-6\.12$"
    ) as failure:
        packages.ensure("test", later=source)
    assert failure.value.code == 69
    # Where the lab can install packages, the caller installs the source itself.
    names: list[str] = []
    monkeypatch.setattr(packages, "can_install", lambda: True)
    monkeypatch.setattr(packages, "install", lambda asked, whats: names.extend(asked))
    with pytest.raises(BoltError, match="still missing"):
        packages.ensure("test", later=source)
    assert names == ["shellcheck"]


APT = """#!/bin/sh
echo "$*" >>{folder}/calls
case "$*" in
*update*) : >{folder}/lists ;;
*install*) {install} ;;
esac
"""


def fake_apt(folder: Path, monkeypatch: pytest.MonkeyPatch, install: str) -> Path:
    apt = folder / "apt-get"
    apt.write_text(APT.format(folder=folder, install=install.format(folder=folder)))
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return folder / "calls"


def test_update_only_when_the_installation_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_apt(tmp_path, monkeypatch, "true")
    packages.install(["one", "two", "one"])
    assert (
        calls.read_text()
        == "-y -q -o DPkg::Lock::Timeout=300 install --no-install-recommends -- one two\n"
    )
    calls.unlink()
    fake_apt(tmp_path, monkeypatch, "test -e {folder}/lists")
    packages.install(["one"])
    assert [line.split()[4] for line in calls.read_text().splitlines()] == [
        "install",
        "update",
        "install",
    ]


def test_apt_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_apt(tmp_path, monkeypatch, "echo E: no disk; exit 100")
    with pytest.raises(BoltError, match="apt could not install one") as failure:
        packages.install(["one"])
    assert failure.value.log and "E: no disk" in failure.value.log.read_text()


def test_installed_but_still_missing(
    nothing: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_apt(tmp_path, monkeypatch, "true")
    with pytest.raises(BoltError, match="still missing after the installation: shellcheck"):
        packages.ensure("test")


def test_sudo_without_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_apt(tmp_path, monkeypatch, "true")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    sudo = tmp_path / "sudo"
    sudo.write_text("#!/bin/sh\nexit 1\n")
    sudo.chmod(0o755)
    assert not packages.can_install()
    sudo.write_text('#!/bin/sh\n[ "$1" = -n ] || exit 1\nshift\nexec "$@"\n')
    assert packages.can_install()
    packages.install(["one"])
    assert "install" in (tmp_path / "calls").read_text()


def test_an_update_waits_for_the_lock_of_the_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_apt(tmp_path, monkeypatch, "test -e {folder}/lists")
    apt = tmp_path / "apt-get"
    busy = 'echo "E: Could not get lock /var/lib/apt/lists/lock."\necho "E: Unable to"; exit 100'
    locked = f"[ $(grep -c update {calls}) -gt 2 ] || {{ {busy}; }}"
    text = apt.read_text().replace(": >", f"{locked}; : >")
    apt.write_text(text)
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    packages.install(["one"])
    assert pauses == [packages.PAUSE] * 2
    # Any other failure of the update is final.
    (tmp_path / "lists").unlink()
    apt.write_text(text.replace("Could not get lock", "no network").replace("-gt 2", "-gt 99"))
    with pytest.raises(BoltError, match="apt could not install one"):
        packages.install(["one"])
    assert pauses == [packages.PAUSE] * 2


def test_sudo_passes_on_which_proxy_to_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_apt(tmp_path, monkeypatch, 'echo "$http_proxy,$no_proxy,$LC_ALL" >{folder}/seen')
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    sudo = tmp_path / "sudo"
    sudo.write_text('#!/bin/sh\nshift\nexec env -i PATH="$PATH" "$@"\n')
    sudo.chmod(0o755)
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    packages.install(["one"])
    assert (tmp_path / "seen").read_text() == "http://proxy:3128,,C\n"


def test_apt_is_not_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_apt(tmp_path, monkeypatch, "sleep 1; : >{folder}/ended")
    wait = subprocess.Popen.wait

    def interrupted(process: "subprocess.Popen[bytes]", timeout: float | None = None) -> int:
        monkeypatch.setattr(subprocess.Popen, "wait", wait)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        packages.install(["one"])
    assert (tmp_path / "ended").exists()


def test_apt_knows_the_names() -> None:
    """On Debian: every package of the table that this host may need exists."""
    if shutil.which("apt-cache") is None:
        pytest.skip("needs apt")
    if not asked("make"):
        pytest.skip("needs apt's lists")
    wanted = {need.package for need in packages.table() if need.applies(BOTH, platform.machine())}
    assert [name for name in sorted(wanted) if not asked(name)] == []


def asked(name: str) -> bool:
    done = subprocess.run(["apt-cache", "show", name], capture_output=True, check=False)
    return done.returncode == 0


def test_a_program_may_clean_up_when_the_lab_is_ended(tmp_path: Path) -> None:
    """If only the lab gets a signal, the lab sends the program SIGTERM, and waits for its end."""
    program = tmp_path / "program"
    program.write_text(
        "#!/bin/sh\ntrap 'sleep 0.3; echo cleaned; exit 3' TERM\necho began\n"
        "while :; do sleep 0.1; done\n"
    )
    program.chmod(0o755)
    code = (
        "import sys, threading, os, signal, time\n"
        "from pathlib import Path\n"
        "from boltlab import cli, packages\n"
        "cli.handle_ends(cli._ended)\n"
        "out = Path(sys.argv[2])\n"
        "def end():\n"
        "    while not out.exists() or 'began' not in out.read_text(): time.sleep(0.05)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "threading.Thread(target=end).start()\n"
        "with out.open('wb') as file: packages.call([sys.argv[1]], file)\n"
    )
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", code, program, out], cwd=LAB, check=False, timeout=60
    )
    assert done.returncode == 128 + 15
    # Between "began" and "cleaned" the shell may say that its child, sleep, has got the signal too.
    lines = out.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("began", "cleaned")


def test_what_a_program_gets(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        command = ["sh", "-c", 'echo "$TMPDIR"; echo wrong >&2; exit 7']
        assert packages.call(command, out, {"TMPDIR": "/here"}) == 7
    assert (tmp_path / "out").read_text() == "/here\nwrong\n"

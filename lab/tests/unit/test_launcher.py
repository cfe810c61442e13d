# SPDX-License-Identifier: GPL-2.0-only
"""The launcher ``bolt`` on machines that have only the programs which a test puts into PATH."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from boltlab import cli, paths

TOOLS = "sh dirname readlink grep id mkdir sha256sum cut cat rm mv env flock"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return a directory: repo/ has a copy of the launcher, bin/ the tools of any Linux system.

    The copy looks for Python in PATH only, not in /usr/bin.
    """
    repo = tmp_path / "repo"
    (repo / "lab/boltlab/data").mkdir(parents=True)
    shutil.copy(paths.REPO / "bolt", repo / "bolt")
    text = (repo / "bolt").read_text()
    assert text.count("/usr/bin/python3 ") == 1
    (repo / "bolt").write_text(text.replace("/usr/bin/python3 ", ""))
    shutil.copy(paths.DATA / "help.txt", repo / "lab/boltlab/data/help.txt")
    (repo / "lab/boltlab/commands").mkdir()
    (repo / "lab/boltlab/commands/doctor.py").touch()
    (repo / "lab/pyproject.toml").write_text("[project]\ndependencies = []\n")
    (tmp_path / "bin").mkdir()
    for tool in TOOLS.split():
        found = shutil.which(tool)
        assert found, tool
        (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def launch(machine: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    env = {"PATH": str(machine / "bin"), "BOLT_CACHE": str(machine / "cache"), "HOME": "/nowhere"}
    command = [str(machine / "repo/bolt"), *words]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def script(machine: Path, name: str, text: str) -> None:
    path = machine / "bin" / name
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


def test_help_needs_nothing(machine: Path) -> None:
    done = launch(machine, "--help")
    assert (done.returncode, done.stdout, done.stderr) == (0, cli.help_text(), "")
    assert launch(machine).returncode == 2
    assert not (machine / "cache").exists()


@pytest.mark.parametrize("word", ["nonsense", "--nonsense", "../x", "."])
def test_wrong_commands_need_nothing(machine: Path, word: str) -> None:
    done = launch(machine, word)
    assert done.returncode == 2
    kind = "option" if word.startswith("-") else "command"
    assert done.stderr == f"bolt: unknown {kind} '{word}' (see ./bolt --help)\n"
    assert not (machine / "cache").exists()


def test_no_python_no_root(machine: Path) -> None:
    script(machine, "id", "echo 1000\n")
    script(machine, "apt-get", "exit 1\n")
    done = launch(machine, "doctor")
    assert (done.returncode, done.stderr) == (69, "bolt: install these packages: python3-venv\n")
    script(machine, "sudo", "exit 1\n")
    assert launch(machine, "doctor").returncode == 69


def test_no_python_no_apt(machine: Path) -> None:
    done = launch(machine, "doctor")
    assert done.returncode == 69
    assert done.stderr.startswith("bolt: needs Python 3.11 or newer")


def test_root_installs_python(machine: Path) -> None:
    script(machine, "id", "echo 0\n")
    calls = machine / "calls"
    script(machine, "apt-get", f'echo "$*" >>{calls}\n[ "$1" = update ]\n')
    done = launch(machine, "doctor")
    assert done.returncode == 1
    assert "installing python3-venv failed (log: " in done.stderr
    words = [line.split() for line in calls.read_text().splitlines()]
    kinds = [next(word for word in line if word in ("install", "update")) for line in words]
    assert kinds == ["install", "update", "install"]


PYTHON = """case "$*" in
*'sys.executable'*) {probe} ;;
*'-m venv'*) mkdir -p "$3/bin" && {venv} && cp_self "$3/bin/python" ;;
*tomllib*) : ;;
*'-m pip'*) {pip} ;;
*) echo "lab: $*"; echo "path: $PYTHONPATH"; echo "cache: $BOLT_CACHE" ;;
esac
"""


def fake_python(machine: Path, probe: str = "echo me", venv: str = ":", pip: str = ":") -> None:
    script(machine, "cp_self", f'cat "{machine}/bin/python3" >"$1"; chmod 755 "$1"\n')
    chmod = shutil.which("chmod")
    assert chmod
    if not (machine / "bin/chmod").exists():
        (machine / "bin/chmod").symlink_to(chmod)
    script(machine, "python3", PYTHON.format(probe=probe, venv=venv, pip=pip))


def test_environment_is_made_once(machine: Path) -> None:
    fake_python(machine)
    done = launch(machine, "doctor", "a b")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"lab: -P -m boltlab doctor a b\npath: {machine}/repo/lab\ncache: {machine}/cache\n"
    )
    assert "setting up" in done.stderr
    again = launch(machine, "doctor")
    assert (again.returncode, again.stderr) == (0, "")


def test_new_dependencies_make_a_new_environment(machine: Path) -> None:
    fake_python(machine)
    launch(machine, "doctor")
    (machine / "repo/lab/pyproject.toml").write_text("[project]\ndependencies = ['x']\n")
    assert "setting up" in launch(machine, "doctor").stderr
    assert len(list((machine / "cache").glob("venv-????????????"))) == 2


def test_packages_go_into_the_environment_whatever_pip_conf_says(machine: Path) -> None:
    fake_python(machine, pip='case "$*" in *--no-user*) ;; *) exit 1 ;; esac')
    assert launch(machine, "doctor").returncode == 0


@pytest.mark.parametrize("part", ["venv", "pip"])
def test_half_made_environment_is_not_used(machine: Path, part: str) -> None:
    fake_python(machine, **{part: "exit 1"})
    done = launch(machine, "doctor")
    assert done.returncode == 1
    assert "failed (log: " in done.stderr
    assert not list((machine / "cache").glob("venv-????????????"))
    fake_python(machine)
    assert launch(machine, "doctor").returncode == 0


def test_python_without_venv_is_passed_over(machine: Path) -> None:
    fake_python(machine)
    os.rename(machine / "bin/python3", machine / "bin/python3.12")  # noqa: PTH104
    script(machine, "cp_self", f'cat "{machine}/bin/python3.12" >"$1"; chmod 755 "$1"\n')
    script(machine, "python3", "exit 1\n")
    assert launch(machine, "doctor").returncode == 0


def test_an_environment_that_was_half_removed_is_made_anew(machine: Path) -> None:
    fake_python(machine)
    assert launch(machine, "doctor").returncode == 0
    [venv] = (machine / "cache").glob("venv-????????????")
    (venv / "bin/python").unlink()
    again = launch(machine, "doctor")
    assert again.returncode == 0, again.stderr
    assert "setting up" in again.stderr
    assert not (venv / f"{venv.name}.half").exists()


def test_a_cache_that_may_not_be_written(machine: Path) -> None:
    fake_python(machine)
    launch(machine, "doctor")
    [venv] = (machine / "cache").glob("venv-????????????")
    (venv / "bin/python").unlink()
    lock = machine / "cache" / "venv.lock"
    lock.unlink()
    lock.mkdir()  # root may write to any file, but no user may write to a directory
    done = launch(machine, "doctor")
    assert (done.returncode, done.stderr) == (
        1,
        f"bolt: cannot write in the directory {machine}/cache\n",
    )


def test_apt_is_asked_again_while_its_lists_are_locked(machine: Path) -> None:
    for name in ("sleep", "true"):
        script(machine, name, "exit 0\n")
    script(machine, "sudo", 'shift\nexec env -i PATH="$PATH" "$@"\n')
    script(machine, "id", "echo 1000\n")
    calls = machine / "calls"
    busy = "echo 'E: Could not get lock /var/lib/apt/lists/lock.'; exit 100"
    script(
        machine,
        "apt-get",
        f'echo "$*" "$http_proxy" "$no_proxy" >>{calls}\n'
        f'[ "$1" = update ] && [ $(grep -c update {calls}) -lt 3 ] && {{ {busy}; }}\n'
        '[ "$1" = update ]\n',
    )
    env = {"PATH": str(machine / "bin"), "BOLT_CACHE": str(machine / "cache")}
    done = subprocess.run(
        [str(machine / "repo/bolt"), "doctor"],
        env={**env, "http_proxy": "http://proxy:3128"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    lines = calls.read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["-o", "update", "update", "update", "-o"]
    assert all(line.endswith(" http://proxy:3128 ") for line in lines)


def test_from_elsewhere_and_through_a_link(machine: Path) -> None:
    fake_python(machine)
    link = machine / "link"
    link.symlink_to(machine / "repo/bolt")
    env = {"PATH": str(machine / "bin"), "BOLT_CACHE": "relative"}
    done = subprocess.run(
        [str(link), "doctor"], cwd=machine, env=env, capture_output=True, text=True, check=False
    )
    assert f"path: {machine}/repo/lab\n" in done.stdout
    assert list((machine / "relative").glob("venv-*"))
    # The lab gets the cache's absolute path, because the lab may change its working directory.
    assert f"cache: {machine}/relative\n" in done.stdout


@pytest.mark.parametrize("name", ["with blank", "with:colon", "with,comma"])
def test_a_cache_that_cannot_be_is_refused_before_the_set_up(machine: Path, name: str) -> None:
    fake_python(machine)
    env = {"PATH": str(machine / "bin"), "BOLT_CACHE": str(machine / name)}
    done = subprocess.run(
        [str(machine / "repo/bolt"), "doctor"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "BOLT_CACHE must name a path without blanks, colons and commas" in done.stderr
    assert not (machine / name).exists()
    helped = subprocess.run([str(machine / "repo/bolt"), "--help"], env=env, check=False)
    assert helped.returncode == 0

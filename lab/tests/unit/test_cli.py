# SPDX-License-Identifier: GPL-2.0-only
"""The command line: help, wrong usage, errors in one line, exit codes."""

import argparse
import contextlib
import os
import pty
import subprocess
import sys
import types
from pathlib import Path

import pytest

from boltlab import arch, cli, packages, paths
from boltlab.errors import BoltError


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    for name in cli.COMMANDS:
        assert f"\n  {name} " in text
    assert "SPDX" not in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["nonsense"], "bolt: unknown command 'nonsense' (see ./bolt --help)\n"),
        (["--nonsense"], "bolt: unknown option '--nonsense' (see ./bolt --help)\n"),
        (["doctor", "--x"], "bolt: unrecognized arguments: --x (see ./bolt doctor --help)\n"),
    ],
)
def test_usage_errors(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status: object = cli.main(words)
    except SystemExit as end:
        status = end.code
    assert status == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", error)


@pytest.mark.parametrize("words", [["--arch", "mips"], ["--jobs", "0"], ["--jobs", "many"]])
def test_wrong_values(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["kernel", "build", *words])
    assert end.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"bolt: argument {words[0]}: ")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_modules(name: str) -> None:
    command = cli.load(name)
    assert name == command.NAME
    assert command.HELP
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    assert parser.format_help()


@pytest.mark.parametrize(
    ("raised", "status", "error"),
    [
        (BoltError("it broke"), 1, "bolt: it broke\n"),
        (BoltError("install x", code=69), 69, "bolt: install x\n"),
        (
            BoltError("it broke", paths.REPO / "x.log"),
            1,
            f"bolt: it broke (log: {paths.REPO}/x.log)\n",
        ),
        (
            KeyboardInterrupt(),
            130,
            "bolt: interrupted; the next call uses what is built already\n",
        ),
        (OSError(28, "No space left on device"), 1, "bolt: No space left on device\n"),
        (
            PermissionError(13, "Permission denied", "/x.lock"),
            1,
            "bolt: /x.lock: Permission denied\n",
        ),
    ],
)
def test_failures(
    raised: BaseException,
    status: int,
    error: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(args: argparse.Namespace) -> int:
        raise raised

    module = types.SimpleNamespace(
        NAME="demo", HELP="x", add_arguments=lambda parser: None, run=run
    )
    monkeypatch.setattr(cli, "load", lambda name: module)
    assert cli.main(["demo"]) == status
    assert capsys.readouterr().err == error


def test_a_file_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "results.json"
    assert cli.output(str(file)) == file
    file.write_text("old", encoding="utf-8")
    assert cli.output(str(file)) == file
    assert file.read_text(encoding="utf-8") == "old"
    with pytest.raises(argparse.ArgumentTypeError, match="is a directory"):
        cli.output(str(tmp_path))
    with pytest.raises(argparse.ArgumentTypeError, match=r"no directory .*/nowhere"):
        cli.output(str(tmp_path / "nowhere" / "results.json"))
    # Root may write anywhere, so the answer for another user is made up.
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(argparse.ArgumentTypeError, match=r"cannot write .*/results\.json"):
        cli.output(str(file))


def test_each_of_several_files_is_checked(tmp_path: Path) -> None:
    assert cli.beside(tmp_path / "r.json", "arm64") == tmp_path / "r-arm64.json"
    (tmp_path / "r-arm64.json").mkdir()
    with pytest.raises(BoltError, match=r"r-arm64\.json is a directory"):
        cli.beside(tmp_path / "r.json", "arm64")


def test_names() -> None:
    assert cli.names("bolt,native,,bolt") == ("bolt", "native")
    with pytest.raises(argparse.ArgumentTypeError, match="',' names nothing"):
        cli.names(",")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["boot-bench", "--soak", "1", "--json", "x"], "--json is not for --soak"),
        (["boot-bench", "--soak", "1", "--work"], "--work is not for --soak"),
        (["boot-bench", "--work", "--figure", "x.svg"], "--figure is not for --work"),
        (["boot-bench", "--work", "--stress", "2"], "--stress is not for --work"),
        (["boot-bench", "--work", "--variants", "talk"], "--work counts instructions of native, "),
        (["boot-bench", "--arch", "all", "--setting", "strict"], "arm64 has no setting 'strict'"),
        (["bystanders", "--figure", "x.pdf"], "'x.pdf' ends in none of .svg, .png"),
        (["boot-bench", "--soak", "1", "--cpus", "8"], "--cpus is not for --soak"),
        (["boot-bench", "--soak", "1", "--no-trace"], "--no-trace is not for --soak"),
        (["boot-bench", "--arch", "all", "--json", "/dev/null"], "cannot take several files"),
        (["bench", "--cases", ""], "'' names nothing"),
        (["bench", "--variants", "off", "--cases", "offline1"], "none of these variants has"),
        (["bench", "--arch", "all", "--json", "/dev/null"], "cannot take several files"),
        (["report", "--docs", "x.json"], "--docs takes no result files"),
        (["demo", "--output", "."], "cannot write in ."),
        (["release-check", "--list", "--page", "x"], "--page is not for --list"),
        (["release-check", "--list", "--again"], "--again is not for --list"),
    ],
)
def test_what_has_no_effect_is_refused_at_once(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(packages, "ensure", lambda *groups, **named: pytest.fail("work has begun"))
    if words[0] == "demo":  # root may write anywhere
        monkeypatch.setattr("os.access", lambda path, mode: False)
    try:
        status: object = cli.main(words)
    except SystemExit as end:
        status = end.code
    assert status == (1 if words[0] == "demo" else 2)
    assert said in capsys.readouterr().err


def test_arch_selection() -> None:
    host = arch.host()
    assert arch.select(None) == [host]
    assert arch.select("all")[0] is host
    assert {each.name for each in arch.select("all")} == {"x86_64", "arm64"}
    assert arch.select("arm64") == [arch.ARCHES["arm64"]]
    with pytest.raises(BoltError, match="unknown architecture 'mips'"):
        arch.select("mips")


@pytest.mark.parametrize("name", ["a b", "a:b", "a\tb", "a,b"])
def test_a_cache_in_which_no_kernel_can_be_built(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOLT_CACHE", str(tmp_path / name))
    with pytest.raises(BoltError, match="BOLT_CACHE must name a path without blanks, colons and "):
        paths.cache()
    assert not (tmp_path / name).exists()


def test_unknown_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(BoltError, match="no kernel for this machine, riscv64: say --arch"):
        arch.host()
    assert arch.ARCHES["x86_64"].cc == "x86_64-linux-gnu-gcc"


def test_nohup_keeps_the_lab_from_ending() -> None:
    code = (
        "import os, signal, types; from boltlab import cli\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "run = lambda args: os.kill(os.getpid(), signal.SIGHUP)\n"
        "cli.load = lambda name: types.SimpleNamespace(\n"
        "    HELP='', add_arguments=lambda parser: None, run=run)\n"
        "cli.main(['demo']); print('work done')\n"
    )
    env = {**os.environ, "PYTHONPATH": str(paths.REPO / "lab")}
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "work done\n"), done.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_a_terminal_without_unicode_shows_what_is_done(encoding: str) -> None:
    """The lab's messages, a spinner among them, appear on a terminal of any encoding."""
    code = (
        "import time, types; from boltlab import cli, ui\n"
        "def run(args):\n"
        "    with ui.status('works'): time.sleep(0.3)\n"
        "    ui.say('done \\u2834 here')\n"
        "    return 0\n"
        "cli.load = lambda name: types.SimpleNamespace(\n"
        "    HELP='', add_arguments=lambda parser: None, run=run)\n"
        "raise SystemExit(cli.main(['demo']))\n"
    )
    settings = {"PYTHONPATH": str(paths.REPO / "lab"), "PYTHONIOENCODING": f"{encoding}:strict"}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-P", "-c", code]
    env = {**os.environ, "TERM": "xterm", **settings}
    done = subprocess.run(command, env=env, stdout=theirs, stderr=theirs, check=False)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # read() fails at the end, as ``theirs`` is closed
        while part := os.read(ours, 4096):
            said += part
    os.close(ours)
    assert done.returncode == 0, said
    shown = "done ? here" if encoding == "latin-1" else "done \u2834 here"
    assert shown in said.decode(encoding)

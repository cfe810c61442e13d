# SPDX-License-Identifier: GPL-2.0-only
"""The command line: help, wrong usage, errors in one line, exit codes."""

import argparse
import types
from pathlib import Path

import pytest

from boltlab import arch, cli, paths
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


def test_arch_selection() -> None:
    host = arch.host()
    assert arch.select(None) == [host]
    assert arch.select("all")[0] is host
    assert {each.name for each in arch.select("all")} == {"x86_64", "arm64"}
    assert arch.select("arm64") == [arch.ARCHES["arm64"]]
    with pytest.raises(BoltError, match="unknown architecture 'mips'"):
        arch.select("mips")


def test_unknown_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(BoltError, match="no kernel for this machine, riscv64: say --arch"):
        arch.host()
    assert arch.ARCHES["x86_64"].cc == "x86_64-linux-gnu-gcc"

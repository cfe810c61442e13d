# SPDX-License-Identifier: GPL-2.0-only
"""Rows of a matrix as elements of job arrays; scripts stand in for Slurm's programs."""

import io
import os
import subprocess
from argparse import ArgumentParser, Namespace
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

from boltlab import cli, paths, ui
from boltlab.engine import options, slurm
from boltlab.engine import rows as elements
from boltlab.engine.progress import Board
from boltlab.engine.rows import Row
from boltlab.engine.slurm import Element
from boltlab.errors import BoltError

# Stands in for sbatch: runs all elements of an array, and then prints the number of the job.
SBATCH = """#!/bin/sh
echo "$*" >>"$PLAYED/sbatch"
for word; do
    case $word in --array=0-*) last=${word#--array=0-} ;; esac
    case $word in /*.sh) script=$word ;; esac
done
place=0
while [ "$place" -le "${last%%%*}" ]; do
    SLURM_ARRAY_TASK_ID=$place sh "$script" "$FOLDER" "$word"
    place=$((place + 1))
done
echo 41
"""
OTHERS = {
    "squeue": "#!/bin/sh\n[ -e $PLAYED/silent ] && exit 1\n"
    "echo 'slurm_load_jobs error: Invalid job id specified' >&2\nexit 1\n",
    "scontrol": "#!/bin/sh\necho 'MaxArraySize            = 3'\n",
    "scancel": '#!/bin/sh\necho "$*" >>"$PLAYED/scancel"\n',
}


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put scripts in place of Slurm's programs; return the folder with the scripts' arguments."""
    folder = tmp_path / "played"
    (folder / "bin").mkdir(parents=True)
    for name, text in {"sbatch": SBATCH, **OTHERS}.items():
        (folder / "bin" / name).write_text(text, encoding="utf-8")
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PLAYED", str(folder))
    return folder


def row(line: str, group: str = "production x86_64", **needs: int) -> Row:
    return Row(line, ">$LEDGER", group, **{"seconds": 90, **needs})


def written(rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = elements.write(rows, "torture")
    monkeypatch.setenv("FOLDER", str(folder))
    return folder


def test_each_row_runs_once(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(f"echo '{number} $LANG'") for number in range(7)]
    folder = written(rows, monkeypatch)
    slurm.run(rows, folder, 2, poll=0)
    (folder / "done" / ".nfs0001").mkdir()  # NFS may leave an entry with such a name
    ended = slurm.ended(rows, folder)
    assert [each.ledger.read_text().split()[0] for each in ended] == list("0123456")
    assert [each.row for each in ended] == rows
    # This cluster takes at most three elements in an array.
    asked = (played / "sbatch").read_text().splitlines()
    assert ["--array=0-2%2" in line for line in asked] == [True, True, False]


def test_a_row_that_is_killed_runs_again(
    played: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = "[ -e $PLAYED/again ] || { echo half >$LEDGER; : >$PLAYED/again; kill -9 $$; }; echo"
    rows = [row("echo 0"), row(f"{first} 1"), row("echo 2")]
    folder = written(rows, monkeypatch)
    slurm.run(rows, folder, poll=0)
    # Text that the row had written before it was killed does not count.
    assert [each.ledger.read_text() for each in slurm.ended(rows, folder)] == ["0\n", "1\n", "2\n"]
    chunks = [folder.joinpath(f"chunk-{turn}").read_text().split() for turn in (0, 1)]
    assert chunks == [["0", "1", "2"], ["1"]]
    table = capsys.readouterr().out.splitlines()[-1].split()
    assert table == ["production", "x86_64", "0", "0", "3", "1", "3"]


def test_a_row_that_is_killed_again_and_again_is_lost(
    played: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row("echo 0"), row("kill -9 $$ #")]
    folder = written(rows, monkeypatch)
    said = "1 of 2 rows have not ended after 3 tries, the first: kill -9"
    with pytest.raises(BoltError, match=said):
        slurm.run(rows, folder, poll=0)
    # The other row's ledger still counts.
    assert [each.number for each in slurm.ended(rows, folder)] == [0]


def test_a_row_that_runs_twice_counts_once(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a row's machine does not answer, Slurm starts the row again; the first run may go on."""
    rows = [row("echo $$")]
    folder = written(rows, monkeypatch)
    slurm.run(rows, folder, poll=0)
    first = elements.ended(folder, rows)[0].ledger.read_text()
    slurm.run(rows, folder, poll=0)
    assert elements.ended(folder, rows)[0].ledger.read_text() == first


def test_an_element_without_its_files_runs_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    folder = written([row("echo 0")], monkeypatch)
    command = ["sh", str(elements.SCRIPT), str(folder), "chunk-0"]
    env = {**os.environ, "SLURM_ARRAY_TASK_ID": "0"}
    for chunk, status in ((None, 1), ("", 1), ("7\n", 1), ("0\n", 0)):
        if chunk is not None:
            (folder / "chunk-0").write_text(chunk)
        done = subprocess.run(command, env=env, capture_output=True, check=False)
        assert done.returncode == status
        assert elements.done(folder) == ([0] if status == 0 else [])


def test_a_row_whose_status_is_lost(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row("echo 0"), row("echo 1")]
    folder = written(rows, monkeypatch)
    slurm.run(rows, folder, poll=0)
    (folder / "done" / "0" / "status").write_text("")  # as on a disk that was full
    lost, other = elements.ended(folder, rows)
    assert (lost.whole, other.whole) == (False, True)
    with pytest.raises(BoltError, match="'echo 0' has left no status: no message"):
        lost.check()


def test_a_status_that_cannot_be_written(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row is submitted again, as if it had been killed."""
    rows = [row("echo x; [ -e $PLAYED/full ] || mkdir $PLAYED/full ${LEDGER%/*}/status; echo")]
    folder = written(rows, monkeypatch)
    slurm.run(rows, folder, poll=0)
    assert [each.status for each in slurm.ended(rows, folder)] == [0]
    assert (folder / "chunk-1").exists()


def test_a_failure_that_was_found_is_no_kill(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row("(exit 1) && echo"), row("echo 'bolt: install these packages: qemu' >&2; exit 69;")]
    folder = written(rows, monkeypatch)
    slurm.run(rows, folder, poll=0)
    found = elements.ended(folder, rows)
    assert [each.status for each in found] == [1, 69]
    with pytest.raises(BoltError, match="exited with status 69: bolt: install these packages"):
        found[1].check()
    with pytest.raises(BoltError, match="exited with status 1: no message"):
        found[0].check()  # the element has left no ledger


def test_what_is_asked_of_slurm(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/elsewhere")
    rows = [row("a", seconds=61, memory=3000), row("b", cpus=2), row("c", seconds=600)]
    words = slurm.submission(rows, cache / "20260101-000000-a_7-boot-bench", "chunk-0", 5)
    assert words[0] == "sbatch"
    assert {"--array=0-2%5", "--time=10", "--cpus-per-task=2", "--mem=3000M"} <= set(words)
    assert {"--job-name=bolt-boot-bench", "--requeue", f"--chdir={paths.REPO}"} <= set(words)
    exported = next(word for word in words if word.startswith("--export="))
    assert "BOLT_CACHE" in exported
    assert "LD_LIBRARY_PATH" not in exported
    assert words[-3:] == [
        str(paths.DATA / "element.sh"),
        str(cache / "20260101-000000-a_7-boot-bench"),
        "chunk-0",
    ]
    assert "--array=0-2" in slurm.submission(rows, cache / "x", "chunk-0")


def test_the_queue_is_read() -> None:
    said = "2|RUNNING|None\n0|PENDING|JobArrayTaskLimit\n 1|COMPLETING|None\n"
    found = slurm.parse(said)
    assert found[0] == Element("PENDING", "JobArrayTaskLimit")
    assert [place for place, each in sorted(found.items()) if each.runs] == [1, 2]
    assert slurm.parse("") == {}
    for bad in ("N/A|RUNNING|None", "nonsense", "3|"):
        with pytest.raises(BoltError, match="which is no element of an array"):
            slurm.parse(bad)


@pytest.mark.parametrize("module, name", [(slurm, "queue"), (ui, "say")])
def test_an_array_is_taken_back_when_the_command_ends(
    played: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str
) -> None:
    """Ctrl-C may come while the command waits, or while it says which array it has submitted."""
    rows = [row("echo 0")]
    folder = written(rows, monkeypatch)

    def interrupted(text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        slurm.run(rows, folder, poll=0)
    assert (played / "scancel").read_text() == "41\n"
    # A row that had ended before the interruption counts.
    assert [each.number for each in elements.ended(folder, rows)] == [0]


def test_a_controller_that_does_not_answer(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (played / "silent").touch()
    assert slurm.queue("41") is None
    monkeypatch.setattr(slurm, "SILENCE", 0)
    rows = [row("echo 0")]
    with pytest.raises(BoltError, match="Slurm does not answer"):
        slurm.run(rows, written(rows, monkeypatch), poll=0)


def test_what_slurm_refuses_is_said_in_one_line(
    played: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = "#!/bin/sh\necho 'sbatch: error: Memory specification can not be satisfied' >&2\n"
    (played / "bin" / "sbatch").write_text(f"{refusal}exit 1\n")
    rows = [row("echo 0")]
    with pytest.raises(BoltError, match=r"^sbatch failed: sbatch: error: Memory specification"):
        slurm.run(rows, written(rows, monkeypatch), poll=0)
    (played / "bin" / "sbatch").write_text("#!/bin/sh\necho what\n")
    with pytest.raises(BoltError, match="sbatch answers 'what' instead of a job's number"):
        slurm.run(rows, written(rows, monkeypatch), poll=0)
    (played / "bin" / "scontrol").write_text("#!/bin/sh\necho 'MaxArraySize = 0'\n")
    with pytest.raises(BoltError, match="takes no job arrays"):
        slurm.run(rows, written(rows, monkeypatch), poll=0)


def test_progress_by_group() -> None:
    rows = [row("a"), row("b", "kasan arm64"), row("c"), row("d")]
    board = Board(rows)
    board.update({0: True, 1: False, 2: True}, [2])
    assert board.cells() == [
        ["production x86_64", "1", "1", "1", "0", "3"],
        ["kasan arm64", "1", "0", "0", "0", "1"],
    ]
    board.killed([0])
    board.update({0: False}, [2, 3])
    assert board.cells()[0] == ["production x86_64", "1", "0", "2", "1", "3"]


def terminal(kind: str, monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Let the lab print on a terminal of ``kind``; return what the lab prints."""
    monkeypatch.setenv("TERM", kind)
    said = io.StringIO()
    monkeypatch.setattr(ui, "console", Console(file=said, force_terminal=True, width=80))
    return said


def test_a_terminal_that_cannot_redraw_has_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    said = terminal("dumb", monkeypatch)
    with Board([row("a"), row("b")]) as board:
        board.update({1: True}, [0])
        assert said.getvalue() == "1 of 2 rows have ended, 1 run\n"
        with ui.progress("building", 2) as task:
            task.update(1)
        assert "building: 50 %" in said.getvalue()


def test_a_terminal_has_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    said = terminal("xterm", monkeypatch)
    with Board([row("a"), row("b")]) as board:
        board.update({0: True, 1: False}, [])
        board.update({1: True}, [0])
        assert said.getvalue().count("waiting") == 2  # each table drawn over the one before
    end = said.getvalue().splitlines()[-1].split()
    assert end == ["production", "x86_64", "0", "1", "1", "0", "2"]


def test_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = ArgumentParser()
    options.add(parser)
    cli.add_source(parser)
    assert not options.on_cluster(parser.parse_args([]))
    with pytest.raises(BoltError, match="--at-once is for --engine slurm"):
        options.on_cluster(parser.parse_args(["--at-once", "2"]))
    args = parser.parse_args(["--engine", "slurm", "--source", "a tree"])
    assert options.source(args) == f" --source '{Path.cwd()}/a tree'"
    assert options.source(parser.parse_args(["--version", "7.3"])) == " --version 7.3"
    assert options.source(parser.parse_args([])) == ""
    with pytest.raises(BoltError, match="--no-trace is not for --engine slurm"):
        options.on_cluster(Namespace(engine="slurm", at_once=None, no_trace=True), "no_trace")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BoltError, match="lacks sbatch squeue scancel scontrol") as caught:
        options.on_cluster(args)
    assert caught.value.code == 69

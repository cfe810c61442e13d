# SPDX-License-Identifier: GPL-2.0-only
"""Tables on narrow terminals and in pipes: no figure is cut, and columns left out are named."""

import argparse
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from boltlab import paths, tables, ui, versions
from boltlab.arch import ARCHES
from boltlab.bench import alternatives, results, served
from boltlab.boot import bootfile
from boltlab.bystanders import losses
from boltlab.commands import alternatives as cmd_alternatives
from boltlab.commands import boot_bench as cmd_boot_bench
from boltlab.commands import bystanders as cmd_bystanders
from boltlab.commands import doctor as cmd_doctor
from boltlab.commands import torture as cmd_torture
from boltlab.commands import vm_demo as cmd_vm_demo
from boltlab.errors import BoltError
from boltlab.guest import doctor
from boltlab.guest.doctor import Finding, Level
from boltlab.report import summary
from boltlab.tables import Column
from boltlab.torture import matrix, sightings, tally

RESULTS = paths.REPO / "results"
Cells = list[tuple[Sequence[Column], Sequence[Sequence[str]]]]

SHOW = """import pathlib, sys
from boltlab.bench import results
from boltlab.report import summary
summary.show(results.load(pathlib.Path(sys.argv[1])))"""

COLUMNS = (
    Column("case"),
    Column("n", 2),
    Column("boots", 1, "boots of native"),
    Column("Bolt"),
)
ROWS = (("offline1", "40/100", "0.123", "1234.5x"), ("online1", "-", "17.25", "0.003x"))


def terminal(monkeypatch: pytest.MonkeyPatch, width: int | None) -> io.StringIO:
    """Let the lab print to a terminal of ``width`` columns, or (None) a pipe; return the text."""
    out = io.StringIO()
    made = Console(file=out, force_terminal=width is not None, width=width or 80, color_system=None)
    monkeypatch.setattr(ui, "console", made)
    return out


@pytest.mark.parametrize(
    ("width", "shown"), [(None, 4), (32, 4), (31, 3), (24, 3), (23, 2), (17, 2), (10, 2)]
)
def test_columns_leave_by_rank(
    width: int | None, shown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = terminal(monkeypatch, width)
    tables.show(COLUMNS, ROWS)
    lines = out.getvalue().splitlines()
    assert lines[1].split() == [
        column.title for column in COLUMNS if column.rank <= {4: 2, 3: 1, 2: 0}[shown]
    ]
    assert "1234.5x" in out.getvalue()
    assert "0.003x" in out.getvalue()
    remark = " ".join(out.getvalue().split()).partition("no room for: ")[2]
    begin = {4: "", 3: "n (to see all ", 2: "n, boots of native (to see all "}
    assert remark.startswith(begin[shown])
    assert bool(remark) == (shown < 4)


def test_columns_of_one_rank_leave_together() -> None:
    columns = (Column("a"), Column("b", 1), Column("c", 1), Column("d"))
    assert tables.fit(columns, [["1"] * 4], 9) == (0, 3)
    assert tables.fit(columns, [["1"] * 4], 10) == (0, 1, 2, 3)


def test_what_does_not_fit_at_all_is_whole_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    out = terminal(monkeypatch, 8)
    tables.show([Column("what"), Column("figure")], [["offline1", "1234567.5x"]])
    assert "offline1  1234567.5x" in out.getvalue()


def test_prose_takes_lines_and_figures_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    out = terminal(monkeypatch, 40)
    columns = [Column("figure"), Column("why", prose=True), Column("more", 1)]
    tables.show(columns, [["123456.7x", "a context of ten lines has changed since", "x"]])
    lines = out.getvalue().splitlines()
    assert lines[1].split() == ["figure", "why", "more"]
    assert lines[3].split() == ["123456.7x", "a", "context", "of", "ten", "lines", "x"]
    assert lines[4] == "           has changed since"


def saved(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Show the tables of a result file that the repository has."""
    try:
        summary.show(results.load(path))
    except BoltError:
        cmd_boot_bench.show(bootfile.load(path))


def torture_list(monkeypatch: pytest.MonkeyPatch) -> None:
    book = tally.load(RESULTS / "torture.json")
    configs = list(matrix.configs().values())
    cmd_torture.show(book, configs, list(ARCHES))


def races_of(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = sightings.load(RESULTS / "races.json")
    tables.show(sightings.COLUMNS, sightings.table(ledger, list(ARCHES)), left=2)


def bystanders_of(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in RESULTS.glob("*-bystanders.json"):
        cmd_bystanders.show(losses.load(path)[1])


def alternatives_of(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in RESULTS.glob("*-alternatives.json"):
        cmd_alternatives.show(alternatives.load(path).rows)


def services_of(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in RESULTS.glob("*-vm*.json"):
        cmd_vm_demo.show(served.load(path))


def doctors(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [
        Finding("memory", "25.3 GB"),
        Finding("disk", "42 GB free in /home/somebody/.cache/bolt", Level.LACK, "12.0 GB needed"),
        Finding("QEMU for x86_64", "10.0.2", Level.BLOCK, "no guest can run: " + "why " * 30),
    ]
    monkeypatch.setattr(doctor, "examine", lambda version: findings)
    assert cmd_doctor.run(argparse.Namespace(version=versions.default())) == 1


def files() -> Iterator[Path]:
    """Yield the result files of ./bolt bench and ./bolt boot-bench, which have no key "kind"."""
    for path in sorted(RESULTS.glob("*.json")):
        if "kind" not in json.loads(path.read_text(encoding="utf-8")):
            yield path


SHOWS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "torture": torture_list,
    "races": races_of,
    "bystanders": bystanders_of,
    "alternatives": alternatives_of,
    "services": services_of,
    "doctor": doctors,
    **{
        path.stem: (lambda monkeypatch, path=path: saved(monkeypatch, path))  # type: ignore[misc]
        for path in files()
    },
}


@pytest.mark.parametrize("width", [None, 80, 60])
@pytest.mark.parametrize("name", SHOWS)
def test_no_table_loses_a_figure(
    name: str, width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = terminal(monkeypatch, width)
    given: Cells = []
    show = tables.show

    def spy(columns: Sequence[Column], cells: Sequence[Sequence[str]], **words: object) -> None:
        given.append((columns, cells))
        out.truncate(0)
        out.seek(0)
        show(columns, cells, **words)  # type: ignore[arg-type]
        check(out.getvalue(), columns, cells, width)

    monkeypatch.setattr(tables, "show", spy)
    SHOWS[name](monkeypatch)
    assert given


def check(
    text: str, columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int | None
) -> None:
    """Assert that lines fit, shown columns have all figures, and missing columns are named."""
    assert "\u2026" not in text
    if width:
        assert max(map(len, text.splitlines())) <= width
    shown = tables.fit(columns, cells, width)
    assert len(shown) > 1
    assert len(shown) == len(columns) or width
    body, _, remark = text.partition("no room for:")
    for place, column in enumerate(columns):
        if place in shown:
            assert all(word in body for word in column.title.split())
            for row in cells:
                words = row[place].split() if column.prose else [row[place]]
                assert all(word in body for word in words if any(map(str.isdigit, word)))
        else:
            assert (column.name or column.title) in " ".join(remark.split())


def test_bolt_and_how_much_faster_it_is_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    out = terminal(monkeypatch, 60)
    summary.show(results.load(RESULTS / "2026-11-20-x86_64-strict.json"))
    heads = [line.split() for line in out.getvalue().splitlines() if line.startswith("case ")]
    assert all("Bolt" in head for head in heads)
    assert heads[0][-3:] == ["Bolt", "vs", "native"]


@pytest.mark.parametrize("width", [80, 60])
def test_a_real_terminal(width: int) -> None:
    measured = RESULTS / "2026-11-20-x86_64-strict.json"
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {key: text for key, text in os.environ.items() if key != "COLUMNS"}
    child = subprocess.Popen(
        [sys.executable, "-c", SHOW, str(measured)],
        cwd=paths.REPO / "lab",
        env=environment | {"TERM": "xterm"},
        stdout=slave,
    )
    os.close(slave)
    said = b""
    while True:
        try:
            said += os.read(master, 65536)
        except OSError:  # the terminal's other side is closed
            break
    os.close(master)
    assert child.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", said.decode())
    assert "159.3x" in text
    assert "\u2026" not in text
    assert ("no room for: n, vs expedited" in text) == (width == 60)
    figures = [line for line in text.splitlines() if line.startswith(("offline", "online"))]
    assert figures
    assert max(map(len, figures)) <= width

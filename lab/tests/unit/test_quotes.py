# SPDX-License-Identifier: GPL-2.0-only
"""README.md and the pages in docs/ quote figures of the files in results/."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from boltlab import cli, codec, kept, paths
from boltlab.bench import results
from boltlab.bench.results import Case, Results
from boltlab.bystanders import losses
from boltlab.bystanders.losses import Row
from boltlab.errors import BoltError
from boltlab.report import pictures, quotes
from tests.unit.sample import sample, stats


def measured(native: float = 32.0) -> Results:
    one = {"native": stats(native), "expedited": stats(2.0), "bolt": stats(0.2024)}
    return sample(
        cases=[Case("offline1", 1, one)]
        + [
            Case(f"{direction}_{way}", batch, one | {"bolt": stats(0.5 + batch * 0.1)}, cpus=32)
            for direction in results.DIRECTIONS
            for way in ("seq", "bulk")
            for batch in (1, 7, 31)
        ],
        commit="0123abc",
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    results.save(measured(), tmp_path / "2026-11-20-x86_64-strict.json")
    return tmp_path


def page(folder: Path, text: str) -> Path:
    file = folder / "page.md"
    file.write_text(text, encoding="utf-8")
    return file


def mended(file: Path) -> bool:
    """Write the results into the quotes of ``file``; return whether a quote was stale."""
    text, stale = quotes.renewed(file)
    file.write_text(text, encoding="utf-8")
    return bool(stale)


@pytest.mark.parametrize("document", quotes.documents(), ids=lambda file: file.name)
def test_documents_quote_the_results(document: Path) -> None:
    """If a table or number differs from the results, ``./bolt report --docs`` mends it."""
    assert [str(stale) for stale in quotes.check(document)] == []


def test_the_readme_has_no_figure_without_a_source() -> None:
    """If README.md says "9x faster" or "3 ms", a mark must say which result the figure is from."""
    text = (paths.REPO / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"<!-- table: .*?<!-- end of table -->", "", text, flags=re.DOTALL)
    text = re.sub(r"\d[\d.,]*x?<!-- figure: [^>]* -->", "FIGURE", text)
    loose = re.findall(r"\b\d[\d.,]*(?:x\b| ?(?:ms|us|ns)\b)", text)
    assert loose == []


def test_every_table_of_results_names_commit_and_file() -> None:
    for document in quotes.documents():
        text = document.read_text(encoding="utf-8")
        for match in re.finditer(r"<!-- table: .*?<!-- end of table -->", text, re.DOTALL):
            assert re.search(r"Measured: `results/[^`]+` \(commit [0-9a-f]{7,}\+?\)", match[0])


@pytest.mark.parametrize("picture", sorted(pictures.FOLDER.glob("*.svg")), ids=lambda at: at.stem)
def test_pictures_are_of_the_newest_results(picture: Path) -> None:
    """If a picture differs from the newest results, ``./bolt report --docs`` draws it anew."""
    assert picture.read_text(encoding="utf-8") == pictures.draw(picture.stem)


def test_a_figure_that_differs_is_found_and_mended(folder: Path) -> None:
    file = page(folder, "It is 75x<!-- figure: x86_64-strict#offline1 native/bolt --> faster.\n")
    assert [str(one) for one in quotes.check(file)] == ["page.md:1: says 75x, results say 158x"]
    assert mended(file)
    assert "It is 158x<!--" in file.read_text(encoding="utf-8")
    assert quotes.check(file) == []
    assert not mended(file)


@pytest.mark.parametrize("text", ["0.2", "0.20", "0.202", "0.2024"])
def test_a_figure_may_be_rounded(folder: Path, text: str) -> None:
    file = page(folder, f"{text}<!-- figure: x86_64-strict#offline1 bolt --> ms")
    assert quotes.check(file) == []


@pytest.mark.parametrize("text", ["0.3", "0.21", "0.203", "0", "1,202"])
def test_a_figure_is_not_rounded_away(folder: Path, text: str) -> None:
    file = page(folder, f"{text}<!-- figure: x86_64-strict#offline1 bolt --> ms")
    assert len(quotes.check(file)) == 1


def test_requests_for_several_cpus_and_their_line(folder: Path) -> None:
    assert quotes.value("x86_64-strict#offline_bulk 31 of 32 bolt") == pytest.approx(3.6)
    assert quotes.value("x86_64-strict#offline each") == pytest.approx(100)
    assert quotes.value("x86_64-strict#online start") == pytest.approx(500)
    assert folder.is_dir()


def test_the_newest_results_count_unless_a_day_is_named(folder: Path) -> None:
    results.save(measured(64.0), folder / "2026-11-22-x86_64-strict.json")
    results.save(measured(1.0), folder / "2026-11-23-x86_64-strict-boot.json")
    assert quotes.value("x86_64-strict#offline1 native") == 64.0
    assert quotes.value("2026-11-20-x86_64-strict#offline1 native") == 32.0


def test_bystanders_have_lines_of_what_was_deferred(folder: Path) -> None:
    rows = [
        Row(variant, "offline", cpus, 1, False, longest=10.0, off=None, stolen=20.0, times=1.0)
        for cpus in (4, 16)
        for variant in ("native", "bolt")
    ]
    rows += [dataclasses.replace(rows[1], direction="settle", longest=30.0, stolen=60.0)]
    head = {"arch": "x86_64", "qemu": "10.0.2", "commit": "0123abc"}
    text = codec.lines(losses.KIND, head, "rows", map(dataclasses.asdict, rows))
    (folder / "2026-11-28-x86_64-bystanders.json").write_text(text, encoding="utf-8")
    file = page(folder, "<!-- table: bystanders x86_64-bystanders -->\n<!-- end of table -->\n")
    assert mended(file)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("| 1 of")] == [
        "| 1 of 4 | 10.0, 20.0 | - | 10.0, 20.0 |",
        "| 1 of 4, settling | - | - | 30.0, 60.0 |",
        "| 1 of 4, sum | 10.0, 20.0 | - | 30.0, 80.0 |",
        "| 1 of 16 | 10.0, 20.0 | - | 10.0, 20.0 |",
    ]


def test_a_table_is_made_and_kept_up_to_date(folder: Path) -> None:
    file = page(folder, "<!-- table: headline x86_64-strict -->\nold\n<!-- end of table -->\n")
    assert len(quotes.check(file)) == 1
    mended(file)
    text = file.read_text(encoding="utf-8")
    assert "| **one off** | x86_64 | 32.0 | 2.00 | **0.202** | 158x | 9.88x |" in text
    assert "Measured: `results/2026-11-20-x86_64-strict.json` (commit 0123abc)." in text
    assert quotes.check(file) == []
    page(folder, text.replace("158x", "159x"))
    assert len(quotes.check(file)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1x<!-- figure: arm64-default#offline1 bolt -->", "no results called 'arm64-default'"),
        ("1x<!-- figure: x86_64-strict#offline9 bolt -->", "has no case for"),
        ("1x<!-- figure: x86_64-strict#offline1 fast -->", "has no fast of 'offline1'"),
        ("1x<!-- figure: x86_64-strict -->", "is no FILE#CASE PART"),
        ("fast<!-- figure: x86_64-strict#offline1 bolt -->", "malformed"),
        ("<!-- table: headline x86_64-strict -->\n| 1 |\n", "malformed"),
        ("<!-- table: nothing x86_64-strict -->\n<!-- end of table -->\n", "no table 'nothing"),
        ("<!-- table:  -->\n<!-- end of table -->\n", "no table ''"),
        ("<!-- table: parts x86_64-strict -->\n<!-- end of table -->\n", "of boot-bench"),
        ("<!-- table: breakdown x86_64-strict -->\n<!-- end of table -->\n", "no table 'break"),
    ],
)
def test_wrong_quotes_are_errors(folder: Path, text: str, message: str) -> None:
    with pytest.raises(BoltError, match=message):
        quotes.check(page(folder, text))


def test_a_wrong_document_changes_no_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ``./bolt report --docs`` makes all texts before it writes the first."""
    first = page(folder, "75x<!-- figure: x86_64-strict#offline1 native/bolt -->")
    wrong = folder / "wrong.md"
    wrong.write_text("1x<!-- figure: x86_64-strict#offline9 bolt -->", encoding="utf-8")
    monkeypatch.setattr(quotes, "documents", lambda: [first, wrong])
    monkeypatch.setattr(pictures, "renewed", dict)
    assert cli.main(["report", "--docs"]) == 1
    assert "75x" in first.read_text(encoding="utf-8")
    wrong.unlink()
    monkeypatch.setattr(quotes, "documents", lambda: [first])
    assert cli.main(["report", "--docs"]) == 0
    assert "158x" in first.read_text(encoding="utf-8")
    assert "written: page.md" in capsys.readouterr().out


def test_only_requests_that_wake_cpus_are_without_the_emulators_part(folder: Path) -> None:
    one = {"native": stats(2.0), "bolt": stats(0.5)}
    names = ("offline_bounded_bulk", "online_bounded_bulk", "smt_off_bounded", "smt_on_bounded")
    measured_bounded = sample(cases=[Case(name, 7, one) for name in names], commit="0123abc")
    results.save(measured_bounded, folder / "2026-11-21-x86_64-strict.json")
    text = quotes.table("bulk x86_64-strict")
    assert "x86_64 strict, offline, with short slices of the emulator, 7 of" in text
    assert "x86_64 strict, online, without the emulator's part, 7 of" in text
    assert "x86_64 strict, smt_off, with short slices of the emulator, 7 of" in text
    assert "x86_64 strict, smt_on, without the emulator's part, 7 of" in text


def test_results_without_a_commit_make_no_table(folder: Path) -> None:
    file = folder / "2026-11-20-x86_64-strict.json"
    results.save(dataclasses.replace(measured(), commit=""), file)
    assert "commit" not in json.loads(file.read_text(encoding="utf-8"))
    with pytest.raises(BoltError, match="does not say which commit was measured"):
        quotes.table("headline x86_64-strict")


def test_report_needs_files_or_docs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report"]) == 2
    assert "--docs" in capsys.readouterr().err


@pytest.mark.parametrize(
    "place",
    [
        "2026-11-24-alternatives#x86_64 wakeup isolated",
        "2026-11-24-alternatives#x86_64 isolated",
        "2026-11-24-alternatives#x86_64 wakeups isolated warm",
        "2026-11-25-x86_64-strict#offline_bulk x 31 native",
        "2026-11-21-arm64-boot#x/2 native",
    ],
)
def test_a_place_that_names_no_figure(place: str) -> None:
    with pytest.raises(BoltError, match=r"names no figure|has no"):
        quotes.value(place)

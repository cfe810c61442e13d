# SPDX-License-Identifier: GPL-2.0-only
"""Cover letters: every figure is read or computed from files in results/; none may be missing."""

import json
from pathlib import Path

import pytest

from boltlab import kept
from boltlab.errors import BoltError
from boltlab.kernel import letters
from boltlab.kernel.series import Posting
from tests.unit.conftest import write_tree

RESULTS = {
    "qemu": "10.0.2",
    "cases": [
        {"case": "offline1", "bolt": {"median": 0.2024}, "native": {"median": 32.2}},
        {"case": "offline1", "cpus": 32, "bolt": {"median": 0.7}, "native": {"median": 33.8}},
    ],
    "sizes": [
        {"n": n, "ms": 2.0 * n + 0.5 * n**2, "line": 3.0 * n, "lost": 0} for n in (8, 16, 32)
    ],
    "pairs": [{"n": [{}, {}], "ms": 1}],
    "cells": [{"arch": "x", "done": 3}, {"arch": "y", "done": 5}, {"arch": "x", "done": 4}],
}
MEDIAN = "a cases[case=offline1][cpus=].bolt.median"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    old = json.dumps({"qemu": "7"})
    files = {"2026-01-01-a.json": old, "2026-01-02-a.json": json.dumps(RESULTS)}
    write_tree(tmp_path / "results", files)
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "results")
    return tmp_path


def render(folder: Path, text: str, figures: dict[str, str]) -> str:
    write_tree(folder, {"cover/x.txt": text})
    posting = Posting("x", "title", "cover/x.txt", figures)
    return letters.render(posting, folder)


def test_render(folder: Path) -> None:
    figures = {
        "bolt": MEDIAN,
        "native": "a cases[case=offline1][cpus=].native.median",
        "large": "a cases[case=offline1][cpus=32].bolt.median",
        "times": "native / bolt",
        "seconds": "native / 1000",
        "qemu": "a qemu",
        "all": "sum(a cells[].done)",
        "some": "sum(a cells[arch=x].done)",
        "cells": "count(a cells[])",
        "others": "sum(a cells[arch!=x].done)",
    }
    text = "SPDX-License-Identifier: GPL-2.0-only\n\n{bolt:.2f} ms, {times}x, {large}, "
    text += "{seconds:.3f}, {qemu}: {all:,} {some} {cells} {others}\n"
    assert render(folder, text, figures) == "0.20 ms, 159x, 0.700, 0.032, 10.0.2: 12 7 3 5\n"


def test_a_model_of_larger_machines(folder: Path) -> None:
    figures = {
        "more": "model(a sizes[] n ms 100)",
        "line": "model(a sizes[] n line 1000)",
        "seconds": "more / 1000",
    }
    text = render(folder, "{more:.1f} {line:.1f} {seconds}", figures)
    assert text == "5200.0 3000.0 5.20"


@pytest.mark.parametrize(
    ("text", "figures", "error"),
    [
        ("{off}", {}, "does not say where 'off' is"),
        ("x", {"off": MEDIAN}, "does not use the figure 'off'"),
        ("{off}", {"off": "b cases"}, "no results called 'b'"),
        ("{off}", {"off": "a cases[case=none].bolt"}, "'off': results/a has no cases"),
        ("{off}", {"off": "a cases[case=offline1].bolt.median"}, "is not one figure"),
        ("{off}", {"off": "a cases[cpus=32].bolt"}, "is not one figure"),
        ("{off}", {"off": "one / two"}, "does not name two figures"),
        ("{off}", {"off": "1 / 0"}, "'1 / 0' divides by 0"),
        ("{off}", {"off": "model(a pairs[] n[] ms 9)"}, r"n\[\] or ms is not one figure"),
        ("{off}", {"off": "model(a cells[arch=x] done done 9)"}, "three different values of done"),
        ("{off}", {"off": "model(a sizes[] n none 9)"}, "'off': results/a has no none"),
        ("{off}", {"off": "model(a cells[] arch done 9)"}, "arch and done have to be numbers"),
        ("{off}", {"off": "model(a sizes[] n lost 9)"}, "be numbers, lost above 0"),
        ("{off:.2q}", {"off": MEDIAN}, "cover/x.txt"),
    ],
)
def test_what_is_missing_is_told(
    folder: Path, text: str, figures: dict[str, str], error: str
) -> None:
    with pytest.raises(BoltError, match=error):
        render(folder, text, figures)


def test_no_letter(folder: Path) -> None:
    with pytest.raises(BoltError, match="'x' has no cover letter"):
        letters.render(Posting("x", "title", "cover/none.txt"), folder)

# SPDX-License-Identifier: GPL-2.0-only
"""JSON becomes dataclasses by the types of their fields; an error names the place in the JSON."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest

from boltlab import codec
from boltlab.codec import Among, Filled, Least
from boltlab.errors import BoltError


@dataclass
class Leaf:
    low: float
    high: float
    known: bool | None = None

    def flaw(self) -> str:
        return "" if self.low <= self.high else "low is above high"


@dataclass
class Tree:
    name: str
    count: Annotated[int, Least(1)]
    leaves: Annotated[list[Leaf], Filled()]
    by_name: dict[Annotated[str, Among("colour", lambda: ("red", "blue"))], int] = field(
        default_factory=dict
    )


GOOD: dict[str, Any] = {
    "name": "oak",
    "count": 2,
    "leaves": [{"low": 1, "high": 2.5}, {"low": 0.5, "high": 1, "known": True}],
    "by_name": {"red": 1},
}
TREE = Tree("oak", 2, [Leaf(1.0, 2.5), Leaf(0.5, 1.0, True)], {"red": 1})


def test_types_say_how_to_read() -> None:
    assert codec.decode(Tree, GOOD, "tree") == TREE
    assert codec.decode(Tree, asdict(TREE), "tree", strict=True) == TREE
    found = codec.decode(Tree, GOOD, "tree").leaves[0]
    assert isinstance(found.low, float)
    assert found.known is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 1}, "tree.name is not a text"),
        ({"count": True}, "tree.count is not a whole number"),
        ({"count": 1.0}, "tree.count is not a whole number"),
        ({"count": 0}, "tree.count is below 1"),
        ({"leaves": []}, "tree.leaves is empty"),
        ({"leaves": {}}, "tree.leaves is not a list"),
        ({"leaves": [{"low": 1}]}, r"tree.leaves\[0\].high is missing"),
        ({"leaves": [{"low": 1, "high": True}]}, r"leaves\[0\].high is not a number"),
        ({"leaves": [{"low": 2, "high": 1}]}, r"tree.leaves\[0\]: low is above high"),
        ({"leaves": [{"low": 1, "high": 2, "known": 1}]}, "known is not true or false"),
        ({"by_name": {"pink": 1}}, "tree.by_name has an unknown colour 'pink'"),
        ({"by_name": {"red": "1"}}, "tree.by_name.red is not a whole number"),
        ({"by_name": 7}, "tree.by_name is not an object"),
    ],
)
def test_the_first_thing_wrong_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BoltError, match=message):
        codec.decode(Tree, {**GOOD, **change}, "tree")


def test_unknown_keys_are_ignored_unless_strict() -> None:
    more = {**GOOD, "bark": 1}
    assert codec.decode(Tree, more, "tree") == TREE
    with pytest.raises(BoltError, match="tree has an unknown key 'bark'"):
        codec.decode(Tree, more, "tree", strict=True)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "trees.json"
    rows = [asdict(each) for each in TREE.leaves]
    codec.save(codec.lines("leaves", {"name": "oak", "count": 2}, "leaves", rows), path)
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) == len(rows) + 2
    assert json.loads(text)["leaves"] == rows
    assert codec.read(Tree, path, "is no tree", "leaves").leaves == TREE.leaves
    with pytest.raises(BoltError, match=r"trees.json is no tree: results.kind is leaves"):
        codec.read(Tree, path, "is no tree", "roots")
    with pytest.raises(BoltError, match=r"cannot read .*none.json"):
        codec.read(Tree, tmp_path / "none.json", "is no tree")
    with pytest.raises(BoltError, match="cannot write"):
        codec.save("", tmp_path / "none" / "trees.json")
    assert list(tmp_path.iterdir()) == [path]


def test_no_half_of_a_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(half: Path, target: Path) -> None:
        assert half.exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        codec.save("text", tmp_path / "trees.json")
    assert not list(tmp_path.iterdir())


def test_no_rows(tmp_path: Path) -> None:
    assert json.loads(codec.lines("leaves", {}, "leaves", [])) == {
        "schema": codec.SCHEMA,
        "kind": "leaves",
        "leaves": [],
    }


def test_a_document_of_any_kind(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text('{"schema": 1, "kind": "x", "rows": []}')
    assert codec.document(file)["kind"] == "x"
    for text, said in (("[]", "results is not an object"), ("{", "holds no results")):
        file.write_text(text)
        with pytest.raises(BoltError, match=said):
            codec.document(file)

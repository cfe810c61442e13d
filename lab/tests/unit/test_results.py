# SPDX-License-Identifier: GPL-2.0-only
import copy
import json
from pathlib import Path
from typing import Any

import pytest

from boltlab.bench import results
from boltlab.bench.results import Batch, Case, PhaseTime, Results, Stats
from boltlab.errors import BoltError
from tests.unit.sample import sample


def example() -> Results:
    return sample(
        cases=[
            Case(
                case="offline1",
                batch=1,
                variants={
                    "native": Stats(100, 28.0, 32.2, 40.5, 41.0),
                    "bolt": Stats(20, 0.9, 1.0, 1.1, 1.1),
                },
            ),
            Case(
                case="micro_fork",
                batch=1,
                variants={"native": Stats(2, 10.0, 10.5, 11.0, 11.0)},
                boots={"native": [10.0, 11.0]},
            ),
            Case("offline_bulk", 31, {"bolt": Stats(20, 8.0, 8.5, 9.0, 9.0)}, cpus=32),
        ],
        breakdown={"native": {"offline": [PhaseTime("rcu", 29_500_000)]}},
        batches={"bolt": [Batch("offline", 31, 3, {"stops": 1}, 11_000_000, 5_000_000)]},
        note="a remark",
    )


def test_round_trip(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    results.save(example(), file)
    assert results.load(file) == example()
    assert list(tmp_path.iterdir()) == [file]


def test_json_is_schema_1() -> None:
    document = results.to_json(example())
    case = document["cases"][0]
    assert document["schema"] == 1
    assert [*document][:9] == [
        "schema", "arch", "setting", "accel", "qemu", "kernel", "config_sha", "cpus", "nodes"
    ]  # fmt: skip
    assert [*case] == ["case", "batch", "unit", "variants"]
    assert case["unit"] == "ms"
    assert [*case["variants"]["native"]] == ["n", "min", "median", "p99", "max"]


def test_optional_parts_may_be_missing() -> None:
    document = results.to_json(example())
    del document["breakdown"], document["batches"], document["note"]
    read = results.from_json(document)
    assert (read.breakdown, read.batches) == ({}, {})
    assert read.note == ""
    assert results.to_json(read) == document


def test_latencies_and_overheads() -> None:
    assert [case.case for case in example().latencies] == ["offline1"]
    assert [case.case for case in example().overheads] == ["micro_fork"]
    assert [case.case for case in example().large] == ["offline_bulk"]
    assert example().find("offline_bulk") is None


def test_statistics() -> None:
    stats = results.summarise([4_000_000, 1_000_000, 3_000_000, 2_000_000])
    assert stats == Stats(4, 1.0, 2.5, 4.0, 4.0)
    assert results.summarise([1_234_567]).median == 1.234567
    hundred = results.summarise([n * 1_000_000 for n in range(1, 101)])
    assert (hundred.median, hundred.p99, hundred.max) == (50.5, 99.0, 100.0)
    with pytest.raises(ValueError, match="no samples"):
        results.summarise([])


def put(document: dict[str, Any], path: str, value: object) -> None:
    *parents, last = path.split(".")
    target: Any = document
    for name in parents:
        target = target[int(name)] if name.isdigit() else target[name]
    if value is None:
        del target[last]
    else:
        target[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("schema", 2, "results.schema is 2: this lab reads schema 1"),
        ("schema", None, "results.schema is missing"),
        ("arch", 5, "results.arch is not a text"),
        ("cpus", "4", "results.cpus is not a whole number"),
        ("cpus", True, "results.cpus is not a whole number"),
        ("cpus", 0, "results.cpus is below 1"),
        ("cases", {}, "results.cases is not a list"),
        ("cases", [], "results.cases is empty"),
        ("cases", [7], r"results.cases\[0\] is not an object"),
        ("cases.0.case", None, r"results.cases\[0\].case is missing"),
        ("cases.0.unit", "ns", r"results.cases\[0\].unit must be 'ms'"),
        ("cases.1.boots", [], r"cases\[1\].boots is not an object"),
        ("cases.1.boots.fast", [1], r"boots has an unknown variant 'fast'"),
        ("cases.1.boots.native", [], "boots.native is empty"),
        ("cases.1.boots.native", ["1"], r"boots.native\[0\] is not a number"),
        ("cases.0.variants", {}, r"results.cases\[0\].variants is empty"),
        ("cases.0.variants.fast", {}, r"variants has an unknown variant 'fast'"),
        ("cases.0.variants.bolt.p99", None, r"cases\[0\].variants.bolt.p99 is missing"),
        ("cases.0.variants.bolt.n", 1.5, "variants.bolt.n is not a whole number"),
        ("cases.0.variants.bolt.max", "1", "variants.bolt.max is not a number"),
        ("cases.0.variants.bolt.min", float("nan"), "variants.bolt.min is not a number"),
        ("cases.0.variants.bolt.median", 7.0, "not in ascending order"),
        ("cases.0.variants.bolt.min", -1.0, "not in ascending order"),
        ("breakdown.native.up", [], "unknown direction 'up'"),
        ("breakdown.other", {}, "unknown variant 'other'"),
        ("breakdown.native.offline", [{"phase": "rcu"}], r"offline\[0\].median_ns is missing"),
        ("cases.2.cpus", 0, "cpus is below 1"),
        ("batches", [], "results.batches is not an object"),
        ("batches.other", [], "unknown variant 'other'"),
        ("batches.bolt", [{"kind": "offline"}], r"bolt\[0\].batch is missing"),
        ("batches.bolt.0.counts.stops", -1, r"counts.stops is below 0"),
        ("batches.bolt.0.chain_ns", "1", "chain_ns is not a whole number"),
        ("note", 1, "results.note is not a text"),
    ],
)
def test_malformed_documents_are_refused(path: str, value: object, message: str) -> None:
    document = copy.deepcopy(results.to_json(example()))
    put(document, path, value)
    with pytest.raises(BoltError, match=message):
        results.from_json(document)


@pytest.mark.parametrize("text", ["", "[]", "7", "{", '{"schema": 1}', "\x00"])
def test_load_names_the_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "odd.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BoltError, match=r"odd\.json"):
        results.load(file)


def test_load_of_no_file(tmp_path: Path) -> None:
    with pytest.raises(BoltError, match=r"cannot read .*none.json"):
        results.load(tmp_path / "none.json")


def test_save_into_nothing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BoltError, match="cannot write"):
        results.save(example(), tmp_path / "none" / "results.json")
    assert list(tmp_path.iterdir()) == []


def test_saved_file_is_plain_json(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    results.save(example(), file)
    assert json.loads(file.read_text(encoding="utf-8")) == results.to_json(example())

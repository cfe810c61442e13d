# SPDX-License-Identifier: GPL-2.0-only
import argparse
from pathlib import Path

import pytest

from boltlab import arch, packages
from boltlab.commands import run
from boltlab.errors import BoltError
from boltlab.guest import limits, qemu, scenario
from boltlab.guest.limits import Limit
from boltlab.guest.qemu import GuestResult
from boltlab.kernel import build, source
from boltlab.kernel.build import Kernel

TEXT = "stop_bolt <= 1.5 stop_native"


def test_a_limit_is_read() -> None:
    assert limits.parse(TEXT) == Limit("stop_bolt", 1.5, "stop_native")
    assert limits.parse("a <= 3 b").factor == 3


@pytest.mark.parametrize("text", ["", "a <= b", "a < 3 b", "a <= 3 b c", "a <= -3 b", "a <= 3. b"])
def test_what_is_no_limit(text: str) -> None:
    with pytest.raises(BoltError, match="not of the form"):
        limits.parse(text)


@pytest.mark.parametrize(
    ("ours", "native", "holds", "says"),
    [
        ([3_000_000, 1, 9_000_000_000], [2_000_000], True, "is 1.50 times stop_native"),
        ([3_000_001], [1_000_000, 3_000_000], False, "is 1.50 times stop_native"),
        ([0], [0], True, "is 0.000 ms beside 0 ms of stop_native"),
        ([2_000_000], [0], False, "is 2.000 ms beside 0 ms of stop_native"),
    ],
)
def test_medians_are_compared(ours: list[int], native: list[int], holds: bool, says: str) -> None:
    verdict = limits.parse(TEXT).judge({"stop_bolt": ours, "stop_native": native, "other": [7]})
    assert verdict.holds == holds
    assert verdict.text == f"stop_bolt {says}; the limit is 1.5 times stop_native"


@pytest.mark.parametrize("lacking", ["stop_bolt", "stop_native"])
def test_a_case_that_is_missing(lacking: str) -> None:
    samples = {"stop_bolt": [1], "stop_native": [1]} | {lacking: []}
    with pytest.raises(BoltError, match=f"has not measured {lacking}"):
        limits.parse(TEXT).judge(samples)


@pytest.mark.parametrize("bolt_ns", [3_000_000, 3_000_001])
def test_a_run_fails_when_a_limit_is_exceeded(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    bolt_ns: int,
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'description = "x."\ncommands = ["kunit"]\n'
        'limits = ["a_bolt <= 3 a_native", "a_native <= 1 a_bolt"]\n',
        encoding="utf-8",
    )
    kernel = Kernel("x86_64", "pristine", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)
    records = [{"case": "a_bolt", "samples": [bolt_ns]}, {"case": "a_native", "samples": [1000000]}]
    monkeypatch.setattr(packages, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(source, "resolve", lambda _: tmp_path)
    monkeypatch.setattr(build, "ensure_kernel", lambda *_: kernel)
    monkeypatch.setattr(qemu, "run", lambda *_: GuestResult(tmp_path, records))
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    args = parser.parse_args([str(file), "--arch", "x86_64"])
    if bolt_ns <= 3_000_000:
        assert run.run(args) == 0
    else:
        with pytest.raises(BoltError, match="mine on x86_64: exceeds 'a_bolt <= 3 a_native'"):
            run.run(args)
    said = capsys.readouterr().out
    assert "a_bolt is 3.00 times a_native" in said
    # Every limit is compared, also after one that is exceeded.
    assert "a_native is 0.33 times a_bolt" in said


@pytest.mark.parametrize("name", ["overcommit", "overcommit-suspend"])
def test_the_limits_of_overcommitted_guests(name: str) -> None:
    """Bolt's stops in batches and in suspend may last 3 times as long as native stops."""
    loaded = scenario.load(name)
    found = [limits.parse(text) for text in loaded.limits]
    ways = ("freeze", "thaw") if loaded.name.endswith("suspend") else ("offline", "online")
    assert found == [Limit(f"{way}_stop_bolt", 3, f"{way}_stop_native") for way in ways]
    assert (loaded.machine.cpus, loaded.machine.accel) == (32, "mttcg")
    assert "n=10" in loaded.script[-1].split()
    assert set(loaded.arches) <= set(arch.ARCHES)

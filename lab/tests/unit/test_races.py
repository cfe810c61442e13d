# SPDX-License-Identifier: GPL-2.0-only
"""KCSAN's reports in the form of kernel/kcsan/report.c, pairs of functions, the ledger of pairs."""

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import pytest

from boltlab.errors import BoltError
from boltlab.guest import console
from boltlab.torture import kcsan, matrix, races, sightings
from boltlab.torture.kcsan import UNKNOWN
from boltlab.torture.matrix import Counts, Outcome
from boltlab.torture.sightings import Ledger

RULE = "=" * 66
FUNCTIONS = races.plan().functions

# A report of two known accesses, one of these in a hotplug thread. CPU 0 prints lines in between.
BOTH = f"""\
[    3.101200][   T22] {RULE}
[    3.101411][   T22] BUG: KCSAN: data-race in rcu_note_deferred.isra.0 / sync_rcu_do_polled_gp
[    3.101500][   T22]
[    3.101611][   T22] write to 0xffff888007c2f6c0 of 8 bytes by task 22 on cpu 1:
[    3.101700][    C0] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x1cd42e4dffb
[    3.101711][   T22]  rcu_note_deferred.isra.0+0x3c/0x90
[    3.101712][    C0]  stray_frame_of_cpu_0+0x1/0x2
[    3.101811][   T22]  rcutree_online_cpu+0x5f/0x80
[    3.101911][   T22]  cpuhp_invoke_callback+0x18e/0x480
[    3.102011][   T22]  cpuhp_thread_fun+0x19a/0x220
[    3.102111][   T22]  smpboot_thread_fn+0x1c7/0x300
[    3.102211][   T22]  kthread+0x15c/0x180
[    3.102311][   T22]  ret_from_fork+0x3c/0x60
[    3.102411][   T22]  ret_from_fork_asm+0x1a/0x30
[    3.102412][   T22]
[    3.102511][   T22] read (marked) to 0xffff888007c2f6c0 of 8 bytes by interrupt on cpu 3:
[    3.102611][   T22]  sync_rcu_do_polled_gp+0x44/0x1f0
[    3.102711][   T22]  process_one_work+0x2a1/0x4d0
[    3.102811][   T22]
[    3.102911][   T22] value changed: 0x0000000000000001 -> 0x0000000000000002
[    3.103011][   T22]
[    3.103111][   T22] Reported by Kernel Concurrency Sanitizer on:
[    3.103211][   T22] CPU: 3 UID: 0 PID: 22 Comm: cpuhp/1 Not tainted 6.12.117 #1
[    3.103311][   T22] Hardware name: QEMU Standard PC (i440FX + PIIX, 1996)
[    3.103411][   T22] {RULE}
"""

# A report of which only one access is known: the title then has the function of that access with an
# offset. The lines have no id of the task or CPU that printed the line.
ALONE = f"""\
[    0.607700] {RULE}
[    0.607846] BUG: KCSAN: data-race in virtqueue_get_buf_ctx+0x214/0x4e8 [virtio_ring]
[    0.607900]
[ 0.608100] race at unknown origin, with read to 0xffff0000c002 of 2 bytes by interrupt on cpu 0:
[    0.608200]  virtqueue_get_buf_ctx+0x214/0x4e8 [virtio_ring]
[    0.608300]  virtqueue_get_buf+0x18/0x28 [virtio_ring]
[    0.608400]  default_idle_call+0x24/0x48
[    0.608500]  do_idle+0x1fc/0x268
[    0.608600]  cpu_startup_entry+0x34/0x40
[    0.608700]  secondary_start_kernel+0x138/0x160
[    0.608800]
[    0.608900] value changed: 0x0003 -> 0x0004
[    0.609000]
[    0.609100] Reported by Kernel Concurrency Sanitizer on:
[    0.609200] {RULE}
"""

# A report of a compound, reordered access and of a read, both in helpers: functions that work on
# memory of their caller.
HELPED = f"""\
{RULE}
BUG: KCSAN: data-race in _find_next_bit / bitmap_copy.constprop.0

read-write (marked, reordered) to 0xffffffff82f3c0a8 of 8 bytes by task 1 on cpu 0:
 bitmap_copy.constprop.0+0x12/0x30
 set_mask.part.0+0x55/0x90
 do_syscall_64+0x4b/0x110
  |
  +-> reordered to: set_mask.part.0+0x70/0x90

read to 0xffffffff82f3c0a8 of 8 bytes by task 71 on cpu 2:
 _find_next_bit+0x3f/0xc0
 cpumask_next_wrap+0x22/0x40
 balance_of+0x101/0x2b0

Reported by Kernel Concurrency Sanitizer on:
{RULE}
"""

ASSERTED = """\
BUG: KCSAN: assert: race in bolt_begin / bolt_end

assert no accesses to 0xffffffff82f3c0a8 of 4 bytes by task 1 on cpu 0:
 bolt_begin+0x12/0x30

write to 0xffffffff82f3c0a8 of 4 bytes by task 71 on cpu 2:
 bolt_end+0x3f/0xc0
"""


def read(text: str) -> list[kcsan.Report]:
    return kcsan.read(text.splitlines())


def test_both_accesses_are_read_without_lines_of_other_cpus() -> None:
    (report,) = read(BOTH)
    first, second = report.accesses
    assert first.how == "write to 0xffff888007c2f6c0 of 8 bytes by task 22 on cpu 1"
    assert second.how.startswith("read (marked) to ")
    assert len(first.stack) == 8
    assert first.functions[:3] == [
        "rcu_note_deferred",
        "rcutree_online_cpu",
        "cpuhp_invoke_callback",
    ]
    assert second.functions == ["sync_rcu_do_polled_gp", "process_one_work"]
    assert report.kind == "data-race"
    assert FUNCTIONS.pair(report) == ("rcu_note_deferred", "sync_rcu_do_polled_gp")
    assert kcsan.heads(report, 1) == [
        "write to 0xffff888007c2f6c0 of 8 bytes by task 22 on cpu 1: "
        "rcu_note_deferred.isra.0+0x3c/0x90 < ...",
        "read (marked) to 0xffff888007c2f6c0 of 8 bytes by interrupt on cpu 3: "
        "sync_rcu_do_polled_gp+0x44/0x1f0 < ...",
        "value changed: 0x0000000000000001 -> 0x0000000000000002",
    ]


def test_the_order_of_accesses_makes_no_other_pair() -> None:
    (report,) = read(BOTH)
    turned = dataclasses.replace(report, accesses=report.accesses[::-1])
    assert turned.accesses != report.accesses
    assert FUNCTIONS.pair(turned) == FUNCTIONS.pair(report)


def test_an_access_of_unknown_origin() -> None:
    (report,) = read(ALONE)
    assert [access.how.partition(" by ")[0] for access in report.accesses] == [
        "read to 0xffff0000c002 of 2 bytes"
    ]
    assert FUNCTIONS.pair(report) == (UNKNOWN, "virtqueue_get_buf_ctx")


def test_helpers_stand_for_their_callers() -> None:
    (report,) = read(HELPED)
    assert report.pair() == ("_find_next_bit", "bitmap_copy")
    assert FUNCTIONS.pair(report) == ("balance_of", "set_mask")
    # If all functions of a stack are helpers, the first function counts.
    report.accesses[1].stack = report.accesses[1].stack[:2]
    assert FUNCTIONS.pair(report) == ("_find_next_bit", "set_mask")


def test_several_reports_and_a_log_that_ends_too_early() -> None:
    assert [report.kind for report in read(BOTH + ALONE + ASSERTED)] == [
        "data-race",
        "data-race",
        "assert: race",
    ]
    assert read("[ 1.0] nothing here\n") == []
    cut = BOTH.partition("[    3.102511]")[0]
    assert FUNCTIONS.pair(read(cut)[0]) == ("rcu_note_deferred", "sync_rcu_do_polled_gp")
    # Stacks that follow a report belong to other messages.
    (report,) = read(ALONE + "[    0.700000]  dump_stack_lvl+0x1/0x2\n")
    assert len(report.accesses[0].stack) == 6


def test_every_report_is_passed_over_where_races_are_collected() -> None:
    ignored = matrix.ignored(case("races-bolt"))
    for text in (BOTH, ALONE, HELPED, ASSERTED):
        assert console.scan(text.splitlines())
        assert console.scan(text.splitlines(), ignored) == []


@pytest.mark.parametrize(
    ("text", "on_path"),
    [(BOTH, True), (HELPED, False), (ASSERTED, True), (ALONE, False)],
    ids=["hotplug thread", "none", "of Bolt", "idle task of a CPU that has come"],
)
def test_hotplug_paths(text: str, on_path: bool) -> None:
    (report,) = read(text)
    assert FUNCTIONS.on_path(report) == on_path


def test_a_cpu_on_its_way_is_on_a_hotplug_path() -> None:
    lines = [line for line in ALONE.splitlines() if " do_idle" not in line]
    assert not FUNCTIONS.on_path(kcsan.read(lines)[0])
    on_its_way = [line for line in lines if "cpu_startup_entry" not in line]
    assert FUNCTIONS.on_path(kcsan.read(on_its_way)[0])
    # The idle task of a CPU that dies is on a hotplug path as well.
    dying = [line.replace("default_idle_call", "arch_cpu_idle_dead") for line in lines]
    assert FUNCTIONS.on_path(kcsan.read(dying)[0])


def case(story: str, arch: str = "x86_64", seed: int = 7) -> matrix.Case:
    return races.plan().case(arch, matrix.stories()[story], "mttcg", seed, None)


def seen(ledger: Ledger, story: str, text: str, **more: Any) -> set[races.Pair]:
    outcome = Outcome(Counts(9, 9), 4.0, more.pop("host_s", 10.0), more.pop("why", ""))
    kernel = more.pop("kernel", "c0ffee")
    return ledger.add(case(story, **more), outcome, read(text), FUNCTIONS, "2026-01-02", kernel)


def names(ledger: Ledger, known: set[races.Pair] | None = None, **more: str) -> list[races.Pair]:
    wanted = {"arch": "x86_64", "kernel": "c0ffee"} | more
    return [
        each.names
        for each in ledger.open(wanted["arch"], FUNCTIONS, known or set(), wanted["kernel"])
    ]


def test_what_is_due_to_bolt() -> None:
    pair = ("rcu_note_deferred", "sync_rcu_do_polled_gp")
    ledger = Ledger()
    assert seen(ledger, "races-bolt", BOTH + HELPED + ALONE, seed=3) == {pair}
    assert names(ledger) == [pair]  # the other pairs are on no hotplug path
    assert names(ledger, {pair}) == []
    assert names(ledger, arch="arm64") == []
    # A kernel with another version of Bolt has not shown the pair.
    assert names(ledger, kernel="decade") == []
    (sighting,) = ledger.open("x86_64", FUNCTIONS, set(), "c0ffee")
    assert sighting.repeat == (
        "./bolt torture --races --arch x86_64 --config kcsan --scenario races-bolt "
        "--accel mttcg --seed 3 --requests 300"
    )
    assert len(sighting.stacks) == 3
    # A native run on arm64 excuses no race on x86_64, where the native kernel may lack that race.
    seen(ledger, "races-native", BOTH, arch="arm64")
    assert names(ledger) == [pair]
    seen(ledger, "races-loaded-native", BOTH)
    assert names(ledger) == []


def test_a_native_run_does_not_excuse_bolts_own_functions() -> None:
    ledger = Ledger()
    pair = ("bolt_begin", "bolt_end")
    assert seen(ledger, "races-native", ASSERTED) == {pair}
    assert names(ledger) == [pair]
    assert names(ledger, {pair}) == []


def test_native_runs_get_their_share_of_the_time() -> None:
    ledger, sides = Ledger(), []
    for _ in range(41):
        side = ledger.due("x86_64", "races", 3)
        seen(ledger, f"races-{side}", "", host_s=20.0 if side == "native" else 10.0)
        sides.append(side)
        times = [ledger.span("x86_64", name).host_s for name in races.sides("races")]
        assert times[0] >= 3 * times[1]
    assert sides[0] == "native"
    assert sides.count("bolt") >= 15


def test_the_time_of_a_native_run_that_failed_does_not_count() -> None:
    ledger = Ledger()
    seen(ledger, "races-native", ALONE, host_s=900.0, why="the guest hung")
    assert ledger.due("x86_64", "races", 3) == "native"
    (row,) = sightings.table(ledger, ["x86_64"])
    assert row[1:5] == ["races-native", "1", "1", "0.0 m"]
    assert ledger.sightings  # a race that was seen before the run failed is a race
    seen(ledger, "races-native", "", host_s=40.0)
    assert ledger.due("x86_64", "races", 3) == "native"  # one more run with Bolt may take 40 s
    for _ in range(2):
        seen(ledger, "races-native", "", host_s=40.0)
    assert ledger.due("x86_64", "races", 3) == "bolt"
    # What a run with Bolt has shown counts, and so does its time, even if the run fails.
    seen(ledger, "races-bolt", "", host_s=40.0, why="the guest hung")
    assert ledger.due("x86_64", "races", 3) == "native"


def test_the_ledger_is_kept(tmp_path: Path) -> None:
    path = tmp_path / sightings.FILE
    assert sightings.load(path).dumps() == Ledger().dumps()
    ledger = Ledger()
    seen(ledger, "races-bolt", BOTH)
    seen(ledger, "races-native", ALONE, why="the guest hung")
    ledger.save(path)
    again = sightings.load(path)
    assert again.dumps() == ledger.dumps()
    assert [(row[1], row[2], row[3]) for row in sightings.table(again, ["x86_64"])] == [
        ("races-bolt", "1", "0"),
        ("races-native", "1", "1"),
    ]
    assert sightings.summary(again, "x86_64", set()) == (
        "x86_64: 1 pairs without Bolt, 1 with Bolt, 1 with Bolt only, of which 1 taken to be due "
        "to Bolt and 0 known"
    )
    path.write_text(ledger.dumps().replace('["rcu_note_deferred", ', "["), encoding="utf-8")
    with pytest.raises(BoltError, match="a pair has two functions"):
        sightings.load(path)


def test_both_sides_do_the_same_on_the_same_kernel() -> None:
    plan = races.plan()
    assert plan.setting().kernel == "kcsan"
    assert plan.setting().ignored != matrix.configs()["kcsan"].ignored
    assert plan.share == 3
    assert plan.minutes == 120
    for scenario in plan.scenarios:
        native, bolt = (plan.stories()[name] for name in races.sides(scenario))
        assert native.scenario == bolt.scenario
        assert native.fits(plan.setting())
        first, second = (
            " ".join(plan.case("x86_64", story, "icount", 1, 5).script())
            for story in (native, bolt)
        )
        assert "bolt=0" in first or "enabled 0" in first
        assert "bolt=0" not in second
        assert "enabled 0" not in second


def test_assumptions_of_kcsan_are_off() -> None:
    assert {
        "CONFIG_KCSAN_REPORT_VALUE_CHANGE_ONLY=n",
        "CONFIG_KCSAN_ASSUME_PLAIN_WRITES_ATOMIC=n",
    } <= set(races.plan().setting().needs)


def test_wrong_plans_are_refused() -> None:
    good = tomllib.loads((matrix.FOLDER / "races.toml").read_text(encoding="utf-8"))
    assert races.parse(good) == races.plan()
    for wrong, message in (
        ({"shares": 2}, "missing or unknown: shares"),
        ({"config": "nonsense"}, "no configuration 'nonsense'"),
        ({"scenarios": ["storm"]}, "no scenario 'storm-native'"),
        ({"accels": ["kvm"]}, "each of 'accels' must be"),
        ({"functions": {}}, "functions: a key is missing"),
    ):
        with pytest.raises(BoltError, match=message):
            races.parse({**good, **wrong})


def test_known_races_have_reasons() -> None:
    for pair, reason in races.known().items():
        assert len(reason) > 30, races.text(pair)
    assert races.rows({"race": [{"pair": ["a", "b"], "reason": "r"}]}) == {("a", "b"): "r"}
    for wrong in (
        [{"pair": ["a", "b"], "reason": " "}],
        [{"pair": ["a"], "reason": "r"}],
        [{"pair": ["a", "b"]}],
        [{"pair": ["b", "a"], "reason": "r"}],
        [{"pair": ["a", "b"], "reason": "r"}] * 2,
    ):
        with pytest.raises(BoltError, match="known-races"):
            races.rows({"race": wrong})

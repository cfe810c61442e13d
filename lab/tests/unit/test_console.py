# SPDX-License-Identifier: GPL-2.0-only
import re
from pathlib import Path

import pytest

from boltlab.errors import BoltError
from boltlab.guest import console

LOGS = Path(__file__).parents[1] / "data" / "console"

# Recorded log -> its complaints: number of the first line, kind, and how this line's text begins.
SPLATS = {
    "warning-x86_64": [(4, "WARNING", "WARNING: CPU: 1 PID: 22 at kernel/sched/core.c")],
    "null-pointer-x86_64": [(1, "BUG", "BUG: kernel NULL pointer dereference")],
    "page-fault-x86_64": [(1, "BUG", "BUG: unable to handle page fault")],
    "gp-fault-x86_64": [(1, "Oops", "Oops: general protection fault")],
    "kernel-bug-x86_64": [(2, "BUG", "kernel BUG at kernel/cpu.c:1323!")],
    "oops-arm64": [(2, "Oops", "Unable to handle kernel NULL pointer")],
    "lockdep-circular-x86_64": [(3, "lockdep", "WARNING: possible circular locking")],
    "lockdep-rcu-arm64": [(3, "lockdep", "WARNING: suspicious RCU usage")],
    "interrupts-arm64": [(3, "interrupts", "Eff. affinity 1 of IRQ 16 contains only offline")],
    "rcu-stall-x86_64": [(1, "RCU stall", "rcu: INFO: rcu_preempt self-detected stall")],
    "rcu-stall-expedited-arm64": [(1, "RCU stall", "rcu: INFO: rcu_preempt detected expedited")],
    "rcu-stall-starved-x86_64": [(1, "RCU stall", "rcu: rcu_preempt kthread starved")],
    "hung-task-x86_64": [(1, "hung task", "INFO: task measure:53 blocked")],
    "soft-lockup-x86_64": [(1, "lockup", "watchdog: BUG: soft lockup - CPU#2")],
    "workqueue-lockup-x86_64": [(1, "lockup", "BUG: workqueue lockup - pool")],
    "kasan-arm64": [(2, "sanitizer", "BUG: KASAN: slab-use-after-free")],
    "sleeping-x86_64": [(1, "BUG", "BUG: sleeping function called")],
    "scheduling-while-atomic-arm64": [(1, "BUG", "BUG: scheduling while atomic")],
    "allocation-failure-x86_64": [(1, "memory", "measure: page allocation failure")],
    "panic-x86_64": [(7, "kernel panic", "Kernel panic - not syncing: sysrq")],
    "panic-arm64": [(3, "kernel panic", "Kernel panic - not syncing: sysrq")],
    "two-x86_64": [(2, "WARNING", "WARNING: CPU: 1"), (7, "BUG", "BUG: using smp_processor_id()")],
}
CLEAN = ("clean-x86_64", "clean-arm64", "harmless")


def test_every_recorded_log_is_tested() -> None:
    assert sorted(path.stem for path in LOGS.iterdir()) == sorted([*SPLATS, *CLEAN])


@pytest.mark.parametrize("name", SPLATS)
def test_finds_the_splat(name: str) -> None:
    found = console.scan_file(LOGS / f"{name}.log")
    assert [(splat.line, splat.kind) for splat in found] == [row[:2] for row in SPLATS[name]]
    for splat, (_, _, text) in zip(found, SPLATS[name], strict=True):
        assert splat.text.startswith(text)


@pytest.mark.parametrize("name", CLEAN)
def test_clean_logs_are_clean(name: str) -> None:
    assert (LOGS / f"{name}.log").stat().st_size > 0
    assert console.scan_file(LOGS / f"{name}.log") == []


@pytest.mark.parametrize("name", SPLATS)
def test_found_behind_any_prefix(name: str) -> None:
    """A message has one prefix on the console, another in dmesg, and others with a caller's id."""
    line, kind, _ = SPLATS[name][0]
    raw = (LOGS / f"{name}.log").read_text(encoding="utf-8").splitlines()[line - 1]
    message = raw[raw.index("]") + 1 :].removeprefix("[   T22]").lstrip()
    for prefix in ("", "[  123.456789] ", "<4>[    0.000001] ", "[    1.000000][    C3] "):
        found = console.scan([f"{prefix}{message}\r\n"])
        assert [splat.kind for splat in found] == [kind], prefix


def test_a_missing_file_has_none(tmp_path: Path) -> None:
    assert console.scan_file(tmp_path / "none.log") == []


def test_a_garbled_file_is_read(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_bytes(b"\xff\xfe\x1b[0m noise\n[    1.000000] BUG: unable to handle page fault\n")
    assert [splat.line for splat in console.scan_file(log)] == [2]


def test_a_complaint_long_after_counts_again() -> None:
    lines = ["WARNING: CPU: 0 PID: 1 at a"] + ["x"] * 500 + ["Kernel panic - not syncing: b"]
    assert [splat.kind for splat in console.scan(lines)] == ["WARNING", "kernel panic"]


def test_time_of_a_message(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_text("early\n[    1.250001] first\n[   12.000002][    T1] first again\n")
    assert console.time_of(log, "first") == 1_250_001_000
    assert console.time_of(log, "again") == 12_000_002_000
    with pytest.raises(BoltError, match="did not say 'early'"):
        console.time_of(log, "early")


def test_what_is_ignored_takes_its_trace_along() -> None:
    ignored = [re.compile(" invoked oom-killer: ")]
    lines = [
        "[    1.000000] hog invoked oom-killer: order=0",
        "CPU: 1",
        "Call Trace:",
        " a+0x1/0x2",
    ]
    assert [splat.kind for splat in console.scan(lines)] == ["stack trace"]
    assert console.scan(lines, ignored) == []
    assert [splat.kind for splat in console.scan([*lines, "WARNING: x"], ignored)] == ["WARNING"]
    later = [*lines, *["x"] * 200, "Call Trace:"]
    assert [splat.line for splat in console.scan(later, ignored)] == [205]


def test_the_moment_of_a_line() -> None:
    assert console.moment("<6>[   12.345678] x") == 12.345678
    assert console.moment("x") == 0


CUT = "[    1.000000] ------------[ cut here ]------------"
WARNED = (
    CUT,
    "[    1.000001] bolt: first",
    "[    1.000002] WARNING: CPU: 3 PID: 54 at kernel/bolt/request.c:470 bolt_request+0x6bc/0x7e0",
    "[    1.000003] Call Trace:",
)


def test_a_complaint_has_the_message_above_it() -> None:
    found = console.scan(WARNED)
    assert [splat.about for splat in found] == [("bolt: first",)]
    # In a log of Linux 6.12 only lines between "cut here" and the complaint are its message.
    assert [splat.about for splat in console.scan([*WARNED[1:]])] == [()]
    assert [splat.about for splat in console.scan(["x", *WARNED])] == [("bolt: first",)]


def test_the_message_of_a_warning_without_a_cut() -> None:
    lines = [
        "[    1.000000] x",
        "[    1.000001] bolt: first",
        "[    1.000002] WARNING: kernel/bolt/request.c:308 at bolt_request+0x6/0x7, CPU#3: lost/54",
    ]
    assert [splat.about for splat in console.scan(lines)] == [("bolt: first",)]
    assert [splat.about for splat in console.scan(lines[2:])] == [()]
    assert [splat.about for splat in console.scan([CUT, *lines[2:]])] == [()]


def test_expected_is_one_complaint_and_no_other() -> None:
    first, place = re.compile("^bolt: first$"), re.compile("at kernel/bolt/request.c")
    other = ["WARNING: CPU: 1 at x"]
    apart = ["x"] * 200
    once = console.scan(WARNED)
    twice = console.scan([*WARNED, *apart, *WARNED])
    assert console.unexpected(once, [first]) == []
    assert console.unexpected(once, [place]) == []
    assert console.unexpected(once, [re.compile("second")]) == once
    assert console.unexpected(once, []) == once
    assert console.unexpected(twice, [first]) == twice[1:]
    assert console.unexpected(twice, [first, place]) == []
    mixed = console.scan([*WARNED, *apart, *other])
    assert [splat.text for splat in console.unexpected(mixed, [first])] == other

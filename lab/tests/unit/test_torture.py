# SPDX-License-Identifier: GPL-2.0-only
import random
import re
from pathlib import Path
from typing import Any

import pytest

from boltlab import versions
from boltlab.errors import USAGE, BoltError
from boltlab.guest import busybox, guestimage, qemu
from boltlab.kernel import flavours
from boltlab.kernel.build import BUILT, Kernel
from boltlab.torture import matrix, tally
from boltlab.torture.matrix import Case, Counts, Outcome

CONFIGS = matrix.configs()
STORIES = matrix.stories()


def case(config: str = "production", story: str = "storm", **changes: Any) -> Case:
    values: dict[str, Any] = {"accel": "icount", "seed": 7, "requests": 100} | changes
    return Case("x86_64", CONFIGS[config], STORIES[story], **values)


def kernel(tmp_path: Path, text: str = "CONFIG_A=y\n") -> Kernel:
    (tmp_path / "config").write_text(text, encoding="utf-8")
    return Kernel("x86_64", "bolt", "6.12.1-0", "6.12.1", "c0ffee", "stamp", tmp_path)


@pytest.mark.parametrize("name", CONFIGS)
def test_configurations_are_of_flavours_there_are(name: str) -> None:
    config = CONFIGS[name]
    flavour = flavours.get(config.kernel)
    assert flavour.patched
    assert config.description.endswith(".")
    assert config.goal >= 1000
    assert config.machine.cpus % (config.machine.nodes * config.machine.threads) == 0


def test_a_configuration_is_of_series_that_there_are() -> None:
    known = {version.series for version in versions.load()}
    for config in CONFIGS.values():
        assert {*config.series} <= known
        assert any(config.is_of(series) for series in known)


def test_every_configuration_of_the_requirement_is_there() -> None:
    kernels = {config.kernel for config in CONFIGS.values()}
    assert {"bolt", "debug", "kasan", "kcsan", "rt", "torture", "cloud"} <= kernels
    assert {"scheduling", "sched-ext"} <= kernels
    for name, setting in (("core-scheduling", "SCHED_CORE"), ("numa-balancing", "NUMA_BALANCING")):
        assert f"CONFIG_{setting}=y" in CONFIGS[name].needs
        assert STORIES["scheduling"].fits(CONFIGS[name])
    assert STORIES["schedulers"].fits(CONFIGS["sched-ext"])
    assert {1, 4, 16, 64} <= {config.machine.cpus for config in CONFIGS.values()}
    assert {1, 2, 4} <= {config.machine.nodes for config in CONFIGS.values()}
    modes = {"none": "6.12", "voluntary": "6.12", "lazy": "7.3", "full": ""}
    for mode, series in modes.items():
        config = CONFIGS[f"preempt-{mode}"]
        assert config.append == f"preempt={mode}"
        assert config.series == ((series,) if series else ())
        run = case(f"preempt-{mode}")
        assert matrix.complaint(run, Counts(1, 1), [f"[ 0.1] Dynamic Preempt: {mode}"]) == ""
        other = "none" if mode == "lazy" else "lazy"
        assert "does not say" in matrix.complaint(run, Counts(), [f"Dynamic Preempt: {other}"])


@pytest.mark.parametrize("name", STORIES)
def test_shipped_scenarios_make_scripts(name: str) -> None:
    story = STORIES[name]
    assert story.scenario.description.endswith(".")
    assert any(story.fits(config) for config in CONFIGS.values())
    source = (guestimage.SOURCES / "init.c").read_text(encoding="utf-8")
    known = set(re.findall(r'^\t\{ "(\w+)", do_', source, re.M))
    for line in case(story=name).script():
        assert line.split()[0] in known
        assert "{" not in line
    for other in (*story.on, *story.not_on):
        assert other in CONFIGS


def test_only_a_story_that_can_ask_runs_on_one_cpu() -> None:
    assert {name for name in STORIES if STORIES[name].fits(CONFIGS["cpus-1"])} == {"storm"}
    assert {story for config in CONFIGS.values() for story in config.stories} <= STORIES.keys()


def test_a_run_is_repeated_by_one_line() -> None:
    assert case().line() == (
        "./bolt torture --arch x86_64 --config production --scenario storm "
        "--accel icount --seed 7 --requests 100"
    )
    assert case(source=" --version 7.3").line() == f"{case().line()} --version 7.3"
    assert "run /bin/storm seed=7 requests=100 seconds=60" in case().script()


def test_variants_are_scenarios_of_their_own() -> None:
    on = case(story="rcutorture-bolt-expedited").script()
    assert on[:2] == (
        "write /sys/devices/system/cpu/bolt/enabled 1",
        "write /sys/kernel/rcu_expedited 1",
    )
    assert not any("rcu_expedited" in line for line in case(story="rcutorture-native").script())


def test_what_shows_the_configuration_comes_first() -> None:
    assert case("nohz-full").script()[0] == "expect /sys/devices/system/cpu/nohz_full 2-3"
    version = "Linux version 6.12.117 (bolt@lab) (gcc) #1 SMP PREEMPT_RT Wed Jan  1 00:00:00 UTC"
    assert re.search(matrix.configs()["rt"].shows, version)
    assert not re.search(matrix.configs()["rt"].shows, version.replace("_RT", "_DYNAMIC"))


def test_the_guest_has_the_machine_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "busybox").write_bytes(b"box")
    monkeypatch.setattr(busybox, "ensure", lambda arch: tmp_path / "busybox")
    monkeypatch.setattr("boltlab.guest.selftest.build", lambda arch, tree, names: {})
    guest = case("nodes-4", "storm").guest(kernel(tmp_path))
    assert (guest.machine.cpus, guest.machine.nodes, guest.seed) == (8, 4, 7)
    guest = case("cpus-64", "storm").guest(kernel(tmp_path))
    assert (guest.machine.cpus, guest.machine.memory) == (64, "4G")
    assert guest.timeout > case().guest(kernel(tmp_path)).timeout
    monkeypatch.setattr(Kernel, "tree", property(lambda self: tmp_path))
    script = STORIES["cpu-on-off-bolt"].scripts[0]
    (tmp_path / script).parent.mkdir(parents=True)
    (tmp_path / script).write_bytes(b"#!/bin/bash")
    (tmp_path / BUILT).write_text("stamp", encoding="utf-8")
    programs = case(story="cpu-on-off-bolt").guest(kernel(tmp_path)).programs
    assert programs["bin/cpu-on-off-test.sh"].data == b"#!/bin/bash"
    assert programs["bin/busybox"].data == b"box"


def test_qemu_can_make_the_machine_of_each_run() -> None:
    for config in CONFIGS.values():
        for story in STORIES.values():
            if story.fits(config):
                machine = Case("x86_64", config, story, "icount", 1, 1).machine
                assert qemu.numa(machine).count("-numa") == (
                    machine.nodes if machine.nodes > 1 else 0
                )


def test_requests_are_counted_and_bystanders_are_not() -> None:
    rows = [
        {"output": "# actor batch asks=1 attempted=10 done=7 refused=2 wrong=1"},
        {"output": "# actor settle asks=0 attempted=5 done=5 refused=0 wrong=0"},
        {"output": "# actor single asks=1 attempted=3 done=3 refused=0 wrong=0"},
        {"end": "ok"},
    ]
    assert matrix.count(rows, []) == Counts(13, 10, 2, 1)


ONOFF = [
    "[   10.0] rcu-torture: rtc: 0 ver: 3 onoff: 4/4:5/5 1,2:3,4 5:6 (HZ=250) barrier: 0/0:0",
    "[   20.0] rcu-torture: rtc: 0 ver: 3 onoff: 9/9:10/11 1,2:3,4 5:6 (HZ=250) barrier: 0/0:0",
    "[   20.1] rcu-torture:--- End of test: RCU_HOTPLUG: nreaders=3",
]


def test_the_kernels_own_torture_is_counted_by_its_last_word() -> None:
    counts = matrix.count([], ONOFF)
    assert counts == Counts(20, 19, 0, 1)
    run = case("modules", "rcutorture-bolt")
    assert matrix.complaint(run, counts, ONOFF) == "the kernel's torture ended with RCU_HOTPLUG"
    good = [line.replace("RCU_HOTPLUG", "SUCCESS") for line in ONOFF]
    assert "1 of 20" in matrix.complaint(run, counts, good)
    assert matrix.complaint(run, Counts(20, 20), good) == ""
    assert matrix.complaint(run, Counts(), []) == "the kernel's torture ended with nothing"


def test_a_run_without_requests_fails_where_requests_are_counted() -> None:
    assert matrix.complaint(case(), Counts(), []) == "no request was made"
    assert matrix.complaint(case(story="cpu-on-off-bolt"), Counts(), []) == ""
    end = ["[   20.1] lock-torture:--- End of test: SUCCESS: torture_runnable"]
    assert matrix.complaint(case("modules", "locktorture-bolt"), Counts(), end) == ""


def test_loads_of_a_configuration_are_those_that_the_program_knows() -> None:
    files = guestimage.SOURCES.glob("load_*.c")
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    known = set(re.findall(r'^\t\{ "([\w-]+)", \d+, ', text, re.M))
    wanted = {name: CONFIGS[name].loads for name in ("core-scheduling", "numa-balancing")}
    assert wanted == {"core-scheduling": ("cookie", "bpf"), "numa-balancing": ("node", "bpf")}
    assert {load for config in CONFIGS.values() for load in config.loads} <= known
    (line,) = case("core-scheduling", "scheduling").script()
    assert "more=cookie,bpf" in line.split()


def test_a_refusal_is_wrong_where_there_is_no_reason_for_one() -> None:
    counts = Counts(10, 9, 1)
    assert matrix.complaint(case(story="storm"), counts, []) == ""
    assert "refused" in matrix.complaint(case(story="quiet"), counts, [])


def test_ignored_complaints_are_those_without_bolt() -> None:
    patterns = matrix.ignored(case("kcsan"))
    text = "BUG: KCSAN: data-race in {} / {}"
    assert any(each.search(text.format("tick_sched_do_timer", "x")) for each in patterns)
    for pair in (("bolt_defer", "x"), ("x", "bolt_defer"), ("x", "cpuhp_started_any")):
        assert not any(each.search(text.format(*pair)) for each in patterns)


def test_what_a_kernel_has(tmp_path: Path) -> None:
    built = kernel(tmp_path, "CONFIG_A=y\n# CONFIG_B is not set\n")
    assert matrix.meets(built, ("CONFIG_A=y", "CONFIG_B=n", "CONFIG_C=n"))
    assert not matrix.meets(built, ("CONFIG_A=y", "CONFIG_B=y"))


def test_the_guests_time_is_that_of_its_last_line(tmp_path: Path) -> None:
    assert matrix.last_moment(tmp_path) == 0
    (tmp_path / "console.log").write_text("[    1.500000] a\nb\n", encoding="utf-8")
    (tmp_path / "dmesg.log").write_text("<6>[    0.500000] a\n", encoding="utf-8")
    assert matrix.last_moment(tmp_path) == 1.5


GOOD: dict[str, Any] = {"description": "x", "commands": ["kunit"]}


def test_wrong_tables_are_refused() -> None:
    with pytest.raises(BoltError, match="unknown key 'shares'"):
        matrix.parse("a", {**GOOD, "torture": {"shares": 1}})
    with pytest.raises(BoltError, match="unknown key 'commando'"):
        matrix.parse("a", {**GOOD, "commando": []})
    with pytest.raises(BoltError, match="no scenario 'x' \\(there are: ") as caught:
        matrix.select(STORIES, "storm,x", "scenario")
    assert caught.value.code == USAGE
    assert matrix.select(STORIES, "quiet,storm", "scenario") == [
        STORIES["quiet"],
        STORIES["storm"],
    ]


def book(seed: int) -> tally.Book:
    rng = random.Random(seed)
    made = tally.Book()
    for _ in range(5):
        run = case(rng.choice(["production", "rt"]), accel=rng.choice(["icount", "mttcg"]))
        n = rng.randrange(100)
        why = "it broke" if rng.random() < 0.3 else ""
        made.add(run, Outcome(Counts(n, n), 1.0, 2.0, why), f"2026-01-0{seed}", "c0ffee")
    return made


def test_counts_add_up_in_any_order(tmp_path: Path) -> None:
    one, two = book(1), book(2)
    one.merge(book(2))
    two.merge(book(1))
    assert one.dumps() == two.dumps()
    path = tmp_path / "torture.json"
    one.save(path)
    assert tally.load(path).dumps() == one.dumps()
    assert sum(cell.runs for cell in one.cells.values()) == 10


def test_a_failed_run_counts_as_none_survived_and_says_how_to_repeat_it() -> None:
    made = tally.Book()
    made.add(case(), Outcome(Counts(50, 50), 1.0, 2.0), "2026-01-01", "c0ffee")
    made.add(case(), Outcome(Counts(70, 60, 0, 10), 1.0, 2.0, "x" * 999), "2026-01-02", "c0ffee")
    cell = made.cells[case().cell]
    assert (cell.runs, cell.attempted, cell.wrong) == (2, 50, 10)
    assert made.survived("production", "x86_64") == 50
    assert made.survived("production", "arm64") == 0
    assert [failure.repeat for failure in cell.failures] == [case().line()]
    assert len(cell.failures[0].why) == 300
    assert (cell.first, cell.last) == ("2026-01-01", "2026-01-02")
    (row,) = tally.table(made, [CONFIGS["production"], CONFIGS["rt"]], ["x86_64"])
    assert row[:7] == ["production", "x86_64", "50", "20000", "0", "2", "1"]


def test_native_runs_do_not_count_towards_the_goal() -> None:
    made = tally.Book()
    for story, requests in (("native", 100), ("partitions-native", 10), ("storm", 5)):
        outcome = Outcome(Counts(requests, requests), 1.0, 2.0)
        made.add(case(story=story), outcome, "2026-01-01", "c0ffee")
    assert made.survived("production", "x86_64") == 5
    assert made.survived("production", "x86_64", "c0ffee") == 5
    (row,) = tally.table(made, [CONFIGS["production"]], ["x86_64"])
    assert row[:6] == ["production", "x86_64", "5", "20000", "110", "3"]
    natives = {name for name in STORIES if matrix.native(name)}
    assert {"native", "rcutorture-native-expedited", "races-native"} <= natives
    for name in natives:
        lines = case(story=name).script()
        assert not any("enabled 1" in line for line in lines)
        assert all("bolt=0" in line for line in lines if "/bin/storm" in line)


def test_requests_are_counted_since_the_kernel_changed(tmp_path: Path) -> None:
    def survived(made: tally.Book) -> list[int]:
        return [made.survived("production", "x86_64", kernel) for kernel in ("", "old", "new")]

    def ran(made: tally.Book, kernel: str, date: str, why: str = "") -> tally.Book:
        made.add(case(), Outcome(Counts(50, 50), 1.0, 2.0, why), date, kernel)
        return made

    made, path = ran(tally.Book(), "old", "2026-01-01"), tmp_path / "torture.json"
    ran(made, "old", "2026-01-02")
    assert survived(made) == [100, 100, 0]
    ran(made, "new", "2026-01-03", "it broke")
    assert survived(made) == [100, 0, 0]
    ran(made, "new", "2026-01-03")
    assert survived(made) == [150, 0, 50]
    # Of two files that are merged, the one with the later runs has the newer kernel.
    made.save(path)
    later = ran(tally.Book(), "old", "2026-01-02")
    later.merge(tally.load(path))
    made.merge(ran(tally.Book(), "old", "2026-01-02"))
    made.merge(ran(tally.Book(), "new", "2026-01-03"))
    assert (survived(later), survived(made)) == ([200, 0, 50], [250, 0, 100])
    # A file of an older lab does not say which kernel ran.
    text = path.read_text(encoding="utf-8").replace(', "kernel": "new", "present": 50', "")
    path.write_text(text, encoding="utf-8")
    assert survived(tally.load(path)) == [150, 0, 0]


def test_all_failures_are_counted_though_only_the_last_are_kept(tmp_path: Path) -> None:
    def failed(runs: int) -> tally.Book:
        made = tally.Book()
        for _ in range(runs):
            made.add(case(), Outcome(Counts(), 1.0, 2.0, "it broke"), "2026-01-01", "c0ffee")
        return made

    def column(made: tally.Book) -> str:
        return tally.table(made, [CONFIGS["production"]], ["x86_64"])[0][6]

    made, path = failed(15), tmp_path / "torture.json"
    made.merge(failed(15))
    assert column(made) == "30"
    made.save(path)
    made = tally.load(path)
    assert column(made) == "30"
    assert [len(cell.failures) for cell in made.cells.values()] == [tally.KEEP_FAILURES]
    # A file of an older lab does not say how many runs have failed.
    path.write_text(made.dumps().replace('"failed": 30, ', ""), encoding="utf-8")
    assert column(tally.load(path)) == "20"


def test_a_file_that_is_no_book_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert tally.load(path).cells == {}
    for text in ("", "{}", '{"schema": 2, "kind": "torture", "cells": []}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BoltError, match="no torture results"):
            tally.load(path)

# SPDX-License-Identifier: GPL-2.0-only
import itertools
from pathlib import Path

import pytest

from boltlab.bench import breakdown
from boltlab.bench.breakdown import Call, Request
from boltlab.errors import BoltError
from boltlab.guest import traced

TRACES = Path(__file__).parents[1] / "data" / "trace"


def recorded(arch: str) -> list[str]:
    return (TRACES / f"native-{arch}.txt").read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_recorded_requests(arch: str) -> None:
    requests = list(breakdown.parse(recorded(arch)))
    assert [request.direction for request in requests] == ["offline", "online"]
    for request in requests:
        times = breakdown.paint(request)
        assert sum(times.values()) == request.end - request.start
        assert list(times) == breakdown.order(request.direction)


def test_phases_of_recorded_x86_offline() -> None:
    times = breakdown.paint(next(breakdown.parse(recorded("x86_64"))))
    # "rcu" has two grace periods, of 20 and 16 ms. In "stop" all CPUs wait while the CPU that goes
    # runs fixup_irqs(), which calls mdelay(1).
    assert 35_000_000 < times["rcu"] < 36_100_000
    assert 1_050_000 < times["stop"] < 1_150_000
    assert 600_000 < times["prepare"] < 750_000
    assert 20_000 < times["park"] < 60_000
    assert 150_000 < times["dead"] < 300_000
    assert times["lock"] < 100_000


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_phases_of_recorded_online(arch: str) -> None:
    times = breakdown.paint(list(breakdown.parse(recorded(arch)))[1])
    assert times["rcu"] == 0
    assert times["callbacks"] > times["prepare"] > 50_000
    assert times["kick"] > 50_000
    assert times["hardware"] > 20_000


def test_summary_is_the_median_in_drawing_order() -> None:
    once = recorded("arm64")
    phases = breakdown.summarise(once * 3)
    assert set(phases) == {"offline", "online"}
    for request in breakdown.parse(once):
        expected = list(breakdown.paint(request).items())
        assert [(part.phase, part.median_ns) for part in phases[request.direction]] == expected


def test_entries_and_exits_of_a_recorded_trace() -> None:
    calls = next(breakdown.parse(recorded("x86_64"))).calls
    by_name = {call.function: call for call in calls}
    down, stop = by_name["_cpu_down"], by_name["stop_machine_cpuslocked"]
    assert down.exit is not None
    assert stop.exit is not None
    assert down.entry < stop.entry < stop.exit < down.exit
    assert stop.exit - stop.entry == 1_089_860  # leaf calls are traced to the nanosecond


def request(direction: str, *calls: Call, start: int = 0, end: int = 100) -> Request:
    return Request(direction, start, end, list(calls))


def test_nothing_traced_is_other() -> None:
    assert breakdown.paint(request("offline"))["other"] == 100


def test_the_higher_priority_gets_the_time() -> None:
    times = breakdown.paint(
        request(
            "offline",
            Call("work_on_cpu_key", 10, 90),
            Call("stop_machine_cpuslocked", 40, 60),
            Call("synchronize_rcu", 50, 55),
        )
    )
    assert times["lock"] == 60
    assert times["stop"] == 15
    assert times["rcu"] == 5
    assert times["other"] == 20


def test_priority_does_not_depend_on_the_order_of_calls() -> None:
    calls = (
        Call("cpuhp_kick_ap_work", 0, 50),
        Call("kthread_park", 20, 30),
        Call("synchronize_rcu", 25, 40),
    )
    results = [breakdown.paint(request("offline", *some)) for some in itertools.permutations(calls)]
    assert all(times == results[0] for times in results)
    assert results[0]["park"] == 5


def test_calls_are_clipped_to_the_request() -> None:
    times = breakdown.paint(
        request(
            "offline",
            Call("synchronize_rcu", 0, 120),
            Call("synchronize_rcu", 190, 500),
            start=100,
            end=200,
        )
    )
    assert times["rcu"] == 30


def test_a_call_without_exit_lasts_to_the_end() -> None:
    assert breakdown.paint(request("offline", Call("synchronize_rcu", 70, None)))["rcu"] == 30


def test_marks_last_until_what_they_name() -> None:
    times = breakdown.paint(
        request(
            "online",
            Call("cpuhp_bringup_ap", 10, 90),
            Call("native_kick_ap", 20, 50),
            Call("notify_cpu_starting", 40, 45),
            Call("cpuhp_online_idle", 60, 61),
        )
    )
    assert times["kick"] == 20
    assert times["callbacks"] == 30
    assert times["hardware"] == 30


def test_the_same_function_may_mean_another_phase_the_other_way() -> None:
    call = Call("__cpuhp_invoke_callback_range", 10, 20)
    assert breakdown.paint(request("offline", call))["dead"] == 10
    assert breakdown.paint(request("online", call))["prepare"] == 10


def test_an_exit_without_entry_began_before_the_trace() -> None:
    trace = [
        "=== begin KIND=offline cpu=1 t0=1000000000 ===\n",
        "    1.000500 |   0)   kworker-9    | # 2000.000 us |  } /* synchronize_rcu */\n",
        "=== end t1=1001000000 ===\n",
    ]
    assert breakdown.paint(next(breakdown.parse(trace)))["rcu"] == 500_000


def test_idle_tasks_of_two_cpus_are_two_tasks() -> None:
    trace = [
        "=== begin KIND=offline cpu=1 t0=1000000000 ===\n",
        "    1.000100 |   0)    <idle>-0    |               |  synchronize_rcu() {\n",
        "    1.000200 |   1)    <idle>-0    |               |  take_cpu_down() {\n",
        "    1.000300 |   0)    <idle>-0    | ! 200.000 us  |  } /* synchronize_rcu */\n",
        "    1.000400 |   1)    <idle>-0    | ! 200.000 us  |  } /* take_cpu_down */\n",
        "=== end t1=1001000000 ===\n",
    ]
    times = breakdown.paint(next(breakdown.parse(trace)))
    assert (times["rcu"], times["stop"]) == (200_000, 100_000)


@pytest.mark.parametrize(
    ("trace", "what"),
    [
        ([], "no request"),
        (["# not traceable: x\n"], "no request"),
        (["=== begin KIND=offline cpu=1 t0=5 ===\n"], "ends inside"),
        (["=== end t1=5 ===\n"], "damaged"),
        (["=== begin KIND=sideways cpu=1 t0=5 ===\n"], "damaged"),
        (["=== begin KIND=online cpu=1 t0=5 ===\n"] * 2, "damaged"),
        (["CPU:1 [LOST 12 EVENTS]\n"], "lost records"),
    ],
)
def test_damaged_traces_are_refused(trace: list[str], what: str) -> None:
    with pytest.raises(BoltError, match=what):
        breakdown.summarise(trace)


def test_the_tables_agree_with_each_other() -> None:
    for direction in ("offline", "online"):
        phases = breakdown.order(direction)
        assert len(set(phases)) == len(phases)
        for phase in phases:
            assert breakdown.label(direction, phase) != phase
            assert breakdown.colour(phase).startswith("#")
    functions = traced.timed()
    assert len(set(functions)) == len(functions)
    # The guest gets all the names as one word of a script line, whose length is limited.
    assert len(",".join(functions)) < 4000

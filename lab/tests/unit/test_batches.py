# SPDX-License-Identifier: GPL-2.0-only
"""How traces of requests for several CPUs are counted and summarised."""

import pytest

from boltlab.bench import batches
from boltlab.errors import BoltError
from boltlab.guest import traced

# CPUs 1 and 2 go offline. Hotplug threads run states 10 to 40, the task that makes the request runs
# state 50. States 20 and 30 are serial, and state 25 between these counts as serial. The callback
# of state 40 takes 20 us on CPU 1 and 30 us on CPU 2, and for 10 us of this runs on both CPUs. The
# callback of state 10 takes 10 us on CPU 1.
TRACE = """\
# concurrent: 10 25 40 50
# serial: 20 30
=== begin KIND=offline batch=2 t0=1000000000 ===
    0.999990 |   0)   other-9      |               |  synchronize_rcu() {
    0.999995 |   0)   other-9      |   3.000 us    |    synchronize_rcu_expedited();
    0.999999 |   0)   other-9      |   9.000 us    |  } /* synchronize_rcu */
    1.000010 |   0)   batches-70   |               |  synchronize_rcu() {
    1.000012 |   0)   batches-70   |               |    synchronize_rcu_expedited() {
    1.000030 |   0)   batches-70   | + 18.000 us   |    } /* synchronize_rcu_expedited */
    1.000031 |   0)   batches-70   | + 21.000 us   |  } /* synchronize_rcu */
    1.000100 |   1)   cpuhp/1-20   |               |  /* cpuhp_enter: cpu: 0001 target: 145 step:  40 (a) */
    1.000110 |   2)   cpuhp/2-26   |               |  /* cpuhp_enter: cpu: 0002 target: 145 step:  40 (a) */
    1.000120 |   1)   cpuhp/1-20   |               |  /* cpuhp_exit:  cpu: 0001  state:  39 step:  40 ret: 0 */
    1.000140 |   2)   cpuhp/2-26   |               |  /* cpuhp_exit:  cpu: 0002  state:  39 step:  40 ret: 0 */
    1.000150 |   1)   cpuhp/1-20   |               |  /* cpuhp_multi_enter: cpu: 0001 target: 145 step:  30 (b) */
    1.000160 |   1)   cpuhp/1-20   |               |  /* cpuhp_exit:  cpu: 0001  state:  29 step:  30 ret: 0 */
    1.000161 |   1)   cpuhp/1-20   |               |  /* cpuhp_enter: cpu: 0001 target: 145 step:  25 (c) */
    1.000171 |   1)   cpuhp/1-20   |               |  /* cpuhp_exit:  cpu: 0001  state:  24 step:  25 ret: 0 */
    1.000180 |   1)   cpuhp/1-20   |               |  /* cpuhp_enter: cpu: 0001 target: 145 step:  10 (d) */
    1.000190 |   1)   cpuhp/1-20   |               |  /* cpuhp_exit:  cpu: 0001  state:   9 step:  10 ret: 0 */
    1.000200 |   0)   batches-70   | + 40.000 us   |  stop_machine_cpuslocked();
    1.000300 |   0)   batches-70   |               |  /* cpuhp_enter: cpu: 0001 target:   0 step:  50 (e) */
    1.000350 |   0)   batches-70   |               |  /* cpuhp_exit:  cpu: 0001  state:  49 step:  50 ret: 0 */
    1.000360 |   3)   kworker-99   |   5.000 us    |  synchronize_rcu_expedited();
=== end t1=1000400000 ===
=== begin KIND=offline batch=2 t0=2000000000 ===
    2.000010 |   0)   batches-70   |   9.000 us    |  synchronize_rcu_expedited();
    2.000200 |   0)   batches-70   | + 40.000 us   |  stop_machine_cpuslocked();
    2.000250 |   0)   batches-70   | + 40.000 us   |  stop_machine_cpuslocked();
    2.000300 |   0)   batches-70   | + 40.000 us   |  build_sched_domains();
=== end t1=2000400000 ===
"""  # noqa: E501


def parsed() -> list[batches.Request]:
    return list(batches.parse(TRACE.splitlines()))


def test_waits_inside_each_other_are_one() -> None:
    first, second = parsed()
    # Runs of a function in other tasks count as well, but not runs that end before the request.
    assert batches.count(first, "grace_periods") == 2
    assert batches.count(second, "grace_periods") == 1
    assert [batches.count(each, "stops") for each in (first, second)] == [1, 2]
    assert [batches.count(each, "rebuilds") for each in (first, second)] == [0, 1]


def test_the_chain_has_the_slowest_cpu_only() -> None:
    first, second = parsed()
    # Each CPU is charged half of the 10 us in which both run state 40. So CPU 1 has 15 us of state
    # 40 and 10 us of state 10, and CPU 2 has 25 us of state 40.
    assert batches.chain(first) == 400_000 - 25_000
    assert batches.chain(second) == 400_000


def test_serial_states_and_those_between_them_are_not_free() -> None:
    assert parsed()[0].free == {10, 40, 50}
    untold = "".join(line for line in TRACE.splitlines(keepends=True) if line[0] != "#")
    assert all(batches.chain(each) == 400_000 for each in batches.parse(untold.splitlines()))


def test_the_summary_has_the_greatest_counts() -> None:
    (found,) = batches.summarise(TRACE.splitlines())
    assert (found.kind, found.batch, found.n) == ("offline", 2, 2)
    assert found.counts == {"grace_periods": 2, "stops": 2, "rebuilds": 1, "thresholds": 0}
    assert (found.sum_ns, found.chain_ns) == (400_000, 387_500)


def test_functions_are_those_counted() -> None:
    assert {"synchronize_rcu", "stop_machine_cpuslocked", "build_sched_domains"} <= set(
        traced.counted()
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("=== end t1=2000400000 ===\n", ""), "ends inside a request"),
        (("=== end t1=1000400000 ===\n", ""), "damaged"),
        (("KIND=offline batch=2 t0=2", "KIND=sideways batch=2 t0=2"), "damaged"),
        (("    1.000100 |", "CPU:1 [LOST 10 EVENTS]\n    1.000100 |"), "lost records"),
    ],
)
def test_damaged_traces_are_refused(change: tuple[str, str], message: str) -> None:
    with pytest.raises(BoltError, match=message):
        batches.summarise(TRACE.replace(*change).splitlines())


def test_a_trace_without_requests_is_refused() -> None:
    with pytest.raises(BoltError, match="no request"):
        batches.summarise(["# serial: 1"])

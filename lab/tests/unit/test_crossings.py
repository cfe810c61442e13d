# SPDX-License-Identifier: GPL-2.0-only
"""How a request goes from one of Bolt's files to another."""

from pathlib import Path

import pytest

from boltlab import paths
from boltlab.bench import crossings
from boltlab.errors import BoltError

WHERE = {
    "store": "kernel/bolt/sysfs.c",
    "bolt_request": "kernel/bolt/request.c",
    "bolt_check_pending": "kernel/bolt/request.c",
    "cpu_down": "kernel/cpu.c",
    "wake": "kernel/cpu.c",
    "kick": "kernel/kthread.c",
}
TRACE = """\
=== begin KIND=offline cpu=1 t0=1000000 ===
     0.001100 |   0)    init-1      |               |  store() {
     0.001110 |   0)    init-1      |               |    bolt_request() {
     0.001120 |   0)    init-1      |   1.000 us    |      bolt_check_pending();
     0.001130 |   0)    init-1      |               |      cpu_down() {
     0.001131 |   1)    cpuhp-9     |   1.000 us    |  bolt_check_pending();
     0.001140 |   0)    init-1      |   1.000 us    |        kick();
     0.001150 |   0)    init-1      |   1.000 us    |        bolt_check_pending();
     0.001160 |   0)    init-1      |   1.000 us    |        bolt_check_pending();
     0.001170 |   0)    init-1      | + 40.000 us   |      } /* cpu_down */
     0.001180 |   0)    init-1      | + 70.000 us   |    } /* bolt_request */
     0.001190 |   0)    init-1      | + 90.000 us   |  } /* store */
=== end t1=2000000 ===
"""


def test_each_pair_counts_once() -> None:
    (found,) = crossings.count(TRACE.splitlines(), WHERE)
    assert found.direction == "offline"
    # The request goes from sysfs.c to request.c and back, from request.c to cpu.c and back, and
    # from cpu.c to request.c and back: the second call from cpu_down() does not count again. The
    # call from cpu.c to kthread.c is no crossing, because neither file is Bolt's.
    assert found.total == 6
    assert found.entered == {
        "kernel/bolt/request.c": 3,
        "kernel/cpu.c": 2,
        "kernel/bolt/sysfs.c": 1,
    }
    assert found.ours == ["kernel/bolt/request.c", "kernel/bolt/sysfs.c"]


def test_no_request_is_an_error() -> None:
    with pytest.raises(BoltError, match="no request"):
        crossings.count([], WHERE)


def test_definitions() -> None:
    text = """\
static int __init one(unsigned int cpu,
\t\tint (*call)(void))
{
\tif (two(cpu)) {
\t\treturn 1;
\t}
\treturn call();
}

EXPORT_SYMBOL(one);

/* No definition. */
int two(unsigned int cpu);
"""
    assert list(crossings.definitions(text)) == ["one"]


def overlay(folder: Path, **files: str) -> Path:
    (folder / "kernel/bolt").mkdir(parents=True)
    for name, text in files.items():
        (folder / f"kernel/bolt/{name}.c").write_text(text, encoding="utf-8")
    return folder


def test_a_circle_is_found(tmp_path: Path) -> None:
    folder = overlay(
        tmp_path,
        one="int shared;\n\nint one(void)\n{\n\treturn two();\n}\n",
        two="int two(void)\n{\n\treturn three();\n}\n",
        three="/* one() */\nint three(void)\n{\n\treturn shared;\n}\n",
    )
    graph = crossings.uses(folder)
    assert graph["kernel/bolt/one.c"] == {"kernel/bolt/two.c"}
    assert set(crossings.circle(graph)) == set(graph)
    (folder / "kernel/bolt/three.c").write_text("int three(void)\n{\n\treturn 0;\n}\n")
    assert crossings.circle(crossings.uses(folder)) == []


def test_no_file_is_in_a_circle() -> None:
    graph = crossings.uses(paths.KERNEL / "overlay")
    assert len(graph) >= 20
    assert crossings.circle(graph) == []

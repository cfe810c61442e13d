# SPDX-License-Identifier: GPL-2.0-only
"""The results of a matrix's elements, put together, are the results of one run."""

from dataclasses import replace
from pathlib import Path

import pytest

from boltlab import arch, paths
from boltlab.bench import plan as plans
from boltlab.bench import results
from boltlab.bench.plan import Plan
from boltlab.bench.results import Results
from boltlab.boot import bootfile, boots
from boltlab.commands import bench, boot_bench
from boltlab.engine import merge
from boltlab.engine import rows as elements
from boltlab.errors import BoltError
from boltlab.guest import modules
from boltlab.kernel.build import Kernel

X86 = arch.ARCHES["x86_64"]
RESULTS = paths.REPO / "results"
KERNEL = Kernel(X86.name, "bolt", "6.12.1-c0", "6.12.1", "c0", "c0", Path("kernel"))


def part(whole: Results, variant: str) -> Results:
    """Return what ``whole`` has of ``variant``, like results of a run of that variant alone."""
    cases = [
        replace(
            case,
            variants={variant: case.variants[variant]},
            boots={name: boot for name, boot in case.boots.items() if name == variant},
        )
        for case in whole.cases
        if variant in case.variants
    ]
    return replace(
        whole,
        cases=cases,
        breakdown={name: each for name, each in whole.breakdown.items() if name == variant},
        batches={name: each for name, each in whole.batches.items() if name == variant},
    )


@pytest.mark.parametrize("file", sorted(RESULTS.glob("2026-11-22-*-strict.json")), ids=str)
def test_a_bench_of_variants(file: Path) -> None:
    whole = results.load(file)
    wanted = {name for case in whole.cases for name in case.variants}
    order = list(dict.fromkeys(case.case for case in whole.cases))
    parts = [part(whole, name) for name in results.variants() if name in wanted]
    merged = merge.bench(parts, order)
    assert len(parts) > 2
    assert {(each.case, each.batch, each.cpus): each for each in merged.cases} == {
        (each.case, each.batch, each.cpus): each for each in whole.cases
    }
    assert replace(merged, cases=[]) == replace(whole, cases=[])
    # The merged results have the format of a result file.
    assert results.from_json(results.to_json(merged)) == merged


def test_a_boot_bench_of_variants_and_machines() -> None:
    whole = bootfile.load(RESULTS / "2026-11-22-arm64-boot.json")
    parts = [
        replace(
            whole,
            boots=[
                boot
                for boot in whole.boots
                if boot.variant == name and (boot.cpus, boot.nodes) in (size, (1, 1))
            ],
        )
        for size in reversed(bootfile.sizes(whole))
        for name in boots.variants("arm64")
    ]
    parts = [each for each in parts if each.boots]
    assert len(parts) > 10
    merged = merge.boots(parts)
    key = {(boot.variant, boot.cpus, boot.nodes): boot for boot in whole.boots}
    assert {(boot.variant, boot.cpus, boot.nodes): boot for boot in merged.boots} == key
    assert len(merged.boots) == len(key)
    assert bootfile.to_json(merged)["cases"] == bootfile.to_json(whole)["cases"]


def test_what_does_not_belong_together() -> None:
    whole = results.load(RESULTS / "2026-11-22-x86_64-strict.json")
    other = replace(whole, qemu="7.2.0")
    with pytest.raises(BoltError, match=r"do not belong together: qemu '.*' and '7\.2\.0'"):
        merge.bench([whole, other], [case.case for case in whole.cases])


def test_elements_of_a_bench() -> None:
    plan = Plan(cases=("offline1",), cpus=8, traced=False)
    row = bench.row(X86, "strict", "bolt", plan, " --version 7.3")
    assert row.line == (
        "./bolt bench --arch x86_64 --setting strict --variants bolt --cpus 8 --accel icount "
        "--cases offline1 --no-breakdown --version 7.3"
    )
    assert row.command == f'{row.line} --json "$LEDGER"'
    assert row.seconds == 2 * plans.TIMEOUT
    assert bench.row(X86, "strict", "bolt", Plan(large=True)).memory > row.memory


@pytest.mark.parametrize("large", [False, True])
def test_an_element_of_a_bench_has_memory_for_its_largest_guest(
    monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    monkeypatch.setattr(modules, "nodes", lambda kernel, names: {})
    plan = Plan(large=large)
    kernels = dict.fromkeys(plans.flavours(X86, plan), KERNEL)
    jobs = plans.jobs_of(X86, "strict", plan, kernels)
    most: dict[str, int] = {}
    for job in jobs:
        size = int(job.guest.machine.memory.removesuffix("G"))
        most[job.variant] = max(size, most.get(job.variant, 0))
    assert most["bolt"] == 4
    for variant, size in most.items():
        row = bench.row(X86, "strict", variant, plan)
        assert row.memory == 1024 * size + elements.EMULATOR


def test_an_element_of_a_boot_bench() -> None:
    row = boot_bench.row(X86, "strict", "all", 64, 4, " --no-trace")
    assert row.line == (
        "./bolt boot-bench --arch x86_64 --setting strict --cpus 64 --nodes 4 --variants all "
        "--no-trace"
    )

# SPDX-License-Identifier: GPL-2.0-only
"""Which guests a bench runs, and how it reads their output."""

import argparse
from pathlib import Path

import pytest

from boltlab import arch
from boltlab.bench import results
from boltlab.bench.plan import Job, Plan, flavours, jobs_of, names
from boltlab.commands import bench as cmd_bench
from boltlab.engine import merge
from boltlab.guest import modules
from boltlab.guest.qemu import GuestResult
from boltlab.kernel.build import Kernel
from tests.unit.sample import sample

X86 = arch.ARCHES["x86_64"]
KERNELS = {
    name: Kernel("x86_64", name, "6.12.1-0", "6.12.1", "c0ffee", "stamp", Path(name))
    for name in ("pristine", "bolt", "power")
}


@pytest.fixture(autouse=True)
def no_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "nodes", lambda kernel, wanted: dict.fromkeys(wanted))


def plan(plan: Plan) -> dict[str, Job]:
    return {job.name: job for job in jobs_of(X86, "strict", plan, KERNELS)}


def test_guests_of_a_whole_bench() -> None:
    jobs = plan(Plan())
    names = {
        f"x86_64-{variant}-{kind}-1"
        for variant in ("native", "expedited", "bolt")
        for kind in (
            "measured",
            "bounded",
            "ballast",
            "irqs",
            "curve",
            "smt",
            "batches",
            "breakdown",
        )
    }
    names |= {f"x86_64-{v}-micro-{boot}" for v in ("native", "off", "bolt") for boot in (1, 2, 3)}
    assert set(jobs) == names
    ballast = jobs["x86_64-bolt-ballast-1"]
    assert ballast.guest.script[0].endswith("/bolt/enabled 1")
    assert ballast.guest.script[1] == "load ballast counters=100000 caches=500"
    assert ballast.guest.script[2].startswith("measure ballast cpus=1 ")
    assert list(ballast.guest.programs) == ["ballast"]
    assert ballast.records == 2
    micro = jobs["x86_64-off-micro-2"]
    assert micro.guest.image == KERNELS["bolt"].image
    assert [line.split()[0] for line in micro.guest.script] == ["micro"]
    assert micro.guest.append == "cpu_init_udelay=0 tsc=reliable norandmaps"
    assert micro.records == 8
    assert jobs["x86_64-native-bounded-1"].guest.bounded
    assert not jobs["x86_64-native-measured-1"].guest.bounded
    assert "{functions}" not in jobs["x86_64-native-breakdown-1"].guest.script[-1]


def test_cold_cpus_are_measured_if_that_is_asked_for() -> None:
    assert not [job for job in plan(Plan()).values() if job.variant == "bolt_cold"]
    jobs = plan(Plan(variants=("bolt", "bolt_cold")))
    assert {job.kind for job in jobs.values() if job.variant == "bolt_cold"} == {
        "measured",
        "bounded",
        "curve",
        "smt",
    }
    script = jobs["x86_64-bolt_cold-measured-1"].guest.script
    assert script[:2] == (
        "write /sys/devices/system/cpu/bolt/enabled 1",
        "write /sys/devices/system/cpu/bolt/park cold",
    )


def test_a_demo_has_no_extras() -> None:
    kinds = {job.kind for job in plan(Plan(extra=False)).values()}
    assert kinds == {"measured", "bounded", "breakdown"}


def test_bulk_is_large_guests_and_those_of_another_kernel() -> None:
    jobs = plan(Plan(large=True))
    kinds = {"curve": 32, "smt": 16, "suspend": 16, "batches": 32}
    kinds |= {"smt32": 32, "smt64": 64}
    kinds |= {f"smt{cpus}_bounded": cpus for cpus in (16, 32)}
    assert {job.kind: job.guest.machine.cpus for job in jobs.values()} == kinds
    assert jobs["x86_64-native-suspend-1"].guest.image == KERNELS["power"].image
    assert jobs["x86_64-native-curve-1"].guest.image == KERNELS["pristine"].image
    assert {
        jobs[f"x86_64-bolt-{kind}-1"].guest.machine.threads for kind in kinds if "smt" in kind
    } == {2}
    assert jobs["x86_64-bolt-curve-1"].records == 4 * 5
    script = jobs["x86_64-bolt-batches-1"].guest.script
    assert script[0].endswith("/bolt/enabled 1")
    assert "synchronize_rcu," in script[1]
    assert flavours(X86, Plan(large=True)) == ["pristine", "power", "bolt"]
    assert flavours(X86, Plan()) == ["pristine", "bolt"]
    assert flavours(X86, Plan(cases=("freeze",), large=True, traced=False)) == ["power"]


def test_kexec_is_timed_by_its_messages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    arm = arch.ARCHES["arm64"]
    wanted = Plan(cases=("kexec",), variants=("native",), traced=False, large=True)
    jobs = jobs_of(arm, "default", wanted, KERNELS)
    assert [job.name for job in jobs] == [f"arm64-native-kexec-{boot}" for boot in (1, 2, 3)]
    assert jobs[0].guest.script[-1].startswith("kexec last ")
    assert len(jobs[0].guest.programs["kexec/image"].data) == 64 + 16
    (tmp_path / "console.log").write_text(
        "[    2.000000] kexec_core: Starting new kernel\n[    2.300001] Bye!\n"
    )
    done = [(job, GuestResult(tmp_path, [])) for job in jobs]
    (case,) = cmd_bench._cases(arm, wanted, done)
    assert (case.case, case.batch, case.cpus) == ("kexec", 15, 16)
    assert case.variants["native"].median == pytest.approx(300.001)


def test_kernels_without_bulk_do_it_one_by_one(tmp_path: Path) -> None:
    wanted = Plan(cases=("offline_seq", "offline_bulk"), traced=False)
    done = []
    for job in plan(wanted).values():
        rows = [
            {"case": f"offline_{how}", "batch": batch, "samples": [batch * 1_000_000 * factor]}
            for batch in ((3,) if job.kind == "measured" else (1, 31))
            for how, factor in (("seq", 7), ("bulk", 2))
            if how == "seq" or job.variant == "bolt"
        ]
        done.append((job, GuestResult(tmp_path, rows)))
    found = {
        (case.case, case.batch, case.cpus): {name: s.median for name, s in case.variants.items()}
        for case in cmd_bench._cases(X86, wanted, done)
    }
    assert list(found) == [
        ("offline_seq", 3, 0), ("offline_bulk", 3, 0),
        ("offline_seq", 1, 32), ("offline_seq", 31, 32),
        ("offline_bulk", 1, 32), ("offline_bulk", 31, 32),
    ]  # fmt: skip
    assert found["offline_bulk", 3, 0] == {"native": 21.0, "expedited": 21.0, "bolt": 6.0}
    assert found["offline_seq", 31, 32]["bolt"] == 217.0


@pytest.mark.parametrize("cases", [("offline1", "offline_bulk"), ("offline_bulk",)])
def test_elements_of_single_variants_have_all_cases(tmp_path: Path, cases: tuple[str, ...]) -> None:
    """On a cluster each variant runs alone; the merged results equal those of one machine."""

    def ran(wanted: Plan) -> list[tuple[Job, GuestResult]]:
        rows = [
            {"case": case, "batch": 1 if case == "offline1" else 3, "samples": [ns]}
            for case, ns in (("offline1", 1), ("offline_seq", 3), ("offline_bulk", 2))
        ]
        return [
            (job, GuestResult(tmp_path, rows if job.variant == "bolt" else rows[:2]))
            for job in plan(wanted).values()
            if job.kind == "measured"
        ]

    def results_of(wanted: Plan) -> results.Results:
        measured = cmd_bench._cases(X86, wanted, ran(wanted))
        return sample(cases=measured, breakdown={}, batches={})

    whole = Plan(cases=cases, traced=False)
    parts = []
    for variant in whole.variants:
        if variant != "off":
            parser = argparse.ArgumentParser()
            cmd_bench.add_arguments(parser)
            words = cmd_bench.row(X86, "strict", variant, whole).line.split()
            args = parser.parse_args(words[2:])
            parts.append(results_of(Plan(args.cases, args.variants, traced=False)))
    merged = merge.bench(parts, names())
    assert merged.cases == results_of(whole).cases
    assert [case.case for case in merged.cases] == list(cases)
    assert [*merged.cases[-1].variants] == ["native", "expedited", "bolt"]


def test_some_cases_of_some_variants() -> None:
    jobs = plan(Plan(cases=("micro_fork",), variants=("native", "bolt"), traced=False))
    assert {job.variant for job in jobs.values()} == {"native", "bolt"}
    assert {job.kind for job in jobs.values()} == {"micro"}


def test_samples_of_all_boots_are_one_case(tmp_path: Path) -> None:
    jobs = plan(Plan(cases=("micro_fork",), variants=("native",), traced=False)).values()
    done = []
    for number, job in enumerate(jobs, start=1):
        row = {"case": "micro_fork", "batch": 1, "samples": [number * 1_000_000] * 2}
        done.append((job, GuestResult(tmp_path, [row])))
    (case,) = cmd_bench._cases(X86, Plan(cases=("micro_fork",)), done)
    assert case.variants == {"native": results.Stats(6, 1.0, 2.0, 3.0, 3.0)}
    assert case.boots == {"native": [1.0, 2.0, 3.0]}


def test_one_boot_has_no_scatter(tmp_path: Path) -> None:
    (job,) = plan(Plan(cases=("offline1",), variants=("bolt",), traced=False)).values()
    row = {"case": "offline1", "batch": 1, "samples": [5_000_000]}
    done = [(job, GuestResult(tmp_path, [row]))]
    (case,) = cmd_bench._cases(X86, Plan(cases=("offline1",)), done)
    assert (case.case, case.boots) == ("offline1", {})

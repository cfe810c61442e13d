# SPDX-License-Identifier: GPL-2.0-only
import dataclasses

import pytest

from boltlab import arch
from boltlab.bench import reference
from boltlab.bench.results import Case, Results
from boltlab.errors import BoltError
from tests.unit.sample import sample, stats


def run(
    native: tuple[float, float] = (32.2, 1.7),
    expedited: tuple[float, float] = (2.2, 1.7),
    name: str = "x86_64",
    setting: str = "strict",
    qemu: str = "10.0.2",
) -> Results:
    cases = [
        Case(case, 1, {"native": stats(native[i]), "expedited": stats(expedited[i])})
        for i, case in enumerate(("offline1", "online1"))
    ]
    return sample(cases, arch=name, setting=setting, qemu=qemu)


def test_a_right_setup_passes() -> None:
    assert reference.check(run()) is None
    assert reference.check(run(native=(27.0, 1.5), expedited=(2.5, 1.9))) is None


@pytest.mark.parametrize(
    ("native", "expedited", "case"),
    [
        ((20.0, 1.7), (2.2, 1.7), "native offline1 took 20 ms"),
        ((39.0, 1.7), (2.2, 1.7), "native offline1 took 39 ms"),
        ((32.2, 15.0), (2.2, 1.7), "native online1 took 15 ms"),
        ((32.2, 1.7), (30.0, 1.7), "expedited offline1 took 30 ms"),
        ((32.2, 1.7), (2.2, 1.0), "expedited online1 took 1 ms"),
    ],
)
def test_a_wrong_setup_stops(
    native: tuple[float, float], expedited: tuple[float, float], case: str
) -> None:
    with pytest.raises(BoltError, match=case):
        reference.check(run(native, expedited))


def test_each_series_has_references_of_its_own() -> None:
    newest = dataclasses.replace(run(native=(16.8, 1.68)), kernel="7.3.4")
    assert reference.check(newest) is None
    with pytest.raises(BoltError, match=r"native offline1 took 32\.2 ms"):
        reference.check(dataclasses.replace(run(), kernel="7.3.4"))
    assert "no reference figures for Linux 7.3.4 on QEMU 7.2.15" in (
        reference.check(dataclasses.replace(newest, qemu="7.2.15")) or ""
    )


def test_the_setting_matters() -> None:
    with pytest.raises(BoltError, match="online1"):
        reference.check(run(setting="legacy"))
    assert reference.check(run((31.7, 14.2), (2.2, 14.2), setting="legacy")) is None


def test_ranges_have_their_tolerance_at_both_ends() -> None:
    old = {"qemu": "7.2.15"}
    for offline, good in ((33, True), (37, True), (27, True), (44, True), (26, False), (45, False)):
        measured = run((offline, 3.0), (2.1, 3.0), **old)
        if good:
            assert reference.check(measured) is None
        else:
            with pytest.raises(BoltError, match="33 to 37 ms"):
                reference.check(measured)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"qemu": "9.2.0"}, "no reference figures for Linux 6.12.117 on QEMU 9.2.0"),
        ({"qemu": "1.0"}, "no reference figures for Linux 6.12.117 on QEMU 1.0"),
        ({"qemu": "7.20.1"}, "no reference figures for Linux 6.12.117 on QEMU 7.20.1"),
        ({"cpus": 8}, "8 CPUs"),
        ({"accel": "kvm"}, "accelerator kvm"),
        ({"kernel": "7.2.12"}, "Linux 7.2.12"),
    ],
)
def test_what_cannot_be_compared_is_labelled(changes: dict[str, object], why: str) -> None:
    measured = run(native=(999.0, 999.0))
    for name, value in changes.items():
        measured = dataclasses.replace(measured, **{name: value})  # type: ignore[arg-type]
    note = reference.check(measured)
    assert note is not None
    assert why in note


def test_only_what_was_measured_is_compared() -> None:
    measured = run(native=(999.0, 999.0))
    assert reference.check(dataclasses.replace(measured, cases=[])) is None


def test_every_setting_has_a_row_for_both_emulators() -> None:
    for target in arch.ARCHES.values():
        for setting in target.settings:
            for qemu in ("10.0.2", "7.2.15"):
                wrong = run(native=(999.0, 999.0), name=target.name, setting=setting, qemu=qemu)
                with pytest.raises(BoltError, match="cannot be trusted"):
                    reference.check(wrong)

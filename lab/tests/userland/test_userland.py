# SPDX-License-Identifier: GPL-2.0-only
"""Debian's user space on a kernel with Bolt: programs print the same as natively.

A guest whose kernel prints a splat fails by itself: see boltlab.guest.console.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from boltlab import arch
from boltlab.debian import userland
from boltlab.kernel.build import Kernel

pytestmark = [pytest.mark.guest, pytest.mark.nightly]

FLAVOUR = "userland"


@pytest.mark.parametrize("name", userland.guests())
def test_debian(kernel: Callable[[str, str], Kernel], image: Path, name: str) -> None:
    built = kernel(arch.host().name, FLAVOUR)
    rows = [row for row in userland.checks() if row.guest == name]
    records = []
    for mode in userland.MODES:
        done = userland.run(built, image, name, rows, mode)
        records += done.records
    text = json.dumps(userland.times(records), indent=1)
    (done.folder / "times.json").write_text(text + "\n", encoding="utf-8")
    assert userland.differences(rows, records) == []

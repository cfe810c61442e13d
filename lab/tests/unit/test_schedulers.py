# SPDX-License-Identifier: GPL-2.0-only
"""sched_ext's schedulers for guests, built by a made-up Makefile without files of the kernel."""

from dataclasses import replace
from pathlib import Path

import pytest

from boltlab import arch, packages
from boltlab.errors import UNAVAILABLE, BoltError
from boltlab.guest import schedulers
from boltlab.kernel.build import BUILT, Kernel
from tests.unit.conftest import write_tree

HOST = arch.host()
MAKEFILE = """
scx_a:
\t@test -f $(VMLINUX_BTF) && mkdir -p $(O)/build/bin
\t@echo 'int main(void) { return 0; }' | gcc -x c - -o $(O)/build/bin/$@
scx_b:
\t@false
"""


@pytest.fixture
def kernel(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    monkeypatch.setattr(packages, "ensure", lambda *_, **__: None)
    kernel = Kernel(HOST.name, "sched-ext", "6.12.1-0", "6.12.1", "c0ffee", "stamp", cache)
    files = {"tools/sched_ext/Makefile": MAKEFILE, "vmlinux": "", BUILT: kernel.stamp}
    write_tree(kernel.tree, files)
    return kernel


def test_a_guest_gets_schedulers_and_their_libraries(kernel: Kernel) -> None:
    found = schedulers.nodes(kernel, ["scx_a"])
    assert found["bin/scx_a"].mode & 0o111
    assert found["bin/scx_a"].data.startswith(b"\x7fELF")
    assert "lib/libc.so.6" in found
    assert schedulers.nodes(kernel, []) == {}


def test_what_does_not_build(kernel: Kernel) -> None:
    with pytest.raises(BoltError, match="building scx_a scx_b failed"):
        schedulers.nodes(kernel, ["scx_a", "scx_b"])
    (kernel.tree / BUILT).unlink()
    with pytest.raises(BoltError, match="the tree of the sched-ext kernel is gone"):
        schedulers.nodes(kernel, ["scx_a"])


def test_another_architecture(kernel: Kernel) -> None:
    (other,) = (name for name in arch.ARCHES if name != HOST.name)
    with pytest.raises(BoltError, match="built on a host of") as caught:
        schedulers.nodes(replace(kernel, arch=other), ["scx_a"])
    assert caught.value.code == UNAVAILABLE

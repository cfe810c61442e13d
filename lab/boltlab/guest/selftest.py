# SPDX-License-Identifier: GPL-2.0-only
"""Builds the kernel's own selftests of Bolt as static programs for a guest."""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from boltlab import paths
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.guest import guestimage
from boltlab.guest.guestimage import Node

FOLDER = Path("tools/testing/selftests/bolt")
FLAGS = ("-static", "-O2", "-Wall")


def names(tree: Path) -> list[str]:
    """Return the selftests that the Makefile in the kernel ``tree`` lists."""
    text = (tree / FOLDER / "Makefile").read_text(encoding="utf-8")
    found = re.search(r"^TEST_GEN_PROGS\s*:=\s*(.+)$", text, re.M)
    return found[1].split() if found else []


def build(arch: Arch, tree: Path, wanted: Sequence[str]) -> dict[str, Node]:
    """Return ``wanted`` selftests of ``tree`` as nodes of an initramfs, ``bin/NAME`` -> program.

    Raises BoltError when there is no such test or it does not compile.
    """
    known = names(tree)
    for name in wanted:
        if name not in known:
            raise BoltError(f"no selftest '{name}' (there are: {', '.join(known)})")
    with tempfile.TemporaryDirectory(prefix="bolt-selftests-") as scratch:
        return {
            f"bin/{name}": guestimage.file(_compile(arch, tree, name, Path(scratch)), 0o755)
            for name in wanted
        }


def _compile(arch: Arch, tree: Path, name: str, scratch: Path) -> bytes:
    program = scratch / name
    done = subprocess.run(
        [arch.cc, *FLAGS, "-o", str(program), f"{name}.c"],
        cwd=tree / FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        log = paths.new_log(f"selftest-{arch.name}-{name}")
        log.write_text(done.stderr, encoding="utf-8")
        raise BoltError(f"the selftest {name} does not compile for {arch.name}", log)
    return program.read_bytes()

# SPDX-License-Identifier: GPL-2.0-only
"""Builds the kernel's selftests of Bolt for guests, and makes scenarios that run the selftests."""

import functools
import re
import string
import subprocess
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boltlab import paths
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.guest import guestimage
from boltlab.guest.guestimage import Node
from boltlab.guest.machine import Machine
from boltlab.kernel.build import Kernel, tree_of

FOLDER = Path("tools/testing/selftests/bolt")
OVERLAY = paths.KERNEL / "overlay"
TABLE = paths.REPO / "lab" / "selftests.toml"
PREFIX = "selftest-"  # what the names of scenarios of selftests begin with

FLAGS = ("-static", "-O2", "-Wall")


def names(tree: Path) -> list[str]:
    """Return the selftests that the Makefile in the kernel ``tree`` lists."""
    text = (tree / FOLDER / "Makefile").read_text(encoding="utf-8")
    found = re.search(r"^TEST_GEN_PROGS\s*:=\s*(.+)$", text, re.M)
    return found[1].split() if found else []


@functools.cache
def scenarios() -> Mapping[str, Mapping[str, Any]]:
    """Return a scenario for each selftest and each further table of selftests.toml, by name.

    Selftests that the list ``elsewhere`` of selftests.toml names have no scenario here. The
    scenarios are tables as in lab/scenarios. Raises BoltError when selftests.toml does not fit
    the selftests in the Makefile.
    """
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    known = names(OVERLAY)
    elsewhere = table.pop("elsewhere", None)
    if not isinstance(elsewhere, list):
        raise BoltError(f"{TABLE.name}: the list 'elsewhere' is missing")
    for name in elsewhere:
        if name not in known:
            raise BoltError(f"{TABLE.name}: no selftest '{name}' (there are: {', '.join(known)})")
    rows: dict[str, dict[str, Any]] = {
        name.replace("_", "-"): {"description": _description(name), "selftests": [name]}
        for name in known
        if name not in elsewhere
    }
    for name, row in table.items():
        if name not in rows and "selftests" not in row:
            raise BoltError(f"{TABLE.name}: '{name}' is no selftest and lists none")
        rows[name] = {**rows.get(name, {}), **row}
    return {
        f"{PREFIX}{name}": {
            "kernel": "bolt",
            "commands": [f"run /bin/{program}" for program in row["selftests"]],
            **row,
        }
        for name, row in sorted(rows.items())
    }


def _description(name: str) -> str:
    """Return the first sentence of the comment with which the selftest ``name`` begins."""
    text = (OVERLAY / FOLDER / f"{name}.c").read_text(encoding="utf-8")
    comment = re.search(r"^/\*(.*?)\*/", text.partition("\n")[2], re.M | re.S)
    words = re.sub(r"\n \*", " ", comment[1] if comment else "").split()
    return re.split(r"(?<=\w\.) (?=[A-Z])", " ".join(words))[0]


def build(arch: Arch, kernel: Kernel, wanted: Sequence[str]) -> dict[str, Node]:
    """Return ``wanted`` selftests of ``kernel`` as nodes of an initramfs, ``bin/NAME`` -> program.

    Raises BoltError when there is no such test, or when a test does not compile.
    """
    with tree_of(kernel), tempfile.TemporaryDirectory(prefix="bolt-selftests-") as scratch:
        known = names(kernel.tree)
        for name in wanted:
            if name not in known:
                raise BoltError(f"no selftest '{name}' (there are: {', '.join(known)})")
        return {
            f"bin/{name}": guestimage.file(_compile(arch, kernel.tree, name, Path(scratch)), 0o755)
            for name in wanted
        }


def variables(machine: Machine) -> str:
    """Return the words of the kernel's command line that let selftests use disk and network card.

    Selftests use only devices that the environment variables BOLT_DISK and BOLT_NIC name. The
    kernel hands unknown words NAME=VALUE to init as such variables. The disk is the first without a
    file system.
    """
    words = []
    if machine.disks > machine.ext4:
        words.append(f"BOLT_DISK=vd{string.ascii_lowercase[machine.ext4]}")
    if machine.nics:
        words.append("BOLT_NIC=eth0")
    return " ".join(words)


def watched(line: str, wanted: Sequence[str]) -> str:
    """Return ``line`` of a guest's script, made to fail if a selftest leaves a setting changed.

    If the line runs one of the selftests ``wanted``, the command ``selftest`` takes the place of
    ``run``; lab/guest/init.c lists the files whose contents count as settings here. Any other line
    is returned as it is.
    """
    verb, _, rest = line.partition(" ")
    words = rest.split()
    if verb != "run" or not words or words[0].removeprefix("/bin/") not in wanted:
        return line
    return f"selftest {rest}"


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

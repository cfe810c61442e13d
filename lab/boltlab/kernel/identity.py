# SPDX-License-Identifier: GPL-2.0-only
"""Checks what law 1 of Documentation/core-api/bolt.rst says of kernels without CONFIG_BOLT.

By this law, without CONFIG_BOLT hooked files compile to the code of the kernel without Bolt. The
kernel without Bolt is the pristine kernel with the hooks and overlay files that prepare the
kernel for Bolt: those of commits that have ``refactor = true`` in series.toml. These hooks do not
name Bolt, and may change the code. This check does not cover these hooks: section Preparation of
kernel/README.md says what those called ``0000-*`` change, and which test, if any, shows the change.
(The one hook of other name, ``0003-cpuhp-header``, moves types into a header.)

For each hooked file, the objects of two kernels are compared: of the kernel without Bolt, and of
the kernel with all hooks, but without CONFIG_BOLT. All executable sections of the two objects are
disassembled with their relocations, and must be the same line by line, addresses included. Two
differences are allowed, which added source lines cause in code that is the same:

- numbers that GCC appends to local symbols (``__already_done.12``), or __UNIQUE_ID() to names;
- an immediate that is the number of a source line (``__LINE__`` passed to a function): in one
  object the line's number in the file without Bolt, in the other object the number that exactly
  this line has in the hooked file.

Line tables of WARN and BUG are in data sections (__bug_table), which are not compared. In the code
nothing else may differ: sizes, order, registers, string offsets, symbols. A file that only
preparing hooks touch has the same text in both kernels, and is not compared. A header has no
object: the hooked files that include the header cover the header.
"""

import itertools
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.kernel import build, hooks, series
from boltlab.kernel.make import make
from boltlab.kernel.source import Source

SAME, DIFFERENT, REFACTORED, NOT_BUILT, HEADER = (
    "identical",
    "different",
    "refactor",
    "not built",
    "header",
)

_UNIQUE = re.compile(r"(__UNIQUE_ID_\w+?)\d+(?=[.+>])")
_LOCAL = re.compile(r"(?<=[A-Za-z_])\.\d+\b")
_IMMEDIATE = re.compile(r"[$#](0x[0-9a-f]+|\d+)\b")
_COMMENT = re.compile(r"\s+(//|;) .*$")  # dropped: on arm64 these repeat immediates in another base


@dataclass(frozen=True)
class Verdict:
    """The result for one hooked file."""

    file: str
    verdict: str  # SAME, or another of the constants above
    detail: str = ""  # if DIFFERENT: the object, and its first line that differs


def check(arch: Arch, source: Source, jobs: int = 1) -> list[Verdict]:
    """Build the objects of the two kernels, and return a verdict for every hooked file.

    Raises BoltError when an object does not build, but not when files differ.
    """
    patches = hooks.load(source.version.hooks)
    refactors = series.refactors(source.version.hooks)
    files: dict[str, bool] = {}  # file -> whether refactors alone touch the file
    for hook in patches:
        for name in hook.files:
            files[name] = files.get(name, True) and hook.name in refactors
    with build.built_tree(arch, "pristine", source, jobs) as pristine:
        objects = {name: objects_of(name, pristine) for name in files}
    wanted = sorted({path for name in files if not files[name] for path in objects[name]})
    with (
        _objects(arch, "refactored", source, wanted, jobs) as base,
        _objects(arch, "off", source, wanted, jobs) as off,
    ):
        return [
            _verdict(arch, name, objects[name], refactor, base, off)
            for name, refactor in files.items()
        ]


@contextmanager
def _objects(
    arch: Arch, flavour: str, source: Source, wanted: list[str], jobs: int
) -> Iterator[Path]:
    """Yield the tree of ``flavour``, locked, with the objects ``wanted`` up to date."""
    with build.prepared(arch, flavour, source, jobs) as ready:
        if wanted:
            make(
                ready.path,
                arch,
                wanted,
                ready.log,
                title=f"building {len(wanted)} {arch.name} objects of the {flavour} kernel",
                jobs=jobs,
                steps=len(wanted) + 20,
                lock_fd=ready.lock_fd,
            )
        yield ready.path


def objects_of(name: str, pristine: Path) -> list[str]:
    """Return the objects that hold the code of the source file ``name``, if there are any.

    These are the file's own object in the built tree ``pristine``, or, if the file has none as in
    kernel/sched, objects of files in the same folder that include the file.
    """
    if not name.endswith((".c", ".S")):
        return []
    own = name.rsplit(".", 1)[0] + ".o"
    if (pristine / own).is_file():
        return [own]
    records = (pristine / name).parent.glob(".*.o.cmd")
    # make's .cmd files list from which files each object was made, one file a line.
    users = [path for path in records if f" {name} " in path.read_text(encoding="utf-8")]
    found = [path.with_name(path.name[1:].removesuffix(".cmd")) for path in users]
    return sorted(path.relative_to(pristine).as_posix() for path in found)


def _verdict(
    arch: Arch, name: str, objects: list[str], refactor: bool, base: Path, off: Path
) -> Verdict:
    if refactor:
        return Verdict(name, REFACTORED)
    if not objects:
        # A hooked Kconfig file or Makefile has no object either, and counts as not built.
        return Verdict(name, HEADER if name.endswith(".h") else NOT_BUILT)
    lines = hooks.line_map((base / name).read_bytes(), (off / name).read_bytes())
    for path in objects:
        ours = disassemble(arch, off / path)
        if found := difference(disassemble(arch, base / path), ours, lines):
            return Verdict(name, DIFFERENT, f"{path}: {found}")
    return Verdict(name, SAME)


def disassemble(arch: Arch, path: Path) -> list[str]:
    """Return the code of the object ``path`` as lines.

    Raises BoltError when objdump cannot read the object.
    """
    tool = f"{arch.cross_compile}objdump"
    done = subprocess.run(
        [tool, "-dr", "--no-show-raw-insn", path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BoltError(f"{tool} cannot read {path}: {done.stderr.strip()}")
    return list(normalise(done.stdout))


def normalise(text: str) -> Iterator[str]:
    """Yield the lines of code in objdump's output, with N for each number appended to a name."""
    for line in text.splitlines():
        if line.strip() and "file format" not in line:
            line = _UNIQUE.sub(r"\1N", _COMMENT.sub("", line.rstrip()))
            yield _LOCAL.sub(".N", line)


def difference(base: list[str], off: list[str], lines: Mapping[int, int]) -> str:
    """Return the first difference of two disassemblies as text, empty if there is none.

    ``lines`` maps line numbers of the file without Bolt to line numbers of the hooked file.
    """
    section = "no section"
    for one, other in itertools.zip_longest(base, off, fillvalue="(nothing)"):
        if one.startswith("Disassembly of section"):
            section = one.removeprefix("Disassembly of section").strip(" :")
        if one != other and not _moved_lines(one, other, lines):
            return f"{section}: '{' '.join(one.split())}' became '{' '.join(other.split())}'"
    return ""


def _moved_lines(one: str, other: str, lines: Mapping[int, int]) -> bool:
    """Tell whether two instructions differ only in line numbers that correspond by ``lines``."""
    if _IMMEDIATE.sub("", one) != _IMMEDIATE.sub("", other):
        return False
    pairs = zip(_IMMEDIATE.findall(one), _IMMEDIATE.findall(other), strict=True)
    return all(a == b or lines.get(int(a, 0)) == int(b, 0) for a, b in pairs)

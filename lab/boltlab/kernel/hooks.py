# SPDX-License-Identifier: GPL-2.0-only
"""Reads the hook patches, and applies them with fuzz 0: each line of context must fit."""

import difflib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from boltlab import packages
from boltlab.errors import BoltError
from boltlab.kernel import series

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$")


@dataclass(frozen=True)
class Hunk:
    """One hunk of a patch; line numbers count from 1."""

    file: str
    start: int  # first line in the old file
    lines: int
    new_start: int
    new_lines: int
    function: str  # the function, as git wrote it behind the second @@
    added: int  # lines that the hunk adds
    removed: int


@dataclass(frozen=True)
class Hook:
    """One patch file."""

    path: Path
    message: str  # the message, which is everything before the first diff
    hunks: tuple[Hunk, ...]
    text: str = ""  # the whole file

    @property
    def name(self) -> str:
        """File name of the patch."""
        return self.path.name

    @property
    def files(self) -> list[str]:
        """Kernel files that the patch touches, in the order of its diffs."""
        return list(dict.fromkeys(hunk.file for hunk in self.hunks))

    def changes(self) -> Iterator[tuple[str, str]]:
        """Yield the lines that each hunk removes and, apart from these, the lines that it adds.

        The first part of each pair is the name of the hunk's file. The signs "-" and "+" at the
        beginning of lines are left out.
        """
        diffs = self.text[len(self.message) :]
        parts = re.split(r"^@@ .*\n", diffs, flags=re.M)[1:]
        for hunk, part in zip(self.hunks, parts, strict=True):
            # A line that begins with a backslash says that the line before has no newline.
            lines = [line for line in part.split("\n") if not line.startswith("\\")]
            lines = lines[: hunk.lines + hunk.added]
            for sign in "-+":
                yield hunk.file, "".join(f"{each[1:]}\n" for each in lines if each[:1] == sign)


def load(folder: Path) -> list[Hook]:
    """Return the hooks in ``folder`` in the order of series.toml.

    Raises BoltError if a hook is malformed.
    """
    return [parse(folder / name) for name in series.hook_order(folder)]


def parse(path: Path) -> Hook:
    """Read the patch file ``path``; bytes that are no UTF-8 become surrogates.

    Raises BoltError if ``path`` is no git diff, has no hunk, or has a hunk that is cut short, or if
    a hunk is of a file that the diff adds, removes or renames.
    """
    return parse_text(path, path.read_text(encoding="utf-8", errors="surrogateescape"))


def parse_text(path: Path, text: str) -> Hook:
    """Read ``text`` as the patch called ``path``. Raises BoltError as parse() does."""
    start = re.search(r"^diff --git ", text, re.M)
    if not start:
        raise BoltError(f"hook {path.name} has no 'diff --git' line")
    message = text[: start.start()]
    hunks: list[Hunk] = []
    old = file = ""
    lines = iter(text[start.start() :].splitlines())
    for line in lines:
        if line.startswith("--- "):
            old = line[4:].split("\t")[0]
        elif line.startswith("+++ "):
            new = line[4:].split("\t")[0]
            file = new.removeprefix("b/")
            if (before := old.removeprefix("a/")) != file:
                raise BoltError(
                    f"hook {path.name}: {before if new == os.devnull else file} is new or gone: "
                    "a hook changes files that exist, overlay/ adds new files"
                )
        elif match := _HUNK.match(line):
            hunks.append(_hunk(path, file, match, lines))
    if not hunks:
        raise BoltError(f"hook {path.name} has no hunk")
    return Hook(path, message, tuple(hunks), text)


def _hunk(path: Path, file: str, match: re.Match[str], lines: Iterator[str]) -> Hunk:
    start, new_start = int(match[1]), int(match[3])
    old, new = int(match[2] or 1), int(match[4] or 1)
    left_old, left_new, added, removed = old, new, 0, 0
    while left_old > 0 or left_new > 0:
        line = next(lines, None)
        if line is None or (line and line[0] not in " +-\\"):
            raise BoltError(f"hook {path.name}: {file}: the hunk at line {start} is cut short")
        if line.startswith("\\"):
            continue
        added += line.startswith("+")
        removed += line.startswith("-")
        left_old -= not line.startswith("+")
        left_new -= not line.startswith("-")
    return Hunk(file, start, old, new_start, new, match[5].strip(), added, removed)


def apply(hooks: Sequence[Hook], pristine: Path, release: str) -> dict[str, bytes]:
    """Return the contents of all hooked files after ``hooks``, by kernel path.

    ``pristine`` is the kernel source, which is only read. Raises BoltError naming patch, file, hunk
    and ``release`` when a hunk does not apply exactly (offsets are fine, fuzz is not).
    """
    with tempfile.TemporaryDirectory(prefix="bolt-hooks-") as scratch:
        tree = Path(scratch)
        copy_files(hooks, pristine, tree, release)
        for hook in hooks:
            apply_one(hook, tree, release)
        names = dict.fromkeys(name for hook in hooks for name in hook.files)
        return {name: (tree / name).read_bytes() for name in names}


def copy_files(hooks: Sequence[Hook], pristine: Path, tree: Path, release: str) -> None:
    """Copy the files that ``hooks`` touch from ``pristine`` to ``tree``.

    Raises BoltError if a file is absent.
    """
    for hook in hooks:
        for name in hook.files:
            if not (pristine / name).is_file():
                raise BoltError(f"hook {hook.name}: linux {release} has no {name}")
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(pristine / name, tree / name)


def apply_one(hook: Hook, tree: Path, release: str) -> None:
    """Apply ``hook`` to the files in ``tree``. Raises BoltError as apply() does."""
    packages.ensure("patch")
    patch = packages.which("patch") or "patch"
    # patch must ask nothing, and leave no backups or rejects, which a later diff of the tree would
    # contain.
    quiet = ("--batch", "--forward", "--no-backup-if-mismatch")
    done = subprocess.run(
        [patch, "-p1", "--fuzz=0", *quiet, "-r", "-", "-d", str(tree), "-i", str(hook.path)],
        capture_output=True,
        text=True,
        env={"LC_ALL": "C"},
        check=False,
    )
    if done.returncode != 0:
        raise BoltError(_failure(hook, done.stdout + done.stderr, release))


def _failure(hook: Hook, output: str, release: str) -> str:
    """Return patch's output as one line of an error message."""
    file, failed = "", []
    for line in output.splitlines():
        if match := re.match(r"(?:patching|checking) file '?([^']+)'?$", line):
            file = match[1]
        elif match := re.match(r"Hunk #(\d+) (?:FAILED|ignored) at (\d+)", line):
            hunk = [each for each in hook.hunks if each.file == file][int(match[1]) - 1]
            place = f" ({hunk.function})" if hunk.function else ""
            failed.append(f"{file} hunk {match[1]} at line {hunk.start}{place}")
        elif "previously applied" in line or "Ignoring" in line:
            failed.append(f"{file} has the change already")
    what = "; ".join(dict.fromkeys(failed)) or " ".join(output.split())
    return f"hook {hook.name} does not apply to linux {release}: {what}"


def line_map(old: bytes, new: bytes) -> dict[int, int]:
    """Return the line number in ``new`` of each unchanged line of ``old``; both count from 1."""
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return {
        block.a + step + 1: block.b + step + 1
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    }

# SPDX-License-Identifier: GPL-2.0-only
"""Tries hooks on another kernel, without a build: a hook applies, needs a look, or fails.

A hook that needs a look applies, but a person has to see whether the hook is still right.
"""

import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from boltlab import packages
from boltlab.errors import BoltError
from boltlab.kernel import callees
from boltlab.kernel.callees import Change, Index
from boltlab.kernel.hooks import Hook, Hunk

NEAR = 10  # a hunk needs a look if one of the NEAR lines before or after the hunk has changed
_SAID = re.compile(r"^Hunk #(\d+) (succeeded|FAILED|ignored) at (\d+)", re.M)


class State(Enum):
    """Whether a hunk or hook applies, needs a look or fails; the worst last."""

    APPLIES = "applies"
    LOOK = "look"
    FAILS = "fails"


_ORDER = list(State)


@dataclass(frozen=True)
class Place:
    """One hunk, tried on another kernel."""

    hunk: Hunk
    line: int  # the line at which the hunk applies, or would apply
    failed: str = ""  # why the hunk does not apply
    looks: tuple[str, ...] = ()  # what has changed around the hunk
    called: Mapping[str, Change] = field(default_factory=dict)  # changed functions the hunk calls

    @property
    def state(self) -> State:
        """Tell whether the hunk applies, needs a look or fails."""
        if self.failed:
            return State.FAILS
        return State.LOOK if self.looks or self.called else State.APPLIES


@dataclass(frozen=True)
class Verdict:
    """One hook, tried on another kernel."""

    hook: str
    places: tuple[Place, ...]

    @property
    def state(self) -> State:
        """Tell whether the hook applies, needs a look or fails: the worst state of its hunks."""
        return max((place.state for place in self.places), key=_ORDER.index)

    def count(self, state: State) -> int:
        """Return how many of the hook's hunks are in ``state``."""
        return sum(place.state is state for place in self.places)


@dataclass(frozen=True)
class Report:
    """What check() has found out about a kernel."""

    release: str
    reference: str  # the release that the hooks were made for
    verdicts: tuple[Verdict, ...]
    taken: tuple[str, ...]  # overlay files for which the kernel has a file of its own
    # Overlay file -> functions that this file calls, and that are gone or have another prototype.
    overlay: Mapping[str, Mapping[str, Change]]

    @property
    def failed(self) -> bool:
        """Tell whether a hook, or a file of the overlay, cannot be applied to the kernel."""
        return bool(self.taken) or any(each.state is State.FAILS for each in self.verdicts)

    def functions(self) -> dict[tuple[str, Change], list[str]]:
        """Return the changed functions, worst change first, each with the hooks that call it."""
        found: dict[tuple[str, Change], list[str]] = defaultdict(list)
        for verdict in self.verdicts:
            for place in verdict.places:
                for name, change in place.called.items():
                    if verdict.hook not in found[name, change]:
                        found[name, change].append(verdict.hook)
        order = list(Change)
        return dict(sorted(found.items(), key=lambda each: (order.index(each[0][1]), each[0][0])))


def folders(series: Sequence[Hook]) -> list[str]:
    """Return the folders that check() reads: callees.CORE, and other folders of hooked files.

    Of these other folders check() does not read the subfolders.
    """
    beside = {str(Path(name).parent) for hook in series for name in hook.files} - {"."}
    return [*callees.CORE, *sorted(beside)]


def check(
    series: Sequence[Hook],
    overlay: Mapping[str, Path],
    pristine: tuple[Path, str],
    other: tuple[Path, str],
) -> Report:
    """Try ``series`` and the files of ``overlay`` on the kernel ``other`` (tree and release).

    ``pristine`` is the kernel that the hooks were made for. Neither kernel is written to. Raises
    BoltError when a hook does not apply to ``pristine``.
    """
    sources = {
        name: callees.calls(path.read_text(encoding="utf-8"))
        for name, path in overlay.items()
        if name.endswith((".c", ".h")) and not name.startswith("tools/")
    }
    added = {hook.name: _added(hook) for hook in series}
    names = set().union(*sources.values(), *(each for hunks in added.values() for each in hunks))
    beside = folders(series)[len(callees.CORE) :]
    was, now = (callees.index(where, names, beside) for where, _ in (pristine, other))
    with tempfile.TemporaryDirectory(prefix="bolt-check-") as scratch:
        ours, theirs = Path(scratch) / "ours", Path(scratch) / "theirs"
        _copy(series, pristine[0], ours)
        _copy(series, other[0], theirs)
        verdicts = tuple(
            Verdict(
                hook.name,
                tuple(_places(hook, added[hook.name], (ours, theirs), (was, now), pristine[1])),
            )
            for hook in series
        )
    changed = {name: _changed(called, name, (was, now)) for name, called in sources.items()}
    return Report(
        other[1],
        pristine[1],
        verdicts,
        tuple(name for name in overlay if (other[0] / name).exists()),
        {
            name: worse
            for name, found in changed.items()
            if (worse := {each: what for each, what in found.items() if what is not Change.BODY})
        },
    )


def _copy(series: Sequence[Hook], origin: Path, target: Path) -> None:
    target.mkdir()
    for name in {name for hook in series for name in hook.files}:
        if (origin / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origin / name, target / name)


def _added(hook: Hook) -> list[set[str]]:
    """Return, for each hunk of ``hook``, the functions that its added lines call."""
    found: list[list[str]] = []
    for line in hook.text.splitlines():
        if line.startswith("@@ "):
            found.append([])
        elif found and line.startswith("+") and not line.startswith("+++ "):
            found[-1].append(line[1:])
    return [callees.calls("\n".join(lines)) for lines in found]


def _changed(called: set[str], caller: str, indexes: tuple[Index, Index]) -> dict[str, Change]:
    found = {name: callees.change(name, caller, *indexes) for name in sorted(called)}
    return {name: change for name, change in found.items() if change}


def _places(
    hook: Hook,
    added: Sequence[set[str]],
    trees: tuple[Path, Path],
    indexes: tuple[Index, Index],
    release: str,
) -> Iterator[Place]:
    """Apply to both trees as much of ``hook`` as applies, and compare what is around each hunk."""
    for file, section in _sections(hook):
        numbered = [
            (hunk, called)
            for hunk, called in zip(hook.hunks, added, strict=True)
            if hunk.file == file
        ]
        ours = _patch(trees[0], file, section)
        if not ours or any(said != "succeeded" for said, _ in ours.values()):
            raise BoltError(f"hook {hook.name} does not apply to linux {release}: {file}")
        theirs = _patch(trees[1], file, section)
        lines = [
            (each / file).read_text(encoding="utf-8", errors="replace").splitlines()
            if (each / file).is_file()
            else []
            for each in trees
        ]
        for number, (hunk, called) in enumerate(numbered, 1):
            said, line = theirs.get(number, ("absent", hunk.start))
            if said != "succeeded":
                yield Place(hunk, line, failed=_why(said, hunk, lines[1]))
                continue
            looks = _looks(lines, hunk, ours[number][1], line)
            yield Place(hunk, line, "", tuple(looks), _changed(called, file, indexes))


def _sections(hook: Hook) -> Iterator[tuple[str, str]]:
    """Yield the parts of ``hook``, one for each file, in the hook's order."""
    parts = re.split(r"^(?=diff --git )", hook.text, flags=re.M)[1:]
    yield from zip(hook.files, parts, strict=True)


def _patch(where: Path, file: str, section: str) -> dict[int, tuple[str, int]]:
    """Apply ``section`` to ``file``; return for each hunk, by its number, what patch(1) said.

    That is a word (see _SAID), and the line of ``file`` at which patch tried the hunk. The result
    is empty if there is no such file.
    """
    if not (where / file).is_file():
        return {}
    packages.ensure("patch")
    patch = packages.which("patch") or "patch"
    quiet = ("--batch", "--forward", "--no-backup-if-mismatch")
    done = subprocess.run(
        [patch, "-p1", "--fuzz=0", *quiet, "--verbose", "-r", "-", "-d", str(where)],
        input=section.encode(errors="surrogateescape"),
        capture_output=True,
        env={"LC_ALL": "C"},
        check=False,
    )
    said = done.stdout.decode(errors="replace")
    return {int(number): (word, int(line)) for number, word, line in _SAID.findall(said)}


def _why(said: str, hunk: Hunk, lines: Sequence[str]) -> str:
    if said == "absent":
        return "the file is gone"
    if said == "ignored":
        return "the kernel has the change already"
    match = re.search(r"(\w+)\s*\(", hunk.function)
    if match and not any(re.search(rf"\b{match[1]}\b", line) for line in lines):
        return f"{match[1]}() is gone from the file"
    return "the file does not have the lines of the hunk"


def _looks(lines: Sequence[list[str]], hunk: Hunk, ours: int, theirs: int) -> Iterator[str]:
    """Yield what differs around the hunk on the second kernel; both trees have the hunk by now."""
    changed = []
    for side, start, stop in (
        ("before", -1 - NEAR, -1),
        ("after", hunk.new_lines - 1, hunk.new_lines - 1 + NEAR),
    ):
        windows = [
            each[max(0, at + start) : max(0, at + stop)]
            for each, at in zip(lines, (ours, theirs), strict=True)
        ]
        if windows[0] != windows[1]:
            changed.append(side)
    if changed:
        yield f"the {NEAR} lines {' and '.join(changed)} the hunk changed"
    if hunk.file.endswith((".c", ".h")):
        was, now = (
            callees.enclosing(each, at) for each, at in zip(lines, (ours, theirs), strict=True)
        )
        if was != now:
            yield f"the hunk was in {was or 'no function'}, and is in {now or 'none'}"


def to_json(report: Report) -> dict[str, Any]:
    """Return ``report`` as a JSON document."""
    return {
        "schema": 1,
        "kind": "check-hooks",
        "kernel": report.release,
        "reference": report.reference,
        "counts": {
            kind: {state.value: sum(each.state is state for each in of) for state in State}
            for kind, of in (
                ("hooks", report.verdicts),
                ("hunks", [place for each in report.verdicts for place in each.places]),
            )
        },
        "hooks": [
            {
                "hook": verdict.hook,
                "state": verdict.state.value,
                "hunks": [
                    {
                        "file": place.hunk.file,
                        "line": place.line,
                        "moved": place.line - place.hunk.new_start,
                        "function": place.hunk.function,
                        "state": place.state.value,
                        "failed": place.failed,
                        "looks": list(place.looks),
                        "calls": {name: what.value for name, what in place.called.items()},
                    }
                    for place in verdict.places
                ],
            }
            for verdict in report.verdicts
        ],
        "overlay": {
            "taken": list(report.taken),
            "calls": {
                name: {each: what.value for each, what in found.items()}
                for name, found in report.overlay.items()
            },
        },
    }

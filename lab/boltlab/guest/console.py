# SPDX-License-Identifier: GPL-2.0-only
"""Finds the kernel's complaints (WARN, BUG, lockdep, stalls ...), and times, in a guest's log."""

import functools
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from boltlab import paths
from boltlab.errors import BoltError

# A record has before its text: its level ("<4>", in the kernel log only), its time
# ("[    1.234567]") and, if the kernel has PRINTK_CALLER, the context that printed the record
# ("[   T12]").
_TIME = re.compile(r"^(?:<\d+>)?\[ *(\d+)\.(\d{6})\]")
_PREFIX = re.compile(r"^(?:<\d+>)?(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?)?")

# A complaint has many lines, some of which alone would count as a complaint ("Oops", then
# "Call Trace", then "Kernel panic"). Within so many lines after the complaint's first line, lines
# of these three kinds belong to that complaint.
_ONE_COMPLAINT = 120


# For a warning the kernel prints the line _CUT, then the warning's own message if there is one, and
# then the line that begins with "WARNING:". Linux 7.3 prints the line _CUT with a level that
# consoles leave out, except on arm64 for a warning with a message. If a "WARNING:" line of Linux
# 7.3 has no line _CUT before it, the line before "WARNING:" counts as the message.
_CUT = "------------[ cut here ]------------"
_WITHOUT_CUT = re.compile(r"^WARNING: \S+:\d+ at ")
_LONGEST_MESSAGE = 8  # of a warning's own message at most so many lines are kept


@dataclass(frozen=True)
class Splat:
    """One complaint: its first line (number, from 1, and text), its kind, and its own message."""

    line: int
    kind: str
    text: str
    about: tuple[str, ...] = ()

    def fits(self, pattern: re.Pattern[str]) -> bool:
        """Return whether ``pattern`` is in the first line, or in a line of the message."""
        return any(pattern.search(text) for text in (self.text, *self.about))

    def __str__(self) -> str:
        return f"{self.kind} in line {self.line}: {self.text}"


@dataclass(frozen=True)
class _Rules:
    harmless: re.Pattern[str]
    splats: tuple[tuple[str, re.Pattern[str]], ...]

    def kind(self, message: str) -> str | None:
        for kind, pattern in self.splats:
            if pattern.search(message):
                return None if self.harmless.search(message) else kind
        return None


@functools.cache
def _rules() -> _Rules:
    table = tomllib.loads((paths.DATA / "splats.toml").read_text(encoding="utf-8"))
    return _Rules(
        _any_of(table["harmless"]),
        tuple((row["kind"], _any_of(row["patterns"])) for row in table["splat"]),
    )


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def scan(lines: Iterable[str], ignored: Sequence[re.Pattern[str]] = ()) -> list[Splat]:
    """Return the complaints in ``lines`` of a console or kernel log, in order.

    A line that matches a pattern of ``ignored`` is no complaint, and neither is its trace.
    """
    rules = _rules()
    found: list[Splat] = []
    passed_over = -_ONE_COMPLAINT
    about: list[str] | None = None
    before = ""
    for number, raw in enumerate(lines, start=1):
        text = message(raw)
        if text == _CUT:
            about = []
            continue
        if any(pattern.search(text) for pattern in ignored):
            passed_over = number
            continue
        kind = rules.kind(text)
        if kind is None or (kind == "stack trace" and number - passed_over < _ONE_COMPLAINT):
            if about is not None and len(about) < _LONGEST_MESSAGE:
                about.append(text)
            before = text
            continue
        if found and number - found[-1].line < _ONE_COMPLAINT and _continues(kind):
            continue
        if about is None and before and _WITHOUT_CUT.search(text):
            about = [before]
        found.append(Splat(number, kind, text, tuple(about or ())))
        about = None
    return found


def scan_file(path: Path, ignored: Sequence[re.Pattern[str]] = ()) -> list[Splat]:
    """Return the complaints in the log ``path`` as scan() does; none if there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", errors="replace") as file:
        return scan(file, ignored)


def unexpected(splats: Sequence[Splat], expected: Sequence[re.Pattern[str]]) -> list[Splat]:
    """Return complaints that no pattern ``expected`` fits; a pattern allows one complaint only."""
    left = list(expected)
    found = []
    for splat in splats:
        pattern = next((pattern for pattern in left if splat.fits(pattern)), None)
        if pattern is None:
            found.append(splat)
        else:
            left.remove(pattern)
    return found


def message(line: str) -> str:
    """Return the text of the log's ``line``, without level, time and context."""
    return _PREFIX.sub("", line.rstrip("\r\n"))


def moment(line: str) -> float:
    """Return the time, in seconds, at which the kernel wrote ``line``; 0 if the line has none."""
    found = _TIME.match(line)
    return int(found[1]) + int(found[2]) / 1e6 if found else 0.0


def time_of(path: Path, message: str) -> int:
    """Return the time, in ns, at which the kernel first wrote ``message`` to its log ``path``.

    Raises BoltError when the kernel did not write the message.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            found = _TIME.match(line)
            if found and message in line:
                return (int(found[1]) * 1_000_000 + int(found[2])) * 1000
    raise BoltError(f"the guest's kernel did not say '{message}'", path)


def _continues(kind: str) -> bool:
    return kind in ("stack trace", "kernel panic", "Oops")

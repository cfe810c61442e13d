# SPDX-License-Identifier: GPL-2.0-only
"""Reads KCSAN's reports of data races in a guest's log, as kernel/kcsan/report.c prints them."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from boltlab.guest import console

UNKNOWN = "unknown origin"  # in place of a function: KCSAN has seen only one access

_TITLE = re.compile(r"^BUG: KCSAN: (?P<kind>data-race|assert: race) in (?P<functions>.+)$")
_ACCESS = re.compile(
    r"^(?:race at unknown origin, with )?(?P<how>(?:read|write|assert no )[\w (),-]*"
    r" to 0x[0-9a-f]+ of \d+ bytes by (?:task \d+|interrupt) on cpu \d+):$"
)
_FRAME = re.compile(r"^ (?P<place>(?P<name>[\w.$]+)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[[\w-]+\])?)$")
_CHANGE = re.compile(r"^value changed: .+$")
_END = re.compile(r"^={20,}$|^Reported by Kernel Concurrency Sanitizer on:$")
# With CONFIG_PRINTK_CALLER a line says which task or CPU has printed the line.
_CALLER = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\]\[ *([TC]\d+)\]")


@dataclass
class Access:
    """An access of a report: its kind, and its stack, beginning with the function of the access."""

    how: str
    stack: list[str] = field(default_factory=list)

    @property
    def functions(self) -> list[str]:
        """Return the names of the functions in the stack, without suffixes of the compiler."""
        return [plain(place) for place in self.stack]


@dataclass
class Report:
    """One report: its kind, the functions of its title, one or two accesses, the value's change."""

    kind: str
    titles: tuple[str, ...]
    accesses: list[Access] = field(default_factory=list)
    change: str = ""

    def pair(self, helper: Callable[[str], bool] = lambda name: False) -> tuple[str, str]:
        """Return the functions that race, in alphabetical order.

        In place of a function for which ``helper`` returns true, the result has the nearest caller
        for which ``helper`` returns false, if the stack has such a caller. If the log ends too
        early to have the stacks of all functions in the title, the result has the functions of the
        title. If the title has only one function, the other function of the result is UNKNOWN.
        """
        found = [
            next((name for name in access.functions if not helper(name)), access.functions[0])
            for access in self.accesses
            if access.stack
        ]
        if len(found) < len(self.titles):
            found = list(self.titles)
        first, second = sorted([*found, UNKNOWN][:2])
        return first, second


def plain(place: str) -> str:
    """Return the function at ``place``, such as "a.isra.0+0x1/0x2 [m]", without suffixes."""
    return re.split(r"[+ ]", place, maxsplit=1)[0].partition(".")[0]


def read(lines: Iterable[str]) -> list[Report]:
    """Return the reports in ``lines`` of a console or kernel log, in order.

    Lines that another task or CPU prints within a report are left out, if the log says which task
    or CPU has printed a line.
    """
    found: list[Report] = []
    report: Report | None = None
    caller = ""
    for line in lines:
        text = console.message(line)
        if title := _TITLE.match(text):
            names = tuple(plain(name) for name in title["functions"].split(" / "))
            report = Report(title["kind"], names)
            found.append(report)
            caller = _caller(line)
        elif report and _caller(line) == caller:
            report = report if _add(report, text) else None
    return found


def _add(report: Report, text: str) -> bool:
    """Add a line to ``report``; return False if the report has ended."""
    if _END.match(text):
        return False
    if access := _ACCESS.match(text):
        report.accesses.append(Access(access["how"]))
    elif (frame := _FRAME.match(text)) and report.accesses:
        report.accesses[-1].stack.append(frame["place"])
    elif _CHANGE.match(text):
        report.change = text
    return True


def heads(report: Report, frames: int) -> list[str]:
    """Return a text for each access of ``report``, and the line about the value's change, if any.

    The text of an access has its kind, and at most ``frames`` frames of its stack.
    """
    return [
        f"{access.how}: {' < '.join(access.stack[:frames])}"
        + (" < ..." if len(access.stack) > frames else "")
        for access in report.accesses
    ] + [report.change] * bool(report.change)


def _caller(line: str) -> str:
    found = _CALLER.match(line)
    return found[1] if found else ""


def above(functions: Sequence[str], end: Callable[[str], bool]) -> list[str]:
    """Return the ``functions`` of a stack before the first one for which ``end`` returns true."""
    for place, name in enumerate(functions):
        if end(name):
            return list(functions[:place])
    return list(functions)

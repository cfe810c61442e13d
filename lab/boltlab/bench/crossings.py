# SPDX-License-Identifier: GPL-2.0-only
"""Counts how often a request crosses from one source file to another; finds circles of files.

A crossing is a call of a function of another file, or the return from the call, if one of the two
files is Bolt's. The guest traces one offline and one online request of a CPU with the
function_graph tracer, which sees every function of Bolt, the functions of Linux that the hooks
change and that name Bolt or that Bolt calls, and the functions of kernel/cpu.c that Bolt calls.
Functions that the compiler has inlined, and functions of drivers (except drivers/base/) and of perf
events, are not traced, and so calls of these functions do not count.
Each pair of caller and callee counts as one call and one return, however often the request makes
that call, because a reader of the code has to follow the pair once. The caller is the innermost
traced function that is still running in the same task.
"""

import graphlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from boltlab.arch import Arch
from boltlab.bench import breakdown
from boltlab.bench.breakdown import Call
from boltlab.errors import BoltError
from boltlab.guest import qemu
from boltlab.guest.scenario import Scenario
from boltlab.kernel import build, tree
from boltlab.kernel.source import Source

# A function: "static int __init name(...)" and "{", each at the beginning of a line.
_DEFINITION = re.compile(
    r"^(?!return\b|else\b|typedef\b)(?:[\w \t*]+[ \t*\n])?(\w+)"
    r"\((?:[^;{}()]|\([^;{}()]*\))*\)\s*\n\{",
    re.M,
)
_OURS = re.compile(r"(kernel/bolt/|arch/\w+/kernel/bolt)")
_CALL = re.compile(r"\b[a-z_]\w+(?=\()")
_NAME = re.compile(r"\b[a-z_]\w+")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_APART = re.compile(r"^tools/|/tests/|^drivers/(?!base/)|/events/|_pmu")
_MACHINE = "kernel/cpu.c"
_BODY_END = "\n}"
_TREES = {"x86_64": "x86"}
# A variable: "struct cpumask bolt_lost;", "unsigned int bolt_settle_delay_ms = 1000;"
_VARIABLE = re.compile(
    r"^(?!static|extern|return)(?:[\w*]+[ *]+)+?(?!__)(\w+)(?:\[\w*\])?(?: __\w+)*(?: = [^(]*)?;$",
    re.M,
)


@dataclass(frozen=True)
class Crossings:
    """The crossings of one request."""

    direction: str
    entered: Mapping[str, int]  # file -> calls of, and returns to, its functions
    pairs: tuple[tuple[str, str], ...]  # pairs of caller and callee, both as "file: function"

    @property
    def total(self) -> int:
        """The number of calls and returns from one file to another."""
        return sum(self.entered.values())

    @property
    def ours(self) -> list[str]:
        """The files of Bolt among those that the request comes to."""
        return [file for file in self.entered if _OURS.match(file)]


def definitions(text: str) -> dict[str, str]:
    """Return the functions that the C source ``text`` defines, each with its body."""
    found = {}
    for match in _DEFINITION.finditer(text):
        found[match[1]] = text[match.end() : text.find(_BODY_END, match.end())]
    return found


def functions(source: Source, target: str, kernel: Path | None = None) -> dict[str, str]:
    """Return the functions to trace on the architecture ``target``, each with its file.

    ``source`` is the kernel source that the hooks change. ``kernel``: see tree.bolt_files().
    """
    ours: dict[str, str] = {}
    hooked: dict[str, str] = {}
    others: dict[str, str] = {}
    calls: set[str] = set()
    for file, content in tree.bolt_files(source, kernel).items():
        other = re.match(r"arch/(\w+)/", file)
        if not file.endswith(".c") or _APART.search(file):
            continue
        if other and other[1] != _TREES.get(target, target):
            continue
        found = definitions(content.data.decode())
        if _OURS.match(file):
            mine = dict.fromkeys(found, file)
            # A function of the architecture replaces a weak function of the same name.
            ours = {**ours, **mine} if other else {**mine, **ours}
            for body in found.values():
                calls |= set(_CALL.findall(body))
            continue
        pristine = definitions((source.path / file).read_text(encoding="utf-8"))
        for name, body in found.items():
            changed = pristine.get(name) != body
            if (changed and "bolt_" in body) or name.startswith("bolt_"):
                hooked[name] = file
            elif changed or file == _MACHINE:
                others[name] = file
    called = {name: file for name, file in others.items() if name in calls}
    return {**called, **hooked, **ours}


def trace(target: Arch, source: Source, jobs: int) -> list[Crossings]:
    """Boot a guest of the architecture ``target`` and return the crossings of its requests.

    The guest traces the third offline and the third online request of a CPU, because the first
    requests also set up objects that later requests find.
    """
    where = functions(source, target.name)
    names = ",".join(["bolt_*", *sorted(name for name in where if not name.startswith("bolt_"))])
    wanted = Scenario(
        name="crossings",
        description="Traces a pair.",
        commands=(
            "write /sys/devices/system/cpu/bolt/enabled 1",
            f"run /bin/breakdown cpus=1 n=1 warmup=2 functions={names}",
        ),
        timeout=1200,
    )
    kernel = build.ensure_kernel(target, "bolt", source, jobs)
    done = qemu.run(wanted.guest(target, kernel, target.default_setting), "crossings")
    with done.trace.open(encoding="utf-8", errors="replace") as file:
        return count(file, where)


def count(records: Iterable[str], where: Mapping[str, str]) -> list[Crossings]:
    """Return the crossings of each request in a guest's trace; ``where`` is from functions().

    Raises BoltError when the trace is damaged or holds no request.
    """
    found = []
    for request in breakdown.parse(records):
        pairs: dict[tuple[str, str], None] = {}
        tasks = defaultdict(list)
        for call in request.calls:
            if request.start <= call.entry <= request.end and call.function in where:
                tasks[call.task].append(call)
        for calls in tasks.values():
            for caller, callee in _nested(calls, request.end):
                files = {where[caller], where[callee]}
                if len(files) > 1 and any(map(_OURS.match, files)):
                    pairs[caller, callee] = None
        entered = Counter(where[name] for pair in pairs for name in pair)
        found.append(
            Crossings(
                request.direction,
                dict(entered.most_common()),
                tuple((f"{where[a]}: {a}", f"{where[b]}: {b}") for a, b in pairs),
            )
        )
    if not found:
        raise BoltError("the guest's trace holds no request")
    return found


def _nested(calls: Iterable[Call], end: int) -> Iterator[tuple[str, str]]:
    """Yield (caller, callee) for each of the ``calls``, all of one task, that is inside another."""
    running: list[Call] = []
    # Of two calls that begin in the same microsecond, the outer one ends last.
    for call in sorted(calls, key=lambda call: (call.entry, -(call.exit or end))):
        while running and (running[-1].exit or end) < (call.exit or end):
            running.pop()
        if running:
            yield running[-1].function, call.function
        running.append(call)


def uses(overlay: Path) -> dict[str, set[str]]:
    """Return for each C file of Bolt in ``overlay`` the other C files of Bolt that the file uses.

    A file uses another file if its own text names a function or variable of that file. What inline
    functions of headers name does not count, and neither do test files.
    """
    texts = {}
    for path in sorted(overlay.rglob("*.[ch]")):
        file = path.relative_to(overlay).as_posix()
        if _OURS.match(file) and "/tests/" not in file:
            texts[file] = _COMMENT.sub("", path.read_text(encoding="utf-8"))
    owner = {}
    for file, text in texts.items():
        if file.endswith(".c"):
            for name in (*definitions(text), *_VARIABLE.findall(text)):
                if not re.search(rf"^static\b[^;{{(]*\b{name}\b", text, re.M):
                    owner[name] = file
    return {
        file: {owner[name] for name in _NAME.findall(text) if name in owner} - {file}
        for file, text in texts.items()
        if file.endswith(".c")
    }


def circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a circle of files in ``graph``, or an empty list if there is no circle.

    Each file is used by the next file. The first file of the circle is named again at the end.
    """
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []

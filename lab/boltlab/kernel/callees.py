# SPDX-License-Identifier: GPL-2.0-only
"""Finds which functions a piece of C calls, and how their definitions differ in two kernels.

The C is read as text, without a compiler. So a name that a macro pastes together is not found. A
function that is not found in the kernel that the hooks were made for, such as a function that the
hooks themselves add, counts as unchanged.
"""

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

# Folders whose functions are called from all over the kernel. index() reads their subfolders as
# well, except those with a name in SKIPPED.
CORE = ("arch/arm64", "arch/x86", "block", "include", "init", "kernel", "lib", "mm")
SKIPPED = {"boot", "dt-bindings", "dts", "selftests", "tests"}

_STORAGE = r"static|extern|inline|noinline|asmlinkage|__\w+|notrace|noinstr"
_START = re.compile(
    r"^(?:#[ \t]*define[ \t]+(?P<macro>\w+)\("
    r"|(?P<type>[A-Za-z_][\w \t*]*?[ \t*])??(?P<name>\w+)[ \t]*\()",
    re.M,
)
# Words in a definition that make no difference to callers. (__init does make a difference, and
# noinstr to callers that are noinstr themselves.)
_INLINED = re.compile(
    r"\b(?:extern|inline|__always_inline|__inline|noinline|notrace|__cold|__maybe_unused)\b"
)
_TYPE_LINE = re.compile(r"^[A-Za-z_][\w \t*]*$")
_TAIL = re.compile(r"[^;{}#=]{0,200}?([;{])")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.S)
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
_CALL = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)[ \t]*\(")
_KEYWORDS = "if while for switch return sizeof typeof defined"
_TYPES = "void bool char short int long unsigned"  # as in pointers to functions: void (*name)(int)
_WORDS = frozenset(f"{_KEYWORDS} {_TYPES}".split())


class Change(Enum):
    """How a function has changed; the worst change first."""

    GONE = "gone"
    PROTOTYPE = "prototype changed"
    BODY = "definition changed"


@dataclass(frozen=True)
class Definition:
    """One definition or declaration of a function, or one definition of a macro with arguments."""

    file: str
    static: bool
    prototype: bool  # whether this is a declaration only
    # The text up to the end of the parameters, without comments, superfluous blanks and, in a
    # function, words of _INLINED.
    signature: str
    body: str

    @property
    def header(self) -> bool:
        """Tell whether the definition is in a header."""
        return self.file.endswith(".h")


Index = dict[str, list[Definition]]


def calls(text: str) -> set[str]:
    """Return the names before parentheses in the C ``text``, a part of a file.

    Left out are _WORDS, names in comments or strings, and names directly behind "." or "->". The
    name of a type that is not in _WORDS is returned if it stands before a pointer to a function.
    """
    bare = _STRING.sub('""', _COMMENT.sub(" ", text))
    # A hunk may begin inside a comment, so that _COMMENT does not match the rest of the comment.
    # Each line of this rest begins with a star: lines with a star and a blank are removed.
    bare = re.sub(r"^[ \t]*\*(?:[ \t/].*)?$", "", bare, flags=re.M)
    return set(_CALL.findall(bare)) - _WORDS


def index(tree: Path, names: Collection[str], folders: Iterable[str]) -> Index:
    """Return the definitions of ``names`` in C files below CORE, and directly in ``folders``.

    Folders that SKIPPED names are left out below CORE.
    """
    found: Index = defaultdict(list)
    for path in _files(tree, folders):
        text = path.read_text(encoding="utf-8", errors="replace")
        file = path.relative_to(tree).as_posix()
        for name, definition in _definitions(text, file, names):
            found[name].append(definition)
    return found


def _files(tree: Path, folders: Iterable[str]) -> Iterator[Path]:
    seen = set()
    for core in CORE:
        for place, below, names in os.walk(tree / core):
            folder = Path(place)
            below[:] = [name for name in below if name not in SKIPPED]
            seen.add(folder)
            yield from (folder / name for name in names if name.endswith((".c", ".h")))
    for other in sorted({tree / folder for folder in folders} - seen):
        yield from sorted(path for path in other.glob("*.[ch]"))


def _definitions(text: str, file: str, names: Collection[str]) -> Iterator[tuple[str, Definition]]:
    for match in _START.finditer(text):
        name = match["macro"] or match["name"]
        if name not in names:
            continue
        if match["macro"]:
            yield name, _macro(text, file, match)
        elif definition := _function(text, file, match):
            yield name, definition


def _macro(text: str, file: str, match: re.Match[str]) -> Definition:
    end = match.end()
    while (stop := text.find("\n", end)) >= 0 and text[stop - 1] == "\\":
        end = stop + 1
    whole = text[match.start() : stop if stop >= 0 else len(text)].replace("\\\n", " ")
    head, _, body = whole.partition(")")
    # A macro counts as static, because other files can use a macro only if it is in a header.
    return Definition(file, True, False, _squeeze(f"{head})"), _squeeze(body))


def _function(text: str, file: str, match: re.Match[str]) -> Definition | None:
    start, kind = match.start(), match["type"] or ""
    if text[max(0, start - 2) : start].endswith("\\\n"):
        return None  # This is a line of a macro that defines functions.
    if not kind:
        # The function's type may stand on the line before its name.
        before = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]
        if not _TYPE_LINE.match(before):
            return None
        start, kind = start - 1 - len(before), before
    if not re.sub(rf"\b(?:{_STORAGE})\b", "", kind).strip() or kind.split()[0] in (
        "return",
        "else",
    ):
        return None
    closed = _close(text, match.end())
    tail = _TAIL.match(text, closed) if closed else None
    if not tail:
        return None
    signature = _squeeze(_INLINED.sub("", text[start:closed]))
    static = bool(re.match(r"static\b", signature))
    if tail[1] == ";":
        return Definition(file, static, True, signature, "")
    line = text.find("\n", tail.end())
    same = text[tail.end() : line if line >= 0 else len(text)]
    if same.rstrip().endswith("}"):
        body = same
    else:
        stop = text.find("\n}", tail.end())
        body = text[tail.end() : stop if stop >= 0 else len(text)]
    return Definition(file, static, False, signature, _squeeze(body))


def _close(text: str, start: int) -> int:
    """Return the index behind the parenthesis that closes the one opened before ``start``.

    Returns 0 if none of the next 2,000 characters closes it.
    """
    depth = 1
    for match in re.compile(r"[()]").finditer(text, start, start + 2000):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return 0


def _squeeze(text: str) -> str:
    bare = re.sub(r"\s+", " ", _COMMENT.sub(" ", text)).strip()
    return re.sub(r" ?([^\w\s\"']) ?", r"\1", bare)


def change(name: str, caller: str, was: Index, now: Index) -> Change | None:
    """Return how the function ``name`` that the file ``caller`` calls has changed, or None.

    ``was`` is the index of the kernel that the hooks were made for, and ``now`` is the index of
    another kernel. The result is None if the function has not changed, or if ``was`` has no
    definition or declaration of the function that ``caller`` can use.
    """
    before, after = (_visible(name, caller, each) for each in (was, now))
    if not before:
        return None
    if not after:
        return Change.GONE
    both = {each.file for each in before} & {each.file for each in after}
    pairs = [
        (
            [each for each in before if each.file == file],
            [each for each in after if each.file == file],
        )
        for file in both
    ]
    # A definition that moved to another file is compared as well. If only one of the kernels has
    # definitions in further files, these count as variants for other configurations, which make no
    # difference to the callers.
    left = [each for each in before if each.file not in both]
    came = [each for each in after if each.file not in both]
    pairs += [(left, came)] if left and came else []
    for change, key in (
        (Change.PROTOTYPE, lambda each: each.signature),
        (Change.BODY, lambda each: (each.signature, each.body)),
    ):
        if any(set(map(key, was_here)) - set(map(key, is_here)) for was_here, is_here in pairs):
            return change
    return None


def _visible(name: str, caller: str, found: Index) -> list[Definition]:
    """Return definitions of ``name`` in the file ``caller``, or else those that this file can use.

    Declarations count only if the file can use no definition.
    """
    known = found.get(name, [])
    own = [each for each in known if each.file == caller and not each.prototype]
    if own:
        return own
    seen = [each for each in known if _reaches(each, caller)]
    return [each for each in seen if not each.prototype] or seen


def _reaches(definition: Definition, caller: str) -> bool:
    file = definition.file
    ours, theirs = _arch(caller), _arch(file)
    if theirs and ours and ours != theirs:
        return False
    if not definition.header:
        return not definition.static and not definition.prototype
    if re.match(r"(?:arch/\w+/)?include/", file):
        return True
    # Any other header is for files in the folder of the header, and below.
    return caller.startswith(file[: file.rfind("/") + 1])


def _arch(file: str) -> str:
    return file.split("/")[1] if file.startswith("arch/") else ""


def enclosing(lines: list[str], line: int) -> str:
    """Return the name of the function that ``line`` is in; the first line has number 1.

    This is the last function that begins before ``line`` or on it. If the last block that begins
    there is no function but, for instance, a structure, the block's first line is returned. If no
    block begins before ``line`` or on it, "" is returned.
    """
    for text in reversed(lines[:line]):
        if re.match(r"[A-Za-z_$]", text) and not re.match(r"\w+:\s*(?:/\*.*)?$", text):
            match = re.search(r"(\w+)\s*\(", text)
            return match[1] if match else text.strip()
    return ""

# SPDX-License-Identifier: GPL-2.0-only
"""Cuts out of overlay files what later commits of the series add.

The overlay has each file as it is after the last commit. An earlier commit may leave out pieces of
a file, which a later commit then adds: whole statements, rows of a table, declarations, functions,
preprocessor lines and blocks, sections of a Kconfig file. In each commit a Makefile of the overlay
names only the objects and directories that are there by then.
"""

import re
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from boltlab.errors import BoltError

_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
# A block with one statement only, which is on one line; the block's braces are removed. A branch
# of an if does not match if the if has another branch in braces.
_BRACES = re.compile(r"^((?!\t*\}).*\)) \{(\n\t+[^\n{};]*;)\n\t+\}(?=\n)", re.MULTILINE)
_WORD = re.compile(r"(?<![\w/.$({-])([\w-]+)(\.o|/)?(?=\s|$)")


def without(name: str, text: str, anchors: Sequence[str]) -> str:
    """Return ``text`` of the file ``name`` without the pieces that contain one of ``anchors``.

    An anchor that begins with ``^`` removes the whole block in which the piece stands: a loop, an
    if or a row of a table, with the braces; ``^^`` removes the block around that block, and so on.
    Raises BoltError when an anchor is nowhere in the code (C comments do not count as code), or
    when no begin or no end of a piece is found.
    """
    lines = text.splitlines()
    code = _code(name, lines)
    gone: set[int] = set()
    for anchor in anchors:
        wanted = anchor.lstrip("^")
        found = [number for number, line in enumerate(code) if wanted in line]
        if not found:
            raise BoltError(
                f"series.toml: 'adds' of a later commit names the text '{wanted}', "
                f"which is nowhere in the code of {name}"
            )
        for number in found:
            if number in gone:
                continue
            gone.update(range(*_pieces(name, lines, code, number, len(anchor) - len(wanted))))
    rest = "".join(f"{line}\n" for line in _tidy(lines, gone))
    return _BRACES.sub(r"\1\2", rest) if gone and name.endswith(".c") else rest


def makefile(name: str, text: str, missing: Collection[str]) -> str:
    """Return ``text`` of the Makefile ``name`` without the words for the files in ``missing``.

    ``missing`` has kernel paths of source files, and of directories with a slash at the end.
    """
    folder = PurePosixPath(name).parent

    def word(match: re.Match[str]) -> str:
        stem, end = match[1], match[2] or ""
        paths = [f"{folder / stem}/"] if end == "/" else [f"{folder / stem}.c"]
        if end == ".o":
            paths.append(f"{folder / stem}.S")
        return "" if any(path in missing for path in paths) else match[0]

    kept: list[str] = []
    for rule in re.split(r"(?<!\\)\n", text):
        head, sign, words = re.match(r"([^\n]*?)([:+]?=|$)(.*)", rule, re.S).groups()  # type: ignore[union-attr]
        if not sign or rule.startswith("#"):
            kept.append(rule)
            continue
        rest = _WORD.sub(word, words)
        if rest == words:
            kept.append(rule)
            continue
        folded = [" ".join(line.rstrip("\\").split()) for line in rest.split("\n")]
        folded = [line for line in folded if line]
        if folded:
            column = len(head) + len(sign) + 1
            indent = "\t" * (column // 8) + " " * (column % 8)
            kept.append(f"{head}{sign} " + f" \\\n{indent}".join(folded))
    return "\n".join(kept)


def _code(name: str, lines: Sequence[str]) -> list[str]:
    """Return ``lines`` with comments from /* to */ blanked, if the file is C."""
    if not name.endswith((".c", ".h")):
        return list(lines)
    out, inside = [], False
    for line in lines:
        text = line
        if inside:
            end = text.find("*/")
            inside = end < 0
            text = "" if inside else " " * (end + 2) + text[end + 2 :]
        while (begin := _comment(text)) >= 0:
            end = text.find("*/", begin + 2)
            inside = end < 0
            rest = "" if inside else " " * (end + 2 - begin) + text[end + 2 :]
            text = text[:begin] + rest
        out.append(text)
    return out


def _comment(text: str) -> int:
    """Return where a comment begins in ``text``, outside of strings, or -1."""
    return _STRING.sub(lambda match: "x" * len(match[0]), text).find("/*")


def _piece(name: str, lines: Sequence[str], code: Sequence[str], number: int) -> tuple[int, int]:
    """Return the first line of the piece with the line ``number``, and the line behind its end."""
    if name.endswith("Kconfig"):
        return _section(lines, number)
    if not name.endswith((".c", ".h")):
        return number, number + 1
    if code[number].startswith("#"):
        begin, end = _directive(code, number)
    else:
        begin = _begin(code, number)
        end = _end(name, code, begin)
        if end <= number:
            raise BoltError(f"{name}: cannot tell what '{lines[number].strip()}' is a part of")
    return _with_comment(lines, code, begin), end


def _pieces(
    name: str, lines: Sequence[str], code: Sequence[str], number: int, blocks: int
) -> tuple[int, int]:
    """Return begin and end of the piece with the line ``number``, or of the block around it.

    ``blocks`` says how many blocks to go outwards; 0 means the piece itself.
    """
    try:
        begin, end = _piece(name, lines, code, number)
    except BoltError:
        if not blocks:
            raise
        # The line is the last element of a row: no comma says where this element ends.
        begin, end = number, number + 1
    for _ in range(blocks):
        begin, end = _piece(name, lines, code, _opener(code, begin))
    return begin, end


def _opener(code: Sequence[str], number: int) -> int:
    """Return the line that opens the block with the line ``number``."""
    depth = len(code[number]) - len(code[number].lstrip())
    while number and (
        not code[number].strip() or len(code[number]) - len(code[number].lstrip()) >= depth
    ):
        number -= 1
    return number


def _section(lines: Sequence[str], number: int) -> tuple[int, int]:
    while number and not re.match(r"\w", lines[number]):
        number -= 1
    end = number + 1
    while end < len(lines) and not re.match(r"[\w#]", lines[end]):
        end += 1
    return number, end


def _directive(code: Sequence[str], number: int) -> tuple[int, int]:
    end, depth = number, 0
    while True:
        while code[end].endswith("\\"):
            end += 1
        if re.match(r"#\s*if", code[end]):
            depth += 1
        elif re.match(r"#\s*endif", code[end]):
            depth -= 1
        end += 1
        if depth <= 0 or end == len(code):
            return number, end


def _begin(code: Sequence[str], number: int) -> int:
    """Return the line on which the statement with the line ``number`` begins."""
    while number:
        before = next((line for line in reversed(code[:number]) if line.strip()), "")
        if code[number - 1].strip() == "" or re.search(r"([;{}:,]|\*/)\s*$", before):
            # A comma ends a row of a table; within parentheses the statement goes on after a comma.
            if not before.rstrip().endswith(",") or _balance(code, number) == 0:
                return number
        elif before.startswith("#"):
            return number
        number -= 1
    return number


def _balance(code: Sequence[str], number: int) -> int:
    """Return how many parentheses are open before the line ``number``."""
    text = "\n".join(_STRING.sub('""', line) for line in code[:number])
    return text.count("(") - text.count(")")


def _end(name: str, code: Sequence[str], begin: int) -> int:
    """Return the line behind the statement, row or function that begins on line ``begin``."""
    depth = 0
    for number in range(begin, len(code)):
        line = _STRING.sub('""', code[number])
        for place, char in enumerate(line):
            if char in "([{":
                depth += 1
            elif char in ")]}":
                depth -= 1
                if char == "}" and depth == 0:
                    rest = line[place + 1 :].strip()
                    if rest.startswith("else"):
                        continue
                    if rest in ("", ";", ","):
                        return number + 1
            elif char in ";," and depth == 0 and not line[place + 1 :].strip():
                return number + 1
        if depth < 0:
            break
    raise BoltError(f"{name}: the piece that begins with '{code[begin].strip()}' has no end")


def _with_comment(lines: Sequence[str], code: Sequence[str], begin: int) -> int:
    """Return where the comment directly above line ``begin`` begins; ``begin`` if there is none."""
    while begin and lines[begin - 1].strip() and not code[begin - 1].strip():
        begin -= 1
    return begin


def _tidy(lines: Sequence[str], gone: Collection[int]) -> list[str]:
    """Return ``lines`` without those in ``gone``, and without blank lines that are left over."""
    out: list[str] = []
    cut = False
    for number, line in enumerate(lines):
        if number in gone:
            cut = True
            continue
        before = out[-1].strip() if out else ""
        if cut and not line.strip() and (not before or before.endswith("{")):
            continue
        if cut and line.strip() == "}" and not before and out:
            out.pop()
        if line.strip():
            cut = False
        out.append(line)
    while out and not out[-1].strip():
        out.pop()
    return out

# SPDX-License-Identifier: GPL-2.0-only
"""Draws sentences of the repository at random, so that readers can mark what is not understood.

    python3 lab/tests/lint/sentences.py SEED [NUMBER]

prints NUMBER (200) sentences of comments, docstrings, messages, manual pages and documents, each
with its file and line. One SEED draws the same sentences of one commit again. Files in results/ are
left out.
"""

import argparse
import ast
import io
import random
import re
import subprocess
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]
SHORTEST = 4  # words of a sentence
# A cell of a table, or a string, of at most so many words is taken for a name or a figure.
CELL = 6
_BULLET = re.compile(r"^([*-]|\d+\.) ")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(*])")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)

Block = tuple[int, str]  # number of the first line, and text, of a paragraph


class _Blocks:
    """Paragraphs, put together from lines."""

    def __init__(self) -> None:
        self.found: list[Block] = []
        self._lines: list[str] = []
        self._start = 0

    def add(self, number: int, line: str) -> None:
        if not self._lines:
            self._start = number
        self._lines.append(line)

    def end(self) -> None:
        if self._lines:
            self.found.append((self._start, " ".join(self._lines)))
            self._lines = []


def of_markdown(text: str) -> list[Block]:
    """Return paragraphs, items of lists, and long cells of tables."""
    blocks, code = _Blocks(), False
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if words.startswith("```"):
            code = not code
            blocks.end()
        elif code:
            continue
        elif not words or words.startswith(("#", "|", "<!--")):
            blocks.end()
            cells = words.strip("|").split("|") if words.startswith("|") else []
            blocks.found += [(number, cell.strip()) for cell in cells if len(cell.split()) > CELL]
        else:
            if bullet := _BULLET.match(words):
                blocks.end()
                words = words[bullet.end() :]
            blocks.add(number, words)
    blocks.end()
    return blocks.found


def of_c(text: str) -> list[Block]:
    """Return the paragraphs of comments."""
    blocks = _Blocks()
    for match in _COMMENT.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        body = re.sub(r"^/\*+|\*/$|^//", "", match[0])
        for number, line in enumerate(body.split("\n"), first):
            words = re.sub(r"^\s*\*?\s?", "", line).strip()
            if words:
                blocks.add(number, words)
            else:
                blocks.end()
        blocks.end()
    return blocks.found


def of_python(text: str) -> list[Block]:
    """Return the paragraphs of docstrings, comments, and strings of several words."""
    blocks = _Blocks()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            for part in (ast.get_docstring(node) or "").split("\n\n"):
                if part:
                    blocks.found.append((node.body[0].lineno, " ".join(part.split())))
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and len(node.value.split()) > CELL
        ):
            blocks.found.append((node.lineno, " ".join(node.value.split())))
    last = -2
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1:
                blocks.end()
            last = token.start[0]
            blocks.add(last, token.string.lstrip("# "))
    blocks.end()
    return list(dict.fromkeys(blocks.found))


def of_lines(text: str) -> list[Block]:
    """Return comments after "#", and strings of several words."""
    blocks = _Blocks()
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if words.startswith("#") and not words.startswith("#!"):
            blocks.add(number, words.lstrip("# "))
            continue
        blocks.end()
        strings = re.findall(r'"([^"]+)"', words)
        blocks.found += [(number, each) for each in strings if len(each.split()) > CELL]
    blocks.end()
    return blocks.found


# Ends of names -> how prose is found in files with such names.
KINDS: dict[tuple[str, ...], Callable[[str], list[Block]]] = {
    (".md", ".rst", ".scd"): of_markdown,
    (".c", ".h", ".S"): of_c,
    (".py", ".pyi"): of_python,
    (
        ".sh",
        ".toml",
        ".build",
        "Kconfig",
        "Makefile",
        ".yml",
        ".conf",
        ".service",
        "bolt",
    ): of_lines,
}


def sentences(name: str, text: str) -> Iterator[Block]:
    """Yield line and text of each sentence in ``text`` of the file ``name``."""
    for ends, read in KINDS.items():
        if name.endswith(ends):
            for line, block in sorted(read(text)):
                for sentence in _END.split(block):
                    if len(sentence.split()) >= SHORTEST and "SPDX" not in sentence:
                        yield line, sentence
            return


def everything(repo: Path = REPO) -> list[tuple[str, int, str]]:
    """Return file, line and text of all sentences of the committed files of ``repo``."""
    listed = subprocess.run(["git", "ls-files"], cwd=repo, capture_output=True, check=True).stdout
    names = [name for name in listed.decode().split() if not name.startswith("results/")]
    return [
        (name, *found)
        for name in names
        if name.endswith(tuple(end for ends in KINDS for end in ends))
        for found in sentences(name, (repo / name).read_text(encoding="utf-8", errors="replace"))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Print sentences of the repository, drawn at random."
    )
    parser.add_argument("seed", type=int)
    parser.add_argument("number", type=int, nargs="?", default=200)
    args = parser.parse_args()
    drawn = random.Random(args.seed).sample(everything(), args.number)
    for number, (name, line, text) in enumerate(drawn, 1):
        print(f"{number}. [{name}:{line}] {text}")


if __name__ == "__main__":
    main()

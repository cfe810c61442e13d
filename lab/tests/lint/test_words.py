# SPDX-License-Identifier: GPL-2.0-only
"""Users can understand messages and documents without the source, as far as a program can tell."""

import re
from pathlib import Path

import pytest

from boltlab import paths
from boltlab.kernel import hooks
from boltlab.paths import KERNEL
from tests.lint import sentences

OVERLAY = KERNEL / "overlay"
HEADERS = sorted((OVERLAY / "include/linux").glob("*.h"))
DOCUMENTS = sorted(path for path in (OVERLAY / "Documentation").rglob("*") if path.is_file())
CORE = OVERLAY / "Documentation/core-api/bolt.rst"
GLOSSARY = paths.REPO / "docs/glossary.md"

# Words that stand for a task, a CPU or a lock that the sentence does not name.
PRONOUN = re.compile(
    r"\b(it|they|them|he|who|whoever|somebody|nobody|anybody|others)\b", re.IGNORECASE
)
# What a description of a parameter or of a struct's member must not begin with.
VAGUE = re.compile(r"(they|it|its|which|that|who|if so|as above|this|these|those)\b", re.IGNORECASE)
REASON = re.compile(r'\.reason\s*=\s*"([^"]*)"')
ROW = re.compile(r'(?:CRITICAL|OVERLAPS|UNFIT)\("([^"]*)"\)|"([^"\n]*)" \},')
NAMED = re.compile(r'NAMED_\w+\("[^"]*", "[^"]*",(?:\s*\w+,)?\s*"([^"]*)"')
LONGEST = 100  # characters


def reasons() -> list[tuple[str, str]]:
    """Return file and text of each reason in the policy, as bolt/states can show it."""
    found = []
    folders = (OVERLAY, *sorted((KERNEL / "hooks").glob("*/overlay")))
    for path in (each for one in folders for each in sorted((one / "kernel/bolt").rglob("*.[ch]"))):
        if "tests" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        found += [(path.name, reason) for reason in REASON.findall(text)]
        if path.name in ("rows.h", "compat-rows.h"):
            found += [(path.name, one or other) for one, other in ROW.findall(text)]
        found += [(path.name, reason) for reason in NAMED.findall(text)]
    for folder in sorted((KERNEL / "hooks").iterdir()):
        for hook in hooks.load(folder):
            added = "\n".join(
                line[1:]
                for line in hook.path.read_text(encoding="utf-8").splitlines()
                if line.startswith("+")
            )
            found += [(hook.path.name, reason) for reason in REASON.findall(added)]
    return found


def bad(reason: str) -> str:
    """Return what is wrong with ``reason``, or an empty text."""
    if PRONOUN.search(reason):
        return "a pronoun stands for something that is not named"
    if len(reason.split()) < 3:
        return "too short to say why"
    if reason[0].isupper() and not reason.split()[0].isupper() and not reason.startswith("Xen"):
        return "begins like a sentence, but stands in brackets"
    return "ends like a sentence" if reason.endswith(".") else ""


def test_reasons_name_what_they_speak_of() -> None:
    found = reasons()
    assert len(found) > 150
    wrong = [(file, text, bad(text)) for file, text in found if bad(text)]
    assert wrong == []


@pytest.mark.parametrize(
    "reason",
    ["a device", "they are kept", "what it finds of its state", "Keeps a CPU.", "one CPU."],
)
def test_a_bad_reason_is_found(reason: str) -> None:
    assert bad(reason)


def described(text: str) -> list[tuple[str, str]]:
    """Return the parameters and members that kernel-doc comments in ``text`` describe."""
    return re.findall(r"^ \* @([\w.]+):\s+(\S.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_parameters_are_described_by_nouns(header: Path) -> None:
    wrong = [
        (name, text)
        for name, text in described(header.read_text(encoding="utf-8"))
        if VAGUE.match(text)
    ]
    assert wrong == []


def test_a_vague_parameter_is_found() -> None:
    ((name, text),) = described("/**\n * f - does\n * @cpus: they\n */\n")
    assert name == "cpus"
    assert VAGUE.match(text)


def test_laws_are_numbered_once_and_named_by_number() -> None:
    """core-api/bolt.rst has laws 1 to 8; a document that names a law names one of these."""
    text = CORE.read_text(encoding="utf-8")
    laws = text.partition("\nLaws\n====\n")[2]
    numbers = [int(number) for number in re.findall(r"^(\d+)\. \*\*", laws, re.MULTILINE)]
    assert numbers == list(range(1, 9))
    for path in [*(paths.REPO / "docs").glob("*.md"), *paths.REPO.glob("*.md"), *DOCUMENTS]:
        for number in re.findall(r"\b[Ll]aw (\d+)", path.read_text(encoding="utf-8")):
            assert int(number) in numbers, path.name


def test_the_glossary_is_sorted_and_says_each_word_once() -> None:
    text = GLOSSARY.read_text(encoding="utf-8")
    words = [word.lower() for word in re.findall(r"^\*\*([^*]+)\*\*", text, re.MULTILINE)]
    assert words == sorted(set(words))
    assert {"batch", "cancel", "defer", "park", "pending set", "request", "settle"} <= set(words)


def test_readers_get_each_kind_of_prose() -> None:
    """A sample that readers get has sentences of each kind of file, with their lines."""
    texts = {
        "a.md": "# Title\n\nOne two three four. Five\nsix seven eight.\n\n* a b c d\n",
        "a.c": "/*\n * One two three four. Five\n * six seven eight.\n */\nf(); // a b c d\n",
        "a.py": '"""One two three four. Five six seven eight."""\n\n\n\n# a b\n# c d\n',
        "a.toml": "# One two three four. Five\n# six seven eight.\na = 1\n\n# a b c d\n",
    }
    for name, text in texts.items():
        found = list(sentences.sentences(name, text))
        assert [each for _, each in found] == [
            "One two three four.", "Five six seven eight.", "a b c d"
        ], name  # fmt: skip
        assert found[0][0] <= 3 <= found[2][0], name
    assert not list(sentences.sentences("a.json", '{"a": "One two three four five six seven."}'))


def test_nothing_refers_to_texts_that_are_not_here() -> None:
    """No file refers to the authors' design papers, or to "the talk" without saying which talk."""
    absent = re.compile(r"\bDESIGN\.md\b|\breference/[a-z]|\bseeds/|\bissue \d+\b")
    talk = re.compile(r"\bthe talk\b|\bthe talk's\b", re.IGNORECASE)
    source = re.compile(r"Linux Plumbers\s+Conference 2024|docs/boot\.md|\bboot\.md\b")
    here = Path(__file__)
    found = []
    for path in sorted(paths.REPO.rglob("*")):
        kind = path.suffix in {".md", ".rst", ".c", ".h", ".py", ".toml", ".patch", ".txt"}
        if not kind or not path.is_file() or path == here or "/." in path.as_posix():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if absent.search(text) or (talk.search(text) and not source.search(text)):
            found.append(path.relative_to(paths.REPO).as_posix())
    assert found == []

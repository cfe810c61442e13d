# SPDX-License-Identifier: GPL-2.0-only
"""Reads series.toml: the commits of the exported series in order, and their postings.

A commit belongs to one posting. Postings, and the commits of each posting, have the order in which
series.toml lists them. Hooks apply in the order of their commits.
"""

import fnmatch
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boltlab.errors import BoltError

SERIES = "series.toml"
LARGEST = 800  # lines that a commit may add; lines of tests and documentation do not count
ASIDE = ("Documentation/", "tools/testing/", "kernel/bolt/tests/")


@dataclass(frozen=True)
class Posting:
    """A part of the series that is sent by itself, with a cover letter."""

    name: str
    title: str
    cover: str  # file with the text of the cover letter, below the folder of series.toml
    figures: Mapping[str, str] = field(default_factory=dict)  # see boltlab.kernel.letters


@dataclass(frozen=True)
class Commit:
    """One commit of the exported series."""

    subject: str
    body: str = ""
    overlay: tuple[str, ...] = ()  # globs of kernel paths: the overlay files that the commit adds
    hooks: tuple[str, ...] = ()  # names of the hooks that the commit adds
    refactor: bool = False  # prepares the kernel for Bolt without naming Bolt
    posting: str = ""  # name of the posting; a refactor is in the first one by default
    # Overlay file of an earlier commit -> texts. Earlier commits leave out the pieces of the file
    # (see boltlab.kernel.pieces) that contain one of the texts, or, if the text begins with ^, the
    # block around each such piece. This commit adds what was left out.
    adds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Series:
    """The whole series."""

    postings: tuple[Posting, ...]
    commits: tuple[Commit, ...]  # all commits, in the order in which commits apply

    def of(self, posting: Posting) -> list[Commit]:
        """Return the commits of ``posting``, in order."""
        return [commit for commit in self.commits if commit.posting == posting.name]


def load(folder: Path) -> Series:
    """Return the series that ``folder``/series.toml describes.

    Raises BoltError when series.toml cannot be read or is malformed.
    """
    file = folder / SERIES
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        postings = tuple(
            Posting(
                name=row["name"],
                title=row["title"],
                cover=row["cover"],
                figures=dict(row.get("figures", {})),
            )
            for row in document.get("posting", ())
        )
        first = postings[0].name if postings else ""
        commits = [_commit(row, first) for row in document.get("commit", ())]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise BoltError(f"cannot read {file}: {error!r}") from error
    place = {posting.name: number for number, posting in enumerate(postings)}
    return Series(
        postings,
        tuple(sorted(commits, key=lambda commit: place.get(commit.posting, len(postings)))),
    )


def check(series: Series) -> None:
    """Raise BoltError if a commit is in no posting of ``series``, or a posting has no commit."""
    names = [posting.name for posting in series.postings]
    for commit in series.commits:
        if commit.posting not in names:
            raise BoltError(
                f"{SERIES}: the commit '{commit.subject}' needs posting = "
                f"{' or '.join(repr(name) for name in names)}"
            )
    for posting in series.postings:
        if not series.of(posting):
            raise BoltError(f"{SERIES}: the posting '{posting.name}' has no commit")


def _commit(row: Mapping[str, Any], first: str) -> Commit:
    if odd := sorted(set(row) - set(Commit.__dataclass_fields__)):
        raise KeyError(odd[0])
    refactor = row.get("refactor", False)
    return Commit(
        subject=row["subject"],
        body=row.get("body", "").strip(),
        overlay=tuple(row.get("overlay", ())),
        hooks=tuple(row.get("hooks", ())),
        refactor=refactor,
        posting=row.get("posting", first if refactor else ""),
        adds={name: tuple(texts) for name, texts in row.get("adds", {}).items()},
    )


def hook_order(folder: Path) -> list[str]:
    """Return the names of the hooks in ``folder`` in the order in which they apply.

    Hooks that are in no commit come last, by name. If ``folder`` has no series.toml, all hooks are
    in the order of their names. Raises BoltError as load() does.
    """
    found = sorted(path.name for path in folder.glob("*.patch"))
    if not (folder / SERIES).exists():
        return found
    listed = [name for commit in load(folder).commits for name in commit.hooks]
    place = {name: number for number, name in enumerate(listed)}
    return sorted(found, key=lambda name: (place.get(name, len(listed)), name))


def refactors(folder: Path) -> set[str]:
    """Return the names of the hooks of the commits in ``folder``/series.toml that are refactors."""
    return {name for commit in load(folder).commits if commit.refactor for name in commit.hooks}


def assign(
    commits: Sequence[Commit], overlay: Sequence[str], patches: Sequence[str]
) -> list[list[str]]:
    """Return the overlay files of each commit; each file and each hook must be in just one commit.

    ``overlay`` has the kernel paths of all overlay files, ``patches`` the names of all hooks.
    Raises BoltError naming a file or hook that is in no commit or in several, a glob that matches
    nothing, a hook that does not exist, an empty commit, or a file to which a commit adds pieces
    though no earlier commit has the file.
    """
    files: list[list[str]] = []
    for commit in commits:
        mine = []
        for glob in commit.overlay:
            matched = [name for name in overlay if fnmatch.fnmatchcase(name, glob)]
            if not matched:
                raise BoltError(f"{SERIES}: '{glob}' matches no overlay file")
            mine += [name for name in matched if name not in mine]
        if not mine and not commit.hooks and not commit.adds:
            raise BoltError(f"{SERIES}: the commit '{commit.subject}' is empty")
        early = [name for name in commit.adds if not any(name in those for those in files)]
        if early:
            raise BoltError(
                f"{SERIES}: '{commit.subject}' adds to {early[0]}, which no earlier commit has"
            )
        files.append(mine)
    _once("overlay file", Counter(name for mine in files for name in mine), overlay)
    _once("hook", Counter(name for commit in commits for name in commit.hooks), patches)
    return files


def _once(kind: str, counted: Counter[str], wanted: Sequence[str]) -> None:
    wrong = [name for name in wanted if counted[name] != 1]
    if wrong:
        times = "several commits" if counted[wrong[0]] else "no commit"
        same = [name for name in wrong if bool(counted[name]) == bool(counted[wrong[0]])]
        verb = f"s {', '.join(same)} are" if len(same) > 1 else f" {same[0]} is"
        raise BoltError(f"{SERIES}: the {kind}{verb} in {times}")
    unknown = sorted(set(counted) - set(wanted))
    if unknown:
        raise BoltError(f"{SERIES}: there is no {kind} {unknown[0]}")


def is_aside(name: str) -> bool:
    """Tell whether LARGEST ignores the kernel file ``name``, as a test or documentation."""
    return name.startswith(ASIDE)

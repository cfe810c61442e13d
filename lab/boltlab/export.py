# SPDX-License-Identifier: GPL-2.0-only
"""Exports overlay and hooks as a series of patches for ``git am``."""

import fnmatch
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from boltlab import git as gits
from boltlab import hooks, paths, tree, ui
from boltlab.errors import BoltError
from boltlab.git import Git
from boltlab.locks import lock
from boltlab.source import COMPLETE, Source

SERIES = "series.toml"
REPOSITORY_SPACE = 1.0  # GB that the pristine source takes as a git repository


@dataclass(frozen=True)
class Commit:
    """One commit of the exported series."""

    subject: str
    body: str = ""
    overlay: tuple[str, ...] = ()  # globs of kernel paths
    hooks: tuple[str, ...] = ()  # names of patch files
    refactor: bool = False  # prepares for Bolt without naming it: proved by tests and its own merit


def load_series(folder: Path) -> list[Commit]:
    """Return the commits of ``folder``/series.toml in order; BoltError when it is malformed."""
    file = folder / SERIES
    try:
        rows = tomllib.loads(file.read_text(encoding="utf-8"))["commit"]
        return [
            Commit(
                subject=row["subject"],
                body=row.get("body", "").strip(),
                overlay=tuple(row.get("overlay", ())),
                hooks=tuple(row.get("hooks", ())),
                refactor=row.get("refactor", False),
            )
            for row in rows
        ]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise BoltError(f"cannot read {file}: {error!r}") from error


def refactors(folder: Path) -> set[str]:
    """Return the names of the hooks that are refactors."""
    return {name for commit in load_series(folder) if commit.refactor for name in commit.hooks}


def assign(
    commits: Sequence[Commit], overlay: Sequence[str], patches: Sequence[str]
) -> list[list[str]]:
    """Return the overlay files of each commit; every file and patch must be in exactly one.

    Raises BoltError naming what is in none or several, a glob that matches nothing, or a patch
    that does not exist or is out of order.
    """
    files = []
    for commit in commits:
        mine = []
        for glob in commit.overlay:
            matched = [name for name in overlay if fnmatch.fnmatchcase(name, glob)]
            if not matched:
                raise BoltError(f"{SERIES}: '{glob}' matches no overlay file")
            mine += [name for name in matched if name not in mine]
        if not mine and not commit.hooks:
            raise BoltError(f"{SERIES}: the commit '{commit.subject}' is empty")
        files.append(mine)
    _once("overlay file", Counter(name for mine in files for name in mine), overlay)
    order = [name for commit in commits for name in commit.hooks]
    _once("hook", Counter(order), patches)
    if order != sorted(order):
        raise BoltError(f"{SERIES}: the hooks are not in their order")
    return files


def _once(kind: str, counted: Counter[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if counted[name] != 1:
            times = "several commits" if counted[name] else "no commit"
            raise BoltError(f"{SERIES}: the {kind} {name} is in {times}")
    unknown = sorted(set(counted) - set(wanted))
    if unknown:
        raise BoltError(f"{SERIES}: there is no {kind} {unknown[0]}")


def export(source: Source, output: Path, kernel: Path | None = None) -> list[Path]:
    """Write the series for ``source`` to the directory ``output`` as numbered patches.

    ``output`` is made, and must not hold anything but an earlier export. Returns the patches in
    order. Raises BoltError when a file is in no commit or a hook does not apply; ``output`` is
    then as it was.
    """
    folder = source.version.hooks
    overlay = (kernel or paths.KERNEL) / "overlay"
    series = {hook.name: hook for hook in hooks.load(folder)}
    commits = load_series(folder)
    assigned = assign(commits, list(tree.overlay_files(overlay)), list(series))
    _check_output(output)
    author = gits.user()
    with tempfile.TemporaryDirectory(prefix="bolt-export-") as scratch:
        work, patches = Path(scratch) / "tree", Path(scratch) / "patches"
        work.mkdir()
        # The touched files are enough: the diffs are those of the whole tree.
        hooks.copy_files(list(series.values()), source.path, work, source.release)
        git = Git.init(work, Path(scratch) / "git")
        git.commit_all("pristine")
        for commit, files in zip(commits, assigned, strict=True):
            for name in files:
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(overlay / name, work / name)
            for name in commit.hooks:
                hooks.apply_one(series[name], work, source.release)
            git.commit_all(_message(commit, author), author, allow_empty=False)
        git.run(
            *("format-patch", "-q", "-o", str(patches), "--zero-commit", "--no-signature"),
            *("--numbered", "--root", f"HEAD~{len(commits)}..HEAD"),
        )
        output.mkdir(parents=True, exist_ok=True)
        for old in output.glob("*.patch"):
            old.unlink()
        return [
            Path(shutil.copy(patch, output / patch.name)) for patch in sorted(patches.iterdir())
        ]


def _message(commit: Commit, author: tuple[str, str]) -> str:
    text = f"{commit.subject}\n\n{commit.body}\n" if commit.body else f"{commit.subject}\n"
    if "Signed-off-by:" in text:
        return text
    return f"{text}\nSigned-off-by: {author[0]} <{author[1]}>\n"


def _check_output(output: Path) -> None:
    if output.exists() and not output.is_dir():
        raise BoltError(f"{output} is no directory")
    others = [path.name for path in output.glob("*") if path.suffix != ".patch"]
    if others:
        raise BoltError(f"{output} holds other files ({others[0]}): name an empty directory")


def verify(source: Source, patches: Sequence[Path]) -> None:
    """Apply ``patches`` with ``git am`` to the whole pristine source and compare the result.

    Raises BoltError when one does not apply or a file is not what the lab builds.
    """
    expected = tree.bolt_files(source)
    store = _repository(source)
    with tempfile.TemporaryDirectory(prefix="bolt-am-") as scratch:
        work, git_dir = Path(scratch) / "tree", Path(scratch) / "git"
        work.mkdir()
        git = Git.init(work, git_dir)
        alternates = git_dir / "objects" / "info" / "alternates"
        alternates.write_text(f"{store.dir / 'objects'}\n", encoding="utf-8")
        git.run("update-ref", "HEAD", store.run("rev-parse", "HEAD").strip())
        # Only these files are checked out; the index knows the whole kernel.
        git.run("sparse-checkout", "set", "--no-cone", "--stdin", stdin=_sparse(expected))
        git.run("read-tree", "-m", "-u", "HEAD")
        git.run("am", "-q", "--whitespace=error-all", *(str(path.absolute()) for path in patches))
        if git.run("status", "--porcelain"):
            raise BoltError("git am left the tree changed")
        for name, content in expected.items():
            if not (work / name).is_file() or (work / name).read_bytes() != content.data:
                raise BoltError(f"the exported series does not give the {name} that the lab builds")
        changed = git.run("diff", "--name-only", f"HEAD~{len(patches)}", "HEAD").split()
        if odd := sorted(set(changed) ^ set(expected)):
            raise BoltError(f"the exported series and the lab differ in {odd[0]}")


def _sparse(names: object) -> str:
    assert isinstance(names, dict)
    return "".join(f"/{name}\n" for name in names)


def _repository(source: Source) -> Git:
    """Return a repository whose one commit is the pristine source; it stays in the cache."""
    folder = paths.cache() / "git" / f"{source.id}.git"
    with lock(folder):
        if not folder.exists():
            half = folder.with_suffix(".half")
            if half.exists():
                shutil.rmtree(half)
            paths.require_space(folder.parent, REPOSITORY_SPACE, "a git tree of the source")
            with ui.status("making a git tree of the pristine source"):
                git = Git.init(source.path, half)
                (half / "info" / "exclude").write_text(f"/{COMPLETE}\n", encoding="utf-8")
                git.run("add", "--all", "--force", ".", f":!{COMPLETE}")
                git.run("commit", "-q", "--no-verify", "-m", "pristine")
            half.rename(folder)
    return Git(folder, source.path)

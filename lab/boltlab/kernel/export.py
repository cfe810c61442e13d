# SPDX-License-Identifier: GPL-2.0-only
"""Exports overlay and hooks as postings: cover letters and patches for ``git am``."""

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from boltlab import git as gits
from boltlab import packages, paths, ui
from boltlab.errors import BoltError
from boltlab.git import Git
from boltlab.kernel import hooks, letters, pieces, tree
from boltlab.kernel import series as order
from boltlab.kernel.series import Commit, Series
from boltlab.kernel.source import COMPLETE, Source
from boltlab.locks import lock

REPOSITORY_SPACE = 1.0  # GB of disk that the pristine source takes as a git repository
_LETTER = "0000-cover-letter.patch"


@dataclass(frozen=True)
class Plan:
    """What is to be exported: the series, the hooks by name, and the files of the overlay."""

    series: Series
    hooks: dict[str, hooks.Hook]
    files: list[list[str]]  # for each commit: the kernel paths of the overlay files that it adds
    overlay: dict[str, Path]  # kernel path of an overlay file -> its path in this repository


def plan(source: Source, kernel: Path | None = None) -> Plan:
    """Return what there is to export for ``source``.

    ``kernel`` is the repository's kernel/ directory. Raises BoltError when an overlay file or a
    hook is in no commit or in several, or when series.toml has another fault.
    """
    overlay = tree.overlaid(source.version, kernel)
    found = {hook.name: hook for hook in hooks.load(source.version.hooks)}
    series = order.load(source.version.hooks)
    order.check(series)
    files = order.assign(series.commits, list(overlay), list(found))
    return Plan(series, found, files, overlay)


@contextmanager
def scratch_tree(what: Plan, source: Source) -> Iterator[Path]:
    """Yield a directory with the pristine files that the hooks touch, for lay()."""
    with tempfile.TemporaryDirectory(prefix="bolt-export-") as scratch:
        work = Path(scratch) / "tree"
        work.mkdir()
        # The files that the hooks touch suffice: diffs of the whole tree would be the same.
        hooks.copy_files(list(what.hooks.values()), source.path, work, source.release)
        yield work


def lay(what: Plan, source: Source, work: Path) -> Iterator[Commit]:
    """Yield each commit in order, after ``work`` has been given the files as of that commit.

    Raises BoltError when a hook does not apply, or when a commit is to add a piece of a file of the
    overlay that the overlay's file, which is as after the last commit, does not have.
    """
    for number, commit in enumerate(what.series.commits):
        there = [name for mine in what.files[: number + 1] for name in mine]
        missing = _missing([name for mine in what.files[number + 1 :] for name in mine], there)
        for name in there:
            later = [
                anchor
                for other in what.series.commits[number + 1 :]
                for anchor in other.adds.get(name, ())
            ]
            _put(what.overlay[name], work / name, name, later, missing)
        for name in commit.hooks:
            hooks.apply_one(what.hooks[name], work, source.release)
        yield commit


def _missing(files: Sequence[str], there: Sequence[str]) -> set[str]:
    """Return ``files`` and, as ``DIR/``, their directories that have no file of ``there``."""
    folders = {f"{folder}/" for name in files for folder in Path(name).parents}
    return {*files, *folders} - {f"{folder}/" for name in there for folder in Path(name).parents}


def _put(origin: Path, target: Path, name: str, later: Sequence[str], missing: set[str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.name != "Makefile" and not later:
        if not target.exists() or target.read_bytes() != origin.read_bytes():
            shutil.copy(origin, target)
        return
    text = origin.read_text(encoding="utf-8")
    if later:
        text = pieces.without(name, text, later)
    if target.name == "Makefile":
        text = pieces.makefile(name, text, missing)
    target.write_text(text, encoding="utf-8")
    target.chmod(origin.stat().st_mode)


def export(source: Source, output: Path, kernel: Path | None = None) -> list[Path]:
    """Write the series for ``source``, each posting into a directory of its own below ``output``.

    ``output`` is made if it does not exist. An earlier export in ``output`` is replaced, and
    nothing else may be there. Each posting has a cover letter and numbered patches; the patches of
    all postings are returned, in order. Raises BoltError when ``output`` holds something else, a
    file is in no commit, a hook does not apply, a commit is too large or a figure is missing;
    ``output`` then has not been changed.
    """
    what = plan(source, kernel)
    texts = [letters.render(posting, source.version.hooks) for posting in what.series.postings]
    _check_output(output)
    packages.ensure("export")
    author = gits.user()
    with scratch_tree(what, source) as work:
        git = Git.init(work, work.parent / "git")
        git.commit_all("pristine")
        for commit in lay(what, source, work):
            git.commit_all(_message(commit, author), author, allow_empty=False)
        check_sizes(git, what.series)
        patches = _format(git, what.series, texts, work.parent / "patches", author)
        output.mkdir(parents=True, exist_ok=True)
        for old in output.iterdir():
            shutil.rmtree(old)
        shutil.copytree(work.parent / "patches", output, dirs_exist_ok=True)
        return [output / path.relative_to(work.parent / "patches") for path in patches]


def check_sizes(git: Git, series: Series) -> None:
    """Raise BoltError naming the commits of ``series`` that are too large.

    The last commits of ``git`` are those of the series. Lines of tests and documentation are not
    counted, so that the limit keeps no commit from having its own tests and documentation.
    """
    large = []
    for number, commit in enumerate(reversed(series.commits)):
        stat = git.run("show", "--numstat", "--format=", f"HEAD~{number}")
        rows = [line.split("\t") for line in stat.splitlines() if line]
        added = sum(int(row[0]) for row in rows if not order.is_aside(row[2]))
        if added > order.LARGEST:
            large.append(f"'{commit.subject}' {added}")
    if large:
        raise BoltError(
            f"a commit may add {order.LARGEST} lines besides tests and documentation: "
            f"{', '.join(reversed(large))}"
        )


def _format(
    git: Git, series: Series, texts: Sequence[str], target: Path, author: tuple[str, str]
) -> list[Path]:
    """Write the postings below ``target``; return their patches, without the cover letters."""
    patches: list[Path] = []
    left = len(series.commits)
    for number, (posting, text) in enumerate(zip(series.postings, texts, strict=True), 1):
        folder = target / f"{number}-{posting.name}"
        first, left = left, left - len(series.of(posting))
        git.run(
            *("format-patch", "-q", "-o", str(folder), "--zero-commit", "--no-signature"),
            *("--numbered", "--cover-letter", f"HEAD~{first}..HEAD~{left}"),
            author=author,
        )
        letter = folder / _LETTER
        blank = letter.read_text(encoding="utf-8")
        full = blank.replace("*** SUBJECT HERE ***", posting.title)
        full = full.replace("*** BLURB HERE ***", text.strip())
        letter.write_text(full, encoding="utf-8")
        patches += [path for path in sorted(folder.iterdir()) if path.name != _LETTER]
    return patches


def _message(commit: Commit, author: tuple[str, str]) -> str:
    text = f"{commit.subject}\n\n{commit.body}\n" if commit.body else f"{commit.subject}\n"
    if "Signed-off-by:" in text:
        return text
    return f"{text}\nSigned-off-by: {author[0]} <{author[1]}>\n"


def _check_output(output: Path) -> None:
    if output.exists() and not output.is_dir():
        raise BoltError(f"{output} is no directory")
    others = [
        path.name
        for path in output.glob("*")
        if not path.is_dir()
        or not re.match(r"\d-", path.name)
        or any(below.suffix != ".patch" for below in path.iterdir())
    ]
    if others:
        raise BoltError(f"{output} holds other files ({others[0]}): name an empty directory")


def verify(source: Source, patches: Sequence[Path]) -> None:
    """Apply ``patches`` with ``git am`` to the pristine source; compare with what the lab builds.

    Raises BoltError when a patch does not apply, or when the patches and the lab do not change the
    same files in the same way.
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
        # Only the files of the patches are checked out; git's index has the whole kernel.
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
    """Return a repository in the cache whose one commit is the pristine source."""
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

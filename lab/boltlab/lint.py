# SPDX-License-Identifier: GPL-2.0-only
"""Checks the repository's own files and its new commits.

``./bolt lint`` and the tests in lab/tests/lint/test_lint.py run the same checks. Each check returns
a list of complaints, each of them one line.
"""

import fnmatch
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from boltlab import arch, checkpatch, git, layers, packages, paths
from boltlab.errors import USAGE, BoltError

LARGEST = 900  # lines that a source file may have: a longer file has more than one purpose
RULES = ".pre-commit-config.yaml"  # commits after the one that added RULES must be signed off
OVERLAY = "kernel/overlay"
HOOKS = "kernel/hooks"
LAB = "lab/boltlab"

# Folder -> licence of its files, the innermost folder first. libcpubolt, in tools/lib/, has the
# LGPL, so that programs of any licence may link the library.
LICENCES = {"tools/lib/": "LGPL-2.1-or-later", "": "GPL-2.0"}
# Files that need no SPDX line: data, licence texts, and files in formats of Debian's packages or of
# the kernel that have no such line.
_DATA = {".log", ".txt", ".json", ".svg", ".png", ".html"}
_BARE = {
    "COPYING",
    "COPYING.LGPL",
    "changelog",
    "copyright",
    "format",
    "config",
    "settings",
    "sysfs-devices-system-cpu-bolt",
}
# The address of a package registry. The brackets keep the pattern from matching its own text.
_ADDRESS = re.compile(
    r"inde[x]-url|GOPROX[Y]=http|registr[y]=http|^de[b] +(\[[^]]*\] +)?http|URI[s]: *http", re.M
)
_SIGNED = re.compile(r"^Signed-off-by: .*<([^<>\s]+)>$", re.M)
# Directories in which the repository may lie, and that its files may name all the same, because
# other machines have these directories as well.
_ANYWHERE = {
    Path(name)
    for name in (
        *("/build", "/home", "/repo", "/src", "/srv", "/tmp"),
        *("/usr/local", "/usr/src", "/var/lib", "/var/tmp"),
    )
}
# Settings of git without which a user's own settings would change what the checks read.
_SETTINGS = {
    "color.diff": "false",
    "color.ui": "false",
    "diff.mnemonicPrefix": "false",
    "diff.noprefix": "false",
    "log.showSignature": "false",
}


def _git(root: Path, *words: str) -> str:
    packages.ensure("export")
    settings = [word for item in _SETTINGS.items() for word in ("-c", "=".join(item))]
    done = git.ask(root, *settings, *words)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise BoltError(f"git {words[0]} failed: {said[0]}")
    return done.stdout.decode("utf-8", errors="replace")


def tracked(root: Path) -> list[Path]:
    """Return the files that git tracks, and new files that git does not ignore."""
    listing = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    files = [root / name for name in listing.split("\0") if name]
    return [path for path in files if path.is_file()]


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _tool(root: Path, *words: str) -> list[str]:
    """Return the lines that a linter, run in lab/, prints; none if the linter finds nothing.

    The linters' own caches are in the lab's cache, because the user may not be able to write in
    ``root``, or in caches that another user has left there.
    """
    place = paths.cache() / "linters" / hashlib.sha256(bytes(root)).hexdigest()[:12]
    named = {"MYPY_CACHE_DIR": str(place / "mypy"), "RUFF_CACHE_DIR": str(place / "ruff")}
    done = subprocess.run(
        words,
        cwd=root / "lab",
        env=os.environ | named,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return []
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines or [f"{words[0]} ended with status {done.returncode}"]


def _beside(root: Path) -> list[str]:
    """Return ruff's arguments for Python files outside of lab/, which follow the rules of lab/."""
    return ["--config=pyproject.toml", "../tools"] if (root / "tools").is_dir() else []


def ruff_check(root: Path) -> list[str]:
    """Look for mistakes in Python."""
    words = ["ruff", "check", "--output-format=concise", ".", *_beside(root)]
    return _tool(root, sys.executable, "-m", *words)


def ruff_format(root: Path) -> list[str]:
    """Look for Python files that ruff would lay out otherwise."""
    words = ["ruff", "format", "--check", ".", *_beside(root)]
    return _tool(root, sys.executable, "-m", *words)


def mypy(root: Path) -> list[str]:
    """Check Python's types."""
    tools = root / "tools"
    beside = [str(p) for p in tracked(root) if p.suffix == ".py" and tools in p.parents]
    return _tool(root, sys.executable, "-m", "mypy", "boltlab", "tests", *beside)


def shellcheck(root: Path) -> list[str]:
    """Look for mistakes in scripts whose first line names /bin/sh, /bin/bash or /bin/dash."""
    packages.ensure("test")
    scripts = []
    for path in tracked(root):
        with path.open("rb") as file:
            if re.match(rb"#!\s*/bin/(ba|da)?sh\b", file.readline()):
                scripts.append(str(path))
    return _tool(root, "shellcheck", *scripts) if scripts else []


def licences(root: Path) -> list[str]:
    """Look for files without an SPDX line of their folder's licence."""
    found = []
    for path in tracked(root):
        name = _name(path, root)
        licence = next(words for folder, words in LICENCES.items() if name.startswith(folder))
        line = re.compile(rf"SPDX-License-Identifier: {re.escape(licence)}(-only)?(?![\w.+-])")
        bare = path.suffix in _DATA or path.name in _BARE
        if not bare and not line.search("\n".join(_text(path).splitlines()[:3])):
            found.append(f"{name}: no SPDX line with {licence} among the first three lines")
    return found


def one_machine(root: Path) -> list[str]:
    """Look for paths of this machine, and for addresses of package registries.

    A path of this machine is one that names the directory in which the repository lies. If that
    directory is /, the directory for temporary files, or one of _ANYWHERE, files may name the
    directory, because other machines have this directory as well.
    """
    around = _around(root)
    found = []
    for path in tracked(root):
        text = _text(path)
        if around and around.search(text):
            found.append(f"{_name(path, root)}: names {root.parent}/")
        if match := _ADDRESS.search(text):
            found.append(f"{_name(path, root)}: names a package registry: {match[0]}")
    return found


def _around(root: Path) -> re.Pattern[str] | None:
    """Return a pattern of paths in the directory in which ``root`` lies.

    Returns None if files may name that directory, see one_machine().
    """
    if root.parent in {Path("/"), Path(tempfile.gettempdir()), *_ANYWHERE}:
        return None
    return re.compile(rf"(?<![\w.]){re.escape(str(root.parent))}/")


def sizes(root: Path) -> list[str]:
    """Look for source files that have grown too large."""
    return [
        f"{_name(path, root)}: more than {LARGEST} lines"
        for path in tracked(root)
        if path.suffix in {".c", ".h", ".py"} and len(_text(path).splitlines()) > LARGEST
    ]


def whitespace(root: Path) -> list[str]:
    """Check every file against .editorconfig: ends of lines, the last line, indentation."""
    sections = list(_sections(_text(root / ".editorconfig")))
    found = []
    for path in tracked(root):
        rules: dict[str, str] = {}
        for glob, settings in sections:
            if any(fnmatch.fnmatchcase(path.name, each) for each in _braces(glob)):
                rules |= settings
        text = _text(path)
        trim, style = rules.get("trim_trailing_whitespace"), rules.get("indent_style")
        wrong = {
            "a blank at the end of the line": r"[ \t]+$" if trim == "true" else "",
            "a tab, not blanks": r"^\t" if style == "space" else "",
            "blanks, not a tab": r"^ {8}" if style == "tab" else "",
        }
        for what, pattern in wrong.items():
            if pattern and (match := re.search(pattern, text, re.M)):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{_name(path, root)}:{line}: {what}")
        ended = path.suffix == ".png" or not text or text.endswith("\n")
        if rules.get("insert_final_newline") == "true" and not ended:
            found.append(f"{_name(path, root)}: the last line has no newline")
    return found


def imports(root: Path) -> list[str]:
    """Check which package of the lab imports which, and count the modules beside the packages."""
    return [f"{LAB}/{line}" for line in layers.check(root / LAB)]


def _sections(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield, in order, the globs of an .editorconfig, each with the settings of its section."""
    for part in re.split(r"^\[", text, flags=re.M)[1:]:
        glob, _, body = part.partition("]\n")
        yield glob, dict(re.findall(r"^(\w+) *= *(\S+)$", body, re.M))


def _braces(glob: str) -> list[str]:
    match = re.search(r"\{([^{}]*)\}", glob)
    if not match:
        return [glob]
    return [glob.replace(match[0], word, 1) for word in match[1].split(",")]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


CHECKS: Mapping[str, Callable[[Path], list[str]]] = {
    "ruff check": ruff_check,
    "ruff format": ruff_format,
    "mypy": mypy,
    "shellcheck": shellcheck,
    "licences": licences,
    "one machine": one_machine,
    "sizes": sizes,
    "whitespace": whitespace,
    "imports": imports,
}


def base(root: Path, given: str | None = None) -> str | None:
    """Return the commit after which commits are new: ``given``, or the last that upstream has too.

    Returns None if git finds no commit of upstream, as in a clone without a remote. Raises
    BoltError, code USAGE, if there is no commit ``given``.
    """
    if given:
        try:
            return _git(root, "rev-parse", "--verify", "--quiet", f"{given}^{{commit}}").strip()
        except BoltError as error:
            raise BoltError(f"there is no commit '{given}'", code=USAGE) from error
    for name in ("@{upstream}", "origin/HEAD", "origin/main"):
        try:
            return _git(root, "merge-base", "HEAD", name).strip()
        except BoltError:
            continue
    return None


def sign_off(root: Path, since: str | None) -> list[str]:
    """Look for commits after ``since`` that their authors have not signed off.

    If ``since`` is None, all commits after the one that added the file RULES are looked at. Commits
    that a shallow clone lacks are passed over, and so are merges, which CI may make.
    """
    try:
        _git(root, "rev-parse", "--verify", "HEAD")
    except BoltError:
        return []  # the repository has no commit yet
    start = since or _git(root, "log", "--diff-filter=A", "--format=%H", "--", RULES).strip()
    if not start:
        return []
    span = f"{start.splitlines()[-1]}..HEAD"
    listing = _git(root, "log", "--no-merges", "-z", "--format=%h%n%ae%n%s%n%B", span)
    found = []
    for entry in listing.split("\0"):
        if entry:
            commit, mail, subject, message = entry.split("\n", 3)
            if mail not in _SIGNED.findall(message):
                found.append(f"{commit} ({subject}) is not signed off by its author, {mail}")
    return found


def message(root: Path, file: Path) -> list[str]:
    """Check that the commit message in ``file`` is signed off by the commit's author."""
    author = _git(root, "var", "GIT_AUTHOR_IDENT")
    mail = author[author.index("<") + 1 : author.index(">")]
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise BoltError(f"cannot read {file}: {error.strerror}", code=USAGE) from error
    text = "\n".join(line.rstrip() for line in lines if not line.startswith("#"))
    return [] if mail in _SIGNED.findall(text) else [f"no Signed-off-by of {mail}: git commit -s"]


def kernel_style(root: Path, since: str | None, pristine: Path) -> list[str]:
    """Run checkpatch over what changed after ``since`` in hooks and in Bolt's files for kernels.

    If ``since`` is None, only changes that are not committed are checked. ``pristine`` is the
    kernel source whose checkpatch is run. Of a hook that changed, the whole diff is checked, but
    not the hook's message.
    """
    start = since or "HEAD"
    with tempfile.TemporaryDirectory(prefix="bolt-lint-") as scratch:
        patches = []
        changed = _git(root, "diff", "--name-only", "-z", "--diff-filter=d", start, "--", HOOKS)
        others = ("ls-files", "-z", "--others", "--exclude-standard")
        new = _git(root, *others, "--", HOOKS, OVERLAY)
        for name in {*changed.split("\0"), *new.split("\0")} - {""}:
            if name.endswith(".patch"):
                text = _text(root / name)
                patch = Path(scratch) / name.removeprefix(f"{HOOKS}/").replace("/", "-")
                # A hook without a diff is passed on whole, and checkpatch complains of it.
                patch.write_text(text[max(0, text.find("diff --git ")) :], encoding="utf-8")
                patches.append(patch)
        series = sorted(path.relative_to(root) for path in root.glob(f"{HOOKS}/*/overlay"))
        for folder in (OVERLAY, *map(str, series)):
            # Patches name files by their kernel paths: checkpatch has rules for some paths.
            relative = f"--relative={folder}"
            overlay = _git(root, "diff", "--no-ext-diff", relative, start, "--", folder)
            for name in sorted(each for each in new.split("\0") if each.startswith(f"{folder}/")):
                overlay += _addition(root / name, name.removeprefix(f"{folder}/"))
            where = "" if folder == OVERLAY else f"{Path(folder).parent.name}-"
            # One patch for each file, because the cache remembers which patches were clean.
            for part in re.split(r"^(?=diff --git )", overlay, flags=re.M)[1:]:
                name = part.splitlines()[0].rpartition(" b/")[2].replace("/", "-")
                patches.append(Path(scratch) / f"{where}{name}.patch")
                patches[-1].write_text(part, encoding="utf-8")
        with ThreadPoolExecutor(arch.cores()) as pool:
            found = pool.map(partial(_checkpatch, pristine), sorted(patches))
            return [line.replace(f"{scratch}/", "") for lines in found for line in lines]


def _checkpatch(pristine: Path, patch: Path) -> tuple[str, ...]:
    """Return checkpatch's findings in ``patch``.

    A patch that the same checkpatch has found clean before is not checked again.
    """
    digest = hashlib.sha256((pristine / "scripts" / "checkpatch.pl").read_bytes())
    digest.update(repr(checkpatch.IGNORED).encode() + patch.read_bytes())
    clean = paths.cache() / "checkpatch" / digest.hexdigest()
    if clean.exists():
        return ()
    lines = tuple(line for each in checkpatch.check(pristine, [patch]) for line in each.lines)
    if not lines:
        clean.parent.mkdir(exist_ok=True)
        clean.touch()
    return lines


def _addition(path: Path, name: str) -> str:
    """Return a diff that adds a file ``name`` with the contents of ``path``."""
    lines = _text(path).splitlines()
    return (
        f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n"
        f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)
    )

# SPDX-License-Identifier: GPL-2.0-only
"""Makes throw-away git repositories, which do not depend on the user's configuration of git.

user() reads that configuration, ask() runs git in a clone that exists already, and measured() reads
the lab's own repository.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from boltlab import packages, paths
from boltlab.errors import BoltError

DATE = "2025-01-01T00:00:00+0000"  # date of each commit, so that equal files give equal commits
NOBODY = ("Bolt", "bolt@example.org")
CONFIG = {
    "core.abbrev": "12",
    "core.compression": "1",
    "core.preloadIndex": "true",
    "core.fsync": "none",
    "gc.auto": "0",
    "commit.gpgSign": "false",
    "diff.renames": "false",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "advice.updateSparsePath": "false",
}
# These attributes decide which function git names in an @@ line. For C files the kernel's own
# .gitattributes have the same driver.
ATTRIBUTES = "*.c diff=cpp\n*.h diff=cpp\n*.S diff=\n"


@dataclass(frozen=True)
class Git:
    """One repository: its .git directory and its work tree."""

    dir: Path
    tree: Path

    @staticmethod
    def init(tree: Path, git_dir: Path | None = None) -> "Git":
        """Make an empty repository for the existing directory ``tree``.

        Raises BoltError when git fails.
        """
        packages.ensure("export")
        git = Git(git_dir or tree / ".git", tree)
        git.run("init", "-q")
        (git.dir / "info").mkdir(exist_ok=True)
        (git.dir / "info" / "attributes").write_text(ATTRIBUTES, encoding="utf-8")
        return git

    def run(self, *arguments: str, author: tuple[str, str] = NOBODY, stdin: str = "") -> str:
        """Run git with ``arguments``, and return git's stdout.

        ``author`` is the name and mail address for commits. If git fails, raises BoltError with the
        first line of git's messages.
        """
        settings = [word for item in CONFIG.items() for word in ("-c", "=".join(item))]
        done = subprocess.run(
            ["git", *settings, *arguments],
            cwd=self.tree,
            env=self._environment(author),
            input=stdin.encode(),
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            words = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise BoltError(f"git {arguments[0]} failed: {words[0]}")
        # Bytes that are no UTF-8 become surrogates. A caller that writes the text passes
        # errors="surrogateescape", which turns the surrogates back into the bytes.
        return done.stdout.decode("utf-8", errors="surrogateescape")

    def commit_all(
        self, message: str, author: tuple[str, str] = NOBODY, *, allow_empty: bool = True
    ) -> None:
        """Commit everything in the work tree, ignored files included."""
        self.run("add", "--all", "--force", ".")
        empty = ["--allow-empty"] if allow_empty else []
        self.run("commit", "-q", "--no-verify", *empty, "-F", "-", author=author, stdin=message)

    def _environment(self, author: tuple[str, str]) -> dict[str, str]:
        keep = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        name, mail = author
        return keep | {
            "LC_ALL": "C",
            "HOME": str(self.tree),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_DIR": str(self.dir),
            "GIT_WORK_TREE": str(self.tree),
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": mail,
            "GIT_AUTHOR_DATE": DATE,
            "GIT_COMMITTER_NAME": name,
            "GIT_COMMITTER_EMAIL": mail,
            "GIT_COMMITTER_DATE": DATE,
        }


def user() -> tuple[str, str]:
    """Return the user's name and mail address in git's configuration; NOBODY if one is missing."""
    found = []
    for key in ("user.name", "user.email"):
        asked = subprocess.run(
            ["git", "config", "--get", key], capture_output=True, text=True, check=False
        )
        found.append(asked.stdout.strip())
    return (found[0], found[1]) if all(found) else NOBODY


def ask(root: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run git with ``words`` in the clone ``root``, which may belong to another user.

    git refuses to read a clone that another user owns (in a container the lab may run as root),
    because the clone's configuration may name programs that git would run. The lab trusts the
    clone of which the lab itself is a part, and a clone that the user names.
    """
    trust = f"safe.directory={root.resolve()}"
    return subprocess.run(["git", "-c", trust, *words], cwd=root, capture_output=True, check=False)


def measured() -> str:
    """Return the commit that this repository is at, for result files.

    The text is "" if git is not installed or the lab is not in a clone, and ends with ``+`` when
    files of the kernel, the tools or the lab differ from those of the commit.
    """
    if shutil.which("git") is None:
        return ""
    head, changed = (
        ask(paths.REPO, *words).stdout.decode().strip()
        for words in (
            ("rev-parse", "--short=7", "HEAD"),
            ("status", "--porcelain", "--", "kernel", "lab", "tools"),
        )
    )
    return f"{head}+" if head and changed else head

# SPDX-License-Identifier: GPL-2.0-only
"""Rewrites hook patches with the line numbers and contexts of a given kernel source."""

import itertools
import re
import tempfile
from pathlib import Path

from boltlab.errors import BoltError
from boltlab.git import Git
from boltlab.kernel import hooks
from boltlab.kernel.hooks import Hook


def refresh(folder: Path, pristine: Path, release: str) -> list[str]:
    """Refresh the hooks in ``folder`` against the kernel source ``pristine``.

    A hunk whose @@ line names a function must still be in that function. Returns the names of the
    patches that were rewritten. If a hunk is in another function, or if a hook does not apply,
    BoltError is raised, and no patch is rewritten.
    """
    series = hooks.load(folder)
    fresh: dict[Path, str] = {}
    with tempfile.TemporaryDirectory(prefix="bolt-refresh-") as scratch:
        tree = Path(scratch)
        hooks.copy_files(series, pristine, tree, release)
        git = Git.init(tree)
        git.commit_all("pristine")
        for hook in series:
            hooks.apply_one(hook, tree, release)
            text = hook.message + git.run("diff", "--no-ext-diff", "--", *hook.files)
            _check(hook, hooks.parse_text(hook.path, text), release)
            if text != hook.text:
                fresh[hook.path] = text
            git.commit_all(hook.name)
    for path, text in fresh.items():
        half = path.with_suffix(".half")
        half.write_text(text, encoding="utf-8", errors="surrogateescape")
        half.rename(path)
    return [path.name for path in fresh]


def _check(old: Hook, new: Hook, release: str) -> None:
    """Raise BoltError when a hunk of ``new`` sits in another function than in ``old``."""
    for file in old.files:
        was, now = _functions(old, file), _functions(new, file)
        if len(was) != len(now):
            # git may merge or split hunks as long as the hunks stay in the same functions.
            was, now = sorted(set(was)), sorted(set(now))
        for before, after in itertools.zip_longest(was, now, fillvalue=""):
            if before and before != after:  # a hunk that was in no function may land anywhere
                raise BoltError(
                    f"hook {old.name} moved on linux {release}: {file}: a hunk in '{before}' "
                    f"now lands in '{after or 'no function'}'"
                )


def _functions(hook: Hook, file: str) -> list[str]:
    return [_name(hunk.function) for hunk in hook.hunks if hunk.file == file]


def _name(function: str) -> str:
    """Return the bare name of ``static int name(args``, "" for a label, and other text as it is.

    git names a label when git does not know that the file is C; a label does not tell the function.
    """
    if re.fullmatch(r"\w+:", function):
        return ""
    match = re.search(r"(\w+)\s*\(", function)
    return match[1] if match else function

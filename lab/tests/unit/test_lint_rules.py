# SPDX-License-Identifier: GPL-2.0-only
"""Each check of ``./bolt lint``, except mypy, finds faults of its kind in made-up repositories."""

import subprocess
from pathlib import Path

import pytest

from boltlab import checkpatch, cli, lint, paths
from boltlab.checkpatch import Finding
from boltlab.commands import lint as cmd_lint
from boltlab.errors import BoltError
from boltlab.kernel import source
from tests.unit.conftest import write_tree

SPDX = "# SPDX-License-Identifier: GPL-2.0-only\n"
AUTHOR = "a@example.org"
SIGNED = f"x: y\n\nSigned-off-by: A <{AUTHOR}>\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "around" / "repo"
    rules = (paths.REPO / ".editorconfig").read_text(encoding="utf-8")
    files = dict.fromkeys(("lab/a.py", "lab/boltlab/guest/a.py"), f"{SPDX}A = 1\n")
    write_tree(root, {".editorconfig": rules, **files})
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "A")
    git(root, "config", "user.email", AUTHOR)
    return root


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(root: Path, message: str, **files: str) -> str:
    write_tree(root, {name.replace("_", "/"): text for name, text in files.items()})
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "--no-verify", "-m", message)
    return git(root, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    ("check", "file", "text", "said"),
    [
        ("ruff check", "lab/b.py", f"{SPDX}import os\n", "F401"),
        ("ruff format", "lab/b.py", f"{SPDX}A = {{1:2}}\n", "b.py"),
        ("shellcheck", "tool", f"#!/bin/sh\n{SPDX}echo $1\n", "SC2086"),
        ("licences", "b.toml", "a = 1\n", "b.toml: no SPDX line"),
        ("licences", "b.toml", SPDX.replace("GPL-2.0-only", "LGPL-2.1-or-later"), "with GPL-2.0"),
        ("licences", "tools/lib/b.c", f"/* {SPDX.strip()} */\n", "with LGPL-2.1-or-later"),
        ("one machine", "b.toml", f"{SPDX}# {{around}}/x\n", "b.toml: names "),
        ("one machine", "b.toml", f"{SPDX}# inde" + "x-url = x\n", "a package registry"),
        ("sizes", "b.py", f"{SPDX}" + "A = 1\n" * lint.LARGEST, "more than 900 lines"),
        ("whitespace", "b.md", f"{SPDX}a \n", "b.md:2: a blank at the end"),
        ("whitespace", "b.toml", f"{SPDX}a = [\n\t1]\n", "b.toml:3: a tab, not blanks"),
        (
            "whitespace",
            "b.c",
            f"/* {SPDX.strip()} */\n        int a;\n",
            "b.c:2: blanks, not a tab",
        ),
        ("whitespace", "b.py", f"{SPDX}A = 1", "b.py: the last line has no newline"),
        (
            "imports",
            "lab/boltlab/kernel/b.py",
            "from boltlab.guest import a\n",
            "lab/boltlab/kernel/b.py:1: a module in kernel/ must not import guest.a",
        ),
    ],
)
def test_a_check_finds(check: str, file: str, text: str, said: str, root: Path) -> None:
    assert lint.CHECKS[check](root) == []
    write_tree(root, {file: text.replace("{around}", str(root.parent))})
    found = lint.CHECKS[check](root)
    assert any(said in line for line in found), found


def test_patches_may_have_blanks_at_ends_of_lines(root: Path) -> None:
    write_tree(root, {"a.patch": f"{SPDX}@@ -1 +1 @@\n \n"})
    assert lint.whitespace(root) == []


def test_sign_off(root: Path) -> None:
    start = commit(root, "old, before there was a rule")
    commit(root, SIGNED)
    assert lint.sign_off(root, start) == []
    commit(root, "x: forgotten")
    commit(root, "x: of another\n\nSigned-off-by: B <b@example.org>\n")
    found = lint.sign_off(root, start)
    assert len(found) == 2
    assert any("(x: forgotten) is not signed off by its author" in line for line in found)
    assert lint.sign_off(root, "HEAD") == []


def test_without_upstream_commits_count_from_the_rule_on(root: Path) -> None:
    assert lint.sign_off(root, lint.base(root)) == [], "no commit yet"
    commit(root, "old")
    assert lint.base(root) is None
    assert lint.sign_off(root, None) == []
    write_tree(root, {lint.RULES: SPDX})
    commit(root, "the rule")
    assert lint.sign_off(root, None) == []
    commit(root, "new")
    assert len(lint.sign_off(root, None)) == 1


def test_with_upstream(root: Path, tmp_path: Path) -> None:
    commit(root, "old")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(root), str(clone))
    git(clone, "config", "user.name", "A")
    git(clone, "config", "user.email", AUTHOR)
    old = git(clone, "rev-parse", "HEAD")
    git(clone, "checkout", "-q", "-b", "topic")
    commit(clone, "new")
    assert lint.base(clone) == old
    assert len(lint.sign_off(clone, lint.base(clone))) == 1
    assert lint.base(clone, "HEAD") == git(clone, "rev-parse", "HEAD")
    with pytest.raises(BoltError, match="no commit 'nonsense'") as failure:
        lint.base(clone, "nonsense")
    assert failure.value.code == 2


def test_a_shallow_clone_and_a_merge_of_ci(root: Path, tmp_path: Path) -> None:
    write_tree(root, {lint.RULES: SPDX})
    commit(root, "the rule")
    commit(root, SIGNED)
    commit(root, "not signed")
    clone = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", root.as_uri(), str(clone))
    git(clone, "checkout", "-q", "--detach")
    git(clone, "remote", "remove", "origin")
    assert lint.base(clone) is None
    assert lint.sign_off(clone, None) == [], "a shallow clone lacks the history to judge commits"
    git(root, "reset", "-q", "--hard", "HEAD~1")
    git(root, "checkout", "-q", "-b", "topic")
    commit(root, SIGNED)
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "--no-verify", "-m", "Merge, of CI", "topic")
    assert lint.sign_off(root, None) == []


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (SIGNED, 0),
        (f"{SIGNED}\n# Please enter a message\n", 0),
        ("x: y\n", 1),
        (f"x: y\n\n# Signed-off-by: A <{AUTHOR}>\n", 1),
        ("x: y\n\nSigned-off-by: B <b@example.org>\n", 1),
    ],
)
def test_message(
    text: str,
    status: int,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(paths, "REPO", root)
    for name in ("NAME", "EMAIL"):
        monkeypatch.delenv(f"GIT_AUTHOR_{name}", raising=False)
    file = root / "message"
    file.write_text(text)
    assert cli.main(["lint", "--message", str(file)]) == status
    assert ("git commit -s" in capsys.readouterr().err) == bool(status)


PLACES = ["/", "/build", "/data", "/git", "/home", "/repo", "/src", "/srv", "/tmp"]
PLACES += ["/usr/local", "/usr/src", "/var/lib", "/var/tmp"]


@pytest.mark.parametrize("place", PLACES)
def test_the_repository_may_lie_anywhere(place: str) -> None:
    around = lint._around(Path(place) / "bolt")
    named = [
        path
        for path in lint.tracked(paths.REPO)
        if around and around.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert named == []


def test_linters_write_into_the_cache_only(root: Path, cache: Path) -> None:
    """The user may not be able to write in the clone, or in what another user has left there."""
    (root / "lab").mkdir(exist_ok=True)
    lines = lint._tool(root, "sh", "-c", 'echo "$MYPY_CACHE_DIR"; echo "$RUFF_CACHE_DIR"; exit 1')
    places = [Path(line) for line in lines]
    assert len(set(places)) == 2
    assert all(cache in place.parents for place in places)


def test_a_path_of_this_machine_is_a_whole_path(tmp_path: Path) -> None:
    around = lint._around(tmp_path / "bolt")
    assert around
    assert around.search(f'"{tmp_path}/other"')
    assert not around.search(f"boltlab{tmp_path}/other")
    assert not around.search(f"..{tmp_path}/other")


def test_a_hook_without_a_diff_is_checked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(root, SIGNED)
    write_tree(root, {"kernel/hooks/6.12/1.patch": "why\n", "scripts/checkpatch.pl": SPDX})
    given: list[str] = []

    def spy(pristine: Path, patches: list[Path]) -> list[Finding]:
        given.extend(path.read_text() for path in patches)
        return []

    monkeypatch.setattr(checkpatch, "check", spy)
    assert lint.kernel_style(root, None, root) == []
    assert given == ["why\n"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("color.ui", "always"),
        ("color.diff", "always"),
        ("diff.external", "true"),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("log.showSignature", "true"),
    ],
)
def test_settings_of_the_user_of_git_change_nothing(
    key: str, value: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay = f"{lint.OVERLAY}/kernel/bolt"
    write_tree(root, {f"{overlay}/a.c": "int a;\n", "scripts/checkpatch.pl": SPDX})
    start = commit(root, SIGNED)
    commit(root, "forgotten")
    write_tree(root, {f"{overlay}/a.c": "int b;\n"})
    given: dict[str, str] = {}

    def spy(pristine: Path, patches: list[Path]) -> list[Finding]:
        given.update({path.name: path.read_text() for path in patches})
        return []

    monkeypatch.setattr(checkpatch, "check", spy)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", key)
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", value)
    assert lint.kernel_style(root, None, root) == []
    assert list(given) == ["kernel-bolt-a.c.patch"]
    assert "--- a/kernel/bolt/a.c\n+++ b/kernel/bolt/a.c\n" in given["kernel-bolt-a.c.patch"]
    assert len(lint.sign_off(root, start)) == 1


def test_checkpatch_sees_what_changed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = "why it is\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    overlay = f"{lint.OVERLAY}/kernel/bolt"
    write_tree(root, {"kernel/hooks/6.12/1.patch": hook, f"{overlay}/a.c": "int a;\n"})
    write_tree(root, {"scripts/checkpatch.pl": SPDX})
    start = commit(root, SIGNED)
    given: dict[str, str] = {}

    def spy(pristine: Path, patches: list[Path]) -> list[Finding]:
        given.update({path.name: path.read_text() for path in patches})
        return [Finding(path.name, (f"{path}:1: WARNING: x",)) for path in patches]

    monkeypatch.setattr(checkpatch, "check", spy)
    assert lint.kernel_style(root, None, root) == []
    assert given == {}
    write_tree(root, {f"{overlay}/a.c": "int b;\n", f"{overlay}/new.c": "int c;\n"})
    changed = ["kernel-bolt-a.c.patch:1: WARNING: x", "kernel-bolt-new.c.patch:1: WARNING: x"]
    assert lint.kernel_style(root, None, root) == changed
    assert "+++ b/kernel/bolt/a.c" in given["kernel-bolt-a.c.patch"]
    added = "+++ b/kernel/bolt/new.c\n@@ -0,0 +1,1 @@\n+int c;"
    assert added in given["kernel-bolt-new.c.patch"]
    given.clear()
    commit(root, SIGNED)
    assert lint.kernel_style(root, None, root) == []
    write_tree(root, {"kernel/hooks/6.12/1.patch": hook.replace("+b", "+c")})
    commit(root, SIGNED)
    assert lint.kernel_style(root, start, root) == ["6.12-1.patch:1: WARNING: x", *changed]
    assert given["6.12-1.patch"].startswith("diff --git")
    write_tree(root, {"kernel/hooks/6.12/overlay/kernel/bolt/a.c": "int d;\n"})
    own = "6.12-kernel-bolt-a.c.patch"
    assert f"{own}:1: WARNING: x" in lint.kernel_style(root, start, root)
    assert "+++ b/kernel/bolt/a.c" in given[own]


def test_what_checkpatch_was_content_with_is_not_asked_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = f"{lint.OVERLAY}/kernel/bolt/a.c"
    write_tree(root, {file: "int a;\n", "scripts/checkpatch.pl": SPDX})
    commit(root, SIGNED)
    asked: list[str] = []

    def spy(pristine: Path, patches: list[Path]) -> list[Finding]:
        asked.extend(path.name for path in patches)
        bad = [path for path in patches if "bad" in path.read_text()]
        return [Finding(path.name, ("WARNING: x",)) for path in bad]

    monkeypatch.setattr(checkpatch, "check", spy)
    for text, often, findings in (("good", 1, []), ("bad", 2, ["WARNING: x"])):
        asked.clear()
        write_tree(root, {file: f"int {text};\n"})
        assert lint.kernel_style(root, None, root) == findings
        assert lint.kernel_style(root, None, root) == findings
        assert len(asked) == often
    write_tree(root, {file: "int good;\n", "scripts/checkpatch.pl": f"{SPDX}# newer\n"})
    asked.clear()
    assert lint.kernel_style(root, None, root) == []
    assert len(asked) == 1


def test_the_command(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "REPO", root)
    monkeypatch.setattr(source, "cached", lambda: None)
    few = {name: lint.CHECKS[name] for name in ("licences", "whitespace")}
    monkeypatch.setattr(lint, "CHECKS", few)
    assert cli.main(["lint"]) == 0
    said = capsys.readouterr()
    assert said.out == "lint: licences, whitespace, sign-off: clean\n"
    assert "without checkpatch" in said.err
    write_tree(root, {"b.toml": "a = 1 \n"})
    assert cli.main(["lint"]) == 1
    said = capsys.readouterr()
    assert said.out == "lint: licences, whitespace failed\n"
    assert "b.toml:1: a blank" in said.err
    assert cmd_lint.NAME in cli.COMMANDS


def test_pre_commit_calls_it() -> None:
    """pre-commit needs no network, as it only calls ``./bolt lint``."""
    text = (paths.REPO / lint.RULES).read_text(encoding="utf-8")
    assert text.count("repo: ") == text.count("repo: local") == 1
    assert text.count("language: ") == text.count("language: system") == 2
    assert "entry: ./bolt lint\n" in text
    assert "entry: ./bolt lint --message\n" in text

# SPDX-License-Identifier: GPL-2.0-only
import shutil
from pathlib import Path

import pytest

from boltlab import git, lint, paths


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a clone that git takes to belong to another user."""
    shutil.copy(paths.REPO / "README.md", tmp_path)
    made = git.Git.init(tmp_path)
    made.commit_all("A commit")
    monkeypatch.setattr(paths, "REPO", tmp_path)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    return tmp_path


def test_a_clone_of_another_user_has_a_commit(clone: Path) -> None:
    head = git.measured()
    assert len(head) == 7
    (clone / "lab").mkdir()
    (clone / "lab" / "new.py").write_text("", encoding="utf-8")
    assert git.measured() == f"{head}+"


def test_files_of_a_clone_of_another_user_are_checked(clone: Path) -> None:
    assert lint.tracked(clone) == [clone / "README.md"]


def test_no_clone_has_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "REPO", tmp_path)
    assert git.measured() == ""

# SPDX-License-Identifier: GPL-2.0-only
"""The repository as it is: the checks of ``./bolt lint``, each as a test."""

import re

import pytest

from boltlab import layers, lint, paths
from boltlab.kernel.source import Source


@pytest.mark.parametrize("name", lint.CHECKS)
def test_check(name: str) -> None:
    assert lint.CHECKS[name](paths.REPO) == []


def test_the_map_of_the_lab() -> None:
    """CONTRIBUTING.md has a row for each package, with the packages that it may import."""
    text = (paths.REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)/` \| [^|]+ \| ([^|]*)\|$", text, re.M)
    told = {package: re.findall(r"`(\w+)`", words) for package, words in rows}
    *others, last = layers.MAY_IMPORT
    assert list(told) == [*others, last]
    assert {name: told[name] for name in others} == {
        name: list(layers.MAY_IMPORT[name]) for name in others
    }
    assert dict(rows)[last].strip() == "all of these"
    assert list(layers.MAY_IMPORT[last]) == others


def test_sign_off() -> None:
    """Checks commits that git's upstream branch, else origin/HEAD or origin/main, lacks.

    If git has none of these, checks all commits after the one that made signing off a rule.
    """
    assert lint.sign_off(paths.REPO, lint.base(paths.REPO)) == []


def test_checkpatch_on_what_changed(kernel_source: Source) -> None:
    """Checks changed files; kernel/test_series.py::test_checkpatch checks the exported series."""
    assert lint.kernel_style(paths.REPO, lint.base(paths.REPO), kernel_source.path) == []

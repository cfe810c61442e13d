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
    """CONTRIBUTING.md has a row for each package, which names all that the package may import."""
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
    """Checks commits that upstream lacks.

    Upstream is the first of @{upstream}, origin/HEAD and origin/main that git knows. If git knows
    none of these, all commits after the one that made signing off a rule are checked.
    """
    assert lint.sign_off(paths.REPO, lint.base(paths.REPO)) == []


def test_checkpatch_on_what_changed(kernel_source: Source) -> None:
    """Checks hooks and kernel files that changed since upstream or, without upstream, since HEAD.

    kernel/test_series.py::test_checkpatch checks the whole exported series.
    """
    assert lint.kernel_style(paths.REPO, lint.base(paths.REPO), kernel_source.path) == []

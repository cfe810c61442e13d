# SPDX-License-Identifier: GPL-2.0-only
"""The repository as it is: the checks of ``./bolt lint``, each as a test."""

import pytest

from boltlab import lint, paths
from boltlab.source import Source


@pytest.mark.parametrize("name", lint.CHECKS)
def test_check(name: str) -> None:
    assert lint.CHECKS[name](paths.REPO) == []


def test_sign_off() -> None:
    """Checks the commits that upstream lacks; in a clone without history, those that are there."""
    assert lint.sign_off(paths.REPO, lint.base(paths.REPO)) == []


def test_checkpatch_on_what_changed(kernel_source: Source) -> None:
    """Checks changed files; kernel/test_series.py::test_checkpatch checks the whole series."""
    assert lint.kernel_style(paths.REPO, lint.base(paths.REPO), kernel_source.path) == []

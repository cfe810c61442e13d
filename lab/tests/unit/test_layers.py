# SPDX-License-Identifier: GPL-2.0-only
"""Imports of packages go one way only, by the rows of layers.py; made-up modules are checked."""

from pathlib import Path

import pytest

from boltlab import layers
from tests.unit.conftest import write_tree


def check(folder: Path, **modules: str) -> list[str]:
    """Check made-up modules: ``kernel_a="import ..."`` gives the file kernel/a.py this text."""
    base = {"kernel/__init__.py": "", "kernel/build.py": "", "guest/qemu.py": "", "paths.py": ""}
    given = {f"{name.replace('_', '/')}.py": f"{text}\n" for name, text in modules.items()}
    return layers.check(write_tree(folder, base | given))


def test_a_package_imports_only_what_has_a_row_above_its_own() -> None:
    above: list[str] = []
    for package, wanted in layers.MAY_IMPORT.items():
        assert set(wanted) <= set(above), package
        above.append(package)


@pytest.mark.parametrize(
    "text",
    [
        "from boltlab import paths",
        "from boltlab.kernel import build",
        "from boltlab.kernel.build import Kernel",
        "from . import qemu",
        "import boltlab.kernel.build",
        "import ast",
    ],
)
def test_what_a_package_may_import(text: str, tmp_path: Path) -> None:
    assert check(tmp_path, guest_a=text) == []


@pytest.mark.parametrize(
    "text",
    [
        "from boltlab.guest import qemu",
        "from boltlab.guest.qemu import Guest",
        "import boltlab.guest.qemu",
        "from ..guest import qemu",
        "def late():\n    from boltlab.guest import qemu",
    ],
)
def test_what_a_package_must_not_import(text: str, tmp_path: Path) -> None:
    line = text.count("\n") + 1
    assert check(tmp_path, kernel_a=text) == [
        f"kernel/a.py:{line}: a module in kernel/ must not import guest.qemu"
    ]


def test_modules_beside_the_packages_import_none_of_them(tmp_path: Path) -> None:
    assert check(tmp_path, a="from boltlab import kernel, paths") == [
        "a.py:1: a module beside the packages must not import kernel.__init__"
    ]


def test_circles_within_a_package_are_found(tmp_path: Path) -> None:
    found = check(tmp_path, kernel_a="from boltlab.kernel import b", kernel_b="from . import a")
    assert len(found) == 1
    assert "kernel.a" in found[0]
    assert "circle" in found[0]


def test_a_package_that_is_not_listed_is_found(tmp_path: Path) -> None:
    assert check(tmp_path, attic_a="") == [
        "attic/: layers.py does not say what this package may import"
    ]


def test_modules_beside_the_packages_are_counted(tmp_path: Path) -> None:
    many = {f"a{number}": "" for number in range(layers.BESIDE - 1)}
    assert check(tmp_path, **many) == []
    assert len(check(tmp_path, **many, b="")) == 1

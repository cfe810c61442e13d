# SPDX-License-Identifier: GPL-2.0-only
"""Says which package of the lab may import which other, and checks the imports of the modules."""

import ast
import graphlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

BESIDE = 20  # how many modules may lie beside the packages

# Package -> the packages whose modules its own modules may import. A row names only packages whose
# own rows are further up, so that no two packages need each other. Every module may import the
# modules that lie beside the packages; the modules beside the packages import from no package.
MAY_IMPORT: Mapping[str, Collection[str]] = {
    "kernel": (),
    "guest": ("kernel",),
    "debian": ("kernel", "guest"),
    "bench": ("kernel", "guest"),
    "boot": ("kernel", "guest"),
    "torture": ("kernel", "guest"),
    "bystanders": ("kernel", "guest"),
    "engine": ("bench", "boot"),
    "report": ("guest", "bench", "boot", "bystanders"),
    "release": ("kernel", "guest", "bench", "boot", "torture"),
    "commands": (
        "kernel",
        "guest",
        "debian",
        "bench",
        "boot",
        "torture",
        "bystanders",
        "engine",
        "report",
        "release",
    ),
}


def check(lab: Path) -> list[str]:
    """Return a line for each breach of BESIDE or MAY_IMPORT by modules below the folder ``lab``.

    A circle of modules that import each other is a breach as well; of several circles, one gets a
    line.
    """
    files = {_module(path, lab): path for path in sorted(lab.rglob("*.py"))}
    beside = [name for name in files if not _package(name)]
    found = []
    if len(beside) > BESIDE:
        found.append(f"*.py: {len(beside)} modules lie beside the packages: at most {BESIDE} may")
    for package in sorted({_package(name) for name in files} - {"", *MAY_IMPORT}):
        found.append(f"{package}/: layers.py does not say what this package may import")
    needs = {name: dict(_needs(path, name, files)) for name, path in files.items()}
    for name, wanted in needs.items():
        ours = _package(name)
        for other, line in wanted.items():
            theirs = _package(other)
            if theirs and theirs != ours and theirs not in MAY_IMPORT.get(ours, ()):
                where = f"in {ours}/" if ours else "beside the packages"
                place = f"{files[name].relative_to(lab).as_posix()}:{line}"
                found.append(f"{place}: a module {where} must not import {other}")
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        found.append(f"*/: modules import each other in a circle: {' -> '.join(error.args[1])}")
    return found


def _module(path: Path, lab: Path) -> str:
    """Return the name of the module in the file ``path``, such as lint or kernel.__init__."""
    return ".".join(path.relative_to(lab).with_suffix("").parts)


def _package(module: str) -> str:
    return module.rpartition(".")[0]


def _needs(path: Path, module: str, known: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield the ``known`` modules that ``module`` in ``path`` imports, with the line numbers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            words = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = ["boltlab", *module.split(".")][: -node.level] if node.level else []
            start = ".".join([*above, node.module] if node.module else above)
            words = [f"{start}.{alias.name}" for alias in node.names]
        else:
            continue
        for word in words:
            lab, _, name = word.partition(".")
            outer = _package(name)
            # An imported name may be a module, an object in a module, or a package.
            places = (name, outer, f"{name}.__init__", f"{outer}.__init__")
            found = next((place for place in places if place in known), None)
            if lab == "boltlab" and found:
                yield found, node.lineno

# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures: a cache of its own for every test, and a tiny tree that passes for kernel source."""

from collections.abc import Callable
from pathlib import Path

import pytest

from boltlab.git import Git
from boltlab.kernel.source import Source
from boltlab.versions import Version

MAKEFILE = """# SPDX-License-Identifier: GPL-2.0
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = {sublevel}
EXTRAVERSION =
NAME = Test

all:
"""


def numbered(count: int, start: str = "x") -> str:
    return "".join(f"\t{start}{number}();\n" for number in range(count))


CPU_C = f"""// SPDX-License-Identifier: GPL-2.0
static int first(void)
{{
{numbered(8, "a")}\treturn 0;
}}

static int second(void)
{{
{numbered(8, "b")}\treturn 0;
}}
"""


def write_tree(tree: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tree


MESSAGE = "cpu: call Bolt\n\nWhy it does.\n\n"


def make_hook(tree: Path, folder: Path, name: str, edits: dict[str, tuple[str, str]]) -> Path:
    """Write a patch that makes ``edits`` in ``tree`` (file -> (old, new)); return its path."""
    scratch = folder.parent / f"scratch-{name}"
    git = Git.init(write_tree(scratch, {file: (tree / file).read_text() for file in edits}))
    git.commit_all("pristine")
    for file, (old, new) in edits.items():
        text = (scratch / file).read_text()
        assert text.count(old) == 1
        (scratch / file).write_text(text.replace(old, new))
    path = folder / name
    path.write_text(MESSAGE + git.run("diff"))
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of this test; the user's own cache is not touched."""
    path = tmp_path / "cache"
    monkeypatch.setenv("BOLT_CACHE", str(path))
    return path


@pytest.fixture
def kernel_tree(tmp_path: Path) -> Path:
    """A tree with the files that make a kernel source recognisable, and a kernel/cpu.c."""
    return write_tree(
        tmp_path / "linux",
        {
            "Makefile": MAKEFILE.format(sublevel=117),
            "Kconfig": "mainmenu x\n",
            "kernel/cpu.c": CPU_C,
            "kernel/Makefile": "obj-y += cpu.o\n",
        },
    )


@pytest.fixture
def bolt_kernel(tmp_path: Path) -> Path:
    """A directory like the repository's kernel/, with an empty overlay and no hooks."""
    folder = tmp_path / "repo" / "kernel"
    (folder / "overlay").mkdir(parents=True)
    (folder / "hooks" / "6.12").mkdir(parents=True)
    return folder


@pytest.fixture
def make_source(bolt_kernel: Path) -> Callable[[Path], Source]:
    """Return a function that turns a tree into a Source with the hooks in ``bolt_kernel``."""

    def make(tree: Path) -> Source:
        hooks = bolt_kernel / "hooks" / "6.12"
        version = Version("6.12", "linux-source-6.12", hooks, ("6.12.117",), ("x86_64", "arm64"))
        return Source(tree, "6.12.117-00000000", "6.12.117", version)

    return make

# SPDX-License-Identifier: GPL-2.0-only
"""Which kernels and files are built again, and which are not: in a tree whose make only copies."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from boltlab import arch, packages, paths
from boltlab.errors import BoltError
from boltlab.kernel import build, config, tree
from boltlab.kernel.source import Source
from boltlab.locks import lock
from tests.unit.conftest import make_hook, write_tree

HOST = arch.host()
MAKEFILE = f"""
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 117

allnoconfig:
\t@grep -h ^CONFIG_ $(KCONFIG_ALLCONFIG) | grep -v '=n$$' | grep -v -x -f drop >.config
\t@mkdir -p include/config && echo 6.12.117$(LOCALVERSION) >include/config/kernel.release

{HOST.image_target}: {HOST.image_path}
{HOST.image_path}: kernel/cpu.o
\t@mkdir -p $(dir $@) && cat kernel/cpu.o .config >$@ && : >System.map
%.o: %.c
\t@echo "  CC      $@" && cp $< $@ && ! grep broken $<
"""


@pytest.fixture
def source(
    kernel_tree: Path,
    bolt_kernel: Path,
    make_source: Callable[[Path], Source],
    monkeypatch: pytest.MonkeyPatch,
) -> Source:
    write_tree(kernel_tree, {"Makefile": MAKEFILE, "drop": "nothing\n"})
    monkeypatch.setattr(paths, "KERNEL", bolt_kernel)
    monkeypatch.setattr(packages, "ensure", lambda *groups, arches=(): None)
    monkeypatch.setattr(tree, "SPACE", 0)
    return make_source(kernel_tree)


def hook(source: Source, new: str = "bolt();") -> None:
    for path in source.version.hooks.glob("*.patch"):
        path.unlink()
    edits = {"kernel/cpu.c": ("\tb4();\n", f"\tb4();\n\t{new}\n")}
    folder = source.version.hooks
    make_hook(source.path, folder, f"000{len(new)}-call.patch", edits)


def compiles() -> int:
    """Count the files compiled so far, in all trees."""
    logs = paths.logs().glob("*-build-*.log")
    return sum(log.read_text().count("  CC ") for log in logs)


def test_pristine(source: Source, cache: Path) -> None:
    kernel = build.ensure_kernel(HOST, "pristine", source)
    assert kernel.image == cache / "kernels" / f"{HOST.name}-pristine-{source.id}" / "image"
    assert b"b4();" in kernel.image.read_bytes()
    assert kernel.release == "6.12.117"
    assert kernel.config_sha == config.sha(kernel.config.read_text())
    assert kernel.system_map.is_file()
    assert compiles() == 1
    assert build.ensure_kernel(HOST, "pristine", source) == kernel
    assert compiles() == 1
    assert build.built() == [kernel]


def test_what_would_be_built_again_is_not_current(source: Source) -> None:
    hook(source)
    assert build.current(HOST, "bolt", source) is None
    kernel = build.ensure_kernel(HOST, "bolt", source)
    assert build.current(HOST, "bolt", source) == kernel
    hook(source, "bolt(1);")
    assert build.current(HOST, "bolt", source) is None
    assert compiles() == 2


def test_bolt_starts_from_the_built_pristine_tree(source: Source) -> None:
    hook(source)
    bolt = build.ensure_kernel(HOST, "bolt", source)
    assert b"\tbolt();" in bolt.image.read_bytes()
    assert b"CONFIG_BOLT=y" in bolt.image.read_bytes()
    assert compiles() == 2
    pristine = build.ensure_kernel(HOST, "pristine", source)
    assert b"bolt();" not in pristine.image.read_bytes()
    assert pristine.config_sha == bolt.config_sha
    assert compiles() == 2


def test_changed_hook_builds_bolt_only(source: Source) -> None:
    hook(source)
    first = build.ensure_kernel(HOST, "bolt", source)
    hook(source, "bolt(1);")
    second = build.ensure_kernel(HOST, "bolt", source)
    assert second.stamp != first.stamp
    assert b"\tbolt(1);" in second.image.read_bytes()
    assert compiles() == 3


def test_a_changed_tree_is_built_and_then_as_before(source: Source) -> None:
    hook(source)
    good = build.ensure_kernel(HOST, "bolt", source)

    def change(tree: Path) -> str:
        file = tree / "kernel" / "cpu.c"
        file.write_text(file.read_text().replace("bolt();", "fault();"))
        return "fault"

    changed = build.changed_kernel(HOST, "bolt", source, 1, change)
    assert changed.stamp == f"{good.stamp} fault"
    assert b"\tfault();" in changed.image.read_bytes()
    again = build.ensure_kernel(HOST, "bolt", source)
    assert again.stamp == good.stamp
    assert b"fault" not in again.image.read_bytes()


def test_failed_build_goes_on_from_there(source: Source) -> None:
    hook(source)
    good = build.ensure_kernel(HOST, "bolt", source)
    hook(source, "broken();")
    with pytest.raises(BoltError, match=f"building the {HOST.name} bolt kernel failed") as failure:
        build.ensure_kernel(HOST, "bolt", source)
    assert failure.value.log and failure.value.log.is_file()
    hook(source)
    assert build.ensure_kernel(HOST, "bolt", source).stamp == good.stamp


def test_lost_tree_is_built_again_when_needed(source: Source) -> None:
    pristine = build.ensure_kernel(HOST, "pristine", source)
    pristine.tree.rename(pristine.tree.with_name("gone"))
    assert build.ensure_kernel(HOST, "pristine", source) == pristine
    assert compiles() == 1
    hook(source)
    build.ensure_kernel(HOST, "bolt", source)
    assert compiles() == 3


def test_a_tree_that_another_call_rebuilds_is_not_yielded(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = build.ensure_kernel(HOST, "pristine", source).tree
    others = [tree]

    @contextmanager
    def late(what: Path) -> Iterator[int]:
        """Take the lock of the tree when another call has begun a rebuild and has been stopped."""
        with lock(what) as fd:
            if what in others:
                others.remove(what)
                (tree / build.BUILT).unlink()
            yield fd

    monkeypatch.setattr(build, "lock", late)
    with build.built_tree(HOST, "pristine", source) as path:
        assert (path / build.BUILT).is_file()
        with pytest.raises(BlockingIOError), tree.with_name(f"{tree.name}.lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not others


@pytest.mark.parametrize("lost", [False, True])
def test_the_tree_of_a_kernel_is_that_of_its_image(
    source: Source, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "of_id", lambda name: source)
    hook(source)
    kernel = build.ensure_kernel(HOST, "bolt", source)
    with build.tree_of(kernel):
        pass
    assert compiles() == 2
    if lost:
        kernel.tree.rename(kernel.tree.with_name("gone"))
    else:
        hook(source, "broken();")
        with pytest.raises(BoltError, match="bolt kernel failed"):
            build.ensure_kernel(HOST, "bolt", source)
        assert "broken" in (kernel.tree / "kernel/cpu.c").read_text()
        hook(source)
    assert build.ensure_kernel(HOST, "bolt", source) == kernel
    with build.tree_of(kernel):
        assert "\tbolt();" in (kernel.tree / "kernel/cpu.c").read_text()
        assert b"bolt();" in (kernel.tree / HOST.image_path).read_bytes()
    hook(source, "bolt(1);")
    (kernel.tree / build.BUILT).unlink()
    with (
        pytest.raises(BoltError, match=r"the tree of the bolt kernel .* has changed"),
        build.tree_of(kernel),
    ):
        pass


def test_no_guest_runs_a_kernel_that_another_call_has_built(source: Source) -> None:
    hook(source)
    kernel = build.ensure_kernel(HOST, "bolt", source)
    mine = (kernel.folder / "kernel.json").read_text()
    build.require_unchanged(kernel.image)
    build.require_unchanged(source.path / "image")  # a kernel that the lab has not built
    for theirs in (mine.replace(kernel.stamp, "other"), ""):
        (kernel.folder / "kernel.json").write_text(theirs)
        with pytest.raises(BoltError, match="another call of the lab has meanwhile built another"):
            build.require_unchanged(kernel.image)
    kernel = build.ensure_kernel(HOST, "bolt", source)
    build.require_unchanged(kernel.image)


def test_configuration_that_did_not_take(source: Source) -> None:
    (source.path / "drop").write_text("CONFIG_SMP=y\n")
    with pytest.raises(BoltError, match="did not take the configuration CONFIG_SMP=y"):
        build.ensure_kernel(HOST, "pristine", source)
    assert build.built() == []


def test_bolt_must_not_change_the_configuration(source: Source) -> None:
    text = MAKEFILE.replace("grep -v -x -f drop >", "sed 's/_BOLT=y/&\\nCONFIG_NEW=y/' >")
    (source.path / "Makefile").write_text(text)
    with pytest.raises(BoltError, match="differs from pristine's: CONFIG_NEW"):
        build.ensure_kernel(HOST, "bolt", source)


def test_damaged_record_is_no_kernel(source: Source) -> None:
    kernel = build.ensure_kernel(HOST, "pristine", source)
    for text in ("", "{}", "[]", '{"arch": "x"}'):
        (kernel.folder / "kernel.json").write_text(text)
        assert build.load(kernel.folder) is None
    assert build.ensure_kernel(HOST, "pristine", source) == kernel


def test_other_architecture(source: Source) -> None:
    source = Source(
        source.path,
        source.id,
        source.release,
        source.version.__class__(**{**source.version.__dict__, "architectures": ("riscv",)}),
    )
    with pytest.raises(BoltError, match=f"no {HOST.name} hooks"):
        build.ensure_kernel(HOST, "pristine", source)

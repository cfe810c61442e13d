# SPDX-License-Identifier: GPL-2.0-only
"""The kernel change as text: the exported series, its hooks, and the code without CONFIG_BOLT."""

import posixpath
import re
import time
from pathlib import Path

import pytest

from boltlab import checkpatch, versions
from boltlab.arch import ARCHES
from boltlab.kernel import (
    each,
    export,
    hookcheck,
    hooks,
    identity,
    refresh,
    series,
    source,
    tree,
)
from boltlab.kernel.hookcheck import State
from boltlab.kernel.source import Source
from boltlab.torture import planted

# Series of kernels -> how many hooked files may name Bolt. 7.3 has a driver of GICv5, has more of
# the code of cpusets in cpuset-v1.c, and reads scheduler domains or deadline bandwidth in two more
# files.
MOST_FILES = {"6.12": 66, "7.3": 70}


@pytest.fixture(scope="module")
def patches(kernel_source: Source, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return export.export(kernel_source, tmp_path_factory.mktemp("export"))


def test_checkpatch(kernel_source: Source, patches: list[Path]) -> None:
    assert checkpatch.check(kernel_source.path, patches) == []


def test_git_am(kernel_source: Source, patches: list[Path]) -> None:
    """The series applies to the pristine source, which then is the tree that the lab builds."""
    export.verify(kernel_source, patches)


def test_postings_say_what_they_do(kernel_source: Source) -> None:
    """The posting "preparation" has no file of Bolt; "frame" can be built, but defers no state."""
    ends = {step.commit.posting: step.files for step in each.steps(kernel_source)}
    assert not [name for name in ends["preparation"] if "bolt" in name]
    frame = ends["frame"]
    assert b'"kernel/bolt/Kconfig"' in frame["init/Kconfig"].data
    assert b"[CPUHP_" not in frame["kernel/bolt/rows.h"].data
    assert b'#include "names.h"' not in frame["kernel/bolt/policy.c"].data
    assert "kernel/bolt/defer.c" not in frame
    assert b"bolt_intercept" not in frame["kernel/cpu.c"].data
    deferral = ends["deferral"]["kernel/bolt/rows.h"].data
    assert b"[CPUHP_SLUB_DEAD]" in deferral
    assert b"[CPUHP_CREATE_THREADS]" not in deferral, "the state is not deferred"
    assert "kernel/bolt/boot/tree.c" not in ends["batches"]


@pytest.mark.nightly
@pytest.mark.parametrize("arch", ARCHES)
def test_each_commit_builds(kernel_source: Source, jobs: int, arch: str) -> None:
    """Each commit builds without CONFIG_BOLT and, once a commit has added this option, with it.

    With W=1 no commit adds a warning. After each posting whose last commit has CONFIG_BOLT the
    kernel can be linked.
    """
    report = each.check(ARCHES[arch], kernel_source, jobs, link=True)
    assert report.objects > 0
    assert report.links > 0


def test_a_commit_has_the_headers_that_it_includes(kernel_source: Source) -> None:
    """After CONFIG_BOLT was added, no file but a test includes a later commit's header of Bolt."""
    steps = each.steps(kernel_source)
    added = re.compile(rb'^#include "([^"]+)"', re.M)
    early = [
        f"{step.commit.subject}: {name} includes {header}"
        for step in steps
        if f"{each.BOLT}Kconfig" in step.files
        for name in step.changed
        if name.endswith((".c", ".h")) and "kunit" not in name and "/tests/" not in name
        for found in added.findall(step.files[name].data)
        for header in [posixpath.normpath(f"{posixpath.dirname(name)}/{found.decode()}")]
        if header.startswith(each.BOLT) and header in steps[-1].files and header not in step.files
    ]
    assert not early


def test_hooks_sit_where_they_say(kernel_source: Source, tmp_path: Path) -> None:
    """A refresh rewrites no hook: each applies without offset or fuzz, in the function it names.

    To another release than that for which the hooks were made, hooks may apply with an offset.
    """
    assert refreshed(kernel_source, tmp_path / "hooks") == []


@pytest.mark.parametrize("series_name", [version.series for version in versions.load()[1:]])
def test_hooks_of_another_series(series_name: str, tmp_path: Path) -> None:
    """A refresh rewrites no hook for another kernel series either, if its source is installed."""
    version = versions.named(series_name)
    if not version.tarball.is_file():
        pytest.skip(f"needs {version.package}")
    assert refreshed(source.of_series(version), tmp_path / "hooks") == []


def refreshed(kernel: Source, copies: Path) -> list[str]:
    """Refresh copies of the hooks for ``kernel``; return the names of the hooks that change.

    Line numbers count only if ``kernel`` has the release for which the hooks were made.
    """
    copies.mkdir()
    series = hooks.load(kernel.version.hooks)
    for hook in series:
        (copies / hook.name).write_bytes(hook.path.read_bytes())
    changed = refresh.refresh(copies, kernel.path, kernel.release)
    if kernel.release == kernel.version.tested[0]:
        return changed
    return [hook.name for hook in series if unplaced(hook.path) != unplaced(copies / hook.name)]


def unplaced(patch: Path) -> str:
    """Return the text of ``patch`` without line numbers and without the hashes of the files."""
    text = patch.read_text(encoding="utf-8")
    text = re.sub(r"^@@ -\d+(,\d+)? \+\d+(,\d+)? @@", r"@@ \1 \2 @@", text, flags=re.M)
    return re.sub(r"^index [0-9a-f]+\.\.[0-9a-f]+", "index", text, flags=re.M)


def test_hooks_are_checked_in_a_minute(kernel_source: Source) -> None:
    """All hooks apply to the source under test, and no person has to look at one (State.LOOK)."""
    where = (kernel_source.path, kernel_source.release)
    series = hooks.load(kernel_source.version.hooks)
    start = time.monotonic()
    report = hookcheck.check(series, tree.overlaid(kernel_source.version), where, where)
    assert time.monotonic() - start < 60
    assert {verdict.hook: verdict.state for verdict in report.verdicts} == {
        hook.name: State.APPLIES for hook in series
    }
    assert sum(len(verdict.places) for verdict in report.verdicts) == sum(
        len(hook.hunks) for hook in series
    )
    assert (report.taken, report.overlay) == ((), {})


def test_planted_bugs_apply(kernel_source: Source, tmp_path: Path) -> None:
    """Each planted bug of the series applies to the tree as it is now."""
    files = tree.bolt_files(kernel_source)
    for name, bug in planted.bugs().items():
        if not bug.is_of(kernel_source.version.series):
            continue
        changed = re.findall(r"^--- a/(\S+)", bug.patch.read_text(encoding="utf-8"), re.M)
        scratch = tmp_path / name
        for file in changed:
            (scratch / file).parent.mkdir(parents=True, exist_ok=True)
            (scratch / file).write_bytes(files[file].data)
        planted.plant(bug, scratch)
        assert all((scratch / file).read_bytes() != files[file].data for file in changed)


@pytest.mark.parametrize("arch", ARCHES)
def test_identical_without_bolt(kernel_source: Source, jobs: int, arch: str) -> None:
    verdicts = identity.check(ARCHES[arch], kernel_source, jobs)
    different = [verdict for verdict in verdicts if verdict.verdict == identity.DIFFERENT]
    assert different == []
    same = [verdict.file for verdict in verdicts if verdict.verdict == identity.SAME]
    assert "kernel/cpu.c" in same
    # cpuset.c, which a refactor changes as well, is compared like every other file.
    assert "kernel/cgroup/cpuset.c" in same
    assert arch != "arm64" or "arch/arm64/kernel/smp.c" in same
    # Refactors lowered the number of hooked files, and so of identical ones: one helper, or one row
    # of a table, replaced changes in several files.
    assert len(same) >= {"x86_64": 40, "arm64": 35}[arch]


def test_refactors_do_without_bolt(kernel_source: Source) -> None:
    """Refactors can be merged without Bolt: refactors do not name Bolt, and need no other hook."""
    folder = kernel_source.version.hooks
    commits = series.load(folder).commits
    first = [commit.refactor for commit in commits]
    assert first == sorted(first, reverse=True), "a refactor comes after a hook of Bolt's"
    for commit in commits:
        if commit.refactor:
            texts = [(folder / name).read_text(encoding="utf-8") for name in commit.hooks]
            assert not [
                text for text in (commit.subject, commit.body, *texts) if "bolt" in text.lower()
            ]
    files = tree.prepared_files(kernel_source)
    assert not [name for name, file in files.items() if "bolt" in name or b"bolt" in file.data]
    assert "kernel/cgroup/cpuset.c" in files


def test_hooked_files_that_name_bolt(kernel_source: Source) -> None:
    """Each hooked file that names Bolt makes it harder to carry Bolt to a new kernel."""
    naming = set()
    for hook in hooks.load(kernel_source.version.hooks):
        file = ""
        for line in hook.path.read_text(encoding="utf-8").splitlines():
            if line.startswith("+++ b/"):
                file = line.removeprefix("+++ b/")
            elif line.startswith("+") and "bolt" in line.lower():
                naming.add(file)
    assert len(naming) <= MOST_FILES[kernel_source.version.series], sorted(naming)

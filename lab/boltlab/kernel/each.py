# SPDX-License-Identifier: GPL-2.0-only
"""Builds what each commit of the series touches, with and without CONFIG_BOLT, and each posting.

The objects of a commit are built with W=1; a warning that the pristine kernel does not have is
an error here. CONFIG_BOLT is on from the commit that lets it be chosen, and the kernel is linked
at the end of each posting from there on.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from boltlab import ui
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.kernel import build, config, export, flavours, identity, tree
from boltlab.kernel.build import Prepared
from boltlab.kernel.make import make
from boltlab.kernel.series import Commit
from boltlab.kernel.source import Source
from boltlab.kernel.tree import Content

FLAVOUR = "each"  # a pristine tree that the series is laid over, commit by commit
BOLT = "kernel/bolt/"
_SECTION = re.compile(r"^config (BOLT\w*)$", re.M)
_WARNING = re.compile(r"^(?:\./)?([\w./+-]+):\d+(?::\d+)?: warning: (.*)$")


@dataclass
class Step:
    """The tree after one commit: all files of the series so far, those that it changed."""

    commit: Commit
    files: dict[str, Content]
    changed: list[str]


@dataclass(frozen=True)
class Report:
    """What was built for one architecture, and what could not be."""

    arch: str
    objects: int  # counted once for each commit and configuration
    links: int
    unbuilt: tuple[str, ...]  # files whose code no object of this configuration has


@dataclass
class Run:
    """One architecture in one configuration, from the first commit to the last."""

    arch: Arch
    source: Source
    ready: Prepared
    pristine: Path
    jobs: int
    bolt: bool
    symbols: tuple[str, ...] | None = None  # of Kconfig, as configured
    known: Counter[str] = field(default_factory=Counter)  # warnings that the pristine kernel has
    objects: int = 0
    links: int = 0


def steps(source: Source) -> list[Step]:
    """Return the tree after each commit of the series for ``source``."""
    what = export.plan(source)
    found: list[Step] = []
    with export.scratch_tree(what, source) as work:
        names = [name for hook in what.hooks.values() for name in hook.files]
        before = {name: Content((work / name).read_bytes()) for name in names}
        files: dict[str, Content] = {}
        for number, commit in enumerate(export.lay(what, source, work)):
            names += what.files[number]
            now = {name: Content((work / name).read_bytes()) for name in dict.fromkeys(names)}
            changed = [name for name, content in now.items() if before.get(name) != content]
            files = files | {name: now[name] for name in changed}
            found.append(Step(commit, files, changed))
            before = now
    return found


def check(arch: Arch, source: Source, jobs: int = 1) -> Report:
    """Build every step of the series for ``arch``.

    Raises BoltError naming the commit that does not build, or warns where the pristine kernel
    does not.
    """
    found = steps(source)
    with build.built_tree(arch, "pristine", source, jobs) as pristine:
        pass
    objects = links = 0
    built: set[str] = set()
    for bolt in (False, True):
        with build.prepared(arch, FLAVOUR, source, jobs) as ready:
            run = Run(arch, source, ready, pristine, jobs, bolt)
            built |= _series(run, found)
            objects, links = objects + run.objects, links + run.links
    code = {name for step in found for name in step.changed if name.endswith((".c", ".S"))}
    unbuilt = sorted(name for name in code - built if not name.startswith("tools/"))
    return Report(arch.name, objects, links, tuple(unbuilt))


def _series(run: Run, found: Sequence[Step]) -> set[str]:
    """Build all steps in one configuration; return the source files whose code was built."""
    hooked = {name for step in found for name in step.changed}
    first = sorted({path for name in hooked for path in identity.objects_of(name, run.pristine)})
    _configure(run, {})
    run.known = warnings(_make(run, first, "the pristine kernel", quiet=False))
    built: set[str] = set()
    for number, step in enumerate(found):
        title = f"'{step.commit.subject}'"
        tree.sync(run.ready.path, run.source.path, step.files)
        selected = _configure(run, step.files)
        wanted = targets(run, step, selected)
        built |= {name for name in step.changed if _covers(name, wanted, run.pristine, selected)}
        log = _make(run, wanted, f"{title} {'with' if run.bolt else 'without'} CONFIG_BOLT")
        run.objects += len(wanted)
        fresh = warnings(log) - run.known
        if fresh:
            raise BoltError(f"{title} on {run.arch.name}: {sorted(fresh)[0]}", run.ready.log)
        last = number + 1 == len(found) or found[number + 1].commit.posting != step.commit.posting
        if last and selected:
            _make(run, [run.arch.image_target], f"posting '{step.commit.posting}'", extra=False)
            run.links += 1
    return built


def _configure(run: Run, files: dict[str, Content]) -> bool:
    """Configure the tree if what can be chosen has changed; tell whether CONFIG_BOLT is on."""
    sourced = b"kernel/bolt/Kconfig" in files.get("init/Kconfig", Content(b"")).data
    text = files[f"{BOLT}Kconfig"].data.decode() if sourced else ""
    symbols = tuple(_SECTION.findall(text))
    if symbols != run.symbols:
        run.symbols = symbols
        wanted = flavours.get("bolt").config if run.bolt else ("CONFIG_BOLT=n",)
        lines = [line for line in wanted if line.partition("=")[0][7:] in symbols]
        fragment = run.arch.config_fragment.read_text(encoding="utf-8")
        fragment += "".join(f"{line}\n" for line in lines)
        config.configure(run.ready.path, run.arch, fragment, run.ready.log, run.ready.lock_fd)
    return run.bolt and "BOLT" in symbols


def targets(run: Run, step: Step, selected: bool) -> list[str]:
    """Return what make is to build for ``step``."""
    found: set[str] = set()
    for name in step.changed:
        if name.endswith(".h"):
            # Whatever the series has changed so far and includes the header.
            stem = re.escape(name.rsplit("/", 1)[-1])
            include = re.compile(rf'^#\s*include [<"][^">]*\b{stem}'.encode(), re.M)
            users = [other for other, text in step.files.items() if include.search(text.data)]
        else:
            users = [name]
        for user in users:
            found.update(_objects(run, user, step.files, selected))
    return sorted(found)


def _objects(run: Run, name: str, files: dict[str, Content], selected: bool) -> list[str]:
    if (run.source.path / name).exists():
        return identity.objects_of(name, run.pristine)
    if not selected:
        return []
    if name.startswith(BOLT):
        # kernel/cpu.c includes one of them.
        return [BOLT, "kernel/cpu.o"]
    makefile = files.get(f"{Path(name).parent}/Makefile")
    if name.endswith(".c") and makefile and Path(name).stem.encode() + b".o" in makefile.data:
        return [f"{name[:-2]}.o"]
    return []


def _covers(name: str, targets: Sequence[str], pristine: Path, selected: bool) -> bool:
    if (pristine / name).exists():
        return bool(identity.objects_of(name, pristine))
    return selected and (name.startswith(BOLT) or f"{name[:-2]}.o" in targets)


def _make(
    run: Run, targets: Sequence[str], title: str, *, extra: bool = True, quiet: bool = True
) -> str:
    """Build ``targets``, with more warnings if ``extra``; return what make said."""
    if not targets:
        return ""
    begin = run.ready.log.stat().st_size if run.ready.log.exists() else 0
    say = f"{run.arch.name}: building {title}"
    if not quiet:
        ui.say(say)
    make(
        run.ready.path,
        run.arch,
        targets,
        run.ready.log,
        title=say,
        jobs=run.jobs,
        variables={"W": "1"} if extra else None,
        lock_fd=run.ready.lock_fd,
    )
    with run.ready.log.open("rb") as log:
        log.seek(begin)
        return log.read().decode(errors="replace")


def warnings(log: str) -> Counter[str]:
    """Return the warnings in ``log`` without their line numbers, and how often each came."""
    found = (_WARNING.match(line) for line in log.splitlines())
    return Counter({f"{match[1]}: {match[2]}": 1 for match in found if match})

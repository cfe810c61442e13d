# SPDX-License-Identifier: GPL-2.0-only
"""Builds the objects that each commit of the series touches, with and without CONFIG_BOLT.

The objects of a commit are built with W=1; a warning that the pristine kernel does not have fails
the check. Builds with CONFIG_BOLT begin at the commit that adds the option. Earlier commits have
no such option, and are built once. With --link the kernel is also linked at the end of each posting
whose last commit has CONFIG_BOLT.

The cache remembers which commits have been built. So a check that was interrupted goes on at the
commit where it ended, and after a change of a hook or overlay file only the commits from that
file's commit on are built again.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boltlab import paths, ui
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.kernel import build, config, export, flavours, identity, tree
from boltlab.kernel.build import Prepared
from boltlab.kernel.make import make
from boltlab.kernel.series import Commit
from boltlab.kernel.source import Source
from boltlab.kernel.tree import Content

FLAVOUR = "each"  # its tree is pristine at first, and then gets the files of commit after commit
BOLT = "kernel/bolt/"
_SECTION = re.compile(r"^config (BOLT\w*)$", re.M)
_WARNING = re.compile(r"^(?:\./)?([\w./+-]+):\d+(?::\d+)?: warning: (.*)$")


@dataclass
class Step:
    """The tree after one commit: what the series has added or changed so far."""

    commit: Commit
    files: dict[str, Content]  # by kernel path: all files that the series has added or changed
    changed: list[str]  # the paths of those files that this commit adds or changes


@dataclass(frozen=True)
class Report:
    """What a check has built for one architecture."""

    arch: str
    # An object counts once for each commit and configuration; all of kernel/bolt/ is one object.
    objects: int
    links: int
    kept: int  # how many of the objects an earlier check has built
    unbuilt: tuple[str, ...]  # C and assembly files outside tools/ that no build has compiled


class Past:
    """What earlier checks of one architecture have found, by keys.

    A record is either of the build of one step in one configuration, or of the warnings that the
    pristine kernel has.
    """

    def __init__(self, file: Path) -> None:
        """Read ``file``, if there is such a file."""
        self.file = file
        self.records: dict[str, Any] = {}
        if file.exists():
            self.records = json.loads(file.read_text(encoding="utf-8"))

    def keep(self, key: str, record: Mapping[str, Any]) -> None:
        """Add ``record`` under ``key``, and write the file."""
        self.records[key] = dict(record)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        half = self.file.with_suffix(".half")
        half.write_text(json.dumps(self.records, indent=1) + "\n", encoding="utf-8")
        half.replace(self.file)


@dataclass
class Run:
    """What it takes to build all commits in turn, for one architecture in one configuration."""

    arch: Arch
    source: Source
    ready: Prepared
    pristine: Path
    jobs: int
    bolt: bool
    link: bool = False
    begun: bool = False  # this run has built a step
    symbols: tuple[str, ...] | None = None  # Bolt's options in Kconfig when .config was made
    known: set[str] = field(default_factory=set)  # warnings that the pristine kernel has
    objects: int = 0
    links: int = 0
    kept: int = 0


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


def check(arch: Arch, source: Source, jobs: int = 1, *, link: bool = False) -> Report:
    """Build every step of the series for ``arch`` that no earlier check has built.

    If ``link``, the kernel is also linked at the end of each posting whose last commit has
    CONFIG_BOLT. Raises BoltError naming the commit that does not build, or whose build has a
    warning that the pristine kernel's build does not have, or naming the posting after which the
    kernel does not link.
    """
    found = steps(source)
    with build.built_tree(arch, "pristine", source, jobs) as pristine:
        pass
    runs: list[Run] = []
    built: set[str] = set()
    for bolt in (False, True):
        with build.prepared(arch, FLAVOUR, source, jobs) as ready:
            past = Past(paths.cache() / "each" / f"{arch.name}.json")
            runs.append(Run(arch, source, ready, pristine, jobs, bolt, link))
            built |= _series(runs[-1], found, past)
    code = {name for step in found for name in step.changed if name.endswith((".c", ".S"))}
    unbuilt = sorted(name for name in code - built if not name.startswith("tools/"))
    return Report(
        arch.name,
        sum(run.objects for run in runs),
        sum(run.links for run in runs),
        sum(run.kept for run in runs),
        tuple(unbuilt),
    )


def keys(begin: str, found: Sequence[Step]) -> list[str]:
    """Return a key for each step: a hash of ``begin`` and the files changed in or before it."""
    sums = hashlib.sha256(begin.encode())
    made = []
    for step in found:
        for name in sorted(step.changed):
            content = step.files[name]
            sums.update(f"{name} {content.executable} ".encode())
            sums.update(hashlib.sha256(content.data).digest())
        made.append(sums.hexdigest())
    return made


def _begin(run: Run) -> str:
    """Return a text that names what the kernels of ``run`` depend on.

    The text names neither the files that Bolt's commits change, nor whether CONFIG_BOLT is set.
    """
    parts = (run.source.path.name, run.arch.name, build.toolchain(run.arch))
    return repr((parts, [_fragment(run), *flavours.get("bolt").config]))


def _fragment(run: Run) -> str:
    """Return the configuration fragment of the kernels of ``run``, without Bolt's options."""
    return run.source.version.translated(flavours.get(FLAVOUR).fragment(run.arch))


def _series(run: Run, found: Sequence[Step], past: Past) -> set[str]:
    """Build the steps in one configuration; return the source files whose code was built.

    A step is not built again if a record says that the same objects were built, and, if the kernel
    is to be linked after the step, that the kernel was linked. With CONFIG_BOLT, the steps before
    the one that adds this option are not built at all. The result includes files that a record
    names.
    """
    begin = _begin(run)
    run.known = _known(run, found, begin, past)
    built: set[str] = set()
    for number, (step, key) in enumerate(
        zip(found, keys(f"{run.bolt} {begin}", found), strict=True)
    ):
        symbols = _symbols(step.files)
        selected = run.bolt and "BOLT" in symbols
        if run.bolt and not selected:
            continue
        last = number + 1 == len(found) or found[number + 1].commit.posting != step.commit.posting
        linking = run.link and last and selected
        wanted = targets(run, step, selected)
        record = past.records.get(key)
        if record and record["targets"] == wanted and (record["linked"] or not linking):
            run.kept += len(wanted)
        else:
            record = _build(run, step, symbols, wanted, linking)
            past.keep(key, record)
        run.objects += len(wanted)
        run.links += bool(record["linked"])
        built.update(record["files"])
    return built


def _known(run: Run, found: Sequence[Step], begin: str, past: Past) -> set[str]:
    """Return the pristine kernel's warnings in the objects of the files that the series changes."""
    hooked = {name for step in found for name in step.changed}
    first = sorted({path for name in hooked for path in identity.objects_of(name, run.pristine)})
    key = hashlib.sha256(repr((begin, first)).encode()).hexdigest()
    if key not in past.records:
        _configure(run, ())
        _remove(run.ready.path, first)
        log = _make(run, first, "the pristine kernel", quiet=False)
        past.keep(key, {"warnings": sorted(warnings(log))})
    return set(past.records[key]["warnings"])


def _build(
    run: Run, step: Step, symbols: tuple[str, ...], wanted: list[str], linking: bool
) -> dict[str, Any]:
    """Build the objects ``wanted`` of ``step``, link if ``linking``; return a record."""
    title = f"'{step.commit.subject}'"
    selected = run.bolt and "BOLT" in symbols
    tree.sync(run.ready.path, run.source.path, step.files)
    _configure(run, symbols)
    if not run.begun:
        # A check that failed or was interrupted may have built some of these objects, and make
        # would not print the warnings of such an object again.
        _remove(run.ready.path, wanted)
        run.begun = True
    log = _make(run, wanted, f"{title} {'with' if run.bolt else 'without'} CONFIG_BOLT")
    fresh = warnings(log) - run.known
    if fresh:
        raise BoltError(f"{title} on {run.arch.name}: {sorted(fresh)[0]}", run.ready.log)
    if linking:
        _make(run, [run.arch.image_target], f"posting '{step.commit.posting}'", extra=False)
    # In the commit that adds CONFIG_BOLT, make also builds new files of earlier commits. So the
    # record names all new files so far whose objects were built.
    new = [name for name in step.files if not (run.source.path / name).exists()]
    files = []
    for name in dict.fromkeys([*step.changed, *new]):
        objects = _objects(run, name, step.files, selected)
        if objects and set(objects) <= set(wanted):
            files.append(name)
    return {"targets": wanted, "linked": linking, "files": files}


def _remove(top: Path, targets: Sequence[str]) -> None:
    """Remove the objects ``targets`` below ``top``, so that make prints all warnings again."""
    for name in targets:
        path = top / name
        for file in list(path.rglob("*.o")) if path.is_dir() else [path]:
            file.unlink(missing_ok=True)


def _symbols(files: Mapping[str, Content]) -> tuple[str, ...]:
    """Return Bolt's symbols of Kconfig that can be chosen in a tree with ``files``."""
    sourced = b"kernel/bolt/Kconfig" in files.get("init/Kconfig", Content(b"")).data
    return tuple(_SECTION.findall(files[f"{BOLT}Kconfig"].data.decode())) if sourced else ()


def _configure(run: Run, symbols: tuple[str, ...]) -> None:
    """Configure the tree if ``symbols``, the options that can be chosen, differ from last time."""
    if symbols == run.symbols:
        return
    run.symbols = symbols
    wanted = flavours.get("bolt").config if run.bolt else ("CONFIG_BOLT=n",)
    lines = [line for line in wanted if line.partition("=")[0][7:] in symbols]
    fragment = _fragment(run) + "".join(f"{line}\n" for line in lines)
    config.configure(run.ready.path, run.arch, fragment, run.ready.log, run.ready.lock_fd)


def targets(run: Run, step: Step, selected: bool) -> list[str]:
    """Return the objects that make is to build for ``step``."""
    found: set[str] = set()
    for name in step.changed:
        if name.endswith(".h"):
            # Build all files that include the header and that the series has changed so far.
            stem = re.escape(name.rsplit("/", 1)[-1])
            include = re.compile(rf'^#\s*include [<"][^">]*\b{stem}'.encode(), re.M)
            users = [other for other, text in step.files.items() if include.search(text.data)]
        elif name.endswith("/Makefile"):
            # Build all files of the Makefile's directory that the pristine kernel does not have.
            beside = [other for other in step.files if Path(other).parent == Path(name).parent]
            users = [other for other in beside if not (run.source.path / other).exists()]
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
        # kernel/cpu.c includes files of kernel/bolt/, and so is built as well.
        return [BOLT, "kernel/cpu.o"]
    if name.startswith("arch/") and not name.startswith(f"arch/{run.arch.srcarch}/"):
        return []
    makefile = files.get(f"{Path(name).parent}/Makefile", Content(b"")).data.decode()
    own = f"{Path(name).stem}.o"
    if name.endswith((".c", ".S")) and own in makefile.split():
        return [f"{Path(name).parent}/{own}"]
    return []


def _make(
    run: Run, targets: Sequence[str], title: str, *, extra: bool = True, quiet: bool = True
) -> str:
    """Build ``targets``, with the warnings of W=1 if ``extra``; return make's output.

    Unless ``quiet``, the user sees a line with ``title`` first.
    """
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


def warnings(log: str) -> set[str]:
    """Return the warnings in ``log`` without line numbers.

    A warning that a header causes in several objects, or that make repeats, counts as one.
    """
    found = (_WARNING.match(line) for line in log.splitlines())
    return {f"{match[1]}: {match[2]}" for match in found if match}

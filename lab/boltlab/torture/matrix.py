# SPDX-License-Identifier: GPL-2.0-only
"""Reads which scenarios torture runs on which configurations (lab/torture), and a run's counts."""

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from boltlab import paths
from boltlab.arch import ARCHES, Arch
from boltlab.errors import USAGE, BoltError
from boltlab.guest import busybox, console, guestimage, qemu, scenario
from boltlab.guest.machine import Machine, split
from boltlab.guest.qemu import Guest
from boltlab.guest.scenario import Scenario
from boltlab.kernel.build import Kernel, tree_of
from boltlab.kernel.config import parse as parse_config

FOLDER = paths.REPO / "lab" / "torture"
SIZES = ("cpus", "nodes", "threads", "memory")  # fields of a machine that a configuration sets
SECONDS = 60  # of the guest's time: ``{seconds}`` in commands, if the scenario sets no other number

_ACTOR = re.compile(
    r"^# actor (\S+) asks=(\d) attempted=(\d+) done=(\d+) refused=(\d+) wrong=(\d+)$"
)
# The kernel's torture modules print this now and then: since the start of the test, how many
# attempts to bring a CPU online have succeeded, and how many were made; then the same for offline.
_ONOFF = re.compile(r"onoff: (\d+)/(\d+):(\d+)/(\d+) ")
_END = re.compile(r"torture:.*End of test: (\w+)")


@dataclass(frozen=True)
class Config:
    """A configuration on which scenarios run: a row of configs.toml, which explains the fields.

    A row may set SIZES of ``machine``. SIZES that a row does not set have Machine's defaults,
    except the memory, which the scenario then sets. The scenario always sets the devices.
    """

    name: str
    description: str
    kernel: str
    goal: int
    needs: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    stories: tuple[str, ...] = ()
    shows: str = ""
    append: str = ""
    arches: tuple[str, ...] = tuple(ARCHES)
    series: tuple[str, ...] = ()
    machine: Machine = field(default_factory=functools.partial(Machine, memory=""))
    slow: float = 1
    ignored: tuple[str, ...] = ()

    def is_of(self, series: str) -> bool:
        """Tell whether kernels of ``series`` can have the configuration."""
        return not self.series or series in self.series


@dataclass(frozen=True)
class Story:
    """A scenario that torture runs, with the table ``torture`` of the scenario's file.

    In the scenario's commands ``{seed}``, ``{requests}``, ``{seconds}``, ``{loads}`` (see Config)
    and ``{variant}`` are filled in. ``share`` is the share of a configuration's goal that this
    scenario has to reach. ``all_succeed``: no request may be refused. ``counted`` is false if
    nothing counts the scenario's requests. ``scripts`` are files of the kernel's source that
    busybox runs. Each entry of ``variants`` in the table makes one scenario, in which the commands
    of the entry, divided by semicolons, replace the command ``{variant}``. ``pauses``: the host
    stops single CPUs now and then, for which each CPU must have a thread of QEMU of its own. ``on``
    lists, unless it is empty, the only configurations on which the scenario runs, ``not_on``
    configurations on which the scenario does not run. ``needs``: settings of the kernel's
    configuration without which the scenario is skipped. ``seconds``: see SECONDS.
    ``ignored``: see Config.
    """

    name: str
    scenario: Scenario
    variant: tuple[str, ...] = ()
    share: float = 1
    seconds: int = SECONDS
    all_succeed: bool = False
    counted: bool = True
    needs: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    not_on: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    pauses: bool = False
    ignored: tuple[str, ...] = ()

    @property
    def accels(self) -> tuple[str, ...]:
        """Return the accelerators with which the scenario runs."""
        return ("mttcg",) if self.pauses else qemu.EMULATED

    def fits(self, config: Config) -> bool:
        """Tell whether ``on``, ``not_on`` and ``config.stories`` let the scenario run."""
        return (
            config.name not in self.not_on
            and (not self.on or config.name in self.on)
            and (not config.stories or self.name in config.stories)
        )


@dataclass(frozen=True)
class Case:
    """One run, with all that is needed to repeat it on a kernel of the same source.

    ``option`` is ``--races`` in a run of ``./bolt torture --races``, otherwise "". ``limit`` is
    the number of seconds of the host after which the guest counts as hung; if ``limit`` is 0, the
    guest gets more time the longer the scenario runs and the slower the configuration is.
    ``source``, a text that is empty or begins with a space, has the options that name the kernel's
    source.
    """

    arch: str
    config: Config
    story: Story
    accel: str
    seed: int
    requests: int
    option: str = ""
    limit: float = 0
    source: str = ""

    @property
    def cell(self) -> tuple[str, str, str]:
        """Return the cell of the tally to which the run's counts are added."""
        return (self.config.name, self.arch, self.story.name)

    @property
    def machine(self) -> Machine:
        """Return the scenario's machine with ``accel`` and the SIZES that the configuration has."""
        sizes = {key: getattr(self.config.machine, key) for key in SIZES}
        given = {key: size for key, size in sizes.items() if size}
        return replace(self.story.scenario.machine, accel=self.accel, **given)

    @property
    def seconds(self) -> int:
        """Return ``{seconds}`` of the scenario's commands: seconds of the guest's time."""
        return self.story.seconds

    @property
    def timeout(self) -> float:
        """Return the number of seconds of the host after which the guest counts as hung."""
        return self.limit or 300 + 20 * self.seconds * self.config.slow

    def line(self) -> str:
        """Return the command that repeats the run."""
        return (
            f"./bolt torture {self.option and f'{self.option} '}--arch {self.arch} "
            f"--config {self.config.name} "
            f"--scenario {self.story.name} --accel {self.accel} --seed {self.seed} "
            f"--requests {self.requests}{self.source}"
        )

    def script(self) -> tuple[str, ...]:
        """Return the guest's commands."""
        values = {"seed": self.seed, "requests": self.requests, "seconds": self.seconds}
        loads = ",".join(self.config.loads)
        lines: list[str] = [*self.config.commands]
        for line in self.story.scenario.commands:
            each = self.story.variant if line == "{variant}" else (line,)
            lines += [one.format(**values, loads=loads) for one in each]
        return tuple(lines)

    def guest(self, kernel: Kernel) -> Guest:
        """Return the guest that does the run on ``kernel``."""
        arch, config, story = ARCHES[self.arch], self.config, self.story
        wanted = replace(
            story.scenario,
            commands=self.script(),
            kernel=config.kernel,
            machine=self.machine,
            append=f"{story.scenario.append} {config.append}".strip(),
            timeout=round(self.timeout),
        )
        guest = wanted.guest(arch, kernel, arch.default_setting)
        programs = {**guest.programs, **_scripts(arch, kernel, story.scripts)}
        return replace(guest, programs=programs, seed=self.seed)


@dataclass
class Counts:
    """How requests have ended: done, refused for a good reason, or wrong."""

    attempted: int = 0
    done: int = 0
    refused: int = 0
    wrong: int = 0

    def add(self, attempted: int, done: int, refused: int = 0, wrong: int = 0) -> None:
        """Add the numbers of further requests to the counts."""
        self.attempted += attempted
        self.done += done
        self.refused += refused
        self.wrong += wrong


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    ``why`` is "" if all was well. ``ignored`` is the number of complaints of the kernel that
    do not make the run fail: see the function ignored().
    """

    counts: Counts
    virtual_s: float
    host_s: float
    why: str = ""
    ignored: int = 0
    folder: Path | None = field(default=None, compare=False)


def count(records: Iterable[Mapping[str, Any]], console_lines: Iterable[str]) -> Counts:
    """Return the counts of requests that programs and the kernel's torture modules have printed."""
    counts = Counts()
    for row in records:
        found = _ACTOR.match(str(row.get("output", "")))
        if found and found[2] == "1":
            counts.add(*(int(found[group]) for group in (3, 4, 5, 6)))
    last: re.Match[str] | None = None
    for line in console_lines:
        last = _ONOFF.search(line) or last
    if last:
        up_done, up, down_done, down = (int(group) for group in last.groups())
        counts.add(up, up_done, wrong=up - up_done)
        counts.add(down, down_done, wrong=down - down_done)
    return counts


def complaint(case: Case, counts: Counts, said: Sequence[str]) -> str:
    """Return what is wrong with a run whose guest ended well and whose kernel log is ``said``.

    Returns "" if nothing is wrong.
    """
    shows = case.config.shows
    if shows and not any(re.search(shows, line) for line in said):
        return f"the kernel does not say '{shows}'"
    ends = [found[1] for line in said if (found := _END.search(line))]
    wanted = sum(name in ("rcutorture", "locktorture") for name in case.story.scenario.modules)
    if set(ends) != ({"SUCCESS"} if wanted else set()):
        return f"the kernel's torture ended with {' '.join(ends) or 'nothing'}"
    if case.story.counted and not counts.attempted:
        return "no request was made"
    if counts.wrong:
        return f"{counts.wrong} of {counts.attempted} requests failed"
    if case.story.all_succeed and counts.refused:
        return f"{counts.refused} of {counts.attempted} requests were refused"
    return ""


def native(story: str) -> bool:
    """Tell whether the scenario ``story`` runs with Bolt disabled: its name has "native" then."""
    return "native" in story.split("-")


def ignored(case: Case) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of complaints of the kernel that do not make ``case`` fail."""
    return tuple(re.compile(text) for text in (*case.config.ignored, *case.story.ignored))


def meets(kernel: Kernel, needs: Sequence[str]) -> bool:
    """Tell whether the configuration of ``kernel`` has all settings that are needed."""
    have = parse_config(kernel.config.read_text(encoding="utf-8"))
    return all(have.get(need.partition("=")[0], "n") == need.partition("=")[2] for need in needs)


def last_moment(folder: Path) -> float:
    """Return the guest's time, in seconds, at which its kernel wrote its last line.

    Returns 0 if there is no such line.
    """
    last = 0.0
    for name in ("console.log", "dmesg.log"):
        path = folder / name
        if path.exists():
            with path.open(encoding="utf-8", errors="replace") as file:
                last = max(last, *(console.moment(line) for line in file), 0.0)
    return last


def _scripts(arch: Arch, kernel: Kernel, wanted: Sequence[str]) -> dict[str, guestimage.Node]:
    """Return the scripts ``wanted`` of the kernel's source as nodes of the initramfs.

    If there are any, the result also has busybox, which runs the scripts.
    """
    if not wanted:
        return {}
    with tree_of(kernel):
        nodes = {
            f"bin/{Path(name).name}": guestimage.file((kernel.tree / name).read_bytes(), 0o755)
            for name in wanted
        }
    program = busybox.ensure(arch).read_bytes()
    profile = guestimage.file(b"/bin/busybox --install -s /bin\n")
    return {**nodes, "bin/busybox": guestimage.file(program, 0o755), "bin/setup": profile}


@functools.cache
def configs() -> Mapping[str, Config]:
    """Return all rows of configs.toml by name; raise BoltError if a row has an unknown key."""
    rows = tomllib.loads((FOLDER / "configs.toml").read_text(encoding="utf-8"))
    known = {entry.name for entry in fields(Config)} - {"name", "machine"} | {*SIZES}
    found = {}
    for name, row in rows.items():
        for key in row.keys() - known:
            raise BoltError(f"torture configuration {name}: unknown key '{key}'")
        sizes, own = split(_tuples(row))
        found[name] = Config(name=name, machine=Machine(**{"memory": "", **sizes}), **own)
    return found


@functools.cache
def stories() -> Mapping[str, Story]:
    """Return torture's scenarios by name; each variant of a scenario has a name of its own.

    Raises BoltError as parse() does.
    """
    found: dict[str, Story] = {}
    for path in sorted((FOLDER / "scenarios").glob("*.toml")):
        for story in parse(path.stem, tomllib.loads(path.read_text(encoding="utf-8"))):
            found[story.name] = story
    return found


def parse(name: str, table: dict[str, Any]) -> list[Story]:
    """Return the stories in ``table``, a scenario with a table ``torture``.

    Raises BoltError naming what is wrong in the table.
    """
    own = dict(table.get("torture", {}))
    rest = {key: value for key, value in table.items() if key != "torture"}
    plain = scenario.parse(name, rest)
    variants = own.pop("variants", {})
    known = {entry.name for entry in fields(Story)} - {"name", "scenario", "variant"}
    for key in own.keys() - known:
        raise BoltError(f"torture scenario {name}: unknown key '{key}'")
    values = _tuples(own)
    if not variants:
        return [Story(name=name, scenario=plain, **values)]
    return [
        Story(
            name=f"{name}-{variant}",
            scenario=plain,
            variant=tuple(line.strip() for line in commands.split(";")),
            **values,
        )
        for variant, commands in variants.items()
    ]


def select(table: Mapping[str, Any], wanted: str | None, what: str) -> list[Any]:
    """Return the rows of ``table`` that ``wanted`` names, or all rows if ``wanted`` is None.

    Raises BoltError for an unknown name.
    """
    if wanted is None:
        return list(table.values())
    for name in wanted.split(","):
        if name not in table:
            known = ", ".join(table)
            raise BoltError(f"no {what} '{name}' (there are: {known})", code=USAGE)
    return [table[name] for name in wanted.split(",")]


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}

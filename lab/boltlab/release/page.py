# SPDX-License-Identifier: GPL-2.0-only
"""Writes the page of a release check: steps, figures, torture, planted bugs, open requirements."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from boltlab import codec, coverage, kept, tables, ui
from boltlab.arch import ARCHES
from boltlab.bench import results
from boltlab.bench.results import Results
from boltlab.boot import bootfile
from boltlab.boot.bootfile import BootResults
from boltlab.errors import BoltError
from boltlab.guest import qemu
from boltlab.kernel import tree
from boltlab.release.steps import TORTURE, Done, Step, without_result
from boltlab.torture import matrix, planted, tally
from boltlab.versions import Version

PLANTED = "planted.json"
VARIANT = "bolt"
# A median is marked if it exceeds the one in results/ by more than this share of the latter.
MORE = 0.05
# Names of boots in results/ leave this setting out.
UNNAMED = "default"
# The coverage table has this word in rows of requirements that are not yet shown to be met.
OPEN = re.compile(r"\bopen\b(?=[:;,.]|$| for| on)")


def write(
    file: Path,
    steps: Mapping[str, Step],
    done: Mapping[str, Done],
    place: Path,
    version: Version,
    commit: str,
) -> None:
    """Write the page of a release of ``commit`` on ``version``.

    ``place`` is the folder with the figures of this release check. Raises BoltError when ``file``
    cannot be written, or when a file that the page is made from is damaged.
    """
    parts = [
        ["<!-- SPDX-License-Identifier: GPL-2.0-only -->", "# Release check", ""],
        versions_of(version, commit),
        ["", "## Steps", "", *steps_of(steps, done, place)],
        ["", "## Figures against the last release", "", *figures(place, version)],
        ["", "## Boots against the last release", "", *boots(place, version)],
        ["", "## Torture", "", *torture(version, max(step.least for step in steps.values()))],
        ["", "## Planted bugs", "", *bugs(version)],
        ["", "## Open rows", "", *rows(coverage.load())],
    ]
    text = "\n".join(line for part in parts for line in part) + "\n"
    codec.save(text, file)


def versions_of(version: Version, commit: str) -> list[str]:
    """Return lines with Bolt's ``commit`` and the versions of Linux and QEMU of the check."""
    emulators = []
    for arch in ARCHES.values():
        try:
            emulators.append(f"{arch.name} {qemu.version(arch.qemu)}")
        except BoltError:
            emulators.append(f"{arch.name} none")
    return [
        f"* Bolt: commit {commit}",
        f"* Linux: {version.series} ({', '.join(version.tested)})",
        f"* Architectures: {', '.join(version.architectures)}",
        f"* QEMU: {', '.join(emulators)}",
    ]


def steps_of(steps: Mapping[str, Step], done: Mapping[str, Done], place: Path) -> list[str]:
    """Return the table of the steps, in their order."""
    lines = []
    for name, step in steps.items():
        ended = done.get(name)
        if ended is None:
            lines.append([name, step.what, without_result(step, place), "", ""])
            continue
        verdict = "failed" if ended.status else "passed"
        lines.append([name, step.what, verdict, ui.clock(ended.seconds), ended.date])
    return tables.markdown(("step", "what", "result", "took", "date"), lines)


def figures(place: Path, version: Version) -> list[str]:
    """Return tables of Bolt's medians in the folder ``place`` beside the newest in results/."""
    found = []
    for file in sorted(place.glob("bench*.json")):
        now = results.load(file)
        name, last = _last(now, version)
        if last is None:
            found += [f"{now.arch} {now.setting}: there is nothing to compare with.", ""]
            continue
        found += [f"{now.arch} {now.setting}, ms; last: `results/{name}`", ""]
        found += tables.markdown(("case", "CPUs", "last", "now", "change"), compare(last, now))
        found += [""]
    return found[:-1] or ["Not measured."]


def compare(last: Results, now: Results) -> list[list[str]]:
    """Return a row for each case that Bolt has in both results: its medians, and the change."""
    before = {
        (case.case, case.batch, case.cpus): case.variants[VARIANT].median
        for case in last.cases
        if VARIANT in case.variants
    }
    found = []
    for case in now.cases:
        key = (case.case, case.batch, case.cpus)
        if VARIANT not in case.variants or key not in before:
            continue
        old, new = before[key], case.variants[VARIANT].median
        size = f"{case.batch} of {case.cpus or now.cpus}"
        found.append([case.case, size, f"{old:.3g}", f"{new:.3g}", _change(old, new)])
    return found


def _change(old: float, new: float) -> str:
    """Return by which share ``new`` exceeds ``old``, and a mark if that is more than MORE."""
    change = new / old - 1 if old else 0.0
    return f"{change:+.1%}{' **more**' if change > MORE else ''}"


def boots(place: Path, version: Version) -> list[str]:
    """Return tables of the CPU-dependent times of boots in the folder ``place``.

    A table has the boots of one architecture, beside the newest boots in results/.
    """
    found = []
    for file in sorted(place.glob("boot*.json")):
        now = bootfile.load(file)
        try:
            kept_file = kept.find(_boots_named(now, version))
        except BoltError:
            found += [f"{now.arch} {now.setting}: there is nothing to compare with.", ""]
            continue
        found += [f"{now.arch} {now.setting}, ms; last: `results/{kept_file.name}`", ""]
        lines = compare_boots(bootfile.load(kept_file), now)
        found += tables.markdown(("variant", "CPUs/nodes", "last", "now", "change"), lines)
        found += [""]
    return found[:-1] or ["Not measured."]


def compare_boots(last: BootResults, now: BootResults) -> list[list[str]]:
    """Return a row for each boot of several CPUs that both results have: its times, the change.

    The times are CPU-dependent: the boot's time less that of the variant's boot on one CPU.
    """
    found = []
    for size in bootfile.sizes(now):
        before = bootfile.times(last, size)
        for name, new in bootfile.times(now, size).items():
            if old := before.get(name):
                machine = f"{size[0]}/{size[1]}"
                found.append([name, machine, f"{old:.1f}", f"{new:.1f}", _change(old, new)])
    return found


def _boots_named(now: BootResults, version: Version) -> str:
    """Return the name in results/, without a date, of boots like ``now``."""
    setting = "" if now.setting == UNNAMED else now.setting
    return "-".join(filter(None, (now.arch, setting, "boot", kept.label(version))))


def _last(now: Results, version: Version) -> tuple[str, Results | None]:
    """Return the newest results of ``version`` with the architecture and setting of ``now``.

    The first part of the pair is the name of the file. If there are no such results in results/,
    returns ("", None).
    """
    try:
        file = kept.find(kept.named(now.arch, now.setting, version))
    except BoltError:
        return "", None
    return file.name, results.load(file)


def torture(version: Version, least: int) -> list[str]:
    """Return the table of how many requests kernels have survived, and of the goals.

    The requests of all runs so far are added up. ``least``: how many requests Bolt's present code
    has to survive in each configuration on each of its architectures.
    """
    book = tally.load(kept.counted(TORTURE, version))
    kernel = tree.mark(version)
    configs = [config for config in matrix.configs().values() if config.is_of(version.series)]
    found = tally.table(book, configs, list(ARCHES))
    met = {(line[0], line[1]) for line in found}
    for config in configs:
        for arch in config.arches:
            if (config.name, arch) not in met:
                found.append([config.name, arch, "0", str(config.goal), *["0"] * 3])
    lines = []
    for name, arch, survived, goal, *others in found:
        present = str(book.survived(name, arch, kernel))
        lacks = book.lacks(matrix.configs()[name], arch, kernel, least)
        row = [name, arch, survived, goal, present, "**open**" if lacks else ""]
        lines.append([*row, *others[:3]])
    header = ("configuration", "on", "survived", "goal", "with this code", "")
    return tables.markdown((*header, "native", "runs", "failed"), lines)


def bugs(version: Version) -> list[str]:
    """Return lines with the number of planted bugs that were found, and all other planted bugs.

    A bug counts once for each of its architectures; bugs that kernels of ``version`` cannot have do
    not count. The first line also says how many of the bugs were found in Bolt's present code.
    """
    file = kept.counted(PLANTED, version)
    known = planted.load(file) if file.exists() else []
    verdicts = {(each.name, each.arch): each.caught for each in known}
    kernel = tree.mark(version)
    present = {(each.name, each.arch) for each in known if each.kernel == kernel}
    wanted = [
        (bug.name, arch)
        for bug in planted.bugs().values()
        if bug.is_of(version.series)
        for arch in bug.arches
    ]
    found = [key for key in wanted if verdicts.get(key)]
    left = [
        f"* {'missed' if key in verdicts else 'never run'}: {key[0]}, {key[1]}"
        for key in wanted
        if key not in found
    ]
    said = f"{len(found)} of {len(wanted)} planted bugs were found"
    said += f", {len(present.intersection(found))} of them in the present code."
    return [said, *([""] if left else []), *left]


def rows(table: Iterable[coverage.Row]) -> list[str]:
    """Return a line for each row of the coverage table whose cell "figure" matches OPEN."""
    found = [
        f"* {row.step}: {row.requirement}: {row.figure}" for row in table if OPEN.search(row.figure)
    ]
    return found or ["None."]

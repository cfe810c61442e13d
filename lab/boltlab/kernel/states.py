# SPDX-License-Identifier: GPL-2.0-only
"""Finds hotplug states that the kernel's source registers, and Bolt's policy for dynamic states."""

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from boltlab.errors import BoltError

DYNAMIC = ("CPUHP_AP_ONLINE_DYN", "CPUHP_BP_PREPARE_DYN")

# File -> the machines that the file is for. No kernel for x86_64 or arm64 can have a state that the
# file registers, unless CONFIG_COMPILE_TEST is set.
ELSEWHERE = {
    "drivers/bus/mips_cdmm.c": "MIPS",
    "drivers/clocksource/arc_timer.c": "ARC",
    "drivers/clocksource/arm_global_timer.c": "32-bit Arm",
    "drivers/clocksource/ingenic-timer.c": "MIPS",
    "drivers/clocksource/jcore-pit.c": "SuperH",
    "drivers/clocksource/mips-gic-timer.c": "MIPS",
    "drivers/clocksource/timer-armada-370-xp.c": "32-bit Arm",
    "drivers/clocksource/timer-clint.c": "RISC-V",
    "drivers/clocksource/timer-econet-en751221.c": "MIPS",
    "drivers/clocksource/timer-mp-csky.c": "C-SKY",
    "drivers/clocksource/timer-qcom.c": "32-bit Arm",
    "drivers/clocksource/timer-riscv.c": "RISC-V",
    "drivers/clocksource/timer-rtl-otto.c": "MIPS",
    "drivers/clocksource/timer-ti-dm-systimer.c": "32-bit Arm",
    "drivers/cpuidle/coupled.c": "32-bit Arm, MIPS",
    "drivers/cpuidle/cpuidle-powernv.c": "PowerPC",
    "drivers/cpuidle/cpuidle-pseries.c": "PowerPC",
    "drivers/cpuidle/cpuidle-riscv-sbi.c": "RISC-V",
    "drivers/cpuidle/cpuidle-s390.c": "s390",
    "drivers/hwtracing/coresight/coresight-etm3x-core.c": "32-bit Arm",
    "drivers/irqchip/irq-aclint-sswi.c": "RISC-V",
    "drivers/irqchip/irq-loongarch-avec.c": "LoongArch",
    "drivers/irqchip/irq-loongson-eiointc.c": "LoongArch",
    "drivers/irqchip/irq-mips-gic.c": "MIPS",
    "drivers/irqchip/irq-riscv-aplic-direct.c": "RISC-V",
    "drivers/irqchip/irq-riscv-imsic-early.c": "RISC-V",
    "drivers/irqchip/irq-sifive-plic.c": "RISC-V",
    "drivers/mailbox/riscv-sbi-mpxy-mbox.c": "RISC-V",
    "drivers/net/ethernet/ibm/ibmvnic.c": "PowerPC",
    "drivers/perf/riscv_pmu_sbi.c": "RISC-V",
    "drivers/perf/starfive_starlink_pmu.c": "RISC-V",
    "drivers/watchdog/octeon-wdt-main.c": "MIPS",
    "net/iucv/iucv.c": "s390",
}
# Of arch/ only x86, arm64 and the parts of arm that arm64 builds are searched.
_ARCH = re.compile(r"arch/(?!x86/|arm64/|arm/xen/)")

# State -> the file with its callbacks, if this file belongs to another module than the file that
# registers the state.
CALLBACKS = {
    f"perf/hisi/{one}:online": "drivers/perf/hisilicon/hisi_uncore_pmu.c"
    for one in ("mn", "noc", "uc")
}

_CALL = re.compile(
    r"\bcpuhp_setup_state(?!_multi_)\w*\s*\(\s*(CPUHP_\w+)\s*,\s*((?:\"[^\"]*\"\s*)+|\w+)"
)
# NAMED_SERIAL(name, module, reason) and similar macros. NAMED_LAZY and NAMED_ELIDED have a further
# argument, SERIAL or CONCURRENT, before the reason. Members of struct bolt_defer may follow the
# reason.
_NAMED = re.compile(
    r'NAMED_(?:(SERIAL|CONCURRENT|UNFIT)|(LAZY|ELIDED))\("([^"]*)", "([^"]*)",'
    r'(?(2)\s*(SERIAL|CONCURRENT),)\s*"([^"]*)"(?(2)(?:,\s*\.[^,]*)*)\)'
)


@dataclass(frozen=True)
class Registration:
    """A state that a call in ``file`` registers."""

    file: str
    state: str  # a constant, CPUHP_...
    name: str


@dataclass(frozen=True)
class Named:
    """An entry of Bolt's policy for a dynamic state."""

    name: str
    module: str  # the module with the callbacks; "" if their code cannot be a module
    fit: str  # SERIAL, CONCURRENT or UNFIT
    reason: str
    deferred: bool = False


def named(table: Path) -> list[Named]:
    """Return the entries of the file ``table``, in the order of the file."""
    return [
        Named(name, module, fit or deferred_fit, reason, bool(deferred))
        for fit, deferred, name, module, deferred_fit, reason in _NAMED.findall(
            table.read_text(encoding="utf-8")
        )
    ]


def registered(source: Path) -> list[Registration]:
    """Return the states that code for x86_64 or arm64 in the tree ``source`` registers.

    Raises BoltError if the name of a state is neither in the call's file nor in a header that lies
    beside this file and is included there.
    """
    found = []
    for path in _files(source):
        file = path.relative_to(source).as_posix()
        if file in ELSEWHERE or _ARCH.match(file):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for state, name in _CALL.findall(text):
            names = _handed(text, name) or [_string(source, path, text, name)]
            found += [Registration(file, state, one) for one in names]
    return found


def _handed(text: str, name: str) -> list[str]:
    """Return the strings that callers in ``text`` pass for ``name``, a parameter of a function."""
    function = re.search(rf"^[a-z][^\n;]*?(\w+)\([^;{{]*?\bchar \*{name}\)\n\{{", text, re.M)
    if not function:
        return []
    return re.findall(rf'\b{function[1]}\([^;]*?"([^"]*)"\);', text)


def _files(source: Path) -> list[Path]:
    run = subprocess.run(
        ["grep", "-rlE", "--include=*.c", "cpuhp_setup_state", "."],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    return sorted(source / line for line in run.stdout.splitlines())


def _string(source: Path, path: Path, text: str, name: str) -> str:
    """Return the string that ``name`` (literals, a macro or a variable) stands for in ``text``."""
    if name.startswith('"'):
        return "".join(re.findall(r'"([^"]*)"', name))
    headers = re.findall(r'^#include "([^"]+)"', text, re.M)
    texts = [text]
    for header in headers:
        near = path.parent / header
        if near.is_file():
            texts.append(near.read_text(encoding="utf-8", errors="replace"))
    variable = re.search(rf"\b{name} = devm_kasprintf\([^,]*, GFP_KERNEL, (\w+)\)", text)
    if variable:
        return _string(source, path, text, variable[1])
    for one in texts:
        macro = re.search(rf"^#define\s+{name}\s+(.+)$", one, re.M)
        if macro:
            parts = re.findall(r'"[^"]*"|\w+', macro[1])
            return "".join(_string(source, path, text, part) for part in parts)
    raise BoltError(f"{path}: no string called {name}")


def module_of(source: Path, file: str) -> str:
    """Return the module that the tree ``source`` can make of ``file``, or "" if there is none.

    Raises BoltError when the Makefile beside ``file`` does not say where the file's object goes.
    """
    path = source / file
    makefile = path.parent / "Makefile"
    rules = re.findall(
        r"^[ \t]*([\w$()-]+?)[ \t]*[:+]?=(.*)$",
        makefile.read_text(encoding="utf-8").replace("\\\n", " "),
        re.M,
    )
    wanted = f"{path.stem}.o"
    while True:
        target = next((to for to, of in rules if wanted in re.split(r"[\s()$]+", of)), None)
        if target is None:
            raise BoltError(f"{makefile}: nothing makes {wanted}")
        if target.startswith("obj-"):
            option = re.fullmatch(r"obj-\$\(CONFIG_(\w+)\)", target)
            if option and option[1] in _tristates(source):
                return wanted.removesuffix(".o").replace("-", "_")
            return ""
        prefixed = re.fullmatch(r"(\w+)-target-\$\(CONFIG_(\w+)\)", target)
        if prefixed:
            name = f"{prefixed[1]}_{wanted.removesuffix('.o').replace('-', '_')}"
            return name if prefixed[2] in _tristates(source) else ""
        # ``target`` is a list that another rule uses as $(target), or the list of the parts of an
        # object, such as foo-y of foo.o.
        if any(f"$({target})" in of for _, of in rules):
            wanted = target
        else:
            wanted = re.sub(r"-(y|objs|\$\(CONFIG_\w+\))$", ".o", target)


@cache
def _tristates(source: Path) -> frozenset[str]:
    """Return the options of the tree ``source`` with which code may become a module."""
    run = subprocess.run(
        ["grep", "-rhE", "--include=Kconfig*", r"^\s*(menu)?config [A-Z]|^\s+tristate\b", "."],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    names: set[str] = set()
    option = ""
    for line in run.stdout.splitlines():
        words = line.split()
        if words[0] == "tristate":
            names.add(option)
        else:
            option = words[1]
    return frozenset(names)

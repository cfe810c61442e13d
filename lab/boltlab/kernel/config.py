# SPDX-License-Identifier: GPL-2.0-only
"""Makes kernel configurations from fragments, verifies the result, and compares configurations."""

import hashlib
import re
from pathlib import Path

from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.kernel.make import make

BOLT = re.compile(r"CONFIG_(BOLT(_\w+)?|SCHED_LOST_AFFINITY)$")  # symbols that Bolt adds
# Symbols that may differ between compared kernels: Bolt's own, and those that say whether the
# machine had a C library when the kernel was configured. Only the kernel's samples and the
# test of its user headers depend on the C library, so the kernel itself is the same.
ASIDE = re.compile(rf"{BOLT.pattern}|CONFIG_CC_CAN_LINK(_\w+)?$")
EMPTY = '""'
_SET = re.compile(r"^(CONFIG_\w+)=(.*)$")
_UNSET = re.compile(r"^# (CONFIG_\w+) is not set$")


def parse(text: str) -> dict[str, str]:
    """Return symbol -> value of a .config or fragment.

    A line ``# SYMBOL is not set`` gives the value ``n``; a symbol without a line is left out.
    Raises BoltError on a line that is neither a setting, a comment nor blank.
    """
    settings = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := _SET.match(line.strip()):
            settings[match[1]] = match[2]
        elif match := _UNSET.match(line.strip()):
            settings[match[1]] = "n"
        elif line.strip() and not line.startswith("#"):
            raise BoltError(f"line {number} of a kernel configuration is malformed: {line.strip()}")
    return settings


def lost(fragment: str, config: str) -> list[str]:
    """Return the settings of ``fragment``, as ``A=y``, that ``config`` does not have.

    A setting whose value is ``n`` or the empty text ``""`` is also met when ``config`` lacks the
    symbol.
    """
    have = parse(config)
    return [
        f"{symbol}={value}"
        for symbol, value in parse(fragment).items()
        if have.get(symbol, EMPTY if value == EMPTY else "n") != value
    ]


def merged(base: str, fragment: str) -> str:
    """Return the configuration ``base`` with each symbol of ``fragment`` set as in ``fragment``."""
    settings = parse(base) | parse(fragment)
    return "".join(
        f"# {symbol} is not set\n" if value == "n" else f"{symbol}={value}\n"
        for symbol, value in settings.items()
    )


def differences(one: str, other: str, ignore: re.Pattern[str]) -> list[str]:
    """Return the symbols whose values differ, except those whose names match ``ignore``.

    A symbol that one of the two configurations lacks has the value ``n`` there.
    """
    first, second = parse(one), parse(other)
    return sorted(
        symbol
        for symbol in first.keys() | second.keys()
        if first.get(symbol, "n") != second.get(symbol, "n") and not ignore.match(symbol)
    )


def sha(config: str) -> str:
    """Return the SHA-256 (hex) of a configuration's settings, those of ASIDE left out.

    Thus the pristine and the Bolt kernel of one configuration have the same hash.
    """
    settings = parse(config)
    lines = [
        f"{symbol}={value}\n"
        for symbol, value in sorted(settings.items())
        if value != "n" and not ASIDE.match(symbol)
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def configure(
    tree: Path,
    arch: Arch,
    fragment: str,
    log: Path,
    lock_fd: int | None = None,
    base: str | None = None,
) -> str:
    """Make ``tree``/.config: all options are off that ``fragment`` neither sets nor implies.

    With ``base`` all options are as in that configuration, except for those of ``fragment``;
    options that neither names get their defaults. Returns the text of .config. Raises BoltError
    when make fails, or when .config afterwards lacks a setting of the fragment, as lost() tells.
    """
    path = tree / ".bolt-fragment"
    path.write_text(fragment, encoding="utf-8")
    if base is not None:
        (tree / ".config").write_text(merged(base, fragment), encoding="utf-8")
    make(
        tree,
        arch,
        ["allnoconfig" if base is None else "olddefconfig"],
        log,
        title=f"configuring linux for {arch.name}",
        variables={"KCONFIG_ALLCONFIG": path.name} if base is None else None,
        lock_fd=lock_fd,
    )
    text = (tree / ".config").read_text(encoding="utf-8")
    failed = lost(fragment, text)
    if failed:
        raise BoltError(f"the {arch.name} kernel did not take the configuration {' '.join(failed)}")
    return text

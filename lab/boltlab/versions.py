# SPDX-License-Identifier: GPL-2.0-only
"""Reads kernel/versions.toml: the kernel series that Bolt has hooks for."""

import re
import tomllib
from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from boltlab import paths
from boltlab.errors import BoltError

DEBIAN_SOURCES = Path("/usr/src")  # where Debian's source packages put their tarballs

_SYMBOL = re.compile(r"\bCONFIG_\w+")


@dataclass(frozen=True)
class Version:
    """One kernel series."""

    series: str  # as in "6.12"
    package: str  # Debian's source package
    hooks: Path  # directory of the hook patches
    tested: tuple[str, ...]  # releases that were tested, as in "6.12.117"
    architectures: tuple[str, ...]
    suite: str = ""  # the first suite of Debian that has the package
    # Symbols of configurations -> their names in this series; "" if the series has no such symbol.
    symbols: Mapping[str, str] = field(default_factory=dict)

    @property
    def tarball(self) -> Path:
        """Path of the tarball that Debian's source package has, whether it is installed or not."""
        return DEBIAN_SOURCES / f"{self.package}.tar.xz"

    def translated(self, fragment: str) -> str:
        """Return the configuration ``fragment`` with its symbols as this series names them.

        Lines with a symbol that this series does not have are left out.
        """
        lines = []
        for line in fragment.splitlines(keepends=True):
            named = _SYMBOL.search(line)
            name = self.symbols.get(named[0], named[0]) if named else ""
            if named and name:
                lines.append(line.replace(named[0], name))
            elif not named:
                lines.append(line)
        return "".join(lines)


def load(file: Path | None = None) -> list[Version]:
    """Return the kernel series that ``file`` (default: kernel/versions.toml) lists, in order.

    Raises BoltError when the file is missing or malformed.
    """
    file = file or paths.KERNEL / "versions.toml"
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))["kernel"]
        return [
            Version(
                series=series,
                package=entry["package"],
                hooks=file.parent / entry["hooks"],
                tested=tuple(entry["tested"]),
                architectures=tuple(entry["architectures"]),
                suite=entry.get("suite", ""),
                symbols={
                    f"CONFIG_{name}": f"CONFIG_{new}" if new else ""
                    for name, new in entry.get("symbols", {}).items()
                },
            )
            for series, entry in entries.items()
        ]
    except (OSError, tomllib.TOMLDecodeError, KeyError, AttributeError) as error:
        raise BoltError(f"cannot read {file}: {error!r}") from error


def default() -> Version:
    """Return the series that is used when neither ``--source`` nor ``--version`` is given."""
    return load()[0]


def named(series: str) -> Version:
    """Return the series called ``series``; raise argparse's ArgumentTypeError if there is none."""
    known = {version.series: version for version in load()}
    if series not in known:
        raise ArgumentTypeError(f"no hooks for '{series}' (one of {', '.join(known)})")
    return known[series]


def of_release(release: str) -> Version:
    """Return the series of ``release`` ("6.12.117"); raise BoltError if there are no hooks."""
    known = load()
    for version in known:
        if release == version.series or release.startswith(f"{version.series}."):
            return version
    raise BoltError(
        f"linux {release} is not supported: Bolt has hooks for "
        f"{', '.join(version.series for version in known)} (./bolt kernel check-hooks tries hooks)"
    )


def for_hooks(release: str, series: str | None = None) -> Version:
    """Return the series whose hooks to try on ``release``.

    The result is ``series`` if it is given, else the series of ``release``, or the newest series if
    Bolt has no hooks for the series of ``release``.
    """
    known = load()
    if series:
        return next(version for version in known if version.series == series)
    own = [version for version in known if f"{release}.".startswith(f"{version.series}.")]
    newest = max(known, key=lambda version: [int(part) for part in version.series.split(".")])
    return own[0] if own else newest

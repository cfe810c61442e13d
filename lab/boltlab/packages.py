# SPDX-License-Identifier: GPL-2.0-only
"""The Debian packages that the lab needs: which are missing, and how apt installs them."""

import contextlib
import functools
import os
import platform
import re
import shutil
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from boltlab import paths, ui
from boltlab.arch import ARCHES, Arch
from boltlab.errors import UNAVAILABLE, BoltError

# On a fresh machine an automatic update often holds apt's locks when the lab first installs a
# package. So the lab waits up to LOCKED seconds for each lock. The option LOCK has no effect on the
# lock of apt's lists: if that lock is taken, apt-get update says BUSY, and fails at once.
LOCKED = 300
LOCK = ("-o", f"DPkg::Lock::Timeout={LOCKED}")
BUSY = b"Could not get lock"
PAUSE = 5  # seconds between two tries to update apt's lists
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")
# Command -> the groups of packages.toml that ./bolt doctor looks for on the command's behalf. The
# groups build, guest and qemu are not listed: ./bolt demo needs these as well, and so ./bolt doctor
# looks for their packages in any case.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "lint": ("export", "test", "checkpatch"),
    "deb": ("deb", "tools"),
    "vm-demo": ("tools", "userland"),
    "test": ("export", "checkpatch", "test", "unpack", "patch", "tools", "deb", "lintian"),
}
# Debian keeps some tools (depmod) in directories that are not in a user's PATH.
SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")


@dataclass(frozen=True)
class Need:
    """One row of data/packages.toml: a Debian package, and how to see whether a machine has it."""

    package: str
    groups: tuple[str, ...] = ()
    tool: str = ""
    header: str = ""
    compiler: str = "gcc"
    file: str = ""
    arch: str = ""
    host: str = ""

    @property
    def what(self) -> str:
        """Name of the program, header or file itself, for systems with other names of packages."""
        return self.tool or self.header or self.file

    def applies(self, arches: Sequence[Arch], machine: str) -> bool:
        """Tell whether a ``machine`` that builds kernels of ``arches`` needs this package."""
        if self.arch and self.arch not in (arch.name for arch in arches):
            return False
        return not (self.host == "other" and machine in ARCHES[self.arch].machines)

    def present(self) -> bool:
        """Tell whether the package's contents are on this machine."""
        if self.tool:
            return which(self.tool) is not None
        if self.header:
            return _compiles(self.compiler, self.header)
        return Path(self.file).exists()


def which(tool: str) -> str | None:
    """Return the path of the program ``tool`` in a directory of PATH or SBIN, or None."""
    search = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return shutil.which(tool, path=os.pathsep.join([*search, *SBIN]))


@functools.cache
def table() -> tuple[Need, ...]:
    """Return the rows of data/packages.toml."""
    with (paths.DATA / "packages.toml").open("rb") as file:
        rows = tomllib.load(file)["need"]
    return tuple(Need(**{**row, "groups": tuple(row["groups"])}) for row in rows)


def missing(groups: Iterable[str], arches: Sequence[Arch] = ()) -> list[Need]:
    """Return the packages that ``groups`` need for kernels of ``arches``, but the system lacks."""
    wanted = set(groups)
    unknown = wanted - {group for need in table() for group in need.groups}
    if unknown:
        raise ValueError(f"no such groups in packages.toml: {sorted(unknown)}")
    machine = platform.machine()
    return [
        need
        for need in table()
        if wanted & set(need.groups) and need.applies(arches, machine) and not need.present()
    ]


def ensure(*groups: str, arches: Sequence[Arch] = (), later: Iterable[Need] = ()) -> None:
    """Install the packages that ``groups`` need for kernels of ``arches``, but the system lacks.

    What the caller needs ``later``, and will install then, is only named in the error if the lab
    cannot install packages, so that this error names everything. Raises BoltError in three cases:
    the lab cannot install packages (code 69, and one line of names), apt fails (the error has apt's
    log), or the contents of a package are still missing afterwards.
    """
    lacking = missing(groups, arches)
    waiting = [need for need in later if not need.present()]
    if waiting and not can_install():
        lacking += waiting
    if lacking:
        install([need.package for need in lacking], [need.what for need in lacking])
        still = [need.what for need in lacking if not need.present()]
        if still:
            raise BoltError(f"still missing after the installation: {' '.join(still)}")


def can_install() -> bool:
    """Tell whether install() can work: apt is there, and needs no password from the user."""
    return shutil.which("apt-get") is not None and _privilege() is not None


def install(names: Sequence[str], whats: Sequence[str] = (), suite: str = "") -> None:
    """Install the Debian packages ``names``; the error on systems without apt names ``whats``.

    If ``suite`` is given, apt first fetches its lists, and then prefers the packages of that suite.
    Raises BoltError with code 69 when there is no apt or no right to use apt, and with apt's log
    when apt fails.
    """
    names = list(dict.fromkeys(names))
    if shutil.which("apt-get") is None:
        raise BoltError(f"install these: {' '.join(whats or names)}", code=UNAVAILABLE)
    prefix = _privilege()
    if prefix is None:
        # The lab does not ask for a password: perhaps nobody is there to see the question.
        hint = " (or let sudo -v ask for the password first)" if shutil.which("sudo") else ""
        raise BoltError(f"install these packages{hint}: {' '.join(names)}", code=UNAVAILABLE)
    log, command = paths.new_log("apt"), _apt(prefix)
    with ui.status(f"installing {' '.join(names)}"):
        chosen = ["-t", suite] if suite else []
        get = [*command, "install", "--no-install-recommends", *chosen, "--", *names]
        # apt's lists may be absent (fresh containers) or stale (404). So the lists are updated if
        # an installation fails, and for a ``suite``.
        if suite or not _logged(get, log):
            _update(command, log)
            if not _logged(get, log):
                raise BoltError(f"apt could not install {' '.join(names)}", log)


def update() -> None:
    """Have apt fetch its lists, if the lab can be root. A failure is only in the log of apt."""
    prefix = _privilege()
    if prefix is not None:
        with ui.status("updating apt's lists"):
            _update(_apt(prefix), paths.new_log("apt"))


def _apt(prefix: Sequence[str]) -> list[str]:
    """Return the first words of each apt-get command, which ``prefix`` makes a command of root."""
    # sudo does not pass on the variables that name proxies.
    proxies = [f"{name}={os.environ[name]}" for name in PROXIES if name in os.environ]
    environment = ["LC_ALL=C", "DEBIAN_FRONTEND=noninteractive", *proxies]
    return [*prefix, "env", *environment, "apt-get", "-y", "-q", *LOCK]


def candidate(package: str) -> str:
    """Return the version of ``package`` that apt would install, or "" if apt knows no version.

    Returns "" as well if the machine has no apt. If apt knows no version because apt has no lists,
    returns a text in brackets, which says what to do.
    """
    if shutil.which("apt-cache") is None:
        return ""
    done = subprocess.run(
        ["apt-cache", "policy", package],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    found = re.search(r"Candidate: (\S+)", done.stdout)
    if found and found[1] != "(none)":
        return found[1]
    # A fresh machine has no lists, and so apt knows no package before an update.
    lists = Path("/var/lib/apt/lists")
    return "" if any(lists.glob("*_Packages*")) else "(apt-get update first)"


def as_root(command: Sequence[str], log: Path) -> bool:
    """Run ``command`` as root with its output in ``log``; tell whether ``command`` succeeded.

    Returns False, without running ``command``, if the lab cannot be root.
    """
    prefix = _privilege()
    return prefix is not None and _logged([*prefix, *command], log)


def _privilege() -> list[str] | None:
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    granted = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if granted.returncode == 0 else None


def _update(command: Sequence[str], log: Path) -> None:
    """Update apt's lists; wait, for LOCKED seconds at most, while another apt-get updates them."""
    end = time.monotonic() + LOCKED
    while not _logged([*command, "update"], log) and time.monotonic() < end:
        if not any(BUSY in line for line in log.read_bytes().splitlines()[-3:]):
            break
        time.sleep(PAUSE)


def call(
    command: Sequence[str], out: IO[bytes], environment: Mapping[str, str] | None = None
) -> int:
    """Run ``command`` with its output in ``out``, and return its exit status.

    ``environment`` is added to the lab's own. On an exception, as after a signal to the lab, call()
    sends SIGTERM to ``command`` and its children, and waits until ``command`` has cleaned up and
    ended. subprocess.run() would send SIGKILL to ``command``, which then could not clean up. The
    terminal's Ctrl-C reaches the lab only, because ``command`` has a session of its own.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    ) as process:
        try:
            return process.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise


def _logged(command: Sequence[str], log: Path) -> bool:
    with (
        log.open("ab") as out,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            return process.wait() == 0
        except BaseException:
            # subprocess.run() would kill apt-get, even in the middle of an installation.
            ui.note("waiting until the running command has ended")
            process.wait()
            raise


def _compiles(compiler: str, header: str) -> bool:
    path = which(compiler)
    if path is None:
        return False
    done = subprocess.run(
        [path, "-x", "c", "-fsyntax-only", "-"],
        input=f"#include <{header}>\n".encode(),
        capture_output=True,
        check=False,
    )
    return done.returncode == 0

# SPDX-License-Identifier: GPL-2.0-only
"""Installs QEMU 10 on Debian 12, from the suite of backports, if the user agrees."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from boltlab import packages, paths, ui
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.guest import qemu

WANTED = 10  # the major version of QEMU on which Bolt's goals are judged
RELEASE = "bookworm"
SUITE = f"{RELEASE}-backports"
SOURCES = Path("/etc/apt/sources.list.d/bolt-backports.sources")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PACKAGES = {"qemu-system-x86_64": "qemu-system-x86", "qemu-system-aarch64": "qemu-system-arm"}
QUESTION = f"enable Debian's {SUITE} on this machine and install QEMU {WANTED} from it?"


def offer(arches: Iterable[Arch], ask: Callable[[str], str] = input) -> None:
    """On Debian 12 with an older QEMU, install QEMU 10 if the user agrees.

    On any system with an older QEMU, offer() prints which versions of QEMU have figures to compare
    with. Then, on Debian 12 only, offer() asks the user. Where no user can be asked, or the lab may
    not install packages, offer() changes nothing. Raises BoltError when the installation fails.
    """
    old = [arch.qemu for arch in arches if _major(arch.qemu) < WANTED]
    if not old:
        return
    ui.note(
        f"QEMU {qemu.version(old[0])} can run everything; but the figures that Bolt's goals name "
        f"are those of QEMU {WANTED} (of older versions, only 7.2 has reference figures)"
    )
    uri = mirror()
    # The question goes to stdout, so that no user sees the question if stdout is a file.
    seen = os.isatty(0) and os.isatty(1)
    if uri is None or not seen or not packages.can_install():
        return
    try:
        answer = ask(f"{QUESTION} [y/N] ")
    except EOFError:  # Ctrl-D
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        return
    enabled = is_enabled()
    if not enabled:
        _enable(uri)
    try:
        packages.install([PACKAGES[name] for name in old], suite=SUITE)
    except BoltError:
        # Apt's sources may have an entry of SUITE that is_enabled() does not count, such as one
        # without the main part. If that entry is for the same mirror, but does not name the key
        # KEYRING, apt refuses all calls as long as SOURCES exists.
        if not enabled:
            packages.as_root(["rm", "-f", str(SOURCES)], paths.new_log("backports"))
        raise
    qemu.version.cache_clear()
    qemu.devices.cache_clear()


def _major(emulator: str) -> int:
    return int(qemu.version(emulator).split(".")[0])


def is_enabled() -> bool:
    """Tell whether apt's sources name the main part of SUITE, be its lists fetched or not."""
    listed = _targets("$(RELEASE)|$(COMPONENT)|$(CREATED_BY)", "--no-release-info")
    return [SUITE, "main", "Packages"] in listed


def mirror(release: str = RELEASE) -> str | None:
    """Return the mirror from which apt takes Debian's ``release``.

    Returns None if apt has no such mirror, or has not fetched the lists of the mirror.
    """
    for code, part, uri in _targets("$(CODENAME)|$(COMPONENT)|$(REPO_URI)"):
        if (code, part) == (release, "main") and uri:
            return uri
    return None


def _targets(form: str, *options: str) -> list[list[str]]:
    """Return the parts of ``form``, divided by "|", for each index that apt uses.

    Without the option --no-release-info apt leaves out suites whose lists are not fetched.
    """
    if packages.which("apt-get") is None:
        return []
    listing = subprocess.run(
        ["apt-get", "indextargets", *options, "--format", form],
        capture_output=True,
        text=True,
        check=False,
    )
    return [line.split("|") for line in listing.stdout.splitlines()]


def _enable(uri: str) -> None:
    text = (
        "# Bolt's lab wrote this file when the user of the lab agreed.\n"
        f"Types: deb\nURIs: {uri}\nSuites: {SUITE}\nComponents: main\nSigned-By: {KEYRING}\n"
    )
    with tempfile.NamedTemporaryFile("w", suffix=".sources") as file:
        file.write(text)
        file.flush()
        log = paths.new_log("backports")
        if not packages.as_root(["install", "-m", "644", file.name, str(SOURCES)], log):
            raise BoltError(f"cannot write {SOURCES}", log)

# SPDX-License-Identifier: GPL-2.0-only
"""Builds plugins of the emulator, lab/plugin/*.c, which count the instructions that guests run."""

import hashlib
import subprocess
from pathlib import Path

from boltlab import paths
from boltlab.arch import Arch
from boltlab.errors import BoltError
from boltlab.guest import qemu
from boltlab.locks import lock

SOURCES = paths.REPO / "lab" / "plugin"


def api(version: str) -> int:
    """Return the number of the plugin interface to compile a plugin for, for QEMU ``version``.

    Raises BoltError for QEMU 8, which tells plugins neither registers nor the right CPU:
    lab/plugin/bystanders.c says why the plugins need one of the two.
    """
    major = int(version.partition(".")[0])
    if major == 8:
        raise BoltError(
            f"QEMU {version} does not tell a plugin which CPU executes an instruction: "
            "this command needs QEMU 7.2, or QEMU 9 or newer"
        )
    return 2 if major >= 9 else 1


def build(name: str, arch: Arch) -> Path:
    """Return the plugin ``name`` for the emulator of ``arch``.

    The plugin is compiled again if a source, the compiler's options or the plugin interface has
    changed. Raises BoltError as api() does, if the emulator is not installed or does not tell its
    version, or if the plugin does not compile.
    """
    code = SOURCES / f"{name}.c"
    number = api(qemu.version(arch.qemu))
    words = ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", f"-DAPI={number}"]
    words += ["-DARM64"] if arch.name == "arm64" else []
    text = code.read_bytes() + (SOURCES / "plugin.h").read_bytes() + repr(words).encode()
    digest = hashlib.sha256(text).hexdigest()[:16]
    folder = paths.cache() / "plugins"
    found = folder / f"{name}-{arch.name}-{digest}.so"
    with lock(folder):
        folder.mkdir(exist_ok=True)
        if found.exists():
            return found
        half = found.with_suffix(".half")
        done = subprocess.run(
            [*words, "-o", str(half), str(code)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            log = paths.new_log("plugin")
            log.write_text(done.stderr, encoding="utf-8")
            raise BoltError("the emulator's plugin does not compile", log)
        half.rename(found)
    return found

# SPDX-License-Identifier: GPL-2.0-only
"""Runs the kernel's make with a fixed environment, progress, a log, and errors of one line."""

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from boltlab import ui
from boltlab.arch import Arch
from boltlab.errors import BoltError

# Without these variables the same source would not give the same image.
FIXED = {
    "KBUILD_BUILD_TIMESTAMP": "Wed Jan  1 00:00:00 UTC 2025",
    "KBUILD_BUILD_USER": "bolt",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
    "LOCALVERSION": "",  # set but empty, so that scripts/setlocalversion adds no "+"
    "LC_ALL": "C",
}
INHERITED = ("PATH", "HOME", "TMPDIR", "CCACHE_DIR")

_STEP = re.compile(rb"^  [A-Z][A-Z0-9_]+( \[M\])? ")
_ERROR = re.compile(r"(: (?:fatal )?error: |undefined reference|: multiple definition|\*\*\* )")


def environment() -> dict[str, str]:
    """Return the environment of make: FIXED, and no variables of the caller but INHERITED."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return inherited | FIXED


def make(
    tree: Path,
    arch: Arch,
    targets: Sequence[str],
    log: Path,
    *,
    title: str,
    jobs: int = 1,
    steps: int = 0,
    variables: dict[str, str] | None = None,
    lock_fd: int | None = None,
) -> int:
    """Make ``targets`` in the kernel tree ``tree``; append all output to ``log``.

    A step is a line that make prints, such as "  CC      kernel/cpu.o". ``steps`` is about how many
    steps make will print (0: show no progress). ``lock_fd`` is the descriptor of a lock that must
    be held until make has ended, and so make inherits the descriptor. Returns how many steps make
    has printed, or 0 if ``steps`` is 0. If make fails, raises BoltError with the first error in
    make's output, or with the last line if no line is known as an error. On any other exception,
    such as Ctrl-C, make is ended before the exception goes on to the caller.
    """
    command = ["make", f"-j{jobs}", f"ARCH={arch.kernel_arch}"]
    command.append(f"CROSS_COMPILE={arch.cross_compile}")
    command += [f"{name}={value}" for name, value in (variables or {}).items()]
    with log.open("ab") as out:
        begin = out.tell()
        process = subprocess.Popen(
            [*command, *targets],
            cwd=tree,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
            pass_fds=() if lock_fd is None else (lock_fd,),
        )
        try:
            count = _follow(process, out.write, title, steps)
        except BaseException:
            _end(process)
            raise
    if process.returncode != 0:
        raise BoltError(f"{title} failed: {_first_error(log, begin)}", log)
    return count


def _follow(process: subprocess.Popen[bytes], write: object, title: str, steps: int) -> int:
    assert process.stdout and callable(write)
    count = 0
    if steps == 0:
        for line in process.stdout:
            write(line)
        process.wait()
        return 0
    with ui.progress(title, steps) as task:
        for line in process.stdout:
            write(line)
            if _STEP.match(line):
                count += 1
                task.advance()
        process.wait()
    return count


def _end(process: subprocess.Popen[bytes]) -> None:
    """End make and its children, and wait, so that no program writes to the tree afterwards."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=20)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _first_error(log: Path, begin: int) -> str:
    text = log.read_bytes()[begin:].decode(errors="replace")
    for line in text.splitlines():
        if _ERROR.search(line):
            return line.strip()
    last = text.strip().splitlines()
    return last[-1] if last else "make said nothing"

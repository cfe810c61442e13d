#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
r"""Runs cpubolt on recorded trees, and compares what it prints with files in expected/.

    cmd-expected.py BINARY FILE...            compare; exit status 1 and a diff if they differ
    cmd-expected.py --write BINARY FILE...    write what the commands print now

A file is called TREE--SUBCOMMAND.txt; TREE is a tree of trees.py, made anew for each file.
Its lines:

    # text                       a remark
    + file PATH TEXT             writes a file of the tree; \n in TEXT ends a line
    + task PID TID NAME K=V ...  a task: allowed=LIST policy=N priority=N flags=N state=S
                                 cgroup=PATH
    $ cpubolt ARGUMENTS          is run with the tree as its root
    $ cat PATH                   prints a file of the tree
    [N]                          the exit status of the command, unless it is 0
    anything else                what the command prints: "err: " stands before lines of stderr

The directory of the tree is printed as ROOT, and the time of a request as "# ms".
"""

import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import trees

TIME = re.compile(r"line, \d+\.\d\d ms")


def task(root: Path, words: list[str]) -> None:
    """Write those files of one task that cpubolt reads in procfs."""
    pid, tid, name, *rest = words
    keys = dict(word.split("=", 1) for word in rest)
    folder = root / "proc" / pid / "task" / tid
    folder.mkdir(parents=True)
    fields = ["0"] * 50
    fields[0] = keys.get("state", "S")  # field 3 of proc_pid_stat(5)
    fields[9 - 3] = keys.get("flags", "4194560")
    fields[40 - 3] = keys.get("priority", "0")
    fields[41 - 3] = keys.get("policy", "0")
    (folder / "stat").write_text(f"{tid} ({name}) {' '.join(fields)}\n")
    allowed = keys.get("allowed", "0-3")
    (folder / "status").write_text(f"Name:\t{name}\nCpus_allowed_list:\t{allowed}\nend:\t0\n")
    (folder / "cgroup").write_text(f"0::{keys.get('cgroup', '/')}\n")


def prepare(root: Path, line: str) -> None:
    """Carry out a line that begins with "+"."""
    kind, *words = shlex.split(line[1:])
    if kind == "task":
        task(root, words)
        return
    path = root / words[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(" ".join(words[1:]).replace("\\n", "\n"))


def run(binary: Path, root: Path, line: str) -> list[str]:
    """Run the command of a line that begins with "$", and return the lines that it prints."""
    program, *words = shlex.split(line[1:])
    if program == "cat":
        return (root / words[0]).read_text().splitlines()
    done = subprocess.run(
        [binary, "--root", root, *words],
        capture_output=True,
        text=True,
        check=False,
        env={"LC_ALL": "C.UTF-8", "ASAN_OPTIONS": "detect_leaks=0"},
    )
    errors = done.stderr.splitlines()
    # Messages on tasks come in the order of the directory, which only procfs sorts by PID, so the
    # messages are sorted here.
    errors.sort(key=lambda line: line if "(pid " in line else "~")
    lines = [f"err: {each}" for each in errors] + done.stdout.splitlines()
    if done.returncode:
        lines.append(f"[{done.returncode}]")
    return [TIME.sub("line, # ms", each.replace(str(root), "ROOT")).rstrip() for each in lines]


def play(binary: Path, file: Path) -> list[str]:
    """Return ``file`` with what its commands print now."""
    out: list[str] = []
    # A tree of 1,780 CPUs is 30,000 files, so trees are written to memory where that is possible.
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="cpubolt-tree-", dir=folder) as scratch:
        root = Path(scratch) / "root"
        trees.make(file.name.partition("--")[0], root)
        (root / "run").mkdir()
        for line in file.read_text(encoding="utf-8").splitlines():
            if line[:2] not in ("# ", "+ ", "$ "):
                continue
            # Remarks stand before all commands: a later line with "# " was printed by a command.
            if line.startswith("# ") and any(each.startswith("$ ") for each in out):
                continue
            out.append(line)
            if line.startswith("+ "):
                prepare(root, line)
            elif line.startswith("$ "):
                out += run(binary, root, line)
    return out


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(description="compare what cpubolt prints with files")
    parser.add_argument("--write", action="store_true", help="write the files anew")
    parser.add_argument("binary", type=Path, help="cpubolt")
    parser.add_argument("files", type=Path, nargs="+", help="files of expected/")
    words = parser.parse_args()
    status = 0
    for file in words.files:
        old = file.read_text(encoding="utf-8").splitlines()
        new = play(words.binary.resolve(), file)
        if words.write:
            file.write_text("".join(f"{line}\n" for line in new), encoding="utf-8")
        elif old != new:
            status = 1
            print("\n".join(difflib.unified_diff(old, new, str(file), "now", lineterm="")))
    return status


if __name__ == "__main__":
    sys.exit(main())

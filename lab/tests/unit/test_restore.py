# SPDX-License-Identifier: GPL-2.0-only
"""When a selftest ends, the selftest restores what it has changed (restore.h).

Files in a folder stand for those of /sys, /proc and /tmp.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from boltlab.guest import selftest

# Files of the machine, before any test.
BEFORE = {
    "sys/bus/virtio/drivers/virtio_net/bind": "",
    "sys/devices/system/cpu/bolt/enabled": "0\n",
    "sys/devices/system/cpu/bolt/park": "cold\n",
    "sys/devices/system/cpu/bolt/irq_keep": "",
    "sys/devices/system/cpu/cpu1/online": "1\n",
    "sys/devices/system/cpu/cpu2/online": "0\n",
    "sys/devices/system/cpu/smt/control": "on\n",
    "sys/devices/system/machinecheck/machinecheck1/bank1": "ff\n",
    "sys/fs/cgroup/cgroup.subtree_control": "io\n",
    "sys/kernel/debug/bolt/states": "# state\n5 lazy concurrent -\n6 elide unfit! -\n",
    "sys/power/pm_test": "[none] core\n",
    "proc/irq/5/smp_affinity_list": "0-3\n",
    "proc/self/cgroup": "0::/\n",
}

# File -> what test() of PROGRAM writes, and how the file begins when PROGRAM has ended. A shorter
# text overwrites only the beginning of a longer one, so only the beginnings are compared.
CHANGES = {
    "sys/bus/virtio/drivers/virtio_net/bind": ("", "virtio9"),
    "sys/devices/system/cpu/bolt/enabled": ("1\n", "0\n"),
    "sys/devices/system/cpu/bolt/park": ("warm\n", "cold\n"),
    "sys/devices/system/cpu/bolt/irq_keep": ("1\n", "\n"),
    "sys/devices/system/cpu/cpu1/online": ("0\n", "1\n"),
    "sys/devices/system/cpu/cpu2/online": ("1\n", "0\n"),
    "sys/devices/system/machinecheck/machinecheck1/bank1": ("0\n", "0xff\n"),
    "sys/fs/cgroup/cgroup.subtree_control": ("io cpu\n", "-cpu"),
    "sys/kernel/debug/bolt/states": (
        "# state\n5 critical! concurrent -\n6 elide unfit! -\n",
        "5 default",
    ),
    "sys/power/pm_test": ("none [core]\n", "none\n"),
    "proc/irq/5/smp_affinity_list": ("1\n", "0-3\n"),
    "proc/self/cgroup": ("4:cpuset:/\n0::/\n", "0::/\n"),
}

# The program starts a test as a process of its own, as the harness does.
PROGRAM = """
#define _GNU_SOURCE
#include <sys/stat.h>
#include "groups.h"
#include "wire.h"

static void test(const char *how)
{
    static const char *const changes[][2] = { %s };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
        put_flags(changes[i][0], changes[i][1], strlen(changes[i][1]), O_TRUNC);
    mkdir(V2 "/bolt-here", 0755);
    mkdir(V2 "/bolt-here/below", 0755);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "exit"))
        exit(1);
    if (!strcmp(how, "begin"))
        execl("/proc/self/exe", "again", "end", NULL);
    pause();
}

int main(int argc, char **argv)
{
    bool ends = argc == 2 && !strcmp(argv[1], "end");
    pid_t pid = ends ? 0 : fork();

    if (ends)
        return 0;
    if (!pid)
        test(argc == 2 ? argv[1] : "");
    wait_ms(argc == 2 && !strcmp(argv[1], "pause") ? 300 : 0);
    if (argc == 2 && !strcmp(argv[1], "pause"))
        kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    puts(cannot_run() ?: group_may_use_v1() ? "" : "cpusets are in use");
    puts(is("@/sys/devices/system/cpu/bolt/enabled", "1") ? "changed" : "as before");
    puts(is("@/sys/bus/virtio/drivers/virtio_net/bind", "") ? "unbound" : "bound");
    return 3;
}
"""

# Makes the program believe that root runs it, and that mount() works. The cpusets leave version 1
# only at the second mount, as if a group of version 1 had existed until then.
PREFIX = """
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define geteuid() 0
#define mount(what, where, type, flags, data) fake_mount(type)

static inline int fake_mount(const char *type)
{
    static int mounts;
    FILE *file = type && !strcmp(type, "cgroup") && ++mounts == 2 ?
                 fopen("@/proc/self/cgroup", "w") : NULL;

    return file ? fputs("0::/\\n", file) < 0 || fclose(file) : 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program with the selftests' headers; its folder has its /sys, /proc and /tmp."""
    root = tmp_path_factory.mktemp("restore")
    shutil.copytree(selftest.OVERLAY / selftest.FOLDER, root / "src")
    headers = [*root.glob("src/*.h"), *root.glob("src/lib/*.h")]
    for path in headers:
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r'"/(?=(sys|proc|tmp)/)', f'"{root}/', text), encoding="utf-8")
    rows = ", ".join(
        f'{{ "{root}/{name}", "{text}" }}'.replace("\n", "\\n")
        for name, (text, _) in CHANGES.items()
    )
    source = root / "src" / "test.c"
    source.write_text(PROGRAM.replace("@", str(root)) % rows, encoding="utf-8")
    (root / "kselftest.h").write_text(
        "#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))\n"
        "#define ksft_exit_fail_msg(...) abort()\n",
        encoding="utf-8",
    )
    (root / "prefix.h").write_text(PREFIX.replace("@", str(root)), encoding="utf-8")
    command = ["gcc", "-Wall", "-include", str(root / "prefix.h")]
    subprocess.run([*command, "-o", str(root / "test"), str(source)], check=True)
    return root / "test"


def play(program: Path, how: str, **files: str) -> tuple[dict[str, str], list[str]]:
    """Run the program on new files; return their contents in the end, and the lines of output."""
    root = program.parent
    for top in ("sys", "proc", "tmp"):
        shutil.rmtree(root / top, ignore_errors=True)
    for name, text in {**BEFORE, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    device = root / "sys/class/net/eth9/device"
    device.parent.mkdir(parents=True)
    device.symlink_to("../../../devices/virtio9")
    env = {key: value for key, value in os.environ.items() if not key.startswith("BOLT_")}
    env["BOLT_NIC"] = "eth9"
    done = subprocess.run(
        [program, how], env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 3, done.stderr
    after = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for top in ("sys", "proc")
        for path in (root / top).rglob("*")
        if path.is_file()
    }
    assert not list(root.glob("sys/fs/cgroup/bolt*"))
    return after, done.stdout.splitlines()


@pytest.mark.parametrize("how", ["abort", "exit", "pause", "begin"])
def test_settings_are_restored_however_a_test_ends(program: Path, how: str) -> None:
    """A test may start its program once more, or end by exit(): only the main process restores."""
    after, lines = play(program, how)
    assert lines[1:] == ["changed", "unbound"]
    assert after.keys() == BEFORE.keys()
    for name, text in after.items():
        assert text.startswith(CHANGES[name][1] if name in CHANGES else BEFORE[name])


def test_what_other_programs_use_is_left_alone(program: Path) -> None:
    """Tests may move the cpusets to version 1 only if no program uses cpusets."""
    assert play(program, "abort")[1][0] == ""
    for name, text in {
        "sys/fs/cgroup/cgroup.subtree_control": "io cpuset\n",
        "proc/self/cgroup": "4:cpuset:/\n0::/\n",
    }.items():
        assert play(program, "abort", **{name: text})[1][0] == "cpusets are in use"


@pytest.mark.parametrize("control", ["off", "forceoff"])
def test_no_test_runs_while_smt_is_off(program: Path, control: str) -> None:
    smt = {"sys/devices/system/cpu/smt/control": f"{control}\n"}
    assert "SMT is switched off" in play(program, "abort", **smt)[1][0]

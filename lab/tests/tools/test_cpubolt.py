# SPDX-License-Identifier: GPL-2.0-only
"""The command cpubolt: output, refusals, privilege, races, completion, manual pages.

Most tests run the command on recorded trees: what Linux shows of a machine below /sys and /proc.
"""

import errno
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from boltlab import packages, paths
from boltlab.guest import tools
from tests.tools.nobody import as_nobody

TOOLS = paths.REPO / "tools"
EXPECTED = sorted((TOOLS / "tests/expected").glob("*.txt"))
BOLT = "sys/devices/system/cpu/bolt"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def binary() -> Path:
    """Return the command, built by meson from the work tree."""
    return tools.host("plain") / "cpubolt/cpubolt"


@pytest.fixture
def run(binary: Path) -> Run:
    """Return a function that runs cpubolt with the arguments that it gets."""

    def call(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            [binary, *words], **{"capture_output": True, "text": True, "timeout": 60, **options}
        )

    return call


@pytest.fixture
def tree() -> Iterator[Callable[[str], Path]]:
    """Return a function that writes the recorded tree of a machine, in memory if possible."""
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="cpubolt-tree-", dir=folder) as scratch:

        def make(name: str) -> Path:
            root = Path(scratch) / "root"
            subprocess.run([sys.executable, TOOLS / "tests/trees.py", name, root], check=True)
            (root / "run").mkdir(exist_ok=True)
            return root

        yield make


@pytest.mark.parametrize("file", EXPECTED, ids=lambda file: file.stem)
def test_expected(binary: Path, file: Path) -> None:
    done = subprocess.run(
        [sys.executable, TOOLS / "tests/cmd-expected.py", binary, file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_packages_with_large_numbers(run: Run, tree: Callable[[str], Path]) -> None:
    """On arm64 the number of a package may be larger than the number of any CPU."""
    root = tree("nodes")
    for file in root.glob("sys/devices/system/cpu/cpu*/topology/physical_package_id"):
        file.write_text(f"{3180 + int(file.read_text())}\n")
    done = run("--root", root, "offline", "-n", "--package", "3181-3182")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("CPUs 16-47 would go offline."), done.stdout
    for text, code in (("3181,3190", 1), ("3181,", 2), ("3181-3180", 2), ("3181x", 2)):
        done = run("--root", root, "offline", "-n", "--package", text)
        assert done.returncode == code, (text, done.stderr)


def test_an_empty_list_is_refused(run: Run, tree: Callable[[str], Path]) -> None:
    """A script whose variable is not set is told that the list is empty."""
    root = tree("nodes")
    for option, what in (("--node", "nodes"), ("--package", "packages")):
        for text in ("", ","):
            done = run("--root", root, "offline", option, text)
            assert (done.returncode, done.stdout) == (2, "")
            assert f"the list of {what} is empty" in done.stderr


def test_expected_under_sanitizers() -> None:
    """AddressSanitizer and UndefinedBehaviorSanitizer report nothing."""
    binary = tools.host("sanitized") / "cpubolt/cpubolt"
    files = [file for file in EXPECTED if not file.name.startswith("large")]
    done = subprocess.run(
        [sys.executable, TOOLS / "tests/cmd-expected.py", binary, *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_machine_and_subcommand_has_expected_output() -> None:
    """Each machine of trees.py, and each of five subcommands, has a file of expected output."""
    trees = {file.stem.partition("--")[0].partition("+")[0] for file in EXPECTED}
    assert trees >= {"hybrid", "smt", "nodes", "clusters", "large", "small"}
    subcommands = {file.stem.partition("--")[2] for file in EXPECTED}
    assert subcommands >= {"status", "online", "offline", "set", "settle"}


def test_a_difference_is_found(binary: Path, tmp_path: Path) -> None:
    file = tmp_path / "small--settle.txt"
    file.write_text("$ cpubolt settle\nsettled\n")
    done = subprocess.run(
        [sys.executable, TOOLS / "tests/cmd-expected.py", binary, file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "-settled" in done.stdout


# -- status ------------------------------------------------------------------------------------


def cpu_seconds(words: list[str | Path]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_status_of_1780_cpus_takes_little_time(binary: Path, tree: Callable[[str], Path]) -> None:
    """Compares the CPU time with that of cat(1), which reads three files of each CPU.

    A limit in milliseconds depends on the host. The command takes about a third of the time of
    cat, and took 23 to 32 ms on the hosts for which less than 50 ms were wanted, so that half the
    time of cat stands for less than 50 ms there. The best of five runs counts.
    """
    root = tree("large+parked")
    folder = root / "sys/devices/system/cpu"
    names = ("core_id", "die_id", "physical_package_id")
    files = [path for name in names for path in folder.glob(f"cpu[0-9]*/topology/{name}")]
    assert len(files) > 3 * 1700
    ours, theirs = [], []
    for _ in range(5):
        ours.append(cpu_seconds([binary, "--root", root, "status"]))
        theirs.append(cpu_seconds(["cat", *files]))
    assert min(ours) < 0.5 * min(theirs)


@pytest.mark.parametrize("name", ["small+parked", "hybrid", "clusters+halfway+bolt"])
def test_json_and_parsable_output_agree(run: Run, tree: Callable[[str], Path], name: str) -> None:
    root = tree(name)
    found = json.loads(run("--root", root, "status", "--json").stdout)
    lines = run("--root", root, "status", "-p=CPU,STATE,CORE").stdout.splitlines()
    rows = [line.split(",") for line in lines if not line.startswith("#")]
    assert rows
    assert rows == [
        [str(cpu["cpu"]), cpu["state"], "" if cpu["core"] is None else str(cpu["core"])]
        for cpu in found["cpus"]
    ]
    assert found["bolt"] == ("absent" if name == "hybrid" else "enabled")


def test_status_says_that_parked_cpus_are_shown_as_offline(
    run: Run, tree: Callable[[str], Path]
) -> None:
    """If the list in bolt/parked is nonsense, status says so, and shows parked CPUs as offline."""
    root = tree("small+parked")
    assert "shown as offline" not in run("--root", root, "status").stderr
    (root / "sys/devices/system/cpu/bolt/parked").write_text("3,x\n")
    done = run("--root", root, "status")
    assert "parked CPUs are shown as offline" in done.stderr
    assert "3 offline (1-3)" in done.stdout
    assert json.loads(run("--root", root, "status", "--json").stdout)["parked"] is None


def test_columns_are_documented(run: Run) -> None:
    listed = run("status", "--help").stdout.partition("Columns:\n")[2].split("\n")
    names = {line.split()[0] for line in listed if line.strip()}
    page = (TOOLS / "man/cpubolt-status.1.scd").read_text(encoding="utf-8")
    assert {name for name in names if f"*{name}*" not in page} == set()
    assert {"CPUS", "STATE", "PENDING", "LAST"} <= names


def test_on_a_terminal_lists_are_broken_and_states_have_colours(
    binary: Path, tree: Callable[[str], Path]
) -> None:
    root = tree("smt+parked")
    odd = ",".join(str(cpu) for cpu in range(1, 28, 2))
    (root / "sys/devices/system/cpu/online").write_text(f"0,{odd}\n")

    def on_a_terminal(**more: str) -> str:
        command = f"stty cols 80; {binary} --root {root} status -o CPUS,STATE"
        done = subprocess.run(
            ["script", "-qec", command, "/dev/null"],
            env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", **more},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        return done.stdout.replace("\r", "")

    coloured = on_a_terminal()
    assert "\033[" in coloured
    plain = on_a_terminal(NO_COLOR="1")
    assert "\033[" not in plain
    assert all(len(line) <= 80 for line in plain.splitlines())
    assert re.search(r"^0-1,3,5[\d,]*, +online\n[\d,]+", plain, re.M)


def test_output_that_cannot_be_written_is_an_error(run: Run, tree: Callable[[str], Path]) -> None:
    with Path("/dev/full").open("w") as full:
        done = run(
            "--root", tree("small"), "status", capture_output=False, stdout=full,
            stderr=subprocess.PIPE,
        )  # fmt: skip
    assert done.returncode == 1
    assert "standard output" in done.stderr


def test_a_closed_standard_output(binary: Path, tree: Callable[[str], Path]) -> None:
    """Output that is lost is an error; without output, a closed standard output does not matter."""

    def closed(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", '"$0" "$@" >&-', binary, "--root", root, *words],
            capture_output=True,
            text=True,
            check=False,
        )

    root = tree("small+bolt")
    done = closed("status")
    assert done.returncode == 1
    assert "standard output" in done.stderr
    assert closed("offline", "-q", "--no-check", "2").returncode == 0
    assert (root / BOLT / "offline").read_text() == "2"


def test_nobody_reads_the_output(binary: Path, tree: Callable[[str], Path]) -> None:
    """A pipe without a reader is an error that cpubolt reports, and no signal that ends cpubolt."""
    end, pipe = os.pipe()
    os.close(end)
    done = subprocess.run(
        [binary, "--root", tree("small"), "status"],
        stdout=pipe,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(pipe)
    assert done.returncode == 1
    assert "standard output" in done.stderr


# -- Privilege, containers, kernels without hotplug ----------------------------------------------


@pytest.mark.parametrize("name", ["small+bolt", "small", "small+unreadable"])
@pytest.mark.parametrize("words", [("offline", "2"), ("set", "0-1")], ids=" ".join)
def test_without_privilege(
    binary: Path, tree: Callable[[str], Path], name: str, words: tuple[str, ...]
) -> None:
    root = tree(name)
    before = {path: path.read_text() for path in root.rglob("*") if path.is_file()}
    done = as_nobody(binary, root, *words)
    assert done.returncode == 77
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "only root" in done.stderr
    assert {path: path.read_text() for path in before} == before


def test_status_without_privilege(binary: Path, tree: Callable[[str], Path]) -> None:
    done = as_nobody(binary, tree("small+unreadable"), "status")
    assert (done.returncode, done.stderr) == (0, "")
    assert "only root can see whether Bolt is enabled" in done.stdout
    assert "CPUs: 4 of 4 online" in done.stdout


def test_what_is_not_known_without_privilege(binary: Path, tree: Callable[[str], Path]) -> None:
    """JSON has null for what this user may not read."""
    root = tree("small+unreadable")
    assert json.loads(as_nobody(binary, root, "status", "--json").stdout)["parked"] is None
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/interrupts").write_text(" CPU0 CPU1\n25: 1 1 PCI-MSI 1-edge  net\n")
    done = as_nobody(binary, root, "irq", "--by-cpu", "--json", "--interval", "0")
    assert [row["keep"] for row in json.loads(done.stdout)["cpus"]] == [None, None]
    (root / "proc/512").mkdir()
    (root / "proc/512/comm").write_text("irqbalance\n")
    for words in (("irq", "--interval", "0"), ("doctor",)):
        said = " ".join(as_nobody(binary, root, *words).stdout.split())
        assert "only root can see whether the keep list limits that" in said


def test_states_without_privilege(binary: Path, tree: Callable[[str], Path]) -> None:
    """Without Bolt, every user sees the states, though only root may look into debugfs."""
    root = tree("small")
    (root / "sys/kernel/debug").mkdir(parents=True, mode=0o700)
    done = as_nobody(binary, root, "states")
    assert done.returncode == 0
    assert "this kernel has no Bolt" in done.stderr
    assert "slub:dead" in done.stdout


def test_a_dry_run_that_would_leave_isolated_cpus(run: Run, tree: Callable[[str], Path]) -> None:
    root = tree("clusters+bolt")
    (root / "sys/devices/system/cpu/isolated").write_text("4-7\n", encoding="utf-8")
    (root / "proc").mkdir(exist_ok=True)
    words = ("--root", root, "offline", "-n", "0-3")
    for options, status in (("quiet", 0), ("isolcpus=4-7 quiet", 1)):
        (root / "proc/cmdline").write_text(f"{options}\n", encoding="utf-8")
        done = run(*words)
        assert done.returncode == status
        said = "cpubolt: only CPUs that are isolated would be left online" in done.stderr
        assert said == bool(status)
    assert run(*words[:-1], "1-3").returncode == 0


def test_a_dry_run_without_privilege(binary: Path, tree: Callable[[str], Path]) -> None:
    """A user who cannot see whether Bolt is enabled is not told that it is disabled."""
    done = as_nobody(binary, tree("small+unreadable"), "offline", "-n", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "CPU 2 would go offline." in done.stdout
    assert "Only root can see whether Bolt is enabled." in done.stdout
    assert "Bolt is not enabled" not in done.stdout
    assert "in one request" not in done.stdout


def test_settle_without_privilege(binary: Path, tree: Callable[[str], Path]) -> None:
    done = as_nobody(binary, tree("small+parked"), "settle")
    assert (done.returncode, done.stdout) == (77, "")
    assert "only root" in done.stderr


@pytest.mark.parametrize("words", [("offline", "2"), ("settle",)], ids=" ".join)
def test_read_only_sysfs(binary: Path, tree: Callable[[str], Path], words: tuple[str, ...]) -> None:
    root = tree("small+bolt")
    script = 'mount --bind "$2" "$2" && mount -o remount,bind,ro "$2" && exec "$1" --root "$2" '
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script + " ".join(words), "sh", binary, root],
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("this user may not mount")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "read-only" in done.stderr


def test_every_user_may_read_what_is_kept_in_run(run: Run, tree: Callable[[str], Path]) -> None:
    """Files in /run/cpubolt have mode 0644, whatever umask the user of the first request has."""
    for name in ("offline", "online"):
        root = tree("small+bolt+offline")
        done = run("--root", root, name, "2" if name == "offline" else "3", umask=0o077)
        assert done.returncode in (0, 64), done.stderr
        folder = root / "run/cpubolt"
        assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
            **({"topology": 0o644} if name == "offline" else {}),
            "requests": 0o644,
        }
        assert folder.stat().st_mode & 0o777 == 0o755
        shutil.rmtree(root)


def test_without_sysfs(run: Run, tmp_path: Path) -> None:
    done = run("--root", tmp_path, "status")
    assert done.returncode == 1
    assert "is sysfs mounted?" in done.stderr


def test_without_cpu_hotplug(run: Run, tree: Callable[[str], Path]) -> None:
    root = tree("small")
    for file in root.glob("sys/devices/system/cpu/cpu*/online"):
        file.unlink()
    done = run("--root", root, "offline", "2")
    assert done.returncode == 1
    assert "no CPU hotplug" in done.stderr
    assert "no CPU can go offline" in run("--root", root, "status").stdout


def test_without_procfs_the_look_is_refused(run: Run, tree: Callable[[str], Path]) -> None:
    root = tree("small+bolt")
    shutil.rmtree(root / "proc")
    done = run("--root", root, "offline", "2")
    assert done.returncode == 1
    assert "--no-check" in done.stderr
    assert (root / BOLT / "offline").read_text() == ""
    assert run("--root", root, "offline", "--no-check", "2").returncode == 0
    assert (root / BOLT / "offline").read_text() == "2"


# -- A change that stays partial ----------------------------------------------------------------


def test_natively_a_cpu_that_fails_puts_back_the_others(
    run: Run, tree: Callable[[str], Path]
) -> None:
    """The file of CPU 3 is a directory, so that the write fails after CPUs 1 and 2 have gone."""
    root = tree("clusters")
    third = root / "sys/devices/system/cpu/cpu3/online"
    third.unlink()
    third.mkdir()
    done = run("--root", root, "offline", "1-3")
    assert done.returncode == 1
    assert "CPU 3" in done.stderr
    for cpu in (1, 2):
        assert (third.parents[1] / f"cpu{cpu}/online").read_text().strip() == "1"


def test_a_change_that_stays_partial(run: Run, tree: Callable[[str], Path]) -> None:
    """CPU 3 fails, and CPU 1 cannot be put back: its file has become a directory meanwhile.

    The file of CPU 2 is a pipe, which keeps cpubolt waiting until the test reads.
    """
    root = tree("clusters")
    files = {cpu: root / f"sys/devices/system/cpu/cpu{cpu}/online" for cpu in (1, 2, 3)}
    files[3].unlink()
    files[3].mkdir()
    files[2].unlink()
    os.mkfifo(files[2])
    written = []

    def change() -> None:
        while files[1].read_text().strip() != "0":
            time.sleep(0.001)
        files[1].unlink()
        files[1].mkdir()
        with files[2].open("rb", buffering=0) as pipe:
            for _ in range(5000):
                written.append(pipe.read(1))
                if b"1" in written:  # this write brings CPU 2 back
                    break
                time.sleep(0.001)

    helper = threading.Thread(target=change, daemon=True)
    helper.start()
    done = run("--root", root, "offline", "--no-check", "1-3")
    helper.join(10)
    assert b"".join(written) == b"01"
    assert done.returncode == 64
    assert "CPU 3" in done.stderr
    assert "1:" in done.stderr


# -- The search for hindrances, among real tasks --------------------------------------------------


@pytest.fixture
def pinned() -> Iterator[Callable[[int], int]]:
    """Return a function that starts a real-time task on one CPU and gives its pid."""
    started: list[subprocess.Popen[bytes]] = []

    def start(cpu: int) -> int:
        child = subprocess.Popen(["sleep", "600"])
        started.append(child)
        try:
            os.sched_setaffinity(child.pid, {cpu})
            os.sched_setscheduler(child.pid, os.SCHED_RR, os.sched_param(7))
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EINVAL):
                pytest.skip("this user may not have real-time tasks")
            raise
        return child.pid

    yield start
    for child in started:
        child.send_signal(signal.SIGKILL)
        child.wait()


def test_a_real_time_task_of_this_machine_is_found(run: Run, pinned: Callable[[int], int]) -> None:
    """A dry run on the machine of the test: no CPU goes offline."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or not Path(f"/sys/devices/system/cpu/cpu{cpus[-1]}/online").exists():
        pytest.skip("no CPU of this machine can go offline")
    pid = pinned(cpus[-1])
    done = run("offline", "--dry-run", str(cpus[-1]))
    assert done.returncode == 1
    assert f'real-time task "sleep" (pid {pid}, SCHED_RR 7)' in done.stderr
    os.sched_setaffinity(pid, set(cpus))
    done = run("offline", "--dry-run", str(cpus[-1]))
    assert f"pid {pid}" not in done.stderr


THREAD = """
import os, sys, threading
def pinned():
    os.sched_setaffinity(0, {int(sys.argv[1])})
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(7))
    print(threading.get_native_id(), flush=True)
    threading.Event().wait()
threading.Thread(target=pinned, daemon=True).start()
sys.stdin.read()
"""


def test_a_thread_that_is_not_the_first_is_found(run: Run, pinned: Callable[[int], int]) -> None:
    """The first thread of a process may run on all CPUs, another thread on one CPU only."""
    cpu = max(os.sched_getaffinity(0))
    if not Path(f"/sys/devices/system/cpu/cpu{cpu}/online").exists():
        pytest.skip("no CPU of this machine can go offline")
    pinned(cpu)  # skips the test if this user may not have real-time tasks
    with subprocess.Popen(
        [sys.executable, "-c", THREAD, str(cpu)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout and process.stdin
        thread = int(process.stdout.readline())
        done = run("offline", "--dry-run", str(cpu))
        process.stdin.close()
    assert thread != process.pid
    assert f"(pid {process.pid}, thread {thread}, SCHED_RR 7)" in done.stderr


def test_a_core_of_which_a_cpu_is_kept_does_not_come(run: Run, tree: Callable[[str], Path]) -> None:
    """--cores brings whole cores: a core with an offline CPU of --keep is not picked."""
    root = tree("smt+bolt")
    # In a recorded tree no CPU goes, but cpubolt saves the topology before it makes the request.
    run("--root", root, "offline", "--no-check", "4-5,20-21")
    (root / "sys/devices/system/cpu/online").write_text("0-3,6-19,22-31\n")
    words = ("--root", root, "online", "-n", "--cores", "1")
    assert run(*words).stdout.startswith("CPUs 4,20 would come online.\n")
    assert run(*words, "--keep", "4").stdout.startswith("CPUs 5,21 would come online.\n")


def test_cores_beside_a_kept_cpu_that_is_not_plugged_in(
    run: Run, tree: Callable[[str], Path]
) -> None:
    """The core of a CPU that is not plugged in is not known: --keep 33 rules out no core."""
    words = ("set", "-n", "--cores", "2", "--keep", "33")
    done = run("--root", tree("smt+slots+bolt"), *words)
    assert done.stdout.startswith("CPUs 2-15,18-31 would go offline.\n")


def test_cores_beside_kept_cpus(run: Run, tree: Callable[[str], Path]) -> None:
    """A core with an offline CPU of --keep is not chosen, with two exceptions.

    The core can be chosen with --smt off, or if a CPU of the core cannot go.
    """
    words = ("set", "-n", "--cores", "2")
    root = tree("smt+bolt")
    run("--root", root, "offline", "--no-check", "16-31")
    (root / "sys/devices/system/cpu/online").write_text("0-15\n")
    done = run("--root", root, *words, "--smt", "off", "--keep", "16-31")
    assert done.stdout.startswith("CPUs 2-15 would go offline.\n")
    # CPU 0 cannot go, so its core is online in any case; core 1, with CPU 17, is passed over.
    done = run("--root", root, *words, "--keep", "16-17")
    assert "Online afterwards: 0,2,18\n" in done.stdout


def test_cpus_that_are_not_plugged_in_have_no_core(run: Run, tree: Callable[[str], Path]) -> None:
    """With --smt off, cpubolt names CPUs that it leaves out because their cores are not known."""
    done = run("--root", tree("smt+slots+bolt"), "offline", "17,33", "--smt", "off", "-n")
    assert done.returncode == 0
    assert done.stdout.startswith("CPU 17 would go offline.\n")
    assert done.stderr.endswith("because the cores of these CPUs are not known: 33\n")


# -- Races ----------------------------------------------------------------------------------------


def test_another_writer_meanwhile(run: Run, tree: Callable[[str], Path]) -> None:
    """While another program changes a CPU, cpubolt prints a result or an error, without a crash."""
    root = tree("smt")
    file = root / "sys/devices/system/cpu/cpu9/online"
    end = threading.Event()

    def toggle() -> None:
        value = 0
        while not end.wait(0.0005):
            file.write_text(f"{value}\n")
            value = 1 - value

    writer = threading.Thread(target=toggle)
    writer.start()
    try:
        for _ in range(50):
            for words in (("offline", "8-10"), ("online", "8-10"), ("status",)):
                done = run("--root", root, *words)
                assert done.returncode in (0, 1, 64), done.stderr
                assert done.stdout or done.stderr
    finally:
        end.set()
        writer.join()


# -- Options, manual pages, completion ------------------------------------------------------------


def subcommands(run: Run) -> list[str]:
    text = run("--help").stdout.partition("Subcommands:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in text.splitlines()]


def options(text: str) -> set[str]:
    return set(re.findall(r"^ +(?:-\w, +)?(--[a-z][a-z-]*)", text, re.M))


def test_each_subcommand_has_a_page_with_its_options(run: Run) -> None:
    names = subcommands(run)
    assert {"status", "online", "offline", "set", "settle"} <= set(names)
    overview = (TOOLS / "man/cpubolt.1.scd").read_text(encoding="utf-8")
    for name in names:
        done = run(name, "--help")
        assert done.returncode == 0
        assert "\nExamples:\n cpubolt " in done.stdout
        assert all(len(line) <= 90 for line in done.stdout.splitlines())
        page = (TOOLS / f"man/cpubolt-{name}.1.scd").read_text(encoding="utf-8")
        missing = {each for each in options(done.stdout) if not re.search(rf"\*{each}\b", page)}
        assert missing == set(), name
        assert f"*{name}*" in overview


def test_pages_are_made_by_scdoc_without_warnings() -> None:
    packages.ensure("tools")
    for page in sorted((TOOLS / "man").glob("*.scd")):
        done = subprocess.run(["scdoc"], input=page.read_bytes(), capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b""), page.name
        assert done.stdout.startswith(b'.\\" Generated by scdoc')


def test_exit_codes_are_documented() -> None:
    header = (TOOLS / "cpubolt/command.h").read_text(encoding="utf-8")
    codes = re.findall(r"^\tEXIT_\w+ = (\d+),", header, re.M)
    page = (TOOLS / "man/cpubolt.1.scd").read_text(encoding="utf-8")
    assert codes == ["0", "1", "2", "64", "77"]
    assert re.findall(r"^\*(\d+)\*$", page, re.M) == codes


def complete(binary: Path, *words: str) -> list[str]:
    """Return the completions that bash offers for the last of ``words``."""
    script = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; '
        '_cpubolt; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", TOOLS / "completion/cpubolt.bash", binary, *words],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_completion_in_bash(binary: Path, run: Run) -> None:
    assert complete(binary, "") == subcommands(run)
    assert complete(binary, "of") == ["offline"]
    assert complete(binary, "--root", "/", "of") == ["offline"]
    assert complete(binary, "--v") == ["--version"]
    assert complete(binary, "offline", "--smt", "") == ["off"]
    assert complete(binary, "set", "--smt", "") == ["off", "on"]
    assert complete(binary, "status", "-o", "CPU,ST") == ["CPU,STATE"]
    assert complete(binary, "states", "-o", "SLOW") == ["SLOWED", "SLOW"]
    # Bash takes "=" for a word of its own.
    assert complete(binary, "offline", "--smt", "=") == ["off"]
    assert complete(binary, "set", "--smt", "=", "o") == ["off", "on"]
    assert complete(binary, "status", "--output", "=", "CPU,ST") == ["CPU,STATE"]
    assert complete(binary, "status", "--extended", "=", "CPU,ST") == ["CPU,STATE"]
    assert complete(binary, "status", "--parse", "=", "ST") == ["STATE"]
    assert complete(binary, "states", "--timing", "") == ["off", "on"]
    assert "0" in complete(binary, "irq", "--apply", "")
    assert "0" in complete(binary, "bench", "--cpus", "")
    assert "all" not in complete(binary, "offline", "--keep", "=")
    assert complete(binary, "--root", "=", "/pro") == ["/proc"]
    for name in subcommands(run):
        assert set(complete(binary, name, "--")) == options(
            run(name, "--help").stdout.partition("\nOptions:\n")[2].partition("\n\n")[0]
        )


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_completion_in_zsh_reads_options(binary: Path, run: Run) -> None:
    """The specifications for zsh's _arguments name every option."""
    file = TOOLS / "completion/_cpubolt"
    script = (
        f"path=({binary.parent} $path); eval \"$(sed '$d' {file})\"; "
        'for each in "$@"; do _cpubolt_specs $each; print -l -- $reply; print .; done'
    )
    names = subcommands(run)
    done = subprocess.run(
        ["zsh", "-fc", script, "zsh", *names], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    parts = done.stdout.split("\n.\n")
    for name, part in zip(names, parts, strict=False):
        found = set(re.findall(r"^(--[a-z-]+)[\[=]", part.replace("=-[", "=["), re.M))
        assert found == options(
            run(name, "--help").stdout.partition("\nOptions:\n")[2].partition("\n\n")[0]
        )


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_completion_in_zsh_offers_values(binary: Path) -> None:
    """Each option that takes a value says so, and offers the values that its subcommand knows."""
    script = (
        f"path=({binary.parent} $path); setopt extendedglob; "
        f"eval \"$(sed '$d' {TOOLS / 'completion/_cpubolt'})\"; "
        "_values() { print -l -- ${@:4}; }; "
    )

    def zsh(command: str) -> list[str]:
        done = subprocess.run(
            ["zsh", "-fc", script + command], capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    def values(name: str) -> dict[str, list[str]]:
        specs = zsh(f"_cpubolt_specs {name}; print -l -- $reply")
        return {each.partition("=")[0]: each.split(":", 2)[1:] for each in specs if ":" in each}

    assert values("states") == {
        "--output": ["LIST", " _cpubolt_columns states"],
        "--set": ["STATE WORD", " "],
        "--timing": ["on|off", "(on off)"],
    }
    assert values("bench")["--output"] == ["FILE", "_files"]
    assert {each[1] for each in values("trace").values()} == {"_files", " "}
    assert values("energy")["--native"] == ["OFF,ON", " "]
    assert [each.partition("[")[0] for each in sorted(zsh("_cpubolt_columns states"))[:3]] == [
        "CLASS", "CONC", "FIT"
    ]  # fmt: skip
    # Without a blank before the function, _arguments would add arguments of its own to the call.
    text = (TOOLS / "completion/_cpubolt").read_text(encoding="utf-8")
    assert not re.search(r"[:\"']_cpubolt_(list|columns|subcommands) ", text)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "which subcommand?"),
        (("lock",), 'no subcommand "lock"'),
        (("--verbose",), "unrecognized option '--verbose'"),
        (("--root",), "requires an argument"),
    ],
)
def test_wrong_usage(run: Run, words: tuple[str, ...], text: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("cpubolt: ")
    assert text in done.stderr


def test_version(run: Run) -> None:
    assert re.fullmatch(r"cpubolt \d+\.\d+\.\d+\n", run("--version").stdout)

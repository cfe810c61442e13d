# SPDX-License-Identifier: GPL-2.0-only
"""The daemon cpuboltd: its unit tests, its options, and its work and messages on recorded trees.

A recorded tree is what Linux shows of a machine below /sys and /proc. Writes change nothing there
but the file: a CPU of the tree does not go or come.
"""

import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path

import pytest

from boltlab import paths
from boltlab.guest import tools
from tests.tools.nobody import as_nobody

TOOLS = paths.REPO / "tools"
TEN_MINUTES = 600
BOLT = "sys/devices/system/cpu/bolt"
CONFIG = """\
[daemon]
interval_ms = 100
[limits]
hold_ms = 200
dwell_ms = 100
"""


def run(*words: str | Path, status: int = 0) -> str:
    """Run a program; return what it prints to standard output and standard error."""
    done = subprocess.run(
        list(map(str, words)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
        check=False,
        env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]},
    )
    assert done.returncode == status, f"{words}: {done.stdout}"
    return done.stdout


@pytest.fixture(scope="session")
def daemon() -> Path:
    return tools.host("plain") / "cpuboltd/cpuboltd"


@pytest.fixture(scope="session")
def command() -> Path:
    return tools.host("plain") / "cpubolt/cpubolt"


Tree = Callable[[str], Path]


@pytest.fixture
def tree() -> Iterator[Tree]:
    """Return a function that writes the recorded tree of an idle machine."""
    with tempfile.TemporaryDirectory(prefix="cpuboltd-") as scratch:

        def make(name: str) -> Path:
            root = Path(scratch) / "root"
            subprocess.run([sys.executable, TOOLS / "tests/trees.py", name, root], check=True)
            (root / "run").mkdir(exist_ok=True)
            (root / "proc/1/task/1").mkdir(parents=True)
            lines = [f"cpu{n} 0 0 0 0 0 0 0 0" for n in range(32)]
            (root / "proc/stat").write_text("\n".join([*lines, "procs_running 1\n"]))
            (root / "config").write_text(CONFIG)
            return root

        yield make


# -- Unit tests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("build", ["plain", "sanitized"])
def test_units(build: str) -> None:
    """The unit tests play 10,000 random loads, and run each fuzz target for two seconds."""
    folder = tools.host(build)
    names = {test["name"] for test in tools.tests(folder, "daemon")}
    own = {"policies", "read", "keep", "irqs", "interrupts", "rounds", "rounds-irqs"}
    assert {f"daemon-{each}" for each in own} | {"fuzz-config", "fuzz-trace"} <= names
    words = ("--no-rebuild", "--suite", "daemon", "--print-errorlogs")
    said = run("meson", "test", "-C", folder, *words)
    assert re.search(rf"^Ok: +{len(names)} *$", said, re.M), said


@pytest.mark.nightly
@pytest.mark.parametrize("target", ["config", "trace", "control"])
def test_fuzz_for_ten_minutes(target: str, tmp_path: Path) -> None:
    """The seed is random; an input at which the program aborts is left in the file fuzz-input."""
    program = tools.host("sanitized") / "tests/daemon" / f"fuzz-{target}"
    seed = secrets.randbits(32)
    said = run("env", "-C", tmp_path, program, str(TEN_MINUTES), str(seed))
    assert re.search(r"^[1-9]\d* inputs$", said, re.M), seed


def test_the_command_is_built_without_the_daemon() -> None:
    folder = tools.host("bare")
    assert (folder / "cpubolt/cpubolt").is_file()
    assert not (folder / "cpuboltd/cpuboltd").exists()


# -- Options and files ----------------------------------------------------------------------------


def test_each_option_and_key_is_in_the_manual(daemon: Path) -> None:
    page = (TOOLS / "man/cpuboltd.8.scd").read_text(encoding="utf-8")
    found = re.findall(r"^ +(?:-\w, +)?(--[a-z-]+)", run(daemon, "--help"), re.M)
    assert len(found) >= 8
    assert [each for each in found if f"*{each}*" not in page] == []
    for name in re.findall(r"^ ([a-z]+) +\S", run(daemon, "--help").split("Policies:")[1], re.M):
        assert f"*{name}*\n" in page
    page = (TOOLS / "man/cpuboltd.conf.5.scd").read_text(encoding="utf-8")
    table = (TOOLS / "cpuboltd/config.c").read_text(encoding="utf-8")
    rows = re.findall(r'^\t\{ "(\w+)", "(\w+)", \w+, [^,]*, (\d+), (\d+), (\d+) \},$', table, re.M)
    assert len(rows) >= 20
    parts = dict(re.findall(r"^# \[(\w+)\]\n(.*?)(?=^# |\Z)", page, re.M | re.S))
    for section, key, *_ in rows:
        assert f"*{key}*" in parts[section], key
    # Limits and defaults in the manual are those in the code.
    for section, key, least, most, usual in rows:
        text = re.search(rf"^\*{key}\*\n(.*?)(?=^\*|\Z)", parts[section], re.M | re.S)
        if text and int(most):
            assert re.search(rf"\b{least} to\s+{most}\b", text[1]), (section, key)
            assert f"Default: {usual}." in " ".join(text[1].split()), (section, key)


def test_the_installed_configuration_is_the_default(daemon: Path, tree: Tree) -> None:
    """Settings that are comments in the installed file have the daemon's defaults as values."""
    root = tree("small+bolt")
    text = (TOOLS / "cpuboltd/systemd/cpuboltd.conf").read_text(encoding="utf-8")
    values = re.sub(r"^#(\w)", r"\1", text, flags=re.M)
    assert "\nname = load\n" in values
    (root / "config").write_text(values)
    run(daemon, "--root", root, "--config", root / "config", "--dry-run", "--samples", "1")
    code = (TOOLS / "cpuboltd/config.c").read_text(encoding="utf-8")
    rows = re.findall(r'\{ "(\w+)", "(\w+)", NUMBER, .*, (\d+) \}', code)
    usual = {(section, key): value for section, key, value in rows}
    installed = ConfigParser()
    installed.read_string(values)
    given = {place: installed.get(*place) for place in usual if installed.has_option(*place)}
    assert len(given) > 8
    assert given == {place: usual[place] for place in given}


@pytest.mark.parametrize("mode", [(), ("--dry-run",), ("--replay", "/dev/null")])
def test_a_wrong_configuration(daemon: Path, tree: Tree, mode: tuple[str, ...]) -> None:
    root = tree("small+bolt")
    file = root / "config"
    for text, line, what in (
        ("[polic]\n", 1, "there is no section [polic]"),
        ("[policy]\n\nnam = load\n", 3, 'the section [policy] has no key "nam"'),
        ("[policy]\nname = laod\n", 2, "name = laod: there is no such policy"),
        ("[interrupts]\nbusy = 5\n", 2, 'the section [interrupts] has no key "busy"'),
        ("[interrupts]\n\nenabled = 1\n", 3, 'enabled = 1: "yes" or "no" is wanted'),
    ):
        file.write_text(text)
        said = run(daemon, "--root", root, "--config", file, *mode, status=2)
        assert said == f"cpuboltd: {file}:{line}: {what}\n"
    file.write_text(CONFIG)
    folder = root / "config.d"
    folder.mkdir()
    (folder / "x.conf").write_text("[load]\nup = 1000\n")
    said = run(daemon, "--root", root, "--config", file, *mode, status=2)
    assert said.startswith(f"cpuboltd: {folder}/x.conf:2: up = 1000: ")
    assert not (root / "run/cpubolt").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--samples", "0"), "--samples 0: a number above 0 is wanted"),
        (("--policy", "fast"), 'there is no policy "fast"'),
        (("--faster",), "unrecognized option '--faster'"),
        (("now",), '"now" is too much'),
        (("--restore", "--dry-run"), "--restore takes no --dry-run, --samples or --replay"),
        (("--restore", "--samples", "1"), "--restore takes no --dry-run, --samples or --replay"),
        (("--replay", "x", "--dry-run"), "--replay takes no --dry-run or --samples"),
        (("--replay", "x", "--samples", "1"), "--replay takes no --dry-run or --samples"),
    ],
)
def test_wrong_usage(daemon: Path, tree: Tree, words: tuple[str, ...], text: str) -> None:
    said = run(daemon, "--root", tree("small"), *words, status=2)
    assert said.startswith("cpuboltd: ")
    assert text in said


def test_the_unit_is_one_for_systemd(daemon: Path, tmp_path: Path) -> None:
    text = (daemon.parent / "cpuboltd.service").read_text(encoding="utf-8")
    program = re.search(r"^ExecStart=(\S+)$", text, re.M)
    assert program is not None
    assert f"ExecStopPost={program[1]} --restore\n" in text
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "cpuboltd.service"
    unit.write_text(text.replace(program[1], str(daemon)).replace("man:", "file:/man-"))
    assert run("systemd-analyze", "verify", "--man=no", unit) == ""


# -- What the daemon does -------------------------------------------------------------------------


def test_replay(daemon: Path, tree: Tree) -> None:
    root = tree("smt+bolt")
    words = ("--root", root, "--replay", TOOLS / "tests/daemon/build.csv")
    said = run(daemon, *words)
    assert re.search(r"^policy load, \d+ s in steps of 1000 ms$", said, re.M)
    assert re.search(r"^changes: \d+, [\d.]+ a minute, \d+ in a minute at most$", said, re.M)
    assert "policy package," in run(daemon, *words, "--policy", "package")
    assert not (root / BOLT / "offline").read_text()
    assert not (root / "run/cpubolt").exists()
    said = run(daemon, "--root", root, "--replay", root / "config", status=1)
    what = 'line 1: there is no column "time", and no column "interval"'
    assert said == f"cpuboltd: {root}/config: {what}\n"


def test_a_trace_of_a_cluster(daemon: Path, tree: Tree, tmp_path: Path) -> None:
    """The manual has a command that makes the lines of one machine of a cluster into a trace."""
    text = (TOOLS / "man/cpuboltd.8.scd").read_text(encoding="utf-8")
    (command,) = re.findall(r"^```\n(sort .*?)```$", text, re.M | re.S)
    lines = ["m_7,10,99,1,,,0,0,0", "m_1932,30,75,1,,,0,0,0", "m_1932,20,25,1,,,0,0,0"]
    lines += ["m_1932,40,101,1,,,0,0,0", "m_1932,50,,1,,,0,0,0", "m_1932,60,0,1,,,0,0,0"]
    (tmp_path / "machine_usage.csv").write_text("\n".join(lines) + "\n")
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    made = (tmp_path / "TRACE").read_text().splitlines()
    assert made == ["time,%idle", "20,75", "30,25", "60,100"]
    said = run(daemon, "--root", tree("smt+bolt"), "--replay", tmp_path / "TRACE")
    assert re.search(r"^CPUs online: [\d.]+ on average, ", said, re.M)


def test_a_trace_that_is_finer_than_the_interval(daemon: Path, tree: Tree) -> None:
    """Lines of a trace that fall into one interval_ms all count, each for its length."""
    root = tree("smt+bolt")
    (root / "config").write_text(f"{CONFIG}[daemon]\ninterval_ms = 4000\n")
    fine = [f"{n},{6 if n % 4 == 2 else 2}" for n in range(1, 61)]
    coarse = [f"{n},3" for n in range(4, 61, 4)]
    said = []
    for rows in (fine, coarse):
        (root / "trace").write_text("\n".join(["time,demand", *rows]) + "\n")
        words = ("--root", root, "--config", root / "config", "--replay", root / "trace")
        said.append(run(daemon, *words))
    assert "policy load, 60 s in steps of 4000 ms" in said[0]
    assert said[0] == said[1]


def test_percentages_of_a_replay(daemon: Path, tree: Tree) -> None:
    """%idle in a trace is a share of the CPUs on which the load is played: here six of 32."""
    root = tree("smt+isolated")
    (root / "config").write_text(f"{CONFIG}[daemon]\ndeny = 8-31\n")
    (root / "trace").write_text("interval,%idle\n60,50\n")
    words = ("--root", root, "--config", root / "config", "--replay", root / "trace")
    said = run(daemon, *words)
    assert re.search(r"^CPUs online: [\d.]+ on average, \d at least, 6 at most$", said, re.M)
    assert "work that waited for a CPU: 0.000 %" in said


def test_a_dry_run_changes_nothing(daemon: Path, tree: Tree) -> None:
    root = tree("small+bolt")
    words = ("--root", root, "--config", root / "config", "--dry-run", "--samples", "6")
    said = run(daemon, *words)
    assert "dry run: CPUs 0 would be online: " in said
    assert not (root / BOLT / "offline").read_text()
    assert not (root / "run/cpubolt").exists()


@pytest.mark.parametrize(
    ("name", "lines", "asked"),
    [
        ("small+bolt", "", "1-3"),
        ("small+bolt", "keep = 1\ndeny = 2\n", "3"),
        ("small+bolt", "[limits]\nmin_cpus = 3\n", "3"),
        ("small+bolt+isolated", "", "1"),
    ],
)
def test_what_is_left_alone(daemon: Path, tree: Tree, name: str, lines: str, asked: str) -> None:
    """CPUs of the tree do not go. So with min_cpus a second request may be for another CPU."""
    root = tree(name)
    (root / "config").write_text(f"{CONFIG}[daemon]\n{lines}")
    said = run(daemon, "--root", root, "--config", root / "config", "--samples", "8")
    assert re.findall(r"CPUs (\S+) went ", said)[0] == asked
    assert (root / BOLT / "offline").read_text() in ({"2", "3"} if "min" in lines else {asked})


def wait_for(path: Path) -> None:
    for _ in range(1000):
        if path.exists():
            return
        time.sleep(0.01)
    raise AssertionError(path)


@contextmanager
def running(words: Sequence[str | Path], root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a daemon until the end of the block; the daemon must exit with status 0 at SIGTERM."""
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(root / "run/cpubolt/cpuboltd.socket")
            yield process
            process.terminate()
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_a_daemon(daemon: Path, command: Path, tree: Tree) -> None:
    """CPUs of the tree do not go. So the daemon thinks that another program brings CPUs back."""
    root = tree("small+bolt")
    words: list[str | Path] = [daemon, "--root", root, "--config", root / "config"]
    (root / "config").write_text(f"{CONFIG}[daemon]\nmetrics=/metrics\n")
    with running(words, root):
        assert run(*words, status=1) == "cpuboltd: a cpuboltd runs already\n"
        assert run(*words, "--restore", status=1) == "cpuboltd: a cpuboltd runs already\n"
        ask = (command, "--root", root, "policy")
        assert run(*ask).startswith("policy    load, as few CPUs online as the load needs\n")
        assert run(*ask, "lease", "1-2", "60") == "lease 1: CPUs 1-2 for 60 s\n"
        assert "lease     1: CPUs 1-2 for " in run(*ask, "show")
        assert run(*ask, "explain", "1").startswith("CPU 1 is online: ")
        assert run(*ask, "release", "1") == "lease 1 has ended\n"
        assert run(*ask, "release", "1", status=1) == "cpubolt: there is no such lease\n"
        assert run(*ask, "switch", "fixed") == 'the policy is now "fixed"\n'
        assert run(*ask, "switch", "fast", status=1) == "cpubolt: there is no such policy\n"
        assert run(*ask, "explain", status=2).startswith("cpubolt: explain: expects 1 word(s)")
        assert run(*ask, "explain", "99", status=1).startswith("cpubolt: this machine has no such")
    assert "cpuboltd_request_seconds_bucket" in (root / "metrics").read_text()
    left = {path.name for path in (root / "run/cpubolt").iterdir()}
    assert left & {"cpuboltd", "cpuboltd.socket", "cpuboltd.lock"} == {"cpuboltd.lock"}
    assert run(*ask, status=1) == "cpubolt: cpuboltd does not run\n"


def test_only_root_may_change_something(daemon: Path, command: Path, tree: Tree) -> None:
    if os.geteuid():
        pytest.skip("needs root")
    root = tree("small+bolt")
    words: list[str | Path] = [daemon, "--root", root, "--config", root / "config"]
    with running(words, root):
        for request, status in (
            ("show", 0),
            ("explain 1", 0),
            ("switch steal", 77),
            ("lease 1 5", 77),
            ("release 1", 77),
        ):
            done = as_nobody(command, root, "policy", *request.split())
            assert done.returncode == status, done.stderr
            assert (done.stderr == "cpubolt: only root may make this request\n") == (status == 77)


def test_a_user_who_may_not_read_whether_bolt_is_enabled(daemon: Path, tree: Tree) -> None:
    if os.geteuid():
        pytest.skip("needs root")
    root = tree("small+bolt")
    (root / BOLT / "enabled").chmod(0)
    done = as_nobody(daemon, root, "--dry-run", "--samples", "1")
    assert done.returncode == 0, done.stderr
    assert "Bolt is not enabled" not in done.stderr
    (root / BOLT / "enabled").write_text("0\n")
    words = ("--root", root, "--dry-run", "--samples", "1")
    assert "Bolt is not enabled" in run(daemon, *words)


def test_a_lease_may_take_long(command: Path, tree: Tree) -> None:
    """cpubolt waits more than 5 s for a lease: the daemon first makes a request for the CPUs.

    The request takes long if hotplug is disabled.
    """
    root = tree("small+bolt")
    (root / "run/cpubolt").mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(os.fspath(root / "run/cpubolt/cpuboltd.socket"))
        words: list[str | Path] = [command, "--root", root, "policy", "lease", "1", "60"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            request, sender = daemon.recvfrom(1000)
            assert request == b"lease 1 60"
            time.sleep(6)
            daemon.sendto(b"ok lease 1: CPUs 1 for 60 s\n", sender)
            assert process.communicate()[0] == "lease 1: CPUs 1 for 60 s\n"
        assert process.returncode == 0


def test_what_was_left_is_brought_back(daemon: Path, tree: Tree) -> None:
    root = tree("small+bolt+offline")
    boot = (root / "proc/sys/kernel/random/boot_id").read_text().strip()
    state = root / "run/cpubolt/cpuboltd"
    state.parent.mkdir()
    words = (daemon, "--root", root, "--restore")
    assert run(*words) == ""
    # The list in the file is of another boot, so the daemon has not taken these CPUs.
    state.write_text("boot_id=x\ntaken=2-3\n")
    assert run(*words) == ""
    assert not (root / BOLT / "online").read_text()
    state.write_text(f"boot_id={boot}\ntaken=0-3\n")
    # CPU 3 does not come in a recorded tree, but the file with the list must be gone.
    assert "online again, as the daemon found them" in run(*words)
    assert (root / BOLT / "online").read_text() == "3"
    assert not state.exists()
    state.write_text("nonsense")
    assert "cannot put back all CPUs" in run(*words, status=1)
    assert (state.parent / "cpuboltd.bad").read_text() == "nonsense"
    assert run(*words) == ""


def test_a_denied_cpu_is_not_brought_back(daemon: Path, tree: Tree) -> None:
    """A CPU in "deny" stays offline even if another line of a file, or an option, is wrong."""
    root = tree("small+bolt+offline")
    boot = (root / "proc/sys/kernel/random/boot_id").read_text().strip()
    state = root / "run/cpubolt/cpuboltd"
    state.parent.mkdir()
    (root / "config.d").mkdir()
    denied = "[daemon]\ndeny = 3\n"
    section, number = "there is no section [polic]", "a number from 2 to 100 is wanted"
    for text, drop_in, options, wrong in (
        (denied, "", (), ""),
        (f"{denied}[polic]\n", "", (), section),
        (f"[load]\nup = 1000\n{denied}", "", (), number),
        ("[load]\nup = 1000\n", denied, (), number),
        (denied, "", ("--policy", "typo"), 'there is no policy "typo"'),
    ):
        state.write_text(f"boot_id={boot}\ntaken=2-3\n")
        (root / "config").write_text(text)
        (root / "config.d/x.conf").write_text(drop_in)
        said = run(daemon, "--root", root, "--config", root / "config", "--restore", *options)
        assert 'CPUs 3 are in "deny", and are left as they are\n' in said
        assert wrong in said
        assert "3" not in (root / BOLT / "online").read_text()
        assert not state.exists()


def test_messages_go_to_stderr_unless_that_is_the_journal(daemon: Path, tree: Tree) -> None:
    words = (daemon, "--root", tree("small"), "--policy", "fast")
    assert 'no policy "fast"' in run("env", "JOURNAL_STREAM=1:2", *words, status=2)


# -- Interrupts -----------------------------------------------------------------------------------

INTERRUPTS = f"""{CONFIG}[daemon]
metrics = /metrics
[policy]
name = fixed
[interrupts]
enabled = yes
"""


def affinity(root: Path, irq: int) -> Path:
    return root / f"proc/irq/{irq}/smp_affinity_list"


def put_interrupts(root: Path) -> None:
    """Write four interrupts with constant counts: on CPU 0, on CPU 3, managed, and per CPU."""
    counts = "1 1 1 1"
    rows = [f"{24 + n}: {counts} PCI-MSI {n}-edge  queue {n}" for n in range(3)]
    table = ["CPU0 CPU1 CPU2 CPU3", *rows, f"LOC: {counts} Local timer interrupts", ""]
    (root / "proc/interrupts").write_text("\n".join(table))
    for number, cpu in ((24, 0), (25, 3), (26, 3)):
        affinity(root, number).parent.mkdir(parents=True)
        affinity(root, number).write_text("0-3\n")
        affinity(root, number).with_name("effective_affinity_list").write_text(f"{cpu}\n")
    affinity(root, 26).chmod(0o444)
    (root / "config").write_text(INTERRUPTS)


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(3000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError


def test_idle_interrupts_are_packed_and_put_back(daemon: Path, command: Path, tree: Tree) -> None:
    root = tree("small+bolt")
    put_interrupts(root)
    words: list[str | Path] = [daemon, "--root", root, "--config", root / "config"]
    ask = (command, "--root", root, "policy")
    with running(words, root):
        wait_until(lambda: affinity(root, 25).read_text() == "0")
        said = run(*ask, "explain", "3")
        what = r"^interrupt 25 \(queue 1\) went from CPU 3 to CPU 0 \d+ s ago: idle, 0.0 a second$"
        assert re.search(what, said, re.M), said
        assert "irqs      1 moved, 1 in the last minute; idle interrupts go to CPU 0\n" in run(*ask)
    assert 'cpuboltd_interrupt_moves_total{cause="idle"} 1\n' in (root / "metrics").read_text()
    assert "cpuboltd_interrupts_moved 0\n" in (root / "metrics").read_text()
    # Interrupt 24 is on CPU 0 already, and interrupt 26 is managed: only interrupt 25 was moved.
    assert [affinity(root, n).read_text() for n in (24, 25, 26)] == ["0-3\n", "0-3", "0-3\n"]
    assert not (root / "run/cpubolt/cpuboltd.interrupts").exists()


def test_affinities_after_sigkill(daemon: Path, tree: Tree) -> None:
    root = tree("small+bolt")
    put_interrupts(root)
    words: list[str | Path] = [daemon, "--root", root, "--config", root / "config"]
    state = root / "run/cpubolt/cpuboltd.interrupts"
    for again in (False, True):
        with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
            wait_until(lambda: affinity(root, 25).read_text() == "0")
            process.kill()
        assert "\nirq=25 found=0-3 was=0-3 written=0 name=queue 1\n" in state.read_text()
        if again:
            break
        said = run(daemon, "--root", root, "--restore")
        assert said == "cpuboltd: interrupts that have their affinity back: 1\n"
        assert affinity(root, 25).read_text() == "0-3"
        assert not state.exists()
        assert run(daemon, "--root", root, "--restore") == ""
    # The next daemon puts affinities back as well, even a daemon that moves no interrupts.
    (root / "config").write_text(CONFIG)
    run(*words, "--samples", "1")
    assert affinity(root, 25).read_text() == "0-3"
    assert not state.exists()
    state.write_text("nonsense")
    assert "cannot be understood" in run(daemon, "--root", root, "--restore", status=1)
    assert state.with_name(f"{state.name}.bad").read_text() == "nonsense"
    assert run(daemon, "--root", root, "--restore") == ""


def test_a_dry_run_says_which_interrupts_would_go(daemon: Path, tree: Tree) -> None:
    root = tree("small+bolt")
    put_interrupts(root)
    words = ("--root", root, "--config", root / "config", "--dry-run", "--samples", "20")
    said = run(daemon, *words)
    what = "interrupt 25 (queue 1) would go from CPU 3 to CPU 0: idle, 0.0 a second"
    lines = [line for line in said.splitlines() if "interrupt" in line]
    assert lines == [f"cpuboltd: dry run: {what}"]
    assert affinity(root, 25).read_text() == "0-3\n"
    assert not (root / "run/cpubolt").exists()
    # The policy wants CPU 0 only, so interrupt 25 would have to leave CPU 3.
    (root / "config").write_text(INTERRUPTS.replace("fixed", "load"))
    assert "from CPU 3 to CPU 0: CPU 3 was about to go\n" in run(daemon, *words)


def test_interrupts_are_not_moved_unasked(daemon: Path, tree: Tree) -> None:
    root = tree("small+bolt")
    put_interrupts(root)
    (root / "config").write_text(CONFIG)
    run(daemon, "--root", root, "--config", root / "config", "--samples", "20")
    assert affinity(root, 25).read_text() == "0-3\n"


@pytest.mark.parametrize("beside", ["yield", "ban"])
def test_beside_irqbalance(daemon: Path, tree: Tree, beside: str) -> None:
    """One message names irqbalance; with "ban", cpuboltd tells irqbalance what to leave alone."""
    root = tree("small+bolt")
    put_interrupts(root)
    (root / "config").write_text(f"{INTERRUPTS}irqbalance = {beside}\n")
    (root / "proc/77").mkdir()
    (root / "proc/77/comm").write_text("irqbalance\n")
    (root / "run/irqbalance").mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(os.fspath(root / "run/irqbalance/irqbalance77.sock"))
        server.listen(4)
        server.settimeout(60)
        said = run(daemon, "--root", root, "--config", root / "config", "--samples", "20")
        told: list[str] = []
        while beside == "ban" and len(told) < 2:
            with server.accept()[0] as peer:
                told.append(peer.recv(512).decode())
    lines = [line for line in said.splitlines() if "irqbalance" in line]
    if beside == "yield":
        assert lines == ["cpuboltd: interrupts are left alone: irqbalance (PID 77) runs"]
        assert affinity(root, 25).read_text() == "0-3\n"
    else:
        assert lines == ["cpuboltd: irqbalance (PID 77) was told to leave 2 interrupts to cpuboltd"]
        assert told == ["settings ban irqs 25 24", "settings ban irqs NONE"]
        assert "interrupt 25 (queue 1) went from CPU 3 to CPU 0" in said

# SPDX-License-Identifier: GPL-2.0-only
"""cpubolt states, irq, bench, trace and doctor: on recorded trees and files, and in guests.

A recorded tree is what Linux shows of a machine below /sys and /proc.
"""

import base64
import gzip
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from boltlab import paths
from boltlab.arch import ARCHES
from boltlab.bench import results
from boltlab.guest import busybox, guestimage, qemu, scenario, tools
from boltlab.kernel.build import Kernel
from boltlab.report import summary

SOURCES = paths.REPO / "tools"
VIEWS = SOURCES / "tests/cmd-views"
BOLT = "sys/devices/system/cpu/bolt"
DEBUG = "sys/kernel/debug/bolt"
Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def folder() -> Path:
    """Return the directory in which tools/ is built for this machine."""
    return tools.host("plain")


@pytest.fixture(scope="session")
def run(folder: Path) -> Callable[..., Done]:
    """Return a function that runs cpubolt with the arguments that it gets."""

    def call(*words: str | Path) -> Done:
        return subprocess.run(
            [folder / "cpubolt/cpubolt", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        )

    return call


@pytest.fixture
def tree(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a machine's recorded tree, with files recorded in guests."""

    def make(name: str, interrupts: str = "x86_64") -> Path:
        root = tmp_path / name
        subprocess.run([sys.executable, SOURCES / "tests/trees.py", name, root], check=True)
        put(root / "proc/interrupts", recorded(f"interrupts-{interrupts}.txt"))
        put(root / "proc/uptime", "10.00 40.00\n")
        put(root / "proc/sys/kernel/osrelease", "6.12.117\n")
        for line in recorded(f"interrupts-{interrupts}.txt").splitlines():
            number = line.partition(":")[0].strip()
            if number.isdigit():
                put(root / f"proc/irq/{number}/smp_affinity_list", "0-3\n")
                put(root / f"proc/irq/{number}/effective_affinity_list", "1\n")
        if (root / BOLT).exists():
            put(root / DEBUG / "states", recorded("states.txt"))
            put(root / DEBUG / "stats", recorded("stats.txt"))
            put(root / DEBUG / "timing", "0\n")
        return root

    return make


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def recorded(name: str) -> str:
    return (VIEWS / name).read_text(encoding="utf-8")


def program(root: Path, name: str, pid: int = 512, environ: bytes = b"A=1\0") -> None:
    """Write the files that procfs has of a running program."""
    put(root / f"proc/{pid}/comm", f"{name[:15]}\n")
    (root / f"proc/{pid}/environ").write_bytes(environ)


# -- Parsers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", tools.BUILDS)
def test_units(build: str) -> None:
    """Run the tests in C of parsers, percentiles and layout, and a fuzz target, in each build."""
    where = tools.host(build)
    tests = tools.tests(where, "views")
    names = {test["name"] for test in tests}
    assert names >= {
        "cmd-views-parse", "cmd-views-bench", "cmd-views-bench-cpus", "cmd-views-fuzz",
        "cmd-views-look",
    }  # fmt: skip
    targets = [Path(test["cmd"][0]).relative_to(where).as_posix() for test in tests]
    subprocess.run(["ninja", "-C", where, *targets], check=True, capture_output=True)
    for test in tests:
        done = subprocess.run(
            test["cmd"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **test["env"], "UBSAN_OPTIONS": "halt_on_error=1"},
        )
        assert done.returncode == 0, done.stdout + done.stderr


# -- states ---------------------------------------------------------------------------------------


def test_states_are_a_table(run: Callable[..., Done], tree: Callable[..., Path]) -> None:
    root = tree("small+bolt")
    lines = run("--root", root, "states").stdout.splitlines()
    head = ["STATE", "NAME", "CLASS", "CONC", "RUNS", "SKIPS", "SETTLES", "TIME", "SLOWED"]
    assert lines[0].split() == head
    row = next(line.split() for line in lines if "slub:dead" in line)
    assert row == ["11", "slub:dead", "lazy", "no", "0", "6", "2", "156.7", "0"]
    assert all(len(line) <= 80 for line in lines)
    assert lines[-1] == "No state makes requests for several CPUs go CPU by CPU."
    found = json.loads(run("--root", root, "states", "--json").stdout)["states"]
    assert len(found) == len(recorded("states.txt").splitlines()) - 1
    (slub,) = [each for each in found if each["name"] == "slub:dead"]
    assert (slub["fit"], slub["conc"], slub["skips"], slub["slow"]) == ("serial", False, 6, False)
    assert slub["reason"].startswith("the CPU keeps its slabs")


def test_the_state_that_makes_requests_slow_is_named(
    run: Callable[..., Done], tree: Callable[..., Path]
) -> None:
    root = tree("small+bolt")
    states = recorded("states.txt").replace("11 lazy serial - 0 6 2 0", "11 lazy unfit - 0 6 2 41")
    put(root / DEBUG / "states", states)
    put(root / DEBUG / "stats", "slow_state slub:dead\ngrace_periods normal\n")
    text = run("--root", root, "states").stdout
    assert "State slub:dead makes requests for several CPUs go CPU by CPU: 41 so far." in text
    assert "cpubolt states --set slub:dead=serial" in text
    assert "grace periods are forced to be normal" in text
    found = json.loads(run("--root", root, "states", "-J").stdout)["states"]
    assert [each["name"] for each in found if each["slow"]] == ["slub:dead"]
    put(root / DEBUG / "stats", "slow_state -\n")
    text = run("--root", root, "states").stdout
    assert "State slub:dead made 41 requests go CPU by CPU, and no longer does." in text


def test_another_unfit_state_is_called_unfit(
    run: Callable[..., Done], tree: Callable[..., Path]
) -> None:
    """slow_state names only the lowest unfit state; cpubolt learns of others from bolt/states."""
    root = tree("small+bolt")
    states = recorded("states.txt")
    put(root / DEBUG / "stats", "slow_state slub:dead\n")
    for fit, sentence in (("unfit", "and is still unfit"), ("serial", "and no longer does")):
        both = states.replace("11 lazy serial - 0 6 2 0", "11 lazy unfit - 0 6 2 0")
        both = both.replace("32 critical serial - 6 0 0 0", f"32 critical {fit} - 6 0 0 5")
        assert both.count("unfit") == 2 - (fit == "serial")
        put(root / DEBUG / "states", both)
        text = run("--root", root, "states").stdout
        assert f"State net/dev:dead made 5 requests go CPU by CPU, {sentence}." in text
        assert "State slub:dead makes requests for several CPUs go CPU by CPU: 0 so far." in text


@pytest.mark.parametrize("which", ["slub:dead", "11"])
def test_a_state_is_moved(run: Callable[..., Done], tree: Callable[..., Path], which: str) -> None:
    root = tree("small+bolt")
    for word in ("critical", "serial", "unfit", "default"):
        put(root / DEBUG / "states", recorded("states.txt"))
        done = run("--root", root, "states", "--set", f"{which}={word}")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert (root / DEBUG / "states").read_text().startswith(f"11 {word}")


def test_wrong_states_change_nothing(run: Callable[..., Done], tree: Callable[..., Path]) -> None:
    root = tree("small+bolt")
    for words, text in (
        (["--set", "slub:dead=lazy"], '"lazy" is none of critical, serial, unfit and default'),
        (["--set", "nosuch=critical"], 'this kernel has no hotplug state "nosuch"'),
        (["--set", "slub:dead=critical", "--set", "12=critical"], 'no hotplug state "12"'),
        (["--set", "slub:dead"], '"slub:dead" is not STATE=WORD'),
        (["--timing", "maybe"], '--timing is "on" or "off"'),
        (["--output", "NAME,NONE"], '"NONE" is no column'),
        (["more"], '"more" is too much'),
    ):
        done = run("--root", root, "states", *words)
        assert done.returncode == 2, words
        assert text in done.stderr
        assert (root / DEBUG / "states").read_text() == recorded("states.txt")


def test_timing_is_switched(run: Callable[..., Done], tree: Callable[..., Path]) -> None:
    root = tree("small+bolt")
    assert run("--root", root, "states", "--timing", "on").returncode == 0
    assert (root / DEBUG / "timing").read_text().startswith("1")


def test_states_are_put_back_if_the_timing_cannot_be_switched(
    run: Callable[..., Done], tree: Callable[..., Path]
) -> None:
    root = tree("small+bolt")
    (root / DEBUG / "timing").unlink()
    (root / DEBUG / "timing").mkdir()
    done = run("--root", root, "states", "--set", "slub:dead=critical", "--timing", "on")
    assert done.returncode == 1
    assert "Is a directory" in done.stderr
    assert "nothing has changed" in done.stderr
    assert (root / DEBUG / "states").read_text().startswith("11 default")


def test_states_of_a_kernel_without_bolt(
    run: Callable[..., Done], tree: Callable[..., Path]
) -> None:
    root = tree("smt")
    done = run("--root", root, "states")
    assert done.returncode == 0
    assert "this kernel has no Bolt" in done.stderr
    assert done.stdout.splitlines()[0].split() == ["STATE", "NAME"]
    assert "slub:dead" in done.stdout
    assert run("--root", root, "states", "--set", "11=critical").returncode == 1
    bolt = tree("small+bolt")
    (bolt / DEBUG / "states").unlink()
    done = run("--root", bolt, "states")
    assert (done.returncode, done.stdout) == (1, "")
    assert "mount debugfs" in done.stderr
    put(bolt / DEBUG / "states", "nonsense\n")
    assert "cannot understand line 1 of" in run("--root", bolt, "states").stderr


# -- irq ------------------------------------------------------------------------------------------


def irqs(done: Done) -> dict[str, dict[str, object]]:
    return {row["irq"]: row for row in json.loads(done.stdout)["interrupts"]}


def test_interrupts_have_rates_and_kinds(
    run: Callable[..., Done], tree: Callable[..., Path]
) -> None:
    root = tree("small+bolt")
    (root / "proc/irq/24/smp_affinity_list").chmod(0o444)
    (root / "proc/irq/0/smp_affinity_list").chmod(0o444)
    found = irqs(run("--root", root, "irq", "-i", "0", "--json", "--all"))
    # A column of another view is refused before the interval, not after it.
    done = run("--root", root, "irq", "-i", "3600", "-o", "KEPT")
    assert (done.returncode, done.stdout) == (2, "")
    assert '"KEPT" is no column' in done.stderr
    assert found["25"]["rate"] == 30.5  # 198 + 104 + 3 in 10 s
    assert found["25"]["by-cpu"] == "1:20 2:10 3:0.3"
    assert [found[each]["kind"] for each in ("25", "24", "0", "LOC")] == [
        "movable", "managed", "fixed", "per-CPU",
    ]  # fmt: skip
    assert (found["25"]["affinity"], found["25"]["effective"]) == ("0-3", "1")
    lines = run("--root", root, "irq", "-i", "0").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["LOC", "CAL", "25"]
    assert lines[-1] == 'The keep list is empty: see "cpubolt irq --propose".'
    assert "virtio0-config" not in "".join(lines)  # this interrupt never occurred
    rows = json.loads(run("--root", root, "irq", "-i", "0", "-b", "-J").stdout)["cpus"]
    assert [row["cpu"] for row in rows] == [0, 1, 2, 3]
    assert rows[1]["movable"] == 19.9
    assert rows[1]["rate"] == pytest.approx(rows[1]["movable"] + rows[1]["per-cpu"])


def test_interrupts_of_arm64(run: Callable[..., Done], tree: Callable[..., Path]) -> None:
    found = irqs(run("--root", tree("clusters", "arm64"), "irq", "-i", "0", "-J", "-a"))
    assert found["11"]["kind"] == "per-CPU"
    assert found["11"]["device"] == "arch_timer"
    assert found["IPI0"]["kind"] == "per-CPU"
    assert found["16"]["kind"] == "movable"


def test_irqbalance_is_explained(run: Callable[..., Done], tree: Callable[..., Path]) -> None:
    root = tree("small+bolt")
    assert "irqbalance" not in run("--root", root, "irq", "-i", "0").stdout
    program(root, "irqbalance")
    assert "irqbalance (PID 512) moves interrupts" in run("--root", root, "irq", "-i", "0").stdout
    put(root / BOLT / "irq_keep", "0\n")
    text = run("--root", root, "irq", "-i", "0").stdout
    assert "Movable interrupts are kept on CPU 0." in text
    assert "Stop irqbalance, or have IRQBALANCE_BANNED_CPULIST=1-3 in" in text
    program(root, "irqbalance", environ=b"A=1\0IRQBALANCE_BANNED_CPULIST=1-3\0")
    text = run("--root", root, "irq", "-i", "0").stdout
    assert "irqbalance (PID 512) uses CPUs of the keep list only." in text
    for banned, confined in (
        (b"CPUS=c", False),
        (b"CPUS=e", True),
        (b"CPULIST=1-", False),
        (b"CPUS=0xe", False),
        # A configuration of irqbalance for many machines may name CPUs that this machine lacks.
        (b"CPULIST=1,2-1023", True),
        (b"CPUS=ffffffff,fffffffe", True),
        (b"CPUS=ffffffff,fffffffc", False),
    ):
        program(root, "irqbalance", environ=b"IRQBALANCE_BANNED_" + banned + b"\0")
        text = run("--root", root, "irq", "-i", "0").stdout
        assert ("Stop irqbalance" not in text) == confined, banned


def test_json_is_utf_8(run: Callable[..., Done], tree: Callable[..., Path]) -> None:
    """A byte of another encoding in the name of a device becomes a question mark."""
    root = tree("small")
    file = root / "proc/interrupts"
    names = b"n\xc3\xa9 \xff\xed\xa0\x80".ljust(14)
    file.write_bytes(file.read_bytes().replace(b"virtio0-config", names))
    found = irqs(run("--root", root, "irq", "-i", "0", "-J", "-a"))
    assert "n\xe9 ????" in {row["device"] for row in found.values()}


def test_a_keep_list_is_proposed_applied_and_cleared(
    run: Callable[..., Done], tree: Callable[..., Path]
) -> None:
    root = tree("small+bolt")
    done = run("--root", root, "irq", "--propose", "-i", "0")
    assert "Keep movable interrupts there: cpubolt irq --apply 0" in done.stdout
    assert not (root / BOLT / "irq_keep").read_text().strip()
    assert run("--root", root, "irq", "--apply", "0,1").returncode == 0
    assert (root / BOLT / "irq_keep").read_text().startswith("0-1")
    put(root / BOLT / "irq_keep", "0\n")
    assert run("--root", root, "irq", "--clear").returncode == 0
    assert (root / BOLT / "irq_keep").read_text().startswith("\n")
    for words, code, text in (
        (["--apply", "x"], 2, '"x" is no list of CPUs'),
        (["--apply", ""], 2, "the list"),
        (["--apply", "99999"], 2, "cannot have"),
        (["--interval", "-1"], 2, "no number of seconds"),
        (["--interval", "nan"], 2, "no number of seconds"),
        (["--propose", "--clear"], 2, "exclude each other"),
    ):
        done = run("--root", root, "irq", *words)
        assert done.returncode == code, words
        assert text in done.stderr
    assert run("--root", tree("smt"), "irq", "--apply", "0").returncode == 1


def test_isolated_cpus_are_not_proposed(
    run: Callable[..., Done], tree: Callable[..., Path]
) -> None:
    root = tree("small+isolated+bolt")
    put(root / "sys/devices/system/cpu/isolated", "0-1\n")
    put(root / "sys/devices/system/cpu/nohz_full", "2\n")
    found = json.loads(run("--root", root, "irq", "-p", "-i", "0", "-J").stdout)["keep"]
    assert [row["cpu"] for row in found] == [3]
    put(root / "sys/devices/system/cpu/isolated", "0-3\n")
    done = run("--root", root, "irq", "-p", "-i", "0")
    assert (done.returncode, done.stdout) == (1, "")


def test_interrupts_of_1780_cpus(run: Callable[..., Done], tree: Callable[..., Path]) -> None:
    """The proposed keep list has CPUs of each node whose interrupts occur."""
    root = tree("large+bolt")
    head = "".join(f"CPU{cpu:<8}" for cpu in range(1780))
    rows = [f"{irq}: {' '.join(['100'] * 1780)} IR-PCI-MSIX 1-edge  nic{irq}" for irq in range(30)]
    put(root / "proc/interrupts", "\n".join([head, *rows, ""]))
    for irq in range(30):
        put(root / f"proc/irq/{irq}/smp_affinity_list", "0-1779\n")
        put(root / f"proc/irq/{irq}/node", f"{irq % 3}\n")
    found = json.loads(run("--root", root, "irq", "-p", "-i", "0", "-J").stdout)["keep"]
    assert sum(row["rate"] for row in found) == pytest.approx(30 * 17800, rel=1e-3)
    assert {row["node"] for row in found} == {0, 1, 2}
    assert all(row["rate"] <= 20000 for row in found)


# -- bench ----------------------------------------------------------------------------------------


def test_the_lab_reads_result_files(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(
        ["ninja", "-C", folder, "tests/cmd-views/cmd-views-bench"], check=True, capture_output=True
    )
    file = tmp_path / "machine.json"
    program = folder / "tests/cmd-views/cmd-views-bench"
    file.write_bytes(subprocess.run([program], capture_output=True, check=True).stdout)
    found = results.load(file)
    assert found.machine is not None
    assert found.machine.model == 'A "CPU" \\ with ? odd ? name'
    assert [(case.case, case.batch) for case in found.cases] == [
        ("offline1", 1), ("online1", 1), ("online_bulk", 3),
    ]  # fmt: skip
    native = found.cases[0].variants["native"]
    assert native == results.summarise([ms * 1e6 for ms in range(1, 101)])
    summary.show(found)
    shown = capsys.readouterr().out
    assert "real time on" in shown
    assert summary.rows(found, ranges=False)[1][0][-2] == "100.0x"  # native against Bolt
    assert "real time, measured by cpubolt bench" in " ".join(shown.split())


def test_bench_refuses_what_it_cannot_measure(
    run: Callable[..., Done], tree: Callable[..., Path]
) -> None:
    for words, text in (
        (["--pairs", "0"], "no number of pairs from 1"),
        (["--pairs", "x"], "no number of pairs"),
        (["--gap", "-5"], "no number of milliseconds"),
        (["--batch", "1,,2"], "no list of numbers such as 1,2,4"),
        (["--variants", "native,fast"], '"fast" is none of native, expedited and bolt'),
        (["--energy", "--json"], "--energy prints a table"),
        (["--energy", "--hold", "0"], "--energy needs 100 milliseconds or more"),
        (["--energy", "--gap", "99"], "--energy needs 100 milliseconds or more"),
        (["more"], '"more" is too much'),
    ):
        done = run("bench", *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert text in done.stderr
    done = run("--root", tree("small+bolt"), "bench")
    assert (done.returncode, done.stdout) == (2, "")
    assert "not a recorded tree" in done.stderr


# -- trace ----------------------------------------------------------------------------------------


@pytest.fixture
def dat(tmp_path: Path) -> Path:
    """Return a file of trace-cmd with the same request as the text offline-bolt.txt."""
    path = tmp_path / "offline.dat"
    text = recorded("offline-bolt.dat.gz.txt")
    path.write_bytes(gzip.decompress(base64.b64decode(text)))
    return path


def test_text_and_file_of_trace_cmd_make_the_same_waterfall(
    run: Callable[..., Done], dat: Path
) -> None:
    def names(path: Path) -> list[str]:
        done = run("trace", "--all", "--input", path)
        assert (done.returncode, done.stderr) == (0, "")
        return [line.partition("|")[0].strip() for line in done.stdout.splitlines()]

    assert names(dat) == names(VIEWS / "offline-bolt.txt")
    lines = run("trace", "--input", dat).stdout.splitlines()
    assert lines[0] == "offline 2-3: 2.7 ms, 1.6 ms of it in Bolt's batch 1"
    assert [line.split("|")[0].strip() for line in lines if line[:1].isalpha() and "|" in line] == [
        "lock", "ap", "stop", "die", "dead",
    ]  # fmt: skip
    assert lines[-1] == "teardowns: 30 deferred, 0 cancelled, 0 settled"


# How Perfetto's importer of ftrace's text reads a line (systrace_line_tokenizer.cc). Of the events
# in cpubolt's text the importer draws only tracing_mark_write.
PERFETTO_LINE = re.compile(
    r"-(\d+)\s+\(?\s*(\d+|-+)?\)?\s?\[(\d+)\]\s*[a-zA-Z0-9.]{0,5}\s*(\d+\.\d+):\s+(\S+):"
)


def slices(text: str) -> dict[str, list[tuple[str, float, float]]]:
    """Return the slices of each track that Perfetto draws: name, begin and end in s."""
    assert text.startswith("# tracer")  # otherwise Perfetto takes the file for something else
    begun: dict[tuple[str, str], tuple[str, float]] = {}
    tracks: dict[str, list[tuple[str, float, float]]] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        found = PERFETTO_LINE.search(line)
        assert found, line
        if found[5] != "tracing_mark_write":
            continue
        kind, _, *rest = line[found.end() :].strip().split("|")
        assert kind in "GHI", line
        if kind == "G":
            track, name, number = rest
            begun[track, number] = (name, float(found[4]))
        elif kind == "H":
            track, number = rest
            name, start = begun.pop((track, number))
            tracks.setdefault(track, []).append((name, start, float(found[4])))
    assert begun == {}
    return tracks


@pytest.mark.parametrize("name", ["online-bolt", "offline-native", "online-native-arm64"])
@pytest.mark.parametrize("width", [60, 80, 132])
def test_a_waterfall_fits_and_is_to_scale(run: Callable[..., Done], name: str, width: int) -> None:
    words = ["trace", "--width", str(width), "--all", "--input", VIEWS / f"{name}.txt"]
    lines = run(*words).stdout.splitlines()
    assert max(len(line) for line in lines) == width
    bars = [line.split("|") for line in lines if "|" in line]
    units = {"us": 1, "ms": 1000}

    def us(text: str) -> float:
        value, unit = text.split()
        return float(value) * units[unit]

    total = us(lines[0].partition(": ")[2].partition(",")[0])
    columns = len(bars[0][1])
    for _, bar, time in bars:
        marks = len(bar) - bar.count(" ")
        assert abs(marks / columns - us(time) / total) < 0.25 or " x" in _, (_, bar, time)
    longest = max(bars, key=lambda bar: us(bar[2]))
    assert longest[1].strip()


def test_names_of_states_are_those_of_the_traced_kernel(
    run: Callable[..., Done], tree: Callable[..., Path]
) -> None:
    root = tree("small")
    put(root / "sys/devices/system/cpu/hotplug/states", recorded("hotplug-states.txt"))
    file = VIEWS / "offline-native.txt"
    assert "cpu:teardown" in run("--root", root, "trace", "-i", file).stdout
    assert "takedown_cpu" in run("trace", "-i", file).stdout


def test_what_is_no_trace_is_refused(
    run: Callable[..., Done], tree: Callable[..., Path], tmp_path: Path, dat: Path
) -> None:
    empty, cut, odd = (tmp_path / name for name in ("empty", "cut.dat", "odd.txt"))
    empty.write_text("")
    whole = dat.read_bytes()
    for size in range(10, len(whole), 2500):
        cut.write_bytes(whole[:size])
        assert run("trace", "--input", cut).returncode == 1
    # libtracecmd may read anything from a damaged file; cpubolt must not crash.
    chance = random.Random(5)
    for _ in range(60):
        bad = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        odd.write_bytes(bad)
        assert run("trace", "--input", odd).returncode in (0, 1)
    cut.write_bytes(whole[:600])
    odd.write_text(" a-1 [000] ..... 1.000001: bolt_phase: batch=x\n")
    for path, text in (
        (empty, "has no request"),
        (cut, "is no trace that cpubolt can read"),
        (odd, "is no trace that cpubolt can read"),
        (tmp_path / "none", "No such file"),
    ):
        done = run("trace", "--input", path)
        assert (done.returncode, done.stdout) == (1, ""), path
        assert text in done.stderr
    for words, text in (
        (["offline"], "name one request and one list"),
        (["offlin", "1"], "none of the requests"),
        (["--width", "20", "offline", "1"], "no number of columns"),
        (["--input", "x", "-o", "y"], "records none"),
    ):
        done = run("trace", *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert text in done.stderr
    assert run("--root", tree("small+bolt"), "trace", "offline", "1").returncode == 2


# -- doctor ---------------------------------------------------------------------------------------


def findings(run: Callable[..., Done], root: Path) -> tuple[int, dict[str, dict[str, str]]]:
    done = run("--root", root, "doctor", "--json")
    assert done.stderr == ""
    rows = json.loads(done.stdout)["findings"]
    return done.returncode, {row["check"]: row for row in rows}


def test_a_machine_that_is_fine(run: Callable[..., Done], tree: Callable[..., Path]) -> None:
    root = tree("small+bolt")
    put(root / BOLT / "irq_keep", "0\n")
    code, found = findings(run, root)
    assert code == 0
    assert {row["status"] for row in found.values()} == {"ok"}
    assert set(found) >= {
        "kernel", "switch", "SMT", "housekeeping", "drivers", "interrupts", "programs", "udev",
    }  # fmt: skip
    assert found["kernel"]["found"] == "Linux 6.12.117 has Bolt"


@pytest.mark.parametrize(
    ("name", "check", "status", "advice"),
    [
        ("small", "kernel", "todo", "install a kernel with Bolt"),
        ("small+disabled", "switch", "todo", "bolt=on"),
        ("smt+bolt+smtoff", "SMT", "note", "smt/control"),
        ("clusters+halfway+bolt", "CPUs", "todo", "cpubolt online 1, or cpubolt offline 1"),
    ],
)
def test_what_a_machine_lacks(
    run: Callable[..., Done],
    tree: Callable[..., Path],
    name: str,
    check: str,
    status: str,
    advice: str,
) -> None:
    code, found = findings(run, tree(name))
    assert code == (1 if status == "todo" else 0)
    assert found[check]["status"] == status
    assert advice in found[check]["do"]


@pytest.mark.parametrize(
    ("file", "text", "check", "status", "advice"),
    [
        (f"{DEBUG}/stats", "slow_state a:b\n", "drivers", "todo", "--set a:b=serial"),
        (f"{DEBUG}/stats", "grace_periods normal\n", "RCU", "todo", "rcu_normal"),
        (f"{BOLT}/settle_delay_ms", "0\n", "settling", "note", "1000"),
        ("sys/devices/system/cpu/smt/control", "forceoff\n", "SMT", "note", "nosmt=force"),
        ("sys/devices/system/cpu/isolated", "1-3\n", "housekeeping", "note", "another CPU"),
        ("proc/77/comm", "intel_lpmd\n", "programs", "note", "disable --now intel_lpmd"),
        ("proc/77/comm", "tuned\n", "programs", "note", "tuned-adm"),
        ("proc/77/comm", "google_guest_ag\n", "programs", "note", "set_multiqueue"),
        ("proc/77/comm", "qemu-ga\n", "programs", "note", "host's administrator"),
        ("proc/77/comm", "irqbalance\n", "interrupts", "note", "irq --propose"),
    ],
)
def test_what_a_file_says(
    run: Callable[..., Done],
    tree: Callable[..., Path],
    file: str,
    text: str,
    check: str,
    status: str,
    advice: str,
) -> None:
    root = tree("small+bolt")
    put(root / file, text)
    code, found = findings(run, root)
    assert code == (1 if status == "todo" else 0)
    assert found[check]["status"] == status
    assert advice in found[check]["do"]
    shown = run("--root", root, "doctor").stdout
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert f"{status:5} {check}" in shown


def test_a_kernel_that_secure_boot_refuses(
    run: Callable[..., Done], tree: Callable[..., Path]
) -> None:
    root = tree("small")
    put(root / "boot/vmlinuz-6.12.117-bolt", "")
    assert "boot /boot/vmlinuz-6.12.117-bolt" in findings(run, root)[1]["kernel"]["do"]
    variable = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    put(root / f"sys/firmware/efi/efivars/{variable}", "\x06\0\0\0\x01")
    assert "sign it with a key of your own" in findings(run, root)[1]["kernel"]["do"]


def test_irqbalance_beside_a_keep_list(run: Callable[..., Done], tree: Callable[..., Path]) -> None:
    root = tree("small+bolt")
    put(root / BOLT / "irq_keep", "0\n")
    program(root, "irqbalance")
    code, found = findings(run, root)
    assert code == 1
    assert found["interrupts"]["status"] == "todo"
    # If CPUs outside the keep list are banned, as "cpubolt irq" advises, nothing is to be done.
    program(root, "irqbalance", environ=b"A=1\0IRQBALANCE_BANNED_CPULIST=1-3\0")
    code, found = findings(run, root)
    assert code == 0
    assert found["interrupts"]["status"] == "ok"
    assert "irqbalance (PID 512) uses these CPUs only" in found["interrupts"]["found"]
    program(root, "irqbalance", environ=b"IRQBALANCE_BANNED_CPULIST=2-3\0")
    assert findings(run, root)[1]["interrupts"]["status"] == "todo"


def test_help_has_the_columns_of_each_table(run: Callable[..., Done]) -> None:
    text = run("irq", "--help").stdout
    assert {"BY-CPU", "MANAGED", "INTERRUPTS"} <= set(re.findall(r"^ ([A-Z-]+) ", text, re.M))


def test_rules_of_udev(run: Callable[..., Done], tree: Callable[..., Path]) -> None:
    root = tree("small+bolt")
    rules = root / "usr/lib/udev/rules.d/40-hotadd.rules"
    put(rules, recorded("udev-hotadd.txt"))
    code, found = findings(run, root)
    assert code == 0
    assert found["udev"]["status"] == "note"
    assert "/usr/lib/udev/rules.d/40-hotadd.rules:7 brings CPUs online" in found["udev"]["found"]
    put(rules, 'SUBSYSTEM=="cpu", ATTR{online}="1"\n')
    code, found = findings(run, root)
    assert code == 1
    assert found["udev"]["status"] == "todo"
    assert "ln -s /dev/null /etc/udev/rules.d/40-hotadd.rules" in found["udev"]["do"]
    # A file of the same name in /etc replaces the file in /usr/lib.
    own = root / "etc/udev/rules.d/40-hotadd.rules"
    put(own, "")
    assert findings(run, root)[1]["udev"]["status"] == "ok"
    # While /etc has that file, no link to /dev/null can be made in its place.
    for text in ('SUBSYSTEM=="cpu", ATTR{online}="1"\n', recorded("udev-hotadd.txt")):
        put(own, text)
        advice = findings(run, root)[1]["udev"]["do"]
        assert "remove the rule from /etc/udev/rules.d/40-hotadd.rules" in advice
        assert "ln -s" not in advice


# -- Pages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["states", "irq", "bench", "trace", "doctor"])
def test_help_and_page_say_the_same(run: Callable[..., Done], name: str) -> None:
    text = run(name, "--help").stdout
    assert "Examples:\n cpubolt " in text
    assert all(len(line) <= 90 for line in text.splitlines())
    options = set(re.findall(r"--[a-z][a-z-]*", text))
    page = (SOURCES / f"man/cpubolt-{name}.1.scd").read_text(encoding="utf-8")
    assert {option for option in options if f"*{option}*" not in page} == set()
    assert "# EXIT STATUS" in page


# -- In guests ------------------------------------------------------------------------------------


def bench_result(lines: list[str]) -> results.Results:
    """Return the result file that a guest has printed among its ``lines``."""
    text = "\n".join(lines)
    begin = text.index('{\n "schema"')
    return results.from_json(json.loads(text[begin : text.index("\n}", begin) + 2]))


@pytest.mark.guest
@pytest.mark.parametrize("arch", ARCHES)
def test_real_requests_in_a_guest(kernel: Callable[[str, str], Kernel], arch: str) -> None:
    """The scenario itself fails when a command's exit status, or a setting, is not as expected."""
    target = ARCHES[arch]
    wanted = scenario.load("cpubolt-views")
    guest = wanted.guest(target, kernel(arch, "bolt"), target.default_setting)
    done = qemu.run(guest, f"test-{arch}-cpubolt-views")
    lines = [row["output"] for row in done.records if "output" in row]
    begin = lines.index("# tracer: nop")
    end = next(i for i, line in enumerate(lines[begin:], begin) if line.startswith("online 2-3: "))
    drawn = slices("\n".join(lines[begin:end]))
    del lines[begin:end]
    text = "\n".join(lines)
    titles = re.findall(r"^offline 2-3: [\d.]+ [mu]s, [\d.]+ [mu]s of it in Bolt's batch \d+$",
                        text, re.M)  # fmt: skip
    assert len(titles) == 3  # of the request, of the file off.dat, of the text off.txt
    assert titles[0] == titles[1]
    assert {"request", "CPU 2", "CPU 3"} < set(drawn)
    (request,) = drawn.pop("request")
    assert request[0] == "online 2-3"
    inside = [each for track in drawn.values() for each in track]
    assert all(request[1] <= start <= end <= request[2] for _, start, end in inside)
    assert "sched_cpu_activate" in {name for name, _, _ in drawn["CPU 2"]}
    assert re.search(r"^online 2-3: .* in Bolt's batch", text, re.M)
    assert "teardowns: 0 deferred, " in text
    assert all(len(line) <= 80 for line in lines if line.count("|") == 2)
    assert "nothing to trace: the CPUs are as wanted" in text
    assert re.search(r"^slub:dead +critical! +serial +yes$", text, re.M)
    assert re.search(r"^sched:active +critical +unfit! +yes$", text, re.M)
    assert re.search(r"hotplug state sched:active makes requests", text)
    assert "State sched:active made 2 requests go CPU by CPU, and no longer does." in text
    assert "Movable interrupts are kept on CPU 1." in text
    assert "this machine does not measure its power: there is no RAPL" in text
    assert re.search(r"^CPU 3 +\|", text, re.M)  # a row of a native request
    console = (done.folder / "console.log").read_bytes()
    assert re.search(rb"\r\[=* *\] +\d+ %  bolt +\d CPU", console)
    assert "%" not in text  # no progress bar where stderr is no terminal
    found = bench_result(lines)
    assert found.accel in ("tcg", "qemu")
    assert found.machine is not None
    for case in found.cases:
        assert set(case.variants) == {"native", "expedited", "bolt"}
        assert case.variants["bolt"].median < case.variants["native"].median


def said_in_a_guest(kernel: Kernel, script: str, title: str) -> list[str]:
    """Return the lines that a script of busybox's shell prints in a guest with cpubolt."""
    target = ARCHES[kernel.arch]
    wanted = replace(
        scenario.load("cpubolt-views"), commands=("run /bin/busybox sh /said.sh",), timeout=600
    )
    guest = wanted.guest(target, kernel, target.default_setting)
    programs = {
        **guest.programs,
        "bin/busybox": guestimage.file(busybox.ensure(target).read_bytes(), 0o755),
        "said.sh": guestimage.file(script.encode()),
    }
    done = qemu.run(replace(guest, programs=programs), f"test-{target.name}-{title}")
    return [row["output"].rstrip() for row in done.records if "output" in row]


INTERRUPT = """\
exec 2>&1
bolt=/sys/devices/system/cpu/bolt/enabled
echo {before} > $bolt
bench="/bin/cpubolt bench --batch 3 --variants {variant} -o /tmp/new.json"
for signal in INT TERM HUP; do
    # With timeout, because a command that the shell starts with "&" would ignore SIGINT.
    /bin/busybox timeout -s $signal 0.5 $bench --pairs 1000 --gap 1
    echo "$signal: $?" $(/bin/busybox cat $bolt /sys/kernel/rcu_expedited \
        /sys/devices/system/cpu/online)
done
/bin/busybox ls /tmp/new.json
trap "" HUP
/bin/busybox timeout -s HUP 0.5 $bench --pairs 3 --gap 200 > /dev/null
echo "ignored: $?"
"""


@pytest.mark.guest
@pytest.mark.parametrize(("before", "variant"), [(0, "bolt"), (1, "expedited")])
@pytest.mark.parametrize("arch", ARCHES)
def test_bench_puts_back_after_signals(
    kernel: Callable[[str, str], Kernel], arch: str, before: int, variant: str
) -> None:
    lines = said_in_a_guest(
        kernel(arch, "bolt"), INTERRUPT.format(before=before, variant=variant), "bench-signals"
    )
    assert [line for line in lines if ": " in line] == [
        line
        for signal in ("INT", "TERM", "HUP")
        for line in (
            "cpubolt: interrupted: all is as it was before",
            f"{signal}: 1 {before} 0 0-3",
        )
    ] + ["ls: /tmp/new.json: No such file or directory", "ignored: 0"]


UNREAD = """\
exec 2>&1
/bin/cpubolt trace --all --width 400 offline 1-3 2> /dev/null | /bin/busybox true
echo "instances: $(/bin/busybox ls /sys/kernel/tracing/instances)"
echo "online: $(/bin/busybox cat /sys/devices/system/cpu/online)"
"""


FAILED = """\
exec 2>&1
cd /sys/devices/system/cpu
echo {bolt} > bolt/enabled
old() {{ echo old > /tmp/off.dat; echo old > /tmp/off.txt; }}
try() {{
    old
    /bin/cpubolt trace --all -o /tmp/off.dat -t /tmp/off.txt offline $1
    echo "status $?; $(/bin/busybox grep -cx old /tmp/off.dat) and" \
        "$(/bin/busybox grep -cx old /tmp/off.txt) files are old"
}}
/bin/busybox sed -n 's/^ *\\([0-9]*\\): workqueue:online$/\\1/p' hotplug/states > cpu3/hotplug/fail
try 2-3
/bin/cpubolt trace --input /tmp/off.dat
/bin/busybox sed -n 's/^ *\\([0-9]*\\): workqueue:online$/\\1/p' hotplug/states > cpu3/hotplug/fail
/bin/cpubolt trace set 0-1
echo -1 > cpu3/hotplug/fail
try 0-3
/bin/cpubolt trace -o /tmp/new.dat -t /tmp/new.txt offline 0-3
/bin/cpubolt trace -o /tmp/new.dat -t /tmp/new.txt online 0-3
/bin/busybox ls /tmp
echo "online: $(/bin/busybox cat online)"
"""


@pytest.mark.guest
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("bolt", [1, 0])
def test_a_request_that_fails_is_drawn(
    kernel: Callable[[str, str], Kernel], arch: str, bolt: int
) -> None:
    """A request that is refused at once leaves the files of an earlier trace as these were."""
    lines = said_in_a_guest(kernel(arch, "bolt"), FAILED.format(bolt=bolt), "trace-failed")
    text = "\n".join(lines)
    assert re.search(r"^cpubolt: CPU 3 failed.* \(errno 11\); nothing has changed$", text, re.M)
    title = "[^,]+, .* of it in Bolt's batch 1, which failed: .*" if bolt else r"[^,\n]+"
    shown = re.findall(rf"^offline 2-3: {title}$", text, re.M)
    assert len(shown) == 2  # of the request, and of the file off.dat
    assert shown[0] == shown[1]
    assert len(re.findall(rf"^set 0-1: {title.replace('batch 1', 'batch .')}$", text, re.M)) == 1
    assert [line for line in lines if "files are old" in line] == [
        "status 1; 0 and 0 files are old",
        "status 1; 1 and 1 files are old",
    ]
    assert "cpubolt: nothing to trace: the CPUs are as wanted" in lines
    assert lines[-3:] == ["off.dat", "off.txt", "online: 0-3"]


@pytest.mark.guest
@pytest.mark.parametrize("arch", ARCHES)
def test_trace_removes_its_instance_though_nobody_reads(
    kernel: Callable[[str, str], Kernel], arch: str
) -> None:
    lines = said_in_a_guest(kernel(arch, "bolt"), UNREAD, "trace-unread")
    assert lines == ["instances:", "online: 0"]

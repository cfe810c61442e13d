# SPDX-License-Identifier: GPL-2.0-only
"""cpubolt energy: its unit tests, its files, and its output for recorded load."""

import json
import os
import re
import secrets
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from boltlab import paths
from boltlab.guest import tools

TOOLS = paths.REPO / "tools"
MODELS = TOOLS / "cpubolt/energy"
SERVED = TOOLS / "tests/cmd-energy/served.csv"
PAGE = paths.REPO / "docs/energy.md"
TEN_MINUTES = 600
Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture(scope="session")
def run() -> Run:
    """Return a function that runs cpubolt energy with the arguments that it gets."""
    binary = tools.host("plain") / "cpubolt/cpubolt"

    def call(*words: str | Path) -> Done:
        return subprocess.run(
            [binary, "energy", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        )

    return call


def files(model: str = "exynos5410", requests: str = "paper-exynos5410") -> list[str | Path]:
    return ["--model", MODELS / f"{model}.conf", "--requests", MODELS / f"{requests}.conf"]


@pytest.mark.parametrize("build", tools.BUILDS)
def test_units(build: str) -> None:
    """The unit tests check figures of Bolt's paper, models, recorded load and meters.

    One of them gives random models to the code that reads models.
    """
    folder = tools.host(build)
    names = {test["name"] for test in tools.tests(folder, "energy")}
    assert names >= {"cmd-energy-meter", "cmd-energy-model", "fuzz-energy"}
    done = subprocess.run(
        ["meson", "test", "-C", folder, "--no-rebuild", "--suite", "energy", "--print-errorlogs"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(rf"^Ok: +{len(names)} *$", done.stdout, re.M), done.stdout


@pytest.mark.nightly
def test_fuzz_for_ten_minutes(tmp_path: Path) -> None:
    """The seed is random; an input at which the program aborts is left in the file fuzz-input."""
    program = tools.host("sanitized") / "tests/cmd-energy/fuzz-energy"
    seed = secrets.randbits(32)
    done = subprocess.run(
        [program, str(TEN_MINUTES), str(seed)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"UBSAN_OPTIONS": "halt_on_error=1"},
    )
    assert re.search(r"^[1-9]\d* inputs$", done.stdout, re.M), (seed, done.stderr)


# -- Files ----------------------------------------------------------------------------------------


def numbers(name: str) -> dict[str, dict[str, float]]:
    """Return the numbers of a file by section and key, without their ranges."""
    found: dict[str, dict[str, float]] = {}
    section = ""
    for line in (MODELS / f"{name}.conf").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif match := re.match(r"(\w+) = ([\d.]+)(?: \(|$)", line):
            found.setdefault(section, {})[match[1]] = float(match[2])
    return found


def medians(file: Path, last: bool) -> Callable[[str, int, str], float]:
    """Return a function that gives medians of a result file.

    Where the file has several cases of one name and batch, the function takes the last of them if
    ``last``, and otherwise the first.
    """
    cases = json.loads(file.read_text(encoding="utf-8"))["cases"]

    def median(name: str, batch: int, variant: str) -> float:
        same = [case for case in cases if (case["case"], case["batch"]) == (name, batch)]
        return float(same[-1 if last else 0]["variants"][variant]["median"])

    return median


@pytest.mark.parametrize(
    ("name", "first", "most", "last"),
    [
        ("arm64-4", ("offline1", "online1"), 3, False),
        ("arm64-4-cold", ("offline1", "online1"), 3, False),
        ("x86_64-32", ("offline_bulk", "online_bulk"), 31, True),
        ("x86_64-32-cold", ("offline_bulk", "online_bulk"), 31, True),
    ],
)
def test_requests_are_those_of_the_results(
    name: str, first: tuple[str, str], most: int, last: bool
) -> None:
    """The numbers in a file of requests follow from the result file that the file names."""
    text = (MODELS / f"{name}.conf").read_text(encoding="utf-8")
    (source,) = re.findall(r"^source = .*(results/\S+\.json)", text, re.M)
    median = medians(paths.REPO / source, last)
    found = numbers(name)
    for section, variant in (("requests native", "native"), ("requests bolt", "bolt")):
        for key, case in zip(("off", "on"), first, strict=True):
            one = median(case, 1, variant)
            more = (median(re.sub(r"(1|_bulk)$", "_bulk", case), most, variant) - one) / (most - 1)
            assert found[section][f"{key}_ms"] == pytest.approx(one, rel=0.005)
            assert found[section][f"{key}_more_ms"] == pytest.approx(more, rel=0.005)
    share = median(first[0], 1, "expedited") / median(first[0], 1, "native")
    assert found["requests native"]["off_busy"] == pytest.approx(share, rel=0.05)
    settled = median("online1_settled", 1, "bolt")
    settle = median("total1", 1, "bolt") - median("offline1", 1, "bolt") - settled
    assert found["requests bolt"]["settle_ms"] == pytest.approx(settle, rel=0.005)
    assert found["requests bolt"]["settled_more_ms"] == pytest.approx(
        settled - median("online1", 1, "bolt"), rel=0.005
    )


def test_the_conservative_way_is_the_daemon_by_default() -> None:
    """In this way the command's limits and pace are the defaults of the daemon's configuration."""
    table = (TOOLS / "cpuboltd/config.c").read_text(encoding="utf-8")
    rows = re.findall(r'^\t\{ "(\w+)", "(\w+)", NUMBER, .*, (\d+) \},$', table, re.M)
    usual = {(section, key): value for section, key, value in rows}
    code = (TOOLS / "cpubolt/energy_replay.c").read_text(encoding="utf-8")
    pace = [
        usual["daemon", "interval_ms"],
        *(usual["limits", key] for key in ("hold_ms", "dwell_ms", "changes_per_minute")),
    ]
    assert f"energy_usual_pace = {{ {', '.join(pace)} }};" in code
    limits = [f".{key} = {usual['load', key]}" for key in ("up", "down", "pressure")]
    assert f".load = {{ {', '.join(limits)} }}," in code


def test_all_files_are_installed() -> None:
    rules = (TOOLS / "cpubolt/meson.build").read_text(encoding="utf-8")
    names = {f"energy/{file.name}" for file in MODELS.glob("*.conf")}
    assert len(names) >= 5
    assert set(re.findall(r"'(energy/\S+\.conf)'", rules)) == names
    install = (TOOLS / "debian/cpubolt.install").read_text(encoding="utf-8")
    assert "usr/share/cpubolt" in install.splitlines()


# -- Output ---------------------------------------------------------------------------------------


def test_json_has_all_of_it(run: Run) -> None:
    found = json.loads(run(*files(), "--replay", SERVED, "--json").stdout)
    assert found["model"].startswith("Exynos 5410")
    assert any("USENIX ATC 2015" in source for source in found["sources"])
    assert found["inputs"]["sleep C3 power"] == {"value": 55, "low": 55, "high": 55}
    ways = {way["way"]: way for way in found["ways"]}
    assert list(ways) == ["none", "native-two", "native", "bolt"]
    assert (ways["none"]["saved"], ways["none"]["changes"], ways["none"]["waited"]) == (0, 0, 0)
    for way in ways.values():
        assert way["saved_low"] <= way["saved"] <= way["saved_high"]
    assert ways["bolt"]["requesting"] < ways["native"]["requesting"] / 3
    assert ways["native-two"]["interval_ms"] == 1000
    (curve,) = [each for each in found["curves"] if each["cpus"] == 3]
    for column, name in enumerate(("native", "bolt"), 1):
        (even,) = [
            each for each in found["break_even"] if each["cpus"] == 3 and each["requests"] == name
        ]
        assert even["low"] <= even["seconds"] <= (even["high"] or float("inf"))
        for point in curve["saved_mj"]:
            if point[0] > even["seconds"]:
                assert point[column] >= 0


def test_options_replace_times(run: Run) -> None:
    words = ("--native", "7,12", "--bolt", "7,12", "--json")
    found = json.loads(run(*files(), *words).stdout)
    for name in ("native", "bolt"):
        for key, value in (("off_ms", 7), ("off_more_ms", 7), ("on_ms", 12), ("on_more_ms", 12)):
            number = found["inputs"][f"requests {name} {key}"]
            assert number == {"value": value, "low": value, "high": value}


def test_no_cpu_is_looked_at(run: Run, tmp_path: Path) -> None:
    done = run("--model", MODELS / "exynos5410.conf", "--requests", MODELS / "arm64-4.conf")
    assert (done.returncode, done.stderr) == (0, "")
    binary = tools.host("plain") / "cpubolt/cpubolt"
    other = subprocess.run(
        [binary, "--root", tmp_path, "energy", *files(requests="arm64-4")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout == done.stdout


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("[machine]\ncpus = four\n", 2, "cpus = four: a number is wanted"),
        ("[machine]\n\n[battery]\n", 3, "there is no section [battery]"),
        ("[power]\nactive = 5 (6..7)\n", 2, "the number is not in its range"),
        ("[requests bolt]\nwarm = 1\n", 2, 'the section [requests bolt] has no key "warm"'),
        ("", 1, "[machine] lacks cpus"),
    ],
)
def test_a_wrong_model(run: Run, tmp_path: Path, text: str, line: int, what: str) -> None:
    file = tmp_path / "model.conf"
    file.write_text(text)
    done = run("--model", file)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"cpubolt: {file}:{line}: ")
    assert what in done.stderr


def test_a_wrong_file_of_requests(run: Run, tmp_path: Path) -> None:
    """The message names the file whose section lacks the key, not the model."""
    file = tmp_path / "times.conf"
    lines = (MODELS / "arm64-4.conf").read_text(encoding="utf-8").splitlines()
    at = lines.index("[requests bolt]") + 1
    file.write_text("".join(f"{line}\n" for line in lines if not line.startswith("settle_ms")))
    done = run("--model", MODELS / "exynos5410.conf", "--requests", file)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"cpubolt: {file}:{at}: [requests bolt] lacks settle_ms\n"


def test_json_is_utf_8(run: Run, tmp_path: Path) -> None:
    """Bytes of another encoding in the name of a file become question marks."""
    name = os.fsencode(tmp_path) + b"/\xc3\xa9\xff\xed\xa0\x80.csv"
    Path(os.fsdecode(name)).write_bytes(SERVED.read_bytes())
    done = run(*files(), "--json", "--replay", os.fsdecode(name))
    assert (done.returncode, done.stderr) == (0, "")
    json.loads(done.stdout)
    assert "/\xe9????.csv" in done.stdout


def test_a_wrong_trace(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("interval,demand\n1,2\n1,x\n")
    done = run(*files(), "--replay", file)
    assert (done.returncode, done.stdout) == (1, "")
    assert f'{file}: line 3: "x" is no number' in done.stderr
    done = run(*files(), "--replay", tmp_path / "none.csv")
    assert (done.returncode, done.stdout) == (1, "")
    done = run("--model", "no-such-machine")
    assert done.returncode == 1
    assert "no-such-machine.conf" in done.stderr


@pytest.mark.parametrize(
    "words",
    [("--native", "7"), ("--bolt", "7,x"), ("--interval", "0"), ("--changes", "1"), ("more",)],
    ids=" ".join,
)
def test_wrong_usage(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")


def test_the_page_has_what_the_command_prints(run: Run) -> None:
    """docs/energy.md quotes the command's output up to the line "Computed, not measured"."""
    blocks = re.findall(
        r"^```\n\$ cpubolt energy ([^\n]*)\n(.*?)^```$", PAGE.read_text(), re.M | re.S
    )
    assert len(blocks) >= 2
    for line, quoted in blocks:
        words = shlex.split(line)
        for at, word in enumerate(words):
            if word in ("-m", "-r"):
                words[at + 1] = str(MODELS / f"{words[at + 1]}.conf")
            elif word == "--replay":
                words[at + 1] = str(paths.REPO / words[at + 1])
        printed = run(*words).stdout.replace(f"{paths.REPO}/", "")
        assert printed.partition("\nComputed, not measured")[0] == quoted.rstrip("\n") + "\n", line

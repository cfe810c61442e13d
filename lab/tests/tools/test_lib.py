# SPDX-License-Identifier: GPL-2.0-only
"""libcpubolt: its unit tests, without and with sanitizers, and what it offers to programs."""

import os
import re
import secrets
import subprocess
from pathlib import Path

import pytest

from boltlab import paths
from boltlab.guest import tools

LIB = paths.REPO / "tools" / "lib"
TREES = paths.REPO / "tools" / "tests" / "trees.py"
MOST_FUNCTIONS = 25
TEN_MINUTES = 600


def run(*words: str | Path, **variables: str) -> str:
    done = subprocess.run(
        list(map(str, words)),
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C", **variables},
        check=False,
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def declared() -> set[str]:
    text = (LIB / "cpubolt.h").read_text(encoding="utf-8")
    return set(re.findall(r"^\w[^/#]*?\b\*?(cpubolt_\w+)\(", text, re.M))


@pytest.mark.parametrize("build", ["plain", "sanitized"])
def test_units(build: str) -> None:
    """Among the unit tests, each fuzz target runs for two seconds."""
    folder = tools.host(build)
    names = {test["name"] for test in tools.tests(folder)}
    assert {"lib-set", "lib-trees", "lib-request", "fuzz-list", "fuzz-tree"} <= names
    said = run("meson", "test", "-C", folder, "--no-rebuild", "--suite", "lib", "--print-errorlogs")
    count = {word: int(n) for word, n in re.findall(r"^([A-Z][\w ]*): +(\d+) *$", said, re.M)}
    # Where no namespaces can be made, lib-monitor, the test of events, is skipped, because other
    # programs would disturb the test.
    assert count["Ok"] + count["Skipped"] == len(names), said
    assert count["Skipped"] <= ("lib-monitor" in names), said


@pytest.mark.nightly
@pytest.mark.parametrize("target", ["list", "mask", "error", "tree"])
def test_fuzz_for_ten_minutes(target: str, tmp_path: Path) -> None:
    """The seed is random; an input at which the program aborts is left in the file fuzz-input."""
    program = tools.host("sanitized") / "tests" / f"fuzz-{target}"
    seed = secrets.randbits(32)
    said = run("env", "-C", tmp_path, program, str(TEN_MINUTES), str(seed))
    assert re.fullmatch(r"[1-9]\d* inputs\n", said), seed


def test_without_libsystemd() -> None:
    """Only the library's events need libsystemd."""
    folder = tools.host("bare")
    run("meson", "test", "-C", folder, "--no-rebuild", "lib-error", "lib-files")
    assert "systemd" not in run("readelf", "-d", folder / "lib" / "libcpubolt.so.1")


def test_exports_what_the_header_has() -> None:
    library = tools.host("plain") / "lib" / "libcpubolt.so.1"
    symbols = run("nm", "-D", "--defined-only", library)
    assert set(re.findall(r" T (\w+)@@CPUBOLT_1$", symbols, re.M)) == declared()
    assert not re.findall(r" [TDBR] (?!cpubolt_)(\w+)", symbols)
    assert 0 < len(declared()) <= MOST_FUNCTIONS
    assert "Library soname: [libcpubolt.so.1]" in run("readelf", "-d", library)


def test_every_function_is_documented() -> None:
    text = (LIB / "cpubolt.h").read_text(encoding="utf-8")
    assert set(re.findall(r"^(?:/\*\*| \*) (cpubolt_\w+)\(\) - \S", text, re.M)) == declared()


def test_the_example_of_the_readme(tmp_path: Path) -> None:
    """The example is built like a program that uses the installed library: by pkg-config."""
    run("meson", "install", "-C", tools.host("plain"), "--no-rebuild", "--destdir", tmp_path)
    (found,) = tmp_path.rglob("libcpubolt.pc")
    readme = (LIB / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```c\n(.*?)^```$", readme, re.M | re.S)
    source, example, tree = tmp_path / "example.c", tmp_path / "example", tmp_path / "tree"
    source.write_text(program, encoding="utf-8")
    config = {"PKG_CONFIG_LIBDIR": str(found.parent), "PKG_CONFIG_SYSROOT_DIR": str(tmp_path)}
    words = run("pkg-config", "--cflags", "--libs", "libcpubolt", **config).split()
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
    run("gcc", *warnings, source, *words, "-o", example)
    run(TREES, "smt+bolt", tree)
    said = run(example, tree, LD_LIBRARY_PATH=str(found.parent.parent))
    assert re.fullmatch(r"CPU 31: 0 CPUs went offline in [\d.]+ ms, in one request; .*\n", said)
    assert (tree / "sys/devices/system/cpu/bolt/offline").read_text(encoding="utf-8") == "31"

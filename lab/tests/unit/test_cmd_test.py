# SPDX-License-Identifier: GPL-2.0-only
"""``bolt test``: what it announces, its exit statuses, and signals that end it.

Instead of the lab's tests the command runs one made-up file of tests.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from boltlab import paths
from boltlab.commands import test as cmd_test
from boltlab.errors import FAILURE, INTERRUPTED, USAGE

RUN = """
import argparse, signal, sys
from pathlib import Path
from boltlab import cli
from boltlab.commands import test

class Command:
    HELP = ""
    def add_arguments(self, parser):
        parser.add_argument("-k", dest="only", default="one")
    def run(self, args):
        test.LAB = test.TESTS = Path(sys.argv[1])
        args.jobs, args.nightly = 1, False
        return test._pytest(args, None, [])

# A program inherits which signals are ignored, such as SIGHUP below nohup; here they must not be.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
cli.load = lambda name: Command()
sys.exit(cli.main(["test", *sys.argv[2:]]))
"""
CONFTEST = "def pytest_addoption(parser):\n    parser.addoption('--jobs')\n"


def start(folder: Path, text: str, *words: str) -> "subprocess.Popen[str]":
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_one.py").write_text(text)
    env = {**os.environ, "PYTHONPATH": str(paths.REPO / "lab")}
    command = [sys.executable, "-P", "-c", RUN, str(folder), *words]
    return subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(
    ("nightly", "some", "end"),
    [
        (False, False, ": over an hour on 2 cores the first time, then about half an hour"),
        (True, False, ", the long form too: many hours"),
        (False, True, "; of the tests only those that match -k"),
        (True, True, ", the long form too; of the tests only those that match -k"),
    ],
)
def test_how_long_it_takes(nightly: bool, some: bool, end: str) -> None:
    begin = "kernels and tests for both architectures"
    assert cmd_test.outlook(nightly=nightly, some=some) == begin + end


@pytest.mark.parametrize(
    ("text", "words", "status"),
    [
        ("def test_one(): pass\n", (), 0),
        ("def test_one(): assert False\n", (), FAILURE),
        ("import nothing_like_that\n", (), FAILURE),
        ("def test_one(): pass\n", ("-k", "two"), USAGE),
        ("def test_one(): pass\n", ("-k", "(one"), USAGE),
    ],
)
def test_exit_statuses(tmp_path: Path, text: str, words: tuple[str, ...], status: int) -> None:
    with start(tmp_path, text, *words) as process:
        said = process.communicate()
    assert process.returncode == status, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_tests(tmp_path: Path, number: signal.Signals) -> None:
    text = "from pathlib import Path\nimport time\ndef test_one():\n    Path('runs').touch()\n"
    text += "    time.sleep(600)\ndef test_one_more(): pass\n"
    with start(tmp_path, text) as process:
        while not (tmp_path / "runs").exists() and process.poll() is None:
            time.sleep(0.1)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
    assert process.returncode == INTERRUPTED, out + err
    assert "1 passed" not in out
    assert err.startswith("bolt: interrupted")


def test_an_error_of_pytest_is_a_failure() -> None:
    assert cmd_test._status(pytest.ExitCode.INTERNAL_ERROR, interrupted=False) == FAILURE

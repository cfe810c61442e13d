# SPDX-License-Identifier: GPL-2.0-only
"""Running make: environment, progress, the error that is shown, being interrupted."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from boltlab import arch, paths
from boltlab.errors import BoltError
from boltlab.kernel.make import make
from boltlab.locks import lock

MAKEFILE = """
good:
\t@echo "  CC      a.o"; echo "  LD [M]  b.ko"; echo "a.c:1: warning: odd"
env:
\t@env
bad:
\t@echo "  CC      a.o"; echo "a.c:7:3: error: expected ';'"; echo "a.c:9:1: error: more"; exit 1
dull:
\t@echo "no idea"; exit 1
slow:
\t@echo $$$$ >pid; sleep 60
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def run(tree: Path, target: str, steps: int = 10, **variables: str) -> int:
    log = tree / "log"
    host = arch.host()
    return make(tree, host, [target], log, title="building", steps=steps, variables=variables)


def test_counts_steps(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tree, "good", steps=4) == 2
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "building"
    assert out[1].startswith("building: 25 % (")
    assert out[-1].startswith("building: done in 0:0")
    assert "warning: odd" in (tree / "log").read_text()


def test_environment(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAKEFLAGS", "KCFLAGS", "KBUILD_OUTPUT", "ARCH", "LOCALVERSION"):
        monkeypatch.setenv(name, "wrong")
    run(tree, "env", KCONFIG_ALLCONFIG="x")
    seen = (tree / "log").read_text()
    assert "wrong" not in seen
    assert "\nLOCALVERSION=\n" in f"\n{seen}"
    assert "KCONFIG_ALLCONFIG=x\n" in seen
    assert "KBUILD_BUILD_TIMESTAMP=" in seen
    assert f"ARCH={arch.host().kernel_arch}\n" in seen


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("bad", "building failed: a.c:7:3: error: expected ';'"),
        ("absent", "building failed: make: *** No rule to make target 'absent'.  Stop."),
        ("dull", "building failed: make: *** "),
    ],
)
def test_errors(tree: Path, target: str, error: str) -> None:
    with pytest.raises(BoltError) as failure:
        run(tree, target)
    assert failure.value.message.startswith(error)
    assert failure.value.log == tree / "log"


def test_error_of_an_earlier_call_is_not_shown(tree: Path) -> None:
    with pytest.raises(BoltError, match="expected"):
        run(tree, "bad")
    with pytest.raises(BoltError, match="No rule"):
        run(tree, "absent")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tree: Path, number: int) -> None:
    program = (
        "import sys, boltlab.cli, argparse, types\n"
        "from pathlib import Path\n"
        "from boltlab import arch\n"
        "from boltlab.kernel import make\n"
        "def run(args):\n"
        "    tree = Path(sys.argv[1])\n"
        "    make.make(tree, arch.host(), ['slow'], tree / 'log', title='x')\n"
        "    return 0\n"
        "command = types.SimpleNamespace(HELP='', add_arguments=lambda p: None, run=run)\n"
        "boltlab.cli.load = lambda name: command\n"
        "sys.exit(boltlab.cli.main(['demo']))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(paths.REPO / "lab")}
    command = [sys.executable, "-c", program, str(tree)]
    # Background jobs of a shell without job control, and programs that such jobs start, ignore
    # SIGINT. The tests may be such a job, so the lab here gets the default action of SIGINT back.
    lab = subprocess.Popen(
        command, env=env, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    )
    pid = tree / "pid"
    deadline = time.monotonic() + 20
    while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    lab.send_signal(number)
    assert lab.wait(20) == 128 + number
    # The shell that make runs for "slow" has been killed, but on a busy machine this shell ends and
    # is reaped a little later.
    program_of_make = Path("/proc", pid.read_text().strip())
    deadline = time.monotonic() + 20
    while program_of_make.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not program_of_make.exists()


def test_lock_waits_for_its_holder_and_children(tmp_path: Path) -> None:
    done = tmp_path / "done"
    with lock(tmp_path / "tree") as fd:
        child = subprocess.Popen(["sh", "-c", f"sleep 0.5; : > '{done}'"], pass_fds=(fd,))
    with lock(tmp_path / "tree"):
        assert done.exists(), "the lock was given while a child of its holder ran"
    child.wait()

# SPDX-License-Identifier: GPL-2.0-only
"""Runs a private cluster of this machine alone, for tests: Debian's Slurm as child processes.

This machine may belong to another cluster, which is not touched: the private cluster has its own
programs, configuration, key, sockets, state and ports.
"""

import getpass
import os
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from boltlab import arch, debs, paths
from boltlab.errors import BoltError
from boltlab.locks import lock

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
# Seconds in which munge must have its socket. After that, Slurm must take jobs in as many seconds.
PATIENCE = 60.0
# Seconds that all jobs have to end. After that, each daemon has as many seconds to end.
STOP = 10.0
CONFIG = """\
ClusterName=private
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
PluginDir={plugins}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SchedulerParameters=sched_interval=2
KillWait=2
MinJobAge=300
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""


def programs() -> Path:
    """Return a folder with Slurm and munge, fetched if need be.

    Raises BoltError, as debs.unpack() does, if a package cannot be fetched or unpacked.
    """
    folder = paths.cache() / "slurm"
    with lock(folder):
        if not folder.exists():
            half = folder.with_suffix(".half")
            debs.unpack(arch.host(), PACKAGES, half, depends=True)
            half.rename(folder)
    return folder


@contextmanager
def private(
    folder: Path, root: Path, cpus: int = 2, memory: int = 1 << 20
) -> Iterator[dict[str, str]]:
    """Run the programs in ``root`` with their state in the new ``folder``, until ``with`` ends.

    Yields the environment in which Slurm's commands reach the private cluster.
    Slurm is told that the machine has ``cpus`` CPUs and ``memory`` MiB, even if that is not true.
    Raises BoltError when the path ``folder`` is too long, when a daemon ends by itself before the
    cluster takes jobs, or when the cluster is not ready in time.
    """
    folder.mkdir(parents=True)
    for part in ("state", "spool"):
        (folder / part).mkdir()
    # Linux allows 107 characters in the path of a socket.
    if len(str(folder)) > 90:
        raise BoltError(f"the path {folder} is too long for a socket")
    triplet = arch.host().triplet
    libraries = root / "usr/lib" / triplet
    plugins = libraries / "slurm-wlm"
    # This machine's libraries come first, because its C library must match its dynamic linker.
    places = (Path("/usr/lib") / triplet, Path("/lib") / triplet, libraries, plugins)
    env = {
        **{name: text for name, text in os.environ.items() if not name.startswith(_FOREIGN)},
        "PATH": os.pathsep.join([str(root / "usr/bin"), os.environ.get("PATH", os.defpath)]),
        "LD_LIBRARY_PATH": os.pathsep.join(map(str, places)),
        "SLURM_CONF": str(folder / "slurm.conf"),
    }
    controller, daemon = _ports(2)
    host = socket.gethostname().partition(".")[0]
    values = {
        **{"host": host, "controller": controller, "daemon": daemon, "plugins": plugins},
        **{"user": getpass.getuser(), "folder": folder, "cpus": cpus, "memory": memory},
    }
    (folder / "slurm.conf").write_text(CONFIG.format(**values), encoding="utf-8")
    cgroup = f"CgroupPlugin={_cgroup(root, env)}\n"
    (folder / "cgroup.conf").write_text(cgroup, encoding="utf-8")
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    sbin = root / "usr/sbin"
    own = [f"--{what}-file={folder}/munge.{what}" for what in ("key", "pid", "log", "seed")]
    with ExitStack() as stack:

        def start(name: str, *words: str) -> subprocess.Popen[bytes]:
            return stack.enter_context(_daemon([str(sbin / name), *words], folder / name, env))

        daemons = [start("munged", "-F", "--force", f"--socket={folder}/munge.socket", *own)]
        _await(lambda: (folder / "munge.socket").exists(), daemons, folder)
        conf = str(folder / "slurm.conf")
        daemons += [start("slurmctld-wlm", "-D", "-i", "-f", conf)]
        step = str(sbin / "slurmstepd-wlm")
        daemons += [start("slurmd-wlm", "-D", "-N", host, "-f", conf, "-d", step)]
        _await(lambda: "idle" in _said(["sinfo", "-h", "-o", "%T"], env), daemons, folder)
        try:
            yield env
        finally:
            _empty(env)


_FOREIGN = ("SLURM", "SBATCH", "SQUEUE", "SINFO", "SCONTROL", "LD_LIBRARY_PATH")


@contextmanager
def _daemon(
    command: Sequence[str], log: Path, env: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    with log.with_suffix(".out").open("wb") as out:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, cwd=log.parent
        )
        try:
            yield child
        finally:
            child.terminate()
            try:
                child.wait(STOP)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _await(
    ready: Callable[[], bool], daemons: Sequence[subprocess.Popen[bytes]], folder: Path
) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        for child in daemons:
            if child.poll() is not None:
                raise BoltError(f"{_name(child)} of the private cluster has ended", folder)
        if time.monotonic() > end:
            raise BoltError(f"the private cluster is not ready after {PATIENCE:.0f} s", folder)
        time.sleep(0.2)


def _name(child: subprocess.Popen[bytes]) -> str:
    command = child.args
    assert isinstance(command, list)
    return Path(command[0]).name


def _empty(env: Mapping[str, str]) -> None:
    """End all jobs, because running jobs would outlive the daemons."""
    _said(["scancel", f"--user={getpass.getuser()}"], env)
    end = time.monotonic() + STOP
    while _said(["squeue", "--noheader"], env) and time.monotonic() < end:
        time.sleep(0.2)


def _said(command: Sequence[str], env: Mapping[str, str]) -> str:
    program = shutil.which(command[0], path=env["PATH"]) or command[0]
    done = subprocess.run(
        [program, *command[1:]], capture_output=True, text=True, env=env, check=False
    )
    return done.stdout


def _cgroup(root: Path, env: Mapping[str, str]) -> str:
    """Return the name of Slurm's plugin that leaves the control groups of this machine alone."""
    said = _said([str(root / "usr/bin/sinfo"), "--version"], env)
    found = re.match(r"slurm\S* (\d+)\.", said)
    # Debian 13's Slurm, 24.11, has a plugin "disabled". Debian 12's, 22.05, needs a real plugin;
    # cgroup/v1 does nothing while no other plugin uses it.
    return "disabled" if found and int(found[1]) >= 24 else "cgroup/v1"


def _ports(number: int) -> list[int]:
    """Return the numbers of ``number`` different TCP ports that are free on this machine."""
    with ExitStack() as stack:
        found = []
        for _ in range(number):
            one = stack.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            found.append(int(one.getsockname()[1]))
        return found

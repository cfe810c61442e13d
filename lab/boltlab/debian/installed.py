# SPDX-License-Identifier: GPL-2.0-only
"""Has apt install, upgrade and remove Bolt's packages on a machine with Debian, and uses Bolt.

The machine is a guest whose disk keeps what the guest writes, and which is booted once for each
stage of data/installed.toml.
"""

import base64
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boltlab import arch, debs, paths
from boltlab.debian import packing, userland
from boltlab.debian.aptrepo import SOURCES
from boltlab.errors import BoltError
from boltlab.guest import guestimage, qemu
from boltlab.guest.machine import Machine
from boltlab.guest.qemu import Guest, GuestResult

TABLE = paths.DATA / "installed.toml"
PROLOGUE = paths.DATA / "installed.sh"
# Where the guest mounts its fourth disk, which holds the repository.
PLACE = "/srv/bolt"
MODULE = "stranger"  # a module of the lab's, which DKMS is to build
DKMS = f"""\
PACKAGE_NAME="{MODULE}"
PACKAGE_VERSION="1.0"
BUILT_MODULE_NAME[0]="{MODULE}"
DEST_MODULE_LOCATION[0]="/updates"
AUTOINSTALL="yes"
"""
# Name of a kernel that a stage may boot -> the end of that kernel's release.
KERNELS = {"stock": "-cloud-{debian}", "bolt": "-{config}-bolt"}


@dataclass(frozen=True)
class Step:
    """A command of a stage, which must succeed in ``timeout`` seconds of the guest.

    Each pattern of ``wants``, and no pattern of ``refuses``, must be in the command's output.
    """

    name: str
    command: str
    wants: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    timeout: int = 300


@dataclass(frozen=True)
class Stage:
    """One boot: the kernel (a key of KERNELS), the repository, the commands.

    The repository "second" has newer versions of the packages that the repository "first" has.
    """

    name: str
    kernel: str
    repository: str
    steps: tuple[Step, ...]


def _table() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def included() -> list[str]:
    """Return the packages that the machine has from the start, besides the essential ones."""
    names = (str(name) for name in _table()["packages"])
    return [name.format(debian=debs.NAMES[arch.host().name]) for name in names]


def stages(config: str, version: str) -> list[Stage]:
    """Return the stages, in order.

    ``config`` is the configuration of Bolt's kernel (a key of packing.COSTS), ``version`` is the
    version of the packages in the repository "second".
    """

    def filled(text: str) -> str:
        return text.replace("{config}", config).replace("{version}", re.escape(version))

    found = []
    for row in _table()["stage"]:
        steps = [
            Step(
                name=each["name"],
                command=filled(each["command"]).strip(),
                wants=tuple(filled(text) for text in each.get("wants", ())),
                refuses=tuple(each.get("refuses", ())),
                timeout=each.get("timeout", 300),
            )
            for each in row["step"]
        ]
        found.append(Stage(row["name"], row["kernel"], row["repository"], tuple(steps)))
    return found


def script(stage: Stage) -> tuple[str, ...]:
    """Return the shell script that runs ``stage`` in the guest, as lines."""
    lines = PROLOGUE.read_text(encoding="utf-8").splitlines()
    for step in stage.steps:
        lines.append(f"step {shlex.join([step.name, str(step.timeout), step.command])}")
    return (*lines, "finish")


def disk() -> Path:
    """Return an image of the machine's disk, with Debian's kernel; raise BoltError on failure."""
    return userland.image("installed", included())


def medium(repository: Path, to: Path) -> Path:
    """Make a file system ``to`` of ``repository`` and of other files that the stages need."""
    root = to.with_suffix(".d")
    shutil.copytree(repository, root)
    text = (repository / SOURCES).read_text(encoding="utf-8")
    (root / SOURCES).write_text(re.sub(r"^URIs: .*$", f"URIs: file:{PLACE}", text, flags=re.M))
    shutil.copytree(guestimage.SOURCES / MODULE, root / MODULE)
    (root / MODULE / "dkms.conf").write_text(DKMS, encoding="utf-8")
    tests = packing.TOOLS / "debian" / "tests"
    shutil.copytree(tests, root / "tests", ignore=shutil.ignore_patterns("control"))
    size = sum(path.stat().st_size for path in root.rglob("*")) * 5 // 4 + (32 << 20)
    with to.open("wb") as file:
        file.truncate(size)
    _run(qemu.binary("mkfs.ext4"), "-q", "-F", "-d", str(root), str(to))
    shutil.rmtree(root)
    return to


def kernel_of(image: Path, which: str, config: str, to: Path) -> tuple[Path, Path]:
    """Copy the kernel ``which`` (a key of KERNELS) and its initramfs out of a disk's /boot.

    ``config`` is the configuration of Bolt's kernel. Raises BoltError when /boot has no such
    kernel, several, or no initramfs of the kernel.
    """
    end = KERNELS[which].format(debian=debs.NAMES[arch.host().name], config=config)
    listing = _run(qemu.binary("debugfs"), "-R", "ls -p /boot", str(image))
    found = sorted(set(re.findall(rf"/vmlinuz-([^/]+{re.escape(end)})/", listing)))
    if len(found) != 1:
        raise BoltError(f"the guest's /boot has {len(found)} kernels of *{end}, not one")
    taken = []
    for name in ("vmlinuz", "initrd.img"):
        path = to / f"{name}-{found[0]}"
        _run(qemu.binary("debugfs"), "-R", f"dump /boot/{name}-{found[0]} {path}", str(image))
        if not path.is_file() or not path.stat().st_size:
            raise BoltError(f"the guest's /boot has no {name}-{found[0]}")
        taken.append(path)
    return taken[0], taken[1]


def run(stage: Stage, config: str, image: Path, media: Path, folder: Path) -> GuestResult:
    """Boot the machine with the disk ``image`` and the file system ``media``, and run ``stage``.

    ``config`` is the configuration of Bolt's kernel. ``folder`` gets a copy of the kernel that is
    booted, and of its initramfs.
    """
    kernel, initrd = kernel_of(image, stage.kernel, config, folder)
    target = arch.host()
    guest = Guest(
        target,
        kernel,
        script(stage),
        append=userland.CLOCK if target.name == "x86_64" else "",
        machine=Machine(accel="mttcg", memory="2G"),
        timeout=userland.LONGEST,
        root=image,
        keep=True,
        media=(media,),
        initrd=initrd,
    )
    return qemu.run(guest, f"test-{target.name}-installed-{config}-{stage.name}")


def complaints(stage: Stage, records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a text for each step of ``stage`` that, by ``records``, did not end as it must."""
    found = {row["step"]: row for row in records if "step" in row}
    wrong = []
    for step in stage.steps:
        where = f"{stage.name}: {step.name}"
        row = found.get(step.name)
        if row is None:
            wrong.append(f"{where}: not run")
            continue
        text = base64.b64decode(row["output"]).decode(errors="replace")
        why = [f"no '{each}'" for each in step.wants if not re.search(each, text, re.M)]
        why += [f"has '{each}'" for each in step.refuses if re.search(each, text, re.M)]
        why += [f"status {row['status']}"] if row["status"] else []
        if why:
            wrong.append(f"{where}: {', '.join(why)}:\n{text}")
    return wrong


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BoltError(f"{Path(command[0]).name} failed: {done.stderr.strip()}")
    return done.stdout

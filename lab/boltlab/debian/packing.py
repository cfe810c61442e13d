# SPDX-License-Identifier: GPL-2.0-only
"""Builds Debian packages: a kernel with Bolt, the tools, and metapackages (see meta())."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

from boltlab import debs, paths, ui
from boltlab.arch import Arch
from boltlab.errors import USAGE, BoltError
from boltlab.kernel import build
from boltlab.kernel.make import make
from boltlab.kernel.source import Source
from boltlab.locks import lock

TOOLS = paths.REPO / "tools"
META = paths.KERNEL / "debian"
# The source package from which, as their control files say, the kernel's packages are built.
SOURCE = "linux-bolt"
MAINTAINER = ("Bolt developers", "bolt@localhost.localdomain")
# A package that bindeb-pkg makes besides the kernel's. The lab removes this package, because
# programs are to be compiled with Debian's own linux-libc-dev.
UNWANTED = ("linux-libc-dev",)


@dataclass(frozen=True)
class Cost:
    """A first build's cost.

    The fields are GB of disk, minutes on two idle cores, and lines that make prints for modules.
    """

    space: float
    minutes: int
    modules: int


# These costs are extrapolated from the first thousand objects of "cloud", each of which took a
# second of one core, and from the size of Debian's packages: those of the default kernel ("debian")
# are three times as large as those of the kernel for clouds.
COSTS: Mapping[str, Cost] = {
    "lab": Cost(6, 10, 60),
    "cloud": Cost(5, 55, 4000),
    "debian": Cost(16, 170, 15000),
    "running": Cost(16, 170, 15000),
}
CONFIGS = tuple(COSTS)
_VERSION = re.compile(r"^\s*version\s*:\s*'([0-9][0-9.]*)'", re.M)


@dataclass(frozen=True)
class Stamp:
    """When packages are built: a part of their version, so that a rebuilt package is newer."""

    seconds: int

    @classmethod
    def now(cls) -> "Stamp":
        """Return a stamp of the time in the variable SOURCE_DATE_EPOCH, or of now if it is not set.

        Raises BoltError if SOURCE_DATE_EPOCH is set and is no number of whole seconds.
        """
        said = os.environ.get("SOURCE_DATE_EPOCH")
        if said is not None and not said.isdecimal():
            raise BoltError(f"SOURCE_DATE_EPOCH is no number of seconds: '{said}'", code=USAGE)
        return cls(int(said) if said else int(time.time()))

    def version(self, upstream: str) -> str:
        """Return the version of packages of ``upstream``, as in 6.12.117+bolt20261122170501."""
        return f"{upstream}+bolt{time.strftime('%Y%m%d%H%M%S', time.gmtime(self.seconds))}"

    def changelog(self, source: str, version: str, text: str) -> str:
        """Return an entry of a debian/changelog."""
        name, mail = maintainer()
        head = f"{source} ({version}) unstable; urgency=low"
        return f"{head}\n\n  * {text}\n\n -- {name} <{mail}>  {formatdate(self.seconds)}\n\n"


def maintainer() -> tuple[str, str]:
    """Return name and mail address of the user who builds packages.

    Each comes from a variable that Debian's tools read as well, DEBFULLNAME or DEBEMAIL, or, if
    that variable is not set, from MAINTAINER.
    """
    name, mail = MAINTAINER
    return os.environ.get("DEBFULLNAME", name), os.environ.get("DEBEMAIL", mail)


def release(source: Source, config: str) -> str:
    """Return the release, as ``uname -r`` prints it, of the kernel of ``config``."""
    return f"{source.release}-{config}-bolt"


def kernel_names(target: Arch, source: Source, config: str) -> tuple[str, ...]:
    """Return the names of the packages that kernel() makes."""
    kinds = ("image", "headers") if target.is_host else ("image",)
    whole = (release(source, config), "bolt")
    return tuple(f"linux-{kind}-{name}" for name in whole for kind in kinds)


def _profiles(target: Arch) -> str:
    """Return dpkg's option that names the build profiles of kernel packages for ``target``.

    No package has debugging symbols. Packages of header files have programs for the machine that
    the kernel is for. To compile these, a machine of another architecture would need libssl of the
    kernel's architecture, and so such a machine builds no packages of header files.
    """
    names = [f"pkg.{SOURCE}.nokerneldbg"]
    if not target.is_host:
        names.append(f"pkg.{SOURCE}.nokernelheaders")
    return f"--build-profiles={','.join(names)}"


def tools_version(meson: Path = TOOLS / "meson.build") -> str:
    """Return the version of the tools in the file ``meson``; raise BoltError if there is none."""
    try:
        found = _VERSION.search(meson.read_text(encoding="utf-8"))
    except OSError as error:
        raise BoltError(f"cannot read {meson}: {error.strerror}") from error
    if not found:
        raise BoltError(f"{meson} has no version")
    return found[1]


def tools_names(control: Path = TOOLS / "debian" / "control") -> tuple[str, ...]:
    """Return the names of the packages that tools() makes."""
    return tuple(re.findall(r"^Package: (\S+)$", control.read_text(encoding="utf-8"), re.M))


def kernel(target: Arch, config: str, source: Source, stamp: Stamp, to: Path, jobs: int) -> None:
    """Put the packages of the kernel of ``config``, and those of meta(), into ``to``.

    Only files that have changed since the last build are compiled. Raises BoltError as
    build.built_tree() does, when a further command fails, and, if the kernel's tree has to be made
    first, when the disk lacks space for the build.
    """
    root = paths.cache() / "build"
    root.mkdir(exist_ok=True)
    if not build.tree_path(target.name, config, source.id).exists():
        paths.require_space(root, COSTS[config].space, f"the {config} kernel")
    version = stamp.version(source.release)
    name, mail = maintainer()
    variables = {
        "KDEB_PKGVERSION": version,
        "KDEB_SOURCENAME": SOURCE,
        "KDEB_CHANGELOG_DIST": "unstable",
        "KDEB_COMPRESS": "xz",
        "DEBFULLNAME": name,
        "DEBEMAIL": mail,
        "DPKG_FLAGS": _profiles(target),
    }
    log = paths.new_log(f"deb-{target.name}-{config}")
    # bindeb-pkg writes the packages beside the tree, into ``root``, where all trees are. The lock
    # "packages" keeps calls of the lab apart, because _take() also removes files of other trees.
    with lock(root / "packages"), build.built_tree(target, config, source, jobs) as tree:
        title, steps = f"building the {target.name} {config} modules", COSTS[config].modules
        make(tree, target, ["modules"], log, title=title, jobs=jobs, steps=steps)
        title = f"packing the {target.name} {config} kernel"
        with ui.status(title):
            make(tree, target, ["bindeb-pkg"], log, title=title, jobs=jobs, variables=variables)
        _take(tree, root, to)
    meta(target, release(source, config), version, stamp, to)


def _take(tree: Path, root: Path, to: Path) -> None:
    """Move the packages of bindeb-pkg from ``root`` into ``to``.

    The packages UNWANTED, and all other files that bindeb-pkg has put into ``root``, are removed.
    """
    for line in (tree / "debian" / "files").read_text(encoding="utf-8").splitlines():
        path = root / line.split()[0]
        if path.suffix == ".deb" and not path.name.startswith(UNWANTED):
            shutil.move(path, to / path.name)
        else:
            path.unlink(missing_ok=True)
    for pattern in ("*.changes", "*.buildinfo"):
        for path in root.glob(f"{SOURCE}_{pattern}"):
            path.unlink()


def meta(target: Arch, name: str, version: str, stamp: Stamp, to: Path) -> None:
    """Put packages that depend on the newest kernel, whose release is ``name``, into ``to``."""
    with _copied(META, "debian", "linux-bolt") as tree:
        entry = stamp.changelog("linux-bolt-meta", version, f"Follows Linux {name}.")
        (tree / "debian" / "changelog").write_text(entry, encoding="utf-8")
        options = [f"-a{debs.NAMES[target.name]}", "-d", _profiles(target)]
        _pack(tree, to, {"BOLT_RELEASE": name}, options)


def tools(stamp: Stamp, to: Path, jobs: int) -> None:
    """Put the packages of the tools, for this machine's architecture, into ``to``.

    The build runs no tests of the tools, because ``./bolt test`` runs these.
    """
    with _copied(TOOLS, "", "cpubolt") as tree:
        changelog = tree / "debian" / "changelog"
        version = stamp.version(tools_version(tree / "meson.build"))
        entry = stamp.changelog("cpubolt", version, "Built from a work tree.")
        changelog.write_text(entry + changelog.read_text(encoding="utf-8"), encoding="utf-8")
        options = f"nocheck noautodbgsym parallel={jobs}"
        _pack(tree, to, {"DEB_BUILD_OPTIONS": options}, ["--build-profiles=nocheck"])


@contextmanager
def _copied(folder: Path, below: str, name: str) -> Iterator[Path]:
    """Yield a scratch tree called ``name``, in which ``below`` is a copy of ``folder``."""
    with tempfile.TemporaryDirectory(prefix="deb-", dir=paths.cache()) as scratch:
        tree = Path(scratch) / name
        ignored = shutil.ignore_patterns("__pycache__", "*.orig", "*.rej")
        shutil.copytree(folder, tree / below, ignore=ignored)
        yield tree


def _pack(tree: Path, to: Path, variables: Mapping[str, str], options: Sequence[str]) -> None:
    """Run dpkg-buildpackage in ``tree``, and move the packages that it makes into ``to``."""
    log = paths.new_log(f"deb-{tree.name}")
    command = ["dpkg-buildpackage", "--build=binary", "--unsigned-changes", *options]
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ}
    with ui.status(f"packing {tree.name}"), log.open("wb") as out:
        done = subprocess.run(
            command,
            cwd=tree,
            env={**kept, "LC_ALL": "C", **variables},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            check=False,
        )
    if done.returncode:
        raise BoltError(f"packing {tree.name} failed: {_complaint(log)}", log)
    for path in sorted(tree.parent.glob("*.deb")):
        shutil.move(path, to / path.name)


def _complaint(log: Path) -> str:
    """Return the line of ``log`` that best says why packing failed."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "rror:" in line]
    unmet = [line for line in lines if "Unmet build dependencies" in line]
    return [*unmet, *errors, *lines[-1:], "no message"][0]

# SPDX-License-Identifier: GPL-2.0-only
"""The packages of the tools as Debian's own programs see them; no kernel is built.

Empty packages stand in for a kernel's packages, of which only names and versions matter.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from boltlab import arch, debs, packages
from boltlab.debian import aptrepo, packing
from boltlab.debian.packing import Stamp

HOST = arch.host()
OTHER = next(each for each in arch.ARCHES.values() if not each.is_host)
DEBIAN = debs.NAMES[HOST.name]
NOON = Stamp(1795348800)
LATER = Stamp(NOON.seconds + 1)
KERNEL = "6.12.117-lab-bolt"
# An entry of dpkg's status file for hosts that lack initramfs-tools, because linux-image-bolt
# depends on that package.
INITRAMFS = """\
Package: initramfs-tools
Status: install ok installed
Priority: optional
Section: utils
Maintainer: nobody <nobody@example.org>
Architecture: all
Version: 0.142
Description: stands in for Debian's

"""


def output(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def empty_package(name: str, version: str, scratch: Path, to: Path) -> None:
    control = scratch / name / "DEBIAN" / "control"
    control.parent.mkdir(parents=True)
    control.write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: {DEBIAN}\n"
        "Maintainer: nobody <nobody@example.org>\nDescription: stands in for a kernel\n"
    )
    output("dpkg-deb", "--build", "--root-owner-group", str(scratch / name), str(to))
    shutil.rmtree(scratch / name)


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory, jobs: int) -> Path:
    """Build the packages of the tools; return the directory with the packages."""
    packages.ensure("deb", "tools", "lintian")
    to = tmp_path_factory.mktemp("tools")
    packing.tools(NOON, to, jobs)
    return to


def publish(stamp: Stamp, tools: Path, tmp_path: Path) -> Path:
    """Publish a kernel's packages of ``stamp`` beside the packages in ``tools``.

    Returns the repository.
    """
    made = tmp_path / "made"
    shutil.copytree(tools, made)
    version = stamp.version("6.12.117")
    for kind in ("image", "headers"):
        empty_package(f"linux-{kind}-{KERNEL}", version, tmp_path / "scratch", made)
    packing.meta(HOST, KERNEL, version, stamp, made)
    aptrepo.publish(made, tmp_path / "repository")
    shutil.rmtree(made)
    return tmp_path / "repository"


class Apt:
    """apt-get with its own state: the packages that the host has, and only Bolt's repository."""

    def __init__(self, root: Path, repository: Path) -> None:
        for name in ("lists/partial", "cache/archives/partial", "sources"):
            (root / name).mkdir(parents=True)
        self.status = root / "status"
        known = Path("/var/lib/dpkg/status").read_text(encoding="utf-8")
        if "\nPackage: initramfs-tools\n" not in known:
            known += INITRAMFS
        self.status.write_text(known, encoding="utf-8")
        shutil.copy(repository / aptrepo.SOURCES, root / "sources")
        settings = {
            "Dir::State::status": self.status,
            "Dir::State::lists": root / "lists",
            "Dir::Cache": root / "cache",
            "Dir::Etc::sourcelist": "/dev/null",
            "Dir::Etc::sourceparts": root / "sources",
        }
        self.words = [word for pair in settings.items() for word in ("-o", f"{pair[0]}={pair[1]}")]
        self.root = root

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = ["apt-get", *self.words, *words]
        # `apt-get download` puts packages into the directory where it runs.
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)

    def installed(self, paths: Sequence[Path]) -> None:
        """Make apt believe that the packages ``paths`` are installed."""
        for path in paths:
            text = output("dpkg-deb", "-f", str(path))
            entry = text.replace("\n", "\nStatus: install ok installed\n", 1)
            with self.status.open("a", encoding="utf-8") as status:
                status.write(f"{entry}\n")


@pytest.fixture(scope="session")
def published(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with packages of the stamp NOON. Tests change only its copies."""
    return publish(NOON, tools, tmp_path_factory.mktemp("published"))


@pytest.fixture
def place() -> Iterator[Path]:
    """Yield a new directory that every user may enter: root's apt reads files as the user _apt.

    Other users may not enter pytest's directories.
    """
    with tempfile.TemporaryDirectory(prefix="bolt-apt-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def repository(published: Path, place: Path) -> Path:
    folder = place / "repository"
    shutil.copytree(published, folder)
    (folder / aptrepo.SOURCES).write_text(aptrepo.sources(folder), encoding="utf-8")
    return folder


@pytest.fixture
def apt(repository: Path, place: Path) -> Apt:
    return Apt(place / "apt", repository)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's apt changes to the user _apt")
def test_apt_reads_what_every_user_may_read(place: Path, tools: Path) -> None:
    """The user _apt, as whom apt reads, can read a repository published with any umask.

    But every user must be allowed to enter the directories above the repository.
    """
    for name, mode in (("open", 0o755), ("closed", 0o700)):
        above = place / name
        shutil.copytree(tools, above / "made")
        for path in (above / "made").iterdir():
            path.chmod(0o600)
        before = os.umask(0o077)
        try:
            aptrepo.publish(above / "made", above / "repository")
        finally:
            os.umask(before)
        above.chmod(mode)
        assert (above in aptrepo.closed(above / "repository")) == (mode == 0o700)
        said = Apt(place / f"apt-{name}", above / "repository")("update")
        assert (said.returncode == 0) == (mode == 0o755), said.stderr


def test_apt_resolves(apt: Apt) -> None:
    said = apt("update")
    assert (said.returncode, said.stderr) == (0, "")
    done = apt("-s", "install", "linux-image-bolt", "linux-headers-bolt", "cpubolt")
    assert done.returncode == 0, done.stdout + done.stderr
    version = re.escape(NOON.version("6.12.117"))
    for name in (f"linux-image-{KERNEL}", f"linux-headers-{KERNEL}", "linux-image-bolt"):
        assert re.search(rf"^Inst {name} \({version} Bolt:bolt ", done.stdout, re.M), name
    own = re.escape(NOON.version(packing.tools_version()))
    for name in ("cpubolt", "libcpubolt1"):
        assert re.search(rf"^Inst {name} \({own} Bolt:bolt ", done.stdout, re.M), name


def test_what_is_rebuilt_is_an_upgrade(apt: Apt, tools: Path, repository: Path) -> None:
    apt.installed([path for path in repository.glob("*.deb") if "linux" in path.name])
    apt("update")
    before = apt("-s", "upgrade").stdout
    assert not re.search(r"^Inst linux-.*bolt", before, re.M)
    publish(LATER, tools, repository.parent)
    assert apt("update").returncode == 0
    after = apt("-s", "upgrade").stdout
    old, new = (re.escape(stamp.version("6.12.117")) for stamp in (NOON, LATER))
    for name in (f"linux-image-{KERNEL}", "linux-image-bolt", "linux-headers-bolt"):
        assert re.search(rf"^Inst {name} \[{old}\] \({new} ", after, re.M), after


def test_a_newer_kernel_comes_with_the_metapackage(
    apt: Apt, repository: Path, tmp_path: Path
) -> None:
    apt.installed([path for path in repository.glob("*.deb") if "linux" in path.name])
    made = tmp_path / "newer"
    made.mkdir()
    version = LATER.version("6.12.118")
    empty_package("linux-image-6.12.118-lab-bolt", version, tmp_path / "scratch", made)
    packing.meta(HOST, "6.12.118-lab-bolt", version, LATER, made)
    for path in made.glob("linux-headers-bolt_*"):
        path.unlink()
    aptrepo.publish(made, repository)
    apt("update")
    said = apt("-s", "--with-new-pkgs", "upgrade").stdout
    assert re.search(r"^Inst linux-image-6\.12\.118-lab-bolt \(", said, re.M), said
    assert "Remv" not in said


def test_apt_refuses_an_index_that_was_changed(apt: Apt, repository: Path) -> None:
    index = repository / "Packages"
    index.write_text(index.read_text().replace("cpubolt", "cpuholt"))
    (repository / "Packages.gz").unlink()
    said = apt("update")
    assert "Hash Sum mismatch" in said.stdout + said.stderr


def test_apt_refuses_a_package_that_was_changed(apt: Apt, repository: Path) -> None:
    assert apt("update").returncode == 0
    path = next(repository.glob("libcpubolt1_*.deb"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert apt("download", "libcpubolt-dev").returncode == 0
    said = apt("download", "libcpubolt1")
    assert said.returncode != 0
    assert "Hash Sum mismatch" in said.stdout + said.stderr


def contents(tools: Path, name: str) -> list[str]:
    """Return the files of the package ``name``, without documentation and lintian's overrides."""
    path = next(tools.glob(f"{name}_*.deb"))
    lines = output("dpkg-deb", "-c", str(path)).splitlines()
    names = [line.split()[5].removeprefix("./") for line in lines if not line.startswith("d")]
    return [each for each in names if not each.startswith(("usr/share/doc", "usr/share/lintian"))]


def test_what_is_in_the_packages(tools: Path) -> None:
    assert sorted(path.name.split("_")[0] for path in tools.iterdir()) == sorted(
        packing.tools_names()
    )
    command = contents(tools, "cpubolt")
    assert "usr/bin/cpubolt" in command
    assert "usr/share/man/man1/cpubolt.1.gz" in command
    assert "usr/share/bash-completion/completions/cpubolt" in command
    # Debian's zsh looks here, and not in /usr/share/zsh/site-functions.
    assert "usr/share/zsh/vendor-completions/_cpubolt" in command
    daemon = contents(tools, "cpuboltd")
    assert {"usr/sbin/cpuboltd", "etc/cpubolt/cpuboltd.conf"} < set(daemon)
    assert any(name.endswith("lib/systemd/system/cpuboltd.service") for name in daemon)
    assert {f"usr/share/man/man{n}" for n in (5, 8)} == {
        name.rpartition("/")[0] for name in daemon if "/man/" in name
    }
    library = contents(tools, "libcpubolt1")
    assert all("/libcpubolt.so.1" in name for name in library)
    assert len(library) == 2
    developer = contents(tools, "libcpubolt-dev")
    ends = ("include/cpubolt.h", "/libcpubolt.so", "/pkgconfig/libcpubolt.pc")
    assert len(developer) == 3
    assert all(any(name.endswith(end) for name in developer) for end in ends)


def test_metapackages_of_another_architecture(tmp_path: Path) -> None:
    """No packages of header files are built for such an architecture: see packing._profiles()."""
    packing.meta(OTHER, KERNEL, "1", NOON, tmp_path)
    names = [path.name for path in tmp_path.iterdir()]
    assert names == [f"linux-image-bolt_1_{debs.NAMES[OTHER.name]}.deb"]


def test_an_upgrade_restarts_a_daemon_that_runs(tools: Path, tmp_path: Path) -> None:
    """An upgrade must not stop the daemon, which nothing would start before the next boot."""
    (path,) = tools.glob("cpuboltd_*.deb")
    output("dpkg-deb", "-e", str(path), str(tmp_path / "scripts"))
    scripts = {
        file.name: file.read_text(encoding="utf-8") for file in (tmp_path / "scripts").iterdir()
    }
    assert "stop" not in scripts.get("preinst", "")
    assert "try-restart" in scripts["postinst"]
    assert not re.search(r"deb-systemd-invoke start|systemctl start", scripts["postinst"])


def test_lintian_has_nothing_to_say(tools: Path) -> None:
    said = subprocess.run(
        ["lintian", "--fail-on=error,warning", *map(str, tools.glob("*.deb"))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stdout) == (0, "")


def test_lintian_has_nothing_to_say_of_the_metapackages(published: Path) -> None:
    made = [str(path) for path in published.glob("linux-*-bolt_*.deb") if KERNEL not in path.name]
    assert len(made) == 2
    command = ["lintian", "--fail-on=error,warning", *made]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, "")


def test_the_library_exports_what_its_symbols_file_lists(tools: Path, tmp_path: Path) -> None:
    path = next(tools.glob("libcpubolt1_*.deb"))
    output("dpkg-deb", "-x", str(path), str(tmp_path))
    library = next(tmp_path.rglob("libcpubolt.so.1.*"))
    listed = output("objdump", "-T", str(library)).splitlines()
    defined = {line.split()[-1] for line in listed if re.search(r"\bCPUBOLT_1\b", line)}
    symbols = (packing.TOOLS / "debian" / "libcpubolt1.symbols").read_text(encoding="utf-8")
    assert {word.split("@")[0] for word in re.findall(r"^ (\S+)", symbols, re.M)} == defined

# SPDX-License-Identifier: GPL-2.0-only
"""``bolt deb``: versions, refusals, the repository, files of packages. No package is built."""

import itertools
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from boltlab import arch, cli, debs, packages, paths
from boltlab.arch import Arch
from boltlab.commands import deb as cmd_deb
from boltlab.debian import aptrepo, packing
from boltlab.debian.packing import Stamp
from boltlab.errors import BoltError
from boltlab.kernel import build, flavours, source
from boltlab.kernel.source import Source
from boltlab.versions import default

HOST = arch.host()
OTHER = next(each for each in arch.ARCHES.values() if not each.is_host)
DEBIAN = debs.NAMES[HOST.name]
NOON = Stamp(1795348800)  # 2026-11-22 12:00:00 UTC
POSTINST = paths.KERNEL / "debian" / "linux-image-bolt.postinst"
EFI = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    tree = tmp_path / "linux"
    tree.mkdir()
    one = Source(tree, "6.12.117-12345678", "6.12.117", default())
    monkeypatch.setattr(source, "cached", lambda version=None: one)
    monkeypatch.setattr(source, "resolve", lambda where=None: one)
    return one


def test_versions_grow_with_time_and_release() -> None:
    order = [
        "6.12.117-1",  # the version of Debian's package
        NOON.version("6.12.117"),
        Stamp(NOON.seconds + 1).version("6.12.117"),
        Stamp(NOON.seconds + 86400 * 400).version("6.12.117"),
        NOON.version("6.12.118"),
    ]
    assert order[1] == "6.12.117+bolt20261122120000"
    for older, newer in itertools.pairwise(order):
        words = ["dpkg", "--compare-versions", older, "lt", newer]
        assert subprocess.run(words, check=False).returncode == 0, (older, newer)


def test_the_time_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(NOON.seconds))
    assert Stamp.now() == NOON
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "noon")
    with pytest.raises(BoltError, match="no number of seconds: 'noon'") as caught:
        Stamp.now()
    assert caught.value.code == 2


def test_changelog_is_one_that_dpkg_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBFULLNAME", "A Builder")
    monkeypatch.setenv("DEBEMAIL", "builder@example.org")
    file = tmp_path / "changelog"
    own = (packing.TOOLS / "debian" / "changelog").read_text(encoding="utf-8")
    file.write_text(NOON.changelog("cpubolt", NOON.version("1.0.0"), "Again.") + own)
    words = ["dpkg-parsechangelog", "-l", str(file), "-c", "2"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "Version: 1.0.0+bolt20261122120000" in done.stdout
    assert "Maintainer: A Builder <builder@example.org>" in done.stdout
    assert "Date: Sun, 22 Nov 2026 12:00:00 -0000" in done.stdout


def test_dry_run_names_all_packages(
    found: Source,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(NOON.seconds))
    monkeypatch.setattr(packages, "install", lambda *words: pytest.fail("a dry run installs"))
    out = tmp_path / "out"
    assert cli.main(["deb", "--dry-run", "--config", "cloud", "--out", str(out)]) == 0
    said = capsys.readouterr().out.splitlines()
    kernel = f"6.12.117+bolt20261122120000_{DEBIAN}.deb"
    tools = f"{packing.tools_version()}+bolt20261122120000_{DEBIAN}.deb"
    assert said[:-1] == [
        *(f"{out}/{name}_{tools}" for name in packing.tools_names()),
        f"{out}/linux-image-6.12.117-cloud-bolt_{kernel}",
        f"{out}/linux-headers-6.12.117-cloud-bolt_{kernel}",
        f"{out}/linux-image-bolt_{kernel}",
        f"{out}/linux-headers-bolt_{kernel}",
    ]
    cost = r"building the kernel takes \d+ minutes on two cores, and \d+ GB of disk$"
    assert re.match(cost, said[-1])
    assert not out.exists()


def test_a_plan_for_another_architecture(
    found: Source, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--arch", OTHER.name, "--only", "kernel", "--config", "lab", "--out", str(tmp_path)]
    assert cli.main(["deb", "--dry-run", *words]) == 0
    said = capsys.readouterr().out
    assert "linux-image-6.12.117-lab-bolt_" in said
    assert "linux-headers" not in said


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--config", "fast"], "argument --config: invalid choice: 'fast'"),
        (["--only", "docs"], "argument --only: invalid choice: 'docs'"),
        (["--arch", OTHER.name], f"the tools for {OTHER.name} are built on that architecture"),
        (["--out", "/etc/passwd"], "/etc/passwd is no directory"),
        (["--out", "/proc/packages"], "cannot write /proc"),
    ],
)
def test_what_is_refused(
    words: list[str],
    error: str,
    cache: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packages, "ensure", lambda *groups: pytest.fail("no error was found"))
    # The tests may run as root, whom the true os.access() refuses nothing: this one refuses /proc.
    monkeypatch.setattr("os.access", lambda path, mode: not str(path).startswith("/proc"))
    try:
        status: object = cli.main(["deb", *words])
    except SystemExit as end:
        status = end.code
    assert status == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"bolt: {error}")
    assert said.err.count("\n") == 1


def test_the_configurations_are_flavours() -> None:
    for name in packing.CONFIGS:
        text = flavours.get(name).fragment(HOST)
        assert f'CONFIG_LOCALVERSION="-{name}-bolt"' in text
        assert "CONFIG_BOLT_DEFAULT_ENABLED=y" in text


@pytest.mark.parametrize("target", [HOST, OTHER], ids=["host", "other"])
def test_the_kernel_packs_itself(
    found: Source, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: Arch
) -> None:
    tree = build.tree_path(target.name, "lab", found.id)
    (tree / "debian").mkdir(parents=True)
    names = [f"linux-image-x_1_{DEBIAN}.deb", f"linux-libc-dev_1_{DEBIAN}.deb"]
    names.append(f"linux-bolt_1_{DEBIAN}.buildinfo")
    called: dict[str, object] = {}

    class Built:
        def __init__(self, *words: object) -> None:
            pass

        def __enter__(self) -> Path:
            return tree

        def __exit__(self, *words: object) -> None:
            pass

    def packs(
        tree: Path, target: object, targets: Sequence[str], log: Path, **named: object
    ) -> int:
        if list(targets) == ["modules"]:
            called["modules"] = named["steps"]
            return 0
        called.update(named, targets=targets)
        lines = [f"{name} kernel optional\n" for name in names]
        (tree / "debian" / "files").write_text("".join(lines))
        for name in [*names, f"linux-bolt_1_{DEBIAN}.changes"]:
            (tree.parent / name).write_text(name)
        return 0

    monkeypatch.setattr(build, "built_tree", Built)
    monkeypatch.setattr(packing, "make", packs)
    monkeypatch.setattr(packing, "meta", lambda *words: called.update(meta=words[:3]))
    to = tmp_path / "to"
    to.mkdir()
    packing.kernel(target, "lab", found, NOON, to, 3)
    assert called["modules"] == packing.COSTS["lab"].modules
    assert called["targets"] == ["bindeb-pkg"]
    assert called["jobs"] == 3
    variables = called["variables"]
    assert isinstance(variables, dict)
    assert variables["KDEB_PKGVERSION"] == "6.12.117+bolt20261122120000"
    # A machine of another architecture cannot build the programs of the header files' package.
    profiles = "pkg.linux-bolt.nokerneldbg"
    profiles += "" if target.is_host else ",pkg.linux-bolt.nokernelheaders"
    assert variables["DPKG_FLAGS"] == f"--build-profiles={profiles}"
    assert called["meta"] == (target, "6.12.117-lab-bolt", "6.12.117+bolt20261122120000")
    assert [path.name for path in to.iterdir()] == [names[0]]
    left = [path.name for path in tree.parent.iterdir() if path.is_file()]
    assert [name for name in left if name.endswith((".deb", ".changes", ".buildinfo"))] == []


def test_a_full_disk(
    found: Source, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(packing.COSTS, "debian", packing.Cost(1e9, 1, 1))
    with pytest.raises(BoltError, match=r"^the debian kernel needs 1000000000\.0 GB in "):
        packing.kernel(HOST, "debian", found, NOON, tmp_path, 1)


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("x\ndpkg-checkbuilddeps: error: Unmet build dependencies: scdoc\nmore\n", "Unmet"),
        ("x\ncc1: Error: no\nlast\n", "Error: no"),
        ("one\nlast\n", "last"),
        ("", "no message"),
    ],
)
def test_a_failed_build_says_why_in_one_line(
    log: str, line: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "dpkg-buildpackage"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ncat <<'EOF'\n{log}EOF\nexit 2\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    with pytest.raises(BoltError, match=f"^packing linux-bolt failed: .*{line}") as caught:
        packing.meta(HOST, "6.12.117-lab-bolt", "1", NOON, tmp_path)
    assert "\n" not in caught.value.message
    assert caught.value.log and caught.value.log.is_file()


def put(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(name)


@pytest.fixture
def listing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for apt-ftparchive, as the packages are not real."""

    def run(command: list[str], folder: Path) -> bytes:
        names = sorted(path.name for path in folder.iterdir())
        return (" ".join(command[:1]) + ": " + " ".join(names) + "\n").encode()

    monkeypatch.setattr(aptrepo, "_run", run)


def test_publish_replaces_older_versions_of_the_same(tmp_path: Path, listing: None) -> None:
    made, out = tmp_path / "made", tmp_path / "out"
    put(out, "a_1_amd64.deb", "a_1_arm64.deb", "ab_1_amd64.deb", "a-b_1_amd64.deb", "notes.txt")
    put(out, "InRelease", "Release.gpg")  # signatures of an older Release
    put(made, "a_2_amd64.deb", "c_1_amd64.deb", "a_2_amd64.buildinfo")
    assert aptrepo.publish(made, out) == [out / "a_2_amd64.deb", out / "c_1_amd64.deb"]
    assert sorted(path.name for path in out.iterdir()) == [
        "Packages",
        "Packages.gz",
        "Release",
        "a-b_1_amd64.deb",
        "a_1_arm64.deb",
        "a_2_amd64.deb",
        "ab_1_amd64.deb",
        "bolt.sources",
        "c_1_amd64.deb",
        "notes.txt",
    ]
    assert "a_2_amd64.deb" in (out / "Packages").read_text()
    # Release lists the other index files, but not itself.
    assert (out / "Release").read_text() == "apt-ftparchive: Packages Packages.gz\n"


def test_names_that_are_no_packages_are_refused(tmp_path: Path, listing: None) -> None:
    put(tmp_path / "made", "a.deb")
    with pytest.raises(BoltError, match=r"a\.deb is not named as a package is"):
        aptrepo.publish(tmp_path / "made", tmp_path / "out")


def test_sources_name_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = aptrepo.sources(Path("my packages%"))
    assert f"\nURIs: file:{tmp_path}/my%20packages%25\n" in text
    assert "\nSuites: ./\n" in text
    assert "\nTrusted: yes\n" in text


def test_packages_that_were_closed_are_opened(tmp_path: Path, listing: None) -> None:
    put(tmp_path / "made", "a_1_amd64.deb")
    put(tmp_path / "out", "b_1_amd64.deb")
    old = tmp_path / "out" / "b_1_amd64.deb"
    old.chmod(0o600)
    aptrepo.publish(tmp_path / "made", tmp_path / "out")
    assert old.stat().st_mode & 0o777 == 0o644


def postinst(tmp_path: Path, value: int | None, *, tool: str = "", word: str = "configure") -> str:
    """Return what the package's postinst prints if the EFI variable SecureBoot is ``value``.

    If ``value`` is None, there is no such variable. A script of the commands ``tool``, if there are
    any, stands in for sbverify.
    """
    variables = tmp_path / "efivars"
    variables.mkdir()
    if value is not None:
        (variables / EFI).write_bytes(bytes([6, 0, 0, 0, value]))
    script = tmp_path / "postinst"
    script.write_text(POSTINST.read_text().replace("@RELEASE@", "6.12.117-lab-bolt"))
    folder = tmp_path / "bin"
    folder.mkdir()
    if tool:
        (folder / "sbverify").write_text(f"#!/bin/sh\n{tool}\n")
        (folder / "sbverify").chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", str(script), word],
        env={"PATH": f"{folder}:/usr/bin:/bin", "BOLT_EFIVARS": str(variables)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("value", [None, 0])
def test_without_secure_boot_nothing_is_said(tmp_path: Path, value: int | None) -> None:
    assert postinst(tmp_path, value) == ""


@pytest.mark.parametrize("tool", ["", "echo 'No signature table present'; exit 1"])
def test_secure_boot_is_explained(tmp_path: Path, tool: str) -> None:
    said = postinst(tmp_path, 1, tool=tool)
    assert "Secure Boot is on, and /boot/vmlinuz-6.12.117-lab-bolt is not signed" in said
    assert "/usr/share/doc/linux-image-bolt/README.Debian" in said


def test_a_signed_kernel_needs_no_explanation(tmp_path: Path) -> None:
    assert postinst(tmp_path, 1, tool="echo 'signature 1'") == ""


def test_the_explanation_is_for_an_installation_only(tmp_path: Path) -> None:
    assert postinst(tmp_path, 1, word="abort-upgrade") == ""


def test_the_symbols_file_has_what_the_library_exports() -> None:
    text = (packing.TOOLS / "lib" / "libcpubolt.sym").read_text(encoding="utf-8")
    node = re.search(r"^(\w+) \{", text, re.M)
    assert node
    exported = set(re.findall(r"^\t(cpubolt_\w+);$", text, re.M))
    assert exported
    symbols = (packing.TOOLS / "debian" / "libcpubolt1.symbols").read_text(encoding="utf-8")
    listed = set(re.findall(rf"^ (cpubolt_\w+)@{node[1]} [0-9.]+$", symbols, re.M))
    assert listed == exported


def test_the_librarys_package_is_named_after_its_soname() -> None:
    text = (packing.TOOLS / "lib" / "meson.build").read_text(encoding="utf-8")
    version = re.search(r"version : '(\d+)\.", text)
    assert version
    assert f"libcpubolt{version[1]}" in packing.tools_names()


def test_the_changelog_has_the_version_of_the_tools() -> None:
    changelog = (packing.TOOLS / "debian" / "changelog").read_text(encoding="utf-8")
    assert changelog.startswith(f"cpubolt ({packing.tools_version()}) ")


def test_scripts_of_packages_run() -> None:
    folder = packing.TOOLS / "debian"
    control = (folder / "tests" / "control").read_text(encoding="utf-8")
    named = re.findall(r"^Tests: (\S+)$", control, re.M)
    scripts = [folder / "tests" / name for name in named]
    assert scripts
    for script in [*scripts, folder / "rules", packing.META / "rules"]:
        assert script.stat().st_mode & 0o111, script
    every = {path.name for path in (folder / "tests").iterdir()} - {"control"}
    assert every == set(named)


def test_a_repository_that_apt_may_not_read_is_noticed(tmp_path: Path, listing: None) -> None:
    above = tmp_path / "home"
    put(tmp_path / "made", "a_1_amd64.deb")
    above.mkdir()
    before = os.umask(0o077)
    try:
        aptrepo.publish(tmp_path / "made", above / "out")
    finally:
        os.umask(before)
    for path in (above / "out").iterdir():
        assert path.stat().st_mode & 0o444 == 0o444, path
    assert not {above, above / "out"} & {*aptrepo.closed(above / "out")}
    above.chmod(0o700)
    assert aptrepo.closed(above / "out")[0] == above
    assert aptrepo.closed(above / "not" / "yet")[0] == above
    said = cmd_deb._next(above / "out", ("tools",)).splitlines()
    assert said[0].startswith(f"apt's user _apt may not enter {above}")
    assert said[1] == (
        f"to install: sudo cp {above}/out/bolt.sources /etc/apt/sources.list.d/ && "
        "sudo apt update && sudo apt install cpubolt"
    )
    assert len(cmd_deb._next(Path("/"), cmd_deb.PARTS).splitlines()) == 1

# SPDX-License-Identifier: GPL-2.0-only
"""Options and fixtures of the tests that need a kernel source or a built kernel."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from boltlab.arch import ARCHES
from boltlab.guest import scenario
from boltlab.kernel import build, source
from boltlab.kernel.build import Kernel
from boltlab.kernel.source import Source


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kernel-source", type=Path, help="kernel source to use in place of Debian's")
    parser.addoption("--jobs", type=int, default=1, help="how many jobs make may run")
    parser.addoption("--nightly", action="store_true", help="run tests marked nightly as well")


def _is_elsewhere(item: pytest.Item) -> bool:
    """Whether ``item`` plays a scenario that is not for the architecture of ``item``."""
    mark = item.get_closest_marker("plays")
    if mark is None:
        return False
    assert isinstance(item, pytest.Function)
    arches = scenario.load(mark.args[0].format(**item.callspec.params)).arches
    return item.callspec.params["arch"] not in arches


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that are not to run, so that the summary does not list the tests.

    Nightly tests do not run without --nightly, tests of scenarios for another architecture never.
    """
    nightly = config.getoption("--nightly")
    others = [
        item
        for item in items
        if _is_elsewhere(item) or (item.get_closest_marker("nightly") and not nightly)
    ]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Workers divide the tests of guest/ among themselves; every other folder has one worker.

    The tests of every other folder share fixtures, which several workers would each have to make.
    """

    def _split_scope(self, nodeid: str) -> str:
        folder = nodeid.partition("::")[0].rpartition("/")[0]
        return nodeid if folder.endswith("guest") else folder


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


@pytest.fixture(scope="session")
def kernel_source(request: pytest.FixtureRequest) -> Source:
    """The kernel source under test."""
    return source.resolve(request.config.getoption("--kernel-source"))


@pytest.fixture(scope="session")
def jobs(request: pytest.FixtureRequest) -> int:
    """How many jobs ``make`` may run."""
    return int(request.config.getoption("--jobs"))


@pytest.fixture(scope="session")
def kernel(kernel_source: Source, jobs: int) -> Callable[[str, str], Kernel]:
    """Return a function of architecture and flavour that gives the built kernel."""

    def get(arch: str, flavour: str) -> Kernel:
        return build.ensure_kernel(ARCHES[arch], flavour, kernel_source, jobs)

    return get

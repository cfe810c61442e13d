# SPDX-License-Identifier: GPL-2.0-only
"""A fixture for the tests with Debian's user space."""

from pathlib import Path

import pytest

from boltlab.debian import userland
from boltlab.errors import UNAVAILABLE, BoltError


@pytest.fixture(scope="module")
def image() -> Path:
    """Return an image with Debian's user space; skip the test if this host cannot make one."""
    try:
        return userland.image()
    except BoltError as error:
        if error.code == UNAVAILABLE:
            pytest.skip(str(error))
        raise

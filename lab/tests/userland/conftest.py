# SPDX-License-Identifier: GPL-2.0-only
"""What tests with Debian's user space share."""

from pathlib import Path

import pytest

from boltlab.debian import userland
from boltlab.errors import UNAVAILABLE, BoltError


@pytest.fixture(scope="module")
def image() -> Path:
    """Debian's user space, where it can be had."""
    try:
        return userland.image()
    except BoltError as error:
        if error.code == UNAVAILABLE:
            pytest.skip(str(error))
        raise

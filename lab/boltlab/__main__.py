# SPDX-License-Identifier: GPL-2.0-only
"""Entry point of ``python -m boltlab``."""

import sys

from boltlab.cli import main

if __name__ == "__main__":
    sys.exit(main())

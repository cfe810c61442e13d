# SPDX-License-Identifier: GPL-2.0-only
"""The commands of ``./bolt``: each is a module with the command's name, ``_`` for ``-``."""

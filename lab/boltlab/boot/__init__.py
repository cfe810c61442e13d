# SPDX-License-Identifier: GPL-2.0-only
"""Boots guests for ``bolt boot-bench``, compares the boots, and models those of other machines."""

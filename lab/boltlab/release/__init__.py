# SPDX-License-Identifier: GPL-2.0-only
"""The steps of a release check, quick ones first, and the page that says how they ended."""

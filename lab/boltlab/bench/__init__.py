# SPDX-License-Identifier: GPL-2.0-only
"""Parts of ``bolt bench`` and other commands that measure: guests, result files, traces."""

# SPDX-License-Identifier: GPL-2.0-only
"""Parts of ``bolt bench``: guests to run, result files, reading of traces, reference figures."""

# SPDX-License-Identifier: GPL-2.0-only
"""Rows of a matrix on machines of a cluster: each row is one line of shell, run anywhere."""

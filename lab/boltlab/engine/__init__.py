# SPDX-License-Identifier: GPL-2.0-only
"""Runs the rows of a matrix on machines of a cluster; each row is one line of shell."""

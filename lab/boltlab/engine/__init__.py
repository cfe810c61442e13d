# SPDX-License-Identifier: GPL-2.0-only
"""Runs a command's work (a matrix) on a cluster: each row of the matrix is a line of shell."""

# SPDX-License-Identifier: GPL-2.0-only
"""Kernels: their source, configuration and build, the hooks, and the series that is exported."""

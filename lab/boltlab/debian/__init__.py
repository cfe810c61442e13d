# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of Bolt and its tools, and guests with Debian's user space."""

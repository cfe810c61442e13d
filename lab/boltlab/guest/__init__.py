# SPDX-License-Identifier: GPL-2.0-only
"""Guests: their contents, the emulator, how guests end, and what a host lacks to run guests."""

# SPDX-License-Identifier: GPL-2.0-only
"""Guests: their contents, the emulator that runs them, how they end, and what a machine lacks."""

# SPDX-License-Identifier: GPL-2.0-only
"""Guests: what is in one, the emulator that runs it, how it ends, and what this machine lacks."""

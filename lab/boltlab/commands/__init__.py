# SPDX-License-Identifier: GPL-2.0-only
"""The commands: a module each, called as the command is."""

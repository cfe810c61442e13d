# SPDX-License-Identifier: GPL-2.0-only
"""What ``bolt bench`` measures: results, traces taken apart, and the figures to expect."""

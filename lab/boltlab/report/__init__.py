# SPDX-License-Identifier: GPL-2.0-only
"""Results as tables, pictures and pages, and as the figures that README and docs quote."""

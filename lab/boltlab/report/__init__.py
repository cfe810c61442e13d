# SPDX-License-Identifier: GPL-2.0-only
"""Makes tables, pictures and pages of results, and the figures that README and docs quote."""

# SPDX-License-Identifier: GPL-2.0-only
"""What ``bolt torture`` runs, what it has counted, and the planted bugs it must find."""

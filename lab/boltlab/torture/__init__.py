# SPDX-License-Identifier: GPL-2.0-only
"""What ``bolt torture`` runs and counts, and the planted bugs that its checks must find."""

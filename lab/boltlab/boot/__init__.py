# SPDX-License-Identifier: GPL-2.0-only
"""What ``bolt boot-bench`` measures: boots, their results, and a model of larger machines."""

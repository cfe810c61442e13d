# SPDX-License-Identifier: GPL-2.0-only
"""Bolt's lab: builds kernels, boots them in QEMU, measures CPU hotplug and reports."""

# SPDX-License-Identifier: GPL-2.0-only
"""What ``bolt bystanders`` measures: the time that requests take from tasks on bystanders."""

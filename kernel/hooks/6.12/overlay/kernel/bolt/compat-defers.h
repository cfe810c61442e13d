/* SPDX-License-Identifier: GPL-2.0-only */
/* More entries of bolt_defers[] of policy.c, for states of compat-rows.h. */
[CPUHP_MM_ZS_PREPARE]		= &bolt_defer_all,
[CPUHP_MM_ZSWP_POOL_PREPARE]	= &bolt_defer_all,

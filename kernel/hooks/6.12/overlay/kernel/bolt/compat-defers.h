/* SPDX-License-Identifier: GPL-2.0-only */
/* As bolt_defers[] of policy.c: states of compat-rows.h. */
[CPUHP_MM_ZS_PREPARE]		= &bolt_defer_all,

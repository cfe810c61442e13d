/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * As bolt_defers[] of policy.c. None of the states of compat-rows.h may wait. The
 * code of the states here does not call bolt_defer_state() in Linux 7.3.
 */
[CPUHP_SLUB_DEAD]		= &bolt_defer_all,
[CPUHP_BIO_DEAD]		= &bolt_defer_all,
[CPUHP_IOMMU_IOVA_DEAD]		= &bolt_defer_all,

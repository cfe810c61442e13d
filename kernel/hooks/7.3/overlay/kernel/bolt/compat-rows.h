/* SPDX-License-Identifier: GPL-2.0-only */
/* More rows of rows.h, for states that Linux 6.12 lacks or has with other callbacks. */
[CPUHP_MM_ZSWP_POOL_PREPARE] =
	CRITICAL("startup only: makes a compressor and its buffer, unless the CPU has these"),
[CPUHP_AP_ARM_CORESIGHT_ONLINE] =
	CRITICAL("stops the trace unit, which loses its power with the CPU"),
[CPUHP_AP_PERF_ARM_MRVL_PEM_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_KTHREADS_ONLINE] =
	OVERLAPS("startup only: sets the affinity of kernel threads, under kthread_affinity_lock"),

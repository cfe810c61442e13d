/* SPDX-License-Identifier: GPL-2.0-only */
/* More rows of rows.h, for states that Linux 7.3 has and earlier kernels do not have. */
[CPUHP_AP_ARM_CORESIGHT_ONLINE] =
	CRITICAL("stops the trace unit, which loses its power with the CPU"),
[CPUHP_AP_PERF_ARM_MRVL_PEM_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),
[CPUHP_AP_KTHREADS_ONLINE] =
	OVERLAPS("startup only: sets the affinity of kernel threads, under kthread_affinity_lock"),

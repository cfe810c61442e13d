/* SPDX-License-Identifier: GPL-2.0-only */
/* More rows of rows.h, for states that Linux 7.3 lacks or has with other callbacks. */
[CPUHP_PERF_PREPARE] =
	OVERLAPS("takes pmus_lock; a thread of the CPU may have events before perf:online"),
[CPUHP_PCI_XGENE_DEAD] =
	CRITICAL("message interrupts that the dead CPU handled would be lost"),
[CPUHP_MM_ZS_PREPARE] = {
	BOLT_ELIDE, BOLT_NO_UNIT, SERIAL, "keeps one buffer that only tasks on the CPU use" },
[CPUHP_MM_ZSWP_POOL_PREPARE] = {
	BOLT_ELIDE, BOLT_NO_UNIT, SERIAL,
	"keeps a compressor and its buffers, which only tasks on the CPU use" },
[CPUHP_AP_ARM_CORESIGHT_STARTING] =
	CRITICAL("stops the trace unit, which loses its power with the CPU"),
[CPUHP_AP_ARM_CORESIGHT_CTI_STARTING] =
	CRITICAL("stops the trigger unit, which loses its power with the CPU"),
[CPUHP_AP_PERF_X86_RAPL_ONLINE] =
	CRITICAL("a CPU that stays must take over reading the PMU"),

/* SPDX-License-Identifier: GPL-2.0-only */
/* More rows of names.h, for states that Linux 6.12 has and Linux 7.3 does not have. */
NAMED_CONCURRENT("mm/compaction:online", "",
		 "startup only: lets kcompactd run on all CPUs of its node"),
NAMED_SERIAL("pci/xgene:online", "",
	     "startup only: moves interrupts that belong to the CPU to the CPU"),
NAMED_SERIAL("perf/x86/intel/i915:online", "i915",
	     "a PMU's reader hands over to a CPU that stays; if none reads, a CPU that comes does"),
NAMED_LAZY("swap_slots_cache", "", CONCURRENT,
	   "__drain_swap_slots_cache() visits parked CPUs; each CPU's slots have a lock"),
NAMED_CONCURRENT("x86/rmptable_init:online", "",
		 "startup only: sets a register of the CPU, as all CPUs do at once at boot"),

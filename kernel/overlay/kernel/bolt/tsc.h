/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests see of the TSC tests. */
#ifndef _KERNEL_BOLT_TSC_H
#define _KERNEL_BOLT_TSC_H

#include <linux/percpu-defs.h>
#include <linux/types.h>

/**
 * struct bolt_tsc - the TSC tests of a CPU
 * @passed:	it has passed a full one, and since then neither has it been
 *		anything worse than INIT-reset, nor its package been all offline
 * @full:	how many full ones it has passed
 * @again:	how many short ones it has passed
 * @failed:	how many short ones were not good enough
 */
struct bolt_tsc {
	bool passed;
	unsigned int full, again, failed;
};

DECLARE_PER_CPU(struct bolt_tsc, bolt_tscs);

/**
 * struct bolt_tsc_plant - faults for the next short tests, planted by KUnit
 * @offset:	cycles by which the CPU that comes up is ahead
 * @rush:	end before there were enough hand-overs
 */
struct bolt_tsc_plant {
	s64 offset;
	bool rush;
};

extern struct bolt_tsc_plant bolt_tsc_plant;

#endif /* _KERNEL_BOLT_TSC_H */

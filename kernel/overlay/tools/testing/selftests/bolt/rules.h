/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules that must hold at any time, however many requests there have been. */
#ifndef SELFTESTS_BOLT_RULES_H
#define SELFTESTS_BOLT_RULES_H

#include "bolt.h"
#include "lib/place.h"

/* Returns the page faults of all CPUs, CPUs that are offline included. */
static inline unsigned long long rules_faults(void)
{
	long long value = number_in("/proc/vmstat", "pgfault");

	return value < 0 ? 0 : value;
}

/* Moves this task to @cpu for a moment. Returns 0 if @cpu ran the task, or else the error. */
static inline int rules_visit(int cpu)
{
	int err = pin(0, cpu);

	if (err)
		return err;
	if (sched_getcpu() != cpu)
		err = -EXDEV;
	return unpin(0) ?: err;
}

#endif /* SELFTESTS_BOLT_RULES_H */

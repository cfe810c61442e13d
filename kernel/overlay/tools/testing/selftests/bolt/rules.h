/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules that must hold at any time, however many requests there have been. */
#ifndef SELFTESTS_BOLT_RULES_H
#define SELFTESTS_BOLT_RULES_H

#include "bolt.h"
#include "lib/place.h"

/* Returns the page faults of all CPUs, CPUs that are offline included. */
static inline unsigned long long rules_faults(void)
{
	unsigned long long value = 0;
	char line[256];
	FILE *file = fopen("/proc/vmstat", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "pgfault %llu", &value) == 1)
			break;
	if (file)
		fclose(file);
	return value;
}

/* Moves this task to a CPU that is online. Returns 0 if the CPU runs the task, or the error. */
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

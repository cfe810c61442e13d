/* SPDX-License-Identifier: GPL-2.0-only */
/* What holds at any time, however many requests there have been. */
#ifndef SELFTESTS_BOLT_RULES_H
#define SELFTESTS_BOLT_RULES_H

#include "bolt.h"
#include "place.h"

/* Page faults of all CPUs: offline ones have had theirs too. */
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

/* A CPU that is online runs tasks: 0, or why it does not. */
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

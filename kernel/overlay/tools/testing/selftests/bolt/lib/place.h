/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a task may run. All functions return 0 or -errno. */
#ifndef SELFTESTS_BOLT_LIB_PLACE_H
#define SELFTESTS_BOLT_LIB_PLACE_H

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/types.h>

static inline int pin_set(pid_t pid, const cpu_set_t *set)
{
	return sched_setaffinity(pid, sizeof(*set), set) ? -errno : 0;
}

/* Allows CPUs @first to @last. */
static inline int pin_range(pid_t pid, int first, int last)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = first; cpu <= last; cpu++)
		CPU_SET(cpu, &set);
	return pin_set(pid, &set);
}

static inline int pin(pid_t pid, int cpu)
{
	return pin_range(pid, cpu, cpu);
}

/* Allows two CPUs. */
static inline int pin_pair(pid_t pid, int one, int other)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(one, &set);
	CPU_SET(other, &set);
	return pin_set(pid, &set);
}

/* Allows all CPUs that there could be. */
static inline int unpin(pid_t pid)
{
	return pin_range(pid, 0, CPU_SETSIZE - 1);
}

/* Allows all CPUs but one. */
static inline int pin_off(pid_t pid, int cpu)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	CPU_CLR(cpu, &set);
	return pin_set(pid, &set);
}

#endif /* SELFTESTS_BOLT_LIB_PLACE_H */

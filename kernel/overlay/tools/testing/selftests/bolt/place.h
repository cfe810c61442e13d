/* SPDX-License-Identifier: GPL-2.0-only */
/* Where and how a task may run. */
#ifndef SELFTESTS_BOLT_PLACE_H
#define SELFTESTS_BOLT_PLACE_H

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "bolt.h"

/* The period of all deadline tasks of the tests. */
#define DEADLINE_NS 100000000ULL

static inline int pin(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(pid, sizeof(set), &set) ? -errno : 0;
}

/* Allows all CPUs that there could be. */
static inline int unpin(pid_t pid)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	return sched_setaffinity(pid, sizeof(set), &set) ? -errno : 0;
}

/* Allows all CPUs but one. */
static inline int pin_off(pid_t pid, int cpu)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	CPU_CLR(cpu, &set);
	return sched_setaffinity(pid, sizeof(set), &set) ? -errno : 0;
}

/*
 * The kernel's struct sched_attr, under a name of its own, as only some C libraries
 * have it.
 */
struct deadline_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* Makes @pid a deadline task, with @runtime_ns out of every DEADLINE_NS. */
static inline int set_deadline(pid_t pid, uint64_t runtime_ns)
{
	struct deadline_attr attr = {
		.size = sizeof(attr),
		.policy = 6, /* SCHED_DEADLINE */
		.runtime = runtime_ns,
		.deadline = DEADLINE_NS,
		.period = DEADLINE_NS,
	};

	return syscall(SYS_sched_setattr, pid, &attr, 0) ? -errno : 0;
}

#endif /* SELFTESTS_BOLT_PLACE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Deadline tasks. */
#ifndef SELFTESTS_BOLT_LIB_DEADLINE_H
#define SELFTESTS_BOLT_LIB_DEADLINE_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* The period of a deadline task in tests for which any period will do. */
#define DEADLINE_NS 100000000ULL

/*
 * How much of a CPU may be promised to deadline tasks on average over the CPUs of a root
 * domain, in us of each sched_rt_period_us.
 */
#define RT_RUNTIME "/proc/sys/kernel/sched_rt_runtime_us"

/*
 * The kernel's struct sched_attr, under another name, because only some C libraries
 * define struct sched_attr.
 */
struct deadline_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* Makes @pid a deadline task, with @runtime_ns out of every @period_ns. Returns 0 or -errno. */
static inline int set_deadline_each(pid_t pid, uint64_t runtime_ns, uint64_t period_ns)
{
	struct deadline_attr attr = {
		.size = sizeof(attr),
		.policy = 6, /* SCHED_DEADLINE */
		.runtime = runtime_ns,
		.deadline = period_ns,
		.period = period_ns,
	};

	return syscall(SYS_sched_setattr, pid, &attr, 0) ? -errno : 0;
}

static inline int set_deadline(pid_t pid, uint64_t runtime_ns)
{
	return set_deadline_each(pid, runtime_ns, DEADLINE_NS);
}

#endif /* SELFTESTS_BOLT_LIB_DEADLINE_H */

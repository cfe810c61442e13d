/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPUs that can come and go, and callbacks of hotplug states that a test makes fail
 * for these CPUs.
 */
#ifndef SELFTESTS_BOLT_CPUS_H
#define SELFTESTS_BOLT_CPUS_H

#include "bolt.h"
#include "lib/states.h"

#define CPUS_MAX 64

/* Returns the CPUs that have a file cpuN/online, in the order of their numbers. */
static inline int cpus_movable(int cpus[CPUS_MAX])
{
	int n = 0;

	for (int cpu = 0; cpu < 4096 && n < CPUS_MAX; cpu++) {
		if (cpu_is_movable(cpu))
			cpus[n++] = cpu;
	}
	return n;
}

/* Makes the next callback of @state fail for @cpu; with @state -1, no callback fails. */
static inline int hp_fail(int cpu, int state)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/hotplug/fail", cpu);
	snprintf(text, sizeof(text), "%d", state);
	return put(path, text);
}

/* Whether the failure that hp_fail() asked for has not happened yet. */
static inline bool hp_failing(int cpu)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/hotplug/fail", cpu);
	return !is(path, "-1");
}

/*
 * Does what start_over() does, for all CPUs, and makes no callback fail. hotplug/target
 * is written too, because a CPU that a write to that file took offline still has 1 in
 * cpuN/online, natively too.
 */
static inline int start_over_all(void)
{
	int cpus[CPUS_MAX], n = cpus_movable(cpus), nr = hp_top_state(), err;
	char path[128], top[16];

	if (nr < 0)
		return -ENOENT;
	snprintf(top, sizeof(top), "%d", nr);
	err = enable(false);
	for (int i = 0; i < n && !err; i++) {
		hp_fail(cpus[i], -1);
		err = set_online(cpus[i], true);
		snprintf(path, sizeof(path), CPU_DIR "cpu%d/hotplug/target",
			 cpus[i]);
		if (!err && !is(path, top))
			err = put(path, top);
	}
	return err ?: start_over();
}

#endif /* SELFTESTS_BOLT_CPUS_H */

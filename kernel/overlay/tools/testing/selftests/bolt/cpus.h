/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPUs that can come and go, and callbacks of hotplug states that a test makes fail
 * for these CPUs.
 */
#ifndef SELFTESTS_BOLT_CPUS_H
#define SELFTESTS_BOLT_CPUS_H

#include "bolt.h"
#include "lib/cpulist.h"
#include "lib/states.h"

/* How many CPUs a test uses at most. */
#define CPUS_MAX 64

/* Returns the number of the last possible CPU plus 1, or 0 if the CPUs cannot be read. */
static inline int cpus_end(void)
{
	long first, last = -1;
	const char *at;
	char text[4096];

	if (get(CPU_DIR "possible", text, sizeof(text)))
		return 0;
	for (at = text; cpulist_next(&at, &first, &last) > 0;)
		;
	return last + 1;
}

/* Finds the first CPUs with a file cpuN/online, at most CPUS_MAX. Returns how many it found. */
static inline int cpus_movable(int cpus[CPUS_MAX])
{
	int n = 0, end = cpus_end();

	for (int cpu = 0; cpu < end && n < CPUS_MAX; cpu++) {
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
 * Does what start_over() does, for all CPUs, and takes back the failures that hp_fail()
 * has asked for. hotplug/target is written too, because a CPU that a write to
 * hotplug/target took offline still has 1 in cpuN/online, natively too.
 */
static inline int start_over_all(void)
{
	int end = cpus_end(), nr = hp_top_state(), err;
	char path[128], top[16];

	if (nr < 0)
		return -ENOENT;
	snprintf(top, sizeof(top), "%d", nr);
	err = enable(false);
	for (int cpu = 0; cpu < end && !err; cpu++) {
		if (!cpu_is_movable(cpu))
			continue;
		hp_fail(cpu, -1);
		err = set_online(cpu, true);
		snprintf(path, sizeof(path), CPU_DIR "cpu%d/hotplug/target", cpu);
		if (!err && !is(path, top))
			err = put(path, top);
	}
	return err ?: start_over();
}

#endif /* SELFTESTS_BOLT_CPUS_H */

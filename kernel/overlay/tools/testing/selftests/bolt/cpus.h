/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs that can come and go, and the hotplug states they go through. */
#ifndef SELFTESTS_BOLT_CPUS_H
#define SELFTESTS_BOLT_CPUS_H

#include "bolt.h"

#define CPUS_MAX 64
#define STATES_MAX 320

/* Returns the CPUs that have a file cpuN/online, in the order of their numbers. */
static inline int cpus_movable(int cpus[CPUS_MAX])
{
	int n = 0;

	for (int cpu = 0; cpu < 4096 && n < CPUS_MAX; cpu++) {
		char path[128];

		snprintf(path, sizeof(path), CPU_DIR "cpu%d/online", cpu);
		if (!access(path, F_OK))
			cpus[n++] = cpu;
	}
	return n;
}

static inline bool cpu_is_online(int cpu)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/online", cpu);
	return is(path, "1");
}

struct hp_state {
	int nr;
	char name[64];
};

/* Reads /sys/devices/system/cpu/hotplug/states. */
static inline int hp_states(struct hp_state states[STATES_MAX])
{
	FILE *file = fopen(CPU_DIR "hotplug/states", "r");
	char line[256];
	int n = 0;

	while (file && n < STATES_MAX && fgets(line, sizeof(line), file)) {
		char *name = strchr(line, ':');

		if (!name)
			continue;
		states[n].nr = atoi(line);
		name += 2;
		name[strcspn(name, "\n")] = '\0';
		snprintf(states[n].name, sizeof(states[n].name), "%s", name);
		n++;
	}
	if (file)
		fclose(file);
	return n;
}

/* Makes the next callback of @state fail for @cpu; with -1, no callback fails. */
static inline int hp_fail(int cpu, int state)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/hotplug/fail", cpu);
	snprintf(text, sizeof(text), "%d", state);
	return put(path, text);
}

/* Whether what hp_fail() asked for has not happened yet. */
static inline bool hp_failing(int cpu)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/hotplug/fail", cpu);
	return !is(path, "-1");
}

/*
 * Does what start_over() does for all CPUs, and has no callback fail. After a write to its
 * hotplug/target, cpuN/online of a CPU still says 1, natively too.
 */
static inline int start_over_all(void)
{
	int cpus[CPUS_MAX], n = cpus_movable(cpus), err;
	struct hp_state states[STATES_MAX];
	char path[128], top[16];

	snprintf(top, sizeof(top), "%d", states[hp_states(states) - 1].nr);
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

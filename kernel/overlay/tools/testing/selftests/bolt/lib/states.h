/* SPDX-License-Identifier: GPL-2.0-only */
/* The hotplug states that CPUs go through. */
#ifndef SELFTESTS_BOLT_LIB_STATES_H
#define SELFTESTS_BOLT_LIB_STATES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dirs.h"

#define STATES_MAX 320

struct hp_state {
	int nr;
	char name[64];
};

/* Reads /sys/devices/system/cpu/hotplug/states. Returns the number of states; 0 on an error. */
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

/* Returns the number of the state called @name, or -1 if the kernel has no such state. */
static inline int hp_state_nr(const char *name)
{
	struct hp_state states[STATES_MAX];

	for (int i = hp_states(states) - 1; i >= 0; i--)
		if (!strcmp(states[i].name, name))
			return states[i].nr;
	return -1;
}

/* Returns the number of the highest state, or -1 if the states cannot be read. */
static inline int hp_top_state(void)
{
	struct hp_state states[STATES_MAX];
	int n = hp_states(states);

	return n ? states[n - 1].nr : -1;
}

#endif /* SELFTESTS_BOLT_LIB_STATES_H */

// SPDX-License-Identifier: GPL-2.0-only
/* The table of policies, and what several policies need */
#include <string.h>

#include "policy.h"

const struct policy *const policies[] = {
	&policy_load, &policy_steal, &policy_package, &policy_fixed, NULL
};

const struct policy *policy_find(const char *name)
{
	const struct policy *const *each;

	for (each = policies; *each; each++)
		if (!strcmp((*each)->name, name))
			return *each;
	return NULL;
}

unsigned long capacity_of(const struct inputs *inputs, const cpu_set_t *set)
{
	unsigned long sum = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < inputs->count; cpu++)
		if (CPU_ISSET_S(cpu, inputs->size, set))
			sum += (unsigned long)inputs->places[cpu].capacity;
	return sum;
}

bool suffices(unsigned long capacity, unsigned long wanted, unsigned int percent)
{
	return (unsigned long long)wanted * 100 <= (unsigned long long)capacity * percent;
}

unsigned long load_of(const struct inputs *inputs)
{
	unsigned long busy = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < inputs->count; cpu++) {
		const struct load *load = &inputs->loads[cpu];

		if (CPU_ISSET_S(cpu, inputs->size, inputs->online))
			busy += (load->busy + load->steal) *
				(unsigned long)inputs->places[cpu].capacity;
	}
	return busy / 1000;
}

unsigned long demand(const struct inputs *inputs, unsigned int pressure)
{
	unsigned int online = (unsigned int)CPU_COUNT_S(inputs->size, inputs->online);
	unsigned int waiting = inputs->runnable > online ? inputs->runnable - online : 0;
	unsigned long capacity = capacity_of(inputs, inputs->online), busy = load_of(inputs);

	if (!suffices(capacity, busy, FULL_PERCENT)) {
		busy += waiting * (unsigned long)FULL_CAPACITY;
	} else if (inputs->pressure >= pressure * 10 && !suffices(capacity, busy, 50)) {
		/* The CPUs were not busy all the time, but at times there were too few CPUs. */
		busy += (waiting ?: 1) * (unsigned long)FULL_CAPACITY;
	}
	return busy;
}

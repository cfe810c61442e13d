// SPDX-License-Identifier: GPL-2.0-only
/* Busy tasks that may run on some CPUs only, see crowd.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crowd.h"

#define KEEP_US		60000000
#define FULL		(FULL_PERCENT * 10)	/* thousandths of the time */

static unsigned int load_of_cpu(const struct inputs *inputs, unsigned int cpu)
{
	if (!CPU_ISSET_S(cpu, inputs->size, inputs->online))
		return 0;
	return inputs->loads[cpu].busy + inputs->loads[cpu].steal;
}

bool crowd_is_likely(const struct inputs *inputs)
{
	unsigned int cpu, full = 0;

	for (cpu = 0; cpu < inputs->count; cpu++)
		full += load_of_cpu(inputs, cpu) >= FULL;
	return full && inputs->runnable > full;
}

void crowd_begin(const struct machine *machine)
{
	size_t i;

	for (i = 0; i < machine->crowds->count; i++)
		machine->crowds->list[i].runnable = 0;
}

int crowd_add(const struct machine *machine, const cpu_set_t *mask, unsigned int runnable)
{
	struct crowds *crowds = machine->crowds;
	struct crowd *longer;
	cpu_set_t *copy;
	size_t i;

	for (i = 0; i < crowds->count; i++) {
		if (CPU_EQUAL_S(machine->size, crowds->list[i].mask, mask)) {
			crowds->list[i].runnable += runnable;
			return 0;
		}
	}
	copy = machine_set(machine);
	longer = copy ? reallocarray(crowds->list, crowds->count + 1, sizeof(*longer)) : NULL;
	if (!longer) {
		CPU_FREE(copy);
		return -ENOMEM;
	}
	memcpy(copy, mask, machine->size);
	longer[crowds->count++] = (struct crowd){ .mask = copy, .runnable = runnable };
	crowds->list = longer;
	return 0;
}

/* Tells whether those CPUs of @mask that stay have no room for what the CPUs of @mask run now. */
static bool is_too_small(const struct inputs *inputs, const cpu_set_t *mask,
			 const cpu_set_t *after)
{
	unsigned int cpu, load = 0, room = 0;

	/* CPUs that the daemon leaves alone are not measured. */
	for (cpu = 0; cpu < inputs->count; cpu++) {
		if (!CPU_ISSET_S(cpu, inputs->size, mask) ||
		    !CPU_ISSET_S(cpu, inputs->size, inputs->usable))
			continue;
		load += load_of_cpu(inputs, cpu);
		room += !!CPU_ISSET_S(cpu, inputs->size, after);
	}
	/* One CPU of each affinity stays in any case. */
	return load >= (room ?: 1) * FULL;
}

/*
 * Counts the CPUs that the tasks on CPUs of @mask could use. A task that may run on all those CPUs
 * of @mask that are online counts as a task that may run on all CPUs of @mask: the task may be in a
 * cpuset with these CPUs, see crowd_add(). Overwrites @both.
 */
static unsigned int could_use(const struct machine *machine, const cpu_set_t *mask,
			      const cpu_set_t *online, cpu_set_t *both)
{
	const struct crowds *crowds = machine->crowds;
	size_t size = machine->size, i;
	unsigned int count = 0;

	for (i = 0; i < crowds->count; i++) {
		const struct crowd *part = &crowds->list[i];
		unsigned int cpus = (unsigned int)CPU_COUNT_S(size, part->mask);
		int now;

		CPU_AND_S(size, both, part->mask, mask);
		if (!part->runnable || !CPU_EQUAL_S(size, both, part->mask))
			continue;
		CPU_AND_S(size, both, part->mask, online);
		now = CPU_COUNT_S(size, both);
		CPU_AND_S(size, both, mask, online);
		if (part->runnable < cpus || now == CPU_COUNT_S(size, both))
			count += part->runnable;
		else
			count += cpus;
	}
	return count;
}

int crowd_end(const struct machine *machine, const struct inputs *inputs, const cpu_set_t *online,
	      const cpu_set_t *after, uint64_t now_us)
{
	struct crowds *crowds = machine->crowds;
	cpu_set_t *both = machine_set(machine);
	size_t i;

	if (!both)
		return -ENOMEM;
	for (i = 0; i < crowds->count; i++) {
		struct crowd *crowd = &crowds->list[i];
		unsigned int count = 0;

		if (is_too_small(inputs, crowd->mask, after))
			count = could_use(machine, crowd->mask, online, both);
		if (count >= crowd->needed || now_us >= crowd->until_us) {
			crowd->needed = count;
			crowd->until_us = now_us + KEEP_US;
		}
	}
	CPU_FREE(both);
	for (i = 0; i < crowds->count;) {
		if (crowds->list[i].needed) {
			i++;
			continue;
		}
		CPU_FREE(crowds->list[i].mask);
		crowds->list[i] = crowds->list[--crowds->count];
	}
	return 0;
}

void crowd_free(const struct machine *machine)
{
	struct crowds *crowds = machine->crowds;

	while (crowds->count)
		CPU_FREE(crowds->list[--crowds->count].mask);
	free(crowds->list);
	crowds->list = NULL;
}

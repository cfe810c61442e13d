// SPDX-License-Identifier: GPL-2.0-only
/* Finds the CPUs that have to be online (the floor), and the CPUs that the daemon leaves alone */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "floor.h"

int floor_alone(const struct machine *machine, const struct config *config, cpu_set_t *alone)
{
	static const enum cpubolt_which lists[] = { CPUBOLT_ISOLATED, CPUBOLT_NOHZ_FULL };
	cpu_set_t *one = machine_set(machine);
	int err = one ? 0 : -ENOMEM;
	size_t i;

	memcpy(alone, config->deny, machine->size);
	for (i = 0; !err && i < sizeof(lists) / sizeof(lists[0]); i++) {
		err = cpubolt_cpus(machine->handle, lists[i], one);
		CPU_OR_S(machine->size, alone, alone, one);
	}
	CPU_FREE(one);
	return err;
}

static int fill(const struct inputs *inputs, unsigned int least, cpu_set_t *floor)
{
	unsigned int length, i, *order = order_new(inputs, &length);

	if (!order)
		return -ENOMEM;
	/* order_new() puts the CPUs of the floor first, so these count among the @least CPUs. */
	for (i = 0; i < length && i < least; i++)
		CPU_SET_S(order[i], inputs->size, floor);
	free(order);
	return 0;
}

int floor_own(const struct machine *machine, const struct config *config,
	      const struct inputs *inputs, const cpu_set_t *more, cpu_set_t *floor)
{
	int err = cpubolt_cpus(machine->handle, CPUBOLT_FIXED, floor);
	struct inputs own = *inputs;

	if (err)
		return err;
	CPU_OR_S(inputs->size, floor, floor, config->keep);
	if (more)
		CPU_OR_S(inputs->size, floor, floor, more);
	CPU_AND_S(inputs->size, floor, floor, inputs->usable);
	own.floor = floor;
	return config->policy->chooses_min ? 0 : fill(&own, config->settings.min_cpus, floor);
}

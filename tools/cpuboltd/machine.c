// SPDX-License-Identifier: GPL-2.0-only
/* The machine, as the daemon sees it */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

cpu_set_t *machine_set(const struct machine *machine)
{
	return cpubolt_set_new(machine->handle);
}

char *machine_list(const struct machine *machine, const cpu_set_t *set)
{
	if (!CPU_COUNT_S(machine->size, set))
		return strdup("none");
	return cpubolt_format_list(machine->handle, set);
}

void machine_places(struct machine *machine)
{
	struct cpubolt_topology topology;
	unsigned int cpu;

	for (cpu = 0; cpu < machine->count; cpu++) {
		if (cpubolt_topology(machine->handle, cpu, &topology))
			continue;
		machine->places[cpu] = (struct position){
			.core = topology.core,
			.cluster = topology.cluster,
			.package = topology.package,
			.capacity = topology.capacity > 0 ? topology.capacity : FULL_CAPACITY,
		};
	}
}

static int count_numbers(struct machine *machine)
{
	cpu_set_t *possible = machine_set(machine);
	int err = possible ? cpubolt_cpus(machine->handle, CPUBOLT_POSSIBLE, possible) : -ENOMEM;
	unsigned int cpu;

	if (!err) {
		for (cpu = 0; cpu < machine->size * 8; cpu++)
			if (CPU_ISSET_S(cpu, machine->size, possible))
				machine->count = cpu + 1;
	}
	CPU_FREE(possible);
	return err;
}

int machine_open(const char *root, struct machine *machine)
{
	unsigned int cpu;
	int err;

	*machine = (struct machine){ .root = root };
	err = cpubolt_open(root, &machine->handle);
	if (err) {
		machine->handle = NULL;
		return err;
	}
	machine->size = cpubolt_set_size(machine->handle);
	err = count_numbers(machine);
	machine->places = calloc(machine->count + 1, sizeof(*machine->places));
	machine->kthreads = calloc(1, sizeof(*machine->kthreads));
	if (!err && (!machine->places || !machine->kthreads))
		err = -ENOMEM;
	if (err) {
		machine_close(machine);
		return err;
	}
	for (cpu = 0; cpu < machine->count; cpu++)
		machine->places[cpu] = (struct position){ -1, -1, -1, FULL_CAPACITY };
	machine_places(machine);
	return 0;
}

void machine_close(struct machine *machine)
{
	cpubolt_close(machine->handle);
	free(machine->places);
	if (machine->kthreads)
		free(machine->kthreads->list);
	free(machine->kthreads);
	*machine = (struct machine){ 0 };
}

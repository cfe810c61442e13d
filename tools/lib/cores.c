// SPDX-License-Identifier: LGPL-2.1-or-later
/* Numbers cores, so that each number is unique in the machine, and the threads of each core. */
#include <errno.h>
#include <stdlib.h>

#include "private.h"

struct member {
	const struct place *place;
	unsigned int cpu;
	unsigned int group;
};

/* core_id is not unique: the kernel counts cores within a package, a die, or a cluster. */
static int compare_cores(const void *a, const void *b)
{
	const struct place *one = ((const struct member *)a)->place;
	const struct place *other = ((const struct member *)b)->place;

	if (one->topology.package != other->topology.package)
		return one->topology.package < other->topology.package ? -1 : 1;
	if (one->topology.die != other->topology.die)
		return one->topology.die < other->topology.die ? -1 : 1;
	if (one->topology.cluster != other->topology.cluster)
		return one->topology.cluster < other->topology.cluster ? -1 : 1;
	if (one->core_id != other->core_id)
		return one->core_id < other->core_id ? -1 : 1;
	return 0;
}

static int compare_cpus(const void *a, const void *b)
{
	const struct member *one = a, *other = b;

	return one->cpu < other->cpu ? -1 : one->cpu > other->cpu;
}

int cores_number(struct cpubolt *handle)
{
	struct place *places = handle->topology->places;
	struct member *members = calloc(handle->numbers, sizeof(*members));
	struct { int core, threads; } *groups = calloc(handle->numbers, sizeof(*groups));
	unsigned int cpu, count = 0, i, group = 0;
	int cores = 0;

	if (!members || !groups) {
		free(members);
		free(groups);
		return -ENOMEM;
	}
	for (cpu = 0; cpu < handle->numbers; cpu++) {
		places[cpu].topology.core = -1;
		places[cpu].topology.thread = -1;
		if (places[cpu].known && places[cpu].core_id >= 0)
			members[count++] = (struct member){ &places[cpu], cpu, 0 };
	}
	qsort(members, count, sizeof(*members), compare_cores);
	for (i = 0; i < count; i++) {
		group += i && compare_cores(&members[i - 1], &members[i]);
		members[i].group = group;
	}
	qsort(members, count, sizeof(*members), compare_cpus);
	for (i = 0; i < count; i++) {
		cpu = members[i].cpu;
		group = members[i].group;
		if (!groups[group].threads)
			groups[group].core = cores++;
		places[cpu].topology.core = groups[group].core;
		places[cpu].topology.thread = groups[group].threads++;
	}
	free(members);
	free(groups);
	return 0;
}

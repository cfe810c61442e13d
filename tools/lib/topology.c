// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reads where CPUs are. Apart from the NUMA node, only CPUs that are online or half-way have a
 * topology in sysfs, so the handle remembers what was read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

#define NODE_FOLDER "sys/devices/system/node"
#define NODES_MAX 1024	/* the most that the kernel supports */

/* What all CPUs of a package, or of a die, have in common is read once for all of them. */
struct level {
	const char *list;	/* file that lists the CPUs of a package or die */
	const char *number;	/* file that has the number of the package or die */
	size_t offset;		/* offset of that number in struct place */
};

static const struct level levels[] = {
	{ "package_cpus_list", "physical_package_id", offsetof(struct place, topology.package) },
	{ "die_cpus_list", "die_id", offsetof(struct place, topology.die) },
};

/* The files that are read for each CPU, or with SMT for one CPU of each core. */
static const struct {
	const char *file;
	size_t offset;
} own[] = {
	{ "topology/core_id", offsetof(struct place, core_id) },
	{ "topology/cluster_id", offsetof(struct place, topology.cluster) },
	{ "cpu_capacity", offsetof(struct place, topology.capacity) },
	{ "cpufreq/cpuinfo_max_freq", offsetof(struct place, topology.max_khz) },
};

static int *at(struct place *place, size_t offset)
{
	return (int *)((char *)place + offset);
}

static void place_clear(struct place *place)
{
	free(place->caches);
	*place = (struct place){
		.core_id = -1,
		.topology = { -1, -1, -1, -1, -1, -1, -1, -1 },
		.cache_count = -1,
	};
}

static int allocate(struct cpubolt *handle)
{
	unsigned int cpu;

	if (handle->topology)
		return 0;
	handle->topology = calloc(1, sizeof(*handle->topology));
	if (!handle->topology)
		return -ENOMEM;
	handle->topology->places = calloc(handle->numbers, sizeof(struct place));
	if (!handle->topology->places) {
		free(handle->topology);
		handle->topology = NULL;
		return -ENOMEM;
	}
	for (cpu = 0; cpu < handle->numbers; cpu++)
		place_clear(&handle->topology->places[cpu]);
	return 0;
}

void topology_free(struct cpubolt *handle)
{
	unsigned int cpu;

	if (!handle->topology)
		return;
	for (cpu = 0; cpu < handle->numbers; cpu++)
		free(handle->topology->places[cpu].caches);
	free(handle->topology->places);
	free(handle->topology);
	handle->topology = NULL;
}

void topology_stale(struct cpubolt *handle)
{
	unsigned int cpu;

	if (!handle->topology)
		return;
	handle->topology->fresh = false;
	for (cpu = 0; cpu < handle->numbers; cpu++) {
		/* After a CPU was unplugged, a CPU at another place may get the number. */
		if (cpubolt_state(handle, cpu) == CPUBOLT_STATE_ABSENT)
			place_clear(&handle->topology->places[cpu]);
		/*
		 * When a CPU comes online, the kernel shows its caches only a little later: a CPU
		 * for which no cache was found is looked at again.
		 */
		if (!handle->topology->places[cpu].cache_count)
			handle->topology->places[cpu].cache_count = -1;
	}
}

/* -- Reading ---------------------------------------------------------------- */

/* Fills @group with the CPUs that the file @list of @cpu names, and with @cpu. */
static void read_group(struct cpubolt *handle, const char *list, unsigned int cpu,
		       cpu_set_t *group)
{
	struct set target = set_of(handle, group);
	char name[64], *text;

	snprintf(name, sizeof(name), "cpu%u/topology/%s", cpu, list);
	CPU_ZERO_S(handle->size, group);
	if (!sysfs_read(handle->cpus, name, &text)) {
		set_parse_list(&target, NULL, text, NULL);
		free(text);
	}
	CPU_SET_S(cpu, handle->size, group);
}

static void read_own(struct cpubolt *handle, unsigned int cpu)
{
	struct place *place = &handle->topology->places[cpu];
	char name[64];
	int number, err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(own); i++) {
		snprintf(name, sizeof(name), "cpu%u/%s", cpu, own[i].file);
		err = sysfs_number(handle->cpus, name, &number);
		if (err && !i)
			return;	/* the CPU has just gone */
		if (!err && number >= 0)
			*at(place, own[i].offset) = number;
	}
	place->known = true;
}

/* Copies what was read for @cpu to the threads of its core in @left, and takes these off @left. */
static void copy_to_core(struct cpubolt *handle, unsigned int cpu, cpu_set_t *left,
			 cpu_set_t *core)
{
	struct place *from = &handle->topology->places[cpu], *to;
	unsigned int member;
	size_t i;

	read_group(handle, "core_cpus_list", cpu, core);
	CPU_AND_S(handle->size, core, core, left);
	set_subtract(handle->size, left, left, core);
	for (member = set_next(core, handle->numbers, 0); member < handle->numbers;
	     member = set_next(core, handle->numbers, member + 1)) {
		to = &handle->topology->places[member];
		for (i = 0; i < ARRAY_SIZE(own); i++)
			*at(to, own[i].offset) = *at(from, own[i].offset);
		to->known = from->known;
	}
}

/* Reads the files of own[] for the CPUs in @left, and empties @left. */
static void read_cores(struct cpubolt *handle, cpu_set_t *left, cpu_set_t *scratch)
{
	unsigned int cpu;
	int smt = 0;

	/* With SMT the files of one CPU hold for its siblings as well. */
	sysfs_number(handle->cpus, "smt/active", &smt);
	for (cpu = set_next(left, handle->numbers, 0); cpu < handle->numbers;
	     cpu = set_next(left, handle->numbers, cpu + 1)) {
		read_own(handle, cpu);
		if (smt == 1)
			copy_to_core(handle, cpu, left, scratch);
	}
	CPU_ZERO_S(handle->size, left);
}

static void read_level(struct cpubolt *handle, const struct level *level, const cpu_set_t *cpus,
		       cpu_set_t *left, cpu_set_t *group)
{
	unsigned int cpu, member;
	char name[64];
	int number;

	CPU_OR_S(handle->size, left, cpus, cpus);
	for (cpu = set_next(left, handle->numbers, 0); cpu < handle->numbers;
	     cpu = set_next(left, handle->numbers, cpu + 1)) {
		read_group(handle, level->list, cpu, group);
		CPU_AND_S(handle->size, group, group, left);
		set_subtract(handle->size, left, left, group);
		snprintf(name, sizeof(name), "cpu%u/topology/%s", cpu, level->number);
		if (sysfs_number(handle->cpus, name, &number) || number < 0)
			continue;
		for (member = set_next(group, handle->numbers, 0); member < handle->numbers;
		     member = set_next(group, handle->numbers, member + 1))
			*at(&handle->topology->places[member], level->offset) = number;
	}
}

/*
 * Forgets CPUs that have gone offline while their files were read, as their topology may have been
 * read only in part. The files of such a CPU are read again when the CPU is back.
 */
static void forget_gone(struct cpubolt *handle, const cpu_set_t *cpus)
{
	unsigned int cpu;
	char name[64];

	for (cpu = set_next(cpus, handle->numbers, 0); cpu < handle->numbers;
	     cpu = set_next(cpus, handle->numbers, cpu + 1)) {
		snprintf(name, sizeof(name), "cpu%u/%s", cpu, own[0].file);
		if (faccessat(handle->cpus, name, F_OK, 0))
			place_clear(&handle->topology->places[cpu]);
	}
}

/* The list of a node has only CPUs that are online; an offline CPU has a link to its node. */
static bool has_link(struct cpubolt *handle, unsigned int cpu, unsigned int node)
{
	char name[48];

	snprintf(name, sizeof(name), "cpu%u/node%u", cpu, node);
	return !faccessat(handle->cpus, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

static void read_node(struct cpubolt *handle, int folder, unsigned int node, cpu_set_t *members)
{
	struct set target = set_of(handle, members);
	struct place *place;
	char name[48], *text;
	unsigned int cpu;

	snprintf(name, sizeof(name), "node%u/cpulist", node);
	if (sysfs_read(folder, name, &text))
		return;
	set_parse_list(&target, NULL, text, NULL);
	free(text);
	for (cpu = set_next(handle->now->sets[CPUBOLT_PRESENT], handle->numbers, 0);
	     cpu < handle->numbers;
	     cpu = set_next(handle->now->sets[CPUBOLT_PRESENT], handle->numbers, cpu + 1)) {
		place = &handle->topology->places[cpu];
		if (CPU_ISSET_S(cpu, handle->size, members) ||
		    (place->topology.node < 0 && cpu_is_away(handle, cpu) &&
		     has_link(handle, cpu, node)))
			place->topology.node = (int)node;
	}
}

static void read_nodes(struct cpubolt *handle, cpu_set_t *scratch)
{
	int folder = sysfs_open(handle->root, NODE_FOLDER);
	unsigned long first, last;
	char *text, *here;

	if (folder < 0)
		return;
	if (sysfs_read(folder, "online", &text)) {
		close(folder);
		return;
	}
	/* set_parse_list() refuses numbers that no CPU has, and a node may have such a number. */
	for (here = text; *here >= '0' && *here <= '9'; here += *here == ',') {
		first = strtoul(here, &here, 10);
		last = *here == '-' ? strtoul(here + 1, &here, 10) : first;
		for (; first <= last && first < NODES_MAX; first++)
			read_node(handle, folder, (unsigned int)first, scratch);
	}
	free(text);
	close(folder);
}

/*
 * Reads what is not known yet of the CPUs in @wanted that are online or half-way; and the nodes of
 * all CPUs that are plugged in, unless topology->fresh says that these are known.
 */
static int read_places(struct cpubolt *handle, const cpu_set_t *wanted)
{
	cpu_set_t *unknown = cpubolt_set_new(handle), *left = cpubolt_set_new(handle);
	cpu_set_t *scratch = cpubolt_set_new(handle);
	unsigned int cpu;
	size_t i;

	if (!unknown || !left || !scratch) {
		CPU_FREE(unknown);
		CPU_FREE(left);
		CPU_FREE(scratch);
		return -ENOMEM;
	}
	for (cpu = set_next(wanted, handle->numbers, 0); cpu < handle->numbers;
	     cpu = set_next(wanted, handle->numbers, cpu + 1)) {
		if (handle->topology->places[cpu].known ||
		    cpu_is_away(handle, cpu))
			continue;
		CPU_SET_S(cpu, handle->size, unknown);
		CPU_SET_S(cpu, handle->size, left);
	}
	read_cores(handle, left, scratch);
	for (i = 0; i < ARRAY_SIZE(levels); i++)
		read_level(handle, &levels[i], unknown, left, scratch);
	forget_gone(handle, unknown);
	if (!handle->topology->fresh)
		read_nodes(handle, scratch);
	CPU_FREE(unknown);
	CPU_FREE(left);
	CPU_FREE(scratch);
	return 0;
}

/* -- Answers ---------------------------------------------------------------- */

static int load(struct cpubolt *handle)
{
	int err = allocate(handle);

	if (err || handle->topology->fresh)
		return err;
	err = read_places(handle, handle->now->sets[CPUBOLT_PRESENT]);
	if (err)
		return err;
	remember_load(handle);
	err = cores_number(handle);
	handle->topology->fresh = !err;
	return err;
}

int cpubolt_topology(struct cpubolt *handle, unsigned int cpu, struct cpubolt_topology *topology)
{
	int state = cpubolt_state(handle, cpu), err;

	if (state < 0)
		return state;
	err = load(handle);
	if (err)
		return err;
	*topology = handle->topology->places[cpu].topology;
	if (handle->topology->places[cpu].known)
		return 0;
	return topology->node >= 0 ? 0 : -ENODATA;
}

void topology_save(struct cpubolt *handle, const cpu_set_t *cpus)
{
	bool unsaved = false;
	unsigned int cpu;

	if (allocate(handle))
		return;
	remember_load(handle);
	for (cpu = set_next(cpus, handle->numbers, 0); cpu < handle->numbers;
	     cpu = set_next(cpus, handle->numbers, cpu + 1))
		unsaved |= !handle->topology->places[cpu].saved && !cpu_is_away(handle, cpu);
	if (unsaved && !read_places(handle, cpus))
		remember_save(handle);
}

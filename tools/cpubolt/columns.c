// SPDX-License-Identifier: GPL-2.0-only
/* The columns of "cpubolt status" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "sets.h"

/* @text must have room: the list of the CPUs of a large machine may be some kilobytes long. */
static void value_cpus(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	char *list = set_text(facts->machine, cell->cpus);

	snprintf(text, size, "%s", list);
	free(list);
}

static void value_cpu(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	snprintf(text, size, "%u", cell->cpu);
}

static void value_count(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	snprintf(text, size, "%u", set_count(facts->machine, cell->cpus));
}

static const struct cpubolt_topology *topology_of(struct facts *facts, unsigned int cpu)
{
	if (facts->topology_of != cpu) {
		facts->topology_of = cpu;
		facts->topology_known =
			!cpubolt_topology(facts->machine, cpu, &facts->topology);
	}
	return facts->topology_known ? &facts->topology : NULL;
}

/* How many cores the CPUs of the row are in, if that is known of all CPUs. */
static void value_cores(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	unsigned int limit = set_limit(facts->machine), cpu, count = 0, i;
	int *cores = calloc(limit, sizeof(*cores));

	for_each_cpu(facts->machine, cpu, cell->cpus) {
		const struct cpubolt_topology *topology = topology_of(facts, cpu);

		if (!cores || !topology || topology->core < 0)
			goto unknown;
		for (i = count; i > 0 && cores[i - 1] != topology->core; i--)
			;
		if (!i)
			cores[count++] = topology->core;
	}
	snprintf(text, size, "%u", count);
unknown:
	free(cores);
}

static void value_state(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	int state = cpubolt_state(facts->machine, cell->cpu);

	if (state >= 0)
		snprintf(text, size, "%s", cpubolt_state_name(state));
}

/* Writes "stopped at NAME": cpuN/hotplug/state has a number, hotplug/states the name. */
static void value_halfway(struct facts *facts, unsigned int cpu, char *text, size_t size)
{
	char path[96], *number, *states, *line = NULL;
	unsigned long state = 0, each;
	int name = 0;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/hotplug/state", cpu);
	number = invocation_read(facts->call, path);
	states = invocation_read(facts->call, "/sys/devices/system/cpu/hotplug/states");
	if (number && states) {
		state = strtoul(number, NULL, 10);
		for (line = strtok(states, "\n"); line; line = strtok(NULL, "\n"))
			if (sscanf(line, "%lu: %n", &each, &name) == 1 && each == state)
				break;
	}
	if (line)
		snprintf(text, size, "stopped at %s", line + name);
	free(number);
	free(states);
}

static void value_pending(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	int state = cpubolt_state(facts->machine, cell->cpu);

	if (state == CPUBOLT_STATE_PARKED)
		snprintf(text, size, "teardown");
	else if (state == CPUBOLT_STATE_HALFWAY)
		value_halfway(facts, cell->cpu, text, size);
}

static void value_last(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	const struct last *last = &facts->last[cell->cpu];

	if (last->ns)
		snprintf(text, size, cell->for_people ? "%.2f ms" : "%.6f", last->ns / 1e6);
}

static void value_last_op(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	const struct last *last = &facts->last[cell->cpu];

	if (last->ns)
		snprintf(text, size, "%s", last->online ? "online" : "offline");
}

static void value_last_way(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	const struct last *last = &facts->last[cell->cpu];

	if (last->ns)
		snprintf(text, size, "%s", last->batch ? "batch" : "native");
}

static void put_number(int number, char *text, size_t size)
{
	if (number >= 0)
		snprintf(text, size, "%d", number);
}

#define TOPOLOGY_VALUE(FIELD)								\
	static void value_##FIELD(struct facts *facts, const struct cell *cell,		\
				  char *text, size_t size)				\
	{										\
		const struct cpubolt_topology *topology = topology_of(facts, cell->cpu);	\
											\
		if (topology)								\
			put_number(topology->FIELD, text, size);			\
	}

TOPOLOGY_VALUE(node)
TOPOLOGY_VALUE(package)
TOPOLOGY_VALUE(die)
TOPOLOGY_VALUE(cluster)
TOPOLOGY_VALUE(core)
TOPOLOGY_VALUE(thread)
TOPOLOGY_VALUE(capacity)

static void value_mhz(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	const struct cpubolt_topology *topology = topology_of(facts, cell->cpu);

	if (topology && topology->max_khz > 0)
		snprintf(text, size, "%d", topology->max_khz / 1000);
}

/* Writes the number of each cache, nearest first, with colons between, as lscpu(1) does. */
static void value_caches(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	struct cpubolt_cache cache;
	unsigned int i;
	size_t used = 0;

	for (i = 0; !cpubolt_cache(facts->machine, cell->cpu, i, &cache); i++) {
		int more = snprintf(text + used, size - used, "%s%d", i ? ":" : "", cache.id);

		if (more < 0 || used + more >= size)
			break;
		used += more;
	}
}

static void value_flags(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	bool isolated = set_has(facts->machine, cell->cpu, facts->isolated);
	bool nohz = set_has(facts->machine, cell->cpu, facts->nohz_full);

	snprintf(text, size, "%s%s%s", isolated ? "isolated" : "", isolated && nohz ? ":" : "",
		 nohz ? "nohz_full" : "");
}

static void value_fixed(struct facts *facts, const struct cell *cell, char *text, size_t size)
{
	if (set_has(facts->machine, cell->cpu, facts->fixed))
		snprintf(text, size, "fixed");
}

static const struct column columns[] = {
	{ "CPU", value_cpu, "number of the CPU", COLUMN_NUMBER },
	{ "CPUS", value_cpus, "CPUs that are equal in the other columns", COLUMN_GROUP_LIST },
	{ "COUNT", value_count, "how many CPUs the row is about", COLUMN_GROUP_NUMBER },
	{ "STATE", value_state, "online, parked, offline or half-way", COLUMN_TEXT },
	{ "PACKAGE", value_package, "number of the package", COLUMN_NUMBER },
	{ "NODE", value_node, "number of the NUMA node", COLUMN_NUMBER },
	{ "DIE", value_die, "number of the die in its package", COLUMN_NUMBER },
	{ "CLUSTER", value_cluster, "number of the cluster", COLUMN_NUMBER },
	{ "CORES", value_cores, "how many cores the row is about", COLUMN_GROUP_NUMBER },
	{ "CORE", value_core, "number of the core", COLUMN_NUMBER },
	{ "THREAD", value_thread, "number of the CPU in its core", COLUMN_NUMBER },
	{ "CACHES", value_caches, "numbers of the caches, nearest first", COLUMN_TEXT },
	{ "MAXMHZ", value_mhz, "highest frequency", COLUMN_NUMBER },
	{ "CAPACITY", value_capacity, "computing power, at most 1024", COLUMN_NUMBER },
	{ "FIXED", value_fixed, "\"fixed\" if the CPU cannot go offline", COLUMN_BOOLEAN },
	{ "FLAGS", value_flags, "isolated, nohz_full", COLUMN_TEXT },
	{ "PENDING", value_pending, "teardowns to run if parked, or where hotplug stopped", COLUMN_TEXT },
	{ "LAST", value_last, "milliseconds that the last request took", COLUMN_NUMBER },
	{ "LASTOP", value_last_op, "the last request: online or offline", COLUMN_TEXT },
	{ "LASTWAY", value_last_way, "the last request: batch (by Bolt) or native", COLUMN_TEXT },
	{ NULL, NULL, NULL, COLUMN_TEXT }
};

const struct column *all_columns(void)
{
	return columns;
}

const struct column *find_column(const char *name, size_t length)
{
	const struct column *column;

	for (column = columns; column->name; column++)
		if (strlen(column->name) == length && !strncasecmp(column->name, name, length))
			return column;
	return NULL;
}

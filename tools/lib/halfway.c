// SPDX-License-Identifier: LGPL-2.1-or-later
/* CPUs that hotplug has left half-way: neither completely offline nor completely online. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "private.h"

int hotplug_state(const struct cpubolt *handle, unsigned int cpu)
{
	int state;
	char name[32];

	snprintf(name, sizeof(name), "cpu%u/hotplug/state", cpu);
	return sysfs_number(handle->cpus, name, &state) || state < 0 ? -1 : state;
}

/*
 * Adds to @suspects the CPUs in @undo, which a request could not put back; all of @present if @undo
 * was cut or is malformed.
 */
static void add_undo(struct cpubolt *handle, const char *undo, const cpu_set_t *present,
		     cpu_set_t *suspects)
{
	int cpu;

	while ((cpu = error_undo_next(&undo)) >= 0) {
		if ((unsigned int)cpu < handle->numbers &&
		    CPU_ISSET_S(cpu, handle->size, present))
			CPU_SET_S(cpu, handle->size, suspects);
	}
	if (cpu == -2)
		CPU_OR_S(handle->size, suspects, suspects, present);
}

/* Adds the CPUs in the undo lists of last_error; returns whether last_error could be read. */
static bool read_errors(struct cpubolt *handle, struct view *view, cpu_set_t *suspects)
{
	struct error_line line;
	const char *here;
	char *text;

	if (sysfs_read(handle->cpus, "bolt/last_error", &text))
		return false;
	here = text;
	while (error_next(&here, &line)) {
		if (line.batch > view->last_batch)
			view->last_batch = line.batch;
		add_undo(handle, line.undo, view->sets[CPUBOLT_PRESENT], suspects);
	}
	free(text);
	return true;
}

/*
 * A CPU that is neither at the first nor at the last hotplug state may just be on its way in the
 * request of another program. If that program writes cpuN/online, reading cpuN/online waits for the
 * end of the request; if it writes to bolt/, reading bolt/parked does. A CPU that is then at the
 * same state as before counts as half-way. Only root may read bolt/parked: for other users, a CPU
 * of a request to bolt/ may count as half-way.
 */
static bool stays_halfway(struct cpubolt *handle, unsigned int cpu, int state, int last)
{
	char name[32], line[8], *parked;

	if (state <= 0 || state >= last)
		return false;
	snprintf(name, sizeof(name), "cpu%u/online", cpu);
	sysfs_line(handle->cpus, name, line, sizeof(line));
	if (!sysfs_read(handle->cpus, "bolt/parked", &parked))
		free(parked);
	return hotplug_state(handle, cpu) == state;
}

/*
 * A look at a CPU means reading a file, so only suspects are looked at. With Bolt these are the
 * CPUs in the undo lists of last_error, and the CPUs that are offline without being parked; where
 * last_error cannot be read, every CPU is a suspect.
 */
int halfway_find(struct cpubolt *handle, struct view *view)
{
	const cpu_set_t *present = view->sets[CPUBOLT_PRESENT];
	cpu_set_t *suspects = cpubolt_set_new(handle);
	int *states = calloc(handle->numbers, sizeof(*states));
	unsigned int cpu;
	bool any, known = false;
	int last = 0;

	if (!suspects || !states) {
		CPU_FREE(suspects);
		free(states);
		return -ENOMEM;
	}
	set_subtract(handle->size, suspects, present, view->sets[CPUBOLT_ONLINE]);
	set_subtract(handle->size, suspects, suspects, view->sets[CPUBOLT_PARKED]);
	if (!read_errors(handle, view, suspects))
		CPU_OR_S(handle->size, suspects, suspects, present);
	any = CPU_COUNT_S(handle->size, suspects);
	/*
	 * The first CPU that is online and no suspect tells which state is the last one. If there
	 * is no such CPU, the highest state of the suspects counts as the last one.
	 */
	for (cpu = 0; cpu < handle->numbers && any; cpu++) {
		bool suspect = CPU_ISSET_S(cpu, handle->size, suspects);

		if (!suspect &&
		    (known || !CPU_ISSET_S(cpu, handle->size, view->sets[CPUBOLT_ONLINE])))
			continue;
		known = known || !suspect;
		states[cpu] = hotplug_state(handle, cpu);
		last = states[cpu] > last ? states[cpu] : last;
	}
	for (cpu = set_next(suspects, handle->numbers, 0); cpu < handle->numbers;
	     cpu = set_next(suspects, handle->numbers, cpu + 1)) {
		if (stays_halfway(handle, cpu, states[cpu], last))
			CPU_SET_S(cpu, handle->size, view->halfway);
	}
	CPU_FREE(suspects);
	free(states);
	return 0;
}

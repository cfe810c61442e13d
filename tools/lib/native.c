// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests without Bolt: writes cpuN/online of one CPU after the other. If a CPU fails, the CPUs
 * that were changed before are put back, unless CPUBOLT_KEEP_CHANGES forbids that.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* Adds @cpu to the undo list. If the list has no room for @cpu, adds ",..." instead, once. */
static void add_undo(struct cpubolt_result *result, unsigned int cpu, const char *state)
{
	static const char more[] = ",...";
	size_t length = strlen(result->undo);
	size_t room = sizeof(result->undo) - length;
	char entry[96];
	int size = snprintf(entry, sizeof(entry), "%s%u:%s", length ? "," : "", cpu, state);

	if (length >= 4 && !strcmp(result->undo + length - 4, more))
		return;
	if ((size_t)size + sizeof(more) > room)
		memcpy(result->undo + length, more, sizeof(more));
	else
		memcpy(result->undo + length, entry, (size_t)size + 1);
}

/* Finds the name of hotplug state @number in @states, which has lines "  3: name"; or "unknown". */
static void state_name(const char *states, int number, char *name, size_t size)
{
	const char *line = states, *here;
	char *end;

	snprintf(name, size, "unknown");
	for (; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0) {
		if (strtol(line, &end, 10) != number || *end != ':')
			continue;
		here = end + 1 + strspn(end + 1, " ");
		snprintf(name, size, "%.*s", (int)strcspn(here, "\n"), here);
		return;
	}
}

/* Adds @cpu, which could not be put back, to the undo list, with the hotplug state it is at. */
static void say_where(struct cpubolt *handle, unsigned int cpu, struct cpubolt_result *result)
{
	char name[64], *states;

	if (sysfs_read(handle->cpus, "hotplug/states", &states))
		states = NULL;
	state_name(states ? states : "", hotplug_state(handle, cpu), name, sizeof(name));
	add_undo(result, cpu, name);
	free(states);
}

static int write_online(struct cpubolt *handle, unsigned int cpu, bool online)
{
	char name[32];

	snprintf(name, sizeof(name), "cpu%u/online", cpu);
	return sysfs_write(handle->cpus, name, online ? "1" : "0", 1);
}

struct step {
	unsigned int cpu;
	bool online;
};

/*
 * Orders the steps: all CPUs that come online before all CPUs that go. So CPUBOLT_SET_ONLINE works
 * even if no CPU that is online now stays.
 */
static unsigned int plan(const struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
			 const cpu_set_t *missing, struct step *steps)
{
	unsigned int cpu, count = 0;
	int online;

	for (online = 1; online >= 0; online--) {
		for (cpu = set_next(missing, handle->numbers, 0); cpu < handle->numbers;
		     cpu = set_next(missing, handle->numbers, cpu + 1)) {
			if (cpu_wanted(handle, op, cpus, cpu) == online)
				steps[count++] = (struct step){ cpu, online };
		}
	}
	return count;
}

/* Refuses, before any CPU has changed, a request that is known to fail in the middle. */
static int admit(const struct cpubolt *handle, const struct step *steps, unsigned int count,
		 struct cpubolt_result *result)
{
	const struct view *view = handle->now;
	int left = CPU_COUNT_S(handle->size, view->sets[CPUBOLT_ONLINE]);
	unsigned int i;

	for (i = 0; i < count; i++) {
		result->cpu = (int)steps[i].cpu;
		if (!CPU_ISSET_S(steps[i].cpu, handle->size, handle->movable))
			return handle->now->features & CPUBOLT_HAS_HOTPLUG ? -EPERM : -EOPNOTSUPP;
		left += steps[i].online ? 1 : -CPU_ISSET_S(steps[i].cpu, handle->size,
							    view->sets[CPUBOLT_ONLINE]);
		if (!left)
			return -EBUSY;
	}
	result->cpu = -1;
	return 0;
}

static void put_back(struct cpubolt *handle, const struct step *steps, unsigned int done,
		     struct cpubolt_result *result)
{
	while (done--) {
		if (write_online(handle, steps[done].cpu, !steps[done].online))
			say_where(handle, steps[done].cpu, result);
	}
}

static int take(struct cpubolt *handle, const struct step *steps, unsigned int count,
		unsigned int flags, struct cpubolt_result *result)
{
	int err = admit(handle, steps, count, result);
	unsigned int i;

	if (err) {
		snprintf(result->state, sizeof(result->state), "admission");
		return err;
	}
	for (i = 0; i < count; i++) {
		err = write_online(handle, steps[i].cpu, steps[i].online);
		if (!err)
			continue;
		/*
		 * While Bolt is enabled, last_error names the hotplug state also if a write to
		 * cpuN/online has failed.
		 */
		request_find_error(handle, -err, result);
		result->cpu = (int)steps[i].cpu;
		if (!(flags & CPUBOLT_KEEP_CHANGES))
			put_back(handle, steps, i, result);
		return err;
	}
	return 0;
}

int native_request(struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
		   const cpu_set_t *missing, unsigned int flags, struct cpubolt_result *result)
{
	struct step *steps = calloc(handle->numbers, sizeof(*steps));
	int err;

	if (!steps)
		return -ENOMEM;
	err = take(handle, steps, plan(handle, op, cpus, missing, steps), flags, result);
	free(steps);
	return err;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Carries out a request: by one write to bolt/ if Bolt is enabled and the caller has not set
 * CPUBOLT_NATIVE; else by native.c, unless the caller has set CPUBOLT_BATCH_ONLY.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

static const char *const files[] = {
	[CPUBOLT_BRING_ONLINE] = "online",
	[CPUBOLT_TAKE_OFFLINE] = "offline",
	[CPUBOLT_SET_ONLINE] = "set",
};

/* -- What can be refused before anything is written -------------------------- */

static bool beyond_the_machine(const struct cpubolt *handle, const cpu_set_t *cpus)
{
	return set_next(cpus, (unsigned int)handle->size * 8, handle->numbers) <
	       handle->size * 8;
}

static int refuse(struct cpubolt_result *result, int err, unsigned int cpu)
{
	result->cpu = (int)cpu;
	snprintf(result->state, sizeof(result->state), "admission");
	return err;
}

static int check(const struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
		 struct cpubolt_result *result)
{
	unsigned int cpu;
	int state;

	if ((unsigned int)op > CPUBOLT_SET_ONLINE || !CPU_COUNT_S(handle->size, cpus) ||
	    beyond_the_machine(handle, cpus))
		return -EINVAL;
	for (cpu = set_next(cpus, handle->numbers, 0); cpu < handle->numbers;
	     cpu = set_next(cpus, handle->numbers, cpu + 1)) {
		state = cpubolt_state(handle, cpu);
		if (state < 0)
			return refuse(result, -EINVAL, cpu);
		if (state == CPUBOLT_STATE_ABSENT)
			return refuse(result, -ENODEV, cpu);
	}
	return 0;
}

/* -- One write to bolt/ ------------------------------------------------------ */

static int write_mask(struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus)
{
	char name[32];

	snprintf(name, sizeof(name), "bolt/%s_mask", files[op]);
	return sysfs_write(handle->cpus, name, cpus, handle->size);
}

static int write_batch(struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus)
{
	char *list = cpubolt_format_list(handle, cpus), name[32];
	int err;

	if (!list)
		return -ENOMEM;
	snprintf(name, sizeof(name), "bolt/%s", files[op]);
	if (strlen(list) > sysfs_text_max())
		err = write_mask(handle, op, cpus);
	else
		err = sysfs_write(handle->cpus, name, list, strlen(list));
	free(list);
	return err;
}

/*
 * Finds the line of this request in last_error: the newest line with this process and this error
 * that the kernel has added since the last look at the machine. In a container the kernel's number
 * of this process is not the number that getpid() gives, so possibly no line matches. Then a new
 * line with another process is taken if that line is the only new one with this error.
 */
void request_find_error(struct cpubolt *handle, int err, struct cpubolt_result *result)
{
	struct error_line line, own = { 0 }, same = { 0 };
	unsigned int count = 0;
	const char *here;
	char *text;

	if (sysfs_read(handle->cpus, "bolt/last_error", &text))
		return;
	here = text;
	while (error_next(&here, &line)) {
		if (line.batch <= handle->now->last_batch || line.err != err)
			continue;
		if (line.pid == getpid())
			own = line;
		same = line;
		count++;
	}
	free(text);
	if (!own.err && count == 1)
		own = same;
	if (!own.err)
		return;
	result->cpu = own.cpu;
	snprintf(result->state, sizeof(result->state), "%s", own.state);
	snprintf(result->undo, sizeof(result->undo), "%s", own.undo);
}

/* -- All of a request -------------------------------------------------------- */

static bool may_batch(const struct cpubolt *handle, unsigned int flags)
{
	/* Where "enabled" cannot be read, the write shows whether this user may make requests. */
	return !(flags & CPUBOLT_NATIVE) &&
	       (handle->now->features & (CPUBOLT_ENABLED | CPUBOLT_UNREADABLE));
}

static int carry_out(struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
		     const cpu_set_t *missing, unsigned int flags, struct cpubolt_result *result)
{
	unsigned long long begin = cpu_now_ns();
	int err = -EOPNOTSUPP;

	if (may_batch(handle, flags)) {
		result->way = CPUBOLT_WAY_BATCH;
		err = write_batch(handle, op, cpus);
		result->ns = cpu_now_ns() - begin;
	}
	/*
	 * The native way is for these cases: the kernel has no Bolt, @flags forbid Bolt, Bolt is
	 * disabled, perhaps only since the machine was looked at, or the platform has no hotplug.
	 */
	if (err == -EOPNOTSUPP && !(flags & CPUBOLT_BATCH_ONLY)) {
		result->way = CPUBOLT_WAY_NATIVE;
		begin = cpu_now_ns();
		err = native_request(handle, op, cpus, missing, flags, result);
		result->ns = cpu_now_ns() - begin;
	}
	if (err && result->cpu < 0)
		request_find_error(handle, -err, result);
	return err;
}

/*
 * Reads the state of the CPUs again; counts the CPUs of @before that are now as @op wants, and all
 * CPUs that are not.
 */
static int count_changes(struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
			 cpu_set_t *before, struct cpubolt_result *result)
{
	cpu_set_t *after = cpubolt_set_new(handle);
	int err;

	if (!after)
		return -ENOMEM;
	err = cpubolt_refresh(handle);
	if (!err) {
		result->missing = cpu_missing(handle, op, cpus, after);
		set_subtract(handle->size, before, before, after);
		result->changed = (unsigned int)CPU_COUNT_S(handle->size, before);
	}
	CPU_FREE(after);
	return err;
}

static int request(struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
		   unsigned int flags, struct cpubolt_result *result, cpu_set_t *missing)
{
	int err = cpu_refresh_if_old(handle), lost;

	if (!err)
		err = check(handle, op, cpus, result);
	if (err)
		return err;
	result->missing = cpu_missing(handle, op, cpus, missing);
	if (!result->missing)
		return 0;
	if (op != CPUBOLT_BRING_ONLINE)
		topology_save(handle, missing);
	err = carry_out(handle, op, cpus, missing, flags, result);
	lost = count_changes(handle, op, cpus, missing, result);
	if (lost)
		result->missing = 0;	/* @changed is 0, too: the counts are not known */
	return err ? err : lost;
}

int cpubolt_request(struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
		    unsigned int flags, struct cpubolt_result *result)
{
	struct cpubolt_result unused;
	cpu_set_t *missing = cpubolt_set_new(handle);
	int err;

	if (!result)
		result = &unused;
	*result = (struct cpubolt_result){ .way = CPUBOLT_WAY_NONE, .cpu = -1 };
	err = missing ? request(handle, op, cpus, flags, result, missing) : -ENOMEM;
	CPU_FREE(missing);
	result->error = -err;
	return err;
}

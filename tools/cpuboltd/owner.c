// SPDX-License-Identifier: GPL-2.0-only
/* Which program has taken each CPU, see owner.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "owner.h"

#define LONGEST_BACKOFF_S	3600
#define MOST_DOUBLINGS		12

static bool has(const struct owner *owner, const cpu_set_t *set, unsigned int cpu)
{
	return CPU_ISSET_S(cpu, owner->machine->size, set);
}

/*
 * Compares short files with what the last call has read: mostly no CPU has changed since, and then
 * nothing else is read. A list that the kernel has cut, which therefore has no newline, does not
 * tell whether a CPU has changed.
 */
static bool is_as_before(struct owner *owner)
{
	static const char *const paths[OWNER_TEXTS] = {
		"/sys/devices/system/cpu/online", "/sys/devices/system/cpu/present",
		"/sys/devices/system/cpu/enabled",	/* Linux before 6.11 has no such file */
	};
	bool same = true;
	char *text;
	int i;

	for (i = 0; i < OWNER_TEXTS; i++) {
		text = file_read(owner->machine->root, paths[i], NULL);
		if (i == OWNER_TEXTS - 1 && !text && !owner->texts[i])
			continue;
		if (!text || !owner->texts[i] || strcmp(text, owner->texts[i]) ||
		    !strchr(text, '\n'))
			same = false;
		free(owner->texts[i]);
		owner->texts[i] = text;
	}
	return same;
}

/* The next owner_look() has to look, whatever the files say. */
static void look_next_time(struct owner *owner)
{
	free(owner->texts[0]);
	owner->texts[0] = NULL;
}

static int look(struct owner *owner, cpu_set_t *online)
{
	int err = cpubolt_refresh(owner->machine->handle);

	if (!err)
		err = cpubolt_cpus(owner->machine->handle, CPUBOLT_PRESENT, owner->present);
	return err ?: cpubolt_cpus(owner->machine->handle, CPUBOLT_ONLINE, online);
}

int owner_begin(struct owner *owner, struct machine *machine, unsigned int backoff_s)
{
	unsigned int cpu;
	int err;

	*owner = (struct owner){
		.machine = machine,
		.present = machine_set(machine),
		.online = machine_set(machine),
		.taken = machine_set(machine),
		.foreign = machine_set(machine),
		.scratch = machine_set(machine),
		.backoffs = calloc(machine->count + 1, sizeof(*owner->backoffs)),
		.backoff_s = backoff_s,
	};
	if (!owner->present || !owner->online || !owner->taken || !owner->foreign ||
	    !owner->scratch || !owner->backoffs)
		return -ENOMEM;
	err = look(owner, owner->online);
	for (cpu = 0; !err && cpu < machine->count; cpu++)
		if (has(owner, owner->present, cpu) && !has(owner, owner->online, cpu))
			CPU_SET_S(cpu, machine->size, owner->foreign);
	return err;
}

void owner_end(struct owner *owner)
{
	int i;

	CPU_FREE(owner->present);
	CPU_FREE(owner->online);
	CPU_FREE(owner->taken);
	CPU_FREE(owner->foreign);
	CPU_FREE(owner->scratch);
	free(owner->backoffs);
	for (i = 0; i < OWNER_TEXTS; i++)
		free(owner->texts[i]);
	*owner = (struct owner){ 0 };
}

/* -- Waiting -------------------------------------------------------------------- */

void owner_yield(struct owner *owner, unsigned int cpu, bool failed, uint64_t now_us)
{
	struct backoff *backoff = &owner->backoffs[cpu];
	uint64_t seconds = (uint64_t)owner->backoff_s << backoff->times;

	if (seconds > LONGEST_BACKOFF_S)
		seconds = LONGEST_BACKOFF_S;
	/*
	 * If more time has passed since the end of the last wait than this wait would take, this
	 * wait is as short as the first.
	 */
	if (backoff->times && now_us - backoff->until_us > seconds * 1000000 &&
	    now_us > backoff->until_us) {
		backoff->times = 0;
		seconds = owner->backoff_s;
	}
	backoff->failed = failed;
	backoff->until_us = now_us + seconds * 1000000;
	if (backoff->times < MOST_DOUBLINGS)
		backoff->times++;
}

unsigned int owner_waits(const struct owner *owner, unsigned int cpu, uint64_t now_us)
{
	const struct backoff *backoff = &owner->backoffs[cpu];

	if (!backoff->times || backoff->until_us <= now_us)
		return 0;
	return (unsigned int)((backoff->until_us - now_us + 999999) / 1000000);
}

/* -- Changes --------------------------------------------------------------------- */

static bool came(struct owner *owner, unsigned int cpu, uint64_t now_us)
{
	size_t size = owner->machine->size;
	bool taken = has(owner, owner->taken, cpu);

	CPU_CLR_S(cpu, size, owner->taken);
	CPU_CLR_S(cpu, size, owner->foreign);
	CPU_SET_S(cpu, size, owner->online);
	if (taken)
		owner_yield(owner, cpu, false, now_us);
	return taken;
}

static bool left(struct owner *owner, unsigned int cpu)
{
	size_t size = owner->machine->size;

	CPU_CLR_S(cpu, size, owner->online);
	CPU_CLR_S(cpu, size, owner->taken);
	if (has(owner, owner->present, cpu))
		CPU_SET_S(cpu, size, owner->foreign);
	else
		CPU_CLR_S(cpu, size, owner->foreign);
	return false;
}

int owner_look(struct owner *owner, uint64_t now_us, owner_report *report, void *data)
{
	unsigned int cpu;
	int err, found = 0;

	if (is_as_before(owner))
		return 0;
	err = look(owner, owner->scratch);
	/*
	 * If the files differ from the first reading, a CPU may have changed after look(). As the
	 * next call compares with the second reading, such a change would not be noticed.
	 */
	if (err || !is_as_before(owner))
		look_next_time(owner);
	if (err)
		return err;
	for (cpu = 0; cpu < owner->machine->count; cpu++) {
		bool online = has(owner, owner->scratch, cpu), taken;
		bool known = has(owner, owner->foreign, cpu) || has(owner, owner->taken, cpu);

		if (online != has(owner, owner->online, cpu)) {
			taken = online ? came(owner, cpu, now_us) : left(owner, cpu);
			if (report)
				report(data, cpu, online, taken);
			found++;
		} else if (!online && known != has(owner, owner->present, cpu)) {
			/*
			 * The CPU was plugged in and left offline, or unplugged while it was
			 * offline.
			 */
			found += has(owner, owner->taken, cpu);
			left(owner, cpu);
		}
	}
	/*
	 * A CPU may have changed after the first reading of the files, and back before the second:
	 * then the files are as before, but look() has seen the CPU otherwise.
	 */
	if (found)
		look_next_time(owner);
	return found;
}

/*
 * The request was done, but @cpu is not as the request left it, so another program has changed the
 * CPU.
 */
static void undone(struct owner *owner, unsigned int cpu, bool online, uint64_t now_us)
{
	if (online)
		left(owner, cpu);
	else
		owner_yield(owner, cpu, false, now_us);
}

int owner_changed(struct owner *owner, const cpu_set_t *cpus, bool online, bool done,
		  uint64_t now_us, owner_report *report, void *data)
{
	size_t size = owner->machine->size;
	int err = look(owner, owner->scratch);
	unsigned int cpu;

	look_next_time(owner);
	if (err && online)
		return err;
	/*
	 * CPUs that may have gone must not be forgotten: if the CPUs cannot be looked at, all CPUs
	 * of the request count as gone.
	 */
	if (err)
		CPU_ZERO_S(size, owner->scratch);
	for (cpu = 0; cpu < owner->machine->count; cpu++) {
		if (!has(owner, cpus, cpu))
			continue;
		if (has(owner, owner->scratch, cpu) != online) {
			if (!done)
				continue;
			undone(owner, cpu, online, now_us);
			if (report)
				report(data, cpu, !online, !online);
		} else if (online) {
			CPU_SET_S(cpu, size, owner->online);
			CPU_CLR_S(cpu, size, owner->taken);
		} else if (has(owner, owner->online, cpu)) {
			CPU_CLR_S(cpu, size, owner->online);
			CPU_SET_S(cpu, size, owner->taken);
		}
	}
	return err;
}

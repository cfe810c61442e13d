// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Finds the state of each CPU, mostly from lists in sysfs: one list says of all CPUs which are
 * online, so that a file of each CPU need not be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "private.h"

#define YOUNG_NS 10000000ULL

/* -- Views ------------------------------------------------------------------ */

void view_free(struct view *view)
{
	int which;

	if (!view)
		return;
	for (which = 0; which < CPUBOLT_WHICH_COUNT; which++)
		CPU_FREE(view->sets[which]);
	CPU_FREE(view->halfway);
	free(view);
}

struct view *view_new(const struct cpubolt *handle)
{
	struct view *view = calloc(1, sizeof(*view));
	bool whole = view;
	int which;

	for (which = 0; whole && which < CPUBOLT_WHICH_COUNT; which++) {
		view->sets[which] = cpubolt_set_new(handle);
		whole = view->sets[which];
	}
	if (whole) {
		view->halfway = cpubolt_set_new(handle);
		whole = view->halfway;
	}
	if (whole)
		return view;
	view_free(view);
	return NULL;
}

unsigned long long cpu_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;
}

/*
 * The kernel cuts a list that does not fit into a page, perhaps within a number. Takes what follows
 * the last comma off such a list, and tells whether the kernel has cut the list.
 */
static bool was_cut(char *text)
{
	size_t length = strlen(text);
	char *comma;

	if (length != sysfs_text_max() || text[length - 1] == '\n')
		return false;
	comma = strrchr(text, ',');
	*(comma ?: text) = '\0';
	return true;
}

/*
 * Reads a cpulist. For a mask that the kernel has not allocated, the kernel prints "(null)", with
 * blanks in front if there are more than six CPU numbers; such a list counts as empty.
 * @known: set to the number of the first CPU of which the list says nothing because the kernel has
 *	   cut the list; to handle->numbers if the list is whole
 */
static int read_list(const struct cpubolt *handle, const char *name, cpu_set_t *cpus,
		     unsigned int *known)
{
	struct set target = set_of(handle, cpus);
	bool cut = false;
	char *text, *list;
	int err;

	*known = handle->numbers;
	CPU_ZERO_S(handle->size, cpus);
	err = sysfs_read(handle->cpus, name, &text);
	if (err)
		return err;
	list = text + strspn(text, " ");
	if (*list && *list != '(') {
		cut = was_cut(text);
		err = set_parse_list(&target, NULL, text, NULL) ? -EINVAL : 0;
	}
	free(text);
	while (!err && cut && *known && !CPU_ISSET_S(*known - 1, handle->size, cpus))
		--*known;
	return err;
}

/*
 * Reads the list of isolated or nohz_full CPUs, which some kernels do not have. If the kernel has
 * cut the list, every CPU behind its end counts as listed: a program that leaves the listed CPUs
 * alone had better leave alone one CPU too many than one too few.
 */
static int read_list_if_any(const struct cpubolt *handle, const char *name, cpu_set_t *cpus)
{
	unsigned int known;
	int err = read_list(handle, name, cpus, &known);

	for (; !err && known < handle->numbers; known++)
		CPU_SET_S(known, handle->size, cpus);
	return err == -ENOENT || err == -EACCES ? 0 : err;
}

/*
 * All parked CPUs count as offline if the kernel does not print the list because the list is longer
 * than a page, or if the list makes no sense; if the list was cut, those behind its end do. That is
 * no error: a program that does not know which CPUs are parked can still bring CPUs online. No
 * other file of the kernel says of a CPU whether the CPU is parked.
 */
static int read_parked(const struct cpubolt *handle, struct view *view)
{
	unsigned int known;
	int err = read_list(handle, "bolt/parked", view->sets[CPUBOLT_PARKED], &known);

	if (err == -EINVAL || err == -EOVERFLOW || (!err && known < handle->numbers)) {
		view->features |= CPUBOLT_PARKED_UNKNOWN;
		err = 0;
	}
	return err;
}

/*
 * Linux on arm64 calls all possible CPUs present. A CPU that is not plugged in is not in the list
 * "enabled", which Linux before 6.11 does not have; behind the end of a list that the kernel has
 * cut, all CPUs count as enabled.
 */
static int leave_out_unplugged(const struct cpubolt *handle, cpu_set_t *present)
{
	cpu_set_t *enabled = CPU_ALLOC(handle->numbers);
	unsigned int cpu;
	int err = enabled ? read_list(handle, "enabled", enabled, &cpu) : -ENOMEM;

	for (; !err && cpu < handle->numbers; cpu++)
		CPU_SET_S(cpu, handle->size, enabled);
	if (!err)
		CPU_AND_S(handle->size, present, present, enabled);
	CPU_FREE(enabled);
	return err == -ENOENT ? 0 : err;
}

/*
 * Reads the list of CPUs that are plugged in. If the kernel has cut the list, a CPU behind its end
 * counts as plugged in if the CPU has a folder.
 */
static int read_present(const struct cpubolt *handle, cpu_set_t *present)
{
	unsigned int cpu;
	int err = read_list(handle, "present", present, &cpu);
	char name[32];

	for (; !err && cpu < handle->numbers; cpu++) {
		snprintf(name, sizeof(name), "cpu%u", cpu);
		if (!faccessat(handle->cpus, name, F_OK, 0))
			CPU_SET_S(cpu, handle->size, present);
	}
	return err ?: leave_out_unplugged(handle, present);
}

/*
 * Reads the list of CPUs online. If the kernel has cut the list, the file cpuN/online of each CPU
 * behind its end is read; a CPU that is plugged in and has no such file is always online.
 */
static int read_online(const struct cpubolt *handle, const cpu_set_t *present, cpu_set_t *online)
{
	unsigned int cpu;
	int err = read_list(handle, "online", online, &cpu), value, failed;
	char name[32];

	if (err)
		return err;
	for (cpu = set_next(present, handle->numbers, cpu); cpu < handle->numbers;
	     cpu = set_next(present, handle->numbers, cpu + 1)) {
		snprintf(name, sizeof(name), "cpu%u/online", cpu);
		failed = sysfs_number(handle->cpus, name, &value);
		if (failed ? failed == -ENOENT : value == 1)
			CPU_SET_S(cpu, handle->size, online);
	}
	return 0;
}

static int read_bolt(struct cpubolt *handle, struct view *view)
{
	int enabled, err;

	CPU_ZERO_S(handle->size, view->sets[CPUBOLT_PARKED]);
	err = sysfs_number(handle->cpus, "bolt/enabled", &enabled);
	if (err == -ENOENT)
		return 0;
	view->features |= CPUBOLT_HAS_BOLT;
	if (!err && enabled == 1)
		view->features |= CPUBOLT_ENABLED;
	if (!err)
		err = read_parked(handle, view);
	if (err != -EACCES && err != -EPERM)
		return err;
	view->features |= CPUBOLT_UNREADABLE;
	return 0;
}

/*
 * Finds the CPUs that have a file cpuN/online. While a CPU is present, the CPU neither gets nor
 * loses that file.
 */
static void look_for_files(struct cpubolt *handle, const cpu_set_t *present)
{
	unsigned int cpu;
	char name[32];

	/* A CPU that was unplugged is looked at again when it returns. */
	CPU_AND_S(handle->size, handle->looked, handle->looked, present);
	CPU_AND_S(handle->size, handle->movable, handle->movable, present);
	for (cpu = set_next(present, handle->numbers, 0); cpu < handle->numbers;
	     cpu = set_next(present, handle->numbers, cpu + 1)) {
		if (CPU_ISSET_S(cpu, handle->size, handle->looked))
			continue;
		CPU_SET_S(cpu, handle->size, handle->looked);
		snprintf(name, sizeof(name), "cpu%u/online", cpu);
		if (!faccessat(handle->cpus, name, F_OK, 0))
			CPU_SET_S(cpu, handle->size, handle->movable);
	}
}

/* -- Looking ---------------------------------------------------------------- */

/* Computes the sets that follow from the sets that were read. */
static void complete(struct cpubolt *handle, struct view *view)
{
	cpu_set_t **sets = view->sets;

	set_subtract(handle->size, sets[CPUBOLT_ONLINE], sets[CPUBOLT_ONLINE], view->halfway);
	set_subtract(handle->size, sets[CPUBOLT_OFFLINE], sets[CPUBOLT_PRESENT],
		     sets[CPUBOLT_ONLINE]);
	/* A CPU that was read as parked may have come online before "online" was read. */
	CPU_AND_S(handle->size, sets[CPUBOLT_PARKED], sets[CPUBOLT_PARKED], sets[CPUBOLT_OFFLINE]);
	set_subtract(handle->size, sets[CPUBOLT_FIXED], sets[CPUBOLT_ONLINE], handle->movable);
	if (CPU_COUNT_S(handle->size, handle->movable))
		view->features |= CPUBOLT_HAS_HOTPLUG;
}

static int look(struct cpubolt *handle, struct view *view)
{
	int err;

	view->features = 0;
	view->last_batch = 0;
	view->isolated_known = false;
	CPU_ZERO_S(handle->size, view->halfway);
	CPU_OR_S(handle->size, view->sets[CPUBOLT_POSSIBLE], handle->possible, handle->possible);
	err = read_bolt(handle, view);
	if (!err)
		err = read_present(handle, view->sets[CPUBOLT_PRESENT]);
	if (!err)
		err = read_online(handle, view->sets[CPUBOLT_PRESENT],
				  view->sets[CPUBOLT_ONLINE]);
	if (err)
		return err;
	look_for_files(handle, view->sets[CPUBOLT_PRESENT]);
	err = halfway_find(handle, view);
	if (!err)
		complete(handle, view);
	return err;
}

int cpubolt_refresh(struct cpubolt *handle)
{
	struct view *before = handle->now;
	int err = look(handle, handle->next);

	if (err)
		return err;
	handle->now = handle->next;
	handle->next = before;
	handle->looked_ns = cpu_now_ns();
	topology_stale(handle);
	return 0;
}

/*
 * Does not look again right after the last look: the machine may change after a new look as well,
 * so a new look would be no safer.
 */
int cpu_refresh_if_old(struct cpubolt *handle)
{
	return cpu_now_ns() - handle->looked_ns < YOUNG_NS ? 0 : cpubolt_refresh(handle);
}

unsigned int cpubolt_features(struct cpubolt *handle)
{
	return handle->now->features;
}

/*
 * The sets of isolated and nohz_full CPUs are read only when a program asks for one of these sets:
 * few programs ask, and a request should not wait for the files.
 */
static int read_isolated(const struct cpubolt *handle)
{
	struct view *view = handle->now;
	int err;

	if (view->isolated_known)
		return 0;
	err = read_list_if_any(handle, "isolated", view->sets[CPUBOLT_ISOLATED]);
	if (!err)
		err = read_list_if_any(handle, "nohz_full", view->sets[CPUBOLT_NOHZ_FULL]);
	view->isolated_known = !err;
	return err;
}

int cpubolt_cpus(const struct cpubolt *handle, enum cpubolt_which which, cpu_set_t *set)
{
	int err = 0;

	CPU_ZERO_S(handle->size, set);
	if ((unsigned int)which >= CPUBOLT_WHICH_COUNT)
		return -EINVAL;
	if (which == CPUBOLT_ISOLATED || which == CPUBOLT_NOHZ_FULL)
		err = read_isolated(handle);
	if (!err)
		CPU_OR_S(handle->size, set, set, handle->now->sets[which]);
	return err;
}

int cpubolt_state(const struct cpubolt *handle, unsigned int cpu)
{
	const struct view *view = handle->now;

	if (cpu >= handle->numbers || !CPU_ISSET_S(cpu, handle->size, view->sets[CPUBOLT_POSSIBLE]))
		return -ERANGE;
	if (!CPU_ISSET_S(cpu, handle->size, view->sets[CPUBOLT_PRESENT]))
		return CPUBOLT_STATE_ABSENT;
	if (CPU_ISSET_S(cpu, handle->size, view->halfway))
		return CPUBOLT_STATE_HALFWAY;
	if (CPU_ISSET_S(cpu, handle->size, view->sets[CPUBOLT_PARKED]))
		return CPUBOLT_STATE_PARKED;
	return CPU_ISSET_S(cpu, handle->size, view->sets[CPUBOLT_ONLINE]) ? CPUBOLT_STATE_ONLINE :
									   CPUBOLT_STATE_OFFLINE;
}

const char *cpubolt_state_name(enum cpubolt_state state)
{
	switch (state) {
	case CPUBOLT_STATE_ABSENT:
		return "absent";
	case CPUBOLT_STATE_OFFLINE:
		return "offline";
	case CPUBOLT_STATE_PARKED:
		return "parked";
	case CPUBOLT_STATE_HALFWAY:
		return "half-way";
	case CPUBOLT_STATE_ONLINE:
		return "online";
	}
	return "unknown";
}

bool cpu_is_away(const struct cpubolt *handle, unsigned int cpu)
{
	int state = cpubolt_state(handle, cpu);

	return state != CPUBOLT_STATE_ONLINE && state != CPUBOLT_STATE_HALFWAY;
}

/* -- What a request wants --------------------------------------------------- */

int cpu_wanted(const struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
	       unsigned int cpu)
{
	bool named = CPU_ISSET_S(cpu, handle->size, cpus);

	switch (op) {
	case CPUBOLT_BRING_ONLINE:
		return named ? 1 : -1;
	case CPUBOLT_TAKE_OFFLINE:
		return named ? 0 : -1;
	default:
		return named;
	}
}

unsigned int cpu_missing(const struct cpubolt *handle, enum cpubolt_op op, const cpu_set_t *cpus,
			 cpu_set_t *missing)
{
	unsigned int cpu, count = 0;
	int state, wanted;

	for (cpu = 0; cpu < handle->numbers; cpu++) {
		wanted = cpu_wanted(handle, op, cpus, cpu);
		state = cpubolt_state(handle, cpu);
		if (wanted < 0 || state < 0)
			continue;
		if (wanted ? state == CPUBOLT_STATE_ONLINE :
			     state == CPUBOLT_STATE_OFFLINE || state == CPUBOLT_STATE_PARKED)
			continue;
		/* A CPU that is not plugged in is as "set" wants, unless @cpus has the CPU. */
		if (!wanted && state == CPUBOLT_STATE_ABSENT && op == CPUBOLT_SET_ONLINE)
			continue;
		CPU_SET_S(cpu, handle->size, missing);
		count++;
	}
	return count;
}

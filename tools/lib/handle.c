// SPDX-License-Identifier: LGPL-2.1-or-later
/* Opens and closes a handle, and makes sets of CPUs. All sets of a handle have the same size. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

#define CPU_FOLDER "sys/devices/system/cpu"

size_t cpubolt_set_size(const struct cpubolt *handle)
{
	return handle->size;
}

cpu_set_t *cpubolt_set_new(const struct cpubolt *handle)
{
	cpu_set_t *set = CPU_ALLOC(handle->numbers);

	if (set)
		CPU_ZERO_S(handle->size, set);
	return set;
}

struct set set_of(const struct cpubolt *handle, const cpu_set_t *cpus)
{
	return (struct set){ (cpu_set_t *)cpus, handle->size, handle->numbers };
}

int cpubolt_parse_list(const struct cpubolt *handle, const char *text, cpu_set_t *set,
		       size_t *error_at)
{
	struct set target = set_of(handle, set);

	return set_parse_list(&target, handle->now->sets[CPUBOLT_POSSIBLE], text, error_at);
}

int cpubolt_parse_mask(const struct cpubolt *handle, const char *text, cpu_set_t *set,
		       size_t *error_at)
{
	struct set target = set_of(handle, set);

	return set_parse_mask(&target, handle->now->sets[CPUBOLT_POSSIBLE], text, error_at);
}

char *cpubolt_format_list(const struct cpubolt *handle, const cpu_set_t *set)
{
	struct set source = set_of(handle, set);

	return set_format_list(&source);
}

char *cpubolt_format_mask(const struct cpubolt *handle, const cpu_set_t *set)
{
	struct set source = set_of(handle, set);

	return set_format_mask(&source);
}

/*
 * Sets handle->numbers to one more than the highest number in @text, the list of possible CPUs; and
 * handle->size. Returns 0, or -EINVAL if the list is malformed or has a number that is too high.
 */
static int count_numbers(struct cpubolt *handle, const char *text)
{
	unsigned long highest = 0, number;
	const char *here;
	char *end;

	for (here = text; *here && *here != '\n'; here = end) {
		here += strspn(here, ",-");
		errno = 0;
		number = strtoul(here, &end, 10);
		if (errno || end == here || number >= CPU_NUMBERS_MAX)
			return -EINVAL;
		highest = number > highest ? number : highest;
	}
	if (here == text)
		return -EINVAL;
	handle->numbers = (unsigned int)highest + 1;
	handle->size = CPU_ALLOC_SIZE(handle->numbers);
	return 0;
}

/* The list of possible CPUs never changes, so it is read once. */
static int read_possible(struct cpubolt *handle)
{
	struct set target;
	char *text;
	int err = sysfs_read(handle->cpus, "possible", &text);

	if (err)
		return err;
	err = count_numbers(handle, text);
	if (!err) {
		handle->possible = cpubolt_set_new(handle);
		target = set_of(handle, handle->possible);
		err = !handle->possible ? -ENOMEM :
		      set_parse_list(&target, NULL, text, NULL) ? -EINVAL : 0;
	}
	free(text);
	return err;
}

static int open_machine(struct cpubolt *handle, const char *root)
{
	int err;

	handle->root = sysfs_open(AT_FDCWD, handle->recorded ? root : "/");
	if (handle->root < 0)
		return handle->root;
	handle->cpus = sysfs_open(handle->root, CPU_FOLDER);
	if (handle->cpus < 0)
		return handle->cpus;
	err = read_possible(handle);
	if (err)
		return err;
	handle->now = view_new(handle);
	handle->next = view_new(handle);
	handle->looked = cpubolt_set_new(handle);
	handle->movable = cpubolt_set_new(handle);
	if (!handle->now || !handle->next || !handle->looked || !handle->movable)
		return -ENOMEM;
	return cpubolt_refresh(handle);
}

int cpubolt_open(const char *root, struct cpubolt **handle)
{
	struct cpubolt *made = calloc(1, sizeof(*made));
	int err;

	*handle = NULL;
	if (!made)
		return -ENOMEM;
	made->root = -1;
	made->cpus = -1;
	made->recorded = root && *root;
	err = open_machine(made, root);
	if (err) {
		cpubolt_close(made);
		return err;
	}
	*handle = made;
	return 0;
}

void cpubolt_close(struct cpubolt *handle)
{
	if (!handle)
		return;
	topology_free(handle);
	view_free(handle->now);
	view_free(handle->next);
	CPU_FREE(handle->possible);
	CPU_FREE(handle->looked);
	CPU_FREE(handle->movable);
	if (handle->cpus >= 0)
		close(handle->cpus);
	if (handle->root >= 0)
		close(handle->root);
	free(handle);
}

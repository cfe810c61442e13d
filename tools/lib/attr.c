// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reads and writes single files of bolt/, and settles CPUs. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* Makes the path of the file @name; refuses a name that would lead out of bolt/. */
static int path_of(const char *name, char *path, size_t size)
{
	if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EINVAL;
	return (size_t)snprintf(path, size, "bolt/%s", name) < size ? 0 : -ENAMETOOLONG;
}

int cpubolt_get(struct cpubolt *handle, const char *name, char **value)
{
	char path[NAME_MAX];
	size_t length;
	int err;

	*value = NULL;
	err = path_of(name, path, sizeof(path));
	if (!err)
		err = sysfs_read(handle->cpus, path, value);
	if (err)
		return err;
	length = strlen(*value);
	if (length && (*value)[length - 1] == '\n')
		(*value)[length - 1] = '\0';
	return 0;
}

int cpubolt_put(struct cpubolt *handle, const char *name, const char *value)
{
	char path[NAME_MAX];
	int err = path_of(name, path, sizeof(path));

	if (err)
		return err;
	/* sysfs drops a write of no bytes; an empty line is an empty list to the kernel. */
	if (!*value)
		value = "\n";
	return sysfs_write(handle->cpus, path, value, strlen(value));
}

/*
 * Writes @list to bolt/settle, in parts if the list is too long for one write. CPUs may be settled
 * in parts; a request, which is done for all its CPUs or for none, could not be written in parts.
 */
static int settle_list(struct cpubolt *handle, char *list)
{
	size_t length = strlen(list), cut;
	int err;

	while (length > sysfs_text_max()) {
		for (cut = sysfs_text_max(); list[cut] != ','; cut--)
			;
		err = sysfs_write(handle->cpus, "bolt/settle", list, cut);
		if (err)
			return err;
		list += cut + 1;
		length -= cut + 1;
	}
	return sysfs_write(handle->cpus, "bolt/settle", list, length);
}

int cpubolt_settle(struct cpubolt *handle, const cpu_set_t *cpus)
{
	char *list;
	int err;

	if (!cpus)
		return cpubolt_put(handle, "settle", "all");
	if (!CPU_COUNT_S(handle->size, cpus))
		return -EINVAL;
	list = cpubolt_format_list(handle, cpus);
	if (!list)
		return -ENOMEM;
	err = settle_list(handle, list);
	free(list);
	return err;
}

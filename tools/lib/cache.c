// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reads the caches of a CPU when a program first asks for a cache of this CPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

#define CACHES_MAX 16

static int leaf_line(struct cpubolt *handle, unsigned int cpu, unsigned int index,
		     const char *file, char *line, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "cpu%u/cache/index%u/%s", cpu, index, file);
	return sysfs_line(handle->cpus, name, line, size);
}

static int leaf_number(struct cpubolt *handle, unsigned int cpu, unsigned int index,
		       const char *file, int *number)
{
	char line[16];
	int err = leaf_line(handle, cpu, index, file, line, sizeof(line));

	return err ? err : sysfs_parse_number(line, number);
}

/* Returns in bytes a size such as "48K"; 0 if the text is no size, or its number is above 2^40. */
static unsigned long long parse_size(const char *text)
{
	unsigned long long size;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return 0;
	errno = 0;
	size = strtoull(text, &end, 10);
	if (errno || size > 1ULL << 40)
		return 0;
	if (!strcmp(end, "K"))
		return size << 10;
	if (!strcmp(end, "M"))
		return size << 20;
	return *end ? 0 : size;
}

/* A cache that firmware gives no number gets that of the lowest online CPU that uses the cache. */
static int first_sharer(struct cpubolt *handle, unsigned int cpu, unsigned int index)
{
	cpu_set_t *cpus = cpubolt_set_new(handle);
	struct set target = set_of(handle, cpus);
	unsigned int first = handle->numbers;
	char name[64], *text;

	snprintf(name, sizeof(name), "cpu%u/cache/index%u/shared_cpu_list", cpu, index);
	if (cpus && !sysfs_read(handle->cpus, name, &text)) {
		set_parse_list(&target, NULL, text, NULL);
		first = set_next(cpus, handle->numbers, 0);
		free(text);
	}
	CPU_FREE(cpus);
	return (int)(first < handle->numbers ? first : cpu);
}

static int read_leaf(struct cpubolt *handle, unsigned int cpu, unsigned int index,
		     struct cpubolt_cache *cache)
{
	char line[32];
	int err = leaf_number(handle, cpu, index, "level", &cache->level);

	if (err)
		return err;
	leaf_line(handle, cpu, index, "type", line, sizeof(line));
	cache->type = line[0] == 'D' ? 'd' : line[0] == 'I' ? 'i' : 'u';
	leaf_line(handle, cpu, index, "size", line, sizeof(line));
	cache->size = parse_size(line);
	if (leaf_number(handle, cpu, index, "id", &cache->id) || cache->id < 0)
		cache->id = first_sharer(handle, cpu, index);
	return 0;
}

static int read_caches(struct cpubolt *handle, unsigned int cpu, struct place *place)
{
	struct cpubolt_cache caches[CACHES_MAX] = { 0 };
	int count = 0, level, err;

	while (count < CACHES_MAX && !read_leaf(handle, cpu, (unsigned int)count, &caches[count]))
		count++;
	/* sysfs has no caches of a CPU that has gone since the last look, or during this read. */
	if (!count || leaf_number(handle, cpu, 0, "level", &level)) {
		err = cpubolt_refresh(handle);
		if (err)
			return err;
		if (count || cpu_is_away(handle, cpu))
			return -ENODATA;
	} else {
		place->caches = calloc((size_t)count, sizeof(*caches));
		if (!place->caches)
			return -ENOMEM;
		memcpy(place->caches, caches, (size_t)count * sizeof(*caches));
	}
	place->cache_count = count;
	return 0;
}

int cpubolt_cache(struct cpubolt *handle, unsigned int cpu, unsigned int index,
		  struct cpubolt_cache *cache)
{
	struct cpubolt_topology topology;
	struct place *place;
	int err = cpubolt_topology(handle, cpu, &topology);

	if (err)
		return err;
	place = &handle->topology->places[cpu];
	if (place->cache_count < 0) {
		if (cpu_is_away(handle, cpu))
			return -ENODATA;
		err = read_caches(handle, cpu, place);
		if (err)
			return err;
	}
	if (index >= (unsigned int)place->cache_count)
		return -ENOENT;
	*cache = place->caches[index];
	return 0;
}

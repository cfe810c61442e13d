/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts exactly how many objects each slab cache holds. */
#ifndef SELFTESTS_BOLT_SLABS_H
#define SELFTESTS_BOLT_SLABS_H

#include <dirent.h>
#include <limits.h>

#include "bolt.h"

#define SLAB_DIR "/sys/kernel/slab/"
#define MAX_SLABS 512
#define SLAB_READINGS 5

/* The cache from which a write of one character to a file of sysfs takes an object. */
#define SLAB_OF_WRITES "kmalloc-8"

/* Each area of vmalloc(), and each gap between two areas, holds an object of this cache. */
#define SLAB_OF_AREAS "vmap_area"

/* Whether the kernel checks all objects: a CPU then keeps no slabs. */
static inline bool slabs_are_checked(void)
{
	char text[16];

	return !get(SLAB_DIR "kmalloc-64/red_zone", text, sizeof(text)) && atoi(text);
}

struct slabs {
	int nr;
	struct {
		char name[64];
		long objects;
	} caches[MAX_SLABS];
};

/* Opens the file "shrink" of every cache. Caches that are merged share a directory. */
static inline int slabs_open(int fds[MAX_SLABS])
{
	DIR *dir = opendir(SLAB_DIR);
	struct dirent *entry;
	char path[512];
	int nr = 0;

	while (dir && (entry = readdir(dir)) && nr < MAX_SLABS - 1) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), SLAB_DIR "%s/shrink", entry->d_name);
		fds[nr++] = open(path, O_WRONLY | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	fds[nr++] = open(SLAB_DIR SLAB_OF_WRITES "/shrink", O_WRONLY | O_CLOEXEC);
	return nr;
}

static inline void slabs_note(struct slabs *slabs, const char *name, long objects)
{
	int i = 0;

	while (i < slabs->nr && strcmp(slabs->caches[i].name, name))
		i++;
	if (i == MAX_SLABS)
		return;
	if (i == slabs->nr)
		snprintf(slabs->caches[slabs->nr++].name,
			 sizeof(slabs->caches[0].name), "%s", name);
	else if (objects >= slabs->caches[i].objects)
		return;
	slabs->caches[i].objects = objects;
}

/*
 * A thread's stack that was freed stays mapped until the kernel unmaps many areas at a
 * time. Until then, the area and the gap after the area hold objects of the cache
 * SLAB_OF_AREAS. Returns how many areas are in use.
 */
static inline long slabs_areas(void)
{
	FILE *file = fopen("/proc/vmallocinfo", "r");
	char line[512];
	long areas = 0;

	while (file && fgets(line, sizeof(line), file))
		areas += !strstr(line, "unpurged");
	if (file)
		fclose(file);
	return areas;
}

/*
 * Free objects in the slab of a CPU count as used. Shrinking flushes that slab, but
 * the CPU may have taken another slab before the counts are read. So all files are
 * opened first, and the least of several readings is right. Returns how many caches
 * there are.
 */
static inline int slabs_count(struct slabs *slabs)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	char line[512], name[64];
	int fds[MAX_SLABS], nr;
	long objects, areas;

	slabs->nr = 0;
	nr = slabs_open(fds);
	for (int i = 0; file && i < SLAB_READINGS; i++) {
		for (int k = 0; k < nr; k++)
			if (write(fds[k], "1", 1) != 1)
				goto out;
		rewind(file);
		areas = slabs_areas();
		while (fgets(line, sizeof(line), file)) {
			if (sscanf(line, "%63s %ld", name, &objects) != 2)
				continue;
			slabs_note(slabs, name, strcmp(name, SLAB_OF_AREAS) ? objects : areas);
		}
	}
out:
	for (int k = 0; k < nr; k++)
		close(fds[k]);
	if (file)
		fclose(file);
	return slabs->nr;
}

static inline long slab_objects(const struct slabs *slabs, const char *name)
{
	for (int i = 0; i < slabs->nr; i++)
		if (!strcmp(slabs->caches[i].name, name))
			return slabs->caches[i].objects;
	return 0;
}

#endif /* SELFTESTS_BOLT_SLABS_H */

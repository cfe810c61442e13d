/* SPDX-License-Identifier: GPL-2.0-only */
/* Listings of sysfs, to compare. */
#ifndef SELFTESTS_BOLT_TREE_H
#define SELFTESTS_BOLT_TREE_H

#include <dirent.h>
#include <sys/stat.h>

#include "../kselftest.h"
#include "bolt.h"

/* A listing. Zeroed before the first use. */
struct tree {
	char **lines;		/* "path" or "path=first bytes of the file" */
	int n, max;		/* the number of lines, and for how many @lines has room */
};

static inline void tree_free(struct tree *tree)
{
	while (tree->n)
		free(tree->lines[--tree->n]);
	free(tree->lines);
	tree->lines = NULL;
	tree->max = 0;
}

/*
 * Whether the test leaves a file out, because its text changes by itself, is what a
 * user has written, or is Bolt's own.
 */
static inline bool tree_skips(const char *path)
{
	static const char * const skipped[] = {
		CPU_DIR "bolt", "/power/", "/trigger", "/hotplug/fail",
		"/meminfo", "/vmstat", "/numastat", "/cpuidle/state",
		/* What the machine measures or counts. Many machines lack these files. */
		"/scaling_cur_freq", "/cpuinfo_cur_freq", "/cpuinfo_avg_freq", "/stats/",
		"/feedback_ctrs", "/thermal_throttle/", "/current_freq_khz",
		"/free_hugepages",
	};

	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++)
		if (strstr(path, skipped[i]))
			return true;
	return false;
}

static inline void tree_add(struct tree *tree, const char *path, bool text)
{
	char line[5120], value[256] = "";

	if (tree->n == tree->max) {
		tree->max += tree->max + 1024;
		tree->lines = realloc(tree->lines, tree->max * sizeof(tree->lines[0]));
		if (!tree->lines)
			abort();
	}
	if (text) {
		int err = get(path, value, sizeof(value));

		if (err)
			snprintf(value, sizeof(value), "error %d", err);
		snprintf(line, sizeof(line), "%s=%s", path, value);
	} else {
		snprintf(line, sizeof(line), "%s", path);
	}
	tree->lines[tree->n++] = strdup(line);
}

/*
 * Adds all entries below @path but those of tree_skips(), without following links. @text:
 * with the first bytes of files.
 */
static inline void tree_walk(struct tree *tree, const char *path, bool text)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char below[4096];
		struct stat st;

		snprintf(below, sizeof(below), "%s/%s", path, names[i]->d_name);
		if (!strcmp(names[i]->d_name, ".") ||
		    !strcmp(names[i]->d_name, "..") || tree_skips(below)) {
			free(names[i]);
			continue;
		}
		free(names[i]);
		if (lstat(below, &st)) {
			tree_add(tree, below, false);
			continue;
		}
		tree_add(tree, below, text && S_ISREG(st.st_mode) &&
			 (st.st_mode & 0400));
		if (S_ISDIR(st.st_mode))
			tree_walk(tree, below, text);
	}
	if (n >= 0)
		free(names);
}

/* Adds the parts of sysfs that have directories of CPUs, or of their devices, or links to these. */
static inline void tree_of_cpus(struct tree *tree, bool text)
{
	static const char * const roots[] = {
		"/sys/devices/system/cpu", "/sys/devices/system/machinecheck",
		"/sys/devices/virtual/msr", "/sys/devices/virtual/cpuid",
		"/sys/class/msr", "/sys/class/cpuid", "/sys/dev/char",
		"/sys/bus/cpu/devices", "/sys/bus/machinecheck/devices",
		"/sys/devices/system/node",
	};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		tree_walk(tree, roots[i], text);
}

/* Removes the lines that contain @what. */
static inline void tree_drop(struct tree *tree, const char *what)
{
	int kept = 0;

	for (int i = 0; i < tree->n; i++) {
		if (strstr(tree->lines[i], what))
			free(tree->lines[i]);
		else
			tree->lines[kept++] = tree->lines[i];
	}
	tree->n = kept;
}

/*
 * Returns the line of @a at the first place where the listings differ, or the line of @b
 * if @a has no line there; NULL if the listings are the same.
 */
static inline const char *tree_differ(const struct tree *a, const struct tree *b)
{
	for (int i = 0; i < a->n || i < b->n; i++) {
		if (i >= a->n)
			return b->lines[i];
		if (i >= b->n || strcmp(a->lines[i], b->lines[i]))
			return a->lines[i];
	}
	return NULL;
}

#endif /* SELFTESTS_BOLT_TREE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Bolt's selftests share: requests, settings, and the CPU that tests use. Functions
 * that programs of the lab's guests use as well are in lib/.
 */
#ifndef SELFTESTS_BOLT_H
#define SELFTESTS_BOLT_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "lib/clocks.h"
#include "lib/dirs.h"
#include "lib/files.h"
#include "lib/online.h"
#include "restore.h"

/* The CPU that comes and goes. Many tests also have its number in a text: "1", "cpu1". */
#define VICTIM 1

static inline int enable(bool on)
{
	return put(BOLT_DIR "enabled", on ? "1" : "0");
}

static inline int settle_all(void)
{
	return put(BOLT_DIR "settle", "all");
}

/* Whether Bolt has files in debugfs. */
static inline bool debug_files(void)
{
	return !access(DEBUG_DIR, F_OK);
}

/* Returns the number after @name in the file @path of lines "NAME NUMBER"; -1 if there is none. */
static inline long long number_in(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	long long value = -1;
	char line[128];
	size_t len = strlen(name);

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, len) && line[len] == ' ')
			value = atoll(line + len);
	}
	fclose(file);
	return value;
}

/* Returns the number called @name in DEBUG_DIR "stats"; -1 if there is none. */
static inline long long stat_of(const char *name)
{
	return number_in(DEBUG_DIR "stats", name);
}

/* Returns the first number of the kernel's release, such as 6 of 6.12.117; 0 if uname() fails. */
static inline int linux_major(void)
{
	struct utsname name;

	return uname(&name) ? 0 : atoi(name.release);
}

/* Returns why Bolt's selftests cannot run on this machine, or NULL if they can. */
static inline const char *cannot_run(void)
{
	if (geteuid())
		return "needs root";
	if (access(BOLT_DIR "enabled", F_OK))
		return "the kernel has no Bolt";
	if (access(CPU_DIR "cpu1/online", F_OK))
		return "needs a second CPU that can go offline";
	if (restore_smt_is_off())
		return "SMT is switched off, so that some CPUs cannot come online";
	return NULL;
}

/* Returns why a test whose lists of CPUs are right only for four CPUs cannot run, or NULL. */
static inline const char *not_four_cpus(void)
{
	return access(CPU_DIR "cpu3", F_OK) || !access(CPU_DIR "cpu4", F_OK) ?
	       "needs exactly four CPUs" : NULL;
}

/* Disables Bolt, brings VICTIM online, and gives settings the values with which tests start. */
static inline int start_over(void)
{
	int err = enable(false);

	if (!err)
		err = set_online(VICTIM, true);
	if (!err)
		err = put(BOLT_DIR "settle_delay_ms", "1000");
	if (!err)
		err = put(BOLT_DIR "keep", "pressure");
	if (!err)
		err = put(BOLT_DIR "keep_affinity", "0");
	return err;
}

#endif /* SELFTESTS_BOLT_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* The files cpuN/online. */
#ifndef SELFTESTS_BOLT_LIB_ONLINE_H
#define SELFTESTS_BOLT_LIB_ONLINE_H

#include <stdio.h>

#include "dirs.h"
#include "files.h"

#define ONLINE_PATH_MAX 64

static inline const char *online_path(int cpu, char path[ONLINE_PATH_MAX])
{
	snprintf(path, ONLINE_PATH_MAX, CPU_DIR "cpu%d/online", cpu);
	return path;
}

/* Whether the CPU has a file cpuN/online: the CPU is present, and can go offline. */
static inline bool cpu_is_movable(int cpu)
{
	char path[ONLINE_PATH_MAX];

	return !access(online_path(cpu, path), F_OK);
}

static inline bool cpu_is_online(int cpu)
{
	char path[ONLINE_PATH_MAX];

	return is(online_path(cpu, path), "1");
}

static inline int set_online(int cpu, bool online)
{
	char path[ONLINE_PATH_MAX];

	return put(online_path(cpu, path), online ? "1" : "0");
}

#endif /* SELFTESTS_BOLT_LIB_ONLINE_H */

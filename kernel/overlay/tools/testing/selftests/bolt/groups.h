/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups of the tests, named bolt-NAME below the root of a hierarchy. */
#ifndef SELFTESTS_BOLT_GROUPS_H
#define SELFTESTS_BOLT_GROUPS_H

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "bolt.h"
#include "lib/children.h"

/*
 * Whether tests may move the cpusets to version 1 of control groups: no other program used
 * cpusets, of version 1 or 2, when this program began.
 */
static inline bool group_may_use_v1(void)
{
	return !restore_v1 && !restore_v2();
}

/*
 * Enables cpusets of version 2, also after a test of version 1. Returns why that is not
 * possible, or NULL.
 */
static inline const char *group_no_cpusets(void)
{
	restore_cpusets();
	return put(V2 "/cgroup.subtree_control", "+cpuset") ?
	       "no cpuset controller of version 2" : NULL;
}

/*
 * Mounts cpusets of version 1 at V1, with these options of mount(), as soon as groups that
 * tests have removed from version 2 are gone. Returns why that is not possible, or NULL.
 */
static inline const char *group_no_v1(const char *options)
{
	if (restore_v2())
		return "the cpusets of version 2 are in use";
	mkdir("/tmp", 0755);
	mkdir(V1, 0755);
	put(V2 "/cgroup.subtree_control", "-cpuset");
	for (int i = 0; mount("none", V1, "cgroup", 0, options); i++) {
		if (errno != EBUSY || i == 100)
			return "no cpuset controller of version 1";
		wait_ms(100);
	}
	return NULL;
}

static inline int group_put(const char *root, const char *group, const char *file,
			    const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/bolt-%s/%s", root, group, file);
	return put(path, text);
}

static inline void group_get(const char *root, const char *group, const char *file,
			     char *text, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/bolt-%s/%s", root, group, file);
	if (get(path, text, size))
		snprintf(text, size, "no %s", file);
}

static inline int group_make(const char *root, const char *group)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/bolt-%s", root, group);
	return mkdir(path, 0755) ? -errno : 0;
}

static inline int group_remove(const char *root, const char *group)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/bolt-%s", root, group);
	return rmdir(path) ? -errno : 0;
}

/* Does what fork_mortal() does, but the child begins in the control group @group. */
static inline pid_t group_fork(const char *root, const char *group)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	pid_t parent = getpid(), child = -1;
	char path[256];
	int dir;

	snprintf(path, sizeof(path), "%s/bolt-%s", root, group);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0) {
		args.cgroup = dir;
		child = syscall(SYS_clone3, &args, sizeof(args));
		if (!child)
			die_with(parent);
		close(dir);
	}
	return child;
}

#endif /* SELFTESTS_BOLT_GROUPS_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes and removes control groups (version 2) with a task in each, under the controllers cpu,
 * cpuset, memory and pids.
 */
#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void set(const char *group, const char *file, const char *value)
{
	char path[128];
	int err;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	err = write_text(path, value);
	if (err)
		wrong("%s: %s", path, strerror(-err));
}

/* Gives the group up to two CPUs; if these are offline, the group has the CPUs of its parent. */
static void set_cpus(const char *group)
{
	char list[32];

	snprintf(list, sizeof(list), "%u,%u", draw(load_cpus), draw(load_cpus));
	set(group, "cpuset.cpus", list);
}

static pid_t inhabitant(void)
{
	pid_t pid = child();

	while (!pid) {
		work_rounds(2000);
		wait_ms(1);
	}
	return pid;
}

static void leave(const char *group, pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* The group's last task may still be ending. */
	for (int i = 0; rmdir(group); i++) {
		if (errno != EBUSY || i == 1000)
			wrong("rmdir %s: %s", group, strerror(errno));
		wait_ms(1);
	}
}

static void groups(int which)
{
	char group[64], text[16];

	snprintf(group, sizeof(group), GROUP_DIR "load.%d", which);
	while (!stopping()) {
		pid_t pid;

		if (mkdir(group, 0755))
			wrong("mkdir %s: %s", group, strerror(errno));
		set(group, "cpu.max", "20000 100000");
		set(group, "memory.max", "16777216");
		set(group, "pids.max", "4");
		set_cpus(group);
		pid = inhabitant();
		snprintf(text, sizeof(text), "%d", pid);
		set(group, "cgroup.procs", text);
		wait_ms(1 + draw(10));
		set_cpus(group);
		wait_ms(draw(10));
		leave(group, pid);
		once_round();
	}
}

static bool has_groups(void)
{
	return !write_text(GROUP_DIR "cgroup.subtree_control", "+cpu +cpuset +memory +pids");
}

const struct worker group_workers[] = {
	{ "cgroup", 2, groups, has_groups },
	{ NULL, 0, NULL, NULL },
};

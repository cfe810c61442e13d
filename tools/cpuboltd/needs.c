// SPDX-License-Identifier: GPL-2.0-only
/*
 * What tasks and cpusets need of CPUs that are to go
 *
 * This is looked for right before CPUs go, and not in each interval: one call of sched_getaffinity(2)
 * for each task answers nearly everything, and procfs is read for few tasks only.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "floor.h"

#define TASK_IS_KERNEL_THREAD	0x00200000	/* of the flags in /proc/PID/stat */
#define MOST_DEPTH		16		/* of folders in a cgroup hierarchy */

struct search {
	const struct machine *machine;
	const cpu_set_t *going, *after;
	cpu_set_t *online;
	cpu_set_t *mask;	/* of the task or cpuset at hand */
	cpu_set_t *common;
	cpu_set_t *needed;
	/* Masks of which one CPU has to stay: looked at when it is known which stay anyway. */
	cpu_set_t **ones;
	size_t count;
	int err;
};

struct task {
	char name[64];
	unsigned int flags, policy;
};

/* The mask at hand and @cpus have a CPU in common; search->common is what they have. */
static bool meets(struct search *search, const cpu_set_t *cpus)
{
	CPU_AND_S(search->machine->size, search->common, search->mask, cpus);
	return CPU_COUNT_S(search->machine->size, search->common);
}

/* All of the mask at hand that is to go stays. */
static void need_all(struct search *search)
{
	meets(search, search->going);
	CPU_OR_S(search->machine->size, search->needed, search->needed, search->common);
}

/* One CPU of the mask at hand has to stay. */
static void need_one(struct search *search)
{
	cpu_set_t **longer, *copy;
	size_t i;

	if (meets(search, search->after))
		return;
	for (i = 0; i < search->count; i++)
		if (CPU_EQUAL_S(search->machine->size, search->ones[i], search->mask))
			return;
	copy = machine_set(search->machine);
	longer = copy ? realloc(search->ones, (search->count + 1) * sizeof(*longer)) : NULL;
	if (!longer) {
		CPU_FREE(copy);
		search->err = -ENOMEM;
		return;
	}
	memcpy(copy, search->mask, search->machine->size);
	search->ones = longer;
	search->ones[search->count++] = copy;
}

static void choose_one(struct search *search, const cpu_set_t *mask)
{
	unsigned int cpu;

	memcpy(search->mask, mask, search->machine->size);
	if (meets(search, search->needed) || !meets(search, search->going))
		return;
	for (cpu = 0; cpu < search->machine->count; cpu++) {
		if (!CPU_ISSET_S(cpu, search->machine->size, search->common))
			continue;
		CPU_SET_S(cpu, search->machine->size, search->needed);
		return;
	}
}

/* -- Tasks --------------------------------------------------------------------- */

static char *task_file(const struct search *search, int pid, int tid, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return file_read(search->machine->root, path, NULL);
}

/* The mask that the task was given, of which sched_getaffinity(2) shows the online part only. */
static bool read_allowed(struct search *search, int pid, int tid)
{
	static const char key[] = "\nCpus_allowed_list:\t";
	char *status = task_file(search, pid, tid, "status");
	char *list = status ? strstr(status, key) : NULL;
	int err = -ENOENT;

	if (list) {
		list += strlen(key);
		list[strcspn(list, "\n")] = '\0';
		err = cpubolt_parse_list(search->machine->handle, list, search->mask, NULL);
	}
	free(status);
	return !err;
}

static bool get_allowed(struct search *search, int pid, int tid)
{
	if (*search->machine->root)
		return read_allowed(search, pid, tid);
	return !sched_getaffinity(tid, search->machine->size, search->mask);
}

/* The task may run on every CPU that is online: nobody has chosen CPUs for it. */
static bool is_free(struct search *search)
{
	return meets(search, search->online) &&
	       CPU_EQUAL_S(search->machine->size, search->common, search->online);
}

/* "PID (NAME) STATE ...": NAME may contain anything, so the last bracket ends it. */
static bool read_task(const struct search *search, int pid, int tid, struct task *task)
{
	char *text = task_file(search, pid, tid, "stat");
	char *name = text ? strchr(text, '(') : NULL, *end = text ? strrchr(text, ')') : NULL;
	char *here, *field;
	unsigned int number = 3;
	bool found = false;

	if (name && end && end > name && end[1]) {
		*end = '\0';
		snprintf(task->name, sizeof(task->name), "%s", name + 1);
		here = end + 2;
		/* Fields by their numbers in proc_pid_stat(5). */
		while (!found && (field = strsep(&here, " "))) {
			if (number == 3 && (*field == 'Z' || *field == 'X'))
				break;
			if (number == 9)
				task->flags = (unsigned int)strtoul(field, NULL, 10);
			if (number == 41) {
				task->policy = (unsigned int)strtoul(field, NULL, 10);
				found = true;
			}
			number++;
		}
	}
	free(text);
	return found;
}

/* Real-time, deadline, or a virtual CPU as QEMU names it. */
static bool is_strict(const struct task *task)
{
	unsigned int number;
	int length = 0;

	if (task->policy == SCHED_FIFO || task->policy == SCHED_RR || task->policy == 6)
		return true;
	return sscanf(task->name, "CPU %u/KVM%n", &number, &length) == 1 && length;
}

static void consider_task(struct search *search, int pid, int tid)
{
	struct task task = { .flags = 0 };
	bool lost;

	if (!get_allowed(search, pid, tid) || !meets(search, search->going))
		return;
	lost = !meets(search, search->after);
	if (!lost && is_free(search))
		return;
	if (!read_task(search, pid, tid, &task) || task.flags & TASK_IS_KERNEL_THREAD)
		return;
	/* A task with CPUs that are offline now may have others that are to come. */
	if (lost && !read_allowed(search, pid, tid))
		return;
	if (is_strict(&task) && !is_free(search))
		need_all(search);
	else
		need_one(search);
}

static bool is_number(const char *name)
{
	return isdigit((unsigned char)*name);
}

static void consider_process(struct search *search, int pid)
{
	char path[64];
	struct dirent *entry;
	char *full;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (asprintf(&full, "%s%s", search->machine->root, path) < 0)
		return;
	folder = opendir(full);
	free(full);
	if (!folder)
		return;		/* the process has ended */
	while ((entry = readdir(folder)))
		if (is_number(entry->d_name))
			consider_task(search, pid, atoi(entry->d_name));
	closedir(folder);
}

static int search_tasks(struct search *search)
{
	struct dirent *entry;
	char *full;
	DIR *folder;

	if (asprintf(&full, "%s/proc", search->machine->root) < 0)
		return -ENOMEM;
	folder = opendir(full);
	free(full);
	if (!folder)
		return -errno;
	while ((entry = readdir(folder)))
		if (is_number(entry->d_name))
			consider_process(search, atoi(entry->d_name));
	closedir(folder);
	return 0;
}

/* -- cpusets ------------------------------------------------------------------- */

static char *file_at(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t size = 0;
	FILE *file;

	if (fd < 0)
		return NULL;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return NULL;
	}
	if (getline(&text, &size, file) < 0) {
		free(text);
		text = NULL;
	} else {
		text[strcspn(text, "\n")] = '\0';
	}
	fclose(file);
	return text;
}

/* @strict: version 1, where a CPU that was offline once is lost. */
static void consider_cpuset(struct search *search, int folder, bool strict)
{
	char *list = file_at(folder, "cpuset.cpus"), *partition;

	if (list && *list &&
	    !cpubolt_parse_list(search->machine->handle, list, search->mask, NULL) &&
	    meets(search, search->going)) {
		partition = file_at(folder, "cpuset.cpus.partition");
		if ((strict && !is_free(search)) || (partition && strcmp(partition, "member")))
			need_all(search);
		else
			need_one(search);
		free(partition);
	}
	free(list);
}

static void walk_cpusets(struct search *search, int folder, bool strict, unsigned int depth)
{
	struct dirent *entry;
	DIR *stream;
	int below;

	if (depth)
		consider_cpuset(search, folder, strict);
	stream = fdopendir(folder);
	if (!stream) {
		close(folder);
		return;
	}
	while (depth < MOST_DEPTH && (entry = readdir(stream))) {
		if (*entry->d_name == '.' ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		below = openat(dirfd(stream), entry->d_name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0)
			walk_cpusets(search, below, strict, depth + 1);
	}
	closedir(stream);
}

static void search_cpusets(struct search *search, const char *path, bool strict)
{
	char *full;
	int folder;

	if (asprintf(&full, "%s%s", search->machine->root, path) < 0)
		return;
	folder = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(full);
	if (folder >= 0)
		walk_cpusets(search, folder, strict, 0);
}

/* --------------------------------------------------------------------------------- */

int floor_others(const struct machine *machine, const cpu_set_t *going, const cpu_set_t *after,
		 cpu_set_t *needed)
{
	struct search search = {
		.machine = machine,
		.going = going,
		.after = after,
		.online = machine_set(machine),
		.mask = machine_set(machine),
		.common = machine_set(machine),
		.needed = needed,
	};
	int err = -ENOMEM;

	CPU_ZERO_S(machine->size, needed);
	if (search.online && search.mask && search.common)
		err = cpubolt_cpus(machine->handle, CPUBOLT_ONLINE, search.online);
	if (!err) {
		/* Version 1 has a hierarchy of its own; below version 2 it is a folder without files. */
		search_cpusets(&search, "/sys/fs/cgroup/cpuset", true);
		search_cpusets(&search, "/sys/fs/cgroup", false);
		err = search_tasks(&search) ?: search.err;
	}
	while (search.count) {
		if (!err)
			choose_one(&search, search.ones[search.count - 1]);
		CPU_FREE(search.ones[--search.count]);
	}
	free(search.ones);
	CPU_FREE(search.online);
	CPU_FREE(search.mask);
	CPU_FREE(search.common);
	return err;
}

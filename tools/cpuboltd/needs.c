// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds which of the CPUs that are to go, or have gone, are needed by tasks and cpusets
 *
 * The daemon looks for these needs right before CPUs go, and every ten seconds while CPUs are taken
 * or were needed at the last look. With all CPUs online, one call of sched_getaffinity(2) for each
 * task mostly suffices. Otherwise one file of each task says whether the task is real-time or
 * deadline, or a virtual CPU. A second file is read only of such a task, and of a task of which no CPU would stay
 * online. A task that was found to be a kernel thread is not looked at again in later searches.
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

#define TASK_IS_KERNEL_THREAD	0x00200000	/* a flag in /proc/PID/stat */
#define MOST_DEPTH		16		/* levels of a cgroup hierarchy that are searched */

struct search {
	const struct machine *machine;
	const cpu_set_t *going, *after;
	cpu_set_t *online;
	/* CPUs present, without those of isolcpus= and of partitions: the usual affinity */
	cpu_set_t *shared;
	bool all_online;	/* whether all CPUs of @shared are online */
	cpu_set_t *mask;	/* CPUs of the task or cpuset at hand */
	cpu_set_t *common;
	cpu_set_t *needed;
	/*
	 * Masks of each of which one CPU has to stay. These CPUs are chosen at the end, when it is
	 * known which CPUs stay anyway.
	 */
	cpu_set_t **ones;
	size_t count;
	struct kthreads kthreads;	/* kernel threads found now, in the order of /proc */
	size_t known;			/* position in the list of kernel threads found last */
	bool is_kthread;		/* whether the process at hand is a kernel thread */
	int err;
};

struct task {
	char name[64];
	unsigned int flags, policy;
};

/* Sets search->common to the CPUs of search->mask that are in @cpus; false if there are none. */
static bool meets(struct search *search, const cpu_set_t *cpus)
{
	CPU_AND_S(search->machine->size, search->common, search->mask, cpus);
	return CPU_COUNT_S(search->machine->size, search->common);
}

/* Notes that all CPUs of the mask at hand that are in "going" are needed. */
static void need_all(struct search *search)
{
	meets(search, search->going);
	CPU_OR_S(search->machine->size, search->needed, search->needed, search->common);
}

/* Notes that one CPU of the mask at hand has to stay, unless one stays anyway. */
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
	/* A CPU that is online is a better choice than a CPU that would have to come. */
	if (meets(search, search->online))
		memcpy(search->mask, search->common, search->machine->size);
	if (!meets(search, search->going)) {
		memcpy(search->mask, mask, search->machine->size);
		meets(search, search->going);
	}
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

/* Reads the mask that the task was given; sched_getaffinity(2) shows the online part only. */
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

/* Reads the online part of the mask that the task was given. */
static bool get_active(struct search *search, int pid, int tid)
{
	if (!*search->machine->root)
		return !sched_getaffinity(tid, search->machine->size, search->mask);
	if (!read_allowed(search, pid, tid))
		return false;
	CPU_AND_S(search->machine->size, search->mask, search->mask, search->online);
	return true;
}

/* Tells whether the mask at hand has all of @cpus. */
static bool has_all(struct search *search, const cpu_set_t *cpus)
{
	meets(search, cpus);
	return CPU_EQUAL_S(search->machine->size, search->common, cpus);
}

/*
 * Reads the file "stat" of a task, "PID (NAME) STATE ...": NAME may contain brackets, so the last
 * bracket of the file ends NAME. False if the task has ended.
 */
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

/* Tells whether a task is real-time, deadline, or a virtual CPU as QEMU names it. */
static bool is_strict(const struct task *task)
{
	unsigned int number;
	int length = 0;

	if (task->policy == SCHED_FIFO || task->policy == SCHED_RR || task->policy == 6)
		return true;
	return sscanf(task->name, "CPU %u/KVM%n", &number, &length) == 1 && length;
}

/*
 * While CPUs 2-7 of eight are offline, the masks of a task that may run on CPUs 0-1 only, and of a
 * task that may run on all CPUs, have the same online part: CPUs 0-1. So while a CPU is offline,
 * only the whole mask says whether CPUs were chosen for the task.
 */
static void consider_task(struct search *search, int pid, int tid)
{
	struct task task = { .flags = 0 };
	bool lost;

	if (!get_active(search, pid, tid))
		return;
	lost = !meets(search, search->after);
	if (!lost && search->all_online &&
	    (!meets(search, search->going) || has_all(search, search->shared)))
		return;
	if (!read_task(search, pid, tid, &task))
		return;
	search->is_kthread = task.flags & TASK_IS_KERNEL_THREAD;
	if (search->is_kthread)
		return;
	if (!lost && !is_strict(&task))
		return;
	/* CPUs of the task that are offline now may be about to come, so read the whole mask. */
	if (!read_allowed(search, pid, tid))
		return;
	if (is_strict(&task) && !has_all(search, search->shared))
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

/*
 * Tells whether a process is a kernel thread that the last search has found. /proc lists PIDs in
 * ascending order, as does the list of that search, so search->known only grows.
 */
static bool is_known(struct search *search, int pid, ino_t inode)
{
	const struct kthreads *last = search->machine->kthreads;

	while (last && search->known < last->count && last->list[search->known].pid < pid)
		search->known++;
	return last && search->known < last->count && last->list[search->known].pid == pid &&
	       last->list[search->known].inode == inode;
}

static void remember_kthread(struct search *search, int pid, ino_t inode)
{
	struct kthreads *found = &search->kthreads;
	struct kthread *longer = found->list;

	/* The list grows when its length is 0 or a power of two. */
	if (!(found->count & (found->count - 1)))
		longer = realloc(found->list, (found->count ? 2 * found->count : 1) *
				 sizeof(*longer));
	if (!longer)
		return;		/* the next search looks at the thread again */
	found->list = longer;
	found->list[found->count++] = (struct kthread){ pid, inode };
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
	while ((entry = readdir(folder))) {
		int pid = is_number(entry->d_name) ? atoi(entry->d_name) : 0;

		if (!pid)
			continue;
		search->is_kthread = is_known(search, pid, entry->d_ino);
		if (!search->is_kthread)
			consider_process(search, pid);
		if (search->is_kthread)
			remember_kthread(search, pid, entry->d_ino);
	}
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

/* Adds the list in a file to the mask at hand; false if the file has no valid list. */
static bool add_file(struct search *search, int folder, const char *name)
{
	char *list = file_at(folder, name);
	bool found = list && *list &&
		     !cpubolt_parse_list(search->machine->handle, list, search->common, NULL);

	if (found)
		CPU_OR_S(search->machine->size, search->mask, search->mask, search->common);
	free(list);
	return found;
}

/*
 * Removes the CPUs of a valid partition from "shared": the kernel keeps tasks outside of the
 * partition off these CPUs.
 */
static void leave_out(struct search *search, int folder)
{
	size_t size = search->machine->size;

	/* add_file() leaves the list of the file in "common". Linux before 6.7 has no such file. */
	if (!add_file(search, folder, "cpuset.cpus.exclusive.effective"))
		memcpy(search->common, search->mask, size);
	CPU_AND_S(size, search->common, search->common, search->shared);
	CPU_XOR_S(size, search->shared, search->shared, search->common);
}

/*
 * False if the cpuset is no partition. Otherwise adds to the mask at hand the CPUs of the partition
 * that "cpuset.cpus" does not list; if the partition is valid, calls leave_out().
 */
static bool is_partition(struct search *search, int folder)
{
	char *partition = file_at(folder, "cpuset.cpus.partition");
	bool found = partition && strcmp(partition, "member");
	/* While the partition does not get its CPUs, the text is "root invalid (...)" or alike. */
	bool valid = found && (!strcmp(partition, "root") || !strcmp(partition, "isolated"));

	free(partition);
	if (found) {
		add_file(search, folder, "cpuset.cpus.exclusive");
		add_file(search, folder, "cpuset.cpus.exclusive.effective");
	}
	/* The effective CPUs of an invalid partition may be all those of its parent. */
	if (valid) {
		add_file(search, folder, "cpuset.cpus.effective");
		leave_out(search, folder);
	}
	return found;
}

/*
 * @strict: the cpuset is of cgroup version 1 without "cpuset_v2_mode", where each cpuset, even one
 * with all CPUs, loses for good a CPU that goes
 */
static void consider_cpuset(struct search *search, int folder, bool strict)
{
	bool whole;

	CPU_ZERO_S(search->machine->size, search->mask);
	/* Android mounts version 1 with "noprefix", so that names do not begin with "cpuset.". */
	if (!add_file(search, folder, "cpuset.cpus") && strict)
		add_file(search, folder, "cpus");
	whole = is_partition(search, folder) || strict;
	if (!meets(search, search->going))
		return;
	if (whole)
		need_all(search);
	else
		need_one(search);
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

/* Puts back characters that mountinfo has escaped, such as "\040" for a space. */
static void unescape(char *text)
{
	char *to = text;
	unsigned int code;
	int length;

	while (*text) {
		if (sscanf(text, "\\%3o%n", &code, &length) == 1 && length == 4) {
			*to++ = (char)code;
			text += length;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static bool has_option(char *options, const char *option)
{
	char *one;

	while ((one = strsep(&options, ",")))
		if (!strcmp(one, option))
			return true;
	return false;
}

/*
 * If @line is of a mount of cpusets, searches these and returns true; otherwise returns false. The
 * line has the form "36 35 98:0 /root /point options fields - type source options", see
 * proc_pid_mountinfo(5).
 */
static bool search_mount(struct search *search, char *line)
{
	char *rest = strstr(line, " - "), *point = NULL, *type, *options, *copy;
	bool found = false, strict;
	int i;

	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	for (i = 0; i < 5; i++)
		point = strsep(&line, " ");
	type = strsep(&rest, " ");
	strsep(&rest, " ");
	options = rest;
	if (!point || !options)
		return false;
	strict = strcmp(type, "cgroup2");
	/* The type "cpuset" is an older name for version 1 with the controller cpuset alone. */
	if (!strict || !strcmp(type, "cpuset")) {
		found = true;
	} else if (!strcmp(type, "cgroup")) {
		copy = strdup(options);
		found = copy && has_option(copy, "cpuset");
		free(copy);
	}
	/* With "cpuset_v2_mode" version 1 gives CPUs back, as version 2 does. */
	if (found && strict)
		strict = !has_option(options, "cpuset_v2_mode");
	unescape(point);
	if (found)
		search_cpusets(search, point, strict);
	return found;
}

static void search_mounts(struct search *search)
{
	char *text = file_read(search->machine->root, "/proc/self/mountinfo", NULL);
	char *here = text, *line;
	bool found = false;

	while (here && (line = strsep(&here, "\n")))
		found |= search_mount(search, line);
	free(text);
	if (found)
		return;
	/* mountinfo names no cpusets: try the usual mount points. */
	search_cpusets(search, "/sys/fs/cgroup/cpuset", true);
	search_cpusets(search, "/sys/fs/cgroup", false);
}

/* --------------------------------------------------------------------------------- */

static int find_shared(struct search *search)
{
	const struct machine *machine = search->machine;
	int err = cpubolt_cpus(machine->handle, CPUBOLT_ONLINE, search->online);

	if (!err)
		err = cpubolt_cpus(machine->handle, CPUBOLT_PRESENT, search->shared);
	if (!err)
		err = cpubolt_cpus(machine->handle, CPUBOLT_ISOLATED, search->mask);
	if (err)
		return err;
	meets(search, search->shared);
	CPU_XOR_S(machine->size, search->shared, search->shared, search->common);
	return 0;
}

int floor_others(const struct machine *machine, const cpu_set_t *going, const cpu_set_t *after,
		 cpu_set_t *needed)
{
	struct search search = {
		.machine = machine,
		.going = going,
		.after = after,
		.online = machine_set(machine),
		.shared = machine_set(machine),
		.mask = machine_set(machine),
		.common = machine_set(machine),
		.needed = needed,
	};
	int err = -ENOMEM;

	CPU_ZERO_S(machine->size, needed);
	if (search.online && search.shared && search.mask && search.common)
		err = find_shared(&search);
	if (!err) {
		/* Cpusets before tasks: the partitions decide which CPUs are in "shared". */
		search_mounts(&search);
		memcpy(search.mask, search.online, machine->size);
		search.all_online = has_all(&search, search.shared);
		err = search_tasks(&search) ?: search.err;
	}
	if (machine->kthreads) {
		free(machine->kthreads->list);
		*machine->kthreads = search.kthreads;
	} else {
		free(search.kthreads.list);
	}
	while (search.count) {
		if (!err)
			choose_one(&search, search.ones[search.count - 1]);
		CPU_FREE(search.ones[--search.count]);
	}
	free(search.ones);
	CPU_FREE(search.online);
	CPU_FREE(search.shared);
	CPU_FREE(search.mask);
	CPU_FREE(search.common);
	return err;
}

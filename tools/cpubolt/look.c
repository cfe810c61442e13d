// SPDX-License-Identifier: GPL-2.0-only
/*
 * The look at tasks before CPUs go offline
 *
 * Most tasks may run on some CPU that stays, so for most tasks one call of sched_getaffinity(2)
 * suffices. On a running system, files of procfs are read only for the few tasks whose CPUs all go:
 * to read /proc/PID/status of every task would take longer than the whole request.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "look.h"
#include "sets.h"

/* The flag in /proc/PID/stat that says that the task is a kernel thread. */
#define TASK_IS_KERNEL_THREAD	0x00200000
/* Inode number of the first PID namespace, which the kernel never changes. */
#define FIRST_PID_NAMESPACE	0xeffffffc
/* nlink of a directory with one directory inside */
#define LINKS_OF_ONE		3

struct task {
	int pid, tid;
	char name[64];
	unsigned int flags;
	unsigned int policy;
	unsigned int priority;
};

struct search {
	struct invocation *call;
	struct cpubolt *machine;
	const cpu_set_t *going, *after;
	cpu_set_t *nohz_full;
	cpu_set_t *allowed;		/* CPUs that the task being looked at may run on */
	cpu_set_t *common;
	bool coming;			/* some CPUs of @after are not online yet */
	void (*report)(const char *sentence);
	int found;
};

static const char *const policies[] = {
	[SCHED_FIFO]	= "SCHED_FIFO",
	[SCHED_RR]	= "SCHED_RR",
	[6]		= "SCHED_DEADLINE",
};

static const char *policy_name(const struct task *task)
{
	size_t known = sizeof(policies) / sizeof(*policies);

	return task->policy < known ? policies[task->policy] : NULL;
}

static char *read_task_file(struct search *search, int pid, int tid, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return invocation_read(search->call, path);
}

/* Reads the CPUs of a task from procfs, or from the copy of procfs in a recorded tree (--root). */
static bool read_allowed(struct search *search, int pid, int tid)
{
	static const char key[] = "\nCpus_allowed_list:\t";
	char *status = read_task_file(search, pid, tid, "status");
	char *list = status ? strstr(status, key) : NULL;
	int error = -ENOENT;

	if (list) {
		list += strlen(key);
		list[strcspn(list, "\n")] = '\0';
		error = cpubolt_parse_list(search->machine, list, search->allowed, NULL);
	}
	free(status);
	return !error;
}

static bool get_allowed(struct search *search, int pid, int tid)
{
	size_t size = cpubolt_set_size(search->machine);

	if (*search->call->root)
		return read_allowed(search, pid, tid);
	return !sched_getaffinity(tid, size, search->allowed);
}

/* True if the task may run on some of @cpus. */
static bool may_run_on(struct search *search, const cpu_set_t *cpus)
{
	size_t size = cpubolt_set_size(search->machine);

	CPU_AND_S(size, search->common, search->allowed, cpus);
	return CPU_COUNT_S(size, search->common);
}

/* Reads fields by their numbers in proc_pid_stat(5); @text begins with field 3. */
static bool parse_numbers(char *text, struct task *task)
{
	unsigned int number = 3;
	char *field;

	while ((field = strsep(&text, " "))) {
		switch (number++) {
		case 3:
			/* A zombie needs no CPU any more. */
			if (*field == 'Z' || *field == 'X')
				return false;
			break;
		case 9:
			task->flags = strtoul(field, NULL, 10);
			break;
		case 40:
			task->priority = strtoul(field, NULL, 10);
			break;
		case 41:
			task->policy = strtoul(field, NULL, 10);
			return true;
		}
	}
	return false;
}

/* "PID (NAME) STATE ...": NAME may contain anything, so the last bracket ends it. */
static bool parse_stat(char *text, struct task *task)
{
	char *name = strchr(text, '('), *end = strrchr(text, ')');
	char *c;

	if (!name || !end || end < name || !end[1])
		return false;
	*end = '\0';
	snprintf(task->name, sizeof(task->name), "%s", name + 1);
	for (c = task->name; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return parse_numbers(end + 2, task);
}

static bool read_task(struct search *search, struct task *task)
{
	char *text = read_task_file(search, task->pid, task->tid, "stat");
	bool done = text && parse_stat(text, task);

	free(text);
	return done;
}

/* QEMU names a virtual CPU's thread "CPU N/KVM", libvirt puts the thread into a cgroup vcpuN. */
static bool is_virtual_cpu(struct search *search, const struct task *task)
{
	unsigned int number;
	char *groups, *group;
	int length = 0;
	bool found;

	if (sscanf(task->name, "CPU %u/KVM%n", &number, &length) == 1 && length)
		return true;
	groups = read_task_file(search, task->pid, task->tid, "cgroup");
	group = groups ? strstr(groups, "/vcpu") : NULL;
	found = group && isdigit((unsigned char)group[strlen("/vcpu")]) &&
		strstr(groups, "machine");
	free(groups);
	return found;
}

/* Says "CPU 3 is the only CPU of the real-time task "audio" (pid 812, SCHED_FIFO 80)". */
static void tell(struct search *search, const struct task *task, const char *what,
		 const char *more)
{
	bool one = CPU_COUNT_S(cpubolt_set_size(search->machine), search->allowed) == 1;
	char *cpus = set_text(search->machine, search->allowed);
	char thread[32] = "", *sentence;

	if (task->tid != task->pid)
		snprintf(thread, sizeof(thread), ", thread %d", task->tid);
	if (asprintf(&sentence, "CPU%s %s %s of the %s \"%s\" (pid %d%s%s)", one ? "" : "s",
		     cpus, one ? "is the only CPU" : "are the only CPUs", what, task->name,
		     task->pid, thread, more) >= 0) {
		search->report(sentence);
		free(sentence);
	}
	free(cpus);
	search->found++;
}

static void judge(struct search *search, const struct task *task)
{
	const char *policy = policy_name(task);
	char more[48];

	if (policy) {
		if (task->priority)
			snprintf(more, sizeof(more), ", %s %u", policy, task->priority);
		else
			snprintf(more, sizeof(more), ", %s", policy);
		tell(search, task, "real-time task", more);
	} else if (is_virtual_cpu(search, task)) {
		tell(search, task, "virtual CPU", "");
	} else if (may_run_on(search, search->nohz_full)) {
		tell(search, task, "task", ", nohz_full");
	}
}

/*
 * sched_getaffinity(2) leaves out CPUs that are offline, also those that the request brings online.
 * So a task that loses all CPUs which sched_getaffinity(2) gives may still be allowed on a CPU that
 * comes. This function asks procfs, which leaves out no CPU. Returns true for such a task, and for
 * a task that has ended.
 */
static bool may_run_on_coming(struct search *search, const struct task *task)
{
	if (!search->coming || *search->call->root)
		return false;
	if (!read_allowed(search, task->pid, task->tid) || may_run_on(search, search->after))
		return true;
	return !get_allowed(search, task->pid, task->tid);
}

static void consider(struct search *search, int pid, int tid)
{
	struct task task = { .pid = pid, .tid = tid };

	if (!get_allowed(search, pid, tid) || may_run_on(search, search->after) ||
	    !may_run_on(search, search->going))
		return;
	if (!read_task(search, &task) || task.flags & TASK_IS_KERNEL_THREAD ||
	    may_run_on_coming(search, &task))
		return;
	judge(search, &task);
}

/* Calls @each for each directory below @fd whose name is a number. */
static int walk_numbers(struct search *search, int fd, int pid,
			void (*each)(struct search *search, int fd, int pid, int number))
{
	_Alignas(struct dirent64) char buffer[16384];
	ssize_t got, at;

	while ((got = getdents64(fd, buffer, sizeof(buffer))) > 0) {
		for (at = 0; at < got;) {
			const struct dirent64 *entry = (const void *)&buffer[at];

			if (isdigit((unsigned char)entry->d_name[0]))
				each(search, fd, pid, atoi(entry->d_name));
			at += entry->d_reclen;
		}
	}
	return got < 0 ? -errno : 0;
}

static void each_thread(struct search *search, int fd, int pid, int tid)
{
	consider(search, pid, tid);
}

static void each_process(struct search *search, int proc, int unused, int pid)
{
	char path[32];
	struct stat about;
	int fd;

	if (pid == getpid() && !*search->call->root)
		return;
	snprintf(path, sizeof(path), "%d/task", pid);
	/* Most processes have one thread, for which the directory need not be opened. */
	if (!fstatat(proc, path, &about, 0) && about.st_nlink == LINKS_OF_ONE) {
		consider(search, pid, pid);
		return;
	}
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;		/* the process has ended, or is hidden from this user */
	walk_numbers(search, fd, pid, each_thread);
	close(fd);
}

static int search_tasks(struct search *search)
{
	char *path;
	int fd, error;

	if (asprintf(&path, "%s/proc", search->call->root) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = fd < 0 ? -errno : 0;
	free(path);
	if (error)
		return error;
	error = walk_numbers(search, fd, 0, each_process);
	close(fd);
	return error;
}

static bool some_come(struct invocation *call, const cpu_set_t *after)
{
	cpu_set_t *online = set_new(call->machine, CPUBOLT_ONLINE);
	cpu_set_t *coming = set_copy(call->machine, after);
	bool some;

	set_minus(call->machine, coming, online);
	some = set_count(call->machine, coming);
	CPU_FREE(online);
	CPU_FREE(coming);
	return some;
}

int look(struct invocation *call, const cpu_set_t *going, const cpu_set_t *after,
	 void (*report)(const char *sentence))
{
	struct search search = {
		.call = call,
		.machine = call->machine,
		.going = going,
		.after = after,
		.nohz_full = set_new(call->machine, CPUBOLT_NOHZ_FULL),
		.allowed = set_empty(call->machine),
		.common = set_empty(call->machine),
		.coming = some_come(call, after),
		.report = report,
	};
	int error = search_tasks(&search);

	CPU_FREE(search.nohz_full);
	CPU_FREE(search.allowed);
	CPU_FREE(search.common);
	return error ?: search.found;
}

bool look_is_partial(const struct invocation *call)
{
	struct stat about;

	if (*call->root || stat("/proc/self/ns/pid", &about))
		return false;
	return about.st_ino != FIRST_PID_NAMESPACE;
}

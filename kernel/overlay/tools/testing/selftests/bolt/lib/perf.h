/* SPDX-License-Identifier: GPL-2.0-only */
/* Perf events. */
#ifndef SELFTESTS_BOLT_LIB_PERF_H
#define SELFTESTS_BOLT_LIB_PERF_H

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Opens an event of a task, or of all tasks of a CPU if @pid is -1. Returns a descriptor
 * or -errno.
 */
static inline int event_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens an event that the kernel counts without hardware, of all tasks of a CPU. */
static inline int event_open_software(unsigned long long config, int cpu)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .config = config };

	return event_open(&attr, -1, cpu);
}

#endif /* SELFTESTS_BOLT_LIB_PERF_H */

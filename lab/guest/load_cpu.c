// SPDX-License-Identifier: GPL-2.0-only
/* Workers that use CPUs: all scheduling classes, pinned, moving; processes, memory, perf. */
#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void work(int rounds)
{
	static volatile unsigned long sum;

	for (int i = 0; i < rounds; i++)
		sum += i;
}

static void spinner(int which)
{
	(void)which;
	while (!stopping()) {
		work(20000);
		once_round();
	}
}

int affine(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = 0; i < load_cpus; i++)
		if (cpu < 0 || i == cpu)
			CPU_SET(i, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* Runs on one CPU, and returns to that CPU whenever the CPU is online again. */
static void pinned(int which)
{
	int cpu = which % load_cpus;

	while (!stopping()) {
		int err = affine(cpu);

		if (err && err != -EINVAL)
			wrong("CPU %d: %s", cpu, strerror(-err));
		work(2000);
		sleep_ms(2);
		once_round();
	}
}

/* Moves from CPU to CPU, and in between may run on any CPU. */
static void mover(int which)
{
	(void)which;
	while (!stopping()) {
		int err = affine((int)draw(load_cpus + 1) - 1);

		if (err && err != -EINVAL)
			wrong("affinity: %s", strerror(-err));
		work(2000);
		once_round();
	}
}

static void real_time(int which)
{
	struct sched_param param = { .sched_priority = 10 + which };

	if (sched_setscheduler(0, which % 2 ? SCHED_RR : SCHED_FIFO, &param))
		wrong("real-time class: %s", strerror(errno));
	while (!stopping()) {
		work(1000);
		sleep_ms(3);
		once_round();
	}
}

static void deadline(int which)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {
		.size = sizeof(attr),
		.policy = 6,	/* SCHED_DEADLINE */
		.runtime = 1000000,
		.deadline = 20000000,
		.period = 20000000,
	};

	(void)which;
	if (syscall(SYS_sched_setattr, 0, &attr, 0))
		wrong("deadline class: %s", strerror(errno));
	while (!stopping()) {
		work(1000);
		sched_yield();	/* sleep until the next period */
		once_round();
	}
}

/* Two tasks that wake each other up from CPU to CPU. */
static void pipes(int which)
{
	int there[2], back[2];
	char ball = 0;
	pid_t pid;

	(void)which;
	if (pipe(there) || pipe(back))
		wrong("pipe: %s", strerror(errno));
	pid = child();
	if (!pid) {
		close(there[1]);
		while (read(there[0], &ball, 1) == 1 && write(back[1], &ball, 1) == 1)
			;
		_exit(0);
	}
	while (!stopping()) {
		if (write(there[1], &ball, 1) != 1 || read(back[0], &ball, 1) != 1)
			wrong("pipe: %s", strerror(errno));
		once_round();
		if (draw(8) == 0)
			sleep_ms(1);
	}
	close(there[1]);
	waitpid(pid, NULL, 0);
}

static void processes(int which)
{
	(void)which;
	while (!stopping()) {
		int status, execs = draw(2);
		pid_t pid = child();

		if (!pid) {
			if (execs)
				execl("/bin/load", "load", "nothing", NULL);
			_exit(execs ? 1 : 0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			wrong("a process ended with %d", status);
		sleep_ms(draw(4));
		once_round();
	}
}

#define AREA (256 << 10)

static void memory(int which)
{
	while (!stopping()) {
		uint64_t seed = (uint64_t)which << 32 | draw(1 << 30);
		void *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (area == MAP_FAILED)
			wrong("mmap: %s", strerror(errno));
		fill(area, AREA, seed);
		sched_yield();
		if (!filled(area, AREA, seed))
			wrong("memory does not hold what was written");
		munmap(area, AREA);
		once_round();
		sleep_ms(draw(3));
	}
}

/* perf counters of all tasks on one CPU, which must never run backwards. */
static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = cpu % 2 ? PERF_COUNT_SW_CONTEXT_SWITCHES : PERF_COUNT_SW_CPU_CLOCK,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void perf(int which)
{
	static uint64_t last[MAX_CPUS];
	static int fds[MAX_CPUS];

	(void)which;
	memset(fds, -1, sizeof(fds));
	while (!stopping()) {
		int cpu = draw(load_cpus);
		uint64_t count;

		if (fds[cpu] < 0) {
			fds[cpu] = open_event(cpu);
			last[cpu] = 0;
			if (fds[cpu] < 0 && fds[cpu] != -ENODEV)
				wrong("CPU %d: %s", cpu, strerror(-fds[cpu]));
		} else if (read(fds[cpu], &count, sizeof(count)) != sizeof(count)) {
			wrong("CPU %d: no count", cpu);
		} else if (count < last[cpu]) {
			wrong("CPU %d: counts back", cpu);
		} else {
			last[cpu] = count;
			if (draw(8) == 0) {
				close(fds[cpu]);
				fds[cpu] = -1;
			}
		}
		once_round();
		sleep_ms(1 + draw(3));
	}
}

static bool has_perf(void)
{
	int fd = open_event(0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

const struct worker cpu_workers[] = {
	{ "spinner", 2, spinner, NULL },
	{ "pinned", 4, pinned, NULL },
	{ "mover", 1, mover, NULL },
	{ "real-time", 2, real_time, NULL },
	{ "deadline", 2, deadline, NULL },
	{ "pipe", 2, pipes, NULL },
	{ "process", 1, processes, NULL },
	{ "memory", 1, memory, NULL },
	{ "perf", 1, perf, has_perf },
	{ NULL, 0, NULL, NULL },
};

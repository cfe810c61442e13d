// SPDX-License-Identifier: GPL-2.0-only
/* Workers in the fair, real-time and deadline classes, and workers for processes, memory, perf. */
#define _GNU_SOURCE
#include "lib/deadline.h"
#include "lib/perf.h"
#include "lib/place.h"
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void spinner(int which)
{
	(void)which;
	while (!stopping()) {
		work_rounds(20000);
		once_round();
	}
}

int affine(int cpu)
{
	return cpu < 0 ? pin_range(0, 0, load_cpus - 1) : pin(0, cpu);
}

/* Runs on one CPU, and returns to that CPU whenever the CPU is online again. */
static void pinned(int which)
{
	int cpu = which % load_cpus;

	while (!stopping()) {
		int err = affine(cpu);

		if (err && err != -EINVAL)
			wrong("cannot run on CPU %d: %s", cpu, strerror(-err));
		work_rounds(2000);
		wait_ms(2);
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
		work_rounds(2000);
		once_round();
	}
}

static void real_time(int which)
{
	struct sched_param param = { .sched_priority = 10 + which };

	if (sched_setscheduler(0, which % 2 ? SCHED_RR : SCHED_FIFO, &param))
		wrong("real-time class: %s", strerror(errno));
	while (!stopping()) {
		work_rounds(1000);
		wait_ms(3);
		once_round();
	}
}

static void deadline(int which)
{
	int err = set_deadline_each(0, 1000000, 20000000);

	(void)which;
	if (err)
		wrong("deadline class: %s", strerror(-err));
	while (!stopping()) {
		work_rounds(1000);
		sched_yield();	/* sleep until the next period */
		once_round();
	}
}

/* Two tasks, often on different CPUs, that wake each other up by pipes. */
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
			wait_ms(1);
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
			wrong("a process ended with wait status %#x", status);
		wait_ms(draw(4));
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
		wait_ms(draw(3));
	}
}

/* Opens a perf event of all tasks on @cpu; the event's count must never fall. */
static int open_event(int cpu)
{
	return event_open_software(cpu % 2 ? PERF_COUNT_SW_CONTEXT_SWITCHES :
				   PERF_COUNT_SW_CPU_CLOCK, cpu);
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
				wrong("no perf event on CPU %d: %s", cpu, strerror(-fds[cpu]));
		} else if (read(fds[cpu], &count, sizeof(count)) != sizeof(count)) {
			wrong("the perf event of CPU %d has no count", cpu);
		} else if (count < last[cpu]) {
			wrong("CPU %d counts backwards", cpu);
		} else {
			last[cpu] = count;
			if (draw(8) == 0) {
				close(fds[cpu]);
				fds[cpu] = -1;
			}
		}
		once_round();
		wait_ms(1 + draw(3));
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

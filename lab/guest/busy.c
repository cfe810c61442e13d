// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that keeps CPUs busy in several ways that a request has to deal with:
 * running tasks, timers, slab objects, wake-ups through pipes.
 */
#define _GNU_SOURCE
#include "lib/children.h"
#include "lib/place.h"
#include "measure.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPINNERS 2
#define TIMERS 16
#define PAIRS 2
#define WORKERS (SPINNERS + 1 + 2 * PAIRS)

static pid_t workers[WORKERS];
static int nworkers;

static void spinner(int unused)
{
	char buf[512];

	(void)unused;
	for (;;) {
		work_rounds(20000);
		if (read_text("/proc/self/stat", buf, sizeof(buf)) < 0)
			_exit(1);
	}
}

static void timers(int unused)
{
	struct itimerspec each = { { 0, 1000000 }, { 0, 1000000 } };
	int fds[TIMERS];
	uint64_t ticks;

	(void)unused;
	for (int i = 0; i < TIMERS; i++) {
		fds[i] = timerfd_create(CLOCK_MONOTONIC, 0);
		each.it_interval.tv_nsec += 100000;
		if (fds[i] < 0 || timerfd_settime(fds[i], 0, &each, NULL))
			_exit(1);
	}
	for (unsigned int i = 0;; i++)
		if (read(fds[i % TIMERS], &ticks, sizeof(ticks)) < 0)
			_exit(1);
}

static int pipes[PAIRS][2][2];

static void player(int which)
{
	int (*p)[2] = pipes[which / 2];
	bool serves = which % 2;
	char ball = 0;

	if (serves && write(p[0][1], &ball, 1) != 1)
		_exit(1);
	for (;;) {
		if (read(p[serves ? 1 : 0][0], &ball, 1) != 1 ||
		    write(p[serves ? 0 : 1][1], &ball, 1) != 1)
			_exit(1);
		wait_ms(1);
	}
}

static void start(void (*work)(int which), int which)
{
	pid_t pid = fork_mortal();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		work(which);
	workers[nworkers++] = pid;
}

void busy_start(const struct measure *m)
{
	(void)m;
	for (int i = 0; i < PAIRS; i++)
		if (pipe2(pipes[i][0], O_CLOEXEC) || pipe2(pipes[i][1], O_CLOEXEC))
			die("pipe: %s", strerror(errno));
	for (int i = 0; i < SPINNERS; i++)
		start(spinner, i);
	start(timers, 0);
	for (int i = 0; i < 2 * PAIRS; i++)
		start(player, i);
}

static void set_cpus(pid_t pid, const struct measure *m, bool all)
{
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	for (int cpu = 0; cpu < CPU_SETSIZE && all; cpu++)
		CPU_SET(cpu, &set);
	for (int i = 0; i < m->ncpus; i++)
		CPU_SET(m->cpus[i], &set);
	err = pin_set(pid, &set);
	if (err)
		die("affinity: %s", strerror(-err));
}

/*
 * Puts all workers on the measured CPUs, then lets the workers run anywhere, so that
 * requests must move the workers.
 */
void busy_gather(const struct measure *m)
{
	for (int i = 0; i < nworkers; i++)
		set_cpus(workers[i], m, false);
	wait_ms(m->gap_ms);
	for (int i = 0; i < nworkers; i++)
		set_cpus(workers[i], m, true);
}

void busy_stop(void)
{
	for (int i = 0; i < nworkers; i++) {
		int status;
		pid_t pid = waitpid(workers[i], &status, WNOHANG);

		if (pid)
			die("worker %d ended early", i);
		kill(workers[i], SIGKILL);
		waitpid(workers[i], &status, 0);
	}
	nworkers = 0;
}

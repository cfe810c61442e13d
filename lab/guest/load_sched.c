// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers for features that the scheduler has on some kernels and machines only: core
 * scheduling, NUMA balancing, schedulers that are BPF programs.
 */
#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* See PR_SCHED_CORE in prctl(2); older kernel headers have none of these constants. */
enum { SCHED_CORE = 62, CORE_GET = 0, CORE_CREATE, CORE_SHARE_TO, CORE_THREAD = 0 };

#define AREA (4 << 20)

static unsigned long cookie(pid_t pid)
{
	unsigned long value = 0;

	if (prctl(SCHED_CORE, CORE_GET, pid, CORE_THREAD, &value) && errno != ENODEV)
		wrong("cannot read the cookie of a task: %s", strerror(errno));
	return value;
}

static pid_t partner(void)
{
	pid_t pid = child();

	while (!pid) {
		work_rounds(10000);
		wait_ms(1);
	}
	return pid;
}

/*
 * Two tasks have the same cookie: while one of these tasks runs on a core, no CPU of the core
 * runs a task that has another cookie, or none. While no core has two CPUs online, the kernel
 * gives no cookies, but returns ENODEV.
 */
static void cookies(int which)
{
	pid_t pid = partner();

	(void)which;
	while (!stopping()) {
		if (!prctl(SCHED_CORE, CORE_CREATE, 0, CORE_THREAD, 0)) {
			unsigned long mine = cookie(0);
			int err = prctl(SCHED_CORE, CORE_SHARE_TO, pid, CORE_THREAD, 0) ? errno : 0;
			unsigned long theirs = cookie(pid);

			if (err && err != ENODEV)
				wrong("cannot share a cookie: %s", strerror(err));
			/* A cookie reads as 0 while the kernel gives none. */
			if (!err && mine && theirs && theirs != mine)
				wrong("the partner has the cookie %lx, not %lx, which was shared",
				      theirs, mine);
		} else if (errno != ENODEV) {
			wrong("cannot create a cookie: %s", strerror(errno));
		}
		work_rounds(20000);
		wait_ms(draw(3));
		once_round();
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool has_cookies(void)
{
	unsigned long value;

	return !prctl(SCHED_CORE, CORE_GET, 0, CORE_THREAD, &value);
}

/* A task moves between CPUs of all NUMA nodes, so that NUMA balancing moves its memory. */
static void nodes(int which)
{
	uint64_t seed = (uint64_t)which << 32;
	void *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		wrong("mmap: %s", strerror(errno));
	fill(area, AREA, seed);
	while (!stopping()) {
		int err = affine((int)draw(load_cpus + 1) - 1);

		if (err && err != -EINVAL)
			wrong("affinity: %s", strerror(-err));
		if (!filled(area, AREA, seed))
			wrong("memory does not hold what was written");
		fill(area, AREA, ++seed);
		once_round();
	}
}

static bool balances_nodes(void)
{
	return !access("/sys/devices/system/node/node1", F_OK) &&
	       !write_text("/proc/sys/kernel/numa_balancing", "1");
}

static const char *const programs[] = { "/bin/scx_simple", "/bin/scx_qmap" };

/*
 * Starts @program, which loads a scheduler, and which writes to @said why the kernel has
 * unloaded the scheduler.
 */
static pid_t start_scheduler(const char *program, int said)
{
	pid_t pid = child();

	if (!pid) {
		int nothing = open("/dev/null", O_WRONLY);

		dup2(nothing, STDOUT_FILENO);
		dup2(said, STDERR_FILENO);
		execl(program, program, NULL);
		_exit(127);
	}
	return pid;
}

/*
 * Reads what @program, which has ended with @status, has written to @said. An error or a stall ends
 * this worker. SIGINT kills a program that does not wait for SIGINT yet, which is no failure.
 */
static void read_reasons(const char *program, int status, int said)
{
	static const char *const bad[] = { "runtime error", "scx_bpf_error", "stall" };
	char text[4096];
	ssize_t n = pread(said, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = 0;
	if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT))
		wrong("%s ended with wait status %#x: %s", program, status, text);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (strstr(text, bad[i]))
			wrong("%s: %s", program, strstr(text, bad[i]));
}

/*
 * A scheduler is loaded, schedules all tasks, and is unloaded, again and again. If a scheduler has
 * no callback for a CPU that comes or goes, the kernel unloads the scheduler whenever a CPU does
 * so, and the program then loads the scheduler again.
 */
static void schedulers(int which)
{
	(void)which;
	for (unsigned int i = 0; !stopping(); i++) {
		const char *program = programs[i % ARRAY_SIZE(programs)];
		int status, said = open("/tmp", O_TMPFILE | O_RDWR, 0600);
		pid_t pid;

		if (said < 0)
			wrong("cannot make a file in /tmp: %s", strerror(errno));
		pid = start_scheduler(program, said);
		wait_ms(500 + draw(2000));
		kill(pid, SIGINT);
		if (waitpid(pid, &status, 0) != pid)
			wrong("cannot wait for %s: %s", program, strerror(errno));
		read_reasons(program, status, said);
		close(said);
		once_round();
	}
}

static bool has_schedulers(void)
{
	return !access(programs[0], X_OK);
}

const struct worker sched_workers[] = {
	{ "cookie", 3, cookies, has_cookies },
	{ "node", 2, nodes, balances_nodes },
	{ "scheduler", 1, schedulers, has_schedulers },
	{ NULL, 0, NULL, NULL },
};

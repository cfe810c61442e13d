// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests what a pause of a CPU (see pause.h) takes from a task, a timer and a counter that use the
 * CPU before the pause.
 * The pause takes nothing if
 *	affinity	a task that asked for this CPU only, and runs now and then, has that
 *			affinity again when the CPU is back
 *	timer		a timer that is due in the pause wakes this CPU
 *	counter		a perf event of this CPU goes on counting when the CPU is back
 */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/children.h"
#include "lib/perf.h"
#include "pause.h"
#include "tracing.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPIRY TRACE_DIR "events/timer/hrtimer_expire_entry/enable"
#define DUE_MS 200
#define PAUSE_MS 400

static pid_t inhabitant(int cpu)
{
	pid_t pid = fork_mortal();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		pin_to(cpu);
		for (;;)
			wait_ms(20);
	}
	return pid;
}

static bool asks_for(pid_t pid, int cpu)
{
	cpu_set_t found;

	if (sched_getaffinity(pid, sizeof(found), &found))
		die("affinity: %s", strerror(errno));
	return CPU_COUNT(&found) == 1 && CPU_ISSET(cpu, &found);
}

static int counter_of(int cpu)
{
	int fd = event_open_software(PERF_COUNT_SW_CPU_CLOCK, cpu);

	if (fd < 0)
		die("no perf event: %s", strerror(-fd));
	return fd;
}

static uint64_t count_of(int fd)
{
	uint64_t value = 0;
	ssize_t n = read(fd, &value, sizeof(value));

	/* The kernel answers end of file for an event in an error state. */
	return n == sizeof(value) ? value : 0;
}

static bool goes_on(int fd)
{
	uint64_t before = count_of(fd);

	wait_ms(10);
	return count_of(fd) > before;
}

static int timer_on(int cpu)
{
	struct itimerspec due = { .it_value = { 0, DUE_MS * 1000000 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	pin_to(cpu);
	if (fd < 0 || timerfd_settime(fd, 0, &due, NULL))
		die("no timer: %s", strerror(errno));
	pin_to(0);
	return fd;
}

static bool expired_on(int cpu)
{
	static char text[1 << 18];
	char path[128];

	snprintf(path, sizeof(path), TRACE_DIR "per_cpu/cpu%d/trace", cpu);
	if (read_text(path, text, sizeof(text)) < 0)
		die("cannot read %s", path);
	return strstr(text, "function=timerfd_tmrproc");
}

void pause_takes(const struct pause *p)
{
	int cpu = p->cpus[0], counter = counter_of(cpu), timer;
	pid_t pid = inhabitant(cpu);
	bool here, affinity;
	uint64_t times;

	wait_ms(50);
	if (!asks_for(pid, cpu) || !goes_on(counter))
		die("no task is pinned to CPU %d, or the perf event of the CPU does not count", cpu);
	must_write(EXPIRY, "1");
	timer = timer_on(cpu);
	tracing_on();
	pause_request(p, true);
	wait_ms(PAUSE_MS);
	tracing_off();
	pause_request(p, false);
	must_write(EXPIRY, "0");
	if (read(timer, &times, sizeof(times)) != sizeof(times) || times != 1)
		die("the timer has not expired");
	here = expired_on(cpu);
	affinity = asks_for(pid, cpu);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	emit("{\"taken\":\"%s\",\"affinity\":%s,\"timer\":%s,\"counter\":%s}", way_names[p->way],
	     affinity ? "false" : "true", here ? "false" : "true",
	     goes_on(counter) ? "false" : "true");
	close(timer);
	close(counter);
}

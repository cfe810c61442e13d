// SPDX-License-Identifier: GPL-2.0-only
/*
 * Brings CPUs online and takes CPUs offline by a write of this program or by the guest
 * agent, or has the host take CPUs out that are online.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/online.h"
#include "lib/soon.h"
#include "served.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define PATIENCE_MS 120000	/* how long to wait for the host or the agent */

const char *const way_names[WAYS] = { "file", "agent", "host" };

static const char *online_file(int cpu)
{
	static char path[ONLINE_PATH_MAX];

	return online_path(cpu, path);
}

/*
 * Returns '1' if the CPU is online, '0' if it is offline, or 0 if there is no such CPU. If a
 * request is just changing the CPU, the read waits until the change has ended.
 */
static char state(int cpu)
{
	char text[8];

	return read_text(online_file(cpu), text, sizeof(text)) > 0 ? text[0] : 0;
}

static void wait_present(int cpu, bool wish)
{
	if (!soon(cpu_is_movable(cpu) == wish, PATIENCE_MS))
		die("the host did not %s CPU %d", wish ? "add" : "eject", cpu);
}

void slot_add(int cpu)
{
	emit("{\"slot\":\"add %d\"}", cpu);
	wait_present(cpu, true);
}

void slot_eject(int cpu)
{
	emit("{\"slot\":\"eject %d\"}", cpu);
	wait_present(cpu, false);
}

static struct change by_file(int cpu, bool online)
{
	struct change change = { .begin = now_ns() };
	int err = cpu_write(cpu, online);

	if (err)
		die("CPU %d: cannot write %d to its file online: %s", cpu, online, strerror(-err));
	change.end = now_ns();
	return change;
}

/*
 * With @wish this task runs before all normal tasks from now on, so that the time at
 * which the task reads an event is nearly the time of the event. Without @wish this task becomes a
 * normal task again.
 */
static void hurry(bool wish)
{
	struct sched_param param = { .sched_priority = wish };
	int err = pthread_setschedparam(pthread_self(), wish ? SCHED_FIFO : SCHED_OTHER, &param);

	if (err)
		die("cannot run before other tasks: %s", strerror(err));
}

/*
 * The agent opens cpuN/online, writes to the file if the CPU is not yet as it should be,
 * and closes the file. The change begins with the inotify event of the open, and ends with
 * the next event, of the write or of the close.
 */
static struct change by_agent(int cpu, bool online)
{
	struct change change = { 0 };
	int fd = inotify_init1(IN_CLOEXEC);

	if (fd < 0 || inotify_add_watch(fd, online_file(cpu), IN_OPEN | IN_MODIFY | IN_CLOSE_WRITE) < 0)
		die("cannot watch CPU %d: %s", cpu, strerror(errno));
	hurry(true);
	emit("{\"vcpu\":\"%s %d\"}", online ? "online" : "offline", cpu);
	while (!change.end) {
		struct pollfd one = { .fd = fd, .events = POLLIN };
		struct inotify_event event;

		if (poll(&one, 1, PATIENCE_MS) != 1)
			die("the agent did not set CPU %d", cpu);
		if (read(fd, &event, sizeof(event)) != sizeof(event))
			die("no event of CPU %d: %s", cpu, strerror(errno));
		if (event.mask & IN_OPEN)
			change.begin = now_ns();
		else if (change.begin)
			change.end = now_ns();
	}
	hurry(false);
	close(fd);
	if (state(cpu) != '0' + online)
		die("CPU %d is not %s after the agent's write", cpu, online ? "online" : "offline");
	return change;
}

/*
 * Begin and end of the change are known to about a millisecond: the change begins when the CPU
 * was last seen online, and ends when the CPU was first seen offline.
 */
static struct change by_host(int cpu)
{
	struct change change = { .begin = now_ns() };
	int64_t limit = change.begin + PATIENCE_MS * 1000000LL;

	emit("{\"slot\":\"eject %d\"}", cpu);
	while (state(cpu) == '1') {
		change.begin = now_ns();
		if (change.begin > limit)
			die("the host did not eject CPU %d", cpu);
		wait_ms(1);
	}
	change.end = now_ns();
	wait_present(cpu, false);
	return change;
}

struct change bring(int cpu, enum way way)
{
	/* The host can add a CPU, but with BY_HOST this program brings the CPU online. */
	return way == BY_AGENT ? by_agent(cpu, true) : by_file(cpu, true);
}

struct change take(int cpu, enum way way)
{
	if (way == BY_HOST)
		return by_host(cpu);
	return way == BY_AGENT ? by_agent(cpu, false) : by_file(cpu, false);
}

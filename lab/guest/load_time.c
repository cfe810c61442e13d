// SPDX-License-Identifier: GPL-2.0-only
/* Workers that wait for timers: no timer may be lost or early. */
#define _GNU_SOURCE
#include "load.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define TIMERS 8
#define LATE_NS 20000000000LL	/* a timer that is later has failed: no request takes as long */

static void sleeper(int which)
{
	while (!stopping()) {
		long ms = 1 + draw(4 + 8 * which);
		int64_t start = now_ns(), slept;

		wait_ms(ms);
		slept = now_ns() - start;
		if (slept < ms * 1000000)
			wrong("slept only %lld ns of %ld ms", (long long)slept, ms);
		if (slept > ms * 1000000 + LATE_NS)
			wrong("slept %lld ns instead of %ld ms", (long long)slept, ms);
		once_round();
	}
}

/* Interval timers: each must fire just once for each interval that has passed. */
static void intervals(int which)
{
	uint64_t fired[TIMERS] = { 0 };
	struct pollfd polls[TIMERS];
	int64_t earliest[TIMERS], latest[TIMERS];	/* bounds of each start */

	(void)which;
	for (int i = 0; i < TIMERS; i++) {
		struct itimerspec each = { { 0, (i + 2) * 1100000 }, { 0, (i + 2) * 1100000 } };

		polls[i].fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		polls[i].events = POLLIN;
		earliest[i] = now_ns();
		if (polls[i].fd < 0 || timerfd_settime(polls[i].fd, 0, &each, NULL))
			wrong("timer: %s", strerror(errno));
		latest[i] = now_ns();
	}
	while (!stopping()) {
		int n = poll(polls, TIMERS, LATE_NS / 1000000);

		if (n <= 0)
			wrong("no timer fires");
		for (int i = 0; i < TIMERS; i++) {
			uint64_t times;

			if (polls[i].revents && read(polls[i].fd, &times, sizeof(times)) > 0)
				fired[i] += times;
		}
		once_round();
	}
	for (int i = 0; i < TIMERS; i++) {
		int64_t interval = (i + 2) * 1100000, before, least, most;

		/*
		 * An interval that the timer counts late is in a later read; a lost
		 * interval is in no read. A read between the earliest and the latest
		 * end of the next interval cannot show that an interval was lost,
		 * because the next interval may have been counted in place of the lost
		 * interval. So the worker waits longer before each read, to make few
		 * such reads.
		 */
		for (long ms = 1; ; ms *= 2) {
			uint64_t times = 0;

			before = now_ns();
			if (read(polls[i].fd, &times, sizeof(times)) < 0 && errno != EAGAIN)
				wrong("timer: %s", strerror(errno));
			fired[i] += times;
			least = (before - latest[i]) / interval;
			most = (now_ns() - earliest[i]) / interval;
			if ((int64_t)fired[i] >= least || ms > 1000)
				break;
			wait_ms(ms);
		}
		if ((int64_t)fired[i] < least || (int64_t)fired[i] > most)
			wrong("timer %d fired %lld times, not %lld to %lld", i,
			      (long long)fired[i], (long long)least, (long long)most);
	}
}

/* A POSIX timer that sends one signal each time it is set. */
static void shots(int which)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct timespec late = { LATE_NS / 1000000000, 0 };
	sigset_t set;
	timer_t timer;

	(void)which;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		wrong("timer: %s", strerror(errno));
	while (!stopping()) {
		struct itimerspec once = { { 0, 0 }, { 0, 1 + draw(5000000) } };

		if (timer_settime(timer, 0, &once, NULL))
			wrong("timer: %s", strerror(errno));
		if (sigtimedwait(&set, NULL, &late) != SIGUSR1)
			wrong("a timer did not fire");
		once_round();
	}
}

/* poll() without files, only with a timeout. */
static void timeouts(int which)
{
	(void)which;
	while (!stopping()) {
		int ms = 1 + draw(12);
		int64_t start = now_ns();

		if (poll(NULL, 0, ms))
			wrong("poll: %s", strerror(errno));
		if (now_ns() - start < ms * 1000000LL)
			wrong("a timeout came early");
		once_round();
	}
}

const struct worker time_workers[] = {
	{ "sleeper", 4, sleeper, NULL },
	{ "interval", 1, intervals, NULL },
	{ "shot", 2, shots, NULL },
	{ "timeout", 1, timeouts, NULL },
	{ NULL, 0, NULL, NULL },
};

/* SPDX-License-Identifier: GPL-2.0-only */
/* Clocks, and waiting. */
#ifndef SELFTESTS_BOLT_LIB_CLOCKS_H
#define SELFTESTS_BOLT_LIB_CLOCKS_H

#include <errno.h>
#include <time.h>

/* Returns the time of @clock in ns, or -1 if the kernel has no such clock. */
static inline long long clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return -1;
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static inline long long now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline void wait_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static inline void wait_ms(long ms)
{
	wait_us(ms * 1000);
}

/* Sleeps until @clock shows @ns. */
static inline void wait_until(clockid_t clock, long long ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	while (clock_nanosleep(clock, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* Keeps the CPU busy until @clock has gone on by @ns. */
static inline void burn_ns(clockid_t clock, long long ns)
{
	long long begin = clock_ns(clock);

	while (clock_ns(clock) - begin < ns)
		;
}

#endif /* SELFTESTS_BOLT_LIB_CLOCKS_H */

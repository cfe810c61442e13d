/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers that a test takes from the environment: counts, times and seeds of random numbers. */
#ifndef SELFTESTS_BOLT_ENV_H
#define SELFTESTS_BOLT_ENV_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../kselftest.h"

/*
 * Returns the value of @name, or @usual if it is not set. Ends the test if the value is
 * no number.
 */
static inline unsigned long long env_number(const char *name, unsigned long long usual)
{
	const char *text = getenv(name);
	unsigned long long number;
	char *end;

	if (!text)
		return usual;
	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		ksft_exit_fail_msg("%s is not a number: %s\n", name, text);
	return number;
}

/*
 * Returns a seed from the environment, or else from the clock, and prints the seed, which
 * is never 0.
 */
static inline unsigned long long env_seed(void)
{
	unsigned long long seed;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = env_number("BOLT_SEED", now.tv_sec * 1000000007ULL + now.tv_nsec);
	seed = seed ?: 1;
	printf("# BOLT_SEED=%llu\n", seed);
	fflush(stdout);
	return seed;
}

#endif /* SELFTESTS_BOLT_ENV_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers that the environment sets: how often, for how long, from which seed. */
#ifndef SELFTESTS_BOLT_ENV_H
#define SELFTESTS_BOLT_ENV_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../kselftest.h"

/* What @name is set to, or @usual if it is not set; any but a number ends the test. */
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

/* A seed from the environment or else from the clock, never 0; it is printed. */
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

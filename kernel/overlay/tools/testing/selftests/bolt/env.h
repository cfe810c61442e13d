/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a test takes from the environment: counts, times and seeds of random numbers, and the
 * disk and the network card that the test may use.
 */
#ifndef SELFTESTS_BOLT_ENV_H
#define SELFTESTS_BOLT_ENV_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../kselftest.h"

/*
 * Returns the value of the environment variable @name, or @usual if @name is not set.
 * Ends the test if the value is no number, or is negative.
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

/* Returns why there is no disk for a test to overwrite, or NULL if BOLT_DISK names one. */
static inline const char *no_disk(void)
{
	return getenv("BOLT_DISK") ? NULL :
	       "needs a disk that may be overwritten: BOLT_DISK names it, such as vdb";
}

static inline const char *disk_name(void)
{
	return getenv("BOLT_DISK") ?: "";
}

static inline const char *disk_path(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "/dev/%.100s", disk_name());
	return path;
}

/*
 * Opens the disk for reading and writing; @flags are further flags of open(). Returns the
 * file descriptor, or -errno: -EBUSY if the disk is in use, for instance mounted, or open in
 * another test.
 */
static inline int disk_open(int flags)
{
	int fd = open(disk_path(), O_RDWR | O_EXCL | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

/* Returns why there is no network card for a test, or NULL if BOLT_NIC names one. */
static inline const char *no_nic(void)
{
	return getenv("BOLT_NIC") ? NULL :
	       "needs a virtio network card that may be set up: BOLT_NIC names it, such as eth1";
}

static inline const char *nic_name(void)
{
	return getenv("BOLT_NIC") ?: "";
}

#endif /* SELFTESTS_BOLT_ENV_H */

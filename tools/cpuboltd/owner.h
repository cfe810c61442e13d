/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which program has taken each CPU: the daemon, or another one
 *
 * A CPU that is offline without the daemon's doing belongs to another writer, and stays offline. A CPU
 * that another writer brings back is left alone for a while, twice as long each time.
 */
#ifndef OWNER_H
#define OWNER_H

#include <stdint.h>

#include "machine.h"

struct owner {
	struct machine *machine;
	cpu_set_t *present;
	cpu_set_t *online;	/* as the daemon knows it */
	cpu_set_t *taken;	/* offline, and the daemon's */
	cpu_set_t *foreign;	/* offline, and not the daemon's */
	cpu_set_t *scratch;
	char *texts[3];		/* what sysfs said of online, present and isolated CPUs last */
	struct backoff {
		uint64_t until_us;
		unsigned int times;
		bool failed;	/* a request for the CPU failed; otherwise another writer changed it */
	} *backoffs;
	unsigned int backoff_s;	/* how long a CPU is left alone the first time */
};

/** owner_begin() - take the CPUs that are online now for those found online; 0 or a negative errno */
int owner_begin(struct owner *owner, struct machine *machine, unsigned int backoff_s);

void owner_end(struct owner *owner);

/**
 * owner_look() - look at the machine, and find what others have changed
 * @report: called for each such CPU; @online: it has come, @taken: it was the daemon's
 *
 * Return: how many CPUs others have changed, or a negative errno.
 */
int owner_look(struct owner *owner, uint64_t now_us,
	       void (*report)(void *data, unsigned int cpu, bool online, bool taken), void *data);

/**
 * owner_changed() - the daemon has asked for @cpus to be @online: look what has become of that
 * @done: the kernel said that it was done; a CPU that is not so has been changed by another writer
 *
 * Return: how many CPUs others have changed meanwhile, or a negative errno.
 */
int owner_changed(struct owner *owner, const cpu_set_t *cpus, bool online, bool done,
		  uint64_t now_us);

/** owner_yield() - leave @cpu as it is for a while; @failed: because a request failed */
void owner_yield(struct owner *owner, unsigned int cpu, bool failed, uint64_t now_us);

/** owner_waits() - seconds for which @cpu still is left as it is, 0 if it is not */
unsigned int owner_waits(const struct owner *owner, unsigned int cpu, uint64_t now_us);

#endif /* OWNER_H */

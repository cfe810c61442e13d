/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which program has taken each CPU: the daemon, or another program
 *
 * A CPU that is offline without the daemon's doing belongs to another program, and stays offline.
 * A CPU that the daemon has taken, and that another program brings back, is left alone for a while,
 * and so is a CPU that has failed in a request: each time for twice as long as the time before, up
 * to an hour, but only as long as the first time if more time has passed since the end of the last
 * wait than the new wait would take.
 */
#ifndef OWNER_H
#define OWNER_H

#include <stdint.h>

#include "machine.h"

#define OWNER_TEXTS	3	/* files in which a change of CPUs shows */

struct owner {
	struct machine *machine;
	cpu_set_t *present;
	cpu_set_t *online;	/* CPUs that are online, as far as the daemon knows */
	cpu_set_t *taken;	/* CPUs that are offline because of the daemon */
	cpu_set_t *foreign;	/* CPUs that are offline for another reason */
	cpu_set_t *scratch;
	char *texts[OWNER_TEXTS];	/* what sysfs said of the CPUs last */
	struct backoff {
		uint64_t until_us;
		unsigned int times;
		bool failed;	/* a request failed; if false, another program changed the CPU */
	} *backoffs;
	unsigned int backoff_s;	/* how long a CPU is left alone the first time */
};

/** owner_begin() - note which CPUs are online and which are foreign; 0 or a negative errno */
int owner_begin(struct owner *owner, struct machine *machine, unsigned int backoff_s);

void owner_end(struct owner *owner);

/**
 * Another program has changed @cpu
 * @online: the CPU came; if false, the CPU went
 * @taken: the CPU came, and the daemon had taken the CPU before
 */
typedef void owner_report(void *data, unsigned int cpu, bool online, bool taken);

/**
 * owner_look() - look at the machine, and find CPUs that other programs have changed
 * @report: called for each CPU that came or went; may be NULL
 *
 * Return: the number of CPUs that came or went, plus the number of CPUs that were unplugged after
 * the daemon had taken them; or a negative errno.
 */
int owner_look(struct owner *owner, uint64_t now_us, owner_report *report, void *data);

/**
 * owner_changed() - look what has become of the daemon's request that @cpus be @online
 * @done: the request succeeded; if a CPU then is not as @online says, another program has changed
 *	  the CPU
 * @report: called for each such CPU; may be NULL
 *
 * Return: 0 or a negative errno.
 */
int owner_changed(struct owner *owner, const cpu_set_t *cpus, bool online, bool done,
		  uint64_t now_us, owner_report *report, void *data);

/** owner_yield() - leave @cpu as it is for a while; @failed: because a request failed */
void owner_yield(struct owner *owner, unsigned int cpu, bool failed, uint64_t now_us);

/** owner_waits() - for how many seconds @cpu still is left as it is, or 0 */
unsigned int owner_waits(const struct owner *owner, unsigned int cpu, uint64_t now_us);

#endif /* OWNER_H */

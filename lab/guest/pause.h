/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ways to pause CPUs, which means to keep tasks away from the CPUs. ONLINE does nothing: the
 * CPU stays online and is only idle. ISOLATED makes an isolated cpuset partition. All other
 * ways take the CPUs offline: NATIVE and EXPEDITED with Bolt disabled or on a kernel without
 * Bolt, EXPEDITED with rcu_expedited set; COLD and WARM with Bolt enabled, and with the value
 * "cold" or "warm" in Bolt's file park.
 */
#ifndef BOLT_PAUSE_H
#define BOLT_PAUSE_H

#include <stdbool.h>

enum way { ONLINE, ISOLATED, NATIVE, EXPEDITED, COLD, WARM, WAYS };

/* CPUs that are paused together: @list as a cpulist, @cpus as an array of @n numbers. */
struct pause {
	enum way way;
	const char *list;
	const int *cpus;
	int n;
};

extern const char *const way_names[WAYS];

/* Tells whether @way takes CPUs offline. */
bool way_is_offline(enum way way);

/* Called before the first request and after the last request of a way. */
void pause_prepare(const struct pause *p);
void pause_finish(const struct pause *p);

/* Makes the request and does nothing else, so that a caller can time the request. */
void pause_request(const struct pause *p, bool away);

/* Dies unless the kernel has done what was asked for. */
void pause_check(const struct pause *p, bool away);

/* Measures @n times how long CPU p->cpus[0] takes to be free and to come back (inout.c). */
void pause_times(const struct pause *p, int n);

/* Reports what a pause of CPU p->cpus[0] takes from its tasks, timers and counters (taken.c). */
void pause_takes(const struct pause *p);

#endif

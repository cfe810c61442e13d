/* SPDX-License-Identifier: GPL-2.0-only */
/* What the source files of the program "measure" share. All samples are in nanoseconds. */
#ifndef BOLT_MEASURE_H
#define BOLT_MEASURE_H

#include "guest.h"

#define MAX_SIZES 16

struct measure {
	int cpus[MAX_CPUS];	/* go offline in this order, come online in reverse order */
	int ncpus;
	int sizes[MAX_SIZES];	/* for how many CPUs the kind "curve" asks */
	int nsizes;
	int n, warmup;		/* pairs that count, and pairs before these */
	long gap_ms;		/* the least pause between two pairs */
	long away_ms;		/* time offline, in the kind "away" */
	const char *suffix;	/* end of the case's name: "1", "1_busy", "_seq" */
};

/*
 * request() takes all CPUs of the list offline, or brings them online, one after the other;
 * request_bulk() does so in one request. Both functions return how long that took, in ns
 * (measure.c).
 */
int64_t request(const struct measure *m, bool online);
int64_t request_bulk(const struct measure *m, bool online);

/* Start, gather and stop load that runs on the CPUs of a measurement (busy.c). */
void busy_start(const struct measure *m);
void busy_gather(const struct measure *m);
void busy_stop(void);

/*
 * The lab's module ballast: makes CPUs use its counters and caches, and checks the counters
 * (ballast.c).
 */
void ballast_charge(const struct measure *m);
void ballast_check(void);

/* Configure, raise and check interrupts of the lab's module vectors (vectors.c). */
void vectors_keep(const char *list);
void vectors_gather(int cpu);
void vectors_raise(void);
void vectors_check(void);

/* Measures how long suspend takes to take CPUs offline and online (freeze.c). */
void freezes(const struct measure *m);

/* Makes suspend return when all CPUs but the first have gone (freeze.c). */
void suspend_stops_early(void);

/* Measure for how long batches and suspend stop the machine (stops.c). */
void stops(const struct measure *m);
void stops_suspend(const struct measure *m);

/* Measures by ftrace when a CPU is dead, and when its first task runs (moment.c). */
void moments(const struct measure *m);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* The measuring program's parts. Every kind reports samples of nanoseconds. */
#ifndef BOLT_MEASURE_H
#define BOLT_MEASURE_H

#include "guest.h"

#define MAX_SIZES 16

struct measure {
	int cpus[MAX_CPUS];	/* taken down in this order, brought up in reverse */
	int ncpus;
	int sizes[MAX_SIZES];	/* how many of them a request has (curve) */
	int nsizes;
	int n, warmup;		/* pairs counted, pairs thrown away before them */
	long gap_ms;		/* between two requests */
	long away_ms;		/* offline, in the kind "away" */
	const char *suffix;	/* of the case's name: "1", "1_busy", "_seq" */
};

/* Waits between pair @i and the next, and between the halves of pair @i. */
void gap(const struct measure *m, int i);
void turn(int i);

/* Load that lives on the CPUs of a measurement (busy.c). */
void busy_start(const struct measure *m);
void busy_gather(const struct measure *m);
void busy_stop(void);

/* The lab's module: what it holds is right, and the CPUs have a share in it (ballast.c). */
void ballast_charge(const struct measure *m);
void ballast_check(void);

/* Interrupts of the lab's module, configured for a CPU (vectors.c). */
void vectors_keep(const char *list);
void vectors_gather(int cpu);
void vectors_raise(void);
void vectors_check(void);

/* Suspend's share in taking CPUs down and up (freeze.c). */
void freezes(const struct measure *m);

/* Times seen through ftrace: "dead" and "first task" (moment.c). */
void moments(const struct measure *m);

#endif

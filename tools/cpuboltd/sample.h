/* SPDX-License-Identifier: GPL-2.0-only */
/* Measures what policies need: /proc/stat and /proc/pressure/cpu */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdint.h>

#include "machine.h"

/** What /proc has said last time; all zero before the first time, except @ticks */
struct counters {
	uint64_t at_us;			/* CLOCK_MONOTONIC */
	unsigned long long *busy;	/* ticks of each CPU */
	unsigned long long *steal;
	unsigned long long stalled_us;	/* total of the line "some" of /proc/pressure/cpu */
	unsigned long ticks;		/* how many ticks a second has */
};

/** counters_init() - set up counters; 0 or -ENOMEM */
int counters_init(const struct machine *machine, struct counters *counters);

void counters_free(struct counters *counters);

/**
 * sample_take() - measure what happened since the last call
 * @inputs: online and usable are read, runnable and pressure are overwritten
 * @loads: overwritten; 0 for CPUs that are not in inputs->online
 *
 * After the first call @loads and pressure are 0. Return: 0 or a negative errno: one of open(2) or
 * read(2) if /proc/stat cannot be read, -EINVAL if the file cannot be understood, -ENOMEM.
 */
int sample_take(const struct machine *machine, struct counters *counters, uint64_t now_us,
		struct inputs *inputs, struct load *loads);

/** sample_parse_stat() - read counters from @text of /proc/stat; 0, or -EINVAL if there are none */
int sample_parse_stat(const char *text, unsigned int count, unsigned long long *busy,
		      unsigned long long *steal, unsigned int *runnable);

/** sample_parse_pressure() - read the total of the line "some" into @stalled_us; 0 or -EINVAL */
int sample_parse_pressure(const char *text, unsigned long long *stalled_us);

#endif /* SAMPLE_H */

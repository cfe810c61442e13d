/* SPDX-License-Identifier: GPL-2.0-only */
/* The power that a machine measures itself while the CPUs of a bench are away, or are online */
#ifndef BENCH_ENERGY_H
#define BENCH_ENERGY_H

#include "bench_data.h"
#include "command.h"
#include "energy_meter.h"

/** Waits of one kind: how many, and the sum, the least and the most of their watts */
struct bench_watts {
	unsigned long count;
	double sum, least, most;
};

/*
 * Power after the requests of one size in one variant: with the CPUs away, and with the CPUs online
 */
struct bench_power {
	struct bench_watts away, there;
};

/** bench_energy_open() - find meters; an exit code, other than EXIT_DONE after a message */
int bench_energy_open(const struct invocation *call, struct energy_meters *meters);

/** bench_energy_read() - read the meters before a wait; an exit code, as bench_energy_open() */
int bench_energy_read(const struct energy_meters *meters, struct energy_reading *reading);

/** bench_energy_end() - read the meters after a wait, and add the wait to @watts; an exit code */
int bench_energy_end(const struct energy_meters *meters, const struct energy_reading *before,
		     struct bench_watts *watts);

/**
 * bench_energy_print() - print a table; an exit code
 * @batches: how many CPUs a request is for: @count numbers
 * @powers: for each of these numbers, the powers of all variants
 */
int bench_energy_print(const struct energy_meters *meters, const unsigned int *batches,
		       size_t count, struct bench_power (*powers)[BENCH_VARIANTS]);

#endif /* BENCH_ENERGY_H */

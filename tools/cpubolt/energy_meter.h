/* SPDX-License-Identifier: GPL-2.0-only */
/* The power that a machine measures itself: RAPL's counters, or the gauges of batteries */
#ifndef ENERGY_METER_H
#define ENERGY_METER_H

#include <stddef.h>
#include <stdint.h>

#define ENERGY_MOST_METERS	64

enum energy_meter_kind {
	METER_RAPL,		/* energy of packages and their memory */
	METER_BATTERY		/* power of the whole machine, now */
};

/** All meters of one kind that a machine has */
struct energy_meters {
	enum energy_meter_kind kind;
	const char *root;		/* stands for "/" */
	size_t count;
	char *folders[ENERGY_MOST_METERS];
	char *names[ENERGY_MOST_METERS];	/* "package-0", "dram", "BAT0" */
	uint64_t range[ENERGY_MOST_METERS];	/* where a counter begins anew, in microjoules */
};

/** What all meters have said at one time */
struct energy_reading {
	uint64_t at_ns;				/* CLOCK_MONOTONIC */
	uint64_t values[ENERGY_MOST_METERS];	/* microjoules, or microwatts of a battery */
};

/**
 * energy_meters_open() - find the meters of this machine
 * @root: stands for "/"; "" is the running system
 *
 * Meters are RAPL's packages with their memory, or else all batteries that are being discharged.
 *
 * Return: 0; -ENOENT without a meter; -EACCES if the user may not read RAPL's counters; -ENOMEM.
 * @meters is to be closed in any case.
 */
int energy_meters_open(const char *root, struct energy_meters *meters);

void energy_meters_close(struct energy_meters *meters);

/** energy_meters_read() - read all meters; 0, or a negative errno if a meter does not answer */
int energy_meters_read(const struct energy_meters *meters, struct energy_reading *reading);

/**
 * energy_watts() - watts of all meters together, on average between two readings
 *
 * A counter may have begun anew once between the readings. A battery reports its power at each
 * reading; the average of these two powers counts.
 */
double energy_watts(const struct energy_meters *meters, const struct energy_reading *before,
		    const struct energy_reading *after);

#endif /* ENERGY_METER_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the last request for each CPU took, as cpubolt itself has measured
 *
 * The subcommands online, offline and set write to /run/cpubolt/requests a line for
 * the CPUs that a request has brought online, and a line for those that it has taken
 * offline: "SECONDS online|offline batch|native NANOSECONDS CPULIST", SECONDS being
 * CLOCK_BOOTTIME. The oldest line comes first. A file of more than 64 KiB is
 * emptied before the next line.
 */
#ifndef LAST_H
#define LAST_H

#include "command.h"

/** The last request that changed a CPU; ns is 0 if no such request is recorded */
struct last {
	unsigned long long ns;
	bool online;		/* the CPU came online; otherwise it went offline */
	bool batch;		/* one write to bolt/, perhaps for several CPUs */
};

/**
 * last_record() - remember a request
 * @online: whether @cpus came online; otherwise they went offline
 * @cpus: the CPUs that the request has changed in this way
 *
 * This function reports no errors, because the request has been done, with or
 * without a record.
 */
void last_record(const struct invocation *call, bool online, const cpu_set_t *cpus,
		 const struct cpubolt_result *result);

/** last_read() - by CPU number, the last request for the CPU; to be freed, NULL without memory */
struct last *last_read(const struct invocation *call);

#endif /* LAST_H */

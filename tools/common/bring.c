// SPDX-License-Identifier: GPL-2.0-only
/* Brings back CPUs that a program has taken offline, see bring.h */
#include <errno.h>
#include <string.h>

#include "bring.h"

#define MOST_BUSY	8	/* requests; while hotplug is disabled, each waits up to 0.6 s */

bool bring_is_busy(const struct cpubolt_result *result)
{
	return result->error == EBUSY &&
	       (!*result->state || !strcmp(result->state, "admission"));
}

int bring_cpus(struct cpubolt *handle, const cpu_set_t *cpus, unsigned int flags, cpu_set_t *left,
	       struct cpubolt_result *result)
{
	size_t size = cpubolt_set_size(handle);
	cpu_set_t *one = cpubolt_set_new(handle);
	struct cpubolt_result last;
	unsigned int cpu, busy = 0;
	int err;

	if (left)
		CPU_ZERO_S(size, left);
	do {
		err = cpubolt_request(handle, CPUBOLT_BRING_ONLINE, cpus, flags, result);
	} while (err && bring_is_busy(result) && ++busy < MOST_BUSY);
	if (!err || !one) {
		if (err && left)
			CPU_OR_S(size, left, cpus, cpus);
		CPU_FREE(one);
		return err;
	}
	err = 0;
	busy = 0;
	for (cpu = 0; cpu < size * 8; cpu++) {
		if (!CPU_ISSET_S(cpu, size, cpus))
			continue;
		CPU_ZERO_S(size, one);
		CPU_SET_S(cpu, size, one);
		if (busy < MOST_BUSY) {
			cpubolt_request(handle, CPUBOLT_BRING_ONLINE, one, 0, &last);
			busy = bring_is_busy(&last) ? busy + 1 : 0;
		}
		if (!last.error)
			continue;
		*result = last;
		err = -last.error;
		if (left)
			CPU_SET_S(cpu, size, left);
	}
	CPU_FREE(one);
	return err;
}

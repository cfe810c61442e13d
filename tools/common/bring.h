/* SPDX-License-Identifier: GPL-2.0-only */
/* Brings CPUs back that a program has taken offline */
#ifndef BRING_H
#define BRING_H

#include <cpubolt.h>

/**
 * bring_cpus() - bring @cpus online in one request; if that fails, one CPU after the other
 * @flags: of the one request, as for cpubolt_request()
 * @left: overwritten with the CPUs that did not come; may be NULL
 * @result: overwritten with that of the one request or, if a CPU did not come, of the last such CPU
 *
 * One CPU that does not come keeps no other CPU offline.
 *
 * Return: 0 if all CPUs are online, or the negative errno of the last request that failed.
 */
int bring_cpus(struct cpubolt *handle, const cpu_set_t *cpus, unsigned int flags, cpu_set_t *left,
	       struct cpubolt_result *result);

#endif /* BRING_H */

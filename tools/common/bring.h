/* SPDX-License-Identifier: GPL-2.0-only */
/* Brings back CPUs that a program has taken offline */
#ifndef BRING_H
#define BRING_H

#include <cpubolt.h>

/**
 * bring_is_busy() - whether a request failed because CPU hotplug is disabled for a moment
 *
 * In that case the error is EBUSY, and the CPU in @result is not at fault. The answer is true in two
 * other cases, too, because the error is the same: when a request that takes CPUs offline is refused
 * as a CPU has to stay, and, without Bolt, when a callback fails with EBUSY.
 */
bool bring_is_busy(const struct cpubolt_result *result);

/**
 * bring_cpus() - bring @cpus online in one request; if that fails, one CPU after the other
 * @flags: flags of the request for all of @cpus, as for cpubolt_request()
 * @left: overwritten with the CPUs that did not come; may be NULL
 * @result: overwritten with the result of the request for all of @cpus or, if a CPU did not come,
 *	    with the result of the last request for a single CPU that failed
 *
 * A CPU that does not come online does not keep other CPUs offline. While CPU hotplug is disabled,
 * the function tries again, for some seconds in all, and then tries no further CPU.
 *
 * Return: 0 if all CPUs are online, or the negative errno of the last request that failed.
 */
int bring_cpus(struct cpubolt *handle, const cpu_set_t *cpus, unsigned int flags, cpu_set_t *left,
	       struct cpubolt_result *result);

#endif /* BRING_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On which CPUs a hotplug state is up: its startup has completed, and its
 * teardown has not begun.
 *
 * Natively, while a callback runs for a CPU, every other CPU that is online has passed
 * the state of the callback, and no other CPU is between offline and online, so that
 * cpu_online_mask answers the question. (Exceptions are CPUs that a write to
 * cpuN/hotplug/target has left half-way, and CPUs that natively boot together: these run
 * their PREPARE startups before any of them is online.) In a request for several CPUs
 * a callback of one CPU also finds CPUs that are online and whose callback of the same
 * state has not run yet, or has run already on the way down, and CPUs whose startup has
 * completed before any of them is online. The state number of such a CPU does not
 * answer the question either, as it advances before the callback runs.
 *
 * In such a request, the teardown of one CPU may wait for an event for long, although
 * the teardown of another CPU has failed and all CPUs of the request will go back. By
 * cpuhp_refused() the teardown that waits finds out that another callback has failed.
 * On a CPU that goes back because its own callback has failed, a teardown waits as
 * natively, and cpuhp_refused() is false.
 *
 * Without CONFIG_BOLT there are no such requests, and the definitions of this header
 * ask cpu_online_mask, as callbacks do natively; cpuhp_refused() is false.
 */
#ifndef _LINUX_CPUHOTPLUG_STARTED_H
#define _LINUX_CPUHOTPLUG_STARTED_H

#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>

#ifdef CONFIG_BOLT

/**
 * struct cpuhp_started_walk - a walk of for_each_started_cpu()
 * @cpu:	the CPU at which the walk is
 * @state:	the state
 */
struct cpuhp_started_walk {
	int *cpu;
	enum cpuhp_state state;
};

bool cpuhp_started(unsigned int cpu, enum cpuhp_state state);
bool cpuhp_started_next(struct cpuhp_started_walk *walk);
void cpumask_keep_started(struct cpumask *mask, unsigned int cpu,
			  enum cpuhp_state state);
bool cpuhp_refused(void);

static inline struct cpuhp_started_walk
cpuhp_started_first(int *cpu, enum cpuhp_state state)
{
	*cpu = -1;
	return (struct cpuhp_started_walk){ .cpu = cpu, .state = state };
}

/**
 * for_each_started_cpu - walk the CPUs on which a hotplug state is up
 * @cpu:	loop variable, an int
 * @state:	the state
 *
 * Context: as cpuhp_started().
 */
#define for_each_started_cpu(cpu, state)			\
	for (struct cpuhp_started_walk __walk =			\
	     cpuhp_started_first(&(cpu), state);		\
	     cpuhp_started_next(&__walk);)

#else /* !CONFIG_BOLT */

/*
 * These are macros, because an inline function may change the code that GCC makes of
 * its caller.
 */
#define cpuhp_started(cpu, ...) cpu_online(cpu)
#define cpuhp_refused() false
#define for_each_started_cpu(cpu, ...) for_each_online_cpu(cpu)

static __always_inline void cpumask_keep_started(struct cpumask *mask,
						 unsigned int cpu,
						 enum cpuhp_state state)
{
	cpumask_and(mask, mask, cpu_online_mask);
}

#endif /* CONFIG_BOLT */

#endif /* _LINUX_CPUHOTPLUG_STARTED_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that are offline and may keep per-CPU data that their teardown would have
 * drained: pages, slabs, counts. Code that drains or adds up such data walks these
 * CPUs as well as the online ones. Without Bolt there are no such CPUs.
 */
#ifndef _LINUX_CPU_UNDRAINED_H
#define _LINUX_CPU_UNDRAINED_H

#include <linux/cpumask.h>

#ifdef CONFIG_BOLT

extern struct cpumask bolt_undrained_mask;

/* Whether CPUs can keep per-CPU data while they are offline: a constant. */
#define cpus_may_be_undrained() true

/**
 * for_each_undrained_cpu - walk the CPUs that may keep per-CPU data while offline
 * @cpu:	loop variable, an unsigned int
 *
 * A CPU enters bolt_undrained_mask before the first of its teardowns is deferred, and
 * stays in this mask at least until its pending teardowns of the classes BOLT_ASYNC and
 * BOLT_LAZY have all been settled, or the CPU is back in cpu_online_mask. Without the
 * hotplug lock CPUs may come and go during the walk: a CPU of this mask that comes back
 * stays in this mask until the CPU is in cpu_online_mask.
 *
 * Context: any.
 */
#define for_each_undrained_cpu(cpu) for_each_cpu(cpu, &bolt_undrained_mask)

/**
 * for_each_online_or_undrained_cpu - walk the CPUs that may have per-CPU data
 * @cpu:	loop variable, an unsigned int
 *
 * For code that drains or adds up what a CPU keeps while the CPU is parked.
 * Each CPU is walked once. Without the hotplug lock a CPU that comes or goes may
 * be missed, as for_each_online_cpu() may miss such a CPU.
 *
 * Context: any.
 */
#define for_each_online_or_undrained_cpu(cpu) \
	for_each_cpu_or(cpu, &bolt_undrained_mask, cpu_online_mask)

#else /* !CONFIG_BOLT */

#define cpus_may_be_undrained() false
#define for_each_undrained_cpu(cpu) for ((cpu) = 0; 0;)
#define for_each_online_or_undrained_cpu(cpu) for_each_online_cpu(cpu)

#endif /* !CONFIG_BOLT */

#endif /* _LINUX_CPU_UNDRAINED_H */

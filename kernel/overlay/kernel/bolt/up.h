/* SPDX-License-Identifier: GPL-2.0-only */
/* How a request brings its CPUs online, and steps that boot/tree.c and down.c call. */
#ifndef _KERNEL_BOLT_UP_H
#define _KERNEL_BOLT_UP_H

#include <linux/cpuhotplug.h>
#include <linux/jiffies.h>

struct cpumask;

/* How long to wait for a CPU that was woken: as natively on x86; native arm64 has 5 s. */
#define BOLT_ARRIVE_TIMEOUT (10 * HZ)

int bolt_online_batch(const struct cpumask *mask);
void bolt_workqueues_come(const struct cpumask *mask);

void bolt_up_by_tree(int (*tree)(const struct cpumask *mask));
enum cpuhp_state bolt_state_to_restore(unsigned int cpu);
int bolt_prepare_idle(unsigned int cpu);
int bolt_wake_cpu(unsigned int cpu);
int bolt_wait_for_arrival(unsigned int cpu);

#endif /* _KERNEL_BOLT_UP_H */

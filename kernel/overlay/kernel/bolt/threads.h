/* SPDX-License-Identifier: GPL-2.0-only */
/* The hotplug threads of CPUs: starting these threads, and waiting for them. */
#ifndef _KERNEL_BOLT_THREADS_H
#define _KERNEL_BOLT_THREADS_H

#include <linux/cpuhotplug.h>

struct hlist_node;

void bolt_look_out(unsigned int cpu, bool bringup);
int bolt_run_threads(enum cpuhp_state target, bool up);
void __bolt_start_callback(unsigned int cpu, enum cpuhp_state state, bool bringup,
			   struct hlist_node *node);
bool bolt_start_callback(unsigned int cpu, enum cpuhp_state state, bool bringup,
			 struct hlist_node *node);
int bolt_wait_for_callback(unsigned int cpu);

#endif /* _KERNEL_BOLT_THREADS_H */

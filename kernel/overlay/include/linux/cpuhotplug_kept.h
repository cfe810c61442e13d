/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much memory a CPU keeps that the teardown of a hotplug state would free.
 * A CPU may be offline while such a teardown is still pending: a function that
 * is passed to cpuhp_count_kept() counts what the CPU keeps meanwhile.
 */
#ifndef _LINUX_CPUHOTPLUG_KEPT_H
#define _LINUX_CPUHOTPLUG_KEPT_H

struct hlist_node;

/**
 * typedef cpuhp_kept_fn - count what the teardown of a hotplug state would free
 * @cpu:	the CPU, which is offline
 * @node:	the instance of the state, or NULL if the state has no instances
 *
 * Context: any task on any CPU, with the hotplug lock held for reading and
 * cpuhp_state_mutex: no CPU comes or goes, no teardown of the state runs, and no
 * instance is added or removed. May sleep.
 * Return: the bytes.
 */
typedef unsigned long (*cpuhp_kept_fn)(unsigned int cpu, struct hlist_node *node);

#ifdef CONFIG_BOLT
void cpuhp_count_kept(int state, cpuhp_kept_fn kept);
#else
static inline void cpuhp_count_kept(int state, cpuhp_kept_fn kept) { }
#endif

#endif /* _LINUX_CPUHOTPLUG_KEPT_H */

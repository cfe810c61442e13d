/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hotplug states whose startup may run on all CPUs at once. Code calls a function of this
 * header in place of the function of <linux/cpuhotplug.h> that lacks "_parallel" in its
 * name; without CONFIG_BOLT both do the same. See
 * __cpuhp_setup_state_parallel_cpuslocked() for the rules.
 */
#ifndef _LINUX_CPUHOTPLUG_PARALLEL_H
#define _LINUX_CPUHOTPLUG_PARALLEL_H

#include <linux/cpuhotplug.h>

#ifdef CONFIG_BOLT
int __cpuhp_setup_state_parallel(enum cpuhp_state state, const char *name,
				 bool invoke,
				 int (*startup)(unsigned int cpu),
				 int (*teardown)(unsigned int cpu),
				 bool multi_instance);
int __cpuhp_setup_state_parallel_cpuslocked(enum cpuhp_state state,
					    const char *name, bool invoke,
					    int (*startup)(unsigned int cpu),
					    int (*teardown)(unsigned int cpu),
					    bool multi_instance);
int cpuhp_state_add_instance_parallel(enum cpuhp_state state,
				      struct hlist_node *node);
int cpuhp_state_add_instance_parallel_cpuslocked(enum cpuhp_state state,
						 struct hlist_node *node);
#else
#define __cpuhp_setup_state_parallel __cpuhp_setup_state
#define __cpuhp_setup_state_parallel_cpuslocked __cpuhp_setup_state_cpuslocked
#define cpuhp_state_add_instance_parallel cpuhp_state_add_instance
#define cpuhp_state_add_instance_parallel_cpuslocked \
	cpuhp_state_add_instance_cpuslocked
#endif

static inline int cpuhp_setup_state_parallel(enum cpuhp_state state,
					     const char *name,
					     int (*startup)(unsigned int cpu),
					     int (*teardown)(unsigned int cpu))
{
	return __cpuhp_setup_state_parallel(state, name, true, startup,
					    teardown, false);
}

static inline int
cpuhp_setup_state_parallel_cpuslocked(enum cpuhp_state state, const char *name,
				      int (*startup)(unsigned int cpu),
				      int (*teardown)(unsigned int cpu))
{
	return __cpuhp_setup_state_parallel_cpuslocked(state, name, true,
						       startup, teardown,
						       false);
}

static inline int
cpuhp_setup_state_parallel_nocalls(enum cpuhp_state state, const char *name,
				   int (*startup)(unsigned int cpu),
				   int (*teardown)(unsigned int cpu))
{
	return __cpuhp_setup_state_parallel(state, name, false, startup,
					    teardown, false);
}

static inline int
cpuhp_setup_state_parallel_nocalls_cpuslocked(enum cpuhp_state state,
					      const char *name,
					      int (*startup)(unsigned int cpu),
					      int (*teardown)(unsigned int cpu))
{
	return __cpuhp_setup_state_parallel_cpuslocked(state, name, false,
						       startup, teardown,
						       false);
}

static inline int
cpuhp_setup_state_parallel_multi(enum cpuhp_state state, const char *name,
				 int (*startup)(unsigned int cpu,
						struct hlist_node *node),
				 int (*teardown)(unsigned int cpu,
						 struct hlist_node *node))
{
	return __cpuhp_setup_state_parallel(state, name, false,
					    (void *)startup, (void *)teardown,
					    true);
}

#endif /* _LINUX_CPUHOTPLUG_PARALLEL_H */

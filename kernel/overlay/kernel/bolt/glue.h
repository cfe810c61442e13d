/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Bolt needs of the hotplug state machine. The functions are in glue.c,
 * which kernel/cpu.c includes at its end; what the two pointers and the types of
 * kernel/cpuhp.h are enough for is here.
 */
#ifndef _KERNEL_BOLT_GLUE_H
#define _KERNEL_BOLT_GLUE_H

#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/percpu.h>

#include "../cpuhp.h"

/* Where each CPU is, and what is registered: variables of kernel/cpu.c. */
extern struct cpuhp_cpu_state __percpu *const bolt_cpuhp_states;
extern struct cpuhp_step *const bolt_cpuhp_steps;

static inline struct cpuhp_cpu_state *bolt_glue_cpu(unsigned int cpu)
{
	return per_cpu_ptr(bolt_cpuhp_states, cpu);
}

static inline struct cpuhp_step *bolt_glue_step(enum cpuhp_state state)
{
	return bolt_cpuhp_steps + state;
}

/* The state that @cpu has reached. */
static inline enum cpuhp_state bolt_glue_state(unsigned int cpu)
{
	return bolt_glue_cpu(cpu)->state;
}

/* Whether @state's startup has not run for @cpu, as far as the state machine knows. */
static inline bool bolt_glue_below(unsigned int cpu, enum cpuhp_state state)
{
	return bolt_glue_state(cpu) < state;
}

/* Whether @state has a startup, or a teardown. */
static inline bool bolt_glue_has(enum cpuhp_state state, bool startup)
{
	struct cpuhp_step *step = bolt_glue_step(state);

	return startup ? step->startup.single : step->teardown.single;
}

static inline const char *bolt_glue_name(enum cpuhp_state state)
{
	return bolt_glue_step(state)->name;
}

/* Requests that are none of Bolt's, and what forbids requests. */
int bolt_glue_native(unsigned int cpu, bool online);
void bolt_glue_retry(const struct cpumask *mask);
bool bolt_glue_overlap(void);
int bolt_glue_forbidden(bool online);
bool bolt_glue_bootable(unsigned int cpu);
bool bolt_glue_smt_allowed(unsigned int cpu);
bool bolt_glue_core_online(unsigned int cpu);

/* The hotplug lock, and the lock under which states are registered. */
void bolt_glue_hold_readers_slow(bool hold);
void bolt_glue_lock_states(void);
void bolt_glue_unlock_states(void);
void bolt_glue_lock_calls(void);
void bolt_glue_unlock_calls(void);
void bolt_glue_await_threads(void);

/* Callbacks, and CPUs on the edge of their lives. */
int bolt_glue_run(unsigned int cpu, enum cpuhp_state target);
int bolt_glue_bury(unsigned int cpu, enum cpuhp_state target);
void bolt_glue_die(unsigned int cpu, enum cpuhp_state target);
int bolt_glue_invoke(unsigned int cpu, enum cpuhp_state state, bool bringup,
		     struct hlist_node *node);
int bolt_glue_invoke_for(unsigned int cpu, enum cpuhp_state state, bool bringup,
			 struct hlist_node *node);
bool bolt_glue_alive(unsigned int cpu);
bool bolt_glue_give_up(unsigned int cpu);
void bolt_glue_sync_dead(unsigned int cpu);

#endif /* _KERNEL_BOLT_GLUE_H */

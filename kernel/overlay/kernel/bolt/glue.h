/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the hotplug state machine that Bolt uses. The functions are in
 * glue.c, which kernel/cpu.c includes at its end; functions that need only the two
 * pointers below and the types of kernel/cpuhp.h are here.
 */
#ifndef _KERNEL_BOLT_GLUE_H
#define _KERNEL_BOLT_GLUE_H

#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/percpu.h>

#include "../cpuhp.h"

/*
 * Variables of kernel/cpu.c: the state that each CPU has reached, and the callbacks
 * of each state.
 */
extern struct cpuhp_cpu_state __percpu *const bolt_cpuhp_states;
extern struct cpuhp_step *const bolt_cpuhp_steps;

static inline struct cpuhp_cpu_state *bolt_cpuhp_cpu(unsigned int cpu)
{
	return per_cpu_ptr(bolt_cpuhp_states, cpu);
}

static inline struct cpuhp_step *bolt_cpuhp_step(enum cpuhp_state state)
{
	return bolt_cpuhp_steps + state;
}

/* The state that @cpu has reached. */
static inline enum cpuhp_state bolt_cpu_state(unsigned int cpu)
{
	return bolt_cpuhp_cpu(cpu)->state;
}

/* Whether @cpu's state number, which changes before callbacks run, is below @state. */
static inline bool bolt_cpu_below(unsigned int cpu, enum cpuhp_state state)
{
	return bolt_cpu_state(cpu) < state;
}

/* Whether @state has a startup; if @startup is false, whether it has a teardown. */
static inline bool bolt_state_has(enum cpuhp_state state, bool startup)
{
	struct cpuhp_step *step = bolt_cpuhp_step(state);

	return startup ? step->startup.single : step->teardown.single;
}

/* Whether callbacks are registered for @state. */
static inline bool bolt_registered(enum cpuhp_state state)
{
	return bolt_state_has(state, true) || bolt_state_has(state, false);
}

static inline const char *bolt_state_name(enum cpuhp_state state)
{
	return bolt_cpuhp_step(state)->name;
}

/* Hotplug operations in the native way, and questions whether a CPU may go or come. */
int bolt_request_natively(unsigned int cpu, bool online);
void bolt_retry_natively(const struct cpumask *mask);
bool bolt_parallel_bringup(void);
int bolt_hotplug_forbidden(bool online);
bool bolt_cpu_bootable(unsigned int cpu);
bool bolt_smt_allowed(unsigned int cpu);
bool bolt_core_online(unsigned int cpu);

/* The hotplug lock, and the lock under which states are registered. */
void bolt_hold_readers_slow(bool hold);
void bolt_lock_states(void);
void bolt_unlock_states(void);
void bolt_lock_instances(void);
void bolt_unlock_instances(void);
void bolt_note_wait_for_threads(void);

/* Callbacks, and CPUs that are about to come alive or to die. */
int bolt_run_callbacks(unsigned int cpu, enum cpuhp_state target);
int bolt_run_dead_callbacks(unsigned int cpu, enum cpuhp_state target);
void bolt_run_dying_callbacks(unsigned int cpu, enum cpuhp_state target);
int bolt_invoke_callback(unsigned int cpu, enum cpuhp_state state, bool bringup,
			 struct hlist_node *node);
int bolt_invoke_callback_for(unsigned int cpu, enum cpuhp_state state, bool bringup,
			     struct hlist_node *node);
bool bolt_cpu_alive(unsigned int cpu);
bool bolt_cpu_dead(unsigned int cpu);
#ifdef CONFIG_HOTPLUG_SPLIT_STARTUP
bool bolt_arrival_given_up(unsigned int cpu);
bool bolt_release_warm(unsigned int cpu);
#else
#define bolt_arrival_given_up(...) do { } while (0)
#define bolt_release_warm(...) true
#endif
void bolt_wait_for_death(unsigned int cpu);

#endif /* _KERNEL_BOLT_GLUE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Bolt's private types and prototypes. */
#ifndef _KERNEL_BOLT_INTERNAL_H
#define _KERNEL_BOLT_INTERNAL_H

#include <linux/bitmap.h>
#include <linux/bolt.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/percpu.h>

#define BOLT_NR_STATES (CPUHP_ONLINE + 1)

/**
 * struct bolt_set - a set of hotplug states
 * @states: a bit for each enum cpuhp_state
 */
struct bolt_set {
	DECLARE_BITMAP(states, BOLT_NR_STATES);
};

/**
 * struct bolt_cpu - what Bolt knows of a CPU
 * @pending:	states whose teardown was put off; changed with the hotplug
 *		lock held for writing, or for reading plus cpuhp_state_mutex
 * @parked_at:	when it was last asked to go offline
 */
struct bolt_cpu {
	struct bolt_set pending;
	ktime_t parked_at;
};

DECLARE_PER_CPU(struct bolt_cpu, bolt_cpus);

/* pending.c: sets. */
int bolt_set_park(struct bolt_set *set, enum cpuhp_state state);
int bolt_set_unpark(struct bolt_set *set, enum cpuhp_state state);
int bolt_set_highest(const struct bolt_set *set);

static inline bool bolt_set_has(const struct bolt_set *set,
				enum cpuhp_state state)
{
	return test_bit(state, set->states);
}

static inline bool bolt_set_empty(const struct bolt_set *set)
{
	return bitmap_empty(set->states, BOLT_NR_STATES);
}

/* pending.c: parked CPUs. */
extern unsigned int bolt_settle_delay_ms;

void bolt_parked_mask(struct cpumask *mask);
void bolt_settle_mask(const struct cpumask *mask);
void bolt_settle_later(void);
void bolt_settle_delay(unsigned int ms);
void bolt_settle_state(unsigned int cpu, enum cpuhp_state state);
void bolt_tear_down(unsigned int cpu, enum cpuhp_state state,
		    const struct bolt_elide *elide);

/* policy.c */
enum bolt_class bolt_class_fixed(enum cpuhp_state state, const char **reason);
const struct bolt_elide *bolt_elided(enum cpuhp_state state);
void bolt_drop_elide(enum cpuhp_state state);

/* hide.c */
int bolt_hide(unsigned int cpu, enum cpuhp_state state,
	      const struct bolt_elide *elide);
void bolt_show(unsigned int cpu, enum cpuhp_state state);
void bolt_forget_entries(unsigned int cpu, enum cpuhp_state state);

/* batch.c */
int bolt_enable(bool on);
void bolt_broken(unsigned int cpu, enum cpuhp_state state, const char *what);

/* glue.c, in kernel/cpu.c: all that needs its statics. */
void bolt_glue_hold_readers_slow(bool hold);
int bolt_glue_down(unsigned int cpu);
int bolt_glue_up(unsigned int cpu);
bool bolt_glue_settle_next(unsigned int cpu);
bool bolt_glue_below(unsigned int cpu, enum cpuhp_state state);
bool bolt_glue_alive(unsigned int cpu);
bool bolt_glue_can_elide(enum cpuhp_state state);
void bolt_glue_teardown(unsigned int cpu, enum cpuhp_state state);

#endif /* _KERNEL_BOLT_INTERNAL_H */

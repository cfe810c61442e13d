// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pending sets: the teardowns that parked CPUs still owe, and running them.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <trace/events/bolt.h>

#include "internal.h"

DEFINE_PER_CPU(struct bolt_cpu, bolt_cpus);

unsigned int bolt_settle_delay_ms = 1000;

/**
 * bolt_set_park - note that a state's teardown was put off
 * @set:	the CPU's pending set
 * @state:	the state
 *
 * Return: 0, or -EALREADY if it was pending already.
 */
int bolt_set_park(struct bolt_set *set, enum cpuhp_state state)
{
	if (__test_and_set_bit(state, set->states))
		return -EALREADY;
	return 0;
}

/**
 * bolt_set_unpark - note that a state's teardown is no longer owed
 * @set:	the CPU's pending set
 * @state:	the state
 *
 * Return: 0, or -ENOENT if it was not pending.
 */
int bolt_set_unpark(struct bolt_set *set, enum cpuhp_state state)
{
	if (!__test_and_clear_bit(state, set->states))
		return -ENOENT;
	return 0;
}

/**
 * bolt_set_highest - the state to settle next
 * @set:	the CPU's pending set
 *
 * Teardowns run in descending order of states, as they would have natively.
 *
 * Return: the state, or -ENOENT if the set is empty.
 */
int bolt_set_highest(const struct bolt_set *set)
{
	unsigned int state = find_last_bit(set->states, BOLT_NR_STATES);

	return state < BOLT_NR_STATES ? state : -ENOENT;
}

/**
 * bolt_tear_down - what parking has left of a teardown
 * @cpu:	the CPU
 * @state:	the state
 * @elide:	its description
 *
 * Context: as bolt_settle_state(), or hotplug lock held for writing.
 */
void bolt_tear_down(unsigned int cpu, enum cpuhp_state state,
		    const struct bolt_elide *elide)
{
	if (elide->settle)
		elide->settle(cpu);
	else
		bolt_glue_teardown(cpu, state);
	bolt_forget_entries(cpu, state);
}

/**
 * bolt_settle_state - run one pending teardown
 * @cpu:	the CPU
 * @state:	the state; if it is not pending there is nothing to do
 *
 * Context: hotplug lock held for reading, and cpuhp_state_mutex. May sleep.
 */
void bolt_settle_state(unsigned int cpu, enum cpuhp_state state)
{
	struct bolt_set *pending = &per_cpu_ptr(&bolt_cpus, cpu)->pending;
	const struct bolt_elide *elide = bolt_elided(state);

	if (!bolt_set_has(pending, state))
		return;
	if (!elide || !bolt_glue_below(cpu, state)) {
		bolt_set_unpark(pending, state);
		bolt_show(cpu, state);
		bolt_broken(cpu, state, "settled while up");
		return;
	}
	bolt_tear_down(cpu, state, elide);
	bolt_set_unpark(pending, state);
	trace_bolt_settle(cpu, state);
}

/**
 * bolt_forget_state - a hotplug state is being removed
 * @state:	the state
 *
 * Runs its teardown for the CPUs that owe it, while its code is still there.
 *
 * Context: hotplug lock held for reading, and cpuhp_state_mutex. May sleep.
 */
void bolt_forget_state(enum cpuhp_state state)
{
	unsigned int cpu;

	if (!bolt_elided(state))
		return;
	for_each_possible_cpu(cpu) {
		bolt_settle_state(cpu, state);
		bolt_forget_entries(cpu, state);
	}
	bolt_drop_elide(state);
}

/**
 * bolt_settle_cpu - make a CPU natively offline
 * @cpu:	the CPU; if it is not parked there is nothing to do
 *
 * Context: may sleep. Takes the hotplug lock for reading once for every state,
 * so that a request waits for one callback at the most.
 */
void bolt_settle_cpu(unsigned int cpu)
{
	while (bolt_glue_settle_next(cpu))
		cond_resched();
}

/**
 * bolt_settle_mask - make CPUs natively offline
 * @mask:	the CPUs; those that are not parked are passed over
 *
 * Context: as bolt_settle_cpu().
 */
void bolt_settle_mask(const struct cpumask *mask)
{
	unsigned int cpu;

	for_each_cpu(cpu, mask)
		bolt_settle_cpu(cpu);
}

/**
 * bolt_settle_all - make all parked CPUs natively offline
 *
 * Context: as bolt_settle_cpu().
 */
void bolt_settle_all(void)
{
	bolt_settle_mask(cpu_possible_mask);
}

/**
 * bolt_parked_mask - the parked CPUs
 * @mask:	where to put them
 *
 * Context: hotplug lock held for reading if the answer is to last.
 */
void bolt_parked_mask(struct cpumask *mask)
{
	unsigned int cpu;

	cpumask_clear(mask);
	for_each_possible_cpu(cpu) {
		if (!bolt_set_empty(&per_cpu_ptr(&bolt_cpus, cpu)->pending))
			cpumask_set_cpu(cpu, mask);
	}
}

static void bolt_settle_work(struct work_struct *work)
{
	unsigned int delay = READ_ONCE(bolt_settle_delay_ms), cpu;
	s64 next = -1;

	for_each_possible_cpu(cpu) {
		struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);
		s64 left;

		/* Unlocked: bolt_settle_cpu() looks again. */
		if (bolt_set_empty(&bc->pending))
			continue;
		left = delay - ktime_ms_delta(ktime_get(),
					      READ_ONCE(bc->parked_at));
		if (left <= 0)
			bolt_settle_cpu(cpu);
		else if (next < 0 || left < next)
			next = left;
	}
	if (next < 0)
		return;
	/* A request may have queued us for later than the first that is due. */
	mod_delayed_work(system_unbound_wq, to_delayed_work(work),
			 msecs_to_jiffies(next) + 1);
	/* That may have undone what bolt_settle_delay() asked for just now. */
	if (READ_ONCE(bolt_settle_delay_ms) != delay)
		mod_delayed_work(system_unbound_wq, to_delayed_work(work), 0);
}

static DECLARE_DELAYED_WORK(bolt_settler, bolt_settle_work);

/**
 * bolt_settle_later - a CPU has been parked: settle it when the delay is over
 *
 * The work runs on any CPU: it outlives the one that queues it.
 *
 * Context: any.
 */
void bolt_settle_later(void)
{
	queue_delayed_work(system_unbound_wq, &bolt_settler,
			   msecs_to_jiffies(READ_ONCE(bolt_settle_delay_ms)));
}

/**
 * bolt_settle_delay - set how long CPUs stay parked
 * @ms:		milliseconds from their last offline request
 *
 * Context: may sleep. CPUs that are parked already are looked at again.
 */
void bolt_settle_delay(unsigned int ms)
{
	WRITE_ONCE(bolt_settle_delay_ms, ms);
	mod_delayed_work(system_unbound_wq, &bolt_settler, 0);
}

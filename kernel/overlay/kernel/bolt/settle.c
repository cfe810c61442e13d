// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settling: the teardowns that parked CPUs still owe, and running them, so that
 * the CPUs become natively offline. request.c has the worker queued when a request
 * is over. When the delay is over, the worker settles of a CPU what costs other CPUs
 * something while the CPU is parked. What only the return of the CPU needs stays
 * (bolt/keep) until the shrinker, at the end of this file, says that memory is
 * short; then the worker settles all. The worker looks at CPUs in the order of their
 * numbers. Disabling Bolt, suspend, a new kernel, a module
 * that goes, and a write to bolt/settle need CPUs, or a state, to be as natively: they
 * settle and wait.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/mmzone.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/shrinker.h>
#include <linux/workqueue.h>
#include <trace/events/bolt.h>

#include "policy.h"
#include "settle.h"
#include "state.h"
#include "steps.h"
#include "visibility.h"
#include "warm.h"

/* How long CPUs stay parked before what costs other CPUs something is settled. */
unsigned int bolt_settle_delay_ms = 1000;

/* Whether what only the return of a CPU needs goes with the delay, too. */
bool bolt_keep_for_delay;

/* Memory is short: the worker does not wait for the delay. */
static bool bolt_pressure;

/**
 * bolt_next_to_settle - the state of a CPU to settle next
 * @cpu:	the CPU
 * @last:	the last class that is due: BOLT_ASYNC, BOLT_LAZY or BOLT_ELIDE
 *
 * Context: as bolt_settle_state(), or, for a guess, RCU read lock held.
 * Return: the state, or -ENOENT if there is none.
 */
static int bolt_next_to_settle(unsigned int cpu, enum bolt_class last)
{
	const struct bolt_set *pending = bolt_pending(cpu);
	int highest = -ENOENT;
	unsigned int state;

	if (last == BOLT_ELIDE)
		return bolt_set_highest(pending);
	if (last == BOLT_ASYNC) {
		for_each_and_bit(state, pending->states, bolt_async.states, BOLT_NR_STATES)
			highest = state;
		return highest;
	}
	for_each_andnot_bit(state, pending->states, bolt_elided.states, BOLT_NR_STATES)
		highest = state;
	return highest;
}

/* Runs the teardown of @state for @cpu, with all instances if it has some. */
static void bolt_run_teardown(unsigned int cpu, enum cpuhp_state state)
{
	struct cpuhp_step *step = bolt_cpuhp_step(state);
	struct hlist_node *node;
	int err = 0;

	if (!step->multi_instance)
		err = step->teardown.single(cpu);
	else
		hlist_for_each(node, &step->list)
			err = step->teardown.multi(cpu, node) ?: err;
	WARN_ONCE(err, "CPU %u: deferred teardown of %s failed: %d\n", cpu,
		  step->name, err);
}

/**
 * bolt_tear_down - what parking has left of a teardown
 * @cpu:	the CPU
 * @state:	the state
 * @defer:	its description
 *
 * Context: as bolt_settle_state(), or hotplug lock held for writing.
 * Return: 0, or -EAGAIN if there is more to do.
 */
int bolt_tear_down(unsigned int cpu, enum cpuhp_state state,
		   const struct bolt_defer *defer)
{
	u64 start = local_clock();
	int err = 0;

	if (defer->settle)
		err = defer->settle(cpu);
	else
		bolt_run_teardown(cpu, state);
	/* Both clocks are of this CPU if the task was not moved: good enough. */
	atomic64_add(local_clock() - start, &bolt_counts[state].ns);
	if (err == -EAGAIN)
		return err;
	WARN_ONCE(err, "CPU %u: settling state %d failed: %d\n", cpu, state,
		  err);
	bolt_forget_entries(cpu, state);
	return 0;
}

/**
 * bolt_settle_state - run one pending teardown, or a part of it
 * @cpu:	the CPU
 * @state:	the state; if it is not pending there is nothing to do
 *
 * Context: hotplug lock held for reading, and cpuhp_state_mutex. May sleep.
 * Return: 0, or -EAGAIN if there is more to do: call again, at best after
 * giving others a chance to take the locks.
 */
static int bolt_settle_state(unsigned int cpu, enum cpuhp_state state)
{
	const struct bolt_defer *defer = bolt_deferred(state);
	struct bolt_set *pending = bolt_pending(cpu);

	if (!bolt_set_has(pending, state))
		return 0;
	if (!defer || !bolt_cpu_below(cpu, state)) {
		bolt_set_remove(pending, state);
		bolt_show(cpu, state);
		bolt_broken(cpu, state, "the teardown would run while the state is up");
		return 0;
	}
	if (bolt_tear_down(cpu, state, defer) == -EAGAIN)
		return -EAGAIN;
	bolt_set_remove(pending, state);
	atomic64_inc(&bolt_counts[state].settles);
	trace_bolt_settle(cpu, state);
	if (bolt_set_empty(pending)) {
		bolt_note_not_parked(cpu);
		bolt_stats[BOLT_STAT_SETTLED]++;
	} else if (bolt_next_to_settle(cpu, BOLT_LAZY) < 0) {
		cpumask_clear_cpu(cpu, &bolt_undrained_mask);
	}
	return 0;
}

/**
 * bolt_settle_everywhere - run what is pending of a state on all CPUs
 * @state:	the state; if it is not deferred there is nothing to do
 *
 * Its instances are about to change.
 *
 * Context: as bolt_settle_state().
 */
void bolt_settle_everywhere(enum cpuhp_state state)
{
	unsigned int cpu;

	if (!bolt_deferred(state))
		return;
	for_each_possible_cpu(cpu) {
		while (bolt_settle_state(cpu, state) == -EAGAIN)
			cond_resched();
	}
}

/**
 * bolt_forget_state - a hotplug state is being removed
 * @state:	the state
 *
 * Runs its teardown for the CPUs that owe it, while its code is still there.
 *
 * Context: as bolt_settle_state().
 */
void bolt_forget_state(enum cpuhp_state state)
{
	unsigned int cpu;

	bolt_settle_everywhere(state);
	for_each_possible_cpu(cpu)
		bolt_forget_entries(cpu, state);
	bolt_drop_defer(state);
}

/*
 * Settles the highest pending state of @cpu whose class is @last or before, or a part
 * of it. False: there was none.
 */
static bool bolt_settle_next(unsigned int cpu, enum bolt_class last)
{
	int state;

	/* Locked even if there seems to be none: its teardown may be running. */
	bolt_lock_states();
	state = bolt_next_to_settle(cpu, last);
	if (state >= 0)
		bolt_settle_state(cpu, state);
	bolt_unlock_states();
	return state >= 0;
}

/* Runs all that is pending of @cpu. */
static void bolt_settle_states(unsigned int cpu)
{
	while (bolt_settle_next(cpu, BOLT_ELIDE))
		cond_resched();
}

/**
 * bolt_settle_cpu - make a CPU natively offline
 * @cpu:	the CPU; if it is not parked there is nothing to do
 *
 * Context: may sleep. Takes the hotplug lock for reading once for every state,
 * so that a request waits for one callback at the most, or for one CPU that stops
 * to wait in the kernel.
 */
void bolt_settle_cpu(unsigned int cpu)
{
	bolt_settle_states(cpu);
	bolt_warm_leave(cpumask_of(cpu));
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
		bolt_settle_states(cpu);
	bolt_warm_leave(mask);
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

/* Whether @cpu has something pending whose class is @last or before. */
static bool bolt_owes(unsigned int cpu, enum bolt_class last)
{
	/* A module that goes waits for RCU readers before the description of its state goes. */
	guard(rcu)();
	return bolt_next_to_settle(cpu, last) >= 0;
}

static bool bolt_any_async(void)
{
	unsigned int cpu;

	for_each_cpu(cpu, &bolt_parked_mask) {
		if (bolt_owes(cpu, BOLT_ASYNC))
			return true;
	}
	return false;
}

/* The last class that goes with the delay. */
static enum bolt_class bolt_due_with_delay(void)
{
	return READ_ONCE(bolt_keep_for_delay) ? BOLT_ELIDE : BOLT_LAZY;
}

/* What is pending of @cpu and whose class is @last or before. */
static void bolt_settle_due(unsigned int cpu, enum bolt_class last)
{
	while (bolt_owes(cpu, last) && bolt_settle_next(cpu, last))
		cond_resched();
}

/* The delay of @cpu is over, or memory is short. */
static void bolt_settle_now(unsigned int cpu, enum bolt_class last)
{
	bolt_settle_due(cpu, last);
	if (bolt_warm_must_end(cpu))
		bolt_warm_leave(cpumask_of(cpu));
}

/* Whether something of @cpu goes with the delay: up to class @last, or its way to wait. */
static bool bolt_awaits(unsigned int cpu, enum bolt_class last)
{
	if (bolt_warm_must_end(cpu))
		return true;
	return bolt_owes(cpu, last);
}

static void bolt_settle_work(struct work_struct *work)
{
	unsigned int delay = READ_ONCE(bolt_settle_delay_ms), cpu;
	bool pressure = xchg(&bolt_pressure, false);
	enum bolt_class last = bolt_due_with_delay();
	s64 next = -1;

	for_each_possible_cpu(cpu) {
		s64 left;

		bolt_settle_due(cpu, BOLT_ASYNC);
		/* All of this is unlocked: what is called here looks again. */
		if (!bolt_awaits(cpu, pressure ? BOLT_ELIDE : last))
			continue;
		left = delay - ktime_ms_delta(ktime_get(),
					      READ_ONCE(per_cpu_ptr(&bolt_cpus, cpu)->parked_at));
		if (left <= 0 || pressure)
			bolt_settle_now(cpu, pressure ? BOLT_ELIDE : last);
		else if (next < 0 || left < next)
			next = left;
	}
	if (next < 0)
		return;
	/* A request may have queued this work for later than the first CPU is due. */
	mod_delayed_work(system_unbound_wq, to_delayed_work(work),
			 msecs_to_jiffies(next) + 1);
	/* That may have undone what another task has asked for just now. */
	if (READ_ONCE(bolt_settle_delay_ms) != delay || bolt_due_with_delay() != last ||
	    READ_ONCE(bolt_pressure) || bolt_any_async())
		mod_delayed_work(system_unbound_wq, to_delayed_work(work), 0);
}

static DECLARE_DELAYED_WORK(bolt_settler, bolt_settle_work);

/**
 * bolt_settle_later - a CPU has been parked: settle it when the delay is over
 * @cpu:	the CPU
 *
 * The work runs on any CPU: it outlives the one that queues it.
 *
 * Context: hotplug lock not held, cpu_add_remove_lock held.
 */
void bolt_settle_later(unsigned int cpu)
{
	unsigned int delay = READ_ONCE(bolt_settle_delay_ms);

	if (bolt_owes(cpu, BOLT_ASYNC))
		mod_delayed_work(system_unbound_wq, &bolt_settler, 0);
	else
		queue_delayed_work(system_unbound_wq, &bolt_settler,
				   msecs_to_jiffies(delay));
}

/**
 * bolt_settle_pressure - memory is short: settle all parked CPUs soon
 *
 * Context: any, reclaim included: takes no lock but the workqueue's.
 */
static void bolt_settle_pressure(void)
{
	if (READ_ONCE(bolt_pressure))
		return;
	WRITE_ONCE(bolt_pressure, true);
	bolt_stats[BOLT_STAT_PRESSURE]++;
	mod_delayed_work(system_unbound_wq, &bolt_settler, 0);
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

/**
 * bolt_set_keep - set how long parked CPUs keep what only their return needs
 * @for_delay:	true: until the settle delay is over; false: until memory is short
 *
 * Context: may sleep. CPUs that are parked already are looked at again.
 */
void bolt_set_keep(bool for_delay)
{
	WRITE_ONCE(bolt_keep_for_delay, for_delay);
	mod_delayed_work(system_unbound_wq, &bolt_settler, 0);
}

/**
 * bolt_override - move a state back to critical, or to what its row says
 * @state:	the state; all of its unit follow
 * @critical:	which; if false, its fitness is as its row says again, too
 *
 * What is pending of it runs first.
 *
 * Context: may sleep; takes the hotplug lock.
 */
void bolt_override(enum cpuhp_state state, bool critical)
{
	enum bolt_unit unit;
	unsigned int s, cpu;

	bolt_lock_states();
	/* What is deferred of CPUHP_AP_ACTIVE has a state of its own. */
	if (state == CPUHP_AP_ACTIVE)
		bolt_settle_everywhere(BOLT_DOMAINS);
	unit = bolt_row(state).unit;
	for (s = 0; s < BOLT_NR_STATES; s++) {
		if (s != state &&
		    (unit == BOLT_NO_UNIT || bolt_row(s).unit != unit))
			continue;
		bolt_settle_everywhere(s);
		/* What is torn down natively from now on is made anew. */
		for_each_possible_cpu(cpu)
			bolt_forget_entries(cpu, s);
		bolt_set_overridden(s, critical);
	}
	if (!critical)
		bolt_forget_declared(state);
	bolt_unlock_states();
}

/* Pages in the CPU's lists, and one for each state: it holds something else. */
static unsigned long bolt_held(unsigned int cpu)
{
	unsigned long held;
	struct zone *zone;

	held = bitmap_weight(bolt_pending(cpu)->states, BOLT_NR_STATES);
	for_each_populated_zone(zone)
		held += READ_ONCE(per_cpu_ptr(zone->per_cpu_pageset, cpu)->count);
	return held;
}

static unsigned long bolt_shrink_count(struct shrinker *shrinker,
				       struct shrink_control *sc)
{
	unsigned long held = 0;
	unsigned int cpu;

	for_each_cpu(cpu, &bolt_parked_mask)
		held += bolt_held(cpu);
	return held ?: SHRINK_EMPTY;
}

static unsigned long bolt_shrink_scan(struct shrinker *shrinker,
				      struct shrink_control *sc)
{
	bolt_settle_pressure();
	return SHRINK_STOP;
}

static int __init bolt_shrinker_init(void)
{
	struct shrinker *shrinker = shrinker_alloc(0, "bolt");

	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = bolt_shrink_count;
	shrinker->scan_objects = bolt_shrink_scan;
	/* One scan settles all: any is worth it. */
	shrinker->batch = 1;
	shrinker_register(shrinker);
	return 0;
}
late_initcall(bolt_shrinker_init);

#include "tests/settle-kunit.h"

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pending sets: the teardowns that parked CPUs still owe, and running them.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/workqueue.h>
#include <trace/events/bolt.h>

#include "internal.h"

DEFINE_PER_CPU(struct bolt_cpu, bolt_cpus);

/*
 * The parked CPUs, for readers that walk the online ones (law 3). A CPU is in
 * it from before its first teardown is put off.
 */
struct cpumask bolt_parked_mask;
EXPORT_SYMBOL_GPL(bolt_parked_mask);

unsigned int bolt_settle_delay_ms = 1000;

/* Memory is short: the worker does not wait for the delay. */
static bool bolt_pressure;

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
 * bolt_next_to_settle - the state of a CPU to settle next
 * @cpu:	the CPU
 * @async:	only states that do not wait for the delay
 *
 * Context: as bolt_settle_state(), or, for a guess, RCU read lock held.
 * Return: the state, or -ENOENT if there is none.
 */
int bolt_next_to_settle(unsigned int cpu, bool async)
{
	const struct bolt_set *pending = bolt_pending(cpu);
	int highest = -ENOENT;
	unsigned int state;

	if (!async)
		return bolt_set_highest(pending);
	for_each_set_bit(state, pending->states, BOLT_NR_STATES) {
		if (bolt_row(state).class == BOLT_ASYNC)
			highest = state;
	}
	return highest;
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
		bolt_glue_teardown(cpu, state);
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
int bolt_settle_state(unsigned int cpu, enum cpuhp_state state)
{
	const struct bolt_defer *defer = bolt_deferred(state);
	struct bolt_set *pending = bolt_pending(cpu);

	if (!bolt_set_has(pending, state))
		return 0;
	if (!defer || !bolt_glue_below(cpu, state)) {
		bolt_set_unpark(pending, state);
		bolt_show(cpu, state);
		bolt_broken(cpu, state, "the teardown would run while the state is up");
		return 0;
	}
	if (bolt_tear_down(cpu, state, defer) == -EAGAIN)
		return -EAGAIN;
	bolt_set_unpark(pending, state);
	atomic64_inc(&bolt_counts[state].settles);
	trace_bolt_settle(cpu, state);
	if (bolt_set_empty(pending)) {
		cpumask_clear_cpu(cpu, &bolt_parked_mask);
		bolt_stats[BOLT_STAT_SETTLED]++;
	}
	return 0;
}

/**
 * bolt_settle_everywhere - run what is pending of a state on all CPUs
 * @state:	the state; if it is not put off there is nothing to do
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

/**
 * bolt_came_up - a bring-up is over
 * @cpu:	the CPU
 *
 * Teardowns without a startup are no longer owed when the CPU is back. After a
 * bring-up that failed they still are.
 *
 * Context: hotplug lock held for writing.
 */
void bolt_came_up(unsigned int cpu)
{
	struct bolt_set *pending = bolt_pending(cpu);
	unsigned int state;

	if (!cpumask_test_cpu(cpu, &bolt_parked_mask))
		return;
	for_each_set_bit(state, pending->states, BOLT_NR_STATES) {
		if (bolt_glue_below(cpu, state) ||
		    bolt_glue_has(state, true))
			continue;
		bolt_set_unpark(pending, state);
		trace_bolt_unpark(cpu, state);
	}
	if (!bolt_set_empty(pending))
		return;
	/* Readers look at this mask first: the CPU must be in the other one. */
	smp_mb__before_atomic();
	cpumask_clear_cpu(cpu, &bolt_parked_mask);
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
	while (bolt_glue_settle_next(cpu, false))
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

/* Whether @cpu has something pending that does not wait for the delay. */
static bool bolt_has_async(unsigned int cpu)
{
	/* A module that goes waits for us before what describes its state goes. */
	guard(rcu)();
	return bolt_next_to_settle(cpu, true) >= 0;
}

static bool bolt_any_async(void)
{
	unsigned int cpu;

	for_each_parked_cpu(cpu) {
		if (bolt_has_async(cpu))
			return true;
	}
	return false;
}

static void bolt_settle_work(struct work_struct *work)
{
	unsigned int delay = READ_ONCE(bolt_settle_delay_ms), cpu;
	bool pressure = xchg(&bolt_pressure, false);
	s64 next = -1;

	for_each_parked_cpu(cpu) {
		s64 left;

		while (bolt_glue_settle_next(cpu, true))
			cond_resched();
		/* Unlocked: bolt_settle_cpu() looks again. */
		left = delay - ktime_ms_delta(ktime_get(),
					      READ_ONCE(per_cpu_ptr(&bolt_cpus, cpu)->parked_at));
		if (left <= 0 || pressure)
			bolt_settle_cpu(cpu);
		else if (next < 0 || left < next)
			next = left;
	}
	if (next < 0)
		return;
	/* A request may have queued us for later than the first that is due. */
	mod_delayed_work(system_unbound_wq, to_delayed_work(work),
			 msecs_to_jiffies(next) + 1);
	/* That may have undone what somebody asked for just now. */
	if (READ_ONCE(bolt_settle_delay_ms) != delay ||
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

	if (bolt_has_async(cpu))
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
void bolt_settle_pressure(void)
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

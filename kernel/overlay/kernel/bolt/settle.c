// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settling: running the pending teardowns of parked CPUs, so that the CPUs become
 * natively offline. request.c queues the worker at the end of a request. The worker runs
 * async teardowns at once. When the settle delay of a CPU is over, the worker runs the
 * lazy teardowns of that CPU: as long as these are pending, code that drains or adds up
 * data of CPUs has to visit the CPU. With bolt/keep set to "pressure", elided teardowns
 * stay pending until memory is short, and the shrinker at the end of this file has the
 * worker run all teardowns. The worker looks at CPUs in the order of their numbers. Code
 * that cannot wait for the worker settles CPUs, or one state, itself, for instance to
 * disable Bolt, suspend, reboot, kexec, remove a state, or serve writes to bolt/settle.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/shrinker.h>
#include <linux/workqueue.h>
#include <trace/events/bolt.h>

#include "kept.h"
#include "policy.h"
#include "settle.h"
#include "state.h"
#include "steps.h"
#include "visibility.h"
#include "warm.h"

/* The settle delay: how long a parked CPU keeps the objects of lazy states. */
unsigned int bolt_settle_delay_ms = 1000;

/* Whether a CPU keeps the objects of elided states only until the settle delay is over. */
bool bolt_keep_for_delay;

/* Set when memory is short: the worker then runs all pending teardowns at once. */
static bool bolt_pressure;

/**
 * bolt_next_to_settle - the state of a CPU to settle next
 * @cpu:	the CPU
 * @last:	BOLT_ASYNC, BOLT_LAZY or BOLT_ELIDE: states of this class and of the
 *		classes before it count
 *
 * Context: as bolt_settle_state(); without the locks of that function, the state may no
 * longer be pending when this function returns.
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

/* Runs the teardown of @state for @cpu; for each instance, if @state has instances. */
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
 * bolt_tear_down - run what is left of a deferred teardown
 * @cpu:	the CPU
 * @state:	the state
 * @defer:	how the teardown was deferred
 *
 * Context: as bolt_settle_state(), or hotplug lock held for writing.
 * Return: 0; or -EAGAIN or -EBUSY from @settle of @defer: call this function again.
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
	/* If this task has moved, the clocks of two CPUs are read: good enough for a statistic. */
	atomic64_add(local_clock() - start, &bolt_counts[state].ns);
	if (err == -EAGAIN || err == -EBUSY)
		return err;
	WARN_ONCE(err, "CPU %u: settling state %d failed: %d\n", cpu, state,
		  err);
	bolt_forget_entries(cpu, state);
	return 0;
}

/**
 * bolt_settle_state - run one pending teardown, or a part of it
 * @cpu:	the CPU
 * @state:	the state; if its teardown is not pending there is nothing to do
 *
 * Context: hotplug lock held for reading, and cpuhp_state_mutex. May sleep.
 * Return: as bolt_tear_down(); bolt_settle_next() drops the locks between two calls.
 */
static int bolt_settle_state(unsigned int cpu, enum cpuhp_state state)
{
	const struct bolt_defer *defer = bolt_deferred(state);
	struct bolt_set *pending = bolt_pending(cpu);
	int err;

	if (!bolt_set_has(pending, state))
		return 0;
	if (!defer || !bolt_cpu_below(cpu, state)) {
		bolt_set_remove(pending, state);
		bolt_show(cpu, state);
		bolt_broken(cpu, state, "the teardown would run while the state is up");
		return 0;
	}
	err = bolt_tear_down(cpu, state, defer);
	if (err)
		return err;
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

/* After how many ms a state is tried again if another task holds a lock that the state needs. */
#define BOLT_BUSY_MS 20

/**
 * bolt_settle_everywhere - run a state's pending teardowns, for all CPUs
 * @state:	the state; if it is not deferred there is nothing to do
 *
 * Called, among other cases, when an instance of the state is about to come or go.
 *
 * Context: as bolt_settle_state().
 */
void bolt_settle_everywhere(enum cpuhp_state state)
{
	unsigned int cpu;
	int err;

	if (!bolt_deferred(state))
		return;
	for_each_possible_cpu(cpu) {
		while ((err = bolt_settle_state(cpu, state))) {
			cond_resched();
			if (err == -EBUSY)
				msleep(BOLT_BUSY_MS);
		}
	}
}

/**
 * bolt_forget_state - settle a hotplug state that is being removed
 * @state:	the state
 *
 * Runs the teardown for all CPUs for which it is pending, while the code of the
 * teardown is still there.
 *
 * Context: as bolt_settle_state().
 */
void bolt_forget_state(enum cpuhp_state state)
{
	unsigned int cpu;

	bolt_settle_everywhere(state);
	for_each_possible_cpu(cpu)
		bolt_forget_entries(cpu, state);
	bolt_forget_kept(state);
	bolt_drop_defer(state);
}

/*
 * Settles the highest pending state of @cpu whose class is @last or before, or a
 * part of that state. Returns 1, 0 if there was no such state, or -EBUSY as @settle does.
 */
static int bolt_settle_next(unsigned int cpu, enum bolt_class last)
{
	int state, err = 0;

	/* Takes the locks in any case, to wait for a task that runs teardowns of @cpu. */
	bolt_lock_states();
	state = bolt_next_to_settle(cpu, last);
	if (state >= 0)
		err = bolt_settle_state(cpu, state);
	bolt_unlock_states();
	if (err == -EBUSY)
		return err;
	return state >= 0;
}

/* Runs all pending teardowns of @cpu. */
static void bolt_settle_states(unsigned int cpu)
{
	int err;

	while ((err = bolt_settle_next(cpu, BOLT_ELIDE))) {
		if (err == -EBUSY)
			msleep(BOLT_BUSY_MS);
		cond_resched();
	}
}

/**
 * bolt_settle_cpu - make a CPU natively offline
 * @cpu:	the CPU; if it is neither parked nor warm there is nothing to do
 *
 * Context: may sleep. Takes the hotplug lock for reading once for every state,
 * so that a request waits at the most for the teardown of one state, or for one CPU that
 * leaves its wait in the kernel.
 */
void bolt_settle_cpu(unsigned int cpu)
{
	bolt_settle_states(cpu);
	bolt_warm_leave(cpumask_of(cpu));
}

/**
 * bolt_settle_mask - make CPUs natively offline
 * @mask:	the CPUs; CPUs that are neither parked nor warm are passed over
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
 * bolt_settle_all - make all CPUs that are parked or warm natively offline
 *
 * While Bolt is disabled no CPU is parked or warm, and this function takes no lock. So a
 * machine can be rebooted although a task that registers a hotplug state holds the locks
 * of bolt_lock_states(), and the callback that the task runs never returns.
 *
 * Context: as bolt_settle_cpu().
 */
void bolt_settle_all(void)
{
	if (bolt_enabled())
		bolt_settle_mask(cpu_possible_mask);
}

/* Whether a teardown of @cpu is pending whose class is @last or before. */
static bool bolt_owes(unsigned int cpu, enum bolt_class last)
{
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

/* The last class whose teardowns run when the settle delay is over. */
static enum bolt_class bolt_due_with_delay(void)
{
	return READ_ONCE(bolt_keep_for_delay) ? BOLT_ELIDE : BOLT_LAZY;
}

/* Runs the pending teardowns of @cpu whose class is @last or before. Returns 0 or -EBUSY. */
static int bolt_settle_due(unsigned int cpu, enum bolt_class last)
{
	int err = 1;

	while (err > 0 && bolt_owes(cpu, last)) {
		err = bolt_settle_next(cpu, last);
		cond_resched();
	}
	return min(err, 0);
}

/* Settles @cpu up to class @last, as the delay of @cpu is over or memory is short. */
static int bolt_settle_now(unsigned int cpu, enum bolt_class last)
{
	int err = bolt_settle_due(cpu, last);

	if (bolt_warm_must_end(cpu))
		bolt_warm_leave(cpumask_of(cpu));
	return err;
}

/*
 * Whether @cpu is to be settled when its delay is over: it has a teardown of class
 * @last or before pending, or waits in the kernel and must not stay there.
 */
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
	bool busy = false;
	s64 next = -1;

	for_each_possible_cpu(cpu) {
		s64 left;
		int err;

		err = bolt_settle_due(cpu, BOLT_ASYNC);
		busy |= err < 0;
		/*
		 * No lock is held here: the functions that settle look again, with the
		 * locks held.
		 */
		if (!bolt_awaits(cpu, pressure ? BOLT_ELIDE : last))
			continue;
		left = delay - ktime_ms_delta(ktime_get(),
					      READ_ONCE(per_cpu_ptr(&bolt_cpus, cpu)->parked_at));
		if (left <= 0 || pressure)
			err = bolt_settle_now(cpu, pressure ? BOLT_ELIDE : last);
		else if (next < 0 || left < next)
			next = left;
		busy |= err < 0;
	}
	if (busy) {
		/*
		 * A state may be busy for minutes, while a task takes memory offline. That
		 * must not hold up other CPUs.
		 */
		if (pressure)
			WRITE_ONCE(bolt_pressure, true);
		mod_delayed_work(system_dfl_wq, to_delayed_work(work),
				 msecs_to_jiffies(BOLT_BUSY_MS));
		return;
	}
	if (next < 0)
		return;
	/* This replaces the later time for which a request may have queued the work. */
	mod_delayed_work(system_dfl_wq, to_delayed_work(work),
			 msecs_to_jiffies(next) + 1);
	/*
	 * Another task may have queued the work to run at once, which mod_delayed_work()
	 * above has undone: check whether there is still a reason to run at once.
	 */
	if (READ_ONCE(bolt_settle_delay_ms) != delay || bolt_due_with_delay() != last ||
	    READ_ONCE(bolt_pressure) || bolt_any_async())
		mod_delayed_work(system_dfl_wq, to_delayed_work(work), 0);
}

static DECLARE_DELAYED_WORK(bolt_settler, bolt_settle_work);

/**
 * bolt_settle_later - queue the worker that settles CPUs
 * @cpu:	the CPU; if a teardown of class BOLT_ASYNC is pending for this CPU, the
 *		worker runs at once, otherwise at the latest when the settle delay is over
 *
 * The work is unbound, so that it runs even if the CPU that has queued it goes
 * offline.
 *
 * Context: hotplug lock not held, cpu_add_remove_lock held.
 */
void bolt_settle_later(unsigned int cpu)
{
	unsigned int delay = READ_ONCE(bolt_settle_delay_ms);

	if (bolt_owes(cpu, BOLT_ASYNC))
		mod_delayed_work(system_dfl_wq, &bolt_settler, 0);
	else
		queue_delayed_work(system_dfl_wq, &bolt_settler,
				   msecs_to_jiffies(delay));
}

/*
 * Has parked CPUs settled soon, as memory is short. Takes only locks of the workqueue and
 * of timers, as a task that reclaims memory may hold any other lock.
 */
static void bolt_settle_pressure(void)
{
	if (READ_ONCE(bolt_pressure))
		return;
	WRITE_ONCE(bolt_pressure, true);
	bolt_stats[BOLT_STAT_PRESSURE]++;
	mod_delayed_work(system_dfl_wq, &bolt_settler, 0);
}

/**
 * bolt_settle_delay - set the settle delay
 * @ms:		milliseconds from a CPU's last offline request to settling its lazy states
 *
 * Context: may sleep. The new value also counts for CPUs that are parked already.
 */
void bolt_settle_delay(unsigned int ms)
{
	WRITE_ONCE(bolt_settle_delay_ms, ms);
	mod_delayed_work(system_dfl_wq, &bolt_settler, 0);
}

/**
 * bolt_set_keep - set how long parked CPUs keep the objects of elided states
 * @for_delay:	true: until the settle delay is over; false: until memory is short
 *
 * Context: may sleep. The new value also counts for CPUs that are parked already.
 */
void bolt_set_keep(bool for_delay)
{
	WRITE_ONCE(bolt_keep_for_delay, for_delay);
	mod_delayed_work(system_dfl_wq, &bolt_settler, 0);
}

/**
 * bolt_override - move a state back to critical, or back to what its row says
 * @state:	the state; all states of its unit are moved with it
 * @critical:	true: to critical; false: to what the row says, also on whether @state
 *		is fit for requests for several CPUs
 *
 * Pending teardowns of these states run first.
 *
 * Context: may sleep; takes the hotplug lock.
 * Return: 0; -ENOENT if @critical, and no state is registered with this number.
 */
int bolt_override(enum cpuhp_state state, bool critical)
{
	enum bolt_unit unit;
	unsigned int s, cpu;

	bolt_lock_states();
	if (critical && !bolt_registered(state)) {
		bolt_unlock_states();
		return -ENOENT;
	}
	/* CPUHP_AP_ACTIVE: its rebuild of domains is pending as a state of its own. */
	if (state == CPUHP_AP_ACTIVE)
		bolt_settle_everywhere(BOLT_DOMAINS);
	unit = bolt_row(state).unit;
	for (s = 0; s < BOLT_NR_STATES; s++) {
		if (s != state &&
		    (unit == BOLT_NO_UNIT || bolt_row(s).unit != unit))
			continue;
		bolt_settle_everywhere(s);
		/* visibility.c forgets sysfs entries that native teardowns remove. */
		for_each_possible_cpu(cpu)
			bolt_forget_entries(cpu, s);
		bolt_set_overridden(s, critical);
	}
	if (!critical)
		bolt_forget_declared(state);
	bolt_unlock_states();
	return 0;
}

/*
 * A measure of the memory that @cpu keeps: the pages in its lists, and one object for
 * each pending state. bolt_kept() counts what each state keeps, but needs locks that a
 * task which reclaims memory may hold.
 */
static unsigned long bolt_held(unsigned int cpu)
{
	return bitmap_weight(bolt_pending(cpu)->states, BOLT_NR_STATES) +
	       bolt_pages_held(cpu);
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
	/* One scan settles all CPUs, so even a single object is worth a scan. */
	shrinker->batch = 1;
	shrinker_register(shrinker);
	return 0;
}
late_initcall(bolt_shrinker_init);

#include "tests/settle-kunit.h"

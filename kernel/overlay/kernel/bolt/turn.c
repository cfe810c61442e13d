// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turns: what CPUs of a batch do one after the other, and in which order.
 */
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>

#include "internal.h"

/* What keeps serial callbacks apart, where they may sleep and where not. */
static DEFINE_SEMAPHORE(bolt_turn_sem, 1);
static DEFINE_RAW_SPINLOCK(bolt_turn_lock);

/* Inside of bolt_turn_lock. */
static DEFINE_RAW_SPINLOCK(bolt_arrivals);

/**
 * bolt_set_round - which CPUs do something one after the other, in order
 * @round:	the CPUs, or NULL when it is over
 *
 * Context: the control task, inside a request.
 */
void bolt_set_round(const struct cpumask *round)
{
	bolt_batch->round = round;
}

/**
 * bolt_more_to_come - whether other CPUs of the batch are still to be where
 * this one is
 * @cpu:	the CPU
 *
 * What is done for all CPUs at once is done for the last.
 *
 * Context: what CPUs do one after the other: the callback of CPUHP_AP_ACTIVE,
 * run by the control task, and giving up interrupts.
 * Return: true if so.
 */
bool bolt_more_to_come(unsigned int cpu)
{
	return bolt_more_to_come_in(cpu, cpu_possible_mask);
}

/**
 * bolt_more_to_activate - as bolt_more_to_come(), of the CPU whose startup
 * callback the control task runs
 *
 * Context: that callback.
 * Return: true if so.
 */
bool bolt_more_to_activate(void)
{
	struct bolt_batch *batch = bolt_this_batch();

	return batch && bolt_more_to_come(batch->at);
}

/**
 * bolt_more_to_come_in - as bolt_more_to_come(), of some CPUs
 * @cpu:	the CPU
 * @mask:	which others count
 *
 * Context: as bolt_more_to_come().
 * Return: true if there are such.
 */
bool bolt_more_to_come_in(unsigned int cpu, const struct cpumask *mask)
{
	struct bolt_batch *batch = bolt_this_batch();

	return batch && batch->round &&
	       cpumask_next_and(cpu, batch->round, mask) < nr_cpu_ids;
}

/**
 * bolt_first_in - whether a CPU is the one that a question is asked for
 * @cpu:	the CPU
 * @mask:	the CPUs that the question is about
 *
 * What is asked once for all CPUs of a request is asked for the first of them.
 * An undo is not asked: the CPUs go back to where they were.
 *
 * Context: as bolt_more_to_come().
 * Return: true if no CPU of @mask is before it, and the request is not undone.
 */
bool bolt_first_in(unsigned int cpu, const struct cpumask *mask)
{
	struct bolt_batch *batch = bolt_this_batch();

	return batch && batch->round && !batch->undo &&
	       cpumask_first_and(batch->round, mask) == cpu;
}

/**
 * bolt_ap_lock - what follows is for one CPU of a batch at a time
 *
 * For what CPUs do on their way up outside of callbacks, and for parts of those
 * that overlap otherwise. A CPU that holds it must not wait for another CPU of
 * the batch. What it is for: Documentation/core-api/bolt.rst has a table.
 *
 * Context: a CPU that comes, interrupts off; bolt_ap_unlock() ends it.
 */
void bolt_ap_lock(void)
{
	if (!bolt_crowded())
		return;
	raw_spin_lock(&bolt_arrivals);
	__this_cpu_write(bolt_cpus.has_lock, true);
}

/**
 * bolt_ap_unlock - end of what bolt_ap_lock() has begun
 *
 * Context: as bolt_ap_lock().
 */
void bolt_ap_unlock(void)
{
	if (!__this_cpu_read(bolt_cpus.has_lock))
		return;
	__this_cpu_write(bolt_cpus.has_lock, false);
	raw_spin_unlock(&bolt_arrivals);
}

#if defined(CONFIG_LOCKDEP) || defined(CONFIG_BOLT_KUNIT_TEST)
/**
 * bolt_assert_ap_lock - what follows must not run on two CPUs of a batch at once
 *
 * Kernels for developers warn if the CPU has not called bolt_ap_lock() although
 * another CPU of the batch may be here as well.
 *
 * Context: a CPU that comes, interrupts off; or any CPU outside of requests.
 */
void bolt_assert_ap_lock(void)
{
	WARN_ON_ONCE(bolt_crowded() && bolt_arch_slots() > 1 &&
		     !__this_cpu_read(bolt_cpus.has_lock));
}
#endif

/* Whether callbacks of @state, if it has some, run for one CPU at a time. */
static bool bolt_serial(enum cpuhp_state state)
{
	return !bolt_concurrent(state) || bolt_overridden(state);
}

static bool bolt_has_serial(enum cpuhp_state state)
{
	return (bolt_glue_has(state, true) || bolt_glue_has(state, false)) &&
	       bolt_serial(state);
}

/**
 * bolt_find_serial - note which states of a batch's hotplug threads are serial
 * @batch:	the batch
 *
 * Context: hotplug lock held for writing.
 */
void bolt_find_serial(struct bolt_batch *batch)
{
	unsigned int low = CPUHP_AP_ONLINE_IDLE, high = CPUHP_AP_ACTIVE - 1;

	while (low < high && !bolt_has_serial(low))
		low++;
	while (high > low && !bolt_has_serial(high))
		high--;
	batch->serial_low = low;
	batch->serial_high = high;
}

/**
 * bolt_turn_over - this CPU lets others run their serial callbacks
 *
 * Context: a hotplug thread, inside a request or not.
 */
void bolt_turn_over(void)
{
	struct bolt_cpu *bc = this_cpu_ptr(&bolt_cpus);

	if (!bc->has_turn)
		return;
	bc->has_turn = false;
	up(&bolt_turn_sem);
}

/**
 * bolt_turn_begin - a callback is due: wait for those of other CPUs
 * @state:	its state
 *
 * Serial callbacks of several CPUs do not run at once. A hotplug thread has its
 * turn from the first of them to the last, with all that lies in between: to
 * hand it over takes longer than most callbacks.
 *
 * Context: where the callback runs; sleeps if that may.
 * Return: what bolt_turn_end() needs.
 */
bool bolt_turn_begin(enum cpuhp_state state)
{
	/* Callbacks run inside hotplug operations only: no need to ask whose it is. */
	struct bolt_batch *batch = READ_ONCE(bolt_batch);
	struct bolt_cpu *bc;

	/* Until a CPU is woken, and after its death, the control task works alone. */
	if (state < CPUHP_AP_IDLE_DEAD || state >= CPUHP_AP_ACTIVE ||
	    state == CPUHP_TEARDOWN_CPU || !batch || batch->alone)
		return false;
	if (state < CPUHP_AP_ONLINE) {
		if (!bolt_serial(state))
			return false;
		while (!raw_spin_trylock(&bolt_turn_lock))
			bolt_glue_relax();
		return true;
	}
	if (state < batch->serial_low || state > batch->serial_high) {
		bolt_turn_over();
		return false;
	}
	bc = this_cpu_ptr(&bolt_cpus);
	if (!bc->has_turn) {
		down(&bolt_turn_sem);
		bc->has_turn = true;
	}
	return false;
}

/**
 * bolt_turn_end - a callback is over
 * @locked:	what bolt_turn_begin() has returned
 *
 * Context: as bolt_turn_begin().
 */
void bolt_turn_end(bool locked)
{
	if (locked)
		raw_spin_unlock(&bolt_turn_lock);
}

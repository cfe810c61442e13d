// SPDX-License-Identifier: GPL-2.0-only
/*
 * What all files of kernel/bolt share: which request is under way, whether the caller
 * is a part of that request, which CPUs a phase is about, which callback has failed,
 * and how often each callback ran. Every file of Bolt may call these functions, and
 * hooks that ask about the request call some. Of Bolt, this file calls only glue.c.
 */

#include <linux/cpu.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/mmzone.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "state.h"

#define CREATE_TRACE_POINTS
#include <trace/events/bolt.h>

DEFINE_PER_CPU(struct bolt_cpu, bolt_cpus);

/* CPUs that have a teardown pending. */
struct cpumask bolt_parked_mask;

/*
 * The parked CPUs that may keep per-CPU data, for code that walks the online CPUs
 * to drain or add up such data: law 3 of Documentation/core-api/bolt.rst. A CPU
 * enters this mask before its first teardown is deferred.
 */
struct cpumask bolt_undrained_mask;
EXPORT_SYMBOL_GPL(bolt_undrained_mask);

/* These two variables are written with cpu_add_remove_lock held. */
bool bolt_on;
u64 bolt_batches;

/* The request that is under way; NULL unless the hotplug lock is held for writing. */
struct bolt_batch *bolt_batch;

/* The task that carries the request out, or NULL: the control thread; in boot, PID 1. */
struct task_struct *bolt_control_task;

/*
 * The CPU on which the task that asks for the request sleeps until the control task is
 * done; UINT_MAX if no task sleeps.
 */
unsigned int bolt_asker_cpu = UINT_MAX;

/*
 * CPUs that the last request could not put back. Written with cpu_add_remove_lock
 * held.
 */
struct cpumask bolt_lost;

/* There is one request at a time, so these variables exist once. */
struct cpumask bolt_round;
struct bolt_stop *bolt_stopping;

/* Set when law 2 was broken: Bolt must not be enabled again. */
bool bolt_is_broken;
struct work_struct bolt_disabler;

/* Whether callbacks are timed, which costs two readings of the clock for each. */
DEFINE_STATIC_KEY_FALSE(bolt_timing);

/* Atomic, as several CPUs that run callbacks may write bolt_counts[] at once. */
struct bolt_count bolt_counts[BOLT_NR_STATES];
u64 bolt_stats[BOLT_STATS];

/**
 * bolt_enabled - whether Bolt is enabled
 *
 * Context: any. Without cpu_add_remove_lock, Bolt may be enabled or disabled meanwhile.
 * Return: true if so.
 */
bool bolt_enabled(void)
{
	return READ_ONCE(bolt_on);
}

/* Whether the caller is the hotplug thread of its CPU. */
static bool bolt_is_hotplug_thread(void)
{
	/*
	 * If the caller is moved meanwhile, the next line reads the thread of another
	 * CPU; but the hotplug thread itself cannot be moved.
	 */
	return raw_cpu_ptr(bolt_cpuhp_states)->thread == current;
}

/*
 * Whether the caller is the control task, a hotplug thread, or a CPU that goes or
 * comes.
 */
static bool bolt_takes_part(void)
{
	if (READ_ONCE(bolt_control_task) == current)
		return true;
	if (raw_cpu_read(bolt_cpus.transit) &&
	    (irqs_disabled() || is_idle_task(current)))
		return true;
	return bolt_is_hotplug_thread();
}

/**
 * bolt_current_batch - return the request of which the caller is a part
 *
 * The control task, hotplug threads, and CPUs that go or come are parts of a
 * request. Any other task that runs at the same time, on any CPU, must not take the
 * request for its own. With CONFIG_PROVE_LOCKING the kernel warns of such a caller,
 * because no other hotplug operation can be under way during a request.
 *
 * Context: code that runs inside a hotplug operation, on any CPU.
 * Return: the request, or NULL if there is none or the caller is no part of it.
 */
static struct bolt_batch *bolt_current_batch(void)
{
	struct bolt_batch *batch = READ_ONCE(bolt_batch);

	if (!batch || bolt_takes_part())
		return batch;
	WARN_ONCE(IS_ENABLED(CONFIG_PROVE_LOCKING),
		  "a task outside of the request asks about the request\n");
	return NULL;
}

/**
 * bolt_in_request - whether the hotplug operation that is under way is a request of
 * Bolt
 *
 * Context: code that runs inside a hotplug operation, on any CPU.
 * Return: true if so.
 */
bool bolt_in_request(void)
{
	return bolt_current_batch();
}

/**
 * bolt_is_control_task - whether the caller is the control task of a request
 *
 * Context: any task.
 * Return: true if so.
 */
bool bolt_is_control_task(void)
{
	return READ_ONCE(bolt_control_task) == current;
}

/**
 * bolt_asker_sleeps_on - whether the task that asks for a request sleeps on a CPU
 * @cpu:	the CPU
 *
 * Context: any. That task may have been moved since, so that the result is only a hint.
 * Return: true if so.
 */
bool bolt_asker_sleeps_on(unsigned int cpu)
{
	return READ_ONCE(bolt_asker_cpu) == cpu;
}

/**
 * bolt_may_defer - whether the request may defer teardowns, park CPUs warm and the like
 *
 * Context: as bolt_in_request().
 * Return: true if so; false outside of requests, and in suspend, boot, reboot and kexec.
 */
bool bolt_may_defer(void)
{
	struct bolt_batch *batch = bolt_current_batch();

	return batch && !(batch->flags & BOLT_NO_DEFER);
}

/**
 * bolt_several_cpus - whether the request is for several CPUs
 *
 * Context: as bolt_in_request().
 * Return: true if so.
 */
bool bolt_several_cpus(void)
{
	struct bolt_batch *batch = bolt_current_batch();

	return batch && !batch->alone;
}

/**
 * bolt_woken_cpu_alive - whether the CPU that is being woken runs kernel code
 *
 * A CPU that runs kernel code needs no further startup IPI.
 *
 * Context: the task that wakes the CPU, inside a hotplug operation.
 * Return: true if so; always false outside of requests.
 */
bool bolt_woken_cpu_alive(void)
{
	struct bolt_batch *batch = bolt_current_batch();

	return batch && bolt_cpu_alive(batch->waking);
}

/**
 * bolt_is_last - whether a CPU is the last one for which a callback runs
 * @cpu:	the CPU
 *
 * Work that a request does once for all its CPUs is done in the callback of the last CPU.
 *
 * Context: the callback of CPUHP_AP_ACTIVE, which the control task runs for one CPU
 * after the other.
 * Return: true if no CPU of the request follows @cpu; always true outside of
 * requests.
 */
bool bolt_is_last(unsigned int cpu)
{
	return bolt_is_last_in(cpu, cpu_possible_mask);
}

/**
 * bolt_is_last_to_activate - as bolt_is_last(), for the CPU whose startup callback
 * the control task runs
 *
 * Context: the startup callback of CPUHP_AP_ACTIVE.
 * Return: as bolt_is_last().
 */
bool bolt_is_last_to_activate(void)
{
	struct bolt_batch *batch = bolt_current_batch();

	return !batch || bolt_is_last(batch->at);
}

/**
 * bolt_is_last_in - as bolt_is_last(), counting only CPUs of a mask
 * @cpu:	the CPU
 * @mask:	the CPUs that count
 *
 * Context: as bolt_is_last().
 * Return: true if no CPU of @mask in the request follows @cpu, and outside of requests.
 */
bool bolt_is_last_in(unsigned int cpu, const struct cpumask *mask)
{
	struct bolt_batch *batch = bolt_current_batch();

	return !batch || !batch->round ||
	       cpumask_next_and(cpu, batch->round, mask) >= nr_cpu_ids;
}

/**
 * bolt_is_first_in - whether a CPU is the first CPU of bolt_round that is in a mask
 * @cpu:	the CPU
 * @mask:	the CPUs that count
 *
 * A check that concerns all CPUs of a request is made for the first of them. In an
 * undo the check is left out, as the CPUs only go back to the states in which the
 * request found them.
 *
 * Context: the control task, after bolt_set_round().
 * Return: true if @cpu is the first of these CPUs, and the request is neither being undone
 * nor part of the boot; false outside of requests, and while bolt_round is not set.
 */
bool bolt_is_first_in(unsigned int cpu, const struct cpumask *mask)
{
	struct bolt_batch *batch = bolt_current_batch();

	return batch && batch->round && !batch->undo &&
	       cpumask_first_and(batch->round, mask) == cpu;
}

/**
 * bolt_find - find the CPUs of a request that a phase is about
 * @mask:	CPUs of the request
 * @low:	the lowest state at which the phase takes a CPU
 * @high:	the highest state at which the phase takes a CPU
 * @up:		whether the phase brings CPUs up
 *
 * Fills bolt_round with the CPUs of @mask that are between @low and @high, and
 * have not reached their goal.
 *
 * Context: the control task, inside a request.
 * Return: true if there are such CPUs.
 */
bool bolt_find(const struct cpumask *mask, enum cpuhp_state low,
	       enum cpuhp_state high, bool up)
{
	unsigned int cpu;

	cpumask_clear(&bolt_round);
	for_each_cpu(cpu, mask) {
		enum cpuhp_state state = bolt_cpu_state(cpu);

		if (state >= low && state <= high &&
		    (up ? bolt_goal(cpu) > state : bolt_goal(cpu) < state))
			__cpumask_set_cpu(cpu, &bolt_round);
	}
	return !cpumask_empty(&bolt_round);
}

/**
 * bolt_phase_end - trace how long a phase of the request took
 * @phase:	the phase, which ends here
 *
 * Context: the control task, inside a hotplug operation.
 */
void bolt_phase_end(enum bolt_phase phase)
{
	struct bolt_batch *batch = bolt_batch;
	ktime_t now;

	if (!batch || !trace_bolt_phase_enabled())
		return;
	now = ktime_get();
	trace_bolt_phase(batch->id, batch->first, phase,
			 ktime_to_ns(ktime_sub(now, batch->last)));
	batch->last = now;
}

/**
 * bolt_run_timed - add the time of a callback to the counts of its state
 * @state:	the callback's state
 * @start:	time in nanoseconds when the callback began
 *
 * Context: where the callback has run; interrupts may be off.
 */
void bolt_run_timed(enum cpuhp_state state, u64 start)
{
	atomic64_add(local_clock() - start, &bolt_counts[state].ns);
}

/**
 * bolt_callback_failed - note that a callback has failed
 * @cpu:	the CPU
 * @state:	the callback's state
 * @err:	negative error number that the callback has returned
 *
 * The first callback that fails is the reason why the request is undone. In the
 * undo, the first callback that fails for a CPU is the reason if that CPU is not put
 * back. A request of the boot is not undone, but its first failure is noted as well.
 *
 * Context: any, also in the stop. A call outside of a request has no effect.
 */
void bolt_callback_failed(unsigned int cpu, enum cpuhp_state state, int err)
{
	struct bolt_batch *batch = bolt_batch;

	if (!batch)
		return;
	guard(raw_spinlock_irqsave)(&batch->lock);
	if (batch->undo && !(batch->flags & BOLT_BOOT)) {
		struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);

		if (bc->failed == CPUHP_INVALID)
			bc->failed = state;
		return;
	}
	if (batch->err)
		return;
	batch->culprit = cpu;
	/* cpuhp_refused() reads this without the lock. */
	WRITE_ONCE(batch->err, err);
	strscpy(batch->failed, bolt_state_name(state) ?: "unnamed", sizeof(batch->failed));
}

/**
 * bolt_inject - check whether cpuN/hotplug/fail asks a callback to fail
 * @cpu:	the CPU
 * @state:	the callback's state
 *
 * Context: the task that would run the callback, inside a request.
 * Return: 0, or -EAGAIN if the callback is to fail.
 */
int bolt_inject(unsigned int cpu, enum cpuhp_state state)
{
	struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);

	if (st->fail != state)
		return 0;
	st->fail = CPUHP_INVALID;
	bolt_callback_failed(cpu, state, -EAGAIN);
	return -EAGAIN;
}

/**
 * bolt_pages_held - how many pages are in the page lists of a CPU
 * @cpu:	the CPU
 *
 * Context: any.
 * Return: the number, which is out of date at once unless the CPU is offline.
 */
unsigned long bolt_pages_held(unsigned int cpu)
{
	unsigned long pages = 0;
	struct zone *zone;

	for_each_populated_zone(zone)
		pages += READ_ONCE(per_cpu_ptr(zone->per_cpu_pageset, cpu)->count);
	return pages;
}

/**
 * bolt_broken - disable Bolt for good, as law 2 does not hold
 * @cpu:	the CPU
 * @state:	the state for which the law does not hold
 * @what:	what was found
 *
 * Warns once, and queues a work of request.c that settles all CPUs and disables
 * Bolt.
 *
 * Context: any.
 */
void bolt_broken(unsigned int cpu, enum cpuhp_state state, const char *what)
{
	WRITE_ONCE(bolt_is_broken, true);
	WARN_ONCE(1, "bolt: CPU %u, hotplug state %d: %s\n", cpu, state, what);
	queue_work(system_dfl_wq, &bolt_disabler);
}

#include "tests/state-kunit.h"

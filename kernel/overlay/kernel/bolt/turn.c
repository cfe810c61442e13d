// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turns: what CPUs of a request do one after the other. cpuhp_invoke_callback()
 * calls bolt_serialize() before every callback, so that the callbacks that policy.c
 * calls serial run for one CPU at a time. Some steps on the way up must not overlap, but
 * are not callbacks, or are only a part of one: for these a CPU calls bolt_ap_lock().
 */

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/lockdep.h>
#include <linux/nmi.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>

#include "policy.h"
#include "state.h"
#include "steps.h"
#include "turn.h"

/*
 * Locks that keep serial callbacks apart: the semaphore for callbacks that may
 * sleep, the spinlock for callbacks that may not.
 */
static DEFINE_SEMAPHORE(bolt_serial_sem, 1);
static DEFINE_RAW_SPINLOCK(bolt_serial_lock);

#ifdef CONFIG_LOCKDEP
/*
 * The semaphore, for lockdep. A hotplug thread keeps the semaphore from one callback
 * to the next, but lockdep is told that the thread takes the semaphore before each of
 * these callbacks, and gives the semaphore back after the callback.
 */
struct lockdep_map bolt_serial_map =
	STATIC_LOCKDEP_MAP_INIT("bolt_serial_sem", &bolt_serial_map);
#endif

/* The lock of bolt_ap_lock(). May be taken while bolt_serial_lock is held. */
static DEFINE_RAW_SPINLOCK(bolt_arrivals);

/**
 * bolt_ap_lock - begin a section that only one CPU of a batch runs at a time
 *
 * The section is a step of the way up outside of callbacks, or a part of a callback
 * whose other parts several CPUs may run at once. A CPU that has the lock must not wait
 * for another CPU of the request. Documentation/core-api/bolt.rst has a table of what
 * is done under the lock.
 *
 * Context: a CPU that comes, interrupts off; bolt_ap_unlock() ends the section.
 */
void bolt_ap_lock(void)
{
	if (!bolt_several_cpus())
		return;
	raw_spin_lock(&bolt_arrivals);
	__this_cpu_write(bolt_cpus.has_lock, true);
}

/**
 * bolt_ap_unlock - end the section that bolt_ap_lock() has begun
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

static bool bolt_try_arrivals(void)
{
	unsigned int us;

	for (us = 0; us < 1000; us++) {
		if (raw_spin_trylock(&bolt_arrivals)) {
			__this_cpu_write(bolt_cpus.has_lock, true);
			return true;
		}
		udelay(1);
	}
	return false;
}

/**
 * bolt_ap_lock_for_late - keep a CPU that is late out of sections of bolt_ap_lock()
 *
 * A CPU is late if the task that has woken the CPU has given up waiting for the CPU to
 * come. Such a CPU may be inside a section, or may hang there for ever, so that task
 * waits for the lock for a millisecond at most.
 *
 * Context: the task that has woken the CPU, preemption on; after success
 * bolt_ap_unlock() ends the section, and the task must not sleep before.
 * Return: true if the CPU is kept out. Always false in a request for one CPU, as that
 * CPU does not take the lock.
 */
bool bolt_ap_lock_for_late(void)
{
	return bolt_several_cpus() && bolt_try_arrivals();
}

#if defined(CONFIG_LOCKDEP) || defined(CONFIG_BOLT_KUNIT_TEST)
/**
 * bolt_assert_ap_lock - warn if two CPUs of a batch may run this code at once
 *
 * Kernels with lockdep or KUnit tests warn if this CPU has not called bolt_ap_lock()
 * although another CPU of the batch may run the same code.
 *
 * Context: a CPU that comes, interrupts off; or any CPU outside of requests.
 */
void bolt_assert_ap_lock(void)
{
	WARN_ON_ONCE(bolt_several_cpus() && bolt_arch_slots() > 1 &&
		     !__this_cpu_read(bolt_cpus.has_lock));
}
#endif

/* Finds the lowest and highest serial startup, or teardown, of hotplug threads. */
static void bolt_find_range(struct bolt_batch *batch, bool bringup)
{
	unsigned int low = CPUHP_AP_ACTIVE, high = CPUHP_OFFLINE, state;

	state = bolt_step_from(bringup ? CPUHP_AP_ONLINE_IDLE : CPUHP_AP_ACTIVE - 1, bringup);
	while (state >= CPUHP_AP_ONLINE_IDLE && state < CPUHP_AP_ACTIVE) {
		if (READ_ONCE(bolt_known[state].serial[bringup])) {
			low = min(low, state);
			high = max(high, state);
		}
		state = bolt_step_from(bringup ? state + 1 : state - 1, bringup);
	}
	batch->serial_low[bringup] = low;
	batch->serial_high[bringup] = high;
}

/**
 * bolt_find_serial - find the serial startups and teardowns of hotplug threads
 * @batch:	the batch
 *
 * Context: hotplug lock held for writing.
 */
void bolt_find_serial(struct bolt_batch *batch)
{
	bolt_find_range(batch, true);
	bolt_find_range(batch, false);
}

/**
 * bolt_serial_leave - let another CPU run its serial callbacks
 *
 * Context: a hotplug thread, inside a request or not.
 */
void bolt_serial_leave(void)
{
	struct bolt_cpu *bc = this_cpu_ptr(&bolt_cpus);

	if (!bc->may_run_serial)
		return;
	bc->may_run_serial = false;
	up(&bolt_serial_sem);
}

/**
 * bolt_relax - one step of a wait for another CPU, with interrupts off
 *
 * The other CPU may run a callback of a driver for long. The watchdog should then report
 * that CPU, not this one, which only waits. In the stop, RCU does not wait for this CPU.
 *
 * Context: interrupts off, inside a request.
 */
void bolt_relax(void)
{
	cpu_relax();
	touch_nmi_watchdog();
	if (bolt_stopping)
		rcu_momentary_eqs();
}

/**
 * bolt_serial_begin - before a callback, wait for serial callbacks of other CPUs
 * @state:	the callback's state, see bolt_serial_enter()
 * @bringup:	true if the callback is a startup; false if it is a teardown
 *
 * Serial callbacks of several CPUs do not run at once. A hotplug thread keeps its
 * turn for all its callbacks from the lowest serial state to the highest, also for
 * callbacks that are not serial, because to hand the turn over takes longer than most
 * callbacks.
 *
 * Context: where the callback runs; sleeps if the callback may.
 * Return: what the callback holds.
 */
enum bolt_turn bolt_serial_begin(enum cpuhp_state state, bool bringup)
{
	if (state < CPUHP_AP_ONLINE) {
		if (!READ_ONCE(bolt_known[state].serial[bringup]))
			return BOLT_NO_TURN;
		while (!raw_spin_trylock(&bolt_serial_lock))
			bolt_relax();
		return BOLT_SPIN_TURN;
	}
	if (!bolt_in_serial_range(bolt_batch, state, bringup)) {
		bolt_serial_leave();
		return BOLT_NO_TURN;
	}
	/*
	 * Lockdep is told before the wait, so that it reports a possible deadlock
	 * even if none occurs.
	 */
	lock_map_acquire(&bolt_serial_map);
	/* A thread that has the semaphore already does not get here. */
	down(&bolt_serial_sem);
	__this_cpu_write(bolt_cpus.may_run_serial, true);
	return BOLT_KEPT_TURN;
}

/**
 * bolt_serial_end - let serial callbacks of other CPUs run
 *
 * Context: as bolt_serial_begin(), which has returned BOLT_SPIN_TURN.
 */
void bolt_serial_end(void)
{
	raw_spin_unlock(&bolt_serial_lock);
}

#include "tests/turn-kunit.h"

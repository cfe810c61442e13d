// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turns: what CPUs of a request do one after the other. cpuhp_invoke_callback()
 * calls bolt_serialize() before every callback, so that those of a serial state
 * run for one CPU at a time; a CPU that comes takes bolt_ap_lock() for what it
 * does outside of callbacks.
 */

#include <linux/cpumask.h>
#include <linux/nmi.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>

#include "policy.h"
#include "state.h"
#include "steps.h"
#include "turn.h"

/* What keeps serial callbacks apart, where they may sleep and where not. */
static DEFINE_SEMAPHORE(bolt_serial_sem, 1);
static DEFINE_RAW_SPINLOCK(bolt_serial_lock);

/* Inside of bolt_serial_lock. */
static DEFINE_RAW_SPINLOCK(bolt_arrivals);

/**
 * bolt_ap_lock - what follows is for one CPU of a batch at a time
 *
 * For what CPUs do on their way up outside of callbacks, and for parts of
 * callbacks that overlap otherwise. A CPU that has the lock must not wait for
 * another CPU of the request. Documentation/core-api/bolt.rst has a table of what
 * is done under the lock.
 *
 * Context: a CPU that comes, interrupts off; bolt_ap_unlock() ends it.
 */
void bolt_ap_lock(void)
{
	if (!bolt_several_cpus())
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
	WARN_ON_ONCE(bolt_several_cpus() && bolt_arch_slots() > 1 &&
		     !__this_cpu_read(bolt_cpus.has_lock));
}
#endif

static bool bolt_has_serial(enum cpuhp_state state)
{
	return (bolt_state_has(state, true) || bolt_state_has(state, false)) &&
	       READ_ONCE(bolt_known[state].serial);
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
 * bolt_serial_leave - this CPU lets others run their serial callbacks
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
 * The other CPU may take its time, in a callback of any driver. What watches for
 * CPUs that hang is to look at that CPU, not at this one.
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
 * bolt_serial_begin - a callback is due: wait for those of other CPUs
 * @state:	its state, see bolt_serial_enter()
 *
 * Serial callbacks of several CPUs do not run at once. A hotplug thread has its
 * turn from the first of them to the last, with all that lies in between: to
 * hand it over takes longer than most callbacks.
 *
 * Context: where the callback runs; sleeps if that may.
 * Return: true if bolt_serial_end() is to be called.
 */
bool bolt_serial_begin(enum cpuhp_state state)
{
	struct bolt_batch *batch = bolt_batch;
	struct bolt_cpu *bc;

	if (state < CPUHP_AP_ONLINE) {
		if (!READ_ONCE(bolt_known[state].serial))
			return false;
		while (!raw_spin_trylock(&bolt_serial_lock))
			bolt_relax();
		return true;
	}
	if (state < batch->serial_low || state > batch->serial_high) {
		bolt_serial_leave();
		return false;
	}
	bc = this_cpu_ptr(&bolt_cpus);
	if (!bc->may_run_serial) {
		down(&bolt_serial_sem);
		bc->may_run_serial = true;
	}
	return false;
}

/**
 * bolt_serial_end - a callback is over
 *
 * Context: as bolt_serial_begin(), which has returned true.
 */
void bolt_serial_end(void)
{
	raw_spin_unlock(&bolt_serial_lock);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deferring: what stands in for a callback of a hotplug state that may wait.
 * cpuhp_invoke_callback() of kernel/cpu.c calls bolt_intercept() before every
 * callback, on the way down of a CPU and on its way up, whoever asks for it: a
 * teardown may be deferred, and the startup of a state whose teardown is pending
 * is skipped, by which the teardown is cancelled. Which states may wait is in
 * policy.c; whether a state may wait on this CPU now is decided here; what is done
 * about a teardown that was not cancelled is in settle.c. The rebuild of scheduler
 * domains is no callback and does not pass here: see domains.c.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <trace/events/bolt.h>

#include "policy.h"
#include "settle.h"
#include "state.h"
#include "visibility.h"
#include "warm.h"

static void bolt_defer_teardown(unsigned int cpu, enum cpuhp_state state,
				const struct bolt_defer *defer)
{
	cpumask_set_cpu(cpu, &bolt_parked_mask);
	if (defer->at_once)
		defer->at_once(cpu);
	bolt_set_add(bolt_pending(cpu), state);
	atomic64_inc(&bolt_counts[state].skips);
	trace_bolt_defer(cpu, state);
}

static int bolt_cancel_teardown(unsigned int cpu, enum cpuhp_state state,
				const struct bolt_defer *defer)
{
	int err = 0;

	if (defer->restart)
		err = bolt_cpuhp_step(state)->startup.single(cpu);
	else if (defer->cancel)
		err = defer->cancel(cpu);
	if (err) {
		/* As a startup that fails: nothing of the state is left. */
		while (bolt_tear_down(cpu, state, defer) == -EAGAIN)
			;
		bolt_set_remove(bolt_pending(cpu), state);
		return err;
	}
	bolt_set_remove(bolt_pending(cpu), state);
	bolt_show(cpu, state);
	atomic64_inc(&bolt_counts[state].skips);
	trace_bolt_cancel(cpu, state);
	return 0;
}

/**
 * bolt_unit_pending - whether a teardown of a unit is pending
 * @cpu:	the CPU
 * @unit:	the unit
 *
 * Context: hotplug lock held for writing.
 * Return: true if so.
 */
static bool bolt_unit_pending(unsigned int cpu, enum bolt_unit unit)
{
	unsigned int state;

	for_each_set_bit(state, bolt_pending(cpu)->states, BOLT_NR_STATES) {
		if (bolt_row(state).unit == unit)
			return true;
	}
	return false;
}

/* Whether a startup is skipped; @ret is then what it would have returned. */
static bool bolt_skip_startup(unsigned int cpu, enum cpuhp_state state,
			      const struct bolt_defer *defer, int *ret)
{
	enum bolt_unit unit;

	if (bolt_set_has(bolt_pending(cpu), state)) {
		*ret = bolt_cancel_teardown(cpu, state, defer);
		return true;
	}
	if (bolt_state_has(state, false))
		return false;
	unit = bolt_row(state).unit;
	if (unit == BOLT_NO_UNIT || !bolt_unit_pending(cpu, unit))
		return false;
	atomic64_inc(&bolt_counts[state].skips);
	return true;
}

/* Whether a teardown is deferred. */
static bool bolt_skip_teardown(unsigned int cpu, enum cpuhp_state state,
			       const struct bolt_defer *defer)
{
	if (bolt_set_has(bolt_pending(cpu), state)) {
		if (bolt_state_has(state, true)) {
			bolt_broken(cpu, state, "the teardown would run twice");
			return true;
		}
		/* A teardown without startup was owed until the return, which has failed. */
		bolt_set_remove(bolt_pending(cpu), state);
	}
	if (!bolt_may_defer() || (defer->may_defer && !defer->may_defer(cpu)) ||
	    bolt_hide(cpu, state, defer)) {
		bolt_forget_entries(cpu, state);
		return false;
	}
	bolt_defer_teardown(cpu, state, defer);
	return true;
}

/**
 * bolt_intercept - defer a teardown, or cancel one, in place of a callback
 * @cpu:	the CPU
 * @state:	the state whose callback is due
 * @bringup:	startup, or teardown
 * @ret:	where to put what the callback would have returned
 *
 * A startup is skipped exactly when its teardown is pending, in a request of
 * Bolt and in any other bring-up. Without memory to defer a state's teardown,
 * the teardown runs.
 *
 * Context: where the callback would run, hotplug lock held for writing.
 * Return: true if the callback must not run.
 */
bool bolt_intercept(unsigned int cpu, enum cpuhp_state state, bool bringup,
		    int *ret)
{
	const struct bolt_defer *defer = bolt_deferred(state);

	if (!defer)
		return false;
	*ret = 0;
	return bringup ? bolt_skip_startup(cpu, state, defer, ret) :
			 bolt_skip_teardown(cpu, state, defer);
}

/**
 * bolt_bringup_done - a bring-up is over
 * @cpu:	the CPU
 *
 * A teardown without a startup is no longer owed when the CPU is back. After a
 * bring-up that failed it still is.
 *
 * Context: hotplug lock held for writing.
 */
void bolt_bringup_done(unsigned int cpu)
{
	struct bolt_set *pending = bolt_pending(cpu);
	unsigned int state;

	bolt_warm_forget(cpu);
	if (!cpumask_test_cpu(cpu, &bolt_parked_mask))
		return;
	for_each_set_bit(state, pending->states, BOLT_NR_STATES) {
		if (bolt_cpu_below(cpu, state) ||
		    bolt_state_has(state, true))
			continue;
		bolt_set_remove(pending, state);
		trace_bolt_cancel(cpu, state);
	}
	if (!bolt_set_empty(pending))
		return;
	/* Readers look at this mask first: the CPU must be in cpu_online_mask by now. */
	smp_mb__before_atomic();
	cpumask_clear_cpu(cpu, &bolt_parked_mask);
}

#include "tests/defer-kunit.h"

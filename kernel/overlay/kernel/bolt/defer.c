// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deferring: what is done in place of a callback if the teardown of its hotplug state
 * may be deferred. cpuhp_invoke_callback() of kernel/cpu.c calls bolt_intercept() before
 * every callback, on the way down of a CPU and on its way up, in requests and in native
 * operations; but not when a single instance is added or removed. Only in a request does
 * bolt_intercept() defer a teardown. The startup of a state whose teardown is pending is
 * skipped, unless @restart of struct bolt_defer is set; either way the teardown is
 * cancelled, or, if that fails, runs. In a request, bolt_walk() goes from one state that
 * has something to run to the next, and bolt_pass() itself defers or cancels the
 * teardowns for which a bit in the pending set is all that changes. policy.c says which
 * teardowns may be deferred; this file decides whether a teardown is deferred for a CPU
 * now; settle.c runs the teardowns that were not cancelled. The rebuild of scheduler
 * domains is no callback and is deferred in domains.c.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <trace/events/bolt.h>

#include "settle.h"
#include "started.h"
#include "state.h"
#include "steps.h"
#include "visibility.h"
#include "warm.h"

/* Adds the teardown of @state to the pending set. */
static void bolt_note_deferred(unsigned int cpu, enum cpuhp_state state)
{
	bolt_set_add(bolt_pending(cpu), state);
	atomic64_inc(&bolt_counts[state].skips);
	trace_bolt_defer(cpu, state);
}

/* Removes the teardown of @state from the pending set, as @cpu has come back. */
static void bolt_note_cancelled(unsigned int cpu, enum cpuhp_state state, bool skipped)
{
	bolt_set_remove(bolt_pending(cpu), state);
	if (skipped)
		atomic64_inc(&bolt_counts[state].skips);
	trace_bolt_cancel(cpu, state);
}

static void bolt_defer_teardown(unsigned int cpu, enum cpuhp_state state,
				const struct bolt_defer *defer)
{
	bolt_note_parked(cpu);
	if (defer->at_once)
		defer->at_once(cpu);
	bolt_note_deferred(cpu, state);
}

static int bolt_cancel_teardown(unsigned int cpu, enum cpuhp_state state,
				const struct bolt_defer *defer)
{
	int err = 0;

	if (defer->restart) {
		bolt_account(state);
		err = bolt_cpuhp_step(state)->startup.single(cpu);
	} else if (defer->cancel) {
		err = defer->cancel(cpu);
	}
	if (err) {
		/* As after a startup that has failed, nothing of the state may be left. */
		while (bolt_tear_down(cpu, state, defer))
			;
		bolt_set_remove(bolt_pending(cpu), state);
		return err;
	}
	bolt_show(cpu, state);
	bolt_note_cancelled(cpu, state, !defer->restart);
	return 0;
}

/*
 * Cancels the teardown in place of a startup, if the teardown is pending. Returns whether
 * it was pending; @ret is then what cpuhp_invoke_callback() returns for the startup.
 */
static bool bolt_skip_startup(unsigned int cpu, enum cpuhp_state state,
			      const struct bolt_defer *defer, int *ret)
{
	if (!bolt_set_has(bolt_pending(cpu), state))
		return false;
	*ret = bolt_cancel_teardown(cpu, state, defer);
	return true;
}

/*
 * As bolt_may_defer(), for code that runs callbacks for @cpu, and so is always a part of
 * the request, if one is under way. If @last of struct cpuhp_cpu_state is set, a startup
 * has failed for an instance, and the instances that have started are now to be torn
 * down: these teardowns are not deferred.
 */
static bool bolt_walk_may_defer(unsigned int cpu)
{
	struct bolt_batch *batch = READ_ONCE(bolt_batch);

	return batch && !(batch->flags & BOLT_NO_DEFER) && !bolt_cpuhp_cpu(cpu)->last;
}

/* Defers a teardown if that is possible. Returns false if the teardown must run. */
static bool bolt_skip_teardown(unsigned int cpu, enum cpuhp_state state,
			       const struct bolt_defer *defer)
{
	if (bolt_set_has(bolt_pending(cpu), state)) {
		if (bolt_state_has(state, true)) {
			bolt_broken(cpu, state, "the teardown would run twice");
			return true;
		}
		/*
		 * No startup has cancelled this teardown, as its state has none,
		 * and the CPU has not got back online. The teardown is deferred or
		 * run anew.
		 */
		bolt_set_remove(bolt_pending(cpu), state);
	}
	/* With no instance the state is not deferred: bolt_walk() would not cancel it. */
	if (!bolt_walk_may_defer(cpu) || bolt_step_from(state, false) != state ||
	    (defer->may_defer && !defer->may_defer(cpu)) || bolt_hide(cpu, state, defer)) {
		bolt_forget_entries(cpu, state);
		return false;
	}
	bolt_defer_teardown(cpu, state, defer);
	return true;
}

/**
 * bolt_stand_in - what bolt_intercept() does for a state that may be deferred
 * @cpu:	the CPU
 * @state:	the state whose callback is due
 * @bringup:	true if that callback is a startup; false if it is a teardown
 * @defer:	how the teardown is deferred
 * @ret:	where to put what the callback would have returned
 *
 * Context: as bolt_intercept().
 * Return: true if the callback must not run.
 */
bool bolt_stand_in(unsigned int cpu, enum cpuhp_state state, bool bringup,
		   const struct bolt_defer *defer, int *ret)
{
	*ret = 0;
	return bringup ? bolt_skip_startup(cpu, state, defer, ret) :
			 bolt_skip_teardown(cpu, state, defer);
}

/**
 * bolt_pass - pass a state for which only its bit in the pending set changes
 * @cpu:	the CPU
 * @state:	the state, for which @plain of struct bolt_known is true
 * @bringup:	whether the CPU comes
 *
 * cpuhp_started() then answers as if the callback had run.
 *
 * Context: as bolt_intercept(), inside a request.
 * Return: false if the callback is due.
 */
bool bolt_pass(unsigned int cpu, enum cpuhp_state state, bool bringup)
{
	if (bolt_set_has(bolt_pending(cpu), state) != bringup)
		return false;
	if (bringup) {
		bolt_note_cancelled(cpu, state, true);
	} else {
		if (!bolt_walk_may_defer(cpu))
			return false;
		bolt_note_parked(cpu);
		bolt_note_deferred(cpu, state);
	}
	bolt_step_passed(cpu, bringup);
	return true;
}

/**
 * bolt_bringup_done - cancel, after a bring-up, teardowns that no startup has cancelled
 * @cpu:	the CPU
 *
 * A pending teardown whose state has no startup is cancelled if the CPU has passed the
 * state. If the bring-up has failed below the state, the teardown stays pending.
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
		/* The CPU is below all states that follow, too. */
		if (bolt_cpu_below(cpu, state))
			break;
		if (bolt_state_has(state, true))
			continue;
		bolt_set_remove(pending, state);
		trace_bolt_cancel(cpu, state);
	}
	if (!bolt_set_empty(pending))
		return;
	/*
	 * Code that walks undrained and online CPUs looks at bolt_undrained_mask first,
	 * and would miss @cpu if it left that mask before it is seen in cpu_online_mask.
	 */
	smp_mb__before_atomic();
	bolt_note_not_parked(cpu);
}

#include "tests/defer-kunit.h"

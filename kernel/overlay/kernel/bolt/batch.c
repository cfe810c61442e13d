// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: what takes a CPU down or up under Bolt.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/cpu.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/memory_hotplug.h>
#include <linux/reboot.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../rcu/rcu.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/bolt.h>

/**
 * struct bolt_batch - a request on its way
 * @id:		number of the request
 * @cpu:	the CPU
 * @last:	when the last phase ended
 * @failed:	name of the first state whose callback failed, or empty; a copy,
 *		as its module may go
 */
struct bolt_batch {
	u64 id;
	unsigned int cpu;
	ktime_t last;
	char failed[BOLT_STATE_NAME];
};

/* All three are written with cpu_add_remove_lock held. */
static bool bolt_on;
static struct bolt_batch *bolt_batch;
static u64 bolt_batches;

/* Law 2 was broken: not to be enabled again. */
static bool bolt_is_broken;

/* Whether callbacks are timed: two readings of the clock each. */
DEFINE_STATIC_KEY_FALSE(bolt_timing);

/* Written by one callback at a time. */
struct bolt_count bolt_counts[BOLT_NR_STATES];
u64 bolt_stats[BOLT_STATS];

/**
 * bolt_enabled - whether requests take the fast path
 *
 * Context: any. Without cpu_add_remove_lock the answer may be old.
 * Return: true if so.
 */
bool bolt_enabled(void)
{
	return READ_ONCE(bolt_on);
}

/**
 * bolt_fast - whether the hotplug operation under way is a request of Bolt's
 *
 * Context: code that runs inside a hotplug operation, on any CPU.
 * Return: true if so.
 */
bool bolt_fast(void)
{
	return READ_ONCE(bolt_batch);
}

/**
 * bolt_mark - a phase of the request ends here
 * @phase:	the phase
 *
 * Context: the control task, inside a hotplug operation.
 */
void bolt_mark(enum bolt_phase phase)
{
	struct bolt_batch *batch = bolt_batch;
	ktime_t now;

	if (!batch || !trace_bolt_phase_enabled())
		return;
	now = ktime_get();
	trace_bolt_phase(batch->id, batch->cpu, phase,
			 ktime_to_ns(ktime_sub(now, batch->last)));
	batch->last = now;
}

/**
 * bolt_ap_alive - whether the CPU that is being brought up has shown up
 *
 * It is out of the state in which it takes a startup IPI then.
 *
 * Context: the control task, inside a hotplug operation.
 * Return: true if so; false also outside of Bolt's requests.
 */
bool bolt_ap_alive(void)
{
	struct bolt_batch *batch = bolt_batch;

	return batch && bolt_glue_alive(batch->cpu);
}

/**
 * bolt_park_ap - park the hotplug thread of a CPU that goes down
 * @thread:	the thread
 *
 * Inside a request it has told itself to park when it had nothing left to do,
 * and does not have to be woken for it.
 *
 * Context: the control task; may sleep.
 */
void bolt_park_ap(struct task_struct *thread)
{
	if (kthread_parking(thread))
		kthread_park_finish(thread);
	else
		kthread_park(thread);
}

/**
 * bolt_unpark_ap - the hotplug thread is needed again to undo
 * @thread:	the thread; if it was not told to park there is nothing to do
 *
 * Context: the control task; may sleep.
 */
void bolt_unpark_ap(struct task_struct *thread)
{
	if (!kthread_parking(thread))
		return;
	kthread_park_finish(thread);
	kthread_unpark(thread);
}

static void bolt_disable_work(struct work_struct *work)
{
	bolt_enable(false);
}

static DECLARE_WORK(bolt_disabler, bolt_disable_work);

/**
 * bolt_broken - law 2 does not hold: give up
 * @cpu:	the CPU
 * @state:	the state that has run, or would have run, twice
 * @what:	what was found
 *
 * Warns once; a worker settles all CPUs and disables Bolt for good.
 *
 * Context: any.
 */
void bolt_broken(unsigned int cpu, enum cpuhp_state state, const char *what)
{
	WRITE_ONCE(bolt_is_broken, true);
	WARN_ONCE(1, "CPU %u, state %d: %s\n", cpu, state, what);
	queue_work(system_unbound_wq, &bolt_disabler);
}

/**
 * bolt_run_begin - a callback is about to run
 * @state:	its state
 *
 * Context: where the callback runs; interrupts may be off.
 * Return: what bolt_run_end() needs.
 */
struct bolt_run bolt_run_begin(enum cpuhp_state state)
{
	struct bolt_run run = { .state = CPUHP_INVALID };

	if (bolt_fast()) {
		run.state = state;
		if (static_branch_unlikely(&bolt_timing))
			run.start = local_clock();
	}
	return run;
}

/**
 * bolt_run_end - a callback has run
 * @run:	what bolt_run_begin() has returned
 *
 * Context: as bolt_run_begin().
 */
void bolt_run_end(const struct bolt_run *run)
{
	if (run->state == CPUHP_INVALID)
		return;
	bolt_counts[run->state].runs++;
	if (run->start)
		bolt_counts[run->state].ns += local_clock() - run->start;
}

/**
 * bolt_failed - a callback has failed
 * @cpu:	the CPU
 * @state:	its state
 *
 * Only the first one of a request is remembered: what comes after it is undo.
 *
 * Context: where the callback ran, hotplug lock held for writing.
 */
void bolt_failed(unsigned int cpu, enum cpuhp_state state)
{
	struct bolt_batch *batch = bolt_batch;

	if (batch && batch->cpu == cpu && !batch->failed[0])
		strscpy(batch->failed, bolt_glue_name(state) ?: "unnamed",
			sizeof(batch->failed));
}

static void bolt_park(unsigned int cpu, enum cpuhp_state state,
		      const struct bolt_defer *defer)
{
	cpumask_set_cpu(cpu, &bolt_parked_mask);
	if (defer->park)
		defer->park(cpu);
	bolt_set_park(bolt_pending(cpu), state);
	bolt_counts[state].skips++;
	trace_bolt_park(cpu, state);
}

static int bolt_unpark(unsigned int cpu, enum cpuhp_state state,
		       const struct bolt_defer *defer)
{
	int err = defer->unpark ? defer->unpark(cpu) : 0;

	if (err) {
		/* As a startup that fails: nothing of the state is left. */
		while (bolt_tear_down(cpu, state, defer) == -EAGAIN)
			;
		bolt_set_unpark(bolt_pending(cpu), state);
		return err;
	}
	bolt_set_unpark(bolt_pending(cpu), state);
	bolt_show(cpu, state);
	bolt_counts[state].skips++;
	trace_bolt_unpark(cpu, state);
	return 0;
}

/* Whether a startup is skipped; @ret is then what it would have returned. */
static bool bolt_skip_startup(unsigned int cpu, enum cpuhp_state state,
			      const struct bolt_defer *defer, int *ret)
{
	enum bolt_unit unit;

	if (bolt_set_has(bolt_pending(cpu), state)) {
		*ret = bolt_unpark(cpu, state, defer);
		return true;
	}
	if (bolt_glue_has(state, false))
		return false;
	unit = bolt_row(state).unit;
	if (unit == BOLT_ALONE || !bolt_unit_pending(cpu, unit))
		return false;
	bolt_counts[state].skips++;
	return true;
}

/* Whether a teardown is put off. */
static bool bolt_skip_teardown(unsigned int cpu, enum cpuhp_state state,
			       const struct bolt_defer *defer)
{
	if (bolt_set_has(bolt_pending(cpu), state)) {
		if (bolt_glue_has(state, true)) {
			bolt_broken(cpu, state, "torn down twice");
			return true;
		}
		/* It was owed until the CPU is back, and that has failed: anew. */
		bolt_set_unpark(bolt_pending(cpu), state);
	}
	if (!bolt_fast() || (defer->keep && !defer->keep(cpu)) ||
	    bolt_hide(cpu, state, defer)) {
		bolt_forget_entries(cpu, state);
		return false;
	}
	bolt_park(cpu, state, defer);
	return true;
}

/**
 * bolt_intercept - park or unpark in place of a callback
 * @cpu:	the CPU
 * @state:	the state whose callback is due
 * @bringup:	startup, or teardown
 * @ret:	where to put what the callback would have returned
 *
 * A startup is skipped exactly when its teardown is pending, whoever brings
 * the CPU up. Without memory to park a state, it is torn down natively.
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

/* Law 2 at the end of a request: what is pending lies above where the CPU is. */
static void bolt_check(unsigned int cpu)
{
	struct bolt_set *pending = bolt_pending(cpu);
	int state = find_first_bit(pending->states, BOLT_NR_STATES);

	if (state == BOLT_NR_STATES)
		cpumask_clear_cpu(cpu, &bolt_parked_mask);
	else if (!bolt_glue_below(cpu, state))
		bolt_broken(cpu, state, "pending, but the CPU is past it");
	else
		bolt_settle_later(cpu);
}

static int bolt_request(unsigned int cpu, bool online)
{
	struct bolt_batch batch = { .cpu = cpu };
	ktime_t start = ktime_get();
	bool parked;
	int err;

	cpu_maps_update_begin();
	parked = cpumask_test_cpu(cpu, &bolt_parked_mask);
	batch.id = ++bolt_batches;
	batch.last = start;
	/* Before anything is pending: the worker looks without a lock. */
	if (!online)
		WRITE_ONCE(per_cpu_ptr(&bolt_cpus, cpu)->parked_at, start);
	if (bolt_on) {
		/* For all that wait in callbacks, too. */
		rcu_expedite_gp();
		WRITE_ONCE(bolt_batch, &batch);
	}
	if (online)
		err = bolt_glue_up(cpu);
	else if (bolt_irq_kept(cpu))
		err = -EBUSY;
	else
		err = bolt_glue_down(cpu);
	if (bolt_batch) {
		WRITE_ONCE(bolt_batch, NULL);
		rcu_unexpedite_gp();
	}

	bolt_stats[online ? BOLT_STAT_ONLINE : BOLT_STAT_OFFLINE]++;
	if (err) {
		bolt_stats[BOLT_STAT_FAILED]++;
		bolt_error_add(batch.id, cpu, batch.failed, err);
	} else if (online && parked) {
		bolt_stats[BOLT_STAT_CANCELLED]++;
	}
	bolt_check(cpu);
	cpu_maps_update_done();

	trace_bolt_batch(batch.id, cpu, online, err,
			 ktime_to_ns(ktime_sub(ktime_get(), start)));
	return err;
}

/**
 * bolt_cpu_down - take a CPU offline
 * @cpu:	the CPU
 *
 * Context: may sleep; device hotplug lock held. If Bolt has been disabled in
 * the meantime, the native way.
 * Return: 0 or what cpu_down() would return.
 */
int bolt_cpu_down(unsigned int cpu)
{
	return bolt_request(cpu, false);
}

/**
 * bolt_cpu_up - bring a CPU online
 * @cpu:	the CPU
 *
 * Context: as bolt_cpu_down().
 * Return: 0 or what cpu_up() would return.
 */
int bolt_cpu_up(unsigned int cpu)
{
	int err;

	if (!cpu_possible(cpu))
		return -EINVAL;
	err = try_online_node(cpu_to_node(cpu));
	if (err)
		return err;
	return bolt_request(cpu, true);
}

/**
 * bolt_enable - switch Bolt on or off
 * @on:		which
 *
 * When it returns from switching off, no CPU is parked and readers of the
 * hotplug lock are back on their fast path as soon as a grace period is over.
 *
 * Context: may sleep, for a grace period or for all that is to be settled.
 * Return: 0, or -EIO if Bolt has found itself broken.
 */
int bolt_enable(bool on)
{
	int err = 0;

	cpu_maps_update_begin();
	if (on == bolt_on)
		goto out;
	if (on) {
		err = bolt_is_broken ? -EIO : 0;
		if (err)
			goto out;
		bolt_glue_hold_readers_slow(true);
		bolt_domains_enable(true);
		WRITE_ONCE(bolt_on, true);
		bolt_irq_enable(true);
	} else {
		WRITE_ONCE(bolt_on, false);
		bolt_irq_enable(false);
		bolt_settle_all();
		bolt_domains_enable(false);
		bolt_glue_hold_readers_slow(false);
	}
	pr_info("%s\n", on ? "enabled" : "disabled");
out:
	cpu_maps_update_done();
	return err;
}

/* A reboot, which may be into another kernel, finds CPUs natively offline. */
static int bolt_reboot(struct notifier_block *nb, unsigned long action,
		       void *data)
{
	bolt_enable(false);
	return NOTIFY_DONE;
}

static struct notifier_block bolt_reboot_nb = {
	.notifier_call = bolt_reboot,
};

static int __init bolt_batch_init(void)
{
	return register_reboot_notifier(&bolt_reboot_nb);
}
core_initcall(bolt_batch_init);

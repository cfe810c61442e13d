// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: what takes CPUs down or up under Bolt, any number of them, all or
 * none. How is in phases.c.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/cpu.h>
#include <linux/device.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/memory_hotplug.h>
#include <linux/reboot.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/isolation.h>
#include <linux/sched/smt.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../rcu/rcu.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/bolt.h>

/* Both are written with cpu_add_remove_lock held. */
static bool bolt_on;
u64 bolt_batches;

/* Set while the hotplug lock is held for writing, and only then. */
struct bolt_batch *bolt_batch;

/* CPUs that the last request has not put back; cpu_add_remove_lock held. */
struct cpumask bolt_lost;

/* The task that carries it out: the control thread, but not during boot. */
static struct task_struct *bolt_control_task;

/* Law 2 was broken: not to be enabled again. */
static bool bolt_is_broken;

/* Another kernel will find the CPUs: nothing is put off any more. */
static bool bolt_going_down;

/* Whether callbacks are timed: two readings of the clock each. */
DEFINE_STATIC_KEY_FALSE(bolt_timing);

/* Written by callbacks of several CPUs, perhaps at once. */
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

/* Whether the caller is the control task, a hotplug thread, or on its way. */
static bool bolt_takes_part(void)
{
	if (READ_ONCE(bolt_control_task) == current)
		return true;
	if (raw_cpu_read(bolt_cpus.transit) &&
	    (irqs_disabled() || is_idle_task(current)))
		return true;
	return bolt_glue_in_thread();
}

/**
 * bolt_this_batch - the request of which the caller is a part
 *
 * These are a part of it: the control task, hotplug threads, and CPUs that go or
 * come and run nothing else. Another task may run at the same time, on any CPU,
 * and must not take the request for its own. Kernels that check their locks warn
 * of such a caller: while there is a request there is no other hotplug operation.
 *
 * Context: code that runs inside a hotplug operation, on any CPU.
 * Return: the request, or NULL if the operation is none of Bolt's.
 */
struct bolt_batch *bolt_this_batch(void)
{
	struct bolt_batch *batch = READ_ONCE(bolt_batch);

	if (!batch || bolt_takes_part())
		return batch;
	WARN_ONCE(IS_ENABLED(CONFIG_PROVE_LOCKING),
		  "asked outside of the request\n");
	return NULL;
}

/**
 * bolt_batching - whether the hotplug operation under way is a request of Bolt's
 *
 * Context: code that runs inside a hotplug operation, on any CPU.
 * Return: true if so.
 */
bool bolt_batching(void)
{
	return bolt_this_batch();
}

/**
 * bolt_control - whether the caller is the control task of a request
 *
 * Context: any task.
 * Return: true if so.
 */
bool bolt_control(void)
{
	return READ_ONCE(bolt_control_task) == current;
}

/**
 * bolt_fast - whether it may also put work off and take shortcuts
 *
 * Context: as bolt_batching().
 * Return: true if so; not for suspend or before another kernel.
 */
bool bolt_fast(void)
{
	struct bolt_batch *batch = bolt_this_batch();

	return batch && !(batch->flags & BOLT_WHOLE);
}

/**
 * bolt_crowded - whether several CPUs are on their way
 *
 * Context: as bolt_batching().
 * Return: true if so.
 */
bool bolt_crowded(void)
{
	struct bolt_batch *batch = bolt_this_batch();

	return batch && !batch->alone;
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
	trace_bolt_phase(batch->id, batch->first, phase,
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
	struct bolt_batch *batch = bolt_this_batch();

	return batch && bolt_glue_alive(batch->waking);
}

/**
 * bolt_start - wake a CPU
 * @cpu:	the CPU, which is prepared
 *
 * Context: the control task, inside a request.
 * Return: 0 or a negative error number.
 */
int bolt_start(unsigned int cpu)
{
	int err;

	bolt_batch->waking = cpu;
	bolt_set_transit(cpu, true);
	err = bolt_glue_start(cpu);
	if (err)
		bolt_set_transit(cpu, false);
	return err;
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
	WARN_ONCE(1, "bolt: CPU %u, hotplug state %d: %s\n", cpu, state, what);
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

	/* As in bolt_turn_begin(). */
	if (READ_ONCE(bolt_batch)) {
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
	atomic64_inc(&bolt_counts[run->state].runs);
	if (run->start)
		atomic64_add(local_clock() - run->start,
			     &bolt_counts[run->state].ns);
}

/**
 * bolt_failed - a callback has failed
 * @cpu:	the CPU
 * @state:	its state
 *
 * The first one of a request is the reason why the request is undone; then the
 * first one of each CPU, why that CPU may not be put back.
 *
 * Context: where the callback ran, hotplug lock held for writing.
 */
void bolt_failed(unsigned int cpu, enum cpuhp_state state)
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
	if (batch->failed[0])
		return;
	batch->culprit = cpu;
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
	atomic64_inc(&bolt_counts[state].skips);
	trace_bolt_park(cpu, state);
}

static int bolt_unpark(unsigned int cpu, enum cpuhp_state state,
		       const struct bolt_defer *defer)
{
	int err = 0;

	if (defer->restart)
		err = bolt_glue_startup(cpu, state);
	else if (defer->unpark)
		err = defer->unpark(cpu);
	if (err) {
		/* As a startup that fails: nothing of the state is left. */
		while (bolt_tear_down(cpu, state, defer) == -EAGAIN)
			;
		bolt_set_unpark(bolt_pending(cpu), state);
		return err;
	}
	bolt_set_unpark(bolt_pending(cpu), state);
	bolt_show(cpu, state);
	atomic64_inc(&bolt_counts[state].skips);
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
	atomic64_inc(&bolt_counts[state].skips);
	return true;
}

/* Whether a teardown is put off. */
static bool bolt_skip_teardown(unsigned int cpu, enum cpuhp_state state,
			       const struct bolt_defer *defer)
{
	if (bolt_set_has(bolt_pending(cpu), state)) {
		if (bolt_glue_has(state, true)) {
			bolt_broken(cpu, state, "the teardown would run twice");
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
		bolt_broken(cpu, state, "the teardown is pending, but the startup has run");
	else
		bolt_settle_later(cpu);
}

/* Whether the CPUs may be asked to come and go at all. */
static int bolt_admit(struct bolt_batch *batch)
{
	unsigned int cpu, survivor;
	int err = 0;

	/* Suspend has forbidden others to change anything. */
	if (!(batch->flags & (BOLT_FROZEN | BOLT_ANYWAY))) {
		if (!cpumask_empty(batch->up))
			err = bolt_glue_forbidden(true);
		if (!err && !cpumask_empty(batch->down))
			err = bolt_glue_forbidden(false);
	}
	if (err)
		return err;
	for_each_cpu(cpu, batch->up) {
		batch->culprit = cpu;
		if (!cpu_present(cpu))
			return -EINVAL;
		if (!bolt_glue_bootable(cpu))
			return -EPERM;
	}
	for_each_cpu(cpu, batch->down) {
		batch->culprit = cpu;
		if (!cpu_present(cpu))
			return -EINVAL;
		if (!(batch->flags & BOLT_WHOLE) && bolt_irq_kept(cpu))
			return -EBUSY;
	}
	/* Suspend knows what it does, others that go would empty the domains. */
	if ((batch->flags & BOLT_FROZEN) || cpumask_empty(batch->down))
		return 0;
	for_each_cpu_and(survivor, cpu_active_mask,
			 housekeeping_cpumask(HK_TYPE_DOMAIN)) {
		if (!cpumask_test_cpu(survivor, batch->down))
			return 0;
	}
	for_each_cpu_and(survivor, batch->up,
			 housekeeping_cpumask(HK_TYPE_DOMAIN))
		return 0;
	return -EBUSY;
}

static void bolt_set_goals(const struct cpumask *mask, enum cpuhp_state goal)
{
	unsigned int cpu;

	for_each_cpu(cpu, mask) {
		struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);

		bc->start = bolt_glue_state(cpu);
		bc->goal = goal;
	}
}

/* Where they were is where they are to go. */
static void bolt_turn_back(const struct cpumask *mask)
{
	unsigned int cpu;

	for_each_cpu(cpu, mask) {
		struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);

		bc->goal = bc->start;
		bc->failed = CPUHP_INVALID;
	}
}

/*
 * Notes the CPUs that are on the wrong side of where the request found them: on
 * the way of the request, not put back. One that was to come back and is not
 * even online becomes offline altogether, as natively when a CPU does not come.
 * The names are copied while the states' modules cannot go.
 */
static void bolt_find_lost(struct bolt_batch *batch)
{
	unsigned int cpu;

	for_each_cpu_or(cpu, batch->up, batch->down) {
		struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);
		enum cpuhp_state state = bolt_glue_state(cpu);
		bool gone = cpumask_test_cpu(cpu, batch->down);

		if (gone ? state >= bc->start : state <= bc->start)
			continue;
		cpumask_set_cpu(cpu, &bolt_lost);
		if (bc->failed == CPUHP_INVALID)
			bc->failed = state;
		bolt_error_lost(batch->lost, cpu,
				bolt_glue_name(bc->failed) ?: "unnamed");
		if (gone && !cpu_online(cpu))
			bolt_glue_bury(cpu, CPUHP_OFFLINE);
	}
}

static void bolt_undo(struct bolt_batch *batch)
{
	batch->undo = true;
	bolt_turn_back(batch->down);
	bolt_turn_back(batch->up);
	bolt_go_up(batch->down);
	bolt_go_down(batch->up, false);
	bolt_find_lost(batch);
}

/*
 * An undo has failed: what was put off for the CPUs that stay half-way is torn
 * down now, and dev->offline says which CPUs are online. Whoever asks for
 * BOLT_WHOLE does that, or has no need to.
 */
static void bolt_tell_lost(const struct bolt_batch *batch, bool devices)
{
	unsigned int cpu;

	if (cpumask_empty(&bolt_lost))
		return;
	for_each_cpu(cpu, &bolt_lost) {
		if (cpu_online(cpu))
			bolt_settle_cpu(cpu);
		if (devices)
			bolt_notify_lost(cpu);
	}
	pr_err("batch %llu: these CPUs could not be put back: %s\n", batch->id, batch->lost);
	WARN_ONCE(1, "bolt: CPUs could not be put back, see bolt/last_error\n");
}

/* Whether CPUs that may not go have become so when the others came. */
static int bolt_look_again(struct bolt_batch *batch)
{
	unsigned int cpu;

	for_each_cpu(cpu, batch->down) {
		struct device *dev = get_cpu_device(cpu);

		if (dev && dev->offline_disabled) {
			batch->culprit = cpu;
			return -EPERM;
		}
	}
	return 0;
}

/* What the control task does, on a CPU that stays. */
static int bolt_run(void *arg)
{
	struct bolt_batch *batch = arg;
	unsigned int cpu;
	int err = 0;

	cpus_write_lock();
	/* For all that wait in callbacks, too. Who cares has the lock for reading. */
	rcu_expedite_gp();
	/* Not before: readers of the lock run callbacks too. */
	WRITE_ONCE(bolt_batch, batch);
	WRITE_ONCE(bolt_control_task, current);
	cpuhp_tasks_frozen = batch->flags & BOLT_FROZEN;
	if (!batch->alone) {
		batch->by_cpu = bolt_goes_by_cpu();
		bolt_find_serial(batch);
	}
	bolt_set_goals(batch->up, CPUHP_ONLINE);
	bolt_set_goals(batch->down, CPUHP_OFFLINE);
	bolt_mark(BOLT_PHASE_LOCK);

	if (!cpumask_empty(batch->up))
		err = bolt_go_up(batch->up) ?: bolt_look_again(batch);
	if (!err && !cpumask_empty(batch->down))
		err = bolt_go_down(batch->down, batch->flags & BOLT_FROZEN);
	if (err && !(batch->flags & BOLT_BOOT))
		bolt_undo(batch);
	for_each_cpu_or(cpu, batch->up, batch->down) {
		bolt_came_up(cpu);
		bolt_glue_unpark(cpu);
	}
	WRITE_ONCE(bolt_control_task, NULL);
	WRITE_ONCE(bolt_batch, NULL);
	rcu_unexpedite_gp();
	cpus_write_unlock();
	arch_smt_update();
	return err;
}

/**
 * bolt_request - one batch
 * @up:		CPUs that are to come; those that are online are passed over
 * @down:	CPUs that are to go, after the others have come; those that are
 *		offline are passed over
 * @flags:	BOLT_WHOLE: nothing is put off; BOLT_FROZEN: tasks are frozen;
 *		BOLT_ANYWAY: hotplug may be disabled; BOLT_BOOT: the machine boots;
 *		BOLT_TREE: CPUs that have come bring others up
 *
 * All of it is done, or nothing; while the machine boots, what can be done.
 *
 * Context: may sleep; cpu_add_remove_lock held. Bolt is enabled.
 * Return: 0 or a negative error number, with the reason in bolt/last_error.
 */
int bolt_request(const struct cpumask *up, const struct cpumask *down,
		 unsigned int flags)
{
	static struct cpumask coming, going;
	struct bolt_batch batch = {
		.id = ++bolt_batches,
		.up = &coming,
		.down = &going,
		.flags = flags | (bolt_going_down ? BOLT_WHOLE : 0),
		/* What fails is left where it is, the others come. */
		.undo = flags & BOLT_BOOT,
		.last = ktime_get(),
	};
	unsigned int cpu, returning = 0, nr_up, nr_down;
	ktime_t start = batch.last;
	int err;

	raw_spin_lock_init(&batch.lock);
	cpumask_clear(&bolt_lost);
	cpumask_clear(&coming);
	cpumask_clear(&going);
	for_each_cpu(cpu, up) {
		if (bolt_glue_state(cpu) < CPUHP_ONLINE)
			__cpumask_set_cpu(cpu, &coming);
	}
	for_each_cpu(cpu, down) {
		if (bolt_glue_state(cpu) <= CPUHP_OFFLINE)
			continue;
		__cpumask_set_cpu(cpu, &going);
		/* Before anything is pending: the worker looks without a lock. */
		WRITE_ONCE(per_cpu_ptr(&bolt_cpus, cpu)->parked_at, start);
	}
	nr_up = cpumask_weight(&coming);
	nr_down = cpumask_weight(&going);
	if (!nr_up && !nr_down)
		return 0;
	batch.first = min(cpumask_first(&coming), cpumask_first(&going));
	batch.culprit = batch.first;
	batch.alone = nr_up + nr_down == 1;
	for_each_cpu_and(cpu, &coming, &bolt_parked_mask)
		returning++;

	err = bolt_admit(&batch);
	if (!err)
		err = bolt_control_do(bolt_run, &batch, &going);

	bolt_stats[BOLT_STAT_BATCHES]++;
	bolt_stats[BOLT_STAT_ONLINE] += nr_up;
	bolt_stats[BOLT_STAT_OFFLINE] += nr_down;
	if (err) {
		bolt_stats[BOLT_STAT_FAILED]++;
		bolt_error_add(batch.id, batch.culprit, batch.failed, err,
			       batch.lost);
		bolt_tell_lost(&batch, !(flags & BOLT_WHOLE));
	} else {
		bolt_stats[BOLT_STAT_CANCELLED] += returning;
	}
	for_each_cpu_or(cpu, &coming, &going)
		bolt_check(cpu);

	trace_bolt_batch(batch.id, batch.first, nr_up, nr_down, err,
			 ktime_to_ns(ktime_sub(ktime_get(), start)));
	return err;
}

static int bolt_one(unsigned int cpu, bool online)
{
	const struct cpumask *mask = cpumask_of(cpu);
	int err;

	cpu_maps_update_begin();
	if (!bolt_on) {
		cpu_maps_update_done();
		return bolt_glue_native(cpu, online);
	}
	if (online)
		err = bolt_request(mask, cpu_none_mask, 0);
	else
		err = bolt_request(cpu_none_mask, mask, 0);
	cpu_maps_update_done();
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
	return bolt_one(cpu, false);
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
	return bolt_one(cpu, true);
}

/* The control thread does it: the first time the hotplug lock is written. */
static int bolt_slow_readers(void *unused)
{
	bolt_glue_hold_readers_slow(true);
	return 0;
}

/**
 * bolt_enable - switch Bolt on or off
 * @on:		which
 *
 * When it returns from switching off, no CPU is parked and readers of the
 * hotplug lock are back on their fast path as soon as a grace period is over.
 *
 * Context: may sleep, for a grace period or for all that is to be settled.
 * Return: 0; -EIO if Bolt has found itself broken; -ENOMEM or -EINTR if there
 * is no control thread for lack of memory, or as the caller was killed.
 */
int bolt_enable(bool on)
{
	int err = 0;

	cpu_maps_update_begin();
	if (on == bolt_on)
		goto out;
	if (on) {
		err = bolt_is_broken ? -EIO : bolt_control_start();
		if (err)
			goto out;
		bolt_control_do(bolt_slow_readers, NULL, cpu_none_mask);
		bolt_domains_enable(true);
		WRITE_ONCE(bolt_on, true);
		bolt_irq_enable(true);
	} else {
		WRITE_ONCE(bolt_on, false);
		bolt_irq_enable(false);
		bolt_settle_all();
		bolt_domains_enable(false);
		bolt_glue_hold_readers_slow(false);
		bolt_control_stop();
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
	cpu_maps_update_begin();
	bolt_going_down = true;
	bolt_settle_all();
	cpu_maps_update_done();
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

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The phases of a batch: what all of its CPUs do before any of them goes on.
 * A phase takes CPUs that are where it begins and leaves them where it ends, or
 * where they were if it fails; what brings a batch back where it came from is
 * the same phases in the other direction.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/irq.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/suspend.h>

#include "internal.h"

/* One batch at a time, see bolt_request(). */
static struct cpumask bolt_round;
static struct cpumask bolt_wave;
static struct cpumask bolt_due;

/**
 * bolt_arch_may_go - whether the architecture lets CPUs go
 * @cpus:	the CPUs, all of them
 *
 * Context: all CPUs stopped, interrupts off.
 * Return: 0, or a negative error number.
 */
int __weak bolt_arch_may_go(const struct cpumask *cpus)
{
	return 0;
}

/**
 * bolt_arch_wave - when a CPU may be woken
 * @cpu:	the CPU
 *
 * Context: the control task.
 * Return: 0, or 1 if CPUs with 0 must have arrived first.
 */
unsigned int __weak bolt_arch_wave(unsigned int cpu)
{
	return 0;
}

/**
 * bolt_arch_slots - how many CPUs may be on their way at once
 *
 * Where these spin for each other's locks in a queue, and a hypervisor has
 * fewer CPUs to run them on, more of them take longer.
 *
 * Context: the control task.
 * Return: the number.
 */
unsigned int __weak bolt_arch_slots(void)
{
	return BOLT_SLOTS;
}

/**
 * bolt_arch_coming - CPUs are about to be woken
 * @nr:	how many
 *
 * Context: the control task, hotplug lock held for writing.
 */
void __weak bolt_arch_coming(unsigned int nr)
{
}

/**
 * bolt_arch_arrived - those that could be woken have arrived
 * @cpus:	the CPUs
 *
 * Context: as bolt_arch_coming().
 */
void __weak bolt_arch_arrived(const struct cpumask *cpus)
{
}

/* An undo goes on with the CPUs that it can bring back. */
static bool bolt_gives_up(int err)
{
	return err && !bolt_batch->undo;
}

static enum cpuhp_state bolt_goal(unsigned int cpu)
{
	return per_cpu_ptr(&bolt_cpus, cpu)->goal;
}

/*
 * Collects into bolt_round the CPUs of @mask that are between @low and @high,
 * both in, and are to go on.
 */
static bool bolt_find(const struct cpumask *mask, enum cpuhp_state low,
		      enum cpuhp_state high, bool up)
{
	unsigned int cpu;

	cpumask_clear(&bolt_round);
	for_each_cpu(cpu, mask) {
		enum cpuhp_state state = bolt_glue_state(cpu);

		if (state >= low && state <= high &&
		    (up ? bolt_goal(cpu) > state : bolt_goal(cpu) < state))
			__cpumask_set_cpu(cpu, &bolt_round);
	}
	return !cpumask_empty(&bolt_round);
}

static int bolt_wait_thread(unsigned int cpu)
{
	return bolt_glue_wait(cpu, per_cpu_ptr(&bolt_cpus, cpu)->from);
}

/*
 * The hotplug threads of bolt_round; of CPUs that come, not more at once than
 * may be on their way. The last to be set going is waited for first: the others
 * are likely to be done by then.
 */
static int bolt_run_threads(enum cpuhp_state target, bool up)
{
	unsigned int slots = up ? max(bolt_arch_slots(), BOLT_SLOTS) : nr_cpu_ids;
	unsigned int cpu, first, last = nr_cpu_ids;
	int err = 0, ret;

	for_each_cpu(cpu, &bolt_round) {
		struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);
		enum cpuhp_state goal = up ? min(target, bc->goal) :
					     max(target, bc->goal);

		bc->from = bolt_glue_state(cpu);
		if (!bolt_glue_kick(cpu, goal)) {
			__cpumask_clear_cpu(cpu, &bolt_round);
			continue;
		}
		last = cpu;
		if (--slots || !up)
			continue;
		first = cpumask_first(&bolt_round);
		ret = bolt_wait_thread(first);
		err = err ?: ret;
		__cpumask_clear_cpu(first, &bolt_round);
		slots++;
	}
	if (last >= nr_cpu_ids || !cpumask_test_cpu(last, &bolt_round))
		return err;
	ret = bolt_wait_thread(last);
	err = err ?: ret;
	__cpumask_clear_cpu(last, &bolt_round);
	for_each_cpu(cpu, &bolt_round) {
		ret = bolt_wait_thread(cpu);
		err = err ?: ret;
	}
	return err;
}

/*
 * All leave the scheduler, with one grace period for all of them. Only then
 * the callback of CPUHP_AP_ACTIVE runs, which may still refuse.
 */
static int bolt_deactivate(void)
{
	unsigned int cpu;
	int err = 0;

	for_each_cpu(cpu, &bolt_round)
		sched_cpu_leave(cpu);
	synchronize_rcu();
	for_each_cpu(cpu, &bolt_round)
		sched_cpu_push_tasks(cpu);
	bolt_set_round(&bolt_round);
	for_each_cpu(cpu, &bolt_round) {
		err = bolt_glue_run(cpu, CPUHP_AP_ACTIVE - 1) ?: err;
		if (bolt_gives_up(err))
			break;
	}
	bolt_set_round(NULL);
	for_each_cpu(cpu, &bolt_round) {
		if (bolt_glue_state(cpu) >= CPUHP_AP_ACTIVE && !cpu_active(cpu))
			sched_cpu_stay(cpu);
	}
	/*
	 * Being undone, the last one may have stayed: those that have left, or
	 * had come before, have left this to it. Only then it is known whether
	 * domains have them.
	 */
	if (err && !bolt_gives_up(err))
		sched_cpus_have_changed();
	for_each_cpu(cpu, &bolt_round) {
		if (bolt_glue_state(cpu) < CPUHP_AP_ACTIVE)
			bolt_domains_left(cpu);
	}
	return err;
}

/*
 * Has the CPUs of bolt_round die, all or none; in an undo those that do, one
 * after the other.
 */
static int bolt_take_down_round(void)
{
	int err = bolt_glue_take_down(&bolt_round);
	unsigned int cpu;

	if (!err || bolt_gives_up(err))
		return err;
	for_each_cpu_and(cpu, &bolt_round, cpu_online_mask)
		bolt_glue_take_down(cpumask_of(cpu));
	return err;
}

/*
 * Natively suspend takes CPUs from the highest to the lowest, everybody else
 * from the lowest to the highest: the CPU in place @i.
 */
static unsigned int bolt_native_order(unsigned int i)
{
	return bolt_batch->flags & BOLT_FROZEN ? nr_cpu_ids - 1 - i : i;
}

/* From inactive to dead. */
static int bolt_take_off(const struct cpumask *mask, bool poll)
{
	unsigned int cpu;
	int err = 0;

	if (bolt_find(mask, CPUHP_TEARDOWN_CPU + 1, CPUHP_AP_ACTIVE - 1, false)) {
		workqueue_cpus_leave(&bolt_round);
		err = bolt_run_threads(CPUHP_TEARDOWN_CPU, false);
	}
	bolt_mark(BOLT_PHASE_AP);
	if (!err && poll && pm_wakeup_pending())
		err = -EBUSY;
	if (bolt_gives_up(err))
		return err;

	if (bolt_find(mask, CPUHP_TEARDOWN_CPU, CPUHP_TEARDOWN_CPU, false))
		err = bolt_take_down_round() ?: err;

	for_each_cpu(cpu, mask) {
		enum cpuhp_state goal = bolt_goal(cpu);

		/* One has refused: those that are dead must be so altogether. */
		if (bolt_gives_up(err)) {
			if (bolt_glue_state(cpu) != CPUHP_AP_IDLE_DEAD)
				continue;
			goal = CPUHP_OFFLINE;
		}
		if (goal >= CPUHP_TEARDOWN_CPU || cpu_online(cpu))
			continue;
		WARN(bolt_glue_bury(cpu, goal),
		     "DEAD callback error for CPU%d", cpu);
	}
	bolt_mark(BOLT_PHASE_DEAD);
	return err;
}

/**
 * bolt_go_down - take CPUs down to where they are to go
 * @mask:	the CPUs; those that are there already are passed over
 * @poll:	whether a wake-up of the system stops it, between phases
 *
 * All leave the scheduler with one grace period, also if what comes then is
 * done for one CPU after the other.
 *
 * Context: the control task, hotplug lock held for writing.
 * Return: 0, or the error of the first CPU that failed; the others are left
 * somewhere on the way.
 */
int bolt_go_down(const struct cpumask *mask, bool poll)
{
	unsigned int cpu, i;
	int err = 0;

	/* Nothing is done between the two, but who stays active must not leave. */
	for_each_cpu(cpu, mask) {
		if (bolt_goal(cpu) == CPUHP_AP_ACTIVE &&
		    bolt_glue_state(cpu) == CPUHP_ONLINE)
			bolt_glue_run(cpu, CPUHP_AP_ACTIVE);
	}
	if (bolt_find(mask, CPUHP_AP_ACTIVE, CPUHP_ONLINE, false))
		err = bolt_deactivate();
	if (!err && poll && pm_wakeup_pending())
		err = -EBUSY;
	if (bolt_gives_up(err))
		return err;
	if (!bolt_batch->by_cpu)
		return bolt_take_off(mask, poll) ?: err;

	for (i = 0; i < nr_cpu_ids; i++) {
		cpu = bolt_native_order(i);
		if (!cpumask_test_cpu(cpu, mask))
			continue;
		err = bolt_take_off(cpumask_of(cpu), poll) ?: err;
		if (bolt_gives_up(err))
			break;
	}
	return err;
}

/*
 * Wakes the CPUs of bolt_wave, as many at a time as the architecture has on
 * their way at once.
 */
static int bolt_wake(void)
{
	unsigned int cpu, last = nr_cpu_ids, slots = bolt_arch_slots();
	unsigned int next = cpumask_first(&bolt_wave);
	unsigned long deadline = jiffies;
	int err = 0, ret;

	for_each_cpu(cpu, &bolt_wave) {
		if (!slots) {
			ret = bolt_glue_arrive(next, deadline);
			err = err ?: ret;
			next = cpumask_next(next, &bolt_wave);
			slots++;
			if (bolt_gives_up(err))
				break;
		}
		ret = bolt_start(cpu);
		if (ret) {
			/* Is not waited for, in an undo that goes on. */
			__cpumask_clear_cpu(cpu, &bolt_wave);
			if (next == cpu)
				next = cpumask_next(cpu, &bolt_wave);
			err = err ?: ret;
			if (bolt_gives_up(err))
				break;
			continue;
		}
		slots--;
		deadline = jiffies + BOLT_ARRIVE_TIMEOUT;
		last = cpu;
	}
	/* The last first: the others are likely to be there by then. */
	if (last < nr_cpu_ids && next <= last) {
		ret = bolt_glue_arrive(last, deadline);
		err = err ?: ret;
		for (; next < last; next = cpumask_next(next, &bolt_wave)) {
			ret = bolt_glue_arrive(next, deadline);
			err = err ?: ret;
		}
	}
	return err;
}

static int bolt_wake_waves(void)
{
	unsigned int cpu, wave;
	int err = 0;

	for (wave = 0; wave < 2 && !bolt_gives_up(err); wave++) {
		cpumask_clear(&bolt_wave);
		for_each_cpu(cpu, &bolt_round) {
			if (bolt_arch_wave(cpu) == wave)
				__cpumask_set_cpu(cpu, &bolt_wave);
		}
		err = bolt_wake() ?: err;
	}
	return err;
}

/* From prepared to idle. */
static int bolt_bring_in(void)
{
	int err;

	bolt_arch_coming(cpumask_weight(&bolt_round));
	/* Interrupts are not to come or go while a CPU's vectors are set up. */
	irq_lock_sparse();
	err = bolt_wake_waves();
	irq_unlock_sparse();
	cpumask_and(&bolt_round, &bolt_round, cpu_online_mask);
	bolt_arch_arrived(&bolt_round);
	return err;
}

static int bolt_prepare(const struct cpumask *mask)
{
	unsigned int cpu;
	int err = 0;

	/* May fail: before anything else. */
	for_each_cpu(cpu, mask) {
		enum cpuhp_state state = bolt_glue_state(cpu);

		/* Woken but not there, or dead, by a write to its target. */
		if (state > BOLT_PREPARED && state < CPUHP_TEARDOWN_CPU &&
		    !cpu_online(cpu))
			bolt_glue_bury(cpu, state == CPUHP_AP_IDLE_DEAD ?
					    CPUHP_OFFLINE : BOLT_PREPARED);
		err = bolt_glue_idle(cpu);
		if (err)
			return err;
	}
	for_each_cpu(cpu, mask) {
		if (bolt_glue_state(cpu) >= BOLT_PREPARED)
			continue;
		err = bolt_glue_run(cpu, min(bolt_goal(cpu), BOLT_PREPARED)) ?: err;
		if (bolt_gives_up(err))
			return err;
	}
	return err;
}

/* Those of bolt_round; @due as for bolt_bring_up(). */
static int bolt_activate(const struct cpumask *due)
{
	unsigned int cpu;
	int err = 0;

	bolt_set_round(due);
	for_each_cpu(cpu, &bolt_round) {
		bolt_batch->at = cpu;
		err = bolt_glue_run(cpu, bolt_goal(cpu)) ?: err;
		if (bolt_gives_up(err))
			break;
	}
	bolt_set_round(NULL);
	/* As in bolt_deactivate(): it may have been the last one that failed. */
	if (err && !bolt_gives_up(err))
		sched_cpus_have_changed();
	return err;
}

/*
 * From offline to active. @due: the CPUs that become active one after the other,
 * here or in other calls; the last of them does what is done once for all.
 */
static int bolt_bring_up(const struct cpumask *mask, const struct cpumask *due)
{
	bool tree = bolt_batch->flags & BOLT_TREE;
	int err = tree ? bolt_tree_up(mask) : bolt_prepare(mask);

	bolt_mark(BOLT_PHASE_PREPARE);
	if (bolt_gives_up(err))
		return err;

	if (!tree && bolt_find(mask, BOLT_PREPARED, BOLT_PREPARED, true))
		err = bolt_bring_in() ?: err;
	bolt_mark(BOLT_PHASE_HARDWARE);
	if (bolt_gives_up(err))
		return err;

	if (bolt_find(mask, CPUHP_TEARDOWN_CPU, CPUHP_AP_ACTIVE - 2, true)) {
		irq_affinity_online_cpus(&bolt_round);
		err = bolt_run_threads(CPUHP_AP_ACTIVE - 1, true) ?: err;
		if (bolt_crowded())
			vmstat_cpus_come();
	}
	if (!bolt_gives_up(err) &&
	    bolt_find(mask, CPUHP_AP_ACTIVE - 1, CPUHP_ONLINE - 1, true)) {
		workqueue_cpus_come(&bolt_round);
		err = bolt_activate(due) ?: err;
	}
	bolt_mark(BOLT_PHASE_AP);
	return err;
}

/**
 * bolt_go_up - bring CPUs up to where they are to go
 * @mask:	the CPUs; those that are there already are passed over
 *
 * Context: the control task, hotplug lock held for writing.
 * Return: as bolt_go_down().
 */
int bolt_go_up(const struct cpumask *mask)
{
	unsigned int cpu;
	int err = 0, ret;

	if (!bolt_batch->by_cpu)
		return bolt_bring_up(mask, &bolt_round);

	cpumask_clear(&bolt_due);
	for_each_cpu(cpu, mask) {
		if (bolt_goal(cpu) > CPUHP_AP_ACTIVE - 1 &&
		    bolt_goal(cpu) > bolt_glue_state(cpu))
			__cpumask_set_cpu(cpu, &bolt_due);
	}
	for_each_cpu(cpu, mask) {
		ret = bolt_bring_up(cpumask_of(cpu), &bolt_due);
		err = err ?: ret;
		if (bolt_gives_up(err))
			return err;
	}
	/* In an undo, the CPU to which all have left that may not have come. */
	if (err)
		sched_cpus_have_changed();
	return err;
}

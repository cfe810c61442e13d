// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way down: all that happens to the CPUs of a request from active to dead, in
 * order. request.c calls bolt_offline_batch(), at the end of this file, for the CPUs
 * that go, and for those that have come when it undoes a request. Each phase is
 * what all CPUs do before any of them goes on; if a state is not fit for batches,
 * only the first phase is, and each CPU goes through the others by itself:
 *
 *	bolt_deactivate()	CPUs leave the scheduler; one grace period
 *	bolt_run_threads()	teardowns in the hotplug threads; see threads.c
 *	bolt_stop_and_take_down()	one stop of the machine, in which the CPUs die:
 *				bolt_take_down() has the order of the stop
 *	bolt_run_dead_callbacks()	teardowns of dead CPUs, in the control task
 *
 * A phase takes the CPUs that are in its first state and leaves them in its last
 * one or, if it fails, in the state in which they came. Every callback passes
 * defer.c, which may have its teardown wait; the rebuild of scheduler domains, which
 * is no callback, is deferred by domains.c.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/irq.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/suspend.h>
#include <linux/tick.h>

#include "compat.h"
#include "domains.h"
#include "down.h"
#include "state.h"
#include "threads.h"
#include "turn.h"

/*
 * All CPUs of bolt_round leave the scheduler, with one grace period for all of
 * them. Only then the callback of CPUHP_AP_ACTIVE runs, which may still refuse.
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
		err = bolt_run_callbacks(cpu, CPUHP_AP_ACTIVE - 1) ?: err;
		if (bolt_gives_up(err))
			break;
	}
	bolt_set_round(NULL);
	for_each_cpu(cpu, &bolt_round) {
		if (bolt_cpu_state(cpu) >= CPUHP_AP_ACTIVE && !cpu_active(cpu))
			sched_cpu_stay(cpu);
	}
	/*
	 * In an undo, the last CPU of the round may have stayed, to which the CPUs
	 * before it have left what is done once. Only after this it is known
	 * whether the domains have the CPUs.
	 */
	if (err && !bolt_gives_up(err))
		sched_cpus_have_changed();
	for_each_cpu(cpu, &bolt_round) {
		if (bolt_cpu_state(cpu) < CPUHP_AP_ACTIVE)
			bolt_note_stale_in_domains(cpu);
	}
	return err;
}

/**
 * struct bolt_stop - a stop of the machine in which CPUs go
 * @cpus:	the CPUs
 * @nr:		how many
 * @err:	why none of the CPUs goes
 * @turn:	the CPU whose turn it is to give up its interrupts
 * @met:	how many times a CPU has arrived where all wait for each other
 */
struct bolt_stop {
	const struct cpumask *cpus;
	unsigned int nr;
	int err;
	unsigned int turn;
	atomic_t met;
};

/**
 * bolt_irqs_moved_off - interrupts have been moved off this CPU: the next CPU may
 *
 * What is left to do for these interrupts may take a millisecond, and all CPUs may
 * do it at once.
 *
 * Context: a CPU that goes, in stop_machine(); without effect the second time,
 * and outside of requests.
 */
void bolt_irqs_moved_off(void)
{
	struct bolt_stop *stop = bolt_stopping;
	unsigned int cpu = smp_processor_id();

	if (stop && stop->turn == cpu)
		/* Pairs with the acquire in bolt_take_down(). */
		smp_store_release(&stop->turn, cpumask_next(cpu, stop->cpus));
}

static void bolt_stop_meet(struct bolt_stop *stop, unsigned int time)
{
	/* A release and an acquire: what a CPU did before, all CPUs see after. */
	atomic_inc_return_release(&stop->met);
	while (atomic_read_acquire(&stop->met) < time * stop->nr)
		bolt_relax();
}

/*
 * What every CPU of a stop does. In phases, so that no CPU that looks for a
 * successor chooses one that goes as well: all leave the online mask, then the
 * CPUs give up their interrupts, one after the other, as masks of siblings are
 * changed, then the dying callbacks run.
 */
static int bolt_take_down(void *data)
{
	unsigned int this_cpu = smp_processor_id(), cpu;
	struct bolt_stop *stop = data;
	int err;

	bolt_set_transit(this_cpu, true);
	if (this_cpu == cpumask_first(stop->cpus)) {
		stop->err = bolt_arch_may_go(stop->cpus);
		if (!stop->err) {
			for_each_cpu(cpu, stop->cpus)
				set_cpu_online(cpu, false);
		}
	}
	bolt_stop_meet(stop, 1);
	if (stop->err)
		return stop->err;

	/* Pairs with bolt_irqs_moved_off(), by the CPU before this one. */
	while (smp_load_acquire(&stop->turn) != this_cpu)
		bolt_relax();
	err = __cpu_disable();
	if (err)
		set_cpu_online(this_cpu, true);
	bolt_irqs_moved_off();
	bolt_stop_meet(stop, 2);
	if (err)
		return err;

	bolt_run_dying_callbacks(this_cpu, CPUHP_AP_OFFLINE);
	stop_machine_park(this_cpu);
	return 0;
}

/* Has CPUs that have got to CPUHP_TEARDOWN_CPU die. */
static int bolt_stop_and_take_down(const struct cpumask *cpus)
{
	struct bolt_stop stop = {
		.cpus = cpus,
		.nr = cpumask_weight(cpus),
		.turn = cpumask_first(cpus),
	};
	unsigned int cpu;
	int err;

	for_each_cpu(cpu, cpus) {
		err = bolt_inject(cpu, CPUHP_TEARDOWN_CPU);
		if (err)
			return err;
	}
	for_each_cpu(cpu, cpus) {
		struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);

		/* A CPU that got here by a write to its target has its thread running. */
		if (!kthread_parking(st->thread))
			kthread_park(st->thread);
		cpuhp_set_state(cpu, st, CPUHP_OFFLINE);
		st->state = CPUHP_TEARDOWN_CPU - 1;
	}

	/* Interrupts are not to come or go while they are moved. */
	irq_lock_sparse();
	bolt_set_round(cpus);
	bolt_stopping = &stop;
	err = stop_machine_cpuslocked(bolt_take_down, &stop, cpus);
	bolt_stopping = NULL;
	bolt_set_round(NULL);
	bolt_phase_end(BOLT_PHASE_STOP);
	for_each_cpu(cpu, cpus) {
		struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);

		if (cpu_online(cpu)) {
			st->state = CPUHP_TEARDOWN_CPU;
			bolt_callback_failed(cpu, CPUHP_TEARDOWN_CPU);
			continue;
		}
		bolt_look_out(cpu, false);
		wait_for_ap_thread(st, false);
		WARN_ON_ONCE(st->state != CPUHP_AP_IDLE_DEAD);
	}
	irq_unlock_sparse();
	for_each_cpu_and(cpu, cpus, cpu_online_mask)
		bolt_set_transit(cpu, false);

	for_each_cpu_andnot(cpu, cpus, cpu_online_mask) {
		hotplug_cpu__broadcast_tick_pull(cpu);
		__cpu_die(cpu);
		bolt_wait_for_death(cpu);
		bolt_set_transit(cpu, false);
	}
	bolt_phase_end(BOLT_PHASE_DIE);
	for_each_cpu_andnot(cpu, cpus, cpu_online_mask) {
		compat_cleanup_dead_cpu(cpu);
		rcutree_migrate_callbacks(cpu);
	}
	return err;
}

/*
 * Has the CPUs of bolt_round die, all or none; in an undo those that can, one
 * after the other.
 */
static int bolt_take_down_round(void)
{
	int err = bolt_stop_and_take_down(&bolt_round);
	unsigned int cpu;

	if (!err || bolt_gives_up(err))
		return err;
	for_each_cpu_and(cpu, &bolt_round, cpu_online_mask)
		bolt_stop_and_take_down(cpumask_of(cpu));
	return err;
}

/* From inactive to dead: the hotplug threads, the stop, the dead callbacks. */
static int bolt_take_off(const struct cpumask *mask, bool poll)
{
	unsigned int cpu;
	int err = 0;

	if (bolt_find(mask, CPUHP_TEARDOWN_CPU + 1, CPUHP_AP_ACTIVE - 1, false)) {
		workqueue_cpus_leave(&bolt_round);
		err = bolt_run_threads(CPUHP_TEARDOWN_CPU, false);
		cacheinfo_cpus_changed();
	}
	bolt_phase_end(BOLT_PHASE_AP);
	if (!err && poll && pm_wakeup_pending())
		err = -EBUSY;
	if (bolt_gives_up(err))
		return err;

	if (bolt_find(mask, CPUHP_TEARDOWN_CPU, CPUHP_TEARDOWN_CPU, false))
		err = bolt_take_down_round() ?: err;

	for_each_cpu(cpu, mask) {
		enum cpuhp_state goal = bolt_goal(cpu);

		/* A CPU has refused: CPUs that are dead by now must be so altogether. */
		if (bolt_gives_up(err)) {
			if (bolt_cpu_state(cpu) != CPUHP_AP_IDLE_DEAD)
				continue;
			goal = CPUHP_OFFLINE;
		}
		if (goal >= CPUHP_TEARDOWN_CPU || cpu_online(cpu))
			continue;
		WARN(bolt_run_dead_callbacks(cpu, goal),
		     "DEAD callback error for CPU%d", cpu);
	}
	bolt_phase_end(BOLT_PHASE_DEAD);
	return err;
}

/*
 * The CPU in place @i of those that go one by one. Natively suspend takes CPUs
 * from the highest to the lowest, every other caller from the lowest up.
 */
static unsigned int bolt_native_order(unsigned int i)
{
	return bolt_batch->flags & BOLT_FROZEN ? nr_cpu_ids - 1 - i : i;
}

/**
 * bolt_offline_batch - take CPUs down to their goals
 * @mask:	the CPUs; those that are at their goals already are passed over
 * @poll:	whether a wake-up of the system stops it, between phases
 *
 * All leave the scheduler with one grace period, also if what comes then is
 * done for one CPU after the other.
 *
 * Context: the control task, hotplug lock held for writing.
 * Return: 0, or the error of the first CPU that failed; the other CPUs are left
 * somewhere on the way.
 */
int bolt_offline_batch(const struct cpumask *mask, bool poll)
{
	unsigned int cpu, i;
	int err = 0;

	/* No callback lies between the two; a CPU that stays active must not leave. */
	for_each_cpu(cpu, mask) {
		if (bolt_goal(cpu) == CPUHP_AP_ACTIVE &&
		    bolt_cpu_state(cpu) == CPUHP_ONLINE)
			bolt_run_callbacks(cpu, CPUHP_AP_ACTIVE);
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

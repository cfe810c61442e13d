// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way down: all that happens to the CPUs of a request from active to dead, in
 * order. request.c calls bolt_offline_batch(), at the end of this file, for the
 * CPUs that go; and to undo a request, for the CPUs that have come. All CPUs end a
 * phase before any CPU begins the next, except that the timers of a dead CPU are moved
 * while other CPUs have yet to report their death. If a state is not fit for batches,
 * all that holds only for the first phase, and each CPU goes through the later phases
 * by itself:
 *
 *	bolt_deactivate()	CPUs leave the scheduler; one grace period
 *	bolt_run_threads()	teardowns in the hotplug threads; see threads.c
 *	bolt_stop_and_take_down()	one stop of the machine, in which the CPUs die:
 *				bolt_take_down() has the order of the stop
 *	bolt_await_deaths()	each CPU reports its death; its timers are moved
 *	bolt_run_all_dead()	teardowns of dead CPUs, in the control task
 *
 * A phase takes the CPUs that are in its first state, or between that and its last state,
 * and leaves them in the last state. A CPU for which a phase fails goes back to where the
 * phase has found the CPU; or, if softirqs are left to threads and the second step of
 * bolt_run_teardowns() fails, to where that step has found the CPU. Other CPUs may be in
 * the last state by then. For each state whose teardown may be deferred, defer.c decides
 * whether the teardown is deferred now; the rebuild of scheduler domains, which is no
 * callback, is deferred by domains.c.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/stop_machine.h>
#include <linux/suspend.h>
#include <linux/tick.h>

#include "compat.h"
#include "domains.h"
#include "down.h"
#include "state.h"
#include "threads.h"
#include "turn.h"
#include "up.h"

/* Asks SCHED_DEADLINE whether the CPUs of bolt_round may leave. */
static int bolt_ask_deadline(void)
{
	unsigned int cpu;
	int err;

	for_each_cpu(cpu, &bolt_round) {
		err = dl_may_leave(cpu, &bolt_round);
		if (err) {
			bolt_callback_failed(cpu, CPUHP_AP_ACTIVE, err);
			return err;
		}
	}
	return 0;
}

/*
 * All CPUs of bolt_round leave the scheduler, with one grace period for all of
 * them. The teardown of CPUHP_AP_ACTIVE runs after that. cpuN/hotplug/fail may make that
 * teardown fail.
 */
static int bolt_deactivate(void)
{
	unsigned int cpu;
	int err;

	bolt_set_round(&bolt_round);
	/* Asks first: sched_cpu_leave() may cost tasks of these CPUs their affinity. */
	err = bolt_ask_deadline();
	if (bolt_gives_up(err)) {
		bolt_set_round(NULL);
		return err;
	}
	for_each_cpu(cpu, &bolt_round)
		sched_cpu_leave(cpu);
	synchronize_rcu();
	/* Asks again: a task may have got deadline bandwidth before the CPUs had left. */
	err = bolt_ask_deadline();
	if (!err) {
		for_each_cpu(cpu, &bolt_round)
			sched_cpu_push_tasks(cpu);
	}
	for_each_cpu(cpu, &bolt_round) {
		if (bolt_gives_up(err))
			break;
		err = bolt_run_callbacks(cpu, CPUHP_AP_ACTIVE - 1) ?: err;
	}
	bolt_set_round(NULL);
	for_each_cpu(cpu, &bolt_round) {
		if (bolt_cpu_state(cpu) >= CPUHP_AP_ACTIVE && !cpu_active(cpu))
			sched_cpu_stay(cpu);
	}
	/*
	 * The teardown of CPUHP_AP_ACTIVE updates cpusets and scheduler domains when it
	 * runs for the last CPU of bolt_round, for all CPUs. In an undo that CPU may have
	 * stayed active, so cpusets and scheduler domains are updated here. Only then is
	 * it clear whether the domains contain the CPUs.
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
 * @nr:		number of the CPUs
 * @err:	0, or why none of the CPUs goes; valid once @begun is set
 * @first:	set by the first CPU that enters the stop
 * @begun:	set by the first CPU, when @cpus have left the online mask or @err is set
 * @owner:	the CPU that gives up its interrupts and has bolt_irqs_lock, or
 *		nr_cpu_ids
 * @done:	number of CPUs that have given up their interrupts, or refused to
 */
struct bolt_stop {
	const struct cpumask *cpus;
	unsigned int nr;
	int err;
	atomic_t first;
	bool begun;
	unsigned int owner;
	atomic_t done;
};

/* Held by the CPU that gives up its interrupts. */
static DEFINE_RAW_SPINLOCK(bolt_irqs_lock);

/* CPUs of the stop that still have interrupts; bolt_irqs_lock protects the mask. */
static struct cpumask bolt_irqs_left;

/**
 * bolt_irqs_left_in - whether another CPU has yet to give up its interrupts
 * @mask:	the CPUs that count
 *
 * That CPU moves its interrupts itself, so irq_needs_fixup() does not fix these up now.
 *
 * Context: a CPU that gives up its interrupts, in stop_machine().
 * Return: true if so; always false outside of a request.
 */
bool bolt_irqs_left_in(const struct cpumask *mask)
{
	return bolt_stopping &&
	       cpumask_any_and_but(&bolt_irqs_left, mask,
				   smp_processor_id()) < nr_cpu_ids;
}

/*
 * Any CPU that finds the lock free takes it. If CPUs took the lock in a fixed order, a
 * host with fewer cores than its guest has CPUs would have to run the CPUs in that order.
 */
static void bolt_take_irqs_lock(struct bolt_stop *stop)
{
	while (!raw_spin_trylock(&bolt_irqs_lock))
		bolt_relax();
	WRITE_ONCE(stop->owner, smp_processor_id());
}

/**
 * bolt_irqs_moved_off - let another CPU give up its interrupts after this CPU
 *
 * fixup_irqs() of x86 calls this function when the interrupts of this CPU have moved. In
 * suspend, and wherever else bolt_look_later() cannot put off the look for interrupts
 * in flight, fixup_irqs() then waits for a millisecond. This CPU has released
 * bolt_irqs_lock by then, so all CPUs of the stop may wait at once.
 *
 * Context: a CPU that goes, in stop_machine(). A second call, and a call outside of
 * a request, has no effect.
 */
void bolt_irqs_moved_off(void)
{
	struct bolt_stop *stop = bolt_stopping;
	unsigned int cpu = smp_processor_id();

	if (!stop || READ_ONCE(stop->owner) != cpu)
		return;
	__cpumask_clear_cpu(cpu, &bolt_irqs_left);
	WRITE_ONCE(stop->owner, nr_cpu_ids);
	raw_spin_unlock(&bolt_irqs_lock);
}

/*
 * The first CPU in the stop takes all CPUs of @stop out of the online mask, so that no
 * CPU chooses a successor that goes as well.
 */
static int bolt_begin_stop(struct bolt_stop *stop)
{
	unsigned int cpu;

	if (atomic_xchg(&stop->first, 1)) {
		/* Pairs with the release below: this CPU sees what the first CPU did. */
		while (!smp_load_acquire(&stop->begun))
			bolt_relax();
		return stop->err;
	}
	for_each_cpu(cpu, stop->cpus)
		bolt_set_transit(cpu, true);
	stop->err = bolt_arch_may_go(stop->cpus);
	if (!stop->err) {
		for_each_cpu(cpu, stop->cpus)
			set_cpu_online(cpu, false);
	}
	/* Pairs with the acquire above. */
	smp_store_release(&stop->begun, true);
	return stop->err;
}

static void bolt_wait_for_all(struct bolt_stop *stop)
{
	/*
	 * The release and the acquire order the phases: what a CPU has done before it
	 * calls this function, each CPU sees when the function returns.
	 */
	atomic_inc_return_release(&stop->done);
	while (atomic_read_acquire(&stop->done) < stop->nr)
		bolt_relax();
}

/*
 * Runs in the stop on every CPU that goes, in phases. First all these CPUs leave the
 * online mask. Then the CPUs give up their interrupts, one CPU at a time, because each
 * changes the masks of its siblings. Then the dying callbacks run.
 */
static int bolt_take_down(void *data)
{
	unsigned int this_cpu = smp_processor_id();
	struct bolt_stop *stop = data;
	int err;

	err = bolt_begin_stop(stop);
	if (err)
		return err;

	bolt_take_irqs_lock(stop);
	err = __cpu_disable();
	if (err) {
		set_cpu_online(this_cpu, true);
		bolt_callback_failed(this_cpu, CPUHP_TEARDOWN_CPU, err);
	}
	bolt_irqs_moved_off();
	bolt_wait_for_all(stop);
	if (err)
		return err;

	bolt_run_dying_callbacks(this_cpu, CPUHP_AP_OFFLINE);
	stop_machine_park(this_cpu);
	return 0;
}

/* Runs the dead callbacks of a CPU down to @goal, unless the CPU is there already. */
static void bolt_run_dead(unsigned int cpu, enum cpuhp_state goal)
{
	if (bolt_cpu_state(cpu) > goal)
		WARN(bolt_run_dead_callbacks(cpu, goal), "DEAD callback error for CPU%d", cpu);
}

/* After how many ms without a death no choice is made any more between CPUs that are late. */
#define BOLT_DEATH_MS 10000

/*
 * Waits until one CPU of @left has reported its death, and returns that CPU. If only one
 * CPU is left, or BOLT_DEATH_MS have passed since @start, returns the lowest CPU at once,
 * and bolt_wait_for_death() waits for that CPU.
 */
static unsigned int bolt_next_death(const struct cpumask *left, ktime_t *start)
{
	unsigned int cpu;
	s64 waited;

	while (cpumask_weight(left) > 1) {
		for_each_cpu(cpu, left) {
			if (bolt_cpu_dead(cpu)) {
				*start = ktime_get();
				return cpu;
			}
		}
		waited = ktime_ms_delta(ktime_get(), *start);
		if (waited > BOLT_DEATH_MS)
			break;
		if (!waited)
			cpu_relax();
		else
			usleep_range(USEC_PER_MSEC, 2 * USEC_PER_MSEC);
	}
	return cpumask_first(left);
}

/*
 * Waits until the CPUs of @cpus that are not online have reported their death, for each
 * CPU as long as bolt_wait_for_death() does. A timer of an offline CPU does not expire
 * until the timer is moved. So the timers of each CPU are moved as soon as that CPU is
 * dead: the host may run another CPU of @cpus late.
 */
static void bolt_await_deaths(const struct cpumask *cpus)
{
	static struct cpumask left;
	ktime_t start = ktime_get();
	unsigned int cpu;

	cpumask_andnot(&left, cpus, cpu_online_mask);
	while (!cpumask_empty(&left)) {
		cpu = bolt_next_death(&left, &start);
		cpumask_clear_cpu(cpu, &left);
		__cpu_die(cpu);
		bolt_wait_for_death(cpu);
		bolt_set_transit(cpu, false);
		compat_cleanup_dead_cpu(cpu);
		bolt_run_dead(cpu, max(bolt_goal(cpu), CPUHP_TIMERS_PREPARE - 1));
	}
}

/*
 * Makes @cpus, which have reached CPUHP_TEARDOWN_CPU, die in one stop of the
 * machine.
 */
static int bolt_stop_and_take_down(const struct cpumask *cpus)
{
	struct bolt_stop stop = {
		.cpus = cpus,
		.nr = cpumask_weight(cpus),
		.owner = nr_cpu_ids,
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

		/*
		 * If the request has found the CPU in this state, because of a write to
		 * cpuN/hotplug/target or of an undo that has left the CPU here, the
		 * hotplug thread of the CPU is not parked yet.
		 */
		if (!kthread_parking(st->thread))
			kthread_park(st->thread);
		cpuhp_set_state(cpu, st, CPUHP_OFFLINE);
		st->state = CPUHP_TEARDOWN_CPU - 1;
	}

	/* No interrupt may be allocated or freed while interrupts are moved. */
	irq_lock_sparse();
	cpumask_copy(&bolt_irqs_left, cpus);
	bolt_stopping = &stop;
	err = stop_machine_cpuslocked(bolt_take_down, &stop, cpus);
	bolt_stopping = NULL;
	bolt_phase_end(BOLT_PHASE_STOP);
	for_each_cpu(cpu, cpus) {
		struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);

		if (cpu_online(cpu)) {
			st->state = CPUHP_TEARDOWN_CPU;
			bolt_callback_failed(cpu, CPUHP_TEARDOWN_CPU, err);
			continue;
		}
		bolt_look_out(cpu, false);
		wait_for_ap_thread(st, false);
		WARN_ON_ONCE(st->state != CPUHP_AP_IDLE_DEAD);
	}
	irq_unlock_sparse();
	for_each_cpu_and(cpu, cpus, cpu_online_mask)
		bolt_set_transit(cpu, false);

	/*
	 * A dead CPU may have been the one that sends the tick broadcast. Before a wait,
	 * this CPU takes the broadcast over: the timer of a wait may need the broadcast.
	 */
	for_each_cpu_andnot(cpu, cpus, cpu_online_mask) {
		hotplug_cpu__broadcast_tick_pull(cpu);
		/* A teardown below may wait for an RCU callback of any of the CPUs. */
		rcutree_migrate_callbacks(cpu);
	}
	bolt_await_deaths(cpus);
	bolt_phase_end(BOLT_PHASE_DIE);
	return err;
}

/*
 * Makes the CPUs of bolt_round die in one stop. In an undo, after a failure, tries
 * each CPU that is still online by itself.
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

/* Before threads of bolt_round run: tells workqueues which CPUs they lose. */
static void bolt_workqueues_leave(void)
{
	static struct cpumask cpus;
	unsigned int cpu;

	cpumask_clear(&cpus);
	for_each_cpu(cpu, &bolt_round) {
		if (bolt_goal(cpu) < CPUHP_AP_WORKQUEUE_ONLINE)
			__cpumask_set_cpu(cpu, &cpus);
	}
	workqueue_cpus_leave(&cpus);
}

/*
 * Has the threads of bolt_round, that is, of the inactive CPUs of @mask that are above
 * CPUHP_TEARDOWN_CPU, run their teardowns. If softirqs are left to ksoftirqd, a CPU runs
 * no timer once its ksoftirqd is parked, and a teardown of another CPU that waits for I/O
 * may need such a timer: so first all CPUs run the teardowns above that of ksoftirqd.
 */
static int bolt_run_teardowns(const struct cpumask *mask)
{
	int err = 0;

	if (IS_ENABLED(CONFIG_PREEMPT_RT) || force_irqthreads()) {
		if (bolt_find(mask, CPUHP_AP_SMPBOOT_THREADS + 1, CPUHP_AP_ACTIVE - 1,
			      false))
			err = bolt_run_threads(CPUHP_AP_SMPBOOT_THREADS, false);
		if (bolt_gives_up(err) ||
		    !bolt_find(mask, CPUHP_TEARDOWN_CPU + 1, CPUHP_AP_SMPBOOT_THREADS,
			       false))
			return err;
	}
	return bolt_run_threads(CPUHP_TEARDOWN_CPU, false) ?: err;
}

/*
 * The states down to which all CPUs that die in one stop go before one of them goes on.
 * Timers, tasklets and block requests of a dead CPU wait for teardowns of that CPU. A
 * later teardown of another CPU may wait for a task, for instance for a mutex that the
 * task holds, and the task may wait for such a timer. Natively that cannot be: only one
 * CPU is dead and not yet torn down, and the states that such work waits for are above
 * most states whose teardowns wait.
 */
static const enum cpuhp_state bolt_dead_steps[] = {
	CPUHP_TIMERS_PREPARE - 1,
	CPUHP_SOFTIRQ_DEAD - 1,
	CPUHP_OFFLINE,
};

/*
 * Runs the dead callbacks of the CPUs of @mask that are dead. If a CPU has @refused to
 * go, the CPUs that have died in this request, and CPUs that the request has found in
 * CPUHP_AP_IDLE_DEAD, go to CPUHP_OFFLINE, and other CPUs stay where they are.
 */
static void bolt_run_all_dead(const struct cpumask *mask, bool refused)
{
	static struct cpumask dead;
	enum cpuhp_state goal;
	unsigned int cpu;
	int i;

	cpumask_clear(&dead);
	for_each_cpu_andnot(cpu, mask, cpu_online_mask) {
		if (!refused || cpumask_test_cpu(cpu, &bolt_round) ||
		    bolt_cpu_state(cpu) == CPUHP_AP_IDLE_DEAD)
			cpumask_set_cpu(cpu, &dead);
	}
	for (i = 0; i < ARRAY_SIZE(bolt_dead_steps); i++) {
		for_each_cpu(cpu, &dead) {
			goal = refused ? CPUHP_OFFLINE : bolt_goal(cpu);
			if (goal < CPUHP_TEARDOWN_CPU)
				bolt_run_dead(cpu, max(goal, bolt_dead_steps[i]));
		}
	}
}

/* Takes CPUs from inactive to dead: hotplug threads, the stop, dead callbacks. */
static int bolt_take_off(const struct cpumask *mask, bool poll)
{
	unsigned int cpu;
	int err = 0;

	if (bolt_find(mask, CPUHP_TEARDOWN_CPU + 1, CPUHP_AP_ACTIVE - 1, false)) {
		bolt_workqueues_leave();
		err = bolt_run_teardowns(mask);
		cacheinfo_cpus_changed();
	}
	bolt_phase_end(BOLT_PHASE_AP);
	if (!err && poll && pm_wakeup_pending())
		err = -EBUSY;
	if (bolt_gives_up(err))
		return err;

	if (bolt_find(mask, CPUHP_TEARDOWN_CPU, CPUHP_TEARDOWN_CPU, false))
		err = bolt_take_down_round() ?: err;

	bolt_run_all_dead(mask, bolt_gives_up(err));
	if (err)
		bolt_workqueues_come(mask);
	bolt_phase_end(BOLT_PHASE_DEAD);
	return err;
}

/*
 * Returns the CPU that is the @i-th to go when CPUs go one by one. Natively suspend
 * takes CPUs from the highest to the lowest, every other caller from the lowest up.
 */
static unsigned int bolt_native_order(unsigned int i)
{
	return bolt_batch->flags & BOLT_FROZEN ? nr_cpu_ids - 1 - i : i;
}

/**
 * bolt_offline_batch - take CPUs down to their goals
 * @mask:	the CPUs; a CPU that is at its goal already is passed over
 * @poll:	whether a wake-up of the system that is pending between phases is an error
 *
 * All CPUs leave the scheduler with one grace period, even if the later phases are
 * done for one CPU after the other.
 *
 * Context: the control task, hotplug lock held for writing.
 * Return: 0; or the error of a CPU that failed, or -EBUSY for the wake-up: the CPUs
 * are then left somewhere on the way.
 */
int bolt_offline_batch(const struct cpumask *mask, bool poll)
{
	unsigned int cpu, i;
	int err = 0;

	/*
	 * There is no callback between CPUHP_ONLINE and CPUHP_AP_ACTIVE. A CPU
	 * whose goal is to stay active must not leave the scheduler.
	 */
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

#include "tests/down-kunit.h"

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way up: all that happens to the CPUs of a request from offline to active, in
 * order. request.c calls bolt_online_batch(), at the end of this file, for the CPUs
 * that come; and to undo a request, for the CPUs that have gone. All CPUs end a
 * phase before any CPU begins the next:
 *
 *	bolt_prepare()		startups in the control task
 *	bolt_bring_in()		CPUs are woken, and arrive in their idle loops
 *	bolt_run_threads()	startups in the hotplug threads; see threads.c
 *	bolt_activate()		CPUs join the scheduler, one after the other
 *
 * As in down.c, a phase takes the CPUs that are in its first state; also those that an
 * undo, or a write to cpuN/hotplug/target, has left between its first state and its last.
 * Every callback passes through defer.c, which skips the startup of a state whose
 * teardown is pending, unless @restart of struct bolt_defer is set. If a state is not fit
 * for batches, each CPU goes through all phases by itself. While the machine boots,
 * boot/tree.c may stand in for the first two phases.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/irq.h>
#include <linux/jiffies.h>
#include <linux/kasan.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/scs.h>
#include <linux/smp.h>

#include "../smpboot.h"
#include "state.h"
#include "threads.h"
#include "up.h"
#include "warm.h"

/*
 * The CPUs that are being woken, and the CPUs that bolt_online_batch() passes on as @due
 * if CPUs come one by one. Both masks are static, as there is one request at a time.
 */
static struct cpumask bolt_wave;
static struct cpumask bolt_due;

/* Until when to wait for a CPU that was woken, in jiffies. */
static DEFINE_PER_CPU(unsigned long, bolt_arrives_by);

/*
 * The function that brings CPUs to their idle loops in place of bolt_prepare() and
 * bolt_bring_in(), or NULL.
 */
static int (*bolt_tree)(const struct cpumask *mask);

/**
 * bolt_up_by_tree - set how CPUs come in requests with BOLT_TREE
 * @tree:	function that brings CPUs to their idle loops and returns 0 or an
 *		error; or NULL
 *
 * Context: the machine boots, no request is under way.
 */
void bolt_up_by_tree(int (*tree)(const struct cpumask *mask))
{
	bolt_tree = tree;
}

/**
 * bolt_prepare_idle - prepare the stack of the idle task for the return of a CPU
 * @cpu:	the CPU; if its state is not CPUHP_OFFLINE, there is nothing to do
 *
 * Context: the control task, or a hotplug thread that works for that task.
 * Return: 0 or a negative error number.
 */
int bolt_prepare_idle(unsigned int cpu)
{
	struct task_struct *idle;

	if (bolt_cpu_state(cpu) != CPUHP_OFFLINE)
		return 0;
	idle = idle_thread_get(cpu);
	if (IS_ERR(idle))
		return PTR_ERR(idle);
	scs_task_reset(idle);
	kasan_unpoison_task_stack(idle);
	return 0;
}

/**
 * bolt_state_to_restore - to which state an undo is to bring a CPU
 * @cpu:	the CPU, before a request changes its state
 *
 * A write to cpuN/hotplug/target may have left @cpu dead, or woken and not yet online. No
 * undo restores these states: an undo leaves such a CPU offline.
 *
 * Context: the control task, with the hotplug lock held for writing.
 * Return: the present state of @cpu, or CPUHP_OFFLINE.
 */
enum cpuhp_state bolt_state_to_restore(unsigned int cpu)
{
	enum cpuhp_state state = bolt_cpu_state(cpu);

	return state > BOLT_PREPARED && !cpu_online(cpu) ? CPUHP_OFFLINE : state;
}

static int bolt_prepare(const struct cpumask *mask)
{
	unsigned int cpu;
	int err = 0;

	/* An idle task may be missing, which is found out before any startup runs. */
	for_each_cpu(cpu, mask) {
		enum cpuhp_state state = bolt_cpu_state(cpu);

		/* In an undo this CPU may have to stay offline. */
		if (bolt_goal(cpu) <= state)
			continue;
		/*
		 * A write to cpuN/hotplug/target may have left this CPU dead, or woken
		 * and not yet online: then teardowns of this CPU run first.
		 */
		if (state > BOLT_PREPARED && state < CPUHP_TEARDOWN_CPU &&
		    !cpu_online(cpu))
			bolt_run_dead_callbacks(cpu, state == CPUHP_AP_IDLE_DEAD ?
					    CPUHP_OFFLINE : BOLT_PREPARED);
		err = bolt_prepare_idle(cpu);
		if (err) {
			bolt_callback_failed(cpu, CPUHP_BRINGUP_CPU, err);
			return err;
		}
	}
	for_each_cpu(cpu, mask) {
		if (bolt_cpu_state(cpu) >= BOLT_PREPARED)
			continue;
		err = bolt_run_callbacks(cpu, min(bolt_goal(cpu), BOLT_PREPARED)) ?: err;
		if (bolt_gives_up(err))
			return err;
	}
	return err;
}

/*
 * With CONFIG_HOTPLUG_SPLIT_STARTUP, natively, a CPU that was woken waits until the
 * task that has woken the CPU releases it. In a request the CPU does not wait; without
 * that option no CPU waits natively either.
 */
#ifdef CONFIG_HOTPLUG_SPLIT_STARTUP
#define BOLT_KICK_STATE CPUHP_BP_KICK_AP

static int bolt_kick(unsigned int cpu)
{
	return bolt_invoke_callback(cpu, CPUHP_BP_KICK_AP, true, NULL);
}

#define bolt_give_up(cpu) bolt_arrival_given_up(cpu)
#define bolt_kicked(cpu) arch_cpuhp_cleanup_kick_cpu(cpu)
#else
#define BOLT_KICK_STATE CPUHP_BRINGUP_CPU

static int bolt_kick(unsigned int cpu)
{
	return bolt_arch_kick(cpu, idle_thread_get(cpu));
}

/*
 * Gives up waiting for @cpu. If @cpu waits in the kernel and has not taken its order to
 * return, @cpu dies when it runs again. If @cpu was woken natively and has not begun to
 * run the kernel, @cpu finds no idle task when it begins, and halts, as natively. Returns
 * false if @cpu has come after all.
 */
static bool bolt_give_up(unsigned int cpu)
{
	if (bolt_warm_withdraw(cpu)) {
		bolt_arch_warm_lost(cpu);
		return true;
	}
	if (cpu_online(cpu))
		return false;
	bolt_arch_gave_up(cpu);
	return true;
}

#define bolt_kicked(...) do { } while (0)
#endif

/*
 * Wakes a CPU from its wait in the kernel. Returns false if the CPU does not wait there,
 * or could not be woken, and must be woken natively.
 */
static bool bolt_kick_warm(unsigned int cpu)
{
	struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);

	bc->woken_warm = false;
	if (!bolt_is_warm(cpu) || !bolt_release_warm(cpu))
		return false;
	bc->woken_warm = bolt_warm_wake(cpu, idle_thread_get(cpu));
	if (!bc->woken_warm)
		bolt_arrival_given_up(cpu);
	return bc->woken_warm;
}

/*
 * Wakes a CPU. The CPU goes all the way to its idle loop without waiting for the
 * control task, so its hotplug state and target state are set before it is woken.
 */
static int bolt_kick_cpu(unsigned int cpu)
{
	struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);
	int err = bolt_inject(cpu, CPUHP_BRINGUP_CPU);

	if (err)
		return err;
	reinit_completion(&st->done_up);
	cpuhp_set_state(cpu, st, CPUHP_ONLINE);
	st->state = CPUHP_BRINGUP_CPU;
	/*
	 * cpuN/hotplug/fail may ask BOLT_KICK_STATE to fail. bolt_kick_warm() runs no
	 * callback, so the check of that file is made here.
	 */
	err = bolt_is_warm(cpu) ? bolt_inject(cpu, BOLT_KICK_STATE) : 0;
	err = err ?: bolt_arch_finish_death(cpu);
	if (!err && bolt_kick_warm(cpu))
		return 0;
	err = err ?: bolt_kick(cpu);
	if (err) {
		bolt_callback_failed(cpu, BOLT_KICK_STATE, err);
		st->state = CPUHP_BP_KICK_AP - 1;
	}
	return err;
}

/**
 * bolt_wake_cpu - wake a CPU
 * @cpu:	the CPU, whose prepare callbacks have run
 *
 * Context: as bolt_prepare_idle(), inside a request.
 * Return: 0 or a negative error number.
 */
int bolt_wake_cpu(unsigned int cpu)
{
	int err;

	bolt_batch->waking = cpu;
	bolt_set_transit(cpu, true);
	err = bolt_kick_cpu(cpu);
	if (err)
		bolt_set_transit(cpu, false);
	per_cpu(bolt_arrives_by, cpu) = jiffies + BOLT_ARRIVE_TIMEOUT;
	return err;
}

/*
 * Whether @cpu was woken from its wait in the kernel, has not answered in time, and its
 * order to return was withdrawn, see bolt_warm_taken(). This function has then tried to
 * wake @cpu natively, and @err says with what result.
 */
static bool bolt_woken_again(unsigned int cpu, int *err)
{
	struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);

	if (!bc->woken_warm || bolt_warm_taken(cpu))
		return false;
	bolt_batch->waking = cpu;
	bolt_arrival_given_up(cpu);
	*err = bolt_kick(cpu);
	/*
	 * If the native wake-up has failed, it has been cleaned up, so
	 * bolt_clean_up_kick() must not clean up again.
	 */
	bc->woken_warm = *err;
	return true;
}

/* Cleans up after the native wake-up of a CPU that has arrived, or will not arrive. */
static void bolt_clean_up_kick(unsigned int cpu)
{
	if (per_cpu_ptr(&bolt_cpus, cpu)->woken_warm)
		return;
	bolt_kicked(cpu);
}

/**
 * bolt_wait_for_arrival - wait for a CPU that was woken
 * @cpu:	the CPU, which has BOLT_ARRIVE_TIMEOUT jiffies to arrive from the moment the
 *		CPU was woken, also if bolt_woken_again() has woken the CPU
 *
 * Context: the task that has woken @cpu.
 * Return: 0; an error if the CPU has not come, or -ECANCELED if the CPU must not stay.
 */
int bolt_wait_for_arrival(unsigned int cpu)
{
	struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);
	int err = 0;
	long left;

	if (bolt_woken_again(cpu, &err))
		per_cpu(bolt_arrives_by, cpu) = jiffies + BOLT_ARRIVE_TIMEOUT;
	left = max(1L, (long)(per_cpu(bolt_arrives_by, cpu) - jiffies));
	if (!err)
		bolt_look_out(cpu, true);
	if (!err && !wait_for_completion_timeout(&st->done_up, left)) {
		if (bolt_give_up(cpu))
			err = -EIO;
		else
			wait_for_ap_thread(st, true);
	}
	bolt_clean_up_kick(cpu);
	bolt_set_transit(cpu, false);
	if (err) {
		pr_err("CPU%u failed to report alive state\n", cpu);
		st->state = CPUHP_BP_KICK_AP - 1;
	} else if (WARN_ON_ONCE(!cpu_online(cpu)) || !bolt_cpu_bootable(cpu)) {
		/*
		 * If SMT control does not let this CPU stay, the undo must leave the CPU
		 * natively dead, as SMT control itself does, and not waiting in the
		 * kernel.
		 */
		bolt_batch->flags |= BOLT_PARK_COLD;
		err = -ECANCELED;
	}
	if (err)
		bolt_callback_failed(cpu, CPUHP_BRINGUP_CPU, err);
	bolt_stats[BOLT_STAT_WARM] += !err && per_cpu_ptr(&bolt_cpus, cpu)->woken_warm;
	return err;
}

/*
 * Wakes the CPUs of bolt_wave and waits for them. No more CPUs are on their way at
 * once than bolt_arch_slots() allows.
 */
static int bolt_wake(void)
{
	unsigned int cpu, last = nr_cpu_ids, slots = bolt_arch_slots();
	unsigned int next = cpumask_first(&bolt_wave);
	int err = 0, ret;

	for_each_cpu(cpu, &bolt_wave) {
		if (!slots) {
			ret = bolt_wait_for_arrival(next);
			err = err ?: ret;
			next = cpumask_next(next, &bolt_wave);
			slots++;
			if (bolt_gives_up(err))
				break;
		}
		ret = bolt_wake_cpu(cpu);
		if (ret) {
			/*
			 * An undo, or a request during boot, goes on with the other
			 * CPUs, and must not wait for this CPU.
			 */
			__cpumask_clear_cpu(cpu, &bolt_wave);
			if (next == cpu)
				next = cpumask_next(cpu, &bolt_wave);
			err = err ?: ret;
			if (bolt_gives_up(err))
				break;
			continue;
		}
		slots--;
		last = cpu;
	}
	/*
	 * First waits for the CPU that was woken last, as the CPUs woken before it
	 * are likely to have arrived by then.
	 */
	if (last < nr_cpu_ids && next <= last) {
		ret = bolt_wait_for_arrival(last);
		err = err ?: ret;
		for (; next < last; next = cpumask_next(next, &bolt_wave)) {
			ret = bolt_wait_for_arrival(next);
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

/* Brings CPUs that are prepared to their idle loops. */
static int bolt_bring_in(void)
{
	int err;

	bolt_arch_coming(cpumask_weight(&bolt_round));
	/* No interrupt may be allocated or freed while a CPU's vectors are set up. */
	irq_lock_sparse();
	err = bolt_wake_waves();
	irq_unlock_sparse();
	cpumask_and(&bolt_round, &bolt_round, cpu_online_mask);
	bolt_arch_arrived(&bolt_round);
	return err;
}

/**
 * bolt_workqueues_come - tell workqueues which CPUs have come
 * @mask:	CPUs whose threads have run; those below the state of workqueues are
 *		passed over
 *
 * The state of each CPU decides, because a CPU may have stopped in the state of
 * workqueues, or above, without having come all the way: if a later startup has failed
 * and then a teardown on the way back, too, or if a teardown has failed on the way down.
 *
 * Context: the control task, inside a request; may sleep.
 */
void bolt_workqueues_come(const struct cpumask *mask)
{
	static struct cpumask cpus;
	unsigned int cpu;

	cpumask_clear(&cpus);
	for_each_cpu(cpu, mask) {
		if (bolt_cpu_state(cpu) >= CPUHP_AP_WORKQUEUE_ONLINE)
			__cpumask_set_cpu(cpu, &cpus);
	}
	workqueue_cpus_come(&cpus);
}

/*
 * Has the CPUs of bolt_round join the scheduler, one after the other. @due: as for
 * bolt_bring_up().
 */
static int bolt_activate(const struct cpumask *due)
{
	unsigned int cpu;
	int err = 0;

	bolt_set_round(due);
	for_each_cpu(cpu, &bolt_round) {
		bolt_batch->at = cpu;
		err = bolt_run_callbacks(cpu, bolt_goal(cpu)) ?: err;
		if (bolt_gives_up(err))
			break;
	}
	bolt_set_round(NULL);
	/*
	 * The startup of CPUHP_AP_ACTIVE updates cpusets and scheduler domains only when
	 * it runs for the last CPU of @due, and then for all CPUs. In an undo, or while
	 * the machine boots, that CPU may have failed, so cpusets and scheduler domains
	 * are updated here.
	 */
	if (err && !bolt_gives_up(err))
		sched_cpus_have_changed();
	return err;
}

/*
 * Brings CPUs from offline to active. @due: the CPUs that become active one after
 * the other, in this call or in other ones. When the startup of CPUHP_AP_ACTIVE runs for
 * the last CPU of @due, it updates cpusets and scheduler domains for all these CPUs.
 */
static int bolt_bring_up(const struct cpumask *mask, const struct cpumask *due)
{
	bool tree = bolt_batch->flags & BOLT_TREE;
	int err = tree ? bolt_tree(mask) : bolt_prepare(mask);
	unsigned int cpu;

	bolt_phase_end(BOLT_PHASE_PREPARE);
	if (bolt_gives_up(err))
		return err;

	if (!tree && bolt_find(mask, BOLT_PREPARED, BOLT_PREPARED, true))
		err = bolt_bring_in() ?: err;
	bolt_phase_end(BOLT_PHASE_HARDWARE);
	if (bolt_gives_up(err))
		return err;

	if (bolt_find(mask, CPUHP_TEARDOWN_CPU, CPUHP_AP_ACTIVE - 2, true)) {
		irq_affinity_online_cpus(&bolt_round);
		err = bolt_run_threads(CPUHP_AP_ACTIVE - 1, true) ?: err;
		cacheinfo_cpus_changed();
		if (bolt_several_cpus())
			vmstat_cpus_come();
	}
	bolt_workqueues_come(mask);
	/*
	 * In bolt_activate() the startup of CPUHP_AP_ACTIVE updates cpusets and scheduler
	 * domains only when it runs for the last CPU of the round. A CPU that is in
	 * CPUHP_AP_ACTIVE already does not run that startup again: if such a CPU were the
	 * last of the round, the update would be left out. So these CPUs go to
	 * CPUHP_ONLINE here, before the round. There is no callback between the two
	 * states.
	 */
	for_each_cpu(cpu, mask) {
		if (bolt_cpu_state(cpu) == CPUHP_AP_ACTIVE &&
		    bolt_goal(cpu) == CPUHP_ONLINE)
			bolt_run_callbacks(cpu, CPUHP_ONLINE);
	}
	if (!bolt_gives_up(err) &&
	    bolt_find(mask, CPUHP_AP_ACTIVE - 1, CPUHP_ONLINE - 1, true))
		err = bolt_activate(due) ?: err;
	bolt_phase_end(BOLT_PHASE_AP);
	return err;
}

/**
 * bolt_online_batch - bring CPUs up to their goals
 * @mask:	the CPUs; those that are at their goals already are passed over
 *
 * Context: the control task, hotplug lock held for writing.
 * Return: 0, or the error of a CPU that failed: the CPUs are then left somewhere on the
 * way.
 */
int bolt_online_batch(const struct cpumask *mask)
{
	unsigned int cpu;
	int err = 0, ret;

	if (!bolt_batch->by_cpu)
		return bolt_bring_up(mask, &bolt_round);

	cpumask_clear(&bolt_due);
	for_each_cpu(cpu, mask) {
		if (bolt_goal(cpu) >= CPUHP_AP_ACTIVE &&
		    bolt_cpu_state(cpu) < CPUHP_AP_ACTIVE)
			__cpumask_set_cpu(cpu, &bolt_due);
	}
	for_each_cpu(cpu, mask) {
		ret = bolt_bring_up(cpumask_of(cpu), &bolt_due);
		err = err ?: ret;
		if (bolt_gives_up(err))
			return err;
	}
	/*
	 * The startup of CPUHP_AP_ACTIVE updates cpusets and scheduler domains only when
	 * it runs for the last CPU of bolt_due, and then for all CPUs. In an undo, or at
	 * boot, that CPU may not have come, so cpusets and domains are updated here.
	 */
	if (err)
		sched_cpus_have_changed();
	return err;
}

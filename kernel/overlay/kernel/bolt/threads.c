// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hotplug threads of CPUs. down.c and up.c have the hotplug threads of the CPUs of
 * a phase run at once, between CPUHP_TEARDOWN_CPU and CPUHP_AP_ACTIVE; when CPUs come,
 * only a limited number of threads runs at once, see bolt_run_threads(). boot/tree.c and
 * boot/parallel.c have each thread run a single callback.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/mmu_context.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>

#include "../sched/sched.h"
#include "state.h"
#include "threads.h"

/*
 * For how long at most a task polls for a CPU before the task sleeps, in ns: about as
 * long as two task switches and the wake-up of an idle CPU take on a slow machine.
 */
#define BOLT_LOOKOUT (50 * NSEC_PER_USEC)

/*
 * Whether no other task wants this CPU. A task that sleeps, as the task that asks for
 * the request does, may stay on the runqueue for a while (delayed dequeue), and does not
 * count here.
 */
static bool bolt_runs_alone(void)
{
	struct rq *rq = raw_rq();
	/*
	 * The counts are read without the runqueue lock: if a count changes meanwhile,
	 * the caller only stops polling too early or too late.
	 */
	unsigned int queued = READ_ONCE(rq->cfs.h_nr_queued);
	unsigned int delayed = queued - READ_ONCE(rq->cfs.h_nr_runnable);

	return READ_ONCE(rq->nr_running) - delayed == 1;
}

/*
 * Whether the caller, which is the control task or a helper of boot/tree.c, goes on
 * polling for @cpu until @end. The caller stops polling if another task wants to run on
 * this CPU: that task gets this CPU at once, whatever priority the control task was lent.
 * The caller also stops polling if @cpu cannot run meanwhile, because @cpu is this CPU,
 * or a virtual CPU that the host has preempted.
 */
static bool bolt_looks_out(unsigned int cpu, u64 end)
{
	return cpu != raw_smp_processor_id() && bolt_runs_alone() &&
	       !need_resched() && !vcpu_is_preempted(cpu) &&
	       (s64)(end - local_clock()) > 0;
}

/**
 * bolt_look_out - poll for a while for a CPU that is on its way, before sleeping
 * @cpu:	the CPU
 * @bringup:	whether the CPU comes
 *
 * Falling asleep and being woken takes the caller longer than most of the work for
 * which the caller waits.
 *
 * Context: the task that has set the CPU going and is about to sleep until the CPU is
 * done; preemption and interrupts are on.
 */
void bolt_look_out(unsigned int cpu, bool bringup)
{
	struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);
	struct completion *done = bringup ? &st->done_up : &st->done_down;
	u64 end = local_clock() + BOLT_LOOKOUT;

	/*
	 * The caller then waits for this completion and takes the completion's lock,
	 * which orders what @cpu has written before what the caller reads.
	 */
	while (!READ_ONCE(done->done) && bolt_looks_out(cpu, end))
		cpu_relax();
}

/**
 * bolt_look_out_idle - poll for a while until a CPU has pushed its tasks away
 * @cpu:	the CPU
 *
 * Context: as bolt_look_out(). @cpu is not active, so no task is woken on @cpu any more
 * but kernel threads of @cpu and tasks that have disabled their migration.
 * Return: true if @cpu is idle: then the stopper thread of @cpu, which pushes the tasks
 * away, sleeps, and no task is left on the runqueue of @cpu.
 */
bool bolt_look_out_idle(unsigned int cpu)
{
	u64 end = local_clock() + BOLT_LOOKOUT;
	bool idle;

	while (!(idle = idle_cpu(cpu)) && bolt_looks_out(cpu, end))
		cpu_relax();
	return idle;
}

/*
 * Has the thread of @cpu run callbacks until @target. The thread is parked if @cpu has
 * just come, or has been kept from going.
 */
static void bolt_start_thread(unsigned int cpu, enum cpuhp_state target)
{
	struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);
	bool parked = kthread_parking(st->thread);

	bolt_note_wait_for_threads();

	cpuhp_set_state(cpu, st, target);
	cpuhp_start_ap(st);
	/*
	 * A thread that was not parked runs by now, and may have parked itself
	 * since; it must not be unparked.
	 */
	if (parked)
		kthread_unpark(st->thread);
}

/*
 * Has the thread take its CPU to the target that the caller has set, and waits for the
 * thread; does nothing if the CPU is in the target state already.
 */
static void bolt_thread_turn_round(struct cpuhp_cpu_state *st)
{
	if (st->state == st->target)
		return;
	cpuhp_start_ap(st);
	wait_for_ap_thread(st, st->bringup);
}

/*
 * Called if, on the way back after a failed callback, a second callback of the CPU fails.
 * The state number then says that the CPU has passed the state of the second callback,
 * which is not true: this function corrects the number. If that state has instances, the
 * callbacks that have run on the way back for some of these are undone.
 */
static void bolt_stay_before(struct cpuhp_cpu_state *st)
{
	st->bringup = !st->bringup;
	st->target = st->state + (st->bringup ? 1 : -1);
	if (st->last)
		bolt_thread_turn_round(st);
	st->state = st->target;
}

static void bolt_park_thread(struct cpuhp_cpu_state *st)
{
	if (kthread_parking(st->thread))
		kthread_park_finish(st->thread);
}

/* CPUs whose callbacks have failed, and whose threads have yet to go back. */
static cpumask_t bolt_failed_mask;

/* Waits for the thread of @cpu. Returns the error of the callback that has failed, or 0. */
static int bolt_wait_thread(unsigned int cpu)
{
	struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);

	bolt_look_out(cpu, st->bringup);
	wait_for_ap_thread(st, st->bringup);
	if (st->result)
		__cpumask_set_cpu(cpu, &bolt_failed_mask);
	else
		bolt_park_thread(st);
	return st->result;
}

/*
 * Has the thread of @cpu, whose callback has failed, take @cpu back to the state in which
 * the thread was started.
 */
static void bolt_take_back(unsigned int cpu)
{
	struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);

	cpuhp_reset_state(cpu, st, per_cpu_ptr(&bolt_cpus, cpu)->from);
	st->result = 0;
	bolt_thread_turn_round(st);
	if (st->result)
		bolt_stay_before(st);
	bolt_park_thread(st);
}

/**
 * bolt_run_threads - run the hotplug threads of the CPUs in bolt_round
 * @target:	the state that each CPU is to reach, unless the CPU's goal comes first
 * @up:		whether the CPUs come
 *
 * When CPUs come, at most bolt_arch_slots() threads run at once, or BOLT_SLOTS if that
 * is more. When all threads are started, the control task waits first for the thread that
 * it started last, because the threads that it started before are likely to be done by
 * then. As some CPUs are removed from bolt_round on the way, callers must set it anew.
 *
 * A thread whose callback has failed goes back when all other threads are done, so that no
 * startup of a state runs for one CPU while a teardown of the state runs for another CPU.
 *
 * Context: the control task, inside a request.
 * Return: 0, or the error of one of the callbacks that failed.
 */
int bolt_run_threads(enum cpuhp_state target, bool up)
{
	unsigned int slots = up ? max(bolt_arch_slots(), BOLT_SLOTS) : nr_cpu_ids;
	unsigned int cpu, first, last = nr_cpu_ids;
	int err = 0, ret;

	for_each_cpu(cpu, &bolt_round) {
		struct bolt_cpu *bc = per_cpu_ptr(&bolt_cpus, cpu);
		enum cpuhp_state goal = up ? min(target, bc->goal) :
					     max(target, bc->goal);

		bc->from = bolt_cpu_state(cpu);
		bolt_start_thread(cpu, goal);
		last = cpu;
		if (--slots || !up)
			continue;
		first = cpumask_first(&bolt_round);
		ret = bolt_wait_thread(first);
		err = err ?: ret;
		__cpumask_clear_cpu(first, &bolt_round);
		slots++;
	}
	ret = bolt_wait_thread(last);
	err = err ?: ret;
	__cpumask_clear_cpu(last, &bolt_round);
	for_each_cpu(cpu, &bolt_round) {
		ret = bolt_wait_thread(cpu);
		err = err ?: ret;
	}
	if (!err)
		return 0;
	for_each_cpu(cpu, &bolt_failed_mask)
		bolt_take_back(cpu);
	cpumask_clear(&bolt_failed_mask);
	return err;
}

/**
 * __bolt_start_callback - have a hotplug thread run one callback
 * @cpu:	the thread's CPU, which is online
 * @state:	the callback's state
 * @bringup:	true for the startup, false for the teardown
 * @node:	the instance, or NULL
 *
 * The thread runs the callback as it natively does when a state is registered.
 *
 * Context: cpuhp_state_mutex held, or a request during boot.
 */
void __bolt_start_callback(unsigned int cpu, enum cpuhp_state state, bool bringup,
			   struct hlist_node *node)
{
	struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);
	bool parked = kthread_parking(st->thread);

	st->rollback = false;
	st->last = NULL;
	st->node = node;
	st->bringup = bringup;
	st->cb_state = state;
	st->single = true;
	cpuhp_start_ap(st);
	if (parked)
		kthread_unpark(st->thread);
}

/**
 * bolt_start_callback - __bolt_start_callback(), if the CPU has a thread
 * @cpu:	the CPU
 * @state:	the callback's state
 * @bringup:	true for the startup, false for the teardown
 * @node:	the instance, or NULL
 *
 * Context: a task that waits for the callback; cpuhp_state_mutex held.
 * Return: false if @cpu is not online, or has no thread.
 */
bool bolt_start_callback(unsigned int cpu, enum cpuhp_state state, bool bringup,
			 struct hlist_node *node)
{
	if (!cpu_online(cpu) || !bolt_cpuhp_cpu(cpu)->thread)
		return false;
	bolt_note_wait_for_threads();
	__bolt_start_callback(cpu, state, bringup, node);
	return true;
}

/**
 * bolt_wait_for_callback - wait for the callback of __bolt_start_callback()
 * @cpu:	the CPU
 *
 * Context: may sleep.
 * Return: what the callback has returned.
 */
int bolt_wait_for_callback(unsigned int cpu)
{
	struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(cpu);

	wait_for_ap_thread(st, st->bringup);
	st->node = NULL;
	st->last = NULL;
	/*
	 * Else the next start of the thread would count as a start for a single
	 * callback.
	 */
	st->single = false;
	return st->result;
}

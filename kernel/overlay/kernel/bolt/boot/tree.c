// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that have come bring up other CPUs, with bolt.boot=tree: each does for one
 * CPU what the control task would do for all, so that the number of CPUs doubles
 * in every round. boot/cpus.c calls bolt_tree_begin() and bolt_tree_end() around its
 * requests; up.c calls bolt_tree_up() in place of its first two phases, whose single
 * steps the CPUs that help (helpers) call in up.c. bolt_arch_wave() says which CPUs
 * come first. Hotplug threads do the work: every CPU
 * has one as soon as it is online.
 */

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/irq.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/semaphore.h>

#include "../policy.h"
#include "../state.h"
#include "../threads.h"
#include "../up.h"
#include "boot.h"

/**
 * struct bolt_job - what a CPU does for another one
 * @place:	of the CPU in bolt_helpers
 * @cpu:	the other one
 * @work:	the job, or NULL
 * @worker:	the task that is at it
 */
struct bolt_job {
	unsigned int place;
	unsigned int cpu;
	int (*work)(unsigned int cpu);
	struct task_struct *worker;
};

static DEFINE_PER_CPU(struct bolt_job, bolt_job);

/* CPUs that have a job in this round; each sets two others going first. */
static unsigned int bolt_helpers[NR_CPUS], bolt_nr_helpers;

/* A state whose callback is the job; on a CPU without a job it does nothing. */
static int bolt_tree_state;

/*
 * For prepare callbacks that are not concurrent, and for waking CPUs. Not a mutex:
 * helpers would spin for it, and a hypervisor with fewer CPUs than helpers would
 * let them spin while the helper that has the mutex does not run.
 */
static DEFINE_SEMAPHORE(bolt_tree_lock, 1);

/* As many CPUs may be on their way at once as the architecture says. */
static struct semaphore bolt_tree_slots;

static int bolt_tree_run(unsigned int cpu)
{
	struct bolt_job *job = per_cpu_ptr(&bolt_job, cpu);
	int (*work)(unsigned int cpu) = job->work;
	unsigned int next;
	int err;

	/* Once: the CPU comes by here again on its way up. */
	if (!work)
		return 0;
	job->work = NULL;
	for (next = 2 * job->place + 1; next <= 2 * job->place + 2; next++) {
		if (next < bolt_nr_helpers)
			__bolt_start_callback(bolt_helpers[next], bolt_tree_state, true,
					      NULL);
	}
	job->worker = current;
	err = work(job->cpu);
	job->worker = NULL;
	return err;
}

/**
 * bolt_makes_kthreads - whether the current task makes kernel threads itself
 *
 * Other tasks have kernel threads made by kthreadd, one after the other. A hotplug
 * thread that brings up a CPU is itself kthreadd's child, as the new threads must be.
 *
 * Context: any.
 * Return: true if so.
 */
bool bolt_makes_kthreads(void)
{
	return raw_cpu_read(bolt_job.worker) == current;
}

/*
 * An idle task, and one callback after the other; those that are not concurrent
 * under a lock. Only while the machine boots.
 */
static int __ref bolt_tree_prepare(unsigned int cpu)
{
	enum cpuhp_state state;
	int err;

	idle_thread_init(cpu);
	err = bolt_prepare_idle(cpu);
	if (err)
		bolt_callback_failed(cpu, CPUHP_BRINGUP_CPU);
	for (state = bolt_cpu_state(cpu) + 1; state <= BOLT_PREPARED && !err;
	     state++) {
		if (state < BOLT_PREPARED && !bolt_state_has(state, true))
			continue;
		if (bolt_concurrent(state)) {
			err = bolt_run_callbacks(cpu, state);
		} else {
			down(&bolt_tree_lock);
			err = bolt_run_callbacks(cpu, state);
			up(&bolt_tree_lock);
		}
	}
	return err;
}

static int bolt_tree_wake(unsigned int cpu)
{
	int err;

	/* What has failed is known already. */
	if (bolt_cpu_state(cpu) != BOLT_PREPARED)
		return 0;
	down(&bolt_tree_slots);
	down(&bolt_tree_lock);
	err = bolt_wake_cpu(cpu);
	up(&bolt_tree_lock);
	err = err ?: bolt_wait_for_arrival(cpu, jiffies + BOLT_ARRIVE_TIMEOUT);
	up(&bolt_tree_slots);
	return err;
}

/* Each helper does its job; the control task waits for the last one first. */
static int bolt_tree_all(int (*work)(unsigned int cpu))
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < bolt_nr_helpers; i++)
		per_cpu_ptr(&bolt_job, bolt_helpers[i])->work = work;
	/* Without lockdep's notes: no job takes what the control task holds. */
	__bolt_start_callback(bolt_helpers[0], bolt_tree_state, true, NULL);
	while (i--)
		err = bolt_wait_for_callback(bolt_helpers[i]) ?: err;
	return err;
}

/**
 * bolt_tree_up - bring CPUs from nothing to their idle loops
 * @mask:	the CPUs; those that are online are passed over
 *
 * Context: the control task, inside a request for a boot.
 * Return: 0, or the error of one that has not come; the others have.
 */
static int bolt_tree_up(const struct cpumask *mask)
{
	static struct cpumask left;
	unsigned int cpu, helper;
	int err = 0;

	cpumask_andnot(&left, mask, cpu_online_mask);
	bolt_arch_coming(cpumask_weight(&left));
	sema_init(&bolt_tree_slots, bolt_arch_slots());
	while (!cpumask_empty(&left)) {
		unsigned int wave = bolt_arch_wave(cpumask_first(&left));

		for_each_cpu(cpu, &left)
			wave = min(wave, bolt_arch_wave(cpu));
		bolt_nr_helpers = 0;
		cpu = -1;
		for_each_online_cpu(helper) {
			/* The control task waits for all helpers, and is none itself. */
			if (helper == smp_processor_id() && num_online_cpus() > 1)
				continue;
			do {
				cpu = cpumask_next(cpu, &left);
			} while (cpu < nr_cpu_ids && bolt_arch_wave(cpu) != wave);
			if (cpu >= nr_cpu_ids)
				break;
			per_cpu_ptr(&bolt_job, helper)->cpu = cpu;
			per_cpu_ptr(&bolt_job, helper)->place = bolt_nr_helpers;
			bolt_helpers[bolt_nr_helpers++] = helper;
			__cpumask_clear_cpu(cpu, &left);
		}
		err = bolt_tree_all(bolt_tree_prepare) ?: err;
		/* As in bolt_bring_in(). */
		irq_lock_sparse();
		err = bolt_tree_all(bolt_tree_wake) ?: err;
		irq_unlock_sparse();
	}
	cpumask_and(&left, mask, cpu_online_mask);
	bolt_arch_arrived(&left);
	return err;
}

/**
 * bolt_tree_begin - a request in a tree is about to come
 *
 * Context: may sleep; no locks held.
 * Return: 0 or a negative error number.
 */
int bolt_tree_begin(void)
{
	static const struct bolt_defer concurrent = {
		.concurrent = true,
		.reason = "used during boot only: brings up another CPU",
	};
	int err;

	bolt_tree_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN,
						    "bolt:tree", bolt_tree_run,
						    NULL);
	if (bolt_tree_state < 0)
		return bolt_tree_state;
	bolt_up_by_tree(bolt_tree_up);
	err = bolt_defer_state(bolt_tree_state, &concurrent);
	if (err)
		bolt_tree_end();
	return err;
}

/**
 * bolt_tree_end - the request is over
 *
 * Context: as bolt_tree_begin().
 */
void bolt_tree_end(void)
{
	bolt_up_by_tree(NULL);
	cpuhp_remove_state_nocalls(bolt_tree_state);
}

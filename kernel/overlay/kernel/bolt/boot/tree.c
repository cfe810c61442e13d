// SPDX-License-Identifier: GPL-2.0-only
/*
 * With bolt.boot=tree, CPUs that are online, the helpers, bring up other CPUs: each
 * helper does for one other CPU what the control task does for all CPUs otherwise, so
 * that the number of CPUs that are online almost doubles in every round. boot/cpus.c
 * calls bolt_tree_begin() and bolt_tree_end() around its requests; up.c calls
 * bolt_tree_up() in place of its first two phases, and the helpers call the single steps
 * of these phases. bolt_arch_wave() says which CPUs come first. The hotplug threads of
 * the helpers do the work, as every CPU has such a thread as soon as it is online.
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
 * struct bolt_job - what a helper does for another CPU
 * @place:	index of the helper in bolt_helpers[]
 * @cpu:	the other CPU
 * @work:	function that does the job; NULL if there is none, or the job has begun
 * @worker:	the task that is doing the job, or NULL
 */
struct bolt_job {
	unsigned int place;
	unsigned int cpu;
	int (*work)(unsigned int cpu);
	struct task_struct *worker;
};

static DEFINE_PER_CPU(struct bolt_job, bolt_job);

/* The helpers of this round; each first starts up to two other helpers. */
static unsigned int bolt_helpers[NR_CPUS], bolt_nr_helpers;

/* The number of the hotplug state whose startup does its CPU's job, if there is a job. */
static int bolt_tree_state;

/*
 * Held for prepare callbacks that are not concurrent, and while a CPU is woken. The
 * lock is no mutex: helpers would spin for a mutex, and a hypervisor with fewer CPUs
 * than helpers would let them spin while the helper that has the mutex does not run.
 */
static DEFINE_SEMAPHORE(bolt_tree_lock, 1);

/* How many more CPUs may be on their way; bolt_arch_slots() at first. */
static struct semaphore bolt_tree_slots;

static int bolt_tree_run(unsigned int cpu)
{
	struct bolt_job *job = per_cpu_ptr(&bolt_job, cpu);
	int (*work)(unsigned int cpu) = job->work;
	unsigned int next;
	int err;

	/*
	 * The job is done once, although this CPU runs the callback again on its
	 * own way up.
	 */
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
 * Other tasks have kernel threads made by kthreadd, one after the other. A hotplug thread
 * that brings up a CPU is a child of kthreadd; with CLONE_PARENT its threads are, too.
 *
 * Context: any.
 * Return: true if so.
 */
bool bolt_makes_kthreads(void)
{
	return raw_cpu_read(bolt_job.worker) == current;
}

/*
 * Makes an idle task for @cpu and runs the prepare callbacks. Callbacks that are not
 * concurrent run under bolt_tree_lock. Called only while the machine boots.
 */
static int __ref bolt_tree_prepare(unsigned int cpu)
{
	enum cpuhp_state state;
	int err;

	idle_thread_init(cpu);
	err = bolt_prepare_idle(cpu);
	if (err)
		bolt_callback_failed(cpu, CPUHP_BRINGUP_CPU, err);
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

	/* If preparing @cpu has failed, the control task knows of the error already. */
	if (bolt_cpu_state(cpu) != BOLT_PREPARED)
		return 0;
	down(&bolt_tree_slots);
	down(&bolt_tree_lock);
	err = bolt_wake_cpu(cpu);
	up(&bolt_tree_lock);
	err = err ?: bolt_wait_for_arrival(cpu);
	up(&bolt_tree_slots);
	return err;
}

/* Has each helper do its job. The control task waits for the last helper first. */
static int bolt_tree_all(int (*work)(unsigned int cpu))
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < bolt_nr_helpers; i++) {
		/*
		 * bolt_wait_for_callback() may look at @bringup of a helper before the
		 * other helper that starts this helper has set @bringup. A callback that
		 * has failed may have left @bringup false.
		 */
		bolt_cpuhp_cpu(bolt_helpers[i])->bringup = true;
		per_cpu_ptr(&bolt_job, bolt_helpers[i])->work = work;
	}
	/*
	 * bolt_note_wait_for_threads() is not called: lockdep would report that the
	 * caller has sparse_irq_lock, which other callbacks take. No job takes that lock.
	 */
	__bolt_start_callback(bolt_helpers[0], bolt_tree_state, true, NULL);
	while (i--)
		err = bolt_wait_for_callback(bolt_helpers[i]) ?: err;
	return err;
}

/**
 * bolt_tree_up - bring CPUs from offline to their idle loops
 * @mask:	the CPUs; CPUs that are online are passed over
 *
 * Context: the control task, inside a request during boot.
 * Return: 0, or the error of a CPU that has not come; all other CPUs have come if
 * they could.
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
			/*
			 * The CPU of the control task, which waits for all helpers,
			 * is no helper if another CPU is online.
			 */
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
		/* As in bolt_bring_in(), no interrupt may be allocated or freed. */
		irq_lock_sparse();
		err = bolt_tree_all(bolt_tree_wake) ?: err;
		irq_unlock_sparse();
	}
	cpumask_and(&left, mask, cpu_online_mask);
	bolt_arch_arrived(&left);
	return err;
}

/**
 * bolt_tree_begin - prepare for requests in which CPUs bring up other CPUs
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
 * bolt_tree_end - clean up after the requests that bolt_tree_begin() has prepared
 *
 * Context: as bolt_tree_begin().
 */
void bolt_tree_end(void)
{
	bolt_up_by_tree(NULL);
	cpuhp_remove_state_nocalls(bolt_tree_state);
}

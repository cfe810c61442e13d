// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that have come bring up others: each does for one CPU what the control
 * task would do for all, so that their number doubles in every round. Work is
 * done by hotplug threads, which every CPU has as soon as it is online.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/irq.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/percpu.h>

#include "internal.h"

#define BOLT_PREPARED (CPUHP_BP_KICK_AP - 1)
#define BOLT_ARRIVE_TIMEOUT (10 * HZ)

/**
 * struct bolt_job - what a CPU does for another one
 * @cpu:	the other one
 * @work:	what, or NULL
 */
struct bolt_job {
	unsigned int cpu;
	int (*work)(unsigned int cpu);
};

static DEFINE_PER_CPU(struct bolt_job, bolt_job);

/* A state whose callback is the job; for whoever has none, it is nothing. */
static int bolt_tree_state;

/* Prepare callbacks that are not concurrent, and waking where that is not. */
static DEFINE_MUTEX(bolt_tree_lock);

static int bolt_tree_run(unsigned int cpu)
{
	struct bolt_job *job = per_cpu_ptr(&bolt_job, cpu);

	return job->work ? job->work(job->cpu) : 0;
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
		.reason = "only while the machine boots: brings up another CPU",
	};

	bolt_tree_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN,
						    "bolt:tree", bolt_tree_run,
						    NULL);
	if (bolt_tree_state < 0)
		return bolt_tree_state;
	return bolt_defer_state(bolt_tree_state, &concurrent);
}

/**
 * bolt_tree_end - the request is over
 *
 * Context: as bolt_tree_begin().
 */
void bolt_tree_end(void)
{
	cpuhp_remove_state_nocalls(bolt_tree_state);
}

/* One callback after the other; those that are not concurrent under a lock. */
static int bolt_tree_prepare(unsigned int cpu)
{
	enum cpuhp_state state;
	int err = 0;

	for (state = bolt_glue_state(cpu) + 1; state <= BOLT_PREPARED && !err;
	     state++) {
		if (state < BOLT_PREPARED && !bolt_glue_has(state, true))
			continue;
		if (bolt_row(state).concurrent) {
			err = bolt_glue_run(cpu, state);
		} else {
			guard(mutex)(&bolt_tree_lock);
			err = bolt_glue_run(cpu, state);
		}
	}
	return err;
}

static int bolt_tree_wake(unsigned int cpu)
{
	int err;

	/* What has failed is known already. */
	if (bolt_glue_state(cpu) != BOLT_PREPARED)
		return 0;
	scoped_guard(mutex, &bolt_tree_lock)
		err = bolt_start(cpu);
	return err ?: bolt_glue_arrive(cpu, jiffies + BOLT_ARRIVE_TIMEOUT);
}

/* Each of @helpers does its job; the control task waits for the first last. */
static int bolt_tree_all(const struct cpumask *helpers,
			 int (*work)(unsigned int cpu))
{
	unsigned int cpu;
	int err = 0;

	for_each_cpu(cpu, helpers) {
		per_cpu_ptr(&bolt_job, cpu)->work = work;
		if (!bolt_glue_call(cpu, bolt_tree_state, true, NULL))
			per_cpu_ptr(&bolt_job, cpu)->work = NULL;
	}
	for_each_cpu(cpu, helpers) {
		if (per_cpu_ptr(&bolt_job, cpu)->work)
			err = bolt_glue_called(cpu) ?: err;
		per_cpu_ptr(&bolt_job, cpu)->work = NULL;
	}
	return err;
}

/**
 * bolt_tree_up - bring CPUs from nothing to their idle loops
 * @mask:	the CPUs; those that are online are passed over
 *
 * Context: the control task, inside a request for a boot.
 * Return: 0, or the error of one that has not come; the others have.
 */
int bolt_tree_up(const struct cpumask *mask)
{
	static struct cpumask left, helpers;
	unsigned int cpu, helper;
	int err = 0;

	cpumask_andnot(&left, mask, cpu_online_mask);
	for_each_cpu(cpu, &left) {
		err = bolt_glue_idle(cpu);
		if (err)
			return err;
	}
	bolt_arch_coming(cpumask_weight(&left));
	while (!cpumask_empty(&left)) {
		unsigned int wave = bolt_arch_wave(cpumask_first(&left));
		unsigned int slots = bolt_arch_slots();

		for_each_cpu(cpu, &left)
			wave = min(wave, bolt_arch_wave(cpu));
		cpumask_clear(&helpers);
		cpu = -1;
		for_each_online_cpu(helper) {
			do {
				cpu = cpumask_next(cpu, &left);
			} while (cpu < nr_cpu_ids && bolt_arch_wave(cpu) != wave);
			if (cpu >= nr_cpu_ids || !slots--)
				break;
			per_cpu_ptr(&bolt_job, helper)->cpu = cpu;
			__cpumask_set_cpu(helper, &helpers);
		}
		for_each_cpu(helper, &helpers)
			__cpumask_clear_cpu(per_cpu_ptr(&bolt_job, helper)->cpu,
					    &left);
		err = bolt_tree_all(&helpers, bolt_tree_prepare) ?: err;
		/* As in bolt_bring_in(). */
		irq_lock_sparse();
		err = bolt_tree_all(&helpers, bolt_tree_wake) ?: err;
		irq_unlock_sparse();
	}
	cpumask_and(&helpers, mask, cpu_online_mask);
	bolt_arch_arrived(&helpers);
	return err;
}

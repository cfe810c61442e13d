// SPDX-License-Identifier: GPL-2.0-only
/*
 * Affinity of tasks, given back when CPUs return. A task all of whose CPUs are
 * offline may run on any CPU, and natively the scheduler then forgets the CPUs that
 * the task had asked for. While bolt/keep_affinity is 1, the scheduler asks
 * bolt_keeps_affinity() first and remembers these CPUs. The request that brings CPUs
 * online queues a worker, which gives each such task its affinity back; the request
 * does not wait for the worker.
 */
#include <linux/bolt.h>
#include <linux/compiler.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/workqueue.h>

#include "affinity.h"

/* The value of bolt/keep_affinity. Its writers hold the lock of that sysfs file. */
static bool bolt_affinity_wanted;

/* Whether a task may run on CPUs that it has not asked for. */
static bool bolt_affinity_lost;

/**
 * bolt_keeps_affinity - decide whether a task's affinity is remembered
 * @p:	a task that gets other CPUs, as none of those it may run on is active
 *
 * Context: any; @p->pi_lock held.
 * Return: true if the scheduler must not forget which CPUs @p has asked for.
 */
bool bolt_keeps_affinity(const struct task_struct *p)
{
	if (!READ_ONCE(bolt_affinity_wanted) || !bolt_enabled())
		return false;
	if (!p->user_cpus_ptr || (p->flags & PF_KTHREAD))
		return false;
	WRITE_ONCE(bolt_affinity_lost, true);
	return true;
}

/* Returns the task with the smallest number from *@nr on, with a reference. */
static struct task_struct *bolt_next_task(int *nr)
{
	struct task_struct *p = NULL;
	struct pid *pid;

	rcu_read_lock();
	while (!p) {
		pid = find_ge_pid(*nr, &init_pid_ns);
		if (!pid)
			break;
		*nr = pid_nr(pid) + 1;
		p = pid_task(pid, PIDTYPE_PID);
	}
	if (p)
		get_task_struct(p);
	rcu_read_unlock();
	return p;
}

static void bolt_affinity_work(struct work_struct *work)
{
	struct task_struct *p;
	int nr = 1;

	/* A task that loses its affinity from now on sets this again. */
	WRITE_ONCE(bolt_affinity_lost, false);
	while ((p = bolt_next_task(&nr))) {
		if (!sched_give_affinity_back(p))
			WRITE_ONCE(bolt_affinity_lost, true);
		put_task_struct(p);
		cond_resched();
	}
}

static DECLARE_WORK(bolt_affinity_worker, bolt_affinity_work);

/**
 * bolt_give_affinity_back - have tasks get their affinity back
 *
 * Called at the end of a request after which more CPUs are online.
 *
 * Context: any.
 */
void bolt_give_affinity_back(void)
{
	if (READ_ONCE(bolt_affinity_lost))
		queue_work(system_unbound_wq, &bolt_affinity_worker);
}

/**
 * bolt_affinity_kept - return the value of bolt/keep_affinity
 *
 * Context: any.
 * Return: true if tasks get their affinity back.
 */
bool bolt_affinity_kept(void)
{
	return READ_ONCE(bolt_affinity_wanted);
}

/**
 * bolt_keep_affinity - choose whether tasks get their affinity back
 * @keep:	true if they do; false if they lose it, as natively
 *
 * A task that runs on other CPUs when @keep becomes false does not get its affinity
 * back.
 *
 * Context: may sleep until the worker has looked at all tasks.
 */
void bolt_keep_affinity(bool keep)
{
	WRITE_ONCE(bolt_affinity_wanted, keep);
	if (keep)
		return;
	WRITE_ONCE(bolt_affinity_lost, false);
	cancel_work_sync(&bolt_affinity_worker);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Affinity of tasks, given back when CPUs return. A task all of whose CPUs are offline
 * may run on any CPU of its cpuset, and natively the scheduler then forgets the CPUs that
 * the task had asked for. While Bolt is enabled and bolt/keep_affinity is 1, the mask of
 * these CPUs is kept in lost_cpus_ptr of the task, unless the task is a kernel thread or
 * an I/O worker. The scheduler does not look for CPUs there: until the affinity is given
 * back, the task is treated as natively. A request that brings CPUs online queues a
 * worker, which asks for the CPUs again in the name of the task, as sched_setaffinity()
 * would; the request does not wait for the worker.
 */
#include <linux/atomic.h>
#include <linux/bolt.h>
#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/mmu_context.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../sched/sched.h"
#include "affinity.h"

/* Held by a task that changes the two values below. */
static DEFINE_MUTEX(bolt_affinity_mutex);

/* The value of bolt/keep_affinity. */
static bool bolt_affinity_wanted;

/* Whether affinities are kept: bolt/keep_affinity is 1, and Bolt is enabled. */
static bool bolt_affinity_on;

/* How many tasks have an affinity that is kept. */
static atomic_t bolt_affinities;

/* How often at most the worker looks at all tasks, if some cannot migrate yet. */
#define BOLT_TRIES 10

/**
 * bolt_lose_affinity - keep the affinity of a task that gets other CPUs
 * @p:		the task; none of the CPUs that @p was allowed to run on is active
 * @mask:	what @p had asked for, or NULL
 *
 * Context: any; @p->pi_lock held.
 * Return: the mask that is to be freed, or NULL.
 */
struct cpumask *bolt_lose_affinity(struct task_struct *p, struct cpumask *mask)
{
	if (!mask || (p->flags & (PF_KTHREAD | PF_IO_WORKER)) ||
	    !READ_ONCE(bolt_affinity_on))
		return mask;
	swap(p->lost_cpus_ptr, mask);
	if (!mask)
		atomic_inc(&bolt_affinities);
	return mask;
}

static void bolt_forget_affinity(struct task_struct *p)
{
	struct cpumask *mask = NULL;

	scoped_guard(raw_spinlock_irqsave, &p->pi_lock)
		swap(p->lost_cpus_ptr, mask);
	if (mask)
		atomic_dec(&bolt_affinities);
	kfree(mask);
}

/**
 * bolt_free_affinity - free the affinity that is kept for a task
 * @p:	a task that nothing uses any more
 *
 * Context: any.
 */
void bolt_free_affinity(struct task_struct *p)
{
	if (p->lost_cpus_ptr)
		bolt_forget_affinity(p);
}

/* Takes the mask that is kept for @p, if one of its CPUs is active. */
static struct cpumask *bolt_take_affinity(struct task_struct *p)
{
	struct cpumask *mask = NULL;

	guard(raw_spinlock_irqsave)(&p->pi_lock);
	if (p->lost_cpus_ptr && cpumask_intersects(p->lost_cpus_ptr, cpu_active_mask))
		swap(p->lost_cpus_ptr, mask);
	return mask;
}

/*
 * Gives @p the affinity back that is kept; drops that affinity instead if the user has
 * set another one since, or @p has lost another one. The affinity stays kept if @p cannot
 * have it now: if no CPU of the affinity is active, if the cpuset of @p has none of the
 * CPUs or is being changed, if @p is a deadline task, which may not be bound to the CPUs,
 * if @p has its migration disabled, or if there is no memory.
 *
 * The hotplug lock is held: otherwise the last CPU of the affinity could go before @p has
 * moved there, and @p would go on where it runs, with an affinity that does not allow
 * that. __sched_setaffinity() does not move @p while @p has its migration disabled. If @p
 * disables its migration after the check for that, and sleeps, hotplug waits for @p, as
 * for any other task whose affinity is set with the hotplug lock held.
 *
 * Returns -EAGAIN if @p has its migration disabled; otherwise 0, or another error.
 */
static int bolt_return_affinity(struct task_struct *p)
{
	struct cpumask *mask;
	struct affinity_context ac;
	int err;

	guard(cpus_read_lock)();
	mask = bolt_take_affinity(p);
	if (!mask)
		return 0;
	ac = (struct affinity_context){
		.new_mask = mask,
		.user_mask = mask,
		.flags = SCA_USER | SCA_LOST,
	};
	err = __sched_setaffinity(p, &ac);
	/* If @p has the mask now, the mask is no longer in @ac. */
	if (err && err != -EEXIST && ac.user_mask) {
		guard(raw_spinlock_irqsave)(&p->pi_lock);
		if (!p->lost_cpus_ptr && READ_ONCE(bolt_affinity_on)) {
			swap(p->lost_cpus_ptr, ac.user_mask);
			return err;
		}
	}
	atomic_dec(&bolt_affinities);
	kfree(ac.user_mask);
	return 0;
}

/*
 * Returns, with a reference, the task with the smallest PID from *@nr on for which an
 * affinity is kept, or NULL; sets *@nr to the PID at which to go on.
 */
static struct task_struct *bolt_next_loser(int *nr)
{
	struct task_struct *p;
	struct pid *pid;

	guard(rcu)();
	while ((pid = find_ge_pid(*nr, &init_pid_ns))) {
		*nr = pid_nr(pid) + 1;
		p = pid_task(pid, PIDTYPE_PID);
		if (p && READ_ONCE(p->lost_cpus_ptr))
			return get_task_struct(p);
	}
	return NULL;
}

/*
 * Looks at all tasks once, and gives affinities back. Returns whether an affinity stays
 * kept because its task has its migration disabled.
 */
static bool bolt_return_affinities(void)
{
	struct task_struct *p;
	bool again = false;
	int nr = 1;

	while ((p = bolt_next_loser(&nr))) {
		again |= bolt_return_affinity(p) == -EAGAIN;
		put_task_struct(p);
		cond_resched();
	}
	return again;
}

static void bolt_affinity_work(struct work_struct *work)
{
	unsigned int i;

	for (i = 0; i < BOLT_TRIES && bolt_return_affinities(); i++)
		usleep_range(1000, 2000);
}

static DECLARE_WORK(bolt_affinity_worker, bolt_affinity_work);

/**
 * bolt_give_affinity_back - have tasks get their affinity back
 *
 * Called at the end of a request that has brought CPUs up, or has failed, as the undo of
 * a request may bring CPUs up. If a thread calls exec and so gets the PID of its process,
 * the worker may miss that thread, and finds the thread after the next such request.
 *
 * Context: any.
 */
void bolt_give_affinity_back(void)
{
	if (atomic_read(&bolt_affinities))
		queue_work(system_dfl_wq, &bolt_affinity_worker);
}

/*
 * As bolt_lose_affinity() holds the task's pi_lock, that function either sees that
 * bolt_affinity_on is false, or has kept the mask before this function looks at the task.
 */
static void bolt_forget_all(void)
{
	struct task_struct *process, *p;

	guard(rcu)();
	for_each_process_thread(process, p)
		bolt_forget_affinity(p);
}

static void bolt_affinity_switch(bool on)
{
	bool was = bolt_affinity_on;

	lockdep_assert_held(&bolt_affinity_mutex);
	WRITE_ONCE(bolt_affinity_on, on);
	if (on || !was)
		return;
	/*
	 * A worker that has seen the old value may still keep an affinity, until the
	 * worker ends.
	 */
	cancel_work_sync(&bolt_affinity_worker);
	bolt_forget_all();
}

/**
 * bolt_affinity_enable - begin or stop keeping affinities, as Bolt is enabled or disabled
 * @on:	whether Bolt is enabled now
 *
 * Affinities that are kept are forgotten when Bolt is disabled.
 *
 * Context: may sleep until the worker is done; cpu_add_remove_lock may be held.
 */
void bolt_affinity_enable(bool on)
{
	guard(mutex)(&bolt_affinity_mutex);
	bolt_affinity_switch(on && bolt_affinity_wanted);
}

/**
 * bolt_affinity_kept - return the value of bolt/keep_affinity
 *
 * Context: any.
 * Return: true if tasks get their affinity back while Bolt is enabled.
 */
bool bolt_affinity_kept(void)
{
	return READ_ONCE(bolt_affinity_wanted);
}

/**
 * bolt_keep_affinity - choose whether tasks get their affinity back
 * @keep:	true if tasks get their affinity back; false if tasks lose it, as natively
 *
 * Affinities that are kept are forgotten if @keep is false.
 *
 * Context: may sleep until the worker is done.
 */
void bolt_keep_affinity(bool keep)
{
	guard(mutex)(&bolt_affinity_mutex);
	WRITE_ONCE(bolt_affinity_wanted, keep);
	bolt_affinity_switch(keep && bolt_enabled());
}

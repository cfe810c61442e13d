// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control thread, in which bolt_run() of request.c runs. A request holds the
 * hotplug lock for writing, and every reader of that lock waits until the control
 * task releases the lock. The task that asks for the request may hardly get any CPU
 * time: because it has idle priority and all CPUs are busy, because the quota of
 * its control group is used up, or because a real-time task occupies its CPU. If the
 * task that asks carried the request out, the machine would wait for that task. So a
 * kernel thread of normal scheduling policy, with nice value -20, carries requests out,
 * and the task that asks sleeps meanwhile.
 *
 * A real-time or deadline task that asks must not wait for tasks of lower priority, so
 * until the request is done the thread is a real-time thread, with the priority of that
 * task, or with 99 for a deadline task.
 *
 * The thread exists while Bolt is enabled, so that handing a request over to the thread
 * needs no memory. The thread is not frozen when the system is suspended.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/sched/prio.h>
#include <linux/sched/rt.h>
#include <linux/sched/stat.h>
#include <linux/wait.h>

#include "control.h"
#include "state.h"

/**
 * struct bolt_order - a function that the control thread is to run
 * @run:	the function
 * @arg:	its argument
 * @ret:	what the function has returned
 */
struct bolt_order {
	int (*run)(void *arg);
	void *arg;
	int ret;
};

/* The control thread, or NULL. Written with cpu_add_remove_lock held. */
static struct task_struct *bolt_thread;

/*
 * What the task that asks wants from the thread; NULL before a task asks, and when the
 * thread is done.
 */
static struct bolt_order *bolt_order;

/* The control thread sleeps in the first queue, the task that asks in the second. */
static DECLARE_WAIT_QUEUE_HEAD(bolt_orders);
static DECLARE_WAIT_QUEUE_HEAD(bolt_answers);

/*
 * Tells lockdep that the locks which the thread takes are taken inside the locks
 * which the task that asks holds.
 */
static struct lockdep_map __maybe_unused bolt_order_map;

/*
 * Wakes the task in @sleeper. If no other task is ready to run on this CPU, the task
 * that is woken runs here, which is quickest, because the caller is about to sleep.
 * Otherwise, and if the task that is woken is a real-time or deadline task, or must not
 * run here, the scheduler chooses the CPU.
 */
static void bolt_pass_to(struct wait_queue_head *sleeper)
{
	if (single_task_running())
		__wake_up_on_current_cpu(sleeper, TASK_NORMAL, NULL);
	else
		wake_up(sleeper);
}

static bool bolt_has_order(void)
{
	/* Pairs with the release in bolt_control_do(). */
	return smp_load_acquire(&bolt_order);
}

static int bolt_take_orders(void *unused)
{
	while (!kthread_should_stop()) {
		struct bolt_order *order;

		wait_event_idle(bolt_orders,
				bolt_has_order() || kthread_should_stop());
		order = bolt_order;
		if (!order)
			continue;

		lock_map_acquire(&bolt_order_map);
		order->ret = order->run(order->arg);
		lock_map_release(&bolt_order_map);

		/* Pairs with the acquire in bolt_control_do(). */
		smp_store_release(&bolt_order, NULL);
		bolt_pass_to(&bolt_answers);
	}
	return 0;
}

/**
 * bolt_control_start - make the control thread
 *
 * Context: may sleep; cpu_add_remove_lock held. There is no control thread yet.
 * Return: 0 or a negative error number.
 */
int bolt_control_start(void)
{
	static struct lock_class_key key;
	static struct cpumask cpus;
	struct task_struct *thread;

	lockdep_init_map(&bolt_order_map, "bolt_order", &key, 0);
	thread = kthread_create(bolt_take_orders, NULL, "bolt");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	set_user_nice(thread, MIN_NICE);
	/*
	 * User space must not choose the thread's CPUs, nor move the thread to
	 * another control group. The mask of housekeeping CPUs is copied under RCU,
	 * because in 7.3 a cpuset that isolates CPUs may replace such a mask.
	 */
	scoped_guard(rcu)
		cpumask_copy(&cpus, housekeeping_cpumask(HK_TYPE_KTHREAD));
	kthread_bind_mask(thread, &cpus);
	wake_up_process(thread);
	bolt_thread = thread;
	return 0;
}

/**
 * bolt_control_stop - end the control thread
 *
 * Context: may sleep; cpu_add_remove_lock held.
 */
void bolt_control_stop(void)
{
	kthread_stop(bolt_thread);
	bolt_thread = NULL;
}

/*
 * Allows the control thread only CPUs that stay online, so that neither the thread
 * nor its timers have to move. Isolated CPUs are allowed only if no other CPU
 * stays. If no CPU stays at all, the thread may run on any CPU, also on one that comes.
 */
static void bolt_choose_cpus(const struct cpumask *leaving)
{
	static struct cpumask cpus;
	unsigned int cpu;

	cpumask_clear(&cpus);
	rcu_read_lock();
	for_each_cpu_andnot(cpu, cpu_active_mask, leaving) {
		if (!cpu_is_isolated(cpu))
			__cpumask_set_cpu(cpu, &cpus);
	}
	rcu_read_unlock();
	if (cpumask_empty(&cpus) &&
	    !cpumask_andnot(&cpus, cpu_online_mask, leaving))
		cpumask_copy(&cpus, cpu_possible_mask);
	set_cpus_allowed_ptr(bolt_thread, &cpus);
}

/*
 * Gives the thread the priority of a real-time caller, or the highest real-time priority
 * for a deadline caller. Returns true if the thread's scheduling policy was changed.
 */
static bool bolt_lend_priority(void)
{
	struct sched_param param = { .sched_priority = MAX_RT_PRIO - 1 };

	if (!rt_or_dl_task(current))
		return false;
	if (rt_task(current))
		param.sched_priority -= current->prio;
	sched_setscheduler_nocheck(bolt_thread, SCHED_FIFO, &param);
	return true;
}

/**
 * bolt_control_do - have a function run by the control thread
 * @run:	the function
 * @arg:	its argument
 * @leaving:	CPUs that @run takes offline
 *
 * While the machine boots there is no thread: the caller runs @run itself.
 *
 * Context: may sleep, and cannot be interrupted; cpu_add_remove_lock held.
 * Return: what @run returns.
 */
int bolt_control_do(int (*run)(void *arg), void *arg,
		    const struct cpumask *leaving)
{
	struct bolt_order order = { .run = run, .arg = arg };
	DEFINE_WAIT(wait);
	bool lent;

	if (!bolt_thread)
		return run(arg);
	might_sleep();
	bolt_choose_cpus(leaving);
	lent = bolt_lend_priority();
	lock_map_acquire(&bolt_order_map);
	lock_map_release(&bolt_order_map);

	WRITE_ONCE(bolt_asker_cpu, raw_smp_processor_id());
	/*
	 * This task's state is set before the thread is woken, so that the thread
	 * can wake this task again at any time.
	 */
	prepare_to_wait(&bolt_answers, &wait, TASK_UNINTERRUPTIBLE);
	/* Pairs with the acquire in bolt_take_orders(). */
	smp_store_release(&bolt_order, &order);
	bolt_pass_to(&bolt_orders);
	/* Pairs with the release in bolt_take_orders(). */
	while (smp_load_acquire(&bolt_order)) {
		schedule();
		prepare_to_wait(&bolt_answers, &wait, TASK_UNINTERRUPTIBLE);
	}
	finish_wait(&bolt_answers, &wait);
	WRITE_ONCE(bolt_asker_cpu, UINT_MAX);
	if (lent)
		sched_set_normal(bolt_thread, MIN_NICE);
	return order.ret;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hotplug states whose startup runs on all CPUs at once when the state is registered, or
 * when an instance is added, if bolt.parallel= is on. The code that registers a state
 * calls cpuhp_setup_state_parallel(), see <linux/cpuhotplug_parallel.h>.
 *
 * Natively each CPU's hotplug thread is started and waited for before the next thread is
 * started. Here all threads are started first. Meanwhile the hotplug lock and
 * cpuhp_state_mutex keep all other code from starting a hotplug thread. A callback that a
 * hotplug thread runs has the same context as when its CPU comes up.
 *
 * Callbacks of the PREPARE section run for a CPU which need not be online. CPUs that are
 * online run these callbacks, as works of a workqueue that is used for nothing else; or,
 * early in the boot when there is no workqueue, the caller runs them one after the other.
 */

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug_parallel.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

#include "../policy.h"
#include "../state.h"
#include "../threads.h"

/**
 * struct bolt_call - one callback for a CPU
 * @work:	the work that runs the callback
 * @cpu:	the CPU
 * @state:	the state
 * @bringup:	true for the startup, false for the teardown
 * @node:	the instance, or NULL
 * @there:	whether the CPU's hotplug thread runs the callback
 * @err:	what the callback has returned
 */
struct bolt_call {
	struct work_struct work;
	unsigned int cpu;
	enum cpuhp_state state;
	bool bringup;
	struct hlist_node *node;
	bool there;
	int err;
};

/* cpuhp_state_mutex protects these variables. */
static DEFINE_PER_CPU(struct bolt_call, bolt_calls);
static struct cpumask bolt_done;
static atomic_t bolt_calls_left;
static DECLARE_COMPLETION(bolt_calls_done);

static struct workqueue_struct *bolt_call_queue;

static void bolt_call_here(struct bolt_call *call)
{
	call->err = bolt_invoke_callback(call->cpu, call->state, call->bringup,
					 call->node);
	atomic_dec(&bolt_calls_left);
}

static void bolt_call_work(struct work_struct *work)
{
	struct bolt_call *call = container_of(work, struct bolt_call, work);

	call->err = bolt_invoke_callback_for(call->cpu, call->state, call->bringup,
					     call->node);
	if (atomic_dec_and_test(&bolt_calls_left))
		complete(&bolt_calls_done);
}

/*
 * Runs the callback for each CPU of @cpus, on CPUs that are online. Removes from
 * @cpus each CPU whose callback fails.
 */
static int bolt_call_ahead(struct cpumask *cpus, enum cpuhp_state state,
			   bool bringup, struct hlist_node *node)
{
	unsigned int cpu, helper = 0;
	int err = 0;

	reinit_completion(&bolt_calls_done);
	atomic_set(&bolt_calls_left, 1);
	for_each_cpu(cpu, cpus) {
		struct bolt_call *call = per_cpu_ptr(&bolt_calls, cpu);

		call->cpu = cpu;
		call->state = state;
		call->bringup = bringup;
		call->node = node;
		helper = cpumask_next(helper, cpu_online_mask);
		if (helper >= nr_cpu_ids)
			helper = cpumask_first(cpu_online_mask);
		INIT_WORK(&call->work, bolt_call_work);
		atomic_inc(&bolt_calls_left);
		if (bolt_call_queue)
			queue_work_on(cpu_online(cpu) ? cpu : helper,
				      bolt_call_queue, &call->work);
		else
			bolt_call_here(call);
	}
	/*
	 * flush_work() is not called: lockdep would report a deadlock, because
	 * bolt_call_work() tells lockdep that the work takes the hotplug lock, which
	 * this task holds for the work.
	 */
	if (!atomic_dec_and_test(&bolt_calls_left))
		wait_for_completion(&bolt_calls_done);
	for_each_cpu(cpu, cpus) {
		int ret = per_cpu_ptr(&bolt_calls, cpu)->err;

		if (ret)
			__cpumask_clear_cpu(cpu, cpus);
		err = err ?: ret;
	}
	return err;
}

/*
 * Runs the callback on each CPU of @cpus itself. Removes from @cpus each CPU that
 * is not online or whose callback fails.
 */
static int bolt_call_there(struct cpumask *cpus, enum cpuhp_state state,
			   bool bringup, struct hlist_node *node)
{
	unsigned int cpu;
	int err = 0;

	cpumask_and(cpus, cpus, cpu_online_mask);
	for_each_cpu(cpu, cpus) {
		struct bolt_call *call = per_cpu_ptr(&bolt_calls, cpu);

		/*
		 * Early in the boot only the boot CPU is online, and has no hotplug
		 * thread yet: the caller runs the callback.
		 */
		call->there = bolt_start_callback(cpu, state, bringup, node);
		if (!call->there)
			call->err = bolt_invoke_callback(cpu, state, bringup, node);
	}
	for_each_cpu(cpu, cpus) {
		struct bolt_call *call = per_cpu_ptr(&bolt_calls, cpu);
		int ret = call->there ? bolt_wait_for_callback(cpu) : call->err;

		if (ret)
			__cpumask_clear_cpu(cpu, cpus);
		err = err ?: ret;
	}
	return err;
}

static int bolt_call_all(struct cpumask *cpus, enum cpuhp_state state,
			 bool bringup, struct hlist_node *node)
{
	if (!bolt_state_has(state, bringup))
		return 0;
	return state > CPUHP_BRINGUP_CPU ?
	       bolt_call_there(cpus, state, bringup, node) :
	       bolt_call_ahead(cpus, state, bringup, node);
}

/*
 * Runs the startup for all CPUs that are past @state. If a startup fails, runs the
 * teardown for the CPUs whose startup has not failed.
 */
static int bolt_start_all(enum cpuhp_state state, struct hlist_node *node)
{
	unsigned int cpu;
	int err;

	cpumask_clear(&bolt_done);
	for_each_present_cpu(cpu) {
		if (!bolt_cpu_below(cpu, state))
			__cpumask_set_cpu(cpu, &bolt_done);
	}
	err = bolt_call_all(&bolt_done, state, true, node);
	/* Nothing can be done if a teardown fails here; natively that is a BUG(). */
	if (err)
		WARN_ON_ONCE(bolt_call_all(&bolt_done, state, false, node));
	return err;
}

/*
 * Whether callbacks of @state may run for all CPUs at once. Callbacks of CPUHP_AP_ACTIVE,
 * callbacks that run with interrupts off, and steps that wake CPUs or let CPUs die, may
 * not. Of the other states, all dynamic states may; a fixed state may if its row says
 * that it is concurrent.
 */
static bool bolt_may_be_parallel(enum cpuhp_state state)
{
	const struct bolt_row *fixed;

	if (state <= CPUHP_OFFLINE || state >= CPUHP_AP_ACTIVE ||
	    (state >= CPUHP_BP_KICK_AP && state <= CPUHP_TEARDOWN_CPU))
		return false;
	if ((state >= CPUHP_BP_PREPARE_DYN && state <= CPUHP_BP_PREPARE_DYN_END) ||
	    (state >= CPUHP_AP_ONLINE_DYN && state <= CPUHP_AP_ONLINE_DYN_END))
		return true;
	fixed = bolt_row_fixed(state);
	return fixed && fixed->fit == BOLT_CONCURRENT;
}

/*
 * Sets up a state; @at_once: its startups run on all CPUs at once. See
 * __cpuhp_setup_state_parallel_cpuslocked().
 */
static int bolt_setup_state(enum cpuhp_state state, const char *name, bool invoke,
			    int (*startup)(unsigned int cpu),
			    int (*teardown)(unsigned int cpu),
			    bool multi_instance, bool at_once)
{
	static const struct bolt_defer parallel = {
		.concurrent = true,
		.reason = "registered with cpuhp_setup_state_parallel()",
	};
	bool now = invoke && startup && at_once;
	int ret, err;

	lockdep_assert_cpus_held();
	if (!bolt_may_be_parallel(state))
		return -EINVAL;
	ret = __cpuhp_setup_state_cpuslocked(state, name, invoke && !now,
					     startup, teardown, multi_instance);
	if (ret < 0)
		return ret;
	if (ret)
		state = ret;
	if (!bolt_row_fixed(state) && !bolt_row_named(state))
		bolt_defer_state(state, &parallel);
	if (!now)
		return ret;

	bolt_lock_instances();
	err = bolt_start_all(state, NULL);
	bolt_unlock_instances();
	if (!err)
		return ret;
	__cpuhp_remove_state_cpuslocked(state, false);
	return err;
}

/* Adds an instance; @at_once: its startups run on all CPUs at once. */
static int bolt_add_instance(enum cpuhp_state state, struct hlist_node *node,
			     bool at_once)
{
	int err;

	lockdep_assert_cpus_held();
	if (!bolt_may_be_parallel(state) || !bolt_cpuhp_step(state)->multi_instance ||
	    !bolt_concurrent(state))
		return -EINVAL;
	if (!at_once)
		return __cpuhp_state_add_instance_cpuslocked(state, node, true);

	bolt_lock_instances();
	bolt_settle_everywhere(state);
	err = bolt_start_all(state, node);
	if (!err)
		hlist_add_head(node, &bolt_cpuhp_step(state)->list);
	bolt_instances_changed(state);
	bolt_unlock_instances();
	return err;
}

/**
 * __cpuhp_setup_state_parallel_cpuslocked - set up a state on all CPUs at once
 * @state:	as for __cpuhp_setup_state_cpuslocked(): CPUHP_AP_ONLINE_DYN,
 *		CPUHP_BP_PREPARE_DYN, or a fixed state whose row in rows.h says
 *		that it is concurrent
 * @name:	name of the state
 * @invoke:	whether to run @startup now, on all CPUs that are past @state
 * @startup:	startup callback, or NULL
 * @teardown:	teardown callback, or NULL
 * @multi_instance: whether the state has instances
 *
 * @startup runs for several CPUs at once, now and when CPUs come up in one request;
 * @teardown does when CPUs go down in one request, and if @startup fails now. Both must
 * touch nothing but data of their own CPU, or take a lock for other data. Neither may
 * take the hotplug lock, which the task that waits for the callbacks holds; lockdep
 * reports a callback that does. Callbacks of a state of the PREPARE section run on any
 * CPU; callbacks of any other state run on their own CPU, in its hotplug thread, or in
 * the caller while the boot CPU has no such thread yet. If @startup fails for a CPU now,
 * @teardown runs for all CPUs for which @startup has succeeded, and the state is removed.
 *
 * If bolt.parallel= is off, @startup runs for one CPU after the other now.
 *
 * Context: may sleep; hotplug lock held for reading.
 * Return: as __cpuhp_setup_state_cpuslocked(); -EINVAL also for a state that
 * cannot be parallel.
 */
int __cpuhp_setup_state_parallel_cpuslocked(enum cpuhp_state state,
					    const char *name, bool invoke,
					    int (*startup)(unsigned int cpu),
					    int (*teardown)(unsigned int cpu),
					    bool multi_instance)
{
	return bolt_setup_state(state, name, invoke, startup, teardown,
				multi_instance, bolt_boot_option(BOLT_BOOT_PARALLEL));
}
EXPORT_SYMBOL_GPL(__cpuhp_setup_state_parallel_cpuslocked);

/**
 * __cpuhp_setup_state_parallel - set up a state on all CPUs at once
 * @state:	the state
 * @name:	name of the state
 * @invoke:	whether to run @startup now
 * @startup:	startup callback, or NULL
 * @teardown:	teardown callback, or NULL
 * @multi_instance: whether the state has instances
 *
 * See __cpuhp_setup_state_parallel_cpuslocked().
 *
 * Context: may sleep; takes the hotplug lock for reading.
 * Return: as __cpuhp_setup_state_parallel_cpuslocked().
 */
int __cpuhp_setup_state_parallel(enum cpuhp_state state, const char *name,
				 bool invoke,
				 int (*startup)(unsigned int cpu),
				 int (*teardown)(unsigned int cpu),
				 bool multi_instance)
{
	int ret;

	cpus_read_lock();
	ret = __cpuhp_setup_state_parallel_cpuslocked(state, name, invoke,
						      startup, teardown,
						      multi_instance);
	cpus_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(__cpuhp_setup_state_parallel);

/**
 * cpuhp_state_add_instance_parallel_cpuslocked - add an instance on all CPUs
 * @state:	the state, set up as parallel
 * @node:	the instance
 *
 * Context: may sleep; hotplug lock held for reading.
 * Return: 0; -EINVAL if the state was not set up as one with instances, or is not
 * parallel; or the error of a startup that failed, and then the instance is not added.
 */
int cpuhp_state_add_instance_parallel_cpuslocked(enum cpuhp_state state,
						 struct hlist_node *node)
{
	return bolt_add_instance(state, node, bolt_boot_option(BOLT_BOOT_PARALLEL));
}
EXPORT_SYMBOL_GPL(cpuhp_state_add_instance_parallel_cpuslocked);

/**
 * cpuhp_state_add_instance_parallel - add an instance on all CPUs
 * @state:	the state, set up as parallel
 * @node:	the instance
 *
 * Context: may sleep; takes the hotplug lock for reading.
 * Return: as cpuhp_state_add_instance_parallel_cpuslocked().
 */
int cpuhp_state_add_instance_parallel(enum cpuhp_state state,
				      struct hlist_node *node)
{
	int ret;

	cpus_read_lock();
	ret = cpuhp_state_add_instance_parallel_cpuslocked(state, node);
	cpus_read_unlock();
	return ret;
}
EXPORT_SYMBOL_GPL(cpuhp_state_add_instance_parallel);

static int __init bolt_call_init(void)
{
	/*
	 * If there is no workqueue, bolt_call_ahead() runs the callbacks one after
	 * the other.
	 */
	bolt_call_queue = alloc_workqueue("cpuhp_parallel", WQ_HIGHPRI | WQ_PERCPU, 0);
	return bolt_call_queue ? 0 : -ENOMEM;
}
core_initcall(bolt_call_init);

#include "../tests/parallel-kunit.h"

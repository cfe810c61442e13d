// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions of Bolt that need static functions, locks or variables of kernel/cpu.c.
 * kernel/cpu.c includes this file at its end. The functions, except
 * bolt_await_reader(), only do what needs kernel/cpu.c; the file that calls a function
 * says what a request needs the function for.
 */
#include "glue.h"

struct cpuhp_cpu_state __percpu *const bolt_cpuhp_states = &cpuhp_state;
struct cpuhp_step *const bolt_cpuhp_steps = cpuhp_hp_states;

/*
 * Points to the hotplug lock as soon as readers may fail to wake a writer; NULL
 * before.
 */
struct percpu_rw_semaphore *bolt_patient_sem __read_mostly;

/**
 * bolt_await_reader - wait for readers in percpu_down_write()
 * @sem:	the lock; unless it is bolt_patient_sem, the writer sleeps as natively
 * @ticks:	for how long to sleep at most, in jiffies; doubled for the next call
 *
 * A reader of the hotplug lock wakes the writer, but may miss a writer that has
 * just begun to wait, see readers.h. So the writer looks for readers again, soon at
 * first. The writer looks less and less often, so that the detector of hung tasks
 * still finds a writer that hangs.
 *
 * Context: a writer that is about to sleep and has set its task state.
 */
void bolt_await_reader(struct percpu_rw_semaphore *sem, long *ticks)
{
	if (READ_ONCE(bolt_patient_sem) != sem) {
		schedule();
		return;
	}
	schedule_timeout(*ticks);
	*ticks = min(2 * *ticks, MAX_SCHEDULE_TIMEOUT / 2);
}

/*
 * Keeps readers of the hotplug lock on their slow path, or lets them back on the
 * fast one. On the slow path each reader pays for a barrier, and a request that
 * takes the lock for writing does not have to wait for a grace period.
 */
void bolt_hold_readers_slow(bool hold)
{
	if (!hold) {
		rcu_sync_exit(&cpu_hotplug_lock.rss);
		return;
	}
	rcu_sync_enter(&cpu_hotplug_lock.rss);
	if (bolt_patient_sem)
		return;
	/* With the lock held no other writer waits for readers; later writers see the pointer. */
	cpus_write_lock();
	WRITE_ONCE(bolt_patient_sem, &cpu_hotplug_lock);
	cpus_write_unlock();
}

/*
 * Changes one CPU in the native way, for a caller that has seen Bolt enabled before
 * another task disabled Bolt.
 */
int bolt_request_natively(unsigned int cpu, bool online)
{
	return online ? cpu_up(cpu, CPUHP_ONLINE) :
			cpu_down(cpu, CPUHP_OFFLINE);
}

/* Brings up in the native way the CPUs that no request has brought up during boot. */
void __init bolt_retry_natively(const struct cpumask *mask)
{
	if (!cpumask_empty(mask))
		cpuhp_bringup_mask(mask, nr_cpu_ids, CPUHP_ONLINE);
}

#ifdef CONFIG_HOTPLUG_PARALLEL
/*
 * Whether several CPUs may be woken at once, that is, CPUs can find out their own
 * numbers, and cpuhp.parallel= does not forbid a parallel bring-up.
 */
bool __init bolt_parallel_bringup(void)
{
	if (__cpuhp_parallel_bringup)
		__cpuhp_parallel_bringup = arch_cpuhp_init_parallel_bringup();
	return __cpuhp_parallel_bringup;
}
#else
bool __init bolt_parallel_bringup(void)
{
	return true;
}
#endif

/*
 * Returns an error if CPU hotplug is disabled, or if @online is false and going offline
 * is disabled; otherwise 0.
 */
int bolt_hotplug_forbidden(bool online)
{
	if (!online && cpu_hotplug_offline_disabled)
		return -EOPNOTSUPP;
	return cpu_hotplug_disabled ? -EBUSY : 0;
}

bool bolt_cpu_bootable(unsigned int cpu)
{
	return cpu_bootable(cpu);
}

#ifdef CONFIG_HOTPLUG_SMT
/* Whether SMT control allows @cpu to be online. */
bool bolt_smt_allowed(unsigned int cpu)
{
	return cpu_smt_thread_allowed(cpu);
}

/*
 * Whether SMT control brings up threads of @cpu's core when SMT is switched on: an
 * architecture may demand that the core is online already.
 */
bool bolt_core_online(unsigned int cpu)
{
	return topology_is_core_online(cpu);
}
#endif

/*
 * Until bolt_unlock_states(), no CPU comes or goes, and no state or instance is
 * registered or removed.
 */
void bolt_lock_states(void)
{
	cpus_read_lock();
	mutex_lock(&cpuhp_state_mutex);
}

void bolt_unlock_states(void)
{
	mutex_unlock(&cpuhp_state_mutex);
	cpus_read_unlock();
}

/*
 * Until bolt_unlock_instances(), no state or instance is registered or removed. The
 * caller has the hotplug lock.
 */
void bolt_lock_instances(void)
{
	mutex_lock(&cpuhp_state_mutex);
}

void bolt_unlock_instances(void)
{
	mutex_unlock(&cpuhp_state_mutex);
}

/* Tells lockdep that the caller is going to wait for callbacks of hotplug threads. */
void bolt_note_wait_for_threads(void)
{
	cpuhp_lock_acquire(false);
	cpuhp_lock_release(false);
	cpuhp_lock_acquire(true);
	cpuhp_lock_release(true);
}

/*
 * Runs callbacks of @cpu in the caller until @cpu has reached @target. If a
 * callback fails, @cpu goes back to the state from which it has come.
 */
int bolt_run_callbacks(unsigned int cpu, enum cpuhp_state target)
{
	struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);

	if (st->state == target)
		return 0;
	cpuhp_set_state(cpu, st, target);
	if (st->bringup)
		return cpuhp_up_callbacks(cpu, st, target);
	return cpuhp_down_callbacks(cpu, st, target);
}

/*
 * Runs teardowns of a CPU that is not online. A teardown that fails counts as done, and
 * the next one runs, as such a CPU cannot go back to where it came from.
 */
int bolt_run_dead_callbacks(unsigned int cpu, enum cpuhp_state target)
{
	struct cpuhp_cpu_state *st = per_cpu_ptr(&cpuhp_state, cpu);

	if (st->state == target)
		return 0;
	cpuhp_set_state(cpu, st, target);
	return __cpuhp_invoke_callback_range(false, cpu, st, target, true);
}

/* Runs the dying callbacks of @cpu, which is this CPU, with interrupts off. */
void bolt_run_dying_callbacks(unsigned int cpu, enum cpuhp_state target)
{
	cpuhp_invoke_callback_range_nofail(false, cpu,
					   per_cpu_ptr(&cpuhp_state, cpu),
					   target);
}

/* Runs one callback in the caller, which has the hotplug lock. */
int bolt_invoke_callback(unsigned int cpu, enum cpuhp_state state, bool bringup,
			 struct hlist_node *node)
{
	return cpuhp_invoke_callback(cpu, state, bringup, node, NULL);
}

/*
 * Runs one callback in the caller, on behalf of a task that has the hotplug lock
 * and waits.
 */
int bolt_invoke_callback_for(unsigned int cpu, enum cpuhp_state state, bool bringup,
			     struct hlist_node *node)
{
	int err;

	lockdep_acquire_cpus_lock();
	err = bolt_invoke_callback(cpu, state, bringup, node);
	lockdep_release_cpus_lock();
	return err;
}

/* Whether @cpu, on its way up, has begun to run kernel code. */
bool bolt_cpu_alive(unsigned int cpu)
{
	switch (atomic_read(per_cpu_ptr(&cpuhp_state.ap_sync_state, cpu))) {
	case SYNC_STATE_ALIVE:
	case SYNC_STATE_SHOULD_ONLINE:
	case SYNC_STATE_ONLINE:
		return true;
	}
	return false;
}

/* Whether @cpu has reported its death. */
bool bolt_cpu_dead(unsigned int cpu)
{
	return atomic_read(per_cpu_ptr(&cpuhp_state.ap_sync_state, cpu)) == SYNC_STATE_DEAD;
}

#ifdef CONFIG_HOTPLUG_SPLIT_STARTUP
/*
 * Gives up waiting for @cpu. Returns false if @cpu has seen that it was released, and
 * will arrive.
 */
bool bolt_arrival_given_up(unsigned int cpu)
{
	atomic_t *st = per_cpu_ptr(&cpuhp_state.ap_sync_state, cpu);

	return atomic_cmpxchg(st, SYNC_STATE_RELEASED, SYNC_STATE_KICKED) ==
	       SYNC_STATE_RELEASED;
}

/*
 * Releases @cpu, which waits in the kernel, so that it does not wait again on its
 * way up. Returns false if @cpu may not come up.
 */
bool bolt_release_warm(unsigned int cpu)
{
	if (!cpuhp_can_boot_ap(cpu))
		return false;
	bolt_release_ap(cpu);
	return true;
}
#endif

/* Waits, for 10 s at most, until @cpu reports its death, if CPUs of the architecture do. */
void bolt_wait_for_death(unsigned int cpu)
{
	cpuhp_bp_sync_dead(cpu);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of Bolt that needs the statics of kernel/cpu.c, at the end of which
 * it is included. Nothing else touches them.
 */
#include "internal.h"

/*
 * With one writer always entered, readers of the hotplug lock pay a barrier
 * and a request does not have to wait for a grace period.
 */
void bolt_glue_hold_readers_slow(bool hold)
{
	if (hold)
		rcu_sync_enter(&cpu_hotplug_lock.rss);
	else
		rcu_sync_exit(&cpu_hotplug_lock.rss);
}

/*
 * As cpu_down_maps_locked(), but without a worker unless the control task is
 * on the CPU that goes. The worker was there for a control task throttled by
 * a timer on that CPU; timers leave it in the dying section now. The task is
 * not pinned: whoever moves it, holding the hotplug lock, would wait for it.
 */
int bolt_glue_down(unsigned int cpu)
{
	if (!bolt_fast() || raw_smp_processor_id() == cpu)
		return cpu_down_maps_locked(cpu, CPUHP_OFFLINE);
	if (cpu_hotplug_offline_disabled)
		return -EOPNOTSUPP;
	if (cpu_hotplug_disabled)
		return -EBUSY;
	if (cpumask_any_and_but(cpu_online_mask,
				housekeeping_cpumask(HK_TYPE_DOMAIN),
				cpu) >= nr_cpu_ids)
		return -EBUSY;
	return _cpu_down(cpu, 0, CPUHP_OFFLINE);
}

int bolt_glue_up(unsigned int cpu)
{
	if (cpu_hotplug_disabled)
		return -EBUSY;
	if (!cpu_bootable(cpu))
		return -EPERM;
	return _cpu_up(cpu, 0, CPUHP_ONLINE);
}

/* What keeps states, instances and CPUs as they are. */
void bolt_glue_lock_states(void)
{
	cpus_read_lock();
	mutex_lock(&cpuhp_state_mutex);
}

void bolt_glue_unlock_states(void)
{
	mutex_unlock(&cpuhp_state_mutex);
	cpus_read_unlock();
}

/*
 * Settles the highest pending state of @cpu, or a part of it; with @async only
 * one that does not wait for the delay. False: there was none.
 */
bool bolt_glue_settle_next(unsigned int cpu, bool async)
{
	int state;

	/* Locked even if there seems to be none: its teardown may be running. */
	bolt_glue_lock_states();
	state = bolt_next_to_settle(cpu, async);
	if (state >= 0)
		bolt_settle_state(cpu, state);
	bolt_glue_unlock_states();
	return state >= 0;
}

/* Whether @state's startup has not run, as far as the state machine knows. */
bool bolt_glue_below(unsigned int cpu, enum cpuhp_state state)
{
	return per_cpu_ptr(&cpuhp_state, cpu)->state < state;
}

/* Whether @cpu has reached the kernel on its way up. */
bool bolt_glue_alive(unsigned int cpu)
{
#ifdef CONFIG_HOTPLUG_CORE_SYNC
	return atomic_read(per_cpu_ptr(&cpuhp_state.ap_sync_state, cpu)) ==
	       SYNC_STATE_ALIVE;
#else
	return false;
#endif
}

/* Whether @state has a startup, or a teardown. */
bool bolt_glue_has(enum cpuhp_state state, bool startup)
{
	return !cpuhp_step_empty(startup, cpuhp_get_step(state));
}

const char *bolt_glue_name(enum cpuhp_state state)
{
	return cpuhp_get_step(state)->name;
}

/*
 * What the intercept can stand for. A teardown without startup must be one of
 * a dead CPU: nothing undoes it. A startup without teardown needs others.
 */
bool bolt_glue_can_defer(enum cpuhp_state state, enum bolt_unit unit)
{
	if (!bolt_glue_has(state, true))
		return bolt_glue_has(state, false) && state < CPUHP_BRINGUP_CPU;
	return bolt_glue_has(state, false) || unit != BOLT_ALONE;
}

void bolt_glue_teardown(unsigned int cpu, enum cpuhp_state state)
{
	struct cpuhp_step *step = cpuhp_get_step(state);
	struct hlist_node *node;
	int err = 0;

	if (!step->multi_instance)
		err = step->teardown.single(cpu);
	else
		hlist_for_each(node, &step->list)
			err = step->teardown.multi(cpu, node) ?: err;
	WARN_ONCE(err, "CPU %u: teardown of %s, put off, failed: %d\n", cpu,
		  step->name, err);
}

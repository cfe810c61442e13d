// SPDX-License-Identifier: GPL-2.0-only
/*
 * Those in the kernel who would take CPUs one by one: SMT control, suspend and
 * hibernation, the shutdown before a new kernel. Each is one batch.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/cpu_smt.h>
#include <linux/device.h>
#include <linux/suspend.h>
#include <linux/workqueue.h>
#include <trace/events/power.h>

#include "internal.h"

/* cpu_add_remove_lock held. */
static struct cpumask bolt_users_mask;

#ifdef CONFIG_HOTPLUG_SMT
/**
 * bolt_smt_disable - take threads down for SMT control
 * @ctrlval:	an enum cpuhp_smt_control
 *
 * Context: cpu_add_remove_lock and device hotplug lock held; may sleep.
 * Return: 0, also while Bolt is disabled; otherwise an error, and all threads
 * are up, but those that could not be put back.
 */
int bolt_smt_disable(int ctrlval)
{
	int err;

	if (!bolt_enabled())
		return 0;
	cpumask_clear(&bolt_users_mask);
	bolt_glue_smt_leave(&bolt_users_mask, ctrlval);
	err = bolt_request(cpu_none_mask, &bolt_users_mask, 0);
	if (!err)
		bolt_notify(&bolt_users_mask, false);
	return err;
}

/**
 * bolt_smt_enable - bring threads up for SMT control
 *
 * Context: as bolt_smt_disable().
 * Return: as bolt_smt_disable(); after an error no thread has come up, but those
 * that could not be put back.
 */
int bolt_smt_enable(void)
{
	int err;

	if (!bolt_enabled())
		return 0;
	cpumask_clear(&bolt_users_mask);
	bolt_glue_smt_come(&bolt_users_mask);
	/* Resuming from hibernation has them all come first. */
	err = bolt_request(&bolt_users_mask, cpu_none_mask, BOLT_ANYWAY);
	if (!err)
		bolt_notify(&bolt_users_mask, true);
	return err;
}
#endif

#ifdef CONFIG_PM_SLEEP_SMP
/* CPUs of which the driver core thinks otherwise; cpu_add_remove_lock held. */
static struct cpumask bolt_untold;

static void bolt_tell_work(struct work_struct *work)
{
	unsigned int cpu;

	lock_device_hotplug();
	cpu_maps_update_begin();
	for_each_cpu(cpu, &bolt_untold)
		bolt_notify_lost(cpu);
	cpumask_clear(&bolt_untold);
	cpu_maps_update_done();
	unlock_device_hotplug();
}

static DECLARE_WORK(bolt_teller, bolt_tell_work);

/*
 * Suspend does not hold the device hotplug lock, and the CPUs that have not come
 * together may come alone: the driver core is told when it is over.
 */
static void bolt_tell_later(const struct cpumask *mask)
{
	unsigned int cpu;

	for_each_cpu(cpu, mask) {
		struct device *dev = get_cpu_device(cpu);

		if (dev && dev->offline == (bolt_glue_state(cpu) == CPUHP_ONLINE))
			cpumask_set_cpu(cpu, &bolt_untold);
	}
	if (!cpumask_empty(&bolt_untold))
		queue_work(system_unbound_wq, &bolt_teller);
}

static void bolt_trace_suspend(const char *what, const struct cpumask *cpus,
			       bool begin)
{
	unsigned int cpu;

	for_each_cpu(cpu, cpus)
		trace_suspend_resume(what, cpu, begin);
}

/**
 * bolt_freeze - take all CPUs but one down for suspend
 * @primary:	the one
 * @frozen:	where to put the others; after an error those that could not be
 *		put back, for bolt_thaw(), which the caller calls then, too
 *
 * Nothing is put off. A pending wake-up ends it between two phases.
 *
 * Context: cpu_add_remove_lock held; may sleep.
 * Return: 0, or an error: all are up then, but those.
 */
int bolt_freeze(unsigned int primary, struct cpumask *frozen)
{
	int err;

	cpumask_copy(&bolt_users_mask, cpu_online_mask);
	cpumask_clear_cpu(primary, &bolt_users_mask);
	if (pm_wakeup_pending())
		return -EBUSY;
	bolt_trace_suspend(TPS("CPU_OFF"), &bolt_users_mask, true);
	err = bolt_request(cpu_none_mask, &bolt_users_mask,
			   BOLT_WHOLE | BOLT_FROZEN);
	bolt_trace_suspend(TPS("CPU_OFF"), &bolt_users_mask, false);
	cpumask_copy(frozen, err ? &bolt_lost : &bolt_users_mask);
	return err;
}

/**
 * bolt_thaw - bring CPUs up after suspend
 * @frozen:	the CPUs
 *
 * If one of them does not come, none does: the caller tries each for itself.
 * The driver core hears of those that do not come even then.
 *
 * Context: as bolt_freeze().
 */
void bolt_thaw(const struct cpumask *frozen)
{
	if (!bolt_enabled())
		return;
	bolt_trace_suspend(TPS("CPU_ON"), frozen, true);
	bolt_request(frozen, cpu_none_mask, BOLT_WHOLE | BOLT_FROZEN);
	bolt_trace_suspend(TPS("CPU_ON"), frozen, false);
	bolt_tell_later(frozen);
}
#endif

/**
 * bolt_shutdown - take all CPUs but one down for another kernel
 * @primary:	the one, if it is online; else the first
 *
 * Nothing is put off. If it fails the caller tries each for itself.
 *
 * Context: as bolt_freeze().
 */
void bolt_shutdown(unsigned int primary)
{
	if (!bolt_enabled())
		return;
	if (!cpu_online(primary))
		primary = cpumask_first(cpu_online_mask);
	cpumask_copy(&bolt_users_mask, cpu_online_mask);
	cpumask_clear_cpu(primary, &bolt_users_mask);
	bolt_request(cpu_none_mask, &bolt_users_mask, BOLT_WHOLE);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * SMT control, suspend and hibernation, and the shutdown of CPUs before kexec. Natively
 * the code of these operations, in kernel/cpu.c, takes CPUs down and brings CPUs up one
 * by one. That code calls functions of this file, which take all these CPUs down, or up,
 * in one request of request.c while Bolt is enabled. A reboot settles all CPUs.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/cpu_smt.h>
#include <linux/device.h>
#include <linux/nodemask.h>
#include <linux/reboot.h>
#include <linux/suspend.h>
#include <linux/topology.h>
#include <linux/workqueue.h>
#include <trace/events/power.h>

#include "compat.h"
#include "request.h"
#include "state.h"
#include "warm.h"

/* The CPUs of the operation that is under way; protected by cpu_add_remove_lock. */
static struct cpumask bolt_pm_mask;

#ifdef CONFIG_HOTPLUG_SMT
/* Adds to @cpus the CPUs that cpuhp_smt_disable() takes down natively. */
static void bolt_smt_leaving(struct cpumask *cpus, enum cpuhp_smt_control control)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		if (!topology_is_primary_thread(cpu) &&
		    (control != CPU_SMT_ENABLED || !bolt_smt_allowed(cpu)))
			cpumask_set_cpu(cpu, cpus);
	}
}

/*
 * Adds to @cpus the CPUs that cpuhp_smt_enable() brings up natively, and those that it
 * passes over natively because they are online, although half-way.
 */
static void bolt_smt_coming(struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_present_cpu(cpu) {
		/*
		 * Below CPUHP_ONLINE the CPU is offline; or an undo, or a write to
		 * cpuN/hotplug/target, has left the CPU half-way.
		 */
		if (bolt_cpu_state(cpu) < CPUHP_ONLINE &&
		    node_online(cpu_to_node(cpu)) &&
		    bolt_smt_allowed(cpu) && bolt_core_online(cpu))
			cpumask_set_cpu(cpu, cpus);
	}
}

/*
 * Makes the threads cold that SMT control has taken offline, or found offline: a thread
 * that waits in the kernel becomes natively dead. With CONFIG_GENERIC_ARCH_TOPOLOGY,
 * topology_is_primary_thread() is true of each CPU that is offline, whether or not the
 * CPU is a primary thread, so all CPUs that are offline become cold.
 */
static void bolt_smt_make_cold(void)
{
	unsigned int cpu;

	cpumask_clear(&bolt_pm_mask);
	for_each_present_cpu(cpu) {
		if (!topology_is_primary_thread(cpu) ||
		    IS_ENABLED(CONFIG_GENERIC_ARCH_TOPOLOGY))
			cpumask_set_cpu(cpu, &bolt_pm_mask);
	}
	bolt_warm_leave(&bolt_pm_mask);
}

/**
 * bolt_smt_disable - take threads down for SMT control
 * @ctrlval:	an enum cpuhp_smt_control
 *
 * Context: cpu_add_remove_lock and device hotplug lock held; may sleep.
 * Return: 0, also while Bolt is disabled; otherwise an error, and then all threads that
 * were up are up again, except those that could not be put back.
 */
int bolt_smt_disable(int ctrlval)
{
	int err;

	if (!bolt_enabled())
		return 0;
	cpumask_clear(&bolt_pm_mask);
	bolt_smt_leaving(&bolt_pm_mask, ctrlval);
	err = bolt_request(cpu_none_mask, &bolt_pm_mask, BOLT_PARK_COLD);
	if (!err) {
		bolt_notify(&bolt_pm_mask, false);
		bolt_smt_make_cold();
	}
	return err;
}

/**
 * bolt_smt_enable - bring threads up for SMT control
 *
 * Context: as bolt_smt_disable().
 * Return: as bolt_smt_disable(); after an error no thread has come up except those
 * that could not be put back.
 */
int bolt_smt_enable(void)
{
	int err;

	if (!bolt_enabled())
		return 0;
	cpumask_clear(&bolt_pm_mask);
	bolt_smt_coming(&bolt_pm_mask);
	/* Forced: a resume from hibernation brings threads up with hotplug disabled. */
	err = bolt_request(&bolt_pm_mask, cpu_none_mask, BOLT_FORCED);
	if (!err)
		bolt_notify(&bolt_pm_mask, true);
	return err;
}
#endif

#ifdef CONFIG_PM_SLEEP_SMP
/*
 * CPUs whose state the driver core still has to be told. Protected by
 * cpu_add_remove_lock.
 */
static struct cpumask bolt_unnotified;

static void bolt_notify_work(struct work_struct *work)
{
	unsigned int cpu;

	lock_device_hotplug();
	cpu_maps_update_begin();
	for_each_cpu(cpu, &bolt_unnotified)
		bolt_notify_lost(cpu);
	cpumask_clear(&bolt_unnotified);
	cpu_maps_update_done();
	unlock_device_hotplug();
}

static DECLARE_WORK(bolt_notifier, bolt_notify_work);

/*
 * Notes the CPUs of @mask whose state the driver core has wrong. A worker tells the
 * driver core when thaw_secondary_cpus() is done, because suspend does not hold the
 * device hotplug lock, and because a CPU that has not come with the other CPUs may
 * still come alone.
 */
static void bolt_notify_later(const struct cpumask *mask)
{
	unsigned int cpu;

	for_each_cpu(cpu, mask) {
		struct device *dev = get_cpu_device(cpu);

		if (dev && dev_offline(dev) == (bolt_cpu_state(cpu) == CPUHP_ONLINE))
			cpumask_set_cpu(cpu, &bolt_unnotified);
	}
	if (!cpumask_empty(&bolt_unnotified))
		queue_work(system_dfl_wq, &bolt_notifier);
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
 * @primary:	the CPU that stays
 * @frozen:	an empty mask, where to put the CPUs that go. After an error these
 *		are the CPUs that could not be put back; the caller then passes
 *		them to bolt_thaw()
 *
 * No teardown is deferred. A pending wake-up ends the request between two phases.
 *
 * Context: cpu_add_remove_lock held; may sleep.
 * Return: 0; or an error, and then all CPUs that were up are up except those in @frozen.
 */
int bolt_freeze(unsigned int primary, struct cpumask *frozen)
{
	int err;

	cpumask_copy(&bolt_pm_mask, cpu_online_mask);
	cpumask_clear_cpu(primary, &bolt_pm_mask);
	if (pm_wakeup_pending())
		return -EBUSY;
	bolt_trace_suspend(TPS("CPU_OFF"), &bolt_pm_mask, true);
	err = bolt_request(cpu_none_mask, &bolt_pm_mask,
			   BOLT_NO_DEFER | BOLT_FROZEN);
	bolt_trace_suspend(TPS("CPU_OFF"), &bolt_pm_mask, false);
	cpumask_copy(frozen, err ? &bolt_lost : &bolt_pm_mask);
	return err;
}

/**
 * bolt_thaw - bring CPUs up after suspend
 * @frozen:	the CPUs
 *
 * If one CPU does not come, none does, and the caller tries each CPU by itself. The
 * driver core is told about CPUs that do not come even then.
 *
 * Context: as bolt_freeze().
 */
void bolt_thaw(const struct cpumask *frozen)
{
	if (!bolt_enabled())
		return;
	bolt_trace_suspend(TPS("CPU_ON"), frozen, true);
	bolt_request(frozen, cpu_none_mask, BOLT_NO_DEFER | BOLT_FROZEN);
	bolt_trace_suspend(TPS("CPU_ON"), frozen, false);
	bolt_notify_later(frozen);
}
#endif

/**
 * bolt_shutdown - take all CPUs but one down before kexec starts another kernel
 * @primary:	the CPU that stays; if it is offline, the first CPU that is online
 *		stays
 *
 * No teardown is deferred. If the request fails, or Bolt is disabled, the caller tries
 * each CPU by itself.
 *
 * Context: as bolt_freeze().
 */
void bolt_shutdown(unsigned int primary)
{
	if (!bolt_enabled())
		return;
	if (!cpu_online(primary))
		primary = cpumask_first(cpu_online_mask);
	cpumask_copy(&bolt_pm_mask, cpu_online_mask);
	cpumask_clear_cpu(primary, &bolt_pm_mask);
	bolt_request(cpu_none_mask, &bolt_pm_mask, BOLT_NO_DEFER);
}

/*
 * Settles all CPUs before a reboot, as the kernel that follows must find them
 * natively offline.
 */
static int bolt_reboot(struct notifier_block *nb, unsigned long action,
		       void *data)
{
	bolt_all_whole();
	return NOTIFY_DONE;
}

static struct notifier_block bolt_reboot_nb = {
	.notifier_call = bolt_reboot,
};

static int __init bolt_pm_init(void)
{
	return register_reboot_notifier(&bolt_reboot_nb);
}
core_initcall(bolt_pm_init);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests for devices: which CPUs there are and may change, what the driver
 * core and user space are told, and what callers in the kernel ask for.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/kobject.h>
#include <linux/memory_hotplug.h>
#include <linux/topology.h>

#include "internal.h"

/**
 * bolt_notify - tell the driver core and user space what has become of CPUs
 * @mask:	the CPUs; those of which it knows are passed over
 * @online:	what
 *
 * Context: may sleep; device hotplug lock held.
 */
void bolt_notify(const struct cpumask *mask, bool online)
{
	unsigned int cpu;

	for_each_cpu(cpu, mask) {
		struct device *dev = get_cpu_device(cpu);

		if (!dev || dev->offline == !online)
			continue;
		dev->offline = !online;
		kobject_uevent(&dev->kobj, online ? KOBJ_ONLINE : KOBJ_OFFLINE);
	}
}

/**
 * bolt_notify_lost - tell the driver core where a CPU has been left
 * @cpu:	the CPU
 *
 * Context: as bolt_notify(); cpu_add_remove_lock held.
 */
void bolt_notify_lost(unsigned int cpu)
{
	bool online = bolt_glue_state(cpu) == CPUHP_ONLINE;

	per_cpu_ptr(&bolt_cpus, cpu)->half_way = !online && cpu_online(cpu);
	bolt_notify(cpumask_of(cpu), online);
}

/**
 * bolt_finish_offline - take down a CPU whose device is offline
 * @dev:	a device that is offline
 *
 * Whoever takes a device offline, perhaps to remove the CPU, must not find one
 * that an undo has left half-way: it still runs.
 *
 * Context: device_offline().
 * Return: 1: there is nothing to do any more; or a negative error number.
 */
int bolt_finish_offline(struct device *dev)
{
	struct bolt_cpu *bc;
	int err;

	if (dev->bus != &cpu_subsys)
		return 1;
	bc = per_cpu_ptr(&bolt_cpus, dev->id);
	if (!bc->half_way || !cpu_online(dev->id) ||
	    bolt_glue_state(dev->id) == CPUHP_ONLINE)
		return 1;
	err = cpu_device_down(dev);
	if (err)
		return err;
	bc->half_way = false;
	return 1;
}

/* A request that has not even become one, because of @cpu. */
static int bolt_refuse(unsigned int cpu, int err)
{
	cpu_maps_update_begin();
	bolt_error_add(++bolt_batches, cpu, "", err, "");
	cpu_maps_update_done();
	return err;
}

/* Whether there are such CPUs, and whether they may change. */
static int bolt_check_devices(const struct cpumask *mask, bool online)
{
	unsigned int cpu;

	if (!cpumask_subset(mask, cpu_possible_mask))
		return -EINVAL;
	for_each_cpu(cpu, mask) {
		struct device *dev = get_cpu_device(cpu);

		if (!cpu_present(cpu) || !dev)
			return bolt_refuse(cpu, -ENODEV);
		if (cpu_online(cpu) != online && dev->offline_disabled)
			return bolt_refuse(cpu, -EPERM);
	}
	return 0;
}

static int bolt_online_nodes(const struct cpumask *mask)
{
	unsigned int cpu;
	int err;

	for_each_cpu_andnot(cpu, mask, cpu_online_mask) {
		err = try_online_node(cpu_to_node(cpu));
		if (err)
			return err;
	}
	return 0;
}

static int bolt_change(const struct cpumask *up, const struct cpumask *down)
{
	int err = bolt_check_devices(up, true) ?:
		  bolt_check_devices(down, false) ?: bolt_online_nodes(up);

	if (err)
		return err;
	cpu_maps_update_begin();
	err = bolt_enabled() ? bolt_request(up, down, 0) : -EOPNOTSUPP;
	cpu_maps_update_done();
	if (err)
		return err;
	bolt_notify(up, true);
	bolt_notify(down, false);
	return 0;
}

/**
 * bolt_cpus_down - take CPUs offline, all or none
 * @mask:	CPUs that are to be offline; a CPU that is offline is no error
 *
 * Context: may sleep; device hotplug lock held.
 * Return: 0; -EINVAL if a CPU of @mask is not possible; -ENODEV if a CPU is not
 * present; -EPERM if a CPU cannot go offline; -EBUSY if no housekeeping CPU would
 * stay, a CPU is in irq_keep, or CPU hotplug is disabled; -EOPNOTSUPP if Bolt is
 * disabled; or the error of the callback that failed.
 */
int bolt_cpus_down(const struct cpumask *mask)
{
	return bolt_change(cpu_none_mask, mask);
}
EXPORT_SYMBOL_GPL(bolt_cpus_down);

/**
 * bolt_cpus_up - bring CPUs online, all or none
 * @mask:	CPUs that are to be online; a CPU that is online is no error
 *
 * Context: as bolt_cpus_down().
 * Return: as bolt_cpus_down(); -EPERM if SMT control forbids a CPU.
 */
int bolt_cpus_up(const struct cpumask *mask)
{
	return bolt_change(mask, cpu_none_mask);
}
EXPORT_SYMBOL_GPL(bolt_cpus_up);

/**
 * bolt_cpus_set - have just these CPUs online, or change nothing
 * @mask:	CPUs that are to be online; all other CPUs are to be offline
 *
 * CPUs of @mask come before other CPUs go.
 *
 * Context: as bolt_cpus_down().
 * Return: as bolt_cpus_down() and bolt_cpus_up().
 */
int bolt_cpus_set(const struct cpumask *mask)
{
	cpumask_var_t others;
	int err;

	if (!alloc_cpumask_var(&others, GFP_KERNEL))
		return -ENOMEM;
	cpumask_andnot(others, cpu_present_mask, mask);
	err = bolt_change(mask, others);
	free_cpumask_var(others);
	return err;
}
EXPORT_SYMBOL_GPL(bolt_cpus_set);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files of /sys/devices/system/cpu/bolt. When user space writes a list to online,
 * offline or set, or a mask to online_mask, offline_mask or set_mask, bolt_ask() has
 * parse.c read the list or the mask, and calls bolt_cpus_up(), bolt_cpus_down() or
 * bolt_cpus_set() of request.c with the device hotplug lock held.
 * Documentation/ABI/testing/sysfs-devices-system-cpu-bolt describes the files.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/bolt.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/init.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "affinity.h"
#include "boot/boot.h"
#include "compat.h"
#include "error.h"
#include "glue.h"
#include "irq.h"
#include "parse.h"
#include "request.h"
#include "settle.h"
#include "state.h"
#include "warm.h"

/* Returns 0 if @zero was written, 1 if @one was written, or a negative error number. */
static int bolt_either(const char *buf, size_t count, const char *zero, const char *one)
{
	if (count >= PAGE_SIZE)
		return -E2BIG;
	if (bolt_parse_word(buf, count, one))
		return 1;
	return bolt_parse_word(buf, count, zero) ? 0 : -EINVAL;
}

static ssize_t enabled_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", bolt_enabled());
}

static ssize_t enabled_store(struct device *dev, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	int on = bolt_either(buf, count, "0", "1");
	int err = on < 0 ? on : bolt_enable(on);

	return err ?: count;
}
static DEVICE_ATTR_ADMIN_RW(enabled);

/* Prints a cpulist, or fails if it is cut off, as its last number may lack digits. */
static ssize_t bolt_emit_list(char *buf, const struct cpumask *mask)
{
	ssize_t len = sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(mask));

	return buf[len - 1] == '\n' ? len : -EOVERFLOW;
}

static ssize_t parked_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	ssize_t len;

	cpus_read_lock();
	len = bolt_emit_list(buf, &bolt_parked_mask);
	cpus_read_unlock();
	return len;
}
static DEVICE_ATTR_ADMIN_RO(parked);

static ssize_t last_error_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	return bolt_errors_emit(buf);
}
static DEVICE_ATTR_ADMIN_RO(last_error);

/* Reads a cpulist of possible CPUs, which may be empty. */
static int bolt_list_any(const char *buf, size_t count, struct cpumask *mask)
{
	int err = bolt_parse_list(buf, count, cpumask_bits(mask), nr_cpu_ids);

	if (err)
		return err;
	return cpumask_subset(mask, cpu_possible_mask) ? 0 : -EINVAL;
}

/* Reads a cpulist of possible CPUs, at least one. */
static int bolt_list(const char *buf, size_t count, struct cpumask *mask)
{
	int err = bolt_list_any(buf, count, mask);

	return !err && cpumask_empty(mask) ? -EINVAL : err;
}

/* Reads a mask of possible CPUs, at least one. */
static int bolt_mask(const char *buf, size_t count, struct cpumask *mask)
{
	int err = bolt_parse_mask(buf, count, cpumask_bits(mask), nr_cpu_ids);

	if (err)
		return err;
	return cpumask_empty(mask) ||
	       !cpumask_subset(mask, cpu_possible_mask) ? -EINVAL : 0;
}

/*
 * Waits, for 620 ms at most, until CPU hotplug is allowed, as a write of 1 to cpuN/online
 * does: probing a PCI device, for instance, disables CPU hotplug for a short time.
 */
static void bolt_wait_until_allowed(void)
{
	unsigned int ms;
	int err;

	for (ms = 20; ms <= 320; ms *= 2) {
		cpu_maps_update_begin();
		err = bolt_hotplug_forbidden(true);
		cpu_maps_update_done();
		if (!err)
			return;
		msleep(ms);
	}
}

/* Reads what was written and carries out one request for it. */
static ssize_t bolt_ask(const char *buf, size_t count,
			int (*parse)(const char *buf, size_t count,
				     struct cpumask *mask),
			int (*request)(const struct cpumask *mask))
{
	cpumask_var_t mask;
	int err;

	if (!bolt_enabled())
		return -EOPNOTSUPP;
	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	err = parse(buf, count, mask);
	if (!err && request != bolt_cpus_down)
		bolt_wait_until_allowed();
	if (!err)
		err = lock_device_hotplug_sysfs();
	if (!err) {
		err = request(mask);
		unlock_device_hotplug();
	}
	free_cpumask_var(mask);
	return err ?: count;
}

static ssize_t online_store(struct device *dev, struct device_attribute *attr,
			    const char *buf, size_t count)
{
	return bolt_ask(buf, count, bolt_list, bolt_cpus_up);
}
static DEVICE_ATTR_WO(online);

static ssize_t offline_store(struct device *dev, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	return bolt_ask(buf, count, bolt_list, bolt_cpus_down);
}
static DEVICE_ATTR_WO(offline);

static ssize_t set_store(struct device *dev, struct device_attribute *attr,
			 const char *buf, size_t count)
{
	return bolt_ask(buf, count, bolt_list, bolt_cpus_set);
}
static DEVICE_ATTR_WO(set);

/* A write at an offset is refused, as such a write may be the rest of a longer mask. */
static ssize_t bolt_ask_mask(const char *buf, loff_t pos, size_t count,
			     int (*request)(const struct cpumask *mask))
{
	return pos ? -EINVAL : bolt_ask(buf, count, bolt_mask, request);
}

static ssize_t online_mask_write(struct file *file, struct kobject *kobj,
				 compat_bin_attribute *attr, char *buf,
				 loff_t pos, size_t count)
{
	return bolt_ask_mask(buf, pos, count, bolt_cpus_up);
}
static BIN_ATTR_WO(online_mask, 0);

static ssize_t offline_mask_write(struct file *file, struct kobject *kobj,
				  compat_bin_attribute *attr, char *buf,
				  loff_t pos, size_t count)
{
	return bolt_ask_mask(buf, pos, count, bolt_cpus_down);
}
static BIN_ATTR_WO(offline_mask, 0);

static ssize_t set_mask_write(struct file *file, struct kobject *kobj,
			      compat_bin_attribute *attr, char *buf,
			      loff_t pos, size_t count)
{
	return bolt_ask_mask(buf, pos, count, bolt_cpus_set);
}
static BIN_ATTR_WO(set_mask, 0);

static ssize_t settle_store(struct device *dev, struct device_attribute *attr,
			    const char *buf, size_t count)
{
	cpumask_var_t mask;
	int err = 0;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	if (bolt_parse_word(buf, count, "all"))
		cpumask_copy(mask, cpu_possible_mask);
	else
		err = bolt_list(buf, count, mask);
	if (!err)
		bolt_settle_mask(mask);
	free_cpumask_var(mask);
	return err ?: count;
}
static DEVICE_ATTR_WO(settle);

static ssize_t settle_delay_ms_show(struct device *dev,
				    struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(bolt_settle_delay_ms));
}

static ssize_t settle_delay_ms_store(struct device *dev,
				     struct device_attribute *attr,
				     const char *buf, size_t count)
{
	unsigned int ms;
	int err;

	err = bolt_parse_number(buf, count, &ms);
	if (err)
		return err;
	bolt_settle_delay(ms);
	return count;
}
static DEVICE_ATTR_ADMIN_RW(settle_delay_ms);

static ssize_t keep_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%s\n",
			  READ_ONCE(bolt_keep_for_delay) ? "delay" : "pressure");
}

static ssize_t keep_store(struct device *dev, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	int which = bolt_either(buf, count, "pressure", "delay");

	if (which < 0)
		return which;
	bolt_set_keep(which);
	return count;
}
static DEVICE_ATTR_ADMIN_RW(keep);

static ssize_t keep_affinity_show(struct device *dev,
				  struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", bolt_affinity_kept());
}

static ssize_t keep_affinity_store(struct device *dev,
				   struct device_attribute *attr,
				   const char *buf, size_t count)
{
	int on = bolt_either(buf, count, "0", "1");

	if (on < 0)
		return on;
	bolt_keep_affinity(on);
	return count;
}
static DEVICE_ATTR_ADMIN_RW(keep_affinity);

static ssize_t park_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%s\n", bolt_warm_wanted() ? "warm" : "cold");
}

static ssize_t park_store(struct device *dev, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	int which = bolt_either(buf, count, "cold", "warm");
	int err = which < 0 ? which : bolt_warm_want(which);

	return err ?: count;
}
static DEVICE_ATTR_ADMIN_RW(park);

static ssize_t irq_keep_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	cpumask_var_t mask;
	ssize_t len;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	bolt_irq_get_list(mask);
	len = bolt_emit_list(buf, mask);
	free_cpumask_var(mask);
	return len;
}

static ssize_t irq_keep_store(struct device *dev, struct device_attribute *attr,
			      const char *buf, size_t count)
{
	cpumask_var_t mask;
	int err;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	err = bolt_list_any(buf, count, mask);
	if (!err)
		err = bolt_irq_set_list(mask);
	free_cpumask_var(mask);
	return err ?: count;
}
static DEVICE_ATTR_ADMIN_RW(irq_keep);

static struct attribute *bolt_attrs[] = {
	&dev_attr_enabled.attr,
	&dev_attr_last_error.attr,
	&dev_attr_irq_keep.attr,
	&dev_attr_keep.attr,
	&dev_attr_keep_affinity.attr,
	&dev_attr_offline.attr,
	&dev_attr_online.attr,
	&dev_attr_park.attr,
	&dev_attr_parked.attr,
	&dev_attr_set.attr,
	&dev_attr_settle.attr,
	&dev_attr_settle_delay_ms.attr,
	NULL
};

/* The files have no size, because sysfs would cut a longer write to the size. */
static compat_bin_attribute *bolt_bin_attrs[] = {
	&bin_attr_offline_mask,
	&bin_attr_online_mask,
	&bin_attr_set_mask,
	NULL
};

static const struct attribute_group bolt_group = {
	.name = "bolt",
	.attrs = bolt_attrs,
	.bin_attrs = bolt_bin_attrs,
};

static int __init bolt_init(void)
{
	struct device *root = bus_get_dev_root(&cpu_subsys);
	int err;

	if (!root)
		return -ENODEV;
	err = sysfs_create_group(&root->kobj, &bolt_group);
	put_device(root);
	if (err)
		return err;
	return bolt_enable_after_boot() ? bolt_enable(true) : 0;
}
late_initcall(bolt_init);

#include "tests/sysfs-kunit.h"

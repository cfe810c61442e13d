// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/devices/system/cpu/bolt and bolt= on the command line. What the files
 * mean stands in Documentation/ABI/testing/sysfs-devices-system-cpu-bolt.
 */
#define pr_fmt(fmt) "bolt: " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/init.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "internal.h"

static ssize_t enabled_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", bolt_enabled());
}

static ssize_t enabled_store(struct device *dev, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	u8 on;
	int err;

	/* kernfs has cut it. */
	if (count >= PAGE_SIZE)
		return -E2BIG;
	/* Not kstrtobool(): it takes all that begins like a yes or a no. */
	err = kstrtou8(buf, 10, &on);
	if (err || on > 1)
		return -EINVAL;
	err = bolt_enable(on);
	return err ?: count;
}
static DEVICE_ATTR_ADMIN_RW(enabled);

static ssize_t parked_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	ssize_t len;

	cpus_read_lock();
	len = sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(&bolt_parked_mask));
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

/* A cpulist of possible CPUs, or of none. */
static int bolt_parse_any(const char *buf, size_t count, struct cpumask *mask)
{
	int err;

	/* kernfs has cut it: what it says is not what was meant. */
	if (count >= PAGE_SIZE)
		return -E2BIG;
	err = cpulist_parse(buf, mask);
	/* A list that goes beyond the mask is as impossible as the rest. */
	if (err)
		return err == -ERANGE || err == -EOVERFLOW ? -EINVAL : err;
	return cpumask_subset(mask, cpu_possible_mask) ? 0 : -EINVAL;
}

/* A cpulist of possible CPUs. */
static int bolt_parse(const char *buf, size_t count, struct cpumask *mask)
{
	int err = bolt_parse_any(buf, count, mask);

	return !err && cpumask_empty(mask) ? -EINVAL : err;
}

static ssize_t settle_store(struct device *dev, struct device_attribute *attr,
			    const char *buf, size_t count)
{
	cpumask_var_t mask;
	int err = 0;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	if (count < PAGE_SIZE && sysfs_streq(buf, "all"))
		cpumask_copy(mask, cpu_possible_mask);
	else
		err = bolt_parse(buf, count, mask);
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

	if (count >= PAGE_SIZE)
		return -E2BIG;
	err = kstrtouint(buf, 10, &ms);
	if (err)
		return err;
	bolt_settle_delay(ms);
	return count;
}
static DEVICE_ATTR_ADMIN_RW(settle_delay_ms);

static ssize_t irq_keep_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	cpumask_var_t mask;
	ssize_t len;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	bolt_irq_get_list(mask);
	len = sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(mask));
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
	err = bolt_parse_any(buf, count, mask);
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
	&dev_attr_parked.attr,
	&dev_attr_settle.attr,
	&dev_attr_settle_delay_ms.attr,
	NULL
};

static const struct attribute_group bolt_group = {
	.name = "bolt",
	.attrs = bolt_attrs,
};

static bool bolt_at_boot __initdata = IS_ENABLED(CONFIG_BOLT_DEFAULT_ENABLED);

static int __init bolt_setup(char *str)
{
	if (kstrtobool(str, &bolt_at_boot))
		pr_err("bolt= takes on or off, not '%s'\n", str);
	return 1;
}
__setup("bolt=", bolt_setup);

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
	return bolt_at_boot ? bolt_enable(true) : 0;
}
late_initcall(bolt_init);

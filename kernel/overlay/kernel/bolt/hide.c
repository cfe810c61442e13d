// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hides what user space sees of a CPU's elided states while it is parked.
 * Hidden entries cannot be looked up, opened or listed, and files that are
 * open answer ENODEV. Device nodes in /dev stay: their drivers answer ENXIO
 * for a CPU that is offline.
 */
#include <linux/cpu.h>
#include <linux/device.h>
#include <linux/kdev_t.h>
#include <linux/kernfs.h>
#include <linux/sysfs.h>

#include "internal.h"

#define BOLT_PATH_MAX 128

/* @path counts from the root of sysfs; nothing there is nothing to do. */
static void bolt_show_path(const char *path, bool show)
{
	struct kernfs_node *root, *kn;

	root = kernfs_get_parent(kernel_kobj->sd);
	kn = kernfs_walk_and_get(root, path);
	kernfs_put(root);
	if (!kn)
		return;
	bolt_kernfs_show(kn, show);
	kernfs_put(kn);
}

/* The links to a device from outside its own directory. */
static void bolt_show_links(struct device *dev, bool show)
{
	char path[BOLT_PATH_MAX];

	if (dev->bus) {
		snprintf(path, sizeof(path), "bus/%s/devices/%s",
			 dev->bus->name, dev_name(dev));
		bolt_show_path(path, show);
	}
	if (dev->class) {
		snprintf(path, sizeof(path), "class/%s/%s", dev->class->name,
			 dev_name(dev));
		bolt_show_path(path, show);
	}
	if (MAJOR(dev->devt)) {
		snprintf(path, sizeof(path), "dev/char/%u:%u",
			 MAJOR(dev->devt), MINOR(dev->devt));
		bolt_show_path(path, show);
	}
}

static void bolt_show_node(unsigned int cpu, const char *name, bool show)
{
	struct device *dev = get_cpu_device(cpu);
	struct kernfs_node *kn;

	if (!dev)
		return;
	kn = kernfs_find_and_get(dev->kobj.sd, name);
	if (!kn)
		return;
	bolt_kernfs_show(kn, show);
	kernfs_put(kn);
}

/**
 * bolt_hide - hide what @elide names of a CPU
 * @cpu:	the CPU
 * @elide:	the state's description
 *
 * Context: may sleep: waits for readers of open files, as removal would.
 */
void bolt_hide(unsigned int cpu, const struct bolt_elide *elide)
{
	struct device *dev;

	if (elide->node)
		bolt_show_node(cpu, elide->node, false);
	dev = elide->device ? elide->device(cpu) : NULL;
	if (!dev)
		return;
	bolt_show_links(dev, false);
	bolt_kernfs_show(dev->kobj.sd, false);
	kobject_uevent(&dev->kobj, KOBJ_REMOVE);
	/* Settling removes it for real: nobody must hear of that again. */
	dev_set_uevent_suppress(dev, 1);
	put_device(dev);
}

/**
 * bolt_show - show again what bolt_hide() has hidden
 * @cpu:	the CPU
 * @elide:	the state's description
 *
 * Context: may sleep.
 */
void bolt_show(unsigned int cpu, const struct bolt_elide *elide)
{
	struct device *dev;

	if (elide->node)
		bolt_show_node(cpu, elide->node, true);
	dev = elide->device ? elide->device(cpu) : NULL;
	if (!dev)
		return;
	bolt_kernfs_show(dev->kobj.sd, true);
	bolt_show_links(dev, true);
	dev_set_uevent_suppress(dev, 0);
	kobject_uevent(&dev->kobj, KOBJ_ADD);
	put_device(dev);
}

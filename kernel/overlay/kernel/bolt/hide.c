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
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/xarray.h>

#include "internal.h"

#define BOLT_PATH_MAX 128

/* A node; a device's directory, and its links in bus, class and dev/char. */
#define BOLT_ENTRIES 5

/**
 * struct bolt_entries - the entries of a CPU's state, found once
 * @dev:	the device they belong to, or NULL
 * @uevent:	what its events hold
 * @nr:		how many there are
 * @kn:		the entries
 */
struct bolt_entries {
	struct device *dev;
	struct bolt_uevent __rcu *uevent;
	int nr;
	struct kernfs_node *kn[BOLT_ENTRIES];
};

/* By state and CPU; kept from the first park until the state is torn down. */
static DEFINE_XARRAY(bolt_entries);

static unsigned long bolt_entries_index(unsigned int cpu, enum cpuhp_state state)
{
	return (unsigned long)cpu * BOLT_NR_STATES + state;
}

/* Takes over the reference to @kn; what is not there is passed over. */
static void bolt_add_entry(struct bolt_entries *entries, struct kernfs_node *kn)
{
	if (kn)
		entries->kn[entries->nr++] = kn;
}

/* @path counts from the root of sysfs. */
static struct kernfs_node *bolt_find_path(const char *path)
{
	struct kernfs_node *root = kernfs_get_parent(kernel_kobj->sd);
	struct kernfs_node *kn = kernfs_walk_and_get(root, path);

	kernfs_put(root);
	return kn;
}

/*
 * The character device that dev/char names by its numbers, with a reference. Only
 * the teardown of the state removes it: it stays while that is kept off.
 */
static struct device *bolt_find_chrdev(unsigned int major, unsigned int minor)
{
	struct device *dev = NULL;
	struct kernfs_node *link;
	char path[BOLT_PATH_MAX];

	snprintf(path, sizeof(path), "dev/char/%u:%u", major, minor);
	link = bolt_find_path(path);
	if (!link)
		return NULL;
	if (kernfs_type(link) == KERNFS_LINK)
		dev = get_device(kobj_to_dev(link->symlink.target_kn->priv));
	kernfs_put(link);
	return dev;
}

/* A device, and the links to it from outside its own directory. */
static void bolt_add_device(struct bolt_entries *entries, struct device *dev)
{
	char path[BOLT_PATH_MAX];

	if (dev->bus) {
		snprintf(path, sizeof(path), "bus/%s/devices/%s",
			 dev->bus->name, dev_name(dev));
		bolt_add_entry(entries, bolt_find_path(path));
	}
	if (dev->class) {
		snprintf(path, sizeof(path), "class/%s/%s", dev->class->name,
			 dev_name(dev));
		bolt_add_entry(entries, bolt_find_path(path));
	}
	if (MAJOR(dev->devt)) {
		snprintf(path, sizeof(path), "dev/char/%u:%u",
			 MAJOR(dev->devt), MINOR(dev->devt));
		bolt_add_entry(entries, bolt_find_path(path));
	}
	kernfs_get(dev->kobj.sd);
	bolt_add_entry(entries, dev->kobj.sd);
}

static struct bolt_entries *bolt_find_entries(unsigned int cpu,
					      const struct bolt_defer *defer)
{
	struct device *dev = get_cpu_device(cpu);
	struct bolt_entries *entries;

	entries = kzalloc(sizeof(*entries), GFP_KERNEL);
	if (!entries)
		return NULL;
	if (defer->node && dev)
		bolt_add_entry(entries,
			       kernfs_walk_and_get(dev->kobj.sd, defer->node));
	if (defer->device)
		entries->dev = defer->device(cpu);
	else if (defer->major)
		entries->dev = bolt_find_chrdev(defer->major, cpu);
	if (entries->dev)
		bolt_add_device(entries, entries->dev);
	return entries;
}

static void bolt_put_entries(struct bolt_entries *entries)
{
	while (entries->nr)
		kernfs_put(entries->kn[--entries->nr]);
	bolt_uevent_forget(&entries->uevent);
	put_device(entries->dev);
	kfree(entries);
}

/**
 * bolt_hide - hide what user space sees of a CPU's state
 * @cpu:	the CPU
 * @state:	the state
 * @defer:	its description
 *
 * Context: hotplug lock held for writing; may sleep: waits for readers of open
 * files, as removal would.
 * Return: 0, or -ENOMEM and nothing is hidden.
 */
int bolt_hide(unsigned int cpu, enum cpuhp_state state,
	      const struct bolt_defer *defer)
{
	unsigned long index = bolt_entries_index(cpu, state);
	struct bolt_entries *entries;
	int i;

	if (!defer->node && !defer->device && !defer->major)
		return 0;
	entries = xa_load(&bolt_entries, index);
	if (!entries) {
		entries = bolt_find_entries(cpu, defer);
		if (!entries)
			return -ENOMEM;
		if (xa_is_err(xa_store(&bolt_entries, index, entries,
				       GFP_KERNEL))) {
			bolt_put_entries(entries);
			return -ENOMEM;
		}
	}
	for (i = 0; i < entries->nr; i++)
		bolt_kernfs_show(entries->kn[i], false);
	if (entries->dev) {
		bolt_uevent_tell(entries->dev, KOBJ_REMOVE, &entries->uevent);
		/* Settling removes it for real: who was told is not told again. */
		dev_set_uevent_suppress(entries->dev, 1);
	}
	return 0;
}

/**
 * bolt_show - show again what bolt_hide() has hidden
 * @cpu:	the CPU
 * @state:	the state
 *
 * Context: hotplug lock held for writing; may sleep.
 */
void bolt_show(unsigned int cpu, enum cpuhp_state state)
{
	struct bolt_entries *entries;
	int i;

	entries = xa_load(&bolt_entries, bolt_entries_index(cpu, state));
	if (!entries)
		return;
	/* While nobody can write to its uevent file: the flag is a bitfield. */
	if (entries->dev)
		dev_set_uevent_suppress(entries->dev, 0);
	for (i = entries->nr; i--;)
		bolt_kernfs_show(entries->kn[i], true);
	if (entries->dev)
		bolt_uevent_tell(entries->dev, KOBJ_ADD, &entries->uevent);
}

/**
 * bolt_forget_entries - a CPU's state is torn down: let its entries go
 * @cpu:	the CPU
 * @state:	the state
 *
 * Context: hotplug lock held for writing, or for reading plus
 * cpuhp_state_mutex. May sleep.
 */
void bolt_forget_entries(unsigned int cpu, enum cpuhp_state state)
{
	struct bolt_entries *entries;

	entries = xa_erase(&bolt_entries, bolt_entries_index(cpu, state));
	if (entries)
		bolt_put_entries(entries);
}

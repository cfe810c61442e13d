// SPDX-License-Identifier: GPL-2.0-only
/*
 * What user space sees of the deferred states of a parked CPU: nothing. defer.c
 * calls bolt_hide() when it defers a teardown and bolt_show() when it cancels one;
 * settle.c calls bolt_forget_entries(), as the teardown removes for good what was
 * hidden.
 *
 * Hidden entries of sysfs cannot be looked up, opened or listed, and files that are
 * open answer ENODEV. Device nodes in /dev stay: their drivers answer ENXIO for a
 * CPU that is offline.
 *
 * The uevents of CPUs are sent by bolt_notify() of request.c, those of the devices that
 * are hidden with a CPU from here, as natively. What the driver core
 * adds to an event of a CPU is the same every time: MODALIAS with all features of
 * the boot CPU, and the devicetree's names. The same holds for the numbers and names
 * of devices that are hidden with the CPU. Building these variables is most of what
 * an event costs, so they are kept from the first event on: dev_uevent() asks
 * bolt_uevent_replay().
 */

#include <linux/cpu.h>
#include <linux/device.h>
#include <linux/kdev_t.h>
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "state.h"
#include "visibility.h"

/**
 * struct bolt_uevent - variables of a device's events
 * @driver:	what the device was bound to: DRIVER is one of them
 * @rcu:	for readers that are still copying
 * @nr:		number of variables
 * @len:	bytes of @buf
 * @at:		where in @buf each variable starts
 * @buf:	the variables, each ends with a NUL
 */
struct bolt_uevent {
	const struct device_driver *driver;
	struct rcu_head rcu;
	int nr;
	int len;
	u16 at[UEVENT_NUM_ENVP];
	char buf[] __counted_by(len);
};

static DEFINE_PER_CPU(struct bolt_uevent __rcu *, bolt_uevents);

/**
 * struct bolt_uevent_sender - an event that is being sent
 * @task:	the task that sends it, and stays on this CPU meanwhile
 * @dev:	the hidden device that the event is about
 * @slot:	where the event's variables are kept
 */
struct bolt_uevent_sender {
	struct task_struct *task;
	const struct device *dev;
	struct bolt_uevent __rcu **slot;
};

static DEFINE_PER_CPU(struct bolt_uevent_sender, bolt_uevent_sender);

/* Where the variables of @dev are kept, or NULL. */
static struct bolt_uevent __rcu **bolt_uevent_slot(const struct device *dev)
{
	if (!bolt_enabled())
		return NULL;
	if (dev->bus == &cpu_subsys && dev->id < nr_cpu_ids)
		return per_cpu_ptr(&bolt_uevents, dev->id);
	/* Others read the device's uevent file: only who sends it stays here. */
	if (raw_cpu_read(bolt_uevent_sender.task) != current ||
	    raw_cpu_read(bolt_uevent_sender.dev) != dev)
		return NULL;
	return raw_cpu_read(bolt_uevent_sender.slot);
}

/**
 * bolt_uevent_send - send an event of a device that is hidden or shown
 * @dev:	the device
 * @action:	what has become of it
 * @slot:	where its variables are kept; holds NULL before the first event
 *
 * Context: may sleep; hotplug lock held for writing.
 */
static void bolt_uevent_send(struct device *dev, enum kobject_action action,
			     struct bolt_uevent __rcu **slot)
{
	migrate_disable();
	this_cpu_write(bolt_uevent_sender.slot, slot);
	this_cpu_write(bolt_uevent_sender.dev, dev);
	this_cpu_write(bolt_uevent_sender.task, current);
	kobject_uevent(&dev->kobj, action);
	this_cpu_write(bolt_uevent_sender.task, NULL);
	migrate_enable();
}

/**
 * bolt_uevent_forget - forget the variables of a device that goes
 * @slot:	where they are
 *
 * Context: any.
 */
static void bolt_uevent_forget(struct bolt_uevent __rcu **slot)
{
	struct bolt_uevent *known;

	known = unrcu_pointer(xchg(slot, NULL));
	if (known)
		kfree_rcu(known, rcu);
}

/**
 * bolt_uevent_driver - the driver that an event's variables will tell of
 * @dev:	the device
 *
 * Context: any.
 * Return: the driver, or NULL; it may be gone by the time of the event.
 */
const struct device_driver *bolt_uevent_driver(const struct device *dev)
{
	return READ_ONCE(dev->driver);
}

/**
 * bolt_uevent_replay - add what the driver core adds to a device's event
 * @dev:	the device
 * @env:	the event's environment
 *
 * Context: may sleep.
 * Return: false if it is not one of ours, or not known yet: build it.
 */
bool bolt_uevent_replay(const struct device *dev, struct kobj_uevent_env *env)
{
	struct bolt_uevent __rcu **slot = bolt_uevent_slot(dev);
	struct bolt_uevent *known;
	bool done = false;
	char *to;
	int i;

	if (!slot)
		return false;
	rcu_read_lock();
	known = rcu_dereference(*slot);
	if (known && known->driver == bolt_uevent_driver(dev) &&
	    env->envp_idx + known->nr <= ARRAY_SIZE(env->envp) &&
	    env->buflen + known->len <= sizeof(env->buf)) {
		to = memcpy(env->buf + env->buflen, known->buf, known->len);
		for (i = 0; i < known->nr; i++)
			env->envp[env->envp_idx++] = to + known->at[i];
		env->buflen += known->len;
		done = true;
	}
	rcu_read_unlock();
	return done;
}

/* Whether the event's variables all found room, and memory to be built in. */
static bool bolt_uevent_whole(const struct device *dev,
			      const struct kobj_uevent_env *env, int nr, int len)
{
	/* ACTION, DEVPATH and SUBSYSTEM, not what user space may have added. */
	if (nr > 3 || len > UEVENT_BUFFER_SIZE / 4 || env->envp_idx == nr)
		return false;
	/* The last to be added, and the one that goes missing silently. */
	return !IS_ENABLED(CONFIG_GENERIC_CPU_AUTOPROBE) ||
	       dev->bus != &cpu_subsys ||
	       str_has_prefix(env->envp[env->envp_idx - 1], "MODALIAS=");
}

/**
 * bolt_uevent_record - keep what the driver core has added to a device's event
 * @dev:	the device
 * @driver:	its driver from before that
 * @env:	the event's environment
 * @nr:		how many variables it held before
 * @len:	how many bytes they took
 *
 * Without memory for it nothing is kept, and nothing in place of what is kept
 * for the same driver.
 *
 * Context: may sleep.
 */
void bolt_uevent_record(const struct device *dev,
			const struct device_driver *driver,
			const struct kobj_uevent_env *env, int nr, int len)
{
	struct bolt_uevent __rcu **slot = bolt_uevent_slot(dev);
	struct bolt_uevent *known, *old;
	bool have;
	int i;

	if (!slot || !bolt_uevent_whole(dev, env, nr, len) ||
	    driver != bolt_uevent_driver(dev))
		return;
	rcu_read_lock();
	old = rcu_dereference(*slot);
	have = old && old->driver == driver;
	rcu_read_unlock();
	if (have)
		return;
	known = kmalloc(struct_size(known, buf, env->buflen - len), GFP_KERNEL);
	if (!known)
		return;
	known->driver = driver;
	known->nr = env->envp_idx - nr;
	known->len = env->buflen - len;
	for (i = 0; i < known->nr; i++)
		known->at[i] = env->envp[nr + i] - (env->buf + len);
	memcpy(known->buf, env->buf + len, known->len);
	old = unrcu_pointer(xchg(slot, RCU_INITIALIZER(known)));
	if (old)
		kfree_rcu(old, rcu);
}

#define BOLT_PATH_MAX 128

/* A node; a device's directory, and its links in bus, class and dev/char. */
#define BOLT_ENTRIES 5

/**
 * struct bolt_entries - the entries of a CPU's state, found once
 * @next:	the entries of another state of the CPU
 * @state:	the state
 * @dev:	the device they belong to, or NULL
 * @uevent:	what its events hold
 * @nr:		how many there are
 * @kn:		the entries
 */
struct bolt_entries {
	struct bolt_entries *next;
	enum cpuhp_state state;
	struct device *dev;
	struct bolt_uevent __rcu *uevent;
	int nr;
	struct kernfs_node *kn[BOLT_ENTRIES];
};

/*
 * Of each CPU, a list by state; kept from the first park until the state is torn
 * down. Changed by what runs the CPU's callbacks, inside a request or not, and by
 * what settles the CPU: never by two tasks at once.
 */
static DEFINE_PER_CPU(struct bolt_entries *, bolt_entries);

/* Where the entries of @state are, or are to be. */
static struct bolt_entries **bolt_entries_slot(unsigned int cpu, enum cpuhp_state state)
{
	struct bolt_entries **slot = per_cpu_ptr(&bolt_entries, cpu);

	while (*slot && (*slot)->state != state)
		slot = &(*slot)->next;
	return slot;
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
	struct bolt_entries **slot, *entries;
	int i;

	if (!defer->node && !defer->device && !defer->major)
		return 0;
	slot = bolt_entries_slot(cpu, state);
	entries = *slot;
	if (!entries) {
		entries = bolt_find_entries(cpu, defer);
		if (!entries)
			return -ENOMEM;
		entries->state = state;
		*slot = entries;
	}
	for (i = 0; i < entries->nr; i++)
		bolt_kernfs_show(entries->kn[i], false);
	if (entries->dev) {
		bolt_uevent_send(entries->dev, KOBJ_REMOVE, &entries->uevent);
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
	struct bolt_entries *entries = *bolt_entries_slot(cpu, state);
	int i;

	if (!entries)
		return;
	/* While nobody can write to its uevent file: the flag is a bitfield. */
	if (entries->dev)
		dev_set_uevent_suppress(entries->dev, 0);
	for (i = entries->nr; i--;)
		bolt_kernfs_show(entries->kn[i], true);
	if (entries->dev)
		bolt_uevent_send(entries->dev, KOBJ_ADD, &entries->uevent);
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
	struct bolt_entries **slot = bolt_entries_slot(cpu, state);
	struct bolt_entries *entries = *slot;

	if (!entries)
		return;
	*slot = entries->next;
	bolt_put_entries(entries);
}

#include "tests/visibility-kunit.h"

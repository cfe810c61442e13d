// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hides from user space what the deferred states of a parked CPU have in sysfs.
 * defer.c calls bolt_hide() when it defers a teardown and bolt_show() when it
 * cancels one. Where the teardown runs, settle.c or defer.c calls bolt_forget_entries(),
 * as the teardown removes for good the entries that were hidden.
 *
 * A hidden entry of sysfs cannot be looked up, opened or listed, and a file that is
 * open answers ENODEV. Device nodes in /dev stay: their drivers answer ENXIO for a
 * CPU that is offline.
 *
 * bolt_notify() of request.c sends the uevents of CPUs, or, after a write to
 * cpuN/online, the driver core does; this file sends the uevents of devices that are
 * hidden with a CPU, or shown again, as the teardown and the startup of the state would.
 * The variables that the driver core adds to an event of a CPU are the same every time,
 * as long as the CPU has the same driver: MODALIAS with all features that the kernel has
 * found, and the devicetree's names. The numbers and names of devices that are hidden
 * with the CPU do not change either. Building these variables is most of what an event
 * costs. So Bolt keeps the variables of the first event of each device, and for later
 * events dev_uevent() gets the variables from bolt_uevent_replay().
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
 * struct bolt_uevent - variables that are kept for a device's events
 * @driver:	the driver that the device had when the variables were kept, and that the
 *		variable DRIVER names
 * @rcu:	frees the structure when no task copies from it any more
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
 * struct bolt_uevent_sender - the event that is being sent on a CPU
 * @task:	the task that sends the event, and stays on this CPU meanwhile
 * @dev:	the device that the event is about, which was hidden or shown just now
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
	/*
	 * A task that reads the device's uevent file gets no slot. Only the task that
	 * sends the event has noted itself on this CPU, and stays here.
	 */
	if (raw_cpu_read(bolt_uevent_sender.task) != current ||
	    raw_cpu_read(bolt_uevent_sender.dev) != dev)
		return NULL;
	return raw_cpu_read(bolt_uevent_sender.slot);
}

/**
 * bolt_uevent_send - send an event of a device that is hidden or shown
 * @dev:	the device
 * @action:	KOBJ_REMOVE or KOBJ_ADD
 * @slot:	where the device's variables are kept; holds NULL before the first
 *		event
 *
 * Context: as bolt_show().
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
 * bolt_uevent_forget - free the variables that are kept for a device
 * @slot:	where the variables are
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
 * bolt_uevent_driver - the driver that a device is bound to now
 * @dev:	the device
 *
 * Context: any.
 * Return: the driver, or NULL. The caller may only compare the pointer, as the
 * driver may be gone at any time.
 */
const struct device_driver *bolt_uevent_driver(const struct device *dev)
{
	return READ_ONCE(dev->driver);
}

/**
 * bolt_uevent_replay - add the kept variables to a device's event
 * @dev:	the device
 * @env:	the event's environment
 *
 * Context: may sleep.
 * Return: true if variables were added. False if bolt_uevent_slot() returns NULL, if none
 * are kept for the driver, or if they do not fit: the driver core must build them.
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

/*
 * Whether the variables that the driver core has added to the event may be kept: the
 * driver core has added some and left none out, and user space has added none.
 */
static bool bolt_uevent_whole(const struct device *dev,
			      const struct kobj_uevent_env *env, int nr, int len)
{
	/*
	 * If the event had more than ACTION, DEVPATH and SUBSYSTEM before the variables
	 * of the driver core, user space has added some.
	 */
	if (nr > 3 || len > UEVENT_BUFFER_SIZE / 4 || env->envp_idx == nr)
		return false;
	/*
	 * MODALIAS is added last, and is left out silently when there is no memory
	 * for it.
	 */
	return !IS_ENABLED(CONFIG_GENERIC_CPU_AUTOPROBE) ||
	       dev->bus != &cpu_subsys ||
	       str_has_prefix(env->envp[env->envp_idx - 1], "MODALIAS=");
}

/**
 * bolt_uevent_record - keep the variables that the driver core has added to an
 * event
 * @dev:	the device
 * @driver:	its driver before the variables were added
 * @env:	the event's environment
 * @nr:		how many variables the event had before
 * @len:	how many bytes these took
 *
 * Keeps nothing if bolt_uevent_slot() returns NULL, for instance because Bolt is
 * disabled, if bolt_uevent_whole() is false for the event, if the driver has changed
 * meanwhile, if there is no memory, or if variables are kept for the same driver already.
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

/*
 * The most entries a state has: a node; the directory of a device, and the links to the
 * device in bus, class and dev/char.
 */
#define BOLT_ENTRIES 5

/**
 * struct bolt_entries - the sysfs entries of a CPU's state, looked up once
 * @next:	the entries of another state of the CPU
 * @state:	the state
 * @dev:	the device that the entries belong to, or NULL
 * @uevent:	the variables that are kept for the device's events
 * @nr:		how many entries there are
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
 * For each CPU a list with an item for each state that hides entries. An item is kept
 * from the first time that its state is deferred until the teardown of the state runs, or
 * until the state is removed or bolt_override() moves it. The list is changed by the task
 * that runs the CPU's callbacks, inside a request or not, and by a task that settles the
 * CPU or the state, never by two tasks at once.
 */
static DEFINE_PER_CPU(struct bolt_entries *, bolt_entries);

/* Returns where the list has the item of @state, or the end of the list. */
static struct bolt_entries **bolt_entries_slot(unsigned int cpu, enum cpuhp_state state)
{
	struct bolt_entries **slot = per_cpu_ptr(&bolt_entries, cpu);

	while (*slot && (*slot)->state != state)
		slot = &(*slot)->next;
	return slot;
}

/* Adds @kn, whose reference passes to @entries. If @kn is NULL, nothing is added. */
static void bolt_add_entry(struct bolt_entries *entries, struct kernfs_node *kn)
{
	if (kn)
		entries->kn[entries->nr++] = kn;
}

/* Looks up @path, which begins at the root of sysfs. */
static struct kernfs_node *bolt_find_path(const char *path)
{
	struct kernfs_node *root = kernfs_get_parent(kernel_kobj->sd);
	struct kernfs_node *kn = kernfs_walk_and_get(root, path);

	kernfs_put(root);
	return kn;
}

/*
 * Returns, with a reference, the character device to which the link in dev/char with
 * these numbers leads; NULL if there is none. Only the teardown of the device's state
 * removes the device, and cannot run before the reference is taken.
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

/* Adds a device, and the links to the device from outside its own directory. */
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

	/*
	 * The CPU may be dead: an allocation that waits for memory might wait for I/O that
	 * completes only when a later teardown has run.
	 */
	entries = kzalloc(sizeof(*entries), GFP_NOWAIT);
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
 * @defer:	what the state has in sysfs
 *
 * Context: hotplug lock held for writing; may sleep: waits for tasks that are reading or
 * writing the files, as the removal of the files would.
 * Return: 0; or -ENOMEM, and then nothing is hidden.
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
		/*
		 * When settling removes the device for real, user space must not be
		 * told a second time.
		 */
		dev_set_uevent_suppress(entries->dev, 1);
	}
	return 0;
}

/**
 * bolt_show - show again what bolt_hide() has hidden
 * @cpu:	the CPU
 * @state:	the state
 *
 * Context: as bolt_forget_entries().
 */
void bolt_show(unsigned int cpu, enum cpuhp_state state)
{
	struct bolt_entries *entries = *bolt_entries_slot(cpu, state);
	int i;

	if (!entries)
		return;
	/*
	 * uevent_suppress is cleared before the entries are shown, while no task can
	 * write to the device's uevent file: such a write may set another flag of the
	 * same word, and of two changes of the word at once, one could get lost.
	 */
	if (entries->dev)
		dev_set_uevent_suppress(entries->dev, 0);
	for (i = entries->nr; i--;)
		bolt_kernfs_show(entries->kn[i], true);
	if (entries->dev)
		bolt_uevent_send(entries->dev, KOBJ_ADD, &entries->uevent);
}

/**
 * bolt_forget_entries - drop what bolt_hide() has looked up for a CPU's state
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

/**
 * bolt_entries_bytes - how much memory the entries of a state take
 * @cpu:	the CPU
 * @state:	the state
 *
 * Context: hotplug lock held for reading, and cpuhp_state_mutex. May sleep.
 * Return: the bytes of all entries that bolt_hide() has found for the state, also if
 * these are shown again, and of the device that the entries belong to.
 */
unsigned long bolt_entries_bytes(unsigned int cpu, enum cpuhp_state state)
{
	const struct bolt_entries *entries = *bolt_entries_slot(cpu, state);
	unsigned long bytes = 0;
	int i;

	if (!entries)
		return 0;
	for (i = 0; i < entries->nr; i++)
		bytes += bolt_kernfs_bytes(entries->kn[i]);
	if (entries->dev)
		bytes += sizeof(*entries->dev);
	return bytes;
}

#include "tests/visibility-kunit.h"

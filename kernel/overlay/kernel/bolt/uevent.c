// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the driver core adds to the uevents of a CPU is the same every time:
 * MODALIAS with all features of the boot CPU, and the devicetree's names. So
 * are the numbers and names of devices that are hidden with it. They are also
 * most of what an event costs, so they are kept from the first event on.
 */
#include <linux/cpu.h>
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

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
 * struct bolt_telling - an event that is being sent
 * @task:	who sends it, and stays on this CPU meanwhile
 * @dev:	the hidden device it tells of
 * @slot:	where its variables are kept
 */
struct bolt_telling {
	struct task_struct *task;
	const struct device *dev;
	struct bolt_uevent __rcu **slot;
};

static DEFINE_PER_CPU(struct bolt_telling, bolt_telling);

/* Where the variables of @dev are kept, or NULL. */
static struct bolt_uevent __rcu **bolt_uevent_slot(const struct device *dev)
{
	if (!bolt_enabled())
		return NULL;
	if (dev->bus == &cpu_subsys && dev->id < nr_cpu_ids)
		return per_cpu_ptr(&bolt_uevents, dev->id);
	/* Others read the device's uevent file: only who sends it stays here. */
	if (raw_cpu_read(bolt_telling.task) != current ||
	    raw_cpu_read(bolt_telling.dev) != dev)
		return NULL;
	return raw_cpu_read(bolt_telling.slot);
}

/**
 * bolt_uevent_tell - send an event of a device that is hidden or shown
 * @dev:	the device
 * @action:	what has become of it
 * @slot:	where its variables are kept; holds NULL before the first event
 *
 * Context: may sleep; hotplug lock held for writing.
 */
void bolt_uevent_tell(struct device *dev, enum kobject_action action,
		      struct bolt_uevent __rcu **slot)
{
	migrate_disable();
	this_cpu_write(bolt_telling.slot, slot);
	this_cpu_write(bolt_telling.dev, dev);
	this_cpu_write(bolt_telling.task, current);
	kobject_uevent(&dev->kobj, action);
	this_cpu_write(bolt_telling.task, NULL);
	migrate_enable();
}

/**
 * bolt_uevent_forget - forget the variables of a device that goes
 * @slot:	where they are
 *
 * Context: any.
 */
void bolt_uevent_forget(struct bolt_uevent __rcu **slot)
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

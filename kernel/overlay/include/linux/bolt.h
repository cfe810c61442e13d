/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bolt: fast CPU hotplug.
 *
 * A CPU that goes offline under Bolt is parked: offline for everybody, but
 * the teardown of some hotplug states has been put off. They are its pending
 * set. To settle a CPU is to run them. See Documentation/core-api/bolt.rst.
 */
#ifndef _LINUX_BOLT_H
#define _LINUX_BOLT_H

#include <linux/cpuhotplug.h>
#include <linux/errno.h>
#include <linux/types.h>

struct device;
struct device_driver;
struct kernfs_node;
struct kobj_uevent_env;

/**
 * enum bolt_class - when the teardown of a hotplug state runs
 * @BOLT_CRITICAL: inside the request, as natively
 * @BOLT_ELIDE: not unless the CPU is settled: what it would free is kept,
 *	and hidden while the CPU is parked
 */
enum bolt_class {
	BOLT_CRITICAL,
	BOLT_ELIDE,
};

/**
 * enum bolt_phase - parts of a request, in the order they end in
 * @BOLT_PHASE_LOCK: from the request to the hotplug write lock
 * @BOLT_PHASE_PREPARE: startup callbacks on the control CPU
 * @BOLT_PHASE_HARDWARE: from waking the AP to its idle loop
 * @BOLT_PHASE_AP: callbacks on the AP
 * @BOLT_PHASE_STOP: stop_machine() with everything in it
 * @BOLT_PHASE_DIE: from there to the AP's death
 * @BOLT_PHASE_DEAD: teardown callbacks on the control CPU
 * @BOLT_PHASES: how many there are
 */
enum bolt_phase {
	BOLT_PHASE_LOCK,
	BOLT_PHASE_PREPARE,
	BOLT_PHASE_HARDWARE,
	BOLT_PHASE_AP,
	BOLT_PHASE_STOP,
	BOLT_PHASE_DIE,
	BOLT_PHASE_DEAD,
	BOLT_PHASES
};

/**
 * struct bolt_elide - how a state is parked in place of its teardown
 * @node:	entry of the CPU device's directory to hide, or NULL
 * @device:	returns the device to hide, with a reference, or NULL if there
 *		is none; its links in class and bus are hidden with it, and the
 *		uevents of removal and addition are sent
 * @park:	what of the teardown cannot wait; runs after hiding; may be NULL
 * @unpark:	undoes @park before the node or device is shown; fails as a
 *		startup may; may be NULL
 * @settle:	what of the teardown @park has left; NULL for all of it
 *
 * @park and @unpark run where teardown and startup of the state run, with the
 * hotplug lock held for writing. @settle runs in any task on any CPU, with the
 * lock held for reading, and the CPU is offline; after a failed @unpark it runs
 * in its place.
 */
struct bolt_elide {
	const char *node;
	struct device *(*device)(unsigned int cpu);
	void (*park)(unsigned int cpu);
	int (*unpark)(unsigned int cpu);
	void (*settle)(unsigned int cpu);
};

#ifdef CONFIG_BOLT

bool bolt_enabled(void);
bool bolt_fast(void);
bool bolt_ap_alive(void);
void bolt_mark(enum bolt_phase phase);

int bolt_elide_state(int state, const struct bolt_elide *elide);

/* For kernel/cpu.c. */
int bolt_cpu_down(unsigned int cpu);
int bolt_cpu_up(unsigned int cpu);
bool bolt_intercept(unsigned int cpu, enum cpuhp_state state, bool bringup,
		    int *ret);
void bolt_forget_state(enum cpuhp_state state);
void bolt_settle_cpu(unsigned int cpu);
void bolt_settle_all(void);

/* For drivers/base/core.c. */
const struct device_driver *bolt_uevent_driver(const struct device *dev);
bool bolt_uevent_replay(const struct device *dev, struct kobj_uevent_env *env);
void bolt_uevent_record(const struct device *dev,
			const struct device_driver *driver,
			const struct kobj_uevent_env *env, int nr, int len);

/* In fs/kernfs/dir.c. */
void bolt_kernfs_show(struct kernfs_node *kn, bool show);

#else /* !CONFIG_BOLT */

/* Macros: an inline function, though empty, can change what GCC makes of its caller. */
#define bolt_enabled() false
#define bolt_fast() false
#define bolt_ap_alive() false
#define bolt_mark(...) do { } while (0)
#define bolt_cpu_down(...) (-EOPNOTSUPP)
#define bolt_cpu_up(...) (-EOPNOTSUPP)
#define bolt_intercept(...) false
#define bolt_forget_state(...) do { } while (0)
#define bolt_settle_cpu(...) do { } while (0)
#define bolt_settle_all() do { } while (0)

static inline int bolt_elide_state(int state, const struct bolt_elide *elide)
{
	return 0;
}

static inline const struct device_driver *
bolt_uevent_driver(const struct device *dev)
{
	return NULL;
}

static inline bool bolt_uevent_replay(const struct device *dev,
				      struct kobj_uevent_env *env)
{
	return false;
}

static inline void bolt_uevent_record(const struct device *dev,
				      const struct device_driver *driver,
				      const struct kobj_uevent_env *env,
				      int nr, int len)
{
}

#endif /* CONFIG_BOLT */
#endif /* _LINUX_BOLT_H */

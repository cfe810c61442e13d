/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions and types that Linux 6.12 and later kernels have in different forms. */
#ifndef _KERNEL_BOLT_COMPAT_H
#define _KERNEL_BOLT_COMPAT_H

#include <linux/device.h>
#include <linux/gfp.h>
#include <linux/irqnr.h>
#include <linux/kernfs.h>
#include <linux/slab.h>
#include <linux/tick.h>

#include "../time/tick-sched.h"

static inline bool dev_offline(const struct device *dev)
{
	return dev->offline;
}

static inline void dev_assign_offline(struct device *dev, bool offline)
{
	dev->offline = offline;
}

static inline bool dev_offline_disabled(const struct device *dev)
{
	return dev->offline_disabled;
}

/* Does what takedown_cpu() does between cpuhp_bp_sync_dead() and rcutree_migrate_callbacks(). */
static inline void compat_cleanup_dead_cpu(unsigned int cpu)
{
	tick_cleanup_dead_cpu(cpu);
}

/*
 * Notes that a CPU which dies is no longer idle. The idle loop has noted that the CPU is
 * idle before the loop saw that the CPU is offline. Without this function the first
 * interrupt after the CPU's return would count the time offline as idle time.
 */
static inline void compat_forget_idle(unsigned int cpu)
{
	if (IS_ENABLED(CONFIG_TICK_ONESHOT))
		tick_get_tick_sched(cpu)->flags &= ~(TS_FLAG_INIDLE | TS_FLAG_IDLE_ACTIVE);
}

/* The type of the binary attribute that a read or write function takes. */
#define compat_bin_attribute struct bin_attribute

/* WBINVD in a form that may be used where code must not be instrumented. */
#define compat_wbinvd() native_wbinvd()

/* Lets the kernel use the FPU on this CPU: nothing to do, as going offline does not forbid it. */
#define compat_allow_fpu() do { } while (0)

static inline struct kernfs_node *compat_kernfs_parent(const struct kernfs_node *kn)
{
	return kn->parent;
}

/* The housekeeping CPUs that isolcpus= leaves: in 6.12 cpusets do not change HK_TYPE_DOMAIN. */
#define COMPAT_HK_TYPE_DOMAIN_BOOT HK_TYPE_DOMAIN

static inline unsigned int compat_nr_irqs(void)
{
	return nr_irqs;
}

/* How many pages a stream of zram has: the buffer for the result of a compression. */
#define COMPAT_ZCOMP_PAGES 2

/* How many pages a compressor of zswap has: the buffer for the result of a compression. */
#define COMPAT_ZSWAP_PAGES 2

/*
 * How many descriptors smpcfd_dead_cpu() frees of those that the dead CPU had for calls
 * to other CPUs: one for each possible CPU.
 */
#define compat_csds_freed() num_possible_cpus()

#endif /* _KERNEL_BOLT_COMPAT_H */

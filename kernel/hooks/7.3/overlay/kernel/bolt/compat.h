/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions and types that Linux 7.3 and earlier kernels have in different forms. */
#ifndef _KERNEL_BOLT_COMPAT_H
#define _KERNEL_BOLT_COMPAT_H

#include <linux/device.h>
#include <linux/irqnr.h>
#include <linux/kernfs.h>
#include <linux/slab.h>
#include <linux/rcupdate.h>
#include <linux/irqflags.h>

#include "../smpboot.h"

/* Does what takedown_cpu() does between cpuhp_bp_sync_dead() and rcutree_migrate_callbacks(). */
static inline void compat_cleanup_dead_cpu(unsigned int cpu)
{
	lockdep_cleanup_dead_cpu(cpu, idle_thread_get(cpu));
}

/* Nothing to do: the idle loop sees that a CPU is offline before it notes that the CPU is idle. */
#define compat_forget_idle(...) do { } while (0)

/* The type of the binary attribute that a read or write function takes. */
#define compat_bin_attribute const struct bin_attribute

/* WBINVD in a form that may be used where code must not be instrumented. */
#define compat_wbinvd() wbinvd()

/* Lets the kernel use the FPU on this CPU, as fpu__init_cpu() does when a CPU comes. */
#define compat_allow_fpu() this_cpu_write(kernel_fpu_allowed, true)

/* Repeats the declaration in mm/page_alloc.h, because tests of Bolt call drain_all_pages(). */
struct zone;
void drain_all_pages(struct zone *zone);

static inline struct kernfs_node *compat_kernfs_parent(const struct kernfs_node *kn)
{
	return rcu_dereference_protected(kn->__parent, true);
}

/*
 * The housekeeping CPUs that isolcpus= leaves; HK_TYPE_DOMAIN lacks the CPUs of isolated
 * partitions of cpusets as well.
 */
#define COMPAT_HK_TYPE_DOMAIN_BOOT HK_TYPE_DOMAIN_BOOT

static inline unsigned int compat_nr_irqs(void)
{
	return irq_get_nr_irqs();
}

/* How many pages a stream of zram has: two for the result of a compression, one for a copy. */
#define COMPAT_ZCOMP_PAGES 3

/* How many pages of a compressor of zswap a teardown frees: none, as zswap has no teardown. */
#define COMPAT_ZSWAP_PAGES 0

/*
 * How many descriptors smpcfd_dead_cpu() frees of those that the dead CPU had for calls
 * to other CPUs: none, as the descriptors of a CPU that has come once are never freed.
 */
#define compat_csds_freed() 0

#endif /* _KERNEL_BOLT_COMPAT_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* What Linux 7.3 calls otherwise than earlier kernels. */
#ifndef _KERNEL_BOLT_COMPAT_H
#define _KERNEL_BOLT_COMPAT_H

#include <linux/device.h>
#include <linux/irqnr.h>
#include <linux/kernfs.h>
#include <linux/rcupdate.h>
#include <linux/irqflags.h>

#include "../smpboot.h"

/* @cpu is dead: what takedown_cpu() does then. */
static inline void compat_cleanup_dead_cpu(unsigned int cpu)
{
	lockdep_cleanup_dead_cpu(cpu, idle_thread_get(cpu));
}

/* What a binary attribute of sysfs is to its functions. */
#define compat_const const

/* Without tracing or instrumentation, in any case. */
#define compat_wbinvd() wbinvd()

/* In mm/page_alloc.h. */
struct zone;
void drain_all_pages(struct zone *zone);

static inline struct kernfs_node *compat_kernfs_parent(const struct kernfs_node *kn)
{
	return rcu_dereference_protected(kn->__parent, true);
}

static inline unsigned int compat_nr_irqs(void)
{
	return irq_get_nr_irqs();
}

#endif /* _KERNEL_BOLT_COMPAT_H */

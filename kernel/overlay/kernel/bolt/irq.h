/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of irq.c for Bolt's files; genirq calls those of <linux/bolt_irq.h>. */
#ifndef _KERNEL_BOLT_IRQ_H
#define _KERNEL_BOLT_IRQ_H

#include <linux/types.h>

struct cpumask;

void bolt_irq_enable(bool on);
int bolt_irq_set_list(const struct cpumask *list);
void bolt_irq_get_list(struct cpumask *list);
bool bolt_irq_kept(unsigned int cpu);

#endif /* _KERNEL_BOLT_IRQ_H */

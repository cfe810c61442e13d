/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions of Bolt for interrupt code, which are not in bolt.h, because <linux/irq.h>
 * must not pull in all that bolt.h includes. See Documentation/core-api/bolt.rst.
 */
#ifndef _LINUX_BOLT_IRQ_H
#define _LINUX_BOLT_IRQ_H

#include <linux/types.h>

struct cpumask;
struct irq_data;
struct irq_desc;
struct irq_matrix;

#ifdef CONFIG_BOLT

/* Defined in kernel/irq/matrix.c. */
unsigned int irq_matrix_available_without(struct irq_matrix *m,
					  const struct cpumask *cpus,
					  unsigned int *allocated);

/* Keep for each CPU the list of interrupts that may be on the CPU. */
void bolt_irq_target(struct irq_data *data, const struct cpumask *mask);
void bolt_irq_mark(struct irq_desc *desc);
bool bolt_irq_stopping(struct irq_data *data);
void bolt_irq_pending(struct irq_desc *desc, const struct cpumask *mask);
bool bolt_irqs_leave(void);
bool bolt_irqs_next(unsigned int *irq);

/*
 * As for_each_active_irq(), but passes over interrupts that need not move off this CPU.
 * bolt_irqs_leave() must have returned true before.
 */
#define bolt_for_each_irq(irq) for (; bolt_irqs_next(&(irq));)

/* Managed interrupts, which start again when a CPU of their mask comes. */
void bolt_irq_managed(unsigned int irq);
unsigned int *bolt_irq_managed_from(unsigned int *irq, unsigned int at);

/* As for_each_active_irq(), for possibly managed interrupts; needs irq_lock_sparse(). */
#define bolt_for_each_managed_irq(irq)					\
	for (unsigned int *__irq = bolt_irq_managed_from(&(irq), 0);	\
	     __irq; __irq = bolt_irq_managed_from(__irq, *__irq + 1))

/* Keep interrupts on the CPUs that the file bolt/irq_keep lists. */
bool bolt_irq_keep(struct irq_data *data, const struct cpumask *mask,
		   struct cpumask *kept);
int bolt_irq_set_by_user(unsigned int irq, const struct cpumask *mask);
void bolt_irq_online(unsigned int cpu);

#else /* !CONFIG_BOLT */

#define bolt_irq_target(...) do { } while (0)
#define bolt_irq_mark(...) do { } while (0)
#define bolt_irq_stopping(...) false
#define bolt_irq_pending(...) do { } while (0)
#define bolt_irqs_leave() true
#define bolt_for_each_irq(irq) for_each_active_irq(irq)
#define bolt_irq_managed(...) do { } while (0)
#define bolt_irq_keep(...) false
#define bolt_irq_set_by_user(irq, mask) irq_set_affinity(irq, mask)
#define bolt_irq_online(...) do { } while (0)

#endif /* CONFIG_BOLT */
#endif /* _LINUX_BOLT_IRQ_H */

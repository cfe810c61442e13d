/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads /proc/irq/N: where an interrupt is, and where the interrupt may go */
#ifndef IRQ_PLACE_H
#define IRQ_PLACE_H

#include "irq_parse.h"

/** What /proc/irq/N says of an interrupt */
struct irq_place {
	enum irq_kind kind;
	char *affinity;		/* text of smp_affinity_list, "" if it cannot be read */
	char *effective;	/* cpulist on which the interrupt is, "" if that is not known */
	int node;		/* NUMA node of the device, -1 if it has none */
};

/**
 * irq_place_read() - read /proc/irq/N of the interrupt in @row
 * @root: stands for "/"; "" is the running system
 * @place: is overwritten; free it with irq_place_free(), also after an error
 *
 * Return: 0 or -ENOMEM.
 */
int irq_place_read(const char *root, const struct irq_row *row, struct irq_place *place);

/** irq_place_free() - free what @place holds */
void irq_place_free(struct irq_place *place);

#endif /* IRQ_PLACE_H */

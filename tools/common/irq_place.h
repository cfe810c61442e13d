/* SPDX-License-Identifier: GPL-2.0-only */
/* Where an interrupt is and may go: /proc/irq/N */
#ifndef IRQ_PLACE_H
#define IRQ_PLACE_H

#include "irq_parse.h"

/** What /proc/irq/N says beside the counts */
struct irq_place {
	enum irq_kind kind;
	char *affinity;		/* cpulist that is configured, "" if there is none */
	char *effective;	/* cpulist on which the interrupt is, "" likewise */
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

/* SPDX-License-Identifier: GPL-2.0-only */
/* The interrupts of the machine: rates, and where each may go. */
#ifndef IRQ_READ_H
#define IRQ_READ_H

#include "command.h"
#include "irq_place.h"

/** All interrupts, over some time */
struct irq_report {
	struct irq_table table;
	double *rates;			/* interrupts a second: [row of table][CPU of table] */
	double *sums;			/* interrupts a second on all CPUs: [row of table] */
	struct irq_place *places;	/* one for each row of table */
};

/**
 * irq_read() - read /proc/interrupts twice, and /proc/irq
 * @seconds: time between the readings; 0: read once, for the average since boot
 * @report: is overwritten; free it with irq_report_free()
 *
 * Return: EXIT_DONE, or another exit code after a message.
 */
int irq_read(const struct invocation *call, double seconds, struct irq_report *report);

/** irq_report_free() - free what @report holds */
void irq_report_free(struct irq_report *report);

#endif /* IRQ_READ_H */

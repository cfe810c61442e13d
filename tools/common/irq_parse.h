/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads /proc/interrupts, and computes rates between two readings. */
#ifndef IRQ_PARSE_H
#define IRQ_PARSE_H

#include <stdbool.h>
#include <stddef.h>

/** One line of /proc/interrupts that has a count for each CPU */
struct irq_row {
	char *irq;		/* "25", or "LOC" for interrupts that each CPU has of its own */
	int number;		/* 25, or -1 without a number */
	char *chip;		/* "IO-APIC"; "" without a number */
	char *hwirq;		/* number or pin at the chip, as "3-edge"; "" without a number */
	char *name;		/* device, or use: "virtio0-config", "Local timer interrupts" */
	unsigned int *counts;	/* one for each of irq_table.cpus; 32 bits, as in the kernel */
};

/** One reading of /proc/interrupts */
struct irq_table {
	unsigned int *cpus;	/* the CPUs that have a column: those that are online */
	size_t cpu_count;
	struct irq_row *rows;
	size_t count;
};

/** Kind of an interrupt: whether user space, and Bolt's file irq_keep, can move the interrupt */
enum irq_kind {
	IRQ_MOVABLE,
	IRQ_MANAGED,		/* belongs to a device's queue; queues are spread over CPUs */
	IRQ_PER_CPU,		/* each CPU has its own, such as the interrupt of its timer */
	IRQ_FIXED,		/* cannot be moved for another reason */
	IRQ_KIND_COUNT
};

/**
 * irq_parse() - read the text of /proc/interrupts
 * @text: contents of /proc/interrupts
 * @table: is overwritten; free it with irq_free()
 *
 * Lines without a number that have fewer counts than there are CPUs, or no description, are left
 * out: such lines, for instance "ERR" and "MIS", count for the whole machine. Lines with a number
 * are left out if they have no count at all.
 *
 * Return: 0; -EINVAL if the text has no line of CPUs, or has a line that
 * cannot be understood; -ENOMEM. After an error @table is empty.
 */
int irq_parse(const char *text, struct irq_table *table);

/** irq_free() - free what @table holds */
void irq_free(struct irq_table *table);

/**
 * irq_rates() - interrupts per second
 * @before: the first reading, or NULL if all counts were 0
 * @after: the second reading
 * @seconds: time between the readings, more than 0
 *
 * A count may wrap at 2^32. If @before has no row with the same interrupt and device, the
 * counts of the interrupt are taken to have been 0. A CPU that was not online at the first
 * reading gets the rate 0: the kernel keeps the counts of an offline CPU, but does not show them,
 * so the counts at the first reading are not known.
 *
 * Return: an array [row of @after][CPU of @after], to be freed with free(), or
 * NULL if memory is short.
 */
double *irq_rates(const struct irq_table *before, const struct irq_table *after, double seconds);

/**
 * irq_kind_of() - what kind of interrupt @row is
 * @writable: whether /proc/irq/N/smp_affinity_list can be written by its owner
 */
enum irq_kind irq_kind_of(const struct irq_row *row, bool writable);

/** irq_kind_name() - "movable", "managed", "per-CPU", "fixed": a constant string */
const char *irq_kind_name(enum irq_kind kind);

#endif /* IRQ_PARSE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads /proc/interrupts while CPUs may come and go, for cpubolt and cpuboltd */
#ifndef IRQ_TABLE_H
#define IRQ_TABLE_H

#include "irq_parse.h"

/**
 * irq_table_read() - read /proc/interrupts, again if CPUs come or go meanwhile
 * @root: directory that stands for "/"; "" is the running system
 * @table: is overwritten; free it with irq_free()
 * @devices: the caller wants only the numbers and devices of interrupts, so if CPUs come or go
 *	     whenever the file is read, a table that could be understood is taken: its counts may be
 *	     those of other CPUs
 *
 * Return: 0; -ENOMEM, or the negative errno of reading a file; if several tries fail, what the last
 * of these gives: -EAGAIN if CPUs came or went, -EINVAL if the text could not be understood.
 */
int irq_table_read(const char *root, struct irq_table *table, bool devices);

#endif /* IRQ_TABLE_H */

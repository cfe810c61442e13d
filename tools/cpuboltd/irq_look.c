// SPDX-License-Identifier: GPL-2.0-only
/* Measures interrupts, see irqs.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "irqs.h"
#include "say.h"

#define SLEEP_US	100000	/* two clocks that are read one after the other differ by less */
#define MOST_RATE	1e7	/* a higher rate means that the count began anew */

static void free_irq(struct irq *irq)
{
	if (!irq)
		return;
	free(irq->name);
	CPU_FREE(irq->now);
	CPU_FREE(irq->where);
	CPU_FREE(irq->found);
	CPU_FREE(irq->was);
	CPU_FREE(irq->written);
	CPU_FREE(irq->near);
	free(irq);
}

void irqs_free(struct irq **irqs, size_t count)
{
	size_t i;

	for (i = 0; irqs && i < count; i++)
		free_irq(irqs[i]);
	free(irqs);
}

/*
 * Takes over, with the affinity that was found, an interrupt that an earlier daemon has moved, or
 * that this daemon has moved, and that had no row in /proc/interrupts until now.
 */
static void adopt(struct interrupts *all, struct irq *irq)
{
	size_t i;

	for (i = 0; i < all->left.count; i++) {
		const struct irq_saved *saved = &all->left.irqs[i];

		if (saved->number != irq->number || !irq_same_device(saved->name, irq->name))
			continue;
		copy(all, irq->found, saved->found);
		copy(all, irq->was, saved->was);
		copy(all, irq->written, saved->written);
		irq->ours = true;
		irq->returned = saved->lost;
		irq_state_drop(&all->left, i);
		return;
	}
}

/* Returns for how long the machine has been suspended since it booted. */
static uint64_t slept_us(void)
{
	struct timespec all, awake;

	clock_gettime(CLOCK_MONOTONIC, &awake);
	clock_gettime(CLOCK_BOOTTIME, &all);
	return (uint64_t)((all.tv_sec - awake.tv_sec) * 1000000 +
			  (all.tv_nsec - awake.tv_nsec) / 1000);
}

static struct irq *new_irq(struct interrupts *all, const struct irq_row *row)
{
	const struct machine *machine = all->machine;
	struct irq *irq = calloc(1, sizeof(*irq));
	struct irq_place place;
	int err;

	if (!irq)
		return NULL;
	err = irq_place_read(machine->root, row, &place);
	irq->number = row->number;
	irq->name = strdup(row->name);
	irq->kind = place.kind;
	irq->node = place.node;
	irq->rate = -1;
	irq->slept_us = slept_us();
	irq->now = machine_set(machine);
	irq->where = machine_set(machine);
	irq->found = machine_set(machine);
	irq->was = machine_set(machine);
	irq->written = machine_set(machine);
	irq->near = machine_set(machine);
	irq_place_free(&place);
	if (!err && irq->name && irq->now && irq->where && irq->found && irq->was &&
	    irq->written && irq->near) {
		adopt(all, irq);
		return irq;
	}
	free_irq(irq);
	return NULL;
}

/*
 * An interrupt without a row may belong to a device that is closed for some time: the affinity that
 * was found is kept until the interrupt has a row again, or until the daemon puts affinities back.
 */
static int keep_lost(struct interrupts *all)
{
	size_t i;
	int err = 0;

	for (i = 0; i < all->count; i++) {
		if (!all->irqs[i] || !all->irqs[i]->ours)
			continue;
		err = irqs_add(all, &all->left, all->irqs[i]);
		if (err)
			break;
		all->left.irqs[all->left.count - 1].lost = true;
		free_irq(all->irqs[i]);
		all->irqs[i] = NULL;
	}
	return err;
}

/* A driver has requested a shared interrupt, or has freed it. */
static void rename_irq(struct interrupts *all, struct irq *irq, const char *name)
{
	char *copy = strcmp(irq->name, name) ? strdup(name) : NULL;

	if (!copy)
		return;
	free(irq->name);
	irq->name = copy;
	all->unsaved |= irq->ours;
}

/* Returns the interrupt of @row: from the old list, usually at index @hint, or a new interrupt. */
static struct irq *take_irq(struct interrupts *all, const struct irq_row *row, size_t hint)
{
	size_t i;

	for (i = 0; i < all->count; i++) {
		struct irq **place = &all->irqs[(hint + i) % all->count], *irq = *place;

		if (!irq || irq->number != row->number || !irq_same_device(irq->name, row->name))
			continue;
		rename_irq(all, irq, row->name);
		*place = NULL;
		return irq;
	}
	return new_irq(all, row);
}

bool irq_slept(const struct irq *irq)
{
	return slept_us() > irq->slept_us + SLEEP_US;
}

/*
 * Notes whether another program has set the affinity since the daemon set it. If no CPU of the
 * affinity that the daemon has written is online, or none but the first CPU was online because the
 * machine was suspended, the kernel has chosen another affinity, which then counts as the daemon's.
 */
static void find_foreign(struct interrupts *all, struct irq *irq, const struct irq_cpus *cpus)
{
	size_t size = all->machine->size;
	bool returned = irq->returned;
	char *list;

	irq->returned = false;
	if (!irq->ours || CPU_EQUAL_S(size, irq->now, irq->written))
		return;
	CPU_AND_S(size, irq->was, irq->written, cpus->online);
	if (is_empty(all, irq->was) || irq_slept(irq)) {
		copy(all, irq->was, irq->now);
		copy(all, irq->written, irq->now);
		all->unsaved = true;
		return;
	}
	irq->ours = false;
	/*
	 * If the interrupt had no row for some time, a driver has requested the interrupt anew, and
	 * the kernel has chosen the affinity.
	 */
	if (returned)
		return;
	irq->foreign = true;
	all->tally.foreign++;
	list = machine_list(all->machine, irq->now);
	say(LOG_NOTICE, "another program has put interrupt %d (%s) on CPUs %s: the interrupt is "
			"left alone", irq->number, irq->name, list ?: "");
	free(list);
}

void irqs_read_where(struct interrupts *all, struct irq *irq, const struct irq_cpus *cpus)
{
	size_t size = all->machine->size;

	if (irq->kind != IRQ_MOVABLE || irq->pretended)
		return;
	irq->readable = irq_read_set(all->machine, irq->number, "smp_affinity_list", irq->now);
	if (!irq->readable)
		return;
	find_foreign(all, irq, cpus);
	irq->slept_us = slept_us();
	CPU_AND_S(size, irq->where, irq->now, cpus->online);
	if (CPU_COUNT_S(size, irq->where) == 1)
		return;
	if (!irq_read_set(all->machine, irq->number, "effective_affinity_list", irq->where))
		CPU_AND_S(size, irq->where, irq->now, cpus->online);
}

static void measure(struct interrupts *all, struct irq *irq, double rate, uint64_t now_us)
{
	irq->rate = irq_smooth(irq->rate, rate);
	irq->samples++;
	irq->busy = irq_busy(&all->rules, irq->rate, irq->busy, now_us, &irq->calm_us);
}

/* Adds @rates, of an interrupt neither movable nor per-CPU, to "others" of each CPU. */
static void add_others(struct interrupts *all, const struct irq_table *table, const double *rates)
{
	size_t i;

	for (i = 0; i < table->cpu_count; i++)
		if (table->cpus[i] < all->machine->count)
			all->others[table->cpus[i]] += rates[i];
}

static int take_table(struct interrupts *all, const struct irq_table *table, const double *rates,
		      const struct irq_cpus *cpus, uint64_t now_us)
{
	struct irq **irqs = calloc(table->count + all->count + 1, sizeof(*irqs));
	size_t count = 0, i, cpu;
	int err = 0;

	if (!irqs)
		return -ENOMEM;
	memset(all->others, 0, all->machine->count * sizeof(*all->others));
	for (i = 0; i < table->count; i++) {
		const double *of_row = rates ? rates + i * table->cpu_count : NULL;
		double sum = 0;
		struct irq *irq;

		/* Before Linux 6.11 an interrupt that no device uses has a row without a name. */
		if (table->rows[i].number < 0 || !*table->rows[i].name)
			continue;
		irq = take_irq(all, &table->rows[i], count);
		if (!irq) {
			err = -ENOMEM;
			break;
		}
		irqs[count++] = irq;
		irqs_read_where(all, irq, cpus);
		for (cpu = 0; of_row && cpu < table->cpu_count; cpu++)
			sum += of_row[cpu];
		if (!of_row || sum >= MOST_RATE)
			continue;
		if (irq->kind == IRQ_MOVABLE)
			measure(all, irq, sum, now_us);
		else if (irq->kind != IRQ_PER_CPU)
			add_others(all, table, of_row);
	}
	err = err ?: keep_lost(all);
	/* If memory ran out, interrupts that were not looked at stay in the list as they were. */
	for (i = 0; err && i < all->count; i++) {
		if (all->irqs[i])
			irqs[count++] = all->irqs[i];
		all->irqs[i] = NULL;
	}
	irqs_free(all->irqs, all->count);
	all->irqs = irqs;
	all->count = count;
	return err;
}

void irqs_forget(struct interrupts *all)
{
	size_t i, count = 0;

	for (i = 0; i < all->count; i++) {
		struct irq *irq = all->irqs[i];

		/* An interrupt whose affinity another program has set must not be moved again. */
		if (irq->ours || irq->foreign)
			all->irqs[count++] = irq;
		else
			free_irq(irq);
	}
	all->count = count;
	irq_free(&all->before);
	all->before_us = 0;
}

int irqs_look(struct interrupts *all, const struct irq_cpus *cpus, uint64_t now_us)
{
	struct irq_table table;
	double *rates = NULL;
	int err = irq_read_table(all->machine, &table);

	if (err)
		return err;
	if (all->before_us && now_us > all->before_us) {
		rates = irq_rates(&all->before, &table, (now_us - all->before_us) / 1e6);
		err = rates ? 0 : -ENOMEM;
	}
	if (!err)
		err = take_table(all, &table, rates, cpus, now_us);
	free(rates);
	irq_free(&all->before);
	all->before = table;
	all->before_us = now_us;
	return err;
}

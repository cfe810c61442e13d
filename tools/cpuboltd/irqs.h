/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What interrupts.c, irq_look.c and irq_move.c know of interrupts
 *
 * irq_look.c measures interrupts, and irq_move.c moves interrupts. interrupts.c decides when
 * interrupts are measured, when interrupts may move, and when all interrupts are left alone.
 */
#ifndef IRQS_H
#define IRQS_H

#include <string.h>

#include "interrupts.h"
#include "irq_place.h"
#include "irq_plan.h"
#include "irq_state.h"

#define SECOND_US	1000000ULL
#define MOST_RECENT	600	/* most moves a minute that the configuration allows */

/** One interrupt that has a number */
struct irq {
	int number;
	char *name;
	enum irq_kind kind;
	int node;		/* NUMA node of the device, or -1 */
	double rate;		/* interrupts a second, smoothed; negative until first measured */
	unsigned int samples;
	bool busy;
	uint64_t calm_us;	/* see irq_busy() */
	cpu_set_t *now;		/* affinity, as last read or written */
	cpu_set_t *where;	/* CPUs that get the interrupt now */
	cpu_set_t *found;	/* affinity before the daemon's first move */
	cpu_set_t *was;		/* affinity before the last move */
	/* affinity that the daemon has written last, or that the kernel has chosen in its place */
	cpu_set_t *written;
	cpu_set_t *near;	/* CPUs of the device's node */
	bool readable;		/* whether @now and @where are known */
	bool ours;		/* whether the daemon has moved it, and has not put it back */
	bool foreign;		/* whether another program has set the affinity after the daemon */
	bool returned;		/* whether the interrupt had no row until now */
	bool pretended;		/* whether a dry run has moved the interrupt */
	uint64_t failed_until_us;
	uint64_t moved_us;
	uint64_t slept_us;	/* time that the machine had been suspended when @now was read last */
	unsigned int from, to;	/* CPUs of the last move */
	char why[128];
};

struct interrupts {
	struct machine *machine;
	const struct config *config;
	bool dry_run;
	struct irq_rules rules;
	struct irq **irqs;
	size_t count;
	struct irq_table before;	/* the last measurement */
	uint64_t before_us, due_us;
	double *others;			/* CPU -> rate of interrupts neither movable nor per-CPU */
	int base;			/* the base CPU, or -1 */
	int told;			/* PID of the irqbalance that got a list, or 0 */
	size_t told_count;		/* how many interrupts irqbalance is to leave alone */
	unsigned long told_hash;	/* hash of the list */
	char *reason;			/* why all interrupts are left alone, or NULL */
	/* Interrupts of an earlier daemon that were not put back, and interrupts without a row */
	struct irq_state left;
	bool unsaved;			/* the file lacks an affinity that the kernel has chosen */
	unsigned int torn;		/* how often in a row /proc/interrupts could not be read */
	uint64_t recent[MOST_RECENT];	/* times of the last moves */
	unsigned long long moves;
	struct irq_tally tally;
};

static inline bool has(const struct interrupts *all, const cpu_set_t *set, unsigned int cpu)
{
	return CPU_ISSET_S(cpu, all->machine->size, set);
}

static inline bool is_empty(const struct interrupts *all, const cpu_set_t *set)
{
	return !CPU_COUNT_S(all->machine->size, set);
}

static inline void copy(const struct interrupts *all, cpu_set_t *to, const cpu_set_t *from)
{
	memcpy(to, from, all->machine->size);
}

static inline void set_one(const struct interrupts *all, cpu_set_t *set, unsigned int cpu)
{
	CPU_ZERO_S(all->machine->size, set);
	CPU_SET_S(cpu, all->machine->size, set);
}

void irqs_free(struct irq **irqs, size_t count);

/**
 * irqs_look() - measure all interrupts
 *
 * Return: 0, or as irq_read_table().
 */
int irqs_look(struct interrupts *all, const struct irq_cpus *cpus, uint64_t now_us);

/**
 * irqs_forget() - forget interrupts, and the last measurement, as out of date
 *
 * Only interrupts whose affinity the daemon could not put back, or whose affinity another program
 * has set after the daemon, are kept in @all.
 */
void irqs_forget(struct interrupts *all);

/** irq_slept() - whether the machine was suspended after @now of @irq was read last */
bool irq_slept(const struct irq *irq);

/**
 * irqs_read_where() - read the affinity of a movable interrupt, and which CPUs the interrupt is on
 *
 * Notes whether another program has set the affinity after the daemon. Other interrupts than
 * movable ones are passed over.
 *
 * If the affinity has a single CPU that is online, the next interrupt occurs on that CPU, and the
 * effective affinity, which may lag behind, is not read.
 */
void irqs_read_where(struct interrupts *all, struct irq *irq, const struct irq_cpus *cpus);

/** irqs_add() - add to @state what has to be put back of @irq; 0 or -ENOMEM */
int irqs_add(const struct interrupts *all, struct irq_state *state, const struct irq *irq);

/** irqs_save() - write which interrupts have moved, and the affinities found; 0 or -errno */
int irqs_save(struct interrupts *all);

/** irqs_find_base() - choose the base CPU; false if no CPU may have interrupts */
bool irqs_find_base(struct interrupts *all, const struct irq_cpus *cpus);

/** irqs_recent_moves() - how many interrupts have moved within a minute */
unsigned int irqs_recent_moves(const struct interrupts *all, uint64_t now_us);

/**
 * irqs_move() - move interrupts as irq_plan() says; 0 or -ENOMEM
 * @forced_only: move only interrupts of CPUs that are about to go
 */
int irqs_move(struct interrupts *all, const struct irq_cpus *cpus, bool forced_only,
	      uint64_t now_us);

#endif /* IRQS_H */

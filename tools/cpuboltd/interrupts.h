/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measures interrupts, and writes the affinities that irq_plan() asks for
 *
 * If another program sets the affinity of an interrupt after the daemon has moved the interrupt,
 * the daemon leaves the interrupt alone from then on, as long as /proc/interrupts has a row of the
 * interrupt. The daemon leaves all interrupts alone while Bolt's file irq_keep lists CPUs (even if
 * Bolt is disabled), while irqbalance runs and is not told to leave interrupts alone, and while
 * /proc/interrupts cannot be read.
 */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include <stdint.h>
#include <stdio.h>

#include "config.h"
#include "irq_plan.h"

/** What interrupts_update() has to know of CPUs */
struct irq_cpus {
	const cpu_set_t *online;
	const cpu_set_t *stay;	/* CPUs that may have interrupts */
	const cpu_set_t *going;	/* CPUs that are about to go; none of these is in @stay */
	const cpu_set_t *floor;	/* CPUs that have to be online */
};

struct interrupts;

/**
 * interrupts_new() - begin to look after interrupts; NULL if memory is short
 * @dry_run: only say what would move: write no affinity, and tell irqbalance nothing
 */
struct interrupts *interrupts_new(struct machine *machine, const struct config *config,
				  bool dry_run);

void interrupts_free(struct interrupts *all);

/**
 * interrupts_update() - measure, if it is time for that, and move interrupts
 *
 * Unless all interrupts are left alone, movable interrupts of CPUs that are about to go move in
 * each call, other interrupts only after a measurement, which is made every five intervals. Return:
 * 0, also if interrupts are left alone, or -ENOMEM.
 */
int interrupts_update(struct interrupts *all, const struct irq_cpus *cpus, uint64_t now_us);

/** interrupts_explain() - a line on all interrupts, for "cpubolt policy" */
void interrupts_explain(FILE *out, const struct interrupts *all, uint64_t now_us);

/** interrupts_explain_cpu() - lines on interrupts whose last move was to @cpu, or from @cpu */
void interrupts_explain_cpu(FILE *out, const struct interrupts *all, unsigned int cpu,
			    uint64_t now_us);

/** What has happened since the daemon has started */
struct irq_tally {
	unsigned long long moves[CAUSE_COUNT];
	unsigned long long errors;
	/* Interrupts that the daemon had moved when another program set the affinity */
	unsigned long long foreign;
	/* Interrupts that have an affinity set by the daemon or, in a dry run, would have one */
	unsigned int moved;
};

/** interrupts_restored() - find out, for metrics, which affinities have been put back */
void interrupts_restored(struct interrupts *all);

/** interrupts_tally() - return figures for metrics */
struct irq_tally interrupts_tally(const struct interrupts *all);

/**
 * interrupts_restore_begin(), interrupts_restore_end() - put affinities back
 *
 * Both functions are called for "--restore", and when the daemon begins and ends.
 * interrupts_restore_begin() comes before the daemon's CPUs are brought back: as long as no CPU of
 * the affinity that the daemon wrote is online, any other affinity counts as the kernel's choice,
 * not as that of another program. interrupts_restore_end() comes after the CPUs are back, since an
 * affinity without a CPU that is online cannot be written; @err is what interrupts_restore_begin()
 * has returned, 0 or a negative errno. Both functions log errors. interrupts_restore_end() returns
 * true if neither function has failed; affinities that another program has set stay.
 */
struct irq_state;
int interrupts_restore_begin(const struct machine *machine, struct irq_state *state);
bool interrupts_restore_end(const struct machine *machine, struct irq_state *state, int err);

#endif /* INTERRUPTS_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which interrupt goes to which CPU
 *
 * Busy interrupts are spread over the CPUs that stay, and idle interrupts are packed on the base
 * CPU, so that all other CPUs have few interrupts or none. An interrupt of a CPU that is about to
 * go leaves that CPU beforehand.
 *
 * These functions are pure: what was measured, the CPUs and the time come from the caller.
 */
#ifndef IRQ_PLAN_H
#define IRQ_PLAN_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A CPU of x86 has about 200 vectors, so a CPU that has MOST_ON_A_CPU interrupts or more gets a
 * further interrupt only if each other CPU to which that interrupt may go also has MOST_ON_A_CPU
 * or more.
 */
#define MOST_ON_A_CPU	150

struct irq_rules {
	unsigned int busy;	/* an interrupt that occurs so often a second becomes busy */
	/* How long at least a moved interrupt stays, unless its CPU goes; see also irq_busy() */
	uint64_t dwell_us;
};

/** What is known of one interrupt */
struct irq_fact {
	bool movable;			/* false: managed, fixed or per-CPU, or to be left alone */
	bool measured;			/* whether @rate and @busy are known */
	bool busy;			/* whether irq_busy() has said that the interrupt is busy */
	double rate;			/* how often a second the interrupt occurs */
	const cpu_set_t *allowed;	/* CPUs of the affinity before cpuboltd's first move */
	const cpu_set_t *near;		/* CPUs of the device's node, or NULL */
	const cpu_set_t *where;		/* CPUs that get the interrupt now */
	uint64_t moved_us;		/* time of the last move, 0 for never */
};

/** Interrupts, and CPUs */
struct irq_scene {
	const struct irq_fact *irqs;
	size_t count;
	unsigned int cpus;		/* CPU numbers are 0 to cpus - 1 */
	size_t size;			/* size of each set, for CPU_*_S() */
	const cpu_set_t *stay;		/* CPUs that stay online, and may have interrupts */
	const cpu_set_t *going;		/* CPUs that are about to go offline; none of these stays */
	unsigned int base;		/* a CPU that stays, for idle interrupts */
	const double *others;		/* CPU -> rate of fixed and managed interrupts; or NULL */
	uint64_t now_us;
	unsigned int left;		/* how many moves are still allowed in this minute */
	bool forced_only;		/* move only interrupts of CPUs that are about to go */
};

enum irq_cause {
	CAUSE_LEAVE,	/* the CPU of the interrupt is about to go */
	CAUSE_BUSY,	/* another CPU has much less to do */
	CAUSE_IDLE,	/* the base CPU takes the interrupt */
	CAUSE_COUNT
};

/** One interrupt that is to change */
struct irq_move {
	size_t irq;		/* index of the interrupt in irq_scene.irqs */
	unsigned int from, to;	/* CPUs; the new affinity is the CPU @to alone */
	enum irq_cause cause;
	char why[128];		/* one English clause */
};

/**
 * irq_plan() - decide which interrupts are to change
 * @moves: overwritten; has room for scene->count moves
 *
 * - An interrupt goes to a CPU of scene->stay, and to one of its allowed CPUs if one of these
 *   stays. An interrupt of which no allowed CPU stays goes to the base CPU when the interrupt has
 *   to leave its CPU, and is left alone otherwise.
 * - An interrupt that is not movable is in no move.
 * - An interrupt whose CPU is about to go moves at once. Any other interrupt moves only if it was
 *   measured, not within the dwell time after its last move, and only while the plan has fewer than
 *   scene->left moves.
 * - An idle interrupt moves only to the base CPU, unless the interrupt has to leave its CPU.
 * - A busy interrupt that need not leave its CPU moves only if the new CPU, together with the
 *   interrupt, then has less to do than the old CPU has before the move: less by at least
 *   rules->busy interrupts a second, and by at least a fifth of the old CPU's rate. So moves come
 *   to an end while rates do not change.
 *
 * Interrupts that have to leave come first, then busy interrupts, then idle ones.
 *
 * Return: number of moves, or -ENOMEM.
 */
int irq_plan(const struct irq_rules *rules, const struct irq_scene *scene, struct irq_move *moves);

/**
 * irq_busy() - whether an interrupt counts as busy
 * @rate: how often a second the interrupt occurs now
 * @was: the last result of this function for the interrupt; false at first
 * @calm_us: since when the rate is less than half of rules->busy; 0 while the rate is not less.
 *	     Kept by the caller from call to call, 0 at first.
 *
 * An idle interrupt becomes busy when its rate is rules->busy or more. A busy interrupt becomes
 * idle when its rate was less than half of rules->busy for the dwell time.
 */
bool irq_busy(const struct irq_rules *rules, double rate, bool was, uint64_t now_us,
	      uint64_t *calm_us);

/** irq_smooth() - the smoothed rate after one more measurement; @before is negative at first */
double irq_smooth(double before, double rate);

#endif /* IRQ_PLAN_H */

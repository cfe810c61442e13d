// SPDX-License-Identifier: GPL-2.0-only
/* Which interrupt goes to which CPU, see irq_plan.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "irq_plan.h"

#define NOWHERE		(-1)

/* A plan under way: the CPU of each interrupt after the moves so far. */
struct plan {
	const struct irq_rules *rules;
	const struct irq_scene *scene;
	double *loads;		/* interrupts a second of each CPU */
	unsigned int *held;	/* how many of the interrupts are on each CPU */
	int *places;		/* CPU of each interrupt, or NOWHERE */
	size_t *order;		/* indices of the interrupts in the order of planning */
	cpu_set_t *choices;
	unsigned int left;
	struct irq_move *moves;
	int count;
};

static bool has(const struct plan *plan, const cpu_set_t *set, unsigned int cpu)
{
	return CPU_ISSET_S(cpu, plan->scene->size, set);
}

/*
 * Returns a CPU that is about to go, if the interrupt is on one; otherwise the first CPU that the
 * interrupt is on.
 */
static int find_place(const struct plan *plan, const struct irq_fact *irq)
{
	int first = NOWHERE;
	unsigned int cpu;

	for (cpu = 0; cpu < plan->scene->cpus; cpu++) {
		if (!has(plan, irq->where, cpu))
			continue;
		if (has(plan, plan->scene->going, cpu))
			return (int)cpu;
		if (first == NOWHERE)
			first = (int)cpu;
	}
	return first;
}

static bool must_leave(const struct plan *plan, size_t irq)
{
	return plan->places[irq] != NOWHERE &&
	       has(plan, plan->scene->going, (unsigned int)plan->places[irq]);
}

/* Returns the rank of an interrupt in the plan; the lowest rank comes first. */
static unsigned int rank(const struct plan *plan, size_t irq)
{
	if (must_leave(plan, irq))
		return 0;
	return plan->scene->irqs[irq].busy ? 1 : 2;
}

static bool comes_before(const struct plan *plan, size_t one, size_t other)
{
	double rate = plan->scene->irqs[one].rate, other_rate = plan->scene->irqs[other].rate;

	if (rank(plan, one) != rank(plan, other))
		return rank(plan, one) < rank(plan, other);
	if (rate != other_rate)
		return rate > other_rate;
	return one < other;
}

/* The plan that compare() sorts: qsort() passes two elements to compare(), and no plan. */
static const struct plan *sorted;

static int compare(const void *a, const void *b)
{
	size_t one = *(const size_t *)a, other = *(const size_t *)b;

	if (one == other)
		return 0;
	return comes_before(sorted, one, other) ? -1 : 1;
}

static void put_in_order(struct plan *plan)
{
	const struct irq_scene *scene = plan->scene;
	unsigned int cpu;
	size_t i;

	for (cpu = 0; cpu < scene->cpus; cpu++)
		plan->loads[cpu] = scene->others ? scene->others[cpu] : 0;
	for (i = 0; i < scene->count; i++) {
		plan->order[i] = i;
		plan->places[i] = find_place(plan, &scene->irqs[i]);
		if (plan->places[i] == NOWHERE)
			continue;
		plan->loads[plan->places[i]] += scene->irqs[i].rate;
		plan->held[plan->places[i]]++;
	}
	sorted = plan;
	qsort(plan->order, scene->count, sizeof(*plan->order), compare);
}

/* -- One interrupt ------------------------------------------------------------------- */

static bool narrow(struct plan *plan, const cpu_set_t *set, const cpu_set_t *other)
{
	CPU_AND_S(plan->scene->size, plan->choices, set, other);
	return CPU_COUNT_S(plan->scene->size, plan->choices);
}

/* Finds the CPUs on which the interrupt may be from now on. False if there are none. */
static bool find_choices(struct plan *plan, const struct irq_fact *irq, bool forced)
{
	const struct irq_scene *scene = plan->scene;

	if (!narrow(plan, irq->allowed, scene->stay)) {
		if (!forced)
			return false;
		CPU_ZERO_S(scene->size, plan->choices);
		if (has(plan, scene->stay, scene->base))
			CPU_SET_S(scene->base, scene->size, plan->choices);
		return has(plan, scene->stay, scene->base);
	}
	/* A busy interrupt goes to a CPU of its device's node, if any of the choices is one. */
	if (irq->busy && irq->near && !narrow(plan, plan->choices, irq->near))
		narrow(plan, irq->allowed, scene->stay);
	return true;
}

static bool is_full(const struct plan *plan, unsigned int cpu)
{
	return plan->held[cpu] >= MOST_ON_A_CPU;
}

/*
 * Returns the CPU in choices, other than @place, with the least to do, but a full CPU only if all
 * are full; NOWHERE if there is none.
 */
static int least_loaded(const struct plan *plan, int place)
{
	int found = NOWHERE;
	unsigned int cpu;

	for (cpu = 0; cpu < plan->scene->cpus; cpu++) {
		if ((int)cpu == place || !has(plan, plan->choices, cpu))
			continue;
		/* A CPU with room is better than a full CPU, whatever their loads are. */
		if (found == NOWHERE || is_full(plan, cpu) < is_full(plan, (unsigned int)found) ||
		    (is_full(plan, cpu) == is_full(plan, (unsigned int)found) &&
		     plan->loads[cpu] < plan->loads[found]))
			found = (int)cpu;
	}
	return found;
}

static bool is_worth_it(const struct plan *plan, const struct irq_fact *irq, int place, int to)
{
	double gain = plan->loads[place] - plan->loads[to] - irq->rate;

	return gain >= plan->rules->busy && gain >= plan->loads[place] / 5;
}

static bool takes_idle(const struct plan *plan, int place)
{
	unsigned int base = plan->scene->base;

	return place != (int)base && has(plan, plan->choices, base) && !is_full(plan, base);
}

/* Returns the CPU to which the interrupt is to go, or NOWHERE. */
static int find_target(const struct plan *plan, const struct irq_fact *irq, int place,
		       bool forced)
{
	int to;

	if (!irq->busy && takes_idle(plan, place))
		return (int)plan->scene->base;
	if (!irq->busy && !forced)
		return NOWHERE;
	to = least_loaded(plan, place);
	if (to == NOWHERE || forced || is_worth_it(plan, irq, place, to))
		return to;
	return NOWHERE;
}

static bool may_move(const struct plan *plan, const struct irq_fact *irq, bool forced)
{
	if (forced)
		return true;
	return !plan->scene->forced_only && plan->left && irq->measured &&
	       (!irq->moved_us || plan->scene->now_us - irq->moved_us >= plan->rules->dwell_us);
}

static void explain(const struct plan *plan, const struct irq_fact *irq, struct irq_move *move)
{
	switch (move->cause) {
	case CAUSE_LEAVE:
		snprintf(move->why, sizeof(move->why), "CPU %u was about to go%s", move->from,
			 has(plan, irq->allowed, move->to) ? "" :
			 ", and no CPU of the affinity that was found stayed");
		break;
	case CAUSE_BUSY:
		snprintf(move->why, sizeof(move->why),
			 "busy, %.0f a second, when CPU %u had %.0f and CPU %u had %.0f",
			 irq->rate, move->from, plan->loads[move->from], move->to,
			 plan->loads[move->to]);
		break;
	default:
		snprintf(move->why, sizeof(move->why), "idle, %.1f a second", irq->rate);
	}
}

static void take(struct plan *plan, size_t irq, int to, bool forced)
{
	const struct irq_fact *fact = &plan->scene->irqs[irq];
	struct irq_move *move = &plan->moves[plan->count++];
	int place = plan->places[irq];

	*move = (struct irq_move){
		.irq = irq,
		.from = (unsigned int)place,
		.to = (unsigned int)to,
		.cause = forced ? CAUSE_LEAVE : fact->busy ? CAUSE_BUSY : CAUSE_IDLE,
	};
	explain(plan, fact, move);
	plan->loads[place] -= fact->rate;
	plan->loads[to] += fact->rate;
	plan->held[place]--;
	plan->held[to]++;
	plan->places[irq] = to;
	plan->left -= plan->left > 0;
}

static void consider(struct plan *plan, size_t irq)
{
	const struct irq_fact *fact = &plan->scene->irqs[irq];
	bool forced = must_leave(plan, irq);
	int to;

	if (!fact->movable || plan->places[irq] == NOWHERE || !may_move(plan, fact, forced) ||
	    !find_choices(plan, fact, forced))
		return;
	to = find_target(plan, fact, plan->places[irq], forced);
	if (to != NOWHERE)
		take(plan, irq, to, forced);
}

int irq_plan(const struct irq_rules *rules, const struct irq_scene *scene, struct irq_move *moves)
{
	struct plan plan = {
		.rules = rules,
		.scene = scene,
		.loads = calloc(scene->cpus + 1, sizeof(*plan.loads)),
		.held = calloc(scene->cpus + 1, sizeof(*plan.held)),
		.places = calloc(scene->count + 1, sizeof(*plan.places)),
		.order = calloc(scene->count + 1, sizeof(*plan.order)),
		.choices = malloc(scene->size),
		.left = scene->left,
		.moves = moves,
	};
	size_t i;

	if (!plan.loads || !plan.held || !plan.places || !plan.order || !plan.choices) {
		plan.count = -ENOMEM;
	} else {
		put_in_order(&plan);
		for (i = 0; i < scene->count; i++)
			consider(&plan, plan.order[i]);
	}
	free(plan.loads);
	free(plan.held);
	free(plan.places);
	free(plan.order);
	free(plan.choices);
	return plan.count;
}

/* -- Rates ------------------------------------------------------------------------ */

bool irq_busy(const struct irq_rules *rules, double rate, bool was, uint64_t now_us,
	      uint64_t *calm_us)
{
	bool calm = rate < rules->busy / 2.0;

	if (!calm)
		*calm_us = 0;
	else if (!*calm_us)
		*calm_us = now_us;
	if (!was)
		return rate >= rules->busy;
	return !calm || now_us - *calm_us < rules->dwell_us;
}

double irq_smooth(double before, double rate)
{
	return before < 0 ? rate : (before + rate) / 2;
}

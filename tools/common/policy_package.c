// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy "package": whole packages or clusters go, so that these can sleep
 *
 * A group is the usable CPUs of one package or of one cluster. A candidate is one group alone, or
 * the first groups in the order of order_new() together; the groups of the floor's CPUs are added
 * to each candidate. Of the candidates that have enough capacity and at least min_cpus CPUs, the
 * policy takes the one with the least capacity. If there is no such candidate, the policy wants all
 * usable CPUs. On a machine with a small group and a big one, as with big.LITTLE, the policy
 * therefore switches from one group to the other, as long as the floor has no CPU of the group that
 * would go.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

struct search {
	const struct policy_settings *settings;
	const struct inputs *inputs;
	unsigned long wanted;
	cpu_set_t *best, *candidate;
	unsigned long best_capacity;
	bool found;
};

static bool same_group(const struct policy_settings *settings, const struct inputs *inputs,
		       unsigned int a, unsigned int b)
{
	const struct position *here = &inputs->places[a], *there = &inputs->places[b];

	if (here->package != there->package)
		return false;
	return settings->package_level == LEVEL_PACKAGE || here->cluster == there->cluster;
}

/* Adds the usable CPUs of the group of @member to @set. */
static void add_group(const struct search *search, unsigned int member, cpu_set_t *set)
{
	const struct inputs *inputs = search->inputs;
	unsigned int cpu;

	for (cpu = 0; cpu < inputs->count; cpu++)
		if (CPU_ISSET_S(cpu, inputs->size, inputs->usable) &&
		    same_group(search->settings, inputs, cpu, member))
			CPU_SET_S(cpu, inputs->size, set);
}

/* Tells whether all CPUs of @inner are in @outer. */
static bool contains(const struct search *search, const cpu_set_t *outer, const cpu_set_t *inner)
{
	unsigned int cpu;

	for (cpu = 0; cpu < search->inputs->count; cpu++)
		if (CPU_ISSET_S(cpu, search->inputs->size, inner) &&
		    !CPU_ISSET_S(cpu, search->inputs->size, outer))
			return false;
	return true;
}

static bool has_min(const struct search *search, const cpu_set_t *candidate)
{
	const struct inputs *inputs = search->inputs;
	unsigned int count = (unsigned int)CPU_COUNT_S(inputs->size, candidate);

	return count >= search->settings->min_cpus;
}

/* Adds the floor's groups to @candidate. Keeps the smallest candidate that suffices. */
static void consider(struct search *search, cpu_set_t *candidate)
{
	const struct inputs *inputs = search->inputs;
	unsigned long capacity;
	unsigned int cpu, percent;
	bool now;

	for (cpu = 0; cpu < inputs->count; cpu++)
		if (CPU_ISSET_S(cpu, inputs->size, inputs->floor))
			add_group(search, cpu, candidate);
	capacity = capacity_of(inputs, candidate);
	/* If CPUs would go, "down" is the limit, so that the CPUs that stay have a reserve. */
	percent = contains(search, candidate, inputs->before) ? search->settings->package.up :
								search->settings->package.down;
	if (!suffices(capacity, search->wanted, percent) || !has_min(search, candidate))
		return;
	/* Of two candidates with equal capacity, the one that the policy wanted last stays. */
	now = CPU_EQUAL_S(inputs->size, candidate, inputs->before);
	if (search->found && capacity >= search->best_capacity &&
	    !(now && capacity == search->best_capacity))
		return;
	memcpy(search->best, candidate, inputs->size);
	search->best_capacity = capacity;
	search->found = true;
}

static void consider_all(struct search *search, const unsigned int *order, unsigned int length,
			 cpu_set_t *first_ones)
{
	const struct inputs *inputs = search->inputs;
	unsigned int i;

	for (i = 0; i < length; i++) {
		/*
		 * Each group is tried once, when its first CPU comes in the order; first_ones has
		 * the CPUs of all groups that were tried.
		 */
		if (CPU_ISSET_S(order[i], inputs->size, first_ones))
			continue;
		CPU_ZERO_S(inputs->size, search->candidate);
		add_group(search, order[i], search->candidate);
		CPU_OR_S(inputs->size, first_ones, first_ones, search->candidate);
		consider(search, search->candidate);
		memcpy(search->candidate, first_ones, inputs->size);
		consider(search, search->candidate);
	}
}

static void explain(const struct search *search, struct decision *decision)
{
	const struct inputs *inputs = search->inputs;
	const char *level = search->settings->package_level == LEVEL_PACKAGE ? "packages" :
									       "clusters";

	if (!search->found) {
		memcpy(decision->wanted, inputs->usable, inputs->size);
		snprintf(decision->why, sizeof(decision->why),
			 "the tasks would keep %.2f fast CPUs busy, for which all %s are needed",
			 (double)search->wanted / FULL_CAPACITY, level);
		return;
	}
	memcpy(decision->wanted, search->best, inputs->size);
	snprintf(decision->why, sizeof(decision->why),
		 "the tasks keep %.2f fast CPUs busy, for which %s of %.2f fast CPUs suffice",
		 (double)search->wanted / FULL_CAPACITY, level,
		 (double)search->best_capacity / FULL_CAPACITY);
}

static int decide(const struct policy_settings *settings, const struct inputs *inputs,
		  struct decision *decision)
{
	unsigned int length, *order = order_new(inputs, &length);
	cpu_set_t *first_ones = calloc(1, inputs->size);
	struct search search = {
		.settings = settings,
		.inputs = inputs,
		.wanted = demand(inputs, settings->package.pressure),
		.best = calloc(1, inputs->size),
		.candidate = calloc(1, inputs->size),
	};
	int err = -ENOMEM;

	if (order && first_ones && search.best && search.candidate) {
		consider_all(&search, order, length, first_ones);
		explain(&search, decision);
		err = 0;
	}
	free(order);
	free(first_ones);
	free(search.best);
	free(search.candidate);
	return err;
}

const struct policy policy_package = {
	.name = "package",
	.summary = "whole packages or clusters go, so that these can sleep",
	.urgent = true,
	.chooses_min = true,
	.decide = decide,
};

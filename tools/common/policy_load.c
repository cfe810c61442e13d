// SPDX-License-Identifier: GPL-2.0-only
/* The policy "load": as few CPUs online as the load needs */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

/*
 * How many CPUs from the beginning of @order suffice for @wanted: at least one CPU, and at least
 * the whole floor.
 */
static unsigned int enough(const struct inputs *inputs, const unsigned int *order,
			   unsigned int length, unsigned long wanted, unsigned int percent)
{
	unsigned long capacity = 0;
	unsigned int i;

	for (i = 0; i < length; i++) {
		bool floor = CPU_ISSET_S(order[i], inputs->size, inputs->floor);

		if (i && !floor && suffices(capacity, wanted, percent))
			break;
		capacity += (unsigned long)inputs->places[order[i]].capacity;
	}
	return i;
}

static void want_first(const struct inputs *inputs, const unsigned int *order, unsigned int count,
		       cpu_set_t *wanted)
{
	unsigned int i;

	CPU_ZERO_S(inputs->size, wanted);
	for (i = 0; i < count; i++)
		CPU_SET_S(order[i], inputs->size, wanted);
}

static int decide(const struct policy_settings *settings, const struct inputs *inputs,
		  struct decision *decision)
{
	unsigned long wanted = demand(inputs, settings->load.pressure), now;
	unsigned int length, more, fewer, *order = order_new(inputs, &length);

	if (!order)
		return -ENOMEM;
	/* CPUs may have joined the floor since the last decision: such CPUs do some of the work. */
	CPU_OR_S(inputs->size, decision->wanted, inputs->before, inputs->floor);
	now = capacity_of(inputs, decision->wanted);
	more = enough(inputs, order, length, wanted, settings->load.up);
	fewer = enough(inputs, order, length, wanted, settings->load.down);
	if (!now || !suffices(now, wanted, settings->load.up)) {
		want_first(inputs, order, more, decision->wanted);
		snprintf(decision->why, sizeof(decision->why),
			 "the tasks would keep %.2f CPUs busy, for which %d of the CPUs are needed",
			 (double)wanted / FULL_CAPACITY,
			 CPU_COUNT_S(inputs->size, decision->wanted));
	} else {
		want_first(inputs, order, fewer, decision->wanted);
		/* Between the limits "up" and "down" the CPUs stay as they are. */
		if (capacity_of(inputs, decision->wanted) >= now)
			CPU_OR_S(inputs->size, decision->wanted, inputs->before, inputs->floor);
		snprintf(decision->why, sizeof(decision->why),
			 "the tasks keep %.2f CPUs busy, for which %d of the CPUs will do",
			 (double)wanted / FULL_CAPACITY,
			 CPU_COUNT_S(inputs->size, decision->wanted));
	}
	free(order);
	return 0;
}

const struct policy policy_load = {
	.name = "load",
	.summary = "as few CPUs online as the load needs",
	.urgent = true,
	.decide = decide,
};

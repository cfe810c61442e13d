// SPDX-License-Identifier: GPL-2.0-only
/* The order in which policies want CPUs online */
#include <stdlib.h>

#include "policy.h"

struct sorting {
	const struct inputs *inputs;
	/* Position of the floor's first CPU; without a floor, of the first usable CPU */
	const struct position *base;
};

/* Returns the order of @a and @b as for qsort(3); @own comes before all other numbers. */
static int compare_numbers(int a, int b, int own)
{
	if (a == b)
		return 0;
	if (a == own)
		return -1;
	if (b == own)
		return 1;
	return a < b ? -1 : 1;
}

static int compare(const void *first, const void *second, void *data)
{
	const struct sorting *sorting = data;
	const struct inputs *inputs = sorting->inputs;
	unsigned int a = *(const unsigned int *)first, b = *(const unsigned int *)second;
	const struct position *here = &inputs->places[a], *there = &inputs->places[b];
	int floor = !CPU_ISSET_S(a, inputs->size, inputs->floor) -
		    !CPU_ISSET_S(b, inputs->size, inputs->floor);
	int order = floor;

	if (!order)
		order = compare_numbers(here->package, there->package, sorting->base->package);
	if (!order)
		order = compare_numbers(here->cluster, there->cluster, sorting->base->cluster);
	if (!order)
		order = compare_numbers(here->core, there->core, sorting->base->core);
	return order ?: compare_numbers((int)a, (int)b, -1);
}

unsigned int *order_new(const struct inputs *inputs, unsigned int *length)
{
	unsigned int *order = calloc(inputs->count + 1, sizeof(*order)), cpu, base = inputs->count;
	struct sorting sorting = { .inputs = inputs };

	*length = 0;
	if (!order)
		return NULL;
	for (cpu = 0; cpu < inputs->count; cpu++) {
		if (!CPU_ISSET_S(cpu, inputs->size, inputs->usable))
			continue;
		order[(*length)++] = cpu;
		if (base == inputs->count && CPU_ISSET_S(cpu, inputs->size, inputs->floor))
			base = cpu;
	}
	if (!*length)
		return order;
	sorting.base = &inputs->places[base < inputs->count ? base : order[0]];
	qsort_r(order, *length, sizeof(*order), compare, &sorting);
	return order;
}

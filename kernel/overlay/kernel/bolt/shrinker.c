// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parked CPUs hold memory that nobody uses. When it is short, the worker is
 * told to settle them; reclaim itself takes none of the locks that needs.
 */
#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/mmzone.h>
#include <linux/shrinker.h>

#include "internal.h"

/* Pages in the CPU's lists, and one for each state: it holds something else. */
static unsigned long bolt_held(unsigned int cpu)
{
	unsigned long held;
	struct zone *zone;

	held = bitmap_weight(bolt_pending(cpu)->states, BOLT_NR_STATES);
	for_each_populated_zone(zone)
		held += READ_ONCE(per_cpu_ptr(zone->per_cpu_pageset, cpu)->count);
	return held;
}

static unsigned long bolt_shrink_count(struct shrinker *shrinker,
				       struct shrink_control *sc)
{
	unsigned long held = 0;
	unsigned int cpu;

	for_each_parked_cpu(cpu)
		held += bolt_held(cpu);
	return held ?: SHRINK_EMPTY;
}

static unsigned long bolt_shrink_scan(struct shrinker *shrinker,
				      struct shrink_control *sc)
{
	bolt_settle_pressure();
	return SHRINK_STOP;
}

static int __init bolt_shrinker_init(void)
{
	struct shrinker *shrinker = shrinker_alloc(0, "bolt");

	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = bolt_shrink_count;
	shrinker->scan_objects = bolt_shrink_scan;
	/* One scan settles all: any is worth it. */
	shrinker->batch = 1;
	shrinker_register(shrinker);
	return 0;
}
late_initcall(bolt_shrinker_init);

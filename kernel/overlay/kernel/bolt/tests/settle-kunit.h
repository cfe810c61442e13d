/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: memory and counters of the highest CPU while it is parked, on its way
 * back, and settled. Code that drains or adds up per-CPU data must find what the CPU
 * keeps (law 3).
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_SETTLE_KUNIT_H
#define _BOLT_TESTS_SETTLE_KUNIT_H

#include <linux/gfp.h>
#include <linux/iova.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/percpu_counter.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/swap.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include "fixture.h"

/* Declared in mm/page_alloc.h, or in older kernels in mm/internal.h. */
void zone_pcp_disable(struct zone *zone);
void zone_pcp_enable(struct zone *zone);

/*
 * The @batch of percpu_counter_add_batch(): a CPU whose count reaches this number folds
 * the count. The tests count less on each CPU, so that each count stays on its CPU.
 */
#define BATCH 1000

/* More counters than settling folds in one part. */
#define COUNTERS 3000

static unsigned int victim;

struct memory_test {
	struct bolt_fixture fixture;
	struct percpu_counter counter;
	int watching;		/* the hotplug state whose startup is look_on_return() */
};

static int memory_init(struct kunit *test)
{
	struct memory_test *mt;
	int err;

	if (num_online_cpus() < 3)
		kunit_skip(test, "fewer than three CPUs are online");
	mt = kunit_kzalloc(test, sizeof(*mt), GFP_KERNEL);
	if (!mt)
		return -ENOMEM;
	err = bolt_fixture_begin(test, &mt->fixture);
	if (err)
		return err;
	victim = mt->fixture.victim;
	test->priv = mt;
	return percpu_counter_init(&mt->counter, 0, GFP_KERNEL);
}

static void memory_exit(struct kunit *test)
{
	struct memory_test *mt = test->priv;

	if (!mt)
		return;
	bolt_fixture_end(&mt->fixture);
	if (mt->watching > 0)
		cpuhp_remove_state_nocalls(mt->watching);
	percpu_counter_destroy(&mt->counter);
}

/*
 * The memory zone in which @test->priv lies. @test itself lies on a stack, and
 * virt_to_page() does not work for stacks in vmalloc space.
 */
static struct zone *zone_of_test(struct kunit *test)
{
	return page_zone(virt_to_page(test->priv));
}

static void on_cpu(struct kunit *test, unsigned int cpu, int (*func)(void *),
		   void *arg)
{
	KUNIT_ASSERT_EQ(test, smp_call_on_cpu(cpu, func, arg, false), 0);
}

/* What a callback finds early in a bring-up of the victim, on the control CPU. */
static struct {
	struct percpu_counter *counter;
	s64 sum;
	bool added;
} found;

static int look_on_return(unsigned int cpu)
{
	if (cpu != victim)
		return 0;
	found.sum = percpu_counter_sum(found.counter);
	found.added = __percpu_counter_limited_add(found.counter, BATCH, 2, BATCH);
	return 0;
}

static int count_most_of_a_batch(void *arg)
{
	percpu_counter_add_batch(arg, BATCH - 1, BATCH);
	return 0;
}

static void sums_are_exact(struct kunit *test)
{
	struct memory_test *mt = test->priv;
	struct percpu_counter *counter = &mt->counter;

	found.counter = counter;
	mt->watching = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN,
						 "bolt/test:returning",
						 look_on_return, NULL);
	KUNIT_ASSERT_GT(test, mt->watching, 0);
	on_cpu(test, victim, count_most_of_a_batch, counter);

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, *per_cpu_ptr(counter->counters, victim),
			BATCH - 1);
	KUNIT_EXPECT_EQ(test, percpu_counter_sum(counter), BATCH - 1);
	KUNIT_EXPECT_FALSE(test, __percpu_counter_limited_add(counter, BATCH, 2,
							      BATCH));

	found.added = true;
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, found.sum, BATCH - 1);
	KUNIT_EXPECT_FALSE(test, found.added);
	KUNIT_EXPECT_EQ(test, percpu_counter_sum(counter), BATCH - 1);

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	bolt_settle_cpu(victim);
	KUNIT_EXPECT_EQ(test, *per_cpu_ptr(counter->counters, victim), 0);
	KUNIT_EXPECT_EQ(test, percpu_counter_sum(counter), BATCH - 1);
	found.sum = 0;
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, found.sum, BATCH - 1);
}

/*
 * The comparison of a counter's sum is right although a parked CPU keeps a part of
 * the sum.
 */
static void comparisons_count_parked_cpus(struct kunit *test)
{
	struct memory_test *mt = test->priv;
	struct percpu_counter *counter = &mt->counter;
	s64 others = (num_online_cpus() - 1) * BATCH;
	unsigned int cpu;

	for_each_online_cpu(cpu)
		on_cpu(test, cpu, count_most_of_a_batch, counter);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test,
			__percpu_counter_compare(counter, others + BATCH / 2,
						 BATCH), 1);
	KUNIT_EXPECT_FALSE(test,
			   __percpu_counter_limited_add(counter,
							others + BATCH / 2, 1,
							BATCH));
}

static int count_in_all(void *arg)
{
	struct percpu_counter *counters = arg;
	int i;

	for (i = 0; i < COUNTERS; i++)
		percpu_counter_add_batch(&counters[i], i, COUNTERS);
	return 0;
}

static void destroy_counters(void *arg)
{
	struct percpu_counter *counters = arg;
	int i;

	for (i = 0; i < COUNTERS; i++)
		percpu_counter_destroy(&counters[i]);
}

/*
 * Settling folds some counters at a time. No count is lost if the CPU comes back in
 * between.
 */
static void settling_in_parts_folds_all(struct kunit *test)
{
	struct percpu_counter *counters;
	int i, left = 0;

	counters = kunit_kzalloc(test, COUNTERS * sizeof(*counters),
				 GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, counters);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, destroy_counters, counters), 0);
	for (i = 0; i < COUNTERS; i++)
		KUNIT_ASSERT_EQ(test, percpu_counter_init(&counters[i], 0,
							  GFP_KERNEL), 0);
	on_cpu(test, victim, count_in_all, counters);

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	/* The counter that was initialised last is the first that settling folds. */
	while (*per_cpu_ptr(counters[COUNTERS - 1].counters, victim))
		KUNIT_ASSERT_EQ(test, bolt_settle_next(victim, BOLT_ELIDE), 1);
	for (i = 0; i < COUNTERS; i++)
		left += *per_cpu_ptr(counters[i].counters, victim) != 0;
	KUNIT_EXPECT_GT(test, left, COUNTERS / 2);

	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	on_cpu(test, victim, count_in_all, counters);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	bolt_settle_cpu(victim);
	for (i = 0; i < COUNTERS; i++) {
		if (*per_cpu_ptr(counters[i].counters, victim) ||
		    percpu_counter_read(&counters[i]) != 2 * i)
			break;
	}
	KUNIT_EXPECT_EQ_MSG(test, i, COUNTERS, "this counter was not folded, or adds up wrongly");
}

/* percpu_counter_batch depends on the CPUs that are online, not on parked CPUs. */
static void batch_is_native(struct kunit *test)
{
	int batch = percpu_counter_batch;

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	percpu_counter_batch = 0;
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, percpu_counter_batch, batch);
	percpu_counter_batch = 0;
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, percpu_counter_batch,
			max(32, 2 * (int)num_online_cpus()));
}

struct slab_user {
	struct kmem_cache *cache;
	void *object;
};

static int take_object(void *arg)
{
	struct slab_user *user = arg;

	user->object = kmem_cache_alloc(user->cache, GFP_KERNEL);
	return user->object ? 0 : -ENOMEM;
}

/*
 * The slabs of a parked CPU are flushed when their cache is shrunk, and when the cache
 * is destroyed, which warns if slabs are left.
 */
static void slabs_are_flushed(struct kunit *test)
{
	struct slab_user user;

	user.cache = kmem_cache_create("bolt_test", 64, 0, SLAB_NO_MERGE, NULL);
	KUNIT_ASSERT_NOT_NULL(test, user.cache);
	on_cpu(test, victim, take_object, &user);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	kmem_cache_free(user.cache, user.object);
	KUNIT_EXPECT_EQ(test, kmem_cache_shrink(user.cache), 0);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);

	on_cpu(test, victim, take_object, &user);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	kmem_cache_free(user.cache, user.object);
	kmem_cache_destroy(user.cache);
}

static int free_pages_here(void *unused)
{
	unsigned long pages[8];
	int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		pages[i] = __get_free_page(GFP_KERNEL);
	for (i = 0; i < ARRAY_SIZE(pages); i++)
		free_page(pages[i]);
	return 0;
}

static int pages_of(unsigned int cpu)
{
	struct zone *zone;
	int pages = 0;

	for_each_populated_zone(zone)
		pages += per_cpu_ptr(zone->per_cpu_pageset, cpu)->count;
	return pages;
}

static void pages_are_kept_and_drained(struct kunit *test)
{
	struct zone *zone;

	on_cpu(test, victim, free_pages_here, NULL);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_GT(test, pages_of(victim), 0);
	for_each_populated_zone(zone)
		drain_all_pages(zone);
	KUNIT_EXPECT_EQ(test, pages_of(victim), 0);

	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	on_cpu(test, victim, free_pages_here, NULL);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_GT(test, pages_of(victim), 0);
	bolt_settle_cpu(victim);
	KUNIT_EXPECT_EQ(test, pages_of(victim), 0);
}

/*
 * When a CPU is settled, the page lists of the other CPUs may hold more pages; when a
 * CPU returns, the lists may hold fewer pages again. Only CPUs of the zone's node count.
 */
static void page_lists_are_sized_as_natively(struct kunit *test)
{
	struct zone *zone = zone_of_test(test);
	const struct cpumask *near = cpumask_of_node(zone_to_nid(zone));
	unsigned int second = cpumask_next(cpumask_first(near), near);
	unsigned int last = cpumask_last(near), nr = cpumask_weight(near);
	int with_all = zone->pageset_high_min, native;

	if (nr < 3)
		kunit_skip(test, "the zone's node has fewer than three CPUs");
	/* Natively a list is not made smaller than this, however many CPUs there are. */
	if (low_wmark_pages(zone) / (nr - 1) <= 4 * zone->pageset_batch)
		kunit_skip(test, "the zone is small for so many CPUs");
	KUNIT_ASSERT_EQ(test, bolt_enable(false), 0);
	KUNIT_ASSERT_EQ(test, remove_cpu(second), 0);
	native = zone->pageset_high_min;
	KUNIT_ASSERT_EQ(test, add_cpu(second), 0);
	KUNIT_ASSERT_EQ(test, bolt_enable(true), 0);
	KUNIT_EXPECT_NE(test, native, with_all);

	KUNIT_ASSERT_EQ(test, remove_cpu(last), 0);
	KUNIT_EXPECT_EQ(test, zone->pageset_high_min, with_all);
	KUNIT_ASSERT_EQ(test, remove_cpu(second), 0);
	bolt_settle_cpu(second);
	KUNIT_EXPECT_GT(test, zone->pageset_high_min, native);
	KUNIT_ASSERT_EQ(test, add_cpu(last), 0);
	KUNIT_EXPECT_EQ(test, zone->pageset_high_min, native);
	KUNIT_ASSERT_EQ(test, add_cpu(second), 0);
	KUNIT_EXPECT_EQ(test, zone->pageset_high_min, with_all);

	/* The sizes stay when @second comes, but must change when @last comes. */
	KUNIT_ASSERT_EQ(test, remove_cpu(second), 0);
	bolt_settle_cpu(second);
	KUNIT_ASSERT_EQ(test, remove_cpu(last), 0);
	KUNIT_ASSERT_EQ(test, add_cpu(second), 0);
	KUNIT_ASSERT_EQ(test, add_cpu(last), 0);
	KUNIT_EXPECT_EQ(test, zone->pageset_high_min, with_all);
}

static int late_state;

static int late_startup(unsigned int cpu)
{
	return 0;
}

static void set_up_late_state(struct work_struct *work)
{
	WRITE_ONCE(late_state, cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "bolt/test:late",
							 late_startup, NULL));
}

static void settle_victim(struct work_struct *work)
{
	bolt_settle_cpu(victim);
}

/*
 * A task that takes memory offline holds the lock of the page lists while it moves pages.
 * Settling then waits, but lets other tasks register hotplug states.
 */
static void settling_lets_states_be_registered(struct kunit *test)
{
	struct zone *zone = zone_of_test(test);
	struct work_struct settle, set_up;
	unsigned int i;

	INIT_WORK_ONSTACK(&settle, settle_victim);
	INIT_WORK_ONSTACK(&set_up, set_up_late_state);
	late_state = 0;
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	zone_pcp_disable(zone);
	schedule_work(&settle);
	msleep(50);
	KUNIT_EXPECT_TRUE(test, bolt_set_has(bolt_pending(victim), CPUHP_PAGE_ALLOC));
	schedule_work(&set_up);
	for (i = 0; i < 100 && !READ_ONCE(late_state); i++)
		msleep(20);
	KUNIT_EXPECT_GT(test, READ_ONCE(late_state), 0);
	zone_pcp_enable(zone);
	flush_work(&set_up);
	flush_work(&settle);
	destroy_work_on_stack(&set_up);
	destroy_work_on_stack(&settle);
	if (late_state > 0)
		cpuhp_remove_state_nocalls(late_state);
	KUNIT_EXPECT_FALSE(test, bolt_test_parked(victim));
	KUNIT_EXPECT_EQ(test, add_cpu(victim), 0);
}

static DECLARE_COMPLETION(victim_torn_down);

static int lazy_teardown(unsigned int cpu)
{
	if (cpu == victim)
		complete(&victim_torn_down);
	return 0;
}

/*
 * While a state of one CPU is busy, the worker settles other CPUs. The worker looks at
 * the victim last, as no other CPU has a higher number.
 */
static void a_busy_state_holds_up_no_other_cpu(struct kunit *test)
{
	static const struct bolt_defer lazy = {
		.class = BOLT_LAZY,
		.reason = "test",
	};
	struct zone *zone = zone_of_test(test);
	static struct cpumask others;
	unsigned int other;
	int state;

	cpumask_clear(&others);
	bolt_test_choose(&others);
	cpumask_clear_cpu(victim, &others);
	if (cpumask_empty(&others))
		kunit_skip(test, "fewer than two CPUs besides CPU 0 can go");
	other = cpumask_first(&others);
	reinit_completion(&victim_torn_down);
	state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "bolt/test:lazy",
					  late_startup, lazy_teardown);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_EQ(test, bolt_defer_state(state, &lazy), 0);
	KUNIT_EXPECT_EQ(test, remove_cpu(other), 0);
	KUNIT_EXPECT_EQ(test, remove_cpu(victim), 0);
	zone_pcp_disable(zone);
	bolt_settle_delay(1);
	KUNIT_EXPECT_NE(test, 0,
			wait_for_completion_timeout(&victim_torn_down, 2 * HZ));
	KUNIT_EXPECT_TRUE(test, bolt_set_has(bolt_pending(other), CPUHP_PAGE_ALLOC));
	zone_pcp_enable(zone);
	KUNIT_EXPECT_EQ(test, add_cpu(other), 0);
	KUNIT_EXPECT_EQ(test, add_cpu(victim), 0);
	cpuhp_remove_state_nocalls(state);
}

static DECLARE_COMPLETION(all_settled);

static void settle_all(struct work_struct *work)
{
	bolt_settle_all();
	complete(&all_settled);
}

/*
 * A reboot calls bolt_settle_all(), in bolt_all_whole(). While Bolt is disabled,
 * bolt_settle_all() must not wait for the locks of bolt_lock_states(): a task that
 * registers a hotplug state may hold these locks for ever, in a callback that hangs.
 */
static void disabled_needs_no_lock(struct kunit *test)
{
	struct work_struct settle;

	KUNIT_ASSERT_EQ(test, bolt_enable(false), 0);
	INIT_WORK_ONSTACK(&settle, settle_all);
	reinit_completion(&all_settled);
	bolt_lock_states();
	schedule_work(&settle);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&all_settled, HZ), 0);
	bolt_unlock_states();
	flush_work(&settle);
	destroy_work_on_stack(&settle);
	KUNIT_EXPECT_EQ(test, bolt_enable(true), 0);
}

static int mlock_one(void *zone)
{
	mod_zone_page_state(zone, NR_MLOCK, 1);
	return 0;
}

static void counters_are_folded_at_once(struct kunit *test)
{
	static unsigned long before[NR_VM_EVENT_ITEMS];
	static unsigned long after[NR_VM_EVENT_ITEMS];
	struct zone *zone = zone_of_test(test);
	unsigned long mlocked;
	int i;

	on_cpu(test, victim, mlock_one, zone);
	mlocked = zone_page_state_snapshot(zone, NR_MLOCK);
	all_vm_events(before);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	all_vm_events(after);
	KUNIT_EXPECT_EQ(test, zone_page_state_snapshot(zone, NR_MLOCK),
			mlocked);
	mod_zone_page_state(zone, NR_MLOCK, -1);

	for (i = 0; i < NR_VM_EVENT_ITEMS; i++) {
		KUNIT_EXPECT_GE_MSG(test, after[i], before[i], "event %d", i);
		KUNIT_EXPECT_EQ(test, per_cpu(vm_event_states, victim).event[i],
				0);
	}
}

static int add_to_lru(void *folio)
{
	folio_add_lru(folio);
	return 0;
}

static void folios_are_not_pinned(struct kunit *test)
{
	struct folio *folio = folio_alloc(GFP_KERNEL, 0);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	/* A page on an LRU list must be charged to a control group. */
	KUNIT_ASSERT_EQ(test, mem_cgroup_charge(folio, NULL, GFP_KERNEL), 0);
	on_cpu(test, victim, add_to_lru, folio);
	KUNIT_EXPECT_EQ(test, folio_ref_count(folio), 2);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, folio_ref_count(folio), 1);
	folio_put(folio);
}

static s8 *threshold_of(struct kunit *test, unsigned int cpu)
{
	struct zone *zone = zone_of_test(test);

	return &per_cpu_ptr(zone->per_cpu_zonestats, cpu)->stat_threshold;
}

/* A CPU returns with its old threshold, or with a new one that was set in its absence. */
static void thresholds_follow_changes(struct kunit *test)
{
	s8 *own = threshold_of(test, victim), *first = threshold_of(test, 0);
	s8 before = *first;

	*own = 1;
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, *first, before);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, *own, 1);

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	refresh_zone_stat_thresholds();
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, *own, before);
	KUNIT_EXPECT_EQ(test, *first, before);
}

/*
 * A function that is called while thresholds are being set, before the thresholds of
 * @zone are set.
 */
static void (*in_between)(struct kunit *test, struct zone *zone);
static struct kunit *in_between_test;

static int new_threshold(struct zone *zone)
{
	in_between(in_between_test, zone);
	return 7;
}

static int zones_of(pg_data_t *pgdat)
{
	struct zone *zone;
	int zones = 0;

	for_each_populated_zone(zone)
		zones += zone->zone_pgdat == pgdat;
	return zones;
}

/* Returns the node with the most zones. */
static pg_data_t *zoned_node(void)
{
	pg_data_t *pgdat, *most = NULL;

	for_each_online_pgdat(pgdat) {
		if (!most || zones_of(pgdat) > zones_of(most))
			most = pgdat;
	}
	return most;
}

/* Sets thresholds as kswapd does, which takes no lock that keeps requests off. */
static void set_thresholds(struct kunit *test,
			   void (*func)(struct kunit *test, struct zone *zone))
{
	pg_data_t *pgdat = zoned_node();
	unsigned long marks[MAX_NR_ZONES];
	int i;

	in_between = func;
	in_between_test = test;
	/*
	 * Zones without a drift mark are passed over when thresholds are set, so
	 * every zone with memory gets a drift mark here.
	 */
	for (i = 0; i < pgdat->nr_zones; i++) {
		marks[i] = pgdat->node_zones[i].percpu_drift_mark;
		if (populated_zone(&pgdat->node_zones[i]))
			pgdat->node_zones[i].percpu_drift_mark = 1;
	}
	set_pgdat_percpu_threshold(pgdat, new_threshold);
	for (i = 0; i < pgdat->nr_zones; i++)
		pgdat->node_zones[i].percpu_drift_mark = marks[i];
}

/* Expects that in each zone all CPUs that are online have the same threshold. */
static void expect_equal_thresholds(struct kunit *test)
{
	struct zone *zone;
	unsigned int cpu;

	for_each_populated_zone(zone) {
		s8 first = per_cpu_ptr(zone->per_cpu_zonestats,
				       0)->stat_threshold;

		for_each_online_cpu(cpu)
			KUNIT_EXPECT_EQ_MSG(test, per_cpu_ptr(zone->per_cpu_zonestats,
							      cpu)->stat_threshold,
					    first, "zone %s, CPU %u", zone->name, cpu);
	}
}

static void leave(struct kunit *test, struct zone *zone)
{
	if (cpu_online(victim))
		KUNIT_EXPECT_EQ(test, remove_cpu(victim), 0);
}

/* A CPU that leaves while thresholds are being set has the new ones when it returns. */
static void thresholds_are_set_while_leaving(struct kunit *test)
{
	set_thresholds(test, leave);
	KUNIT_EXPECT_FALSE(test, cpu_online(victim));
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	expect_equal_thresholds(test);
	refresh_zone_stat_thresholds();
}

/*
 * The CPU comes back before the thresholds of the last zone are set; the thresholds of
 * all other zones were set without the CPU.
 */
static void come(struct kunit *test, struct zone *zone)
{
	struct zone *last = NULL, *z;

	for_each_populated_zone(z) {
		if (z->zone_pgdat == zone->zone_pgdat)
			last = z;
	}
	if (zone == last)
		KUNIT_EXPECT_EQ(test, add_cpu(victim), 0);
}

/* A CPU that returns while thresholds are being set gets those that it has missed. */
static void thresholds_are_set_while_coming(struct kunit *test)
{
	if (zones_of(zoned_node()) < 2)
		kunit_skip(test, "only one zone, and so no moment between two zones");
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	set_thresholds(test, come);
	KUNIT_EXPECT_TRUE(test, cpu_online(victim));
	expect_equal_thresholds(test);
	refresh_zone_stat_thresholds();
}

static void leave_and_come(struct kunit *test, struct zone *zone)
{
	leave(test, zone);
	come(test, zone);
}

/* A CPU that leaves and returns while thresholds are being set gets all of them. */
static void thresholds_are_set_meanwhile(struct kunit *test)
{
	set_thresholds(test, leave_and_come);
	KUNIT_EXPECT_TRUE(test, cpu_online(victim));
	expect_equal_thresholds(test);
	refresh_zone_stat_thresholds();
}

#if IS_BUILTIN(CONFIG_IOMMU_IOVA)
#define LIMIT_PFN 8

struct iova_user {
	struct iova_domain domain;
	unsigned long pfn;
};

static int free_iova_here(void *arg)
{
	struct iova_user *user = arg;

	free_iova_fast(&user->domain, user->pfn, 1);
	return 0;
}

static void put_domain(void *arg)
{
	struct iova_user *user = arg;

	put_iova_domain(&user->domain);
	iova_cache_put();
}

/*
 * CPUs keep free addresses in magazines. An allocation that may flush the magazines finds
 * the last free address, which lies in a magazine of the parked CPU.
 */
static void addresses_are_found(struct kunit *test)
{
	struct iova_user *user;
	unsigned long pfn;

	user = kunit_kzalloc(test, sizeof(*user), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_ASSERT_EQ(test, iova_cache_get(), 0);
	init_iova_domain(&user->domain, PAGE_SIZE, 1);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_domain, user), 0);
	KUNIT_ASSERT_EQ(test, iova_domain_init_rcaches(&user->domain), 0);
	while ((pfn = alloc_iova_fast(&user->domain, 1, LIMIT_PFN, true)))
		user->pfn = pfn;
	on_cpu(test, victim, free_iova_here, user);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, alloc_iova_fast(&user->domain, 1, LIMIT_PFN, false),
			0);
	KUNIT_EXPECT_EQ(test, alloc_iova_fast(&user->domain, 1, LIMIT_PFN, true),
			user->pfn);
}
#endif

static struct kunit_case bolt_memory_cases[] = {
	KUNIT_CASE(sums_are_exact),
	KUNIT_CASE(comparisons_count_parked_cpus),
	KUNIT_CASE(settling_in_parts_folds_all),
	KUNIT_CASE(batch_is_native),
	KUNIT_CASE(slabs_are_flushed),
	KUNIT_CASE(pages_are_kept_and_drained),
	KUNIT_CASE(page_lists_are_sized_as_natively),
	KUNIT_CASE(settling_lets_states_be_registered),
	KUNIT_CASE(a_busy_state_holds_up_no_other_cpu),
	KUNIT_CASE(disabled_needs_no_lock),
	KUNIT_CASE(counters_are_folded_at_once),
	KUNIT_CASE(folios_are_not_pinned),
	KUNIT_CASE(thresholds_follow_changes),
	KUNIT_CASE(thresholds_are_set_while_leaving),
	KUNIT_CASE(thresholds_are_set_while_coming),
	KUNIT_CASE(thresholds_are_set_meanwhile),
#if IS_BUILTIN(CONFIG_IOMMU_IOVA)
	KUNIT_CASE(addresses_are_found),
#endif
	{}
};

static struct kunit_suite bolt_memory_suite = {
	.name = "bolt_memory",
	.init = memory_init,
	.exit = memory_exit,
	.test_cases = bolt_memory_cases,
};

kunit_test_suite(bolt_memory_suite);

#endif /* _BOLT_TESTS_SETTLE_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

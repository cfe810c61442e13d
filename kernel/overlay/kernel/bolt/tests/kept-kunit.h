/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: how much memory the highest CPU keeps while it is parked. The bytes that are
 * counted are the bytes that settling gives back.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_KEPT_KUNIT_H
#define _BOLT_TESTS_KEPT_KUNIT_H

#include <linux/bio.h>
#include <linux/gfp.h>
#include <linux/iova.h>
#include <linux/kernfs.h>
#include <linux/kthread.h>
#include <linux/mmzone.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "fixture.h"

/* How many free stacks kernel/fork.c keeps for a CPU at the most. */
#define STACKS 2

/* How many pages a test frees on the CPU. */
#define PAGES 8

/* How many bios, and ranges of I/O addresses, a test frees on the CPU. */
#define BIOS 3
#define RANGES 5

static int kept_init(struct kunit *test)
{
	struct bolt_fixture *fixture;
	int err;

	fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);
	if (!fixture)
		return -ENOMEM;
	err = bolt_fixture_begin(test, fixture);
	if (!err)
		test->priv = fixture;
	return err;
}

static void kept_exit(struct kunit *test)
{
	if (test->priv)
		bolt_fixture_end(test->priv);
}

static unsigned int kept_victim(struct kunit *test)
{
	struct bolt_fixture *fixture = test->priv;

	return fixture->victim;
}

/* Returns how many bytes the CPU of @test keeps for @state. */
static unsigned long kept_for(struct kunit *test, enum cpuhp_state state)
{
	unsigned long bytes;

	bolt_lock_states();
	bytes = bolt_kept_by(kept_victim(test), state);
	bolt_unlock_states();
	return bytes;
}

static unsigned long kept_for_all(struct kunit *test)
{
	unsigned long bytes = 0;
	int state;

	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++)
		bytes += kept_for(test, state);
	return bytes;
}

static int kept_use_pages(void *unused)
{
	unsigned long pages[PAGES];
	int i;

	for (i = 0; i < PAGES; i++)
		pages[i] = __get_free_page(GFP_KERNEL);
	for (i = 0; i < PAGES; i++)
		free_page(pages[i]);
	return 0;
}

static unsigned long kept_pages(unsigned int cpu)
{
	unsigned long pages = 0;
	struct zone *zone;

	for_each_populated_zone(zone)
		pages += per_cpu_ptr(zone->per_cpu_pageset, cpu)->count;
	return pages;
}

static void pages_are_counted(struct kunit *test)
{
	unsigned int victim = kept_victim(test);
	struct zone *zone;

	KUNIT_ASSERT_EQ(test, smp_call_on_cpu(victim, kept_use_pages, NULL, false), 0);
	KUNIT_EXPECT_EQ(test, kept_for(test, CPUHP_PAGE_ALLOC), 0);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, kept_for(test, CPUHP_PAGE_ALLOC),
			kept_pages(victim) << PAGE_SHIFT);
	KUNIT_EXPECT_GT(test, kept_for(test, CPUHP_PAGE_ALLOC), 0);
	for_each_populated_zone(zone)
		drain_all_pages(zone);
	KUNIT_EXPECT_EQ(test, kept_for(test, CPUHP_PAGE_ALLOC), 0);
}

struct kept_object {
	struct kmem_cache *cache;
	void *object;
};

/* Allocates an object, and a second object that is freed at once. */
static int kept_take_object(void *arg)
{
	struct kept_object *taken = arg;
	void *object;

	taken->object = kmem_cache_alloc(taken->cache, GFP_KERNEL);
	object = kmem_cache_alloc(taken->cache, GFP_KERNEL);
	kmem_cache_free(taken->cache, object);
	return taken->object && object ? 0 : -ENOMEM;
}

/*
 * The parked CPU keeps free objects of the cache until the cache is shrunk. An object has
 * half a page; other tasks are unlikely to change the bytes by so much between counts.
 */
static void objects_are_counted(struct kunit *test)
{
	struct kept_object taken = {};
	unsigned long all, less;

	if (IS_ENABLED(CONFIG_SLUB_DEBUG_ON))
		kunit_skip(test, "with SLUB debugging on, CPUs keep no slabs");
	taken.cache = kmem_cache_create("bolt_kept", PAGE_SIZE / 2, 0, SLAB_NO_MERGE, NULL);
	KUNIT_ASSERT_NOT_NULL(test, taken.cache);
	KUNIT_EXPECT_EQ(test, smp_call_on_cpu(kept_victim(test), kept_take_object, &taken,
					      false), 0);
	KUNIT_EXPECT_EQ(test, remove_cpu(kept_victim(test)), 0);
	all = kept_for(test, CPUHP_SLUB_DEAD);
	kmem_cache_free(taken.cache, taken.object);
#ifdef CONFIG_SLUB_CPU_PARTIAL
	/*
	 * The CPU holds the slab of the object, so that the object is one of those
	 * that are kept. KASAN keeps the object from being used again for a while.
	 */
	if (!IS_ENABLED(CONFIG_KASAN))
		KUNIT_EXPECT_GE(test, kept_for(test, CPUHP_SLUB_DEAD),
				all + PAGE_SIZE / 2);
#endif
	all = kept_for(test, CPUHP_SLUB_DEAD);
	kmem_cache_shrink(taken.cache);
	less = kept_for(test, CPUHP_SLUB_DEAD);
	KUNIT_EXPECT_GE(test, all, less + PAGE_SIZE / 2);
	kmem_cache_destroy(taken.cache);
}

static void entries_are_counted(struct kunit *test)
{
	struct device *dev = get_cpu_device(kept_victim(test));
	struct kernfs_node *kn;

	KUNIT_ASSERT_EQ(test, remove_cpu(kept_victim(test)), 0);
	kn = kernfs_find_and_get(dev->kobj.sd, "topology");
	KUNIT_ASSERT_NOT_NULL(test, kn);
	KUNIT_EXPECT_EQ(test, kept_for(test, CPUHP_TOPOLOGY_PREPARE),
			bolt_kernfs_bytes(kn));
	/* The bytes include the directory and at least the files core_id and core_cpus. */
	KUNIT_EXPECT_GT(test, bolt_kernfs_bytes(kn), 2 * sizeof(*kn));
	kernfs_put(kn);
}

#ifdef CONFIG_BLOCK
static int kept_use_bios(void *arg)
{
	struct bio *bios[BIOS];
	int i;

	for (i = 0; i < BIOS; i++)
		bios[i] = bio_alloc_bioset(NULL, 0, REQ_OP_READ | REQ_ALLOC_CACHE,
					   GFP_KERNEL, arg);
	for (i = 0; i < BIOS; i++)
		bio_put(bios[i]);
	return 0;
}

/* No disk is in use when these tests run, so that no other set keeps bios. */
static void bios_are_counted(struct kunit *test)
{
	struct bio_set *bs = kunit_kzalloc(test, sizeof(*bs), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bs);
	KUNIT_ASSERT_EQ(test, bioset_init(bs, BIOS, 0, BIOSET_PERCPU_CACHE), 0);
	KUNIT_EXPECT_EQ(test, smp_call_on_cpu(kept_victim(test), kept_use_bios, bs, false),
			0);
	KUNIT_EXPECT_EQ(test, remove_cpu(kept_victim(test)), 0);
	KUNIT_EXPECT_EQ(test, kept_for(test, CPUHP_BIO_DEAD),
			BIOS * (bs->front_pad + sizeof(struct bio) + bs->back_pad));
	bioset_exit(bs);
	KUNIT_EXPECT_EQ(test, kept_for(test, CPUHP_BIO_DEAD), 0);
}
#endif /* CONFIG_BLOCK */

#if IS_BUILTIN(CONFIG_IOMMU_IOVA)
static int kept_use_ranges(void *arg)
{
	unsigned long pfns[RANGES];
	int i, err = 0;

	for (i = 0; i < RANGES; i++) {
		pfns[i] = alloc_iova_fast(arg, 1, 1000, false);
		if (!pfns[i])
			err = -ENOMEM;
	}
	for (i = 0; i < RANGES; i++) {
		if (pfns[i])
			free_iova_fast(arg, pfns[i], 1);
	}
	return err;
}

/* The bytes may include ranges of other domains, those of devices behind an IOMMU. */
static void ranges_are_counted(struct kunit *test)
{
	struct iova_domain *iovad = kunit_kzalloc(test, sizeof(*iovad), GFP_KERNEL);
	unsigned long bytes;

	KUNIT_ASSERT_NOT_NULL(test, iovad);
	KUNIT_ASSERT_EQ(test, iova_cache_get(), 0);
	init_iova_domain(iovad, PAGE_SIZE, 1);
	KUNIT_EXPECT_EQ(test, iova_domain_init_rcaches(iovad), 0);
	KUNIT_EXPECT_EQ(test, smp_call_on_cpu(kept_victim(test), kept_use_ranges, iovad,
					      false), 0);
	KUNIT_EXPECT_EQ(test, remove_cpu(kept_victim(test)), 0);
	bytes = kept_for(test, CPUHP_IOMMU_IOVA_DEAD);
	KUNIT_EXPECT_GE(test, bytes, RANGES * sizeof(struct iova));
	KUNIT_EXPECT_EQ(test, bytes % sizeof(struct iova), 0);
	put_iova_domain(iovad);
	KUNIT_EXPECT_EQ(test, kept_for(test, CPUHP_IOMMU_IOVA_DEAD),
			bytes - RANGES * sizeof(struct iova));
	iova_cache_put();
}
#endif /* IS_BUILTIN(CONFIG_IOMMU_IOVA) */

#ifdef CONFIG_VMAP_STACK
static int kept_find(const char *name)
{
	int state;

	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++) {
		const char *registered = bolt_state_name(state);

		if (registered && !strcmp(registered, name))
			return state;
	}
	return CPUHP_OFFLINE;
}

static int kept_thread(void *unused)
{
	return 0;
}

/*
 * As many threads end on the CPU as the CPU keeps stacks. All threads are made before
 * the first one ends, because making a thread may take a stack that is kept.
 */
static void stacks_are_counted(struct kunit *test)
{
	int i, state = kept_find("fork:vm_stack_cache");
	struct task_struct *tasks[STACKS];

	KUNIT_ASSERT_NE(test, state, CPUHP_OFFLINE);
	for (i = 0; i < STACKS; i++) {
		tasks[i] = kthread_create(kept_thread, NULL, "bolt_kept");
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tasks[i]);
		kthread_bind(tasks[i], kept_victim(test));
		get_task_struct(tasks[i]);
	}
	for (i = 0; i < STACKS; i++) {
		wake_up_process(tasks[i]);
		kthread_stop_put(tasks[i]);
	}
	KUNIT_ASSERT_EQ(test, remove_cpu(kept_victim(test)), 0);
	KUNIT_EXPECT_EQ(test, kept_for(test, state), STACKS * THREAD_SIZE);
}
#endif /* CONFIG_VMAP_STACK */

/*
 * Other CPUs give nothing to a parked CPU, except, in 6.12, objects whose slab the parked
 * CPU holds already.
 */
static void nothing_is_added_while_parked(struct kunit *test)
{
	static unsigned long kept[BOLT_NR_STATES];
	unsigned int cpu;
	int state;

	KUNIT_ASSERT_EQ(test, remove_cpu(kept_victim(test)), 0);
	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++)
		kept[state] = kept_for(test, state);
	for_each_online_cpu(cpu)
		KUNIT_EXPECT_EQ(test, smp_call_on_cpu(cpu, kept_use_pages, NULL, false), 0);
	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++) {
		if (state == CPUHP_SLUB_DEAD)
			continue;
		KUNIT_EXPECT_LE_MSG(test, kept_for(test, state), kept[state], "%s",
				    bolt_state_name(state));
	}
}

static void nothing_is_kept_in_the_end(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kept_for_all(test), 0);
	KUNIT_ASSERT_EQ(test, remove_cpu(kept_victim(test)), 0);
	KUNIT_EXPECT_GT(test, kept_for_all(test), 0);
	KUNIT_ASSERT_EQ(test, add_cpu(kept_victim(test)), 0);
	KUNIT_EXPECT_EQ(test, kept_for_all(test), 0);
	KUNIT_ASSERT_EQ(test, remove_cpu(kept_victim(test)), 0);
	bolt_settle_cpu(kept_victim(test));
	KUNIT_EXPECT_EQ(test, kept_for_all(test), 0);
}

static struct kunit_case bolt_kept_cases[] = {
	KUNIT_CASE(pages_are_counted),
	KUNIT_CASE(objects_are_counted),
	KUNIT_CASE(entries_are_counted),
#ifdef CONFIG_BLOCK
	KUNIT_CASE(bios_are_counted),
#endif
#if IS_BUILTIN(CONFIG_IOMMU_IOVA)
	KUNIT_CASE(ranges_are_counted),
#endif
#ifdef CONFIG_VMAP_STACK
	KUNIT_CASE(stacks_are_counted),
#endif
	KUNIT_CASE(nothing_is_added_while_parked),
	KUNIT_CASE(nothing_is_kept_in_the_end),
	{}
};

static struct kunit_suite bolt_kept_suite = {
	.name = "bolt_kept",
	.init = kept_init,
	.exit = kept_exit,
	.test_cases = bolt_kept_cases,
};

kunit_test_suite(bolt_kept_suite);

#endif /* _BOLT_TESTS_KEPT_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

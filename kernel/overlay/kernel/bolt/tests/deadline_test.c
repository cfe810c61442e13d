// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: the heap of earliest deadlines names a CPU only while that CPU is in the heap.
 */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/mmu_context.h>

#include "../../sched/sched.h"

#define DEADLINE 1000 /* in ns; later than the deadline of the test's task, which is 0 */

/* The test's task may run on all CPUs. No CPU is free, as free_cpus is empty. */
static int found(struct cpudl *heap, struct cpumask *mask)
{
	cpumask_clear(mask);
	return cpudl_find(heap, current, mask);
}

static void only_while_in_the_heap(struct kunit *test)
{
	struct cpumask *mask = kunit_kzalloc(test, cpumask_size(), GFP_KERNEL);
	unsigned int cpu = cpumask_last(cpu_present_mask);
	struct cpudl heap = {};

	KUNIT_ASSERT_NOT_NULL(test, mask);
	KUNIT_ASSERT_EQ(test, current->dl.deadline, 0);
	KUNIT_ASSERT_EQ(test, cpudl_init(&heap), 0);
	KUNIT_EXPECT_EQ(test, found(&heap, mask), 0);
	KUNIT_EXPECT_TRUE(test, cpumask_empty(mask));

	cpudl_set(&heap, cpu, DEADLINE);
	KUNIT_EXPECT_EQ(test, found(&heap, mask), 1);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(mask, cpumask_of(cpu)));

	cpudl_clear(&heap, cpu, false);
	KUNIT_EXPECT_EQ(test, found(&heap, mask), 0);
	KUNIT_EXPECT_TRUE(test, cpumask_empty(mask));
	cpudl_cleanup(&heap);
}

static struct kunit_case bolt_deadline_cases[] = {
	KUNIT_CASE(only_while_in_the_heap),
	{}
};

static struct kunit_suite bolt_deadline_suite = {
	.name = "bolt_deadline",
	.test_cases = bolt_deadline_cases,
};

kunit_test_suite(bolt_deadline_suite);

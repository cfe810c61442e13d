// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: if each CPU is in its own mask, topology_masks_sane(), which checks a level of
 * scheduler domains CPU by CPU, has the same result as a check of all pairs of CPUs.
 */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/mmu_context.h>
#include <linux/prandom.h>

#include "../../sched/sched.h"

#define CPUS 4U	/* as many CPUs as the smallest machine that tests run on */
#define ROUNDS 20000

static struct cpumask masks[CPUS], map, seen, first;

static const struct cpumask *level_mask(int cpu)
{
	return &masks[cpu];
}

/* Compares the masks of all pairs of CPUs, as the scheduler does natively. */
static bool pairs_are_sane(void)
{
	unsigned int one, other;

	for_each_cpu(one, &map) {
		for_each_cpu(other, &map) {
			if (!cpumask_equal(&masks[one], &masks[other]) &&
			    cpumask_intersects(&masks[one], &masks[other]))
				return false;
		}
	}
	return true;
}

static bool level_is_sane(void)
{
	return topology_masks_sane(level_mask, &map, &seen, &first);
}

static void set_masks(const unsigned long *bits)
{
	unsigned int cpu, bit;

	for (cpu = 0; cpu < CPUS; cpu++) {
		cpumask_clear(&masks[cpu]);
		for (bit = 0; bit < CPUS; bit++) {
			if (bits[cpu] & BIT(bit))
				cpumask_set_cpu(bit, &masks[cpu]);
		}
	}
}

static void set_map(unsigned long bits)
{
	unsigned int bit;

	cpumask_clear(&map);
	for (bit = 0; bit < CPUS; bit++) {
		if (bits & BIT(bit))
			cpumask_set_cpu(bit, &map);
	}
}

static void sane_ones(struct kunit *test)
{
	static const unsigned long levels[][CPUS] = {
		{ 0x1, 0x2, 0x4, 0x8 },
		{ 0x3, 0x3, 0xc, 0xc },
		{ 0x5, 0xa, 0x5, 0xa },
		{ 0xf, 0xf, 0xf, 0xf },
		{ 0x7, 0x7, 0x7, 0x8 },
	};
	int i;

	set_map(0xf);
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		set_masks(levels[i]);
		KUNIT_EXPECT_TRUE_MSG(test, level_is_sane(), "level %d", i);
	}
}

static void broken_ones(struct kunit *test)
{
	static const unsigned long levels[][CPUS] = {
		{ 0x3, 0x2, 0x4, 0x8 },	/* only CPU 0's mask has CPUs 0 and 1 */
		{ 0x1, 0x3, 0x4, 0x8 },	/* only CPU 1's mask has CPUs 0 and 1 */
		{ 0x3, 0x3, 0x6, 0x8 },	/* two masks overlap in CPU 1 */
		{ 0x3, 0x6, 0xc, 0x9 },	/* the masks overlap in a ring */
		{ 0x7, 0x7, 0x5, 0x8 },	/* CPU 2's mask lacks CPU 1 */
		{ 0xf, 0xf, 0xc, 0xc },	/* one mask inside the other */
		{ 0x3, 0x3, 0xc, 0xe },	/* CPU 3's mask has CPU 1, too */
	};
	int i;

	set_map(0xf);
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		set_masks(levels[i]);
		KUNIT_EXPECT_FALSE_MSG(test, level_is_sane(), "level %d", i);
	}
}

/* Every CPU is in its own mask; all else in the masks and in the map is random. */
static void as_pair_by_pair(struct kunit *test)
{
	unsigned int round, cpu, sane = 0, broken = 0;
	unsigned long bits[CPUS];
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 1);
	for (round = 0; round < ROUNDS; round++) {
		for (cpu = 0; cpu < CPUS; cpu++)
			bits[cpu] = (prandom_u32_state(&rnd) & prandom_u32_state(&rnd) &
				     (BIT(CPUS) - 1)) | BIT(cpu);
		set_masks(bits);
		set_map(prandom_u32_state(&rnd) & (BIT(CPUS) - 1));
		if (pairs_are_sane())
			sane++;
		else
			broken++;
		if (level_is_sane() != pairs_are_sane()) {
			KUNIT_FAIL(test, "masks %lx %lx %lx %lx, map %*pbl", bits[0],
				   bits[1], bits[2], bits[3], cpumask_pr_args(&map));
			return;
		}
	}
	KUNIT_EXPECT_GT(test, sane, ROUNDS / 20);
	KUNIT_EXPECT_GT(test, broken, ROUNDS / 20);
}

static int topology_init(struct kunit *test)
{
	if (nr_cpu_ids < CPUS)
		kunit_skip(test, "needs %u CPUs", CPUS);
	return 0;
}

static struct kunit_case bolt_topology_cases[] = {
	KUNIT_CASE(sane_ones),
	KUNIT_CASE(broken_ones),
	KUNIT_CASE(as_pair_by_pair),
	{}
};

static struct kunit_suite bolt_topology_suite = {
	.name = "bolt_topology",
	.init = topology_init,
	.test_cases = bolt_topology_cases,
};

kunit_test_suite(bolt_topology_suite);

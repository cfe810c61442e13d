// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes a CPU offline and back online again and again. Each time is a pair: Bolt is
 * enabled in each second pair, and in some pairs the CPU is settled while it is offline.
 * No memory may leak, and all files in sysfs about CPUs must come back. BOLT_PAIRS=N sets
 * the number of pairs.
 */
#define _GNU_SOURCE
#include "bolt.h"
#include "env.h"
#include "slabs.h"
#include "tree.h"
#include "../kselftest_harness.h"

#define PAIRS 100
#define WARMUP 16

/*
 * A leak grows all the time; caches that fill, workers that come and go, and names of
 * files that were looked up do not. So slabs are measured after each part of the pairs,
 * and may grow by SLAB_SLACK kB in the part in which they grow least. Per-CPU data and
 * kernel stacks may grow by PERCPU_SLACK and STACK_SLACK kB in all parts together.
 */
#define PARTS 4
#define SLAB_SLACK 48
#define PERCPU_SLACK 8
#define STACK_SLACK 64

struct memory {
	long slab, percpu, kernel_stack;	/* kB */
	struct slabs slabs;
};

/*
 * Returns how many objects a cache may gain in @pairs pairs: half of what a leak of one
 * object in eight pairs adds, and the objects of one more worker.
 */
static long too_many(int pairs)
{
	return pairs / 16 + 3;
}

static long kb_of(const char *key)
{
	char line[256];
	long kb = -1;
	FILE *file = fopen("/proc/meminfo", "r");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			kb = atol(line + strlen(key));
	if (file)
		fclose(file);
	return kb;
}

static void measure(struct memory *now)
{
	/*
	 * Waits for RCU callbacks, and for the up to 4 seconds of
	 * CONFIG_DEBUG_KOBJECT_RELEASE.
	 */
	wait_ms(6000);
	/*
	 * Objects that were looked up, or had a reference, are freed later than other
	 * objects, so the caches are dropped three times.
	 */
	for (int i = 0; i < 3; i++) {
		put("/proc/sys/vm/drop_caches", "3");
		wait_ms(500);
	}
	slabs_count(&now->slabs);
	now->slab = kb_of("Slab:");
	now->percpu = kb_of("Percpu:");
	now->kernel_stack = kb_of("KernelStack:");
}

/*
 * The least that a part of the pairs has added: objects to @cache, or kB to all slabs if
 * @cache is NULL.
 */
static long least_added(const struct memory *after, const char *cache)
{
	long least = LONG_MAX;

	for (int part = 0; part < PARTS; part++) {
		const struct memory *a = &after[part], *b = &after[part + 1];
		long added = cache ? slab_objects(&b->slabs, cache) -
				     slab_objects(&a->slabs, cache) :
				     b->slab - a->slab;

		if (added < least)
			least = added;
	}
	return least;
}

static int pair(int i)
{
	int err = enable(i % 2);

	if (err)
		return err;
	err = set_online(VICTIM, false);
	if (err)
		return err;
	/*
	 * Of eight pairs, one settles the CPU, one disables Bolt while the CPU is parked,
	 * six do neither.
	 */
	if (i % 8 == 3)
		err = settle_all();
	if (!err && i % 8 == 5)
		err = enable(false);
	if (err)
		return err;
	return set_online(VICTIM, true);
}

FIXTURE(churn) {
	struct tree before, after;
};

FIXTURE_SETUP(churn)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over());
}

FIXTURE_TEARDOWN(churn)
{
	tree_free(&self->before);
	tree_free(&self->after);
	if (!cannot_run())
		EXPECT_EQ(0, start_over());
}

TEST_F_TIMEOUT(churn, nothing_leaks, 3600)
{
	int pairs = env_number("BOLT_PAIRS", PAIRS), i = 0;
	const char *line;
	static struct memory after[PARTS + 1];
	const struct memory *last = &after[PARTS];

	ASSERT_GE(pairs, PARTS);
	tree_of_cpus(&self->before, true);
	/*
	 * Makes some pairs first, in which the kernel allocates memory that it
	 * allocates only once.
	 */
	for (; i < WARMUP; i++)
		ASSERT_EQ(0, pair(i));
	for (int part = 0; part <= PARTS; part++) {
		for (; i < WARMUP + pairs * part / PARTS; i++)
			ASSERT_EQ(0, pair(i));
		ASSERT_EQ(0, enable(false));
		measure(&after[part]);
	}
	tree_of_cpus(&self->after, true);

	TH_LOG("%d pairs: slab %ld -> %ld kB, percpu %ld -> %ld kB", pairs,
	       after->slab, last->slab, after->percpu, last->percpu);
	ASSERT_GT(after->slab, 0);
	ASSERT_GT(after->percpu, 0);
	ASSERT_GT(after->slabs.nr, 0);
	for (i = 0; i < last->slabs.nr; i++) {
		const char *name = last->slabs.caches[i].name;

		EXPECT_LE(least_added(after, name), too_many(pairs / PARTS))
			TH_LOG("%s: %ld -> %ld objects", name,
			       slab_objects(&after->slabs, name),
			       slab_objects(&last->slabs, name));
	}
	EXPECT_LE(least_added(after, NULL), SLAB_SLACK);
	EXPECT_LE(last->percpu, after->percpu + PERCPU_SLACK);
	EXPECT_LE(last->kernel_stack, after->kernel_stack + STACK_SLACK);
	line = tree_differ(&self->before, &self->after);
	EXPECT_EQ(NULL, line)
		TH_LOG("sysfs differs from before at %s", line ?: "");
}

TEST_HARNESS_MAIN

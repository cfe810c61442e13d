// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many pairs, native and Bolt in turn, with settling at different moments:
 * nothing may leak and everything must come back. BOLT_PAIRS=N sets how many.
 */
#include "bolt.h"
#include "tree.h"
#include "../kselftest_harness.h"

#define PAIRS 100

/*
 * What may be left over, in kB: some caches are still filling in the guest's
 * first minutes. A leak of one smallest object, 8 bytes, in each pair of a
 * thousand is smaller than the first figure; of 64 bytes it is not.
 */
#define SLAB_SLACK 48
#define PERCPU_SLACK 8

struct memory {
	long slab, percpu, kernel_stack;	/* kB */
};

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

static struct memory measure(void)
{
	struct memory now;

	/* RCU callbacks end; CONFIG_DEBUG_KOBJECT_RELEASE takes 4 seconds. */
	wait_ms(6000);
	put("/proc/sys/vm/drop_caches", "3");
	wait_ms(500);
	now.slab = kb_of("Slab:");
	now.percpu = kb_of("Percpu:");
	now.kernel_stack = kb_of("KernelStack:");
	return now;
}

static int pair(int i)
{
	int err = enable(i % 2);

	if (err)
		return err;
	err = set_online(VICTIM, false);
	if (err)
		return err;
	/* Of eight: settled by hand, disabled while parked, or none of these. */
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
	const char *text = getenv("BOLT_PAIRS"), *line;
	int pairs = text ? atoi(text) : PAIRS;
	struct memory before, after;

	ASSERT_GT(pairs, 0);
	tree_of_cpus(&self->before, true);
	/* What is allocated once. */
	for (int i = 0; i < 16; i++)
		ASSERT_EQ(0, pair(i));
	before = measure();
	for (int i = 0; i < pairs; i++)
		ASSERT_EQ(0, pair(i));
	ASSERT_EQ(0, enable(false));
	after = measure();
	tree_of_cpus(&self->after, true);

	TH_LOG("%d pairs: slab %ld -> %ld kB, percpu %ld -> %ld kB", pairs,
	       before.slab, after.slab, before.percpu, after.percpu);
	ASSERT_GT(before.slab, 0);
	ASSERT_GT(before.percpu, 0);
	EXPECT_LE(after.slab, before.slab + SLAB_SLACK);
	EXPECT_LE(after.percpu, before.percpu + PERCPU_SLACK);
	EXPECT_LE(after.kernel_stack, before.kernel_stack + 64);
	line = tree_differ(&self->before, &self->after);
	EXPECT_EQ(NULL, line)
		TH_LOG("sysfs differs at %s", line ?: "");
}

TEST_HARNESS_MAIN

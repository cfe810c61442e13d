/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: takes the highest CPU offline and back while a state of the test is registered,
 * and counts how often the state's callbacks ran. Skipped if that CPU must stay online.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_REQUEST_KUNIT_H
#define _BOLT_TESTS_REQUEST_KUNIT_H

#include "fixture.h"

static struct {
	int startup, teardown, defer, cancel;
	int cancel_err;
} ran;

static unsigned int victim;

static int count_startup(unsigned int cpu)
{
	ran.startup += cpu == victim;
	return 0;
}

static int count_teardown(unsigned int cpu)
{
	ran.teardown += cpu == victim;
	return 0;
}

static void count_defer(unsigned int cpu)
{
	ran.defer += cpu == victim;
}

static int count_cancel(unsigned int cpu)
{
	ran.cancel += cpu == victim;
	return cpu == victim ? ran.cancel_err : 0;
}

static const struct bolt_defer counting = {
	.class = BOLT_ELIDE,
	.reason = "counts",
	.at_once = count_defer,
	.cancel = count_cancel,
};

struct request_test {
	struct bolt_fixture fixture;
	int state;
};

static void expect_ran(struct kunit *test, int startup, int teardown, int defer,
		       int cancel)
{
	KUNIT_EXPECT_EQ(test, ran.startup, startup);
	KUNIT_EXPECT_EQ(test, ran.teardown, teardown);
	KUNIT_EXPECT_EQ(test, ran.defer, defer);
	KUNIT_EXPECT_EQ(test, ran.cancel, cancel);
}

static int request_init(struct kunit *test)
{
	struct request_test *rt;
	int err;

	rt = kunit_kzalloc(test, sizeof(*rt), GFP_KERNEL);
	if (!rt)
		return -ENOMEM;
	err = bolt_fixture_begin(test, &rt->fixture);
	if (err)
		return err;
	test->priv = rt;
	victim = rt->fixture.victim;
	rt->state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "bolt/test:online",
				      count_startup, count_teardown);
	if (rt->state < 0)
		return rt->state;
	memset(&ran, 0, sizeof(ran));
	return bolt_defer_state(rt->state, &counting);
}

static void request_exit(struct kunit *test)
{
	struct request_test *rt = test->priv;

	if (!rt)
		return;
	add_cpu(victim);
	if (rt->state > 0)
		cpuhp_remove_state(rt->state);
	bolt_fixture_end(&rt->fixture);
}

/*
 * For a CPU that comes back while it is parked, neither teardown nor startup has
 * run.
 */
static void returning_runs_neither(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_FALSE(test, cpu_online(victim));
	KUNIT_EXPECT_TRUE(test, bolt_test_parked(victim));
	expect_ran(test, 0, 0, 1, 0);

	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_FALSE(test, bolt_test_parked(victim));
	expect_ran(test, 0, 0, 1, 1);
}

/* For a CPU that was settled, the teardown has run once, and the startup runs once. */
static void settling_runs_both(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	bolt_settle_cpu(victim);
	KUNIT_EXPECT_FALSE(test, bolt_test_parked(victim));
	expect_ran(test, 0, 1, 1, 0);
	bolt_settle_all();
	expect_ran(test, 0, 1, 1, 0);

	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	expect_ran(test, 1, 1, 1, 0);
}

static void disabling_settles(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_ASSERT_EQ(test, bolt_enable(false), 0);
	KUNIT_EXPECT_FALSE(test, bolt_test_parked(victim));
	expect_ran(test, 0, 1, 1, 0);

	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	expect_ran(test, 1, 1, 1, 0);
	/* Bolt is still disabled, so no teardown is deferred now. */
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_FALSE(test, bolt_test_parked(victim));
	expect_ran(test, 1, 2, 1, 0);
}

/* A state that is removed is settled first, and Bolt forgets how it was deferred. */
static void removing_a_state_settles_it(struct kunit *test)
{
	struct request_test *rt = test->priv;
	struct bolt_set *pending = bolt_pending(victim);

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_TRUE(test, bolt_set_has(pending, rt->state));
	cpuhp_remove_state(rt->state);
	KUNIT_EXPECT_FALSE(test, bolt_set_has(pending, rt->state));
	KUNIT_EXPECT_NULL(test, bolt_deferred(rt->state));
	expect_ran(test, 0, 1, 1, 0);
	rt->state = 0;
}

/*
 * If a cancel function fails, the teardown of its state runs, is no longer pending, and
 * the bring-up is undone.
 */
static void failing_cancel_is_a_failing_startup(struct kunit *test)
{
	struct request_test *rt = test->priv;
	struct bolt_set *pending = bolt_pending(victim);

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	ran.cancel_err = -ENODEV;
	KUNIT_EXPECT_EQ(test, add_cpu(victim), -ENODEV);
	KUNIT_EXPECT_FALSE(test, cpu_online(victim));
	KUNIT_EXPECT_FALSE(test, bolt_set_has(pending, rt->state));
	expect_ran(test, 0, 1, 1, 1);

	ran.cancel_err = 0;
	KUNIT_EXPECT_EQ(test, add_cpu(victim), 0);
	expect_ran(test, 1, 1, 1, 1);
}

static struct kunit_case bolt_request_cases[] = {
	KUNIT_CASE(returning_runs_neither),
	KUNIT_CASE(settling_runs_both),
	KUNIT_CASE(disabling_settles),
	KUNIT_CASE(removing_a_state_settles_it),
	KUNIT_CASE(failing_cancel_is_a_failing_startup),
	{}
};

static struct kunit_suite bolt_request_suite = {
	.name = "bolt_request",
	.init = request_init,
	.exit = request_exit,
	.test_cases = bolt_request_cases,
};

kunit_test_suite(bolt_request_suite);

#endif /* _BOLT_TESTS_REQUEST_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

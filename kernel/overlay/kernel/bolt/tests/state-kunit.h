/* SPDX-License-Identifier: GPL-2.0-only */
/* KUnit: pending sets, without touching a CPU. */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_STATE_KUNIT_H
#define _BOLT_TESTS_STATE_KUNIT_H

#include <kunit/test.h>

static void set_starts_empty(struct kunit *test)
{
	struct bolt_set set = {};

	KUNIT_EXPECT_TRUE(test, bolt_set_empty(&set));
	KUNIT_EXPECT_EQ(test, bolt_set_highest(&set), -ENOENT);
	KUNIT_EXPECT_FALSE(test, bolt_set_has(&set, CPUHP_ONLINE));
}

static void set_refuses_second_park(struct kunit *test)
{
	struct bolt_set set = {};

	KUNIT_EXPECT_EQ(test, bolt_set_add(&set, CPUHP_AP_ACTIVE), 0);
	KUNIT_EXPECT_EQ(test, bolt_set_add(&set, CPUHP_AP_ACTIVE), -EALREADY);
	KUNIT_EXPECT_TRUE(test, bolt_set_has(&set, CPUHP_AP_ACTIVE));
	KUNIT_EXPECT_EQ(test, bolt_set_remove(&set, CPUHP_AP_ACTIVE), 0);
	KUNIT_EXPECT_TRUE(test, bolt_set_empty(&set));
}

static void set_refuses_unpark_of_others(struct kunit *test)
{
	struct bolt_set set = {};

	KUNIT_EXPECT_EQ(test, bolt_set_remove(&set, CPUHP_AP_ACTIVE), -ENOENT);
	bolt_set_add(&set, CPUHP_AP_ACTIVE);
	KUNIT_EXPECT_EQ(test, bolt_set_remove(&set, CPUHP_AP_ACTIVE - 1),
			-ENOENT);
	KUNIT_EXPECT_TRUE(test, bolt_set_has(&set, CPUHP_AP_ACTIVE));
}

/* A set can hold every state, CPUHP_OFFLINE and CPUHP_ONLINE included. */
static void set_holds_every_state(struct kunit *test)
{
	struct bolt_set set = {};
	int state;

	for (state = CPUHP_OFFLINE; state <= CPUHP_ONLINE; state++)
		KUNIT_EXPECT_EQ(test, bolt_set_add(&set, state), 0);
	KUNIT_EXPECT_EQ(test, bitmap_weight(set.states, BOLT_NR_STATES),
			(unsigned int)CPUHP_ONLINE + 1);
}

/*
 * bolt_set_highest() returns states in descending order, whatever the order in which
 * they were added to the set.
 */
static void set_settles_in_descending_order(struct kunit *test)
{
	static const enum cpuhp_state parked[] = {
		CPUHP_TOPOLOGY_PREPARE, CPUHP_ONLINE, CPUHP_OFFLINE,
		CPUHP_AP_ONLINE_DYN, CPUHP_AP_BASE_CACHEINFO_ONLINE,
	};
	static const enum cpuhp_state settled[] = {
		CPUHP_ONLINE, CPUHP_AP_ONLINE_DYN,
		CPUHP_AP_BASE_CACHEINFO_ONLINE, CPUHP_TOPOLOGY_PREPARE,
		CPUHP_OFFLINE,
	};
	struct bolt_set set = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(parked); i++)
		bolt_set_add(&set, parked[i]);
	for (i = 0; i < ARRAY_SIZE(settled); i++) {
		KUNIT_EXPECT_EQ(test, bolt_set_highest(&set), (int)settled[i]);
		bolt_set_remove(&set, settled[i]);
	}
	KUNIT_EXPECT_TRUE(test, bolt_set_empty(&set));
}

static struct kunit_case bolt_pending_cases[] = {
	KUNIT_CASE(set_starts_empty),
	KUNIT_CASE(set_refuses_second_park),
	KUNIT_CASE(set_refuses_unpark_of_others),
	KUNIT_CASE(set_holds_every_state),
	KUNIT_CASE(set_settles_in_descending_order),
	{}
};

static struct kunit_suite bolt_pending_suite = {
	.name = "bolt_pending",
	.test_cases = bolt_pending_cases,
};

kunit_test_suite(bolt_pending_suite);

#endif /* _BOLT_TESTS_STATE_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

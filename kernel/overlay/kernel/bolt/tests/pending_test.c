// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: pending sets and policy, without touching a CPU. */
#include <kunit/test.h>

#include "../internal.h"

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

	KUNIT_EXPECT_EQ(test, bolt_set_park(&set, CPUHP_AP_ACTIVE), 0);
	KUNIT_EXPECT_EQ(test, bolt_set_park(&set, CPUHP_AP_ACTIVE), -EALREADY);
	KUNIT_EXPECT_TRUE(test, bolt_set_has(&set, CPUHP_AP_ACTIVE));
	KUNIT_EXPECT_EQ(test, bolt_set_unpark(&set, CPUHP_AP_ACTIVE), 0);
	KUNIT_EXPECT_TRUE(test, bolt_set_empty(&set));
}

static void set_refuses_unpark_of_others(struct kunit *test)
{
	struct bolt_set set = {};

	KUNIT_EXPECT_EQ(test, bolt_set_unpark(&set, CPUHP_AP_ACTIVE), -ENOENT);
	bolt_set_park(&set, CPUHP_AP_ACTIVE);
	KUNIT_EXPECT_EQ(test, bolt_set_unpark(&set, CPUHP_AP_ACTIVE - 1),
			-ENOENT);
	KUNIT_EXPECT_TRUE(test, bolt_set_has(&set, CPUHP_AP_ACTIVE));
}

/* Every state fits, the first and the last of the enum included. */
static void set_holds_every_state(struct kunit *test)
{
	struct bolt_set set = {};
	int state;

	for (state = CPUHP_OFFLINE; state <= CPUHP_ONLINE; state++)
		KUNIT_EXPECT_EQ(test, bolt_set_park(&set, state), 0);
	KUNIT_EXPECT_EQ(test, bitmap_weight(set.states, BOLT_NR_STATES),
			(unsigned int)CPUHP_ONLINE + 1);
}

/* Settling goes down, whatever the order in which states were put off. */
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
		bolt_set_park(&set, parked[i]);
	for (i = 0; i < ARRAY_SIZE(settled); i++) {
		KUNIT_EXPECT_EQ(test, bolt_set_highest(&set), (int)settled[i]);
		bolt_set_unpark(&set, settled[i]);
	}
	KUNIT_EXPECT_TRUE(test, bolt_set_empty(&set));
}

static bool registered(int state)
{
	return bolt_glue_has(state, true) || bolt_glue_has(state, false);
}

/* What this kernel has registered was looked at by somebody. */
static void every_fixed_state_has_a_row(struct kunit *test)
{
	int state;

	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++) {
		if (!registered(state) ||
		    (state >= CPUHP_BP_PREPARE_DYN &&
		     state <= CPUHP_BP_PREPARE_DYN_END) ||
		    (state >= CPUHP_AP_ONLINE_DYN &&
		     state <= CPUHP_AP_ONLINE_DYN_END))
			continue;
		KUNIT_EXPECT_NOT_NULL_MSG(test, bolt_row_fixed(state),
					  "state %d, %s", state,
					  bolt_glue_name(state));
	}
}

/* Between the states of a dead CPU and those of a live one there is a reset. */
static void starting_is_critical(struct kunit *test)
{
	int state;

	for (state = CPUHP_BP_KICK_AP; state < CPUHP_AP_ONLINE; state++) {
		KUNIT_EXPECT_EQ_MSG(test, bolt_row(state).class, BOLT_CRITICAL,
				    "state %d", state);
		KUNIT_EXPECT_NULL_MSG(test, bolt_deferred(state), "state %d",
				      state);
	}
}

/* What is put off belongs to those who need one, and can be put off. */
static void deferred_states_fit(struct kunit *test)
{
	int state;

	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++) {
		struct bolt_row row = bolt_row(state);

		if (!registered(state) || !bolt_deferred(state))
			continue;
		KUNIT_EXPECT_NE_MSG(test, row.class, BOLT_CRITICAL,
				    "state %d", state);
		KUNIT_EXPECT_LT_MSG(test, row.unit, BOLT_UNITS, "state %d",
				    state);
		KUNIT_EXPECT_NOT_NULL_MSG(test, row.reason, "state %d", state);
		KUNIT_EXPECT_TRUE_MSG(test,
				      bolt_glue_can_defer(state, row.unit),
				      "state %d", state);
	}
}

static void defer_refuses_what_it_must(struct kunit *test)
{
	static const struct bolt_defer defer = {
		.class = BOLT_ELIDE,
		.reason = "test",
	};
	static const struct bolt_defer no_reason = { .concurrent = true };
	static const struct bolt_defer unexplained = { .class = BOLT_ELIDE };

	/* What cpuhp_setup_state() returns when it fails, and the ends. */
	KUNIT_EXPECT_EQ(test, bolt_defer_state(-ENOSPC, &defer), -EINVAL);
	KUNIT_EXPECT_EQ(test, bolt_defer_state(CPUHP_OFFLINE, &defer), -EINVAL);
	KUNIT_EXPECT_EQ(test, bolt_defer_state(CPUHP_ONLINE, &defer), -EINVAL);
	/* Fixed and critical; fixed and without a row. */
	KUNIT_EXPECT_EQ(test, bolt_defer_state(CPUHP_AP_ACTIVE, &defer),
			-EINVAL);
	KUNIT_EXPECT_EQ(test,
			bolt_defer_state(CPUHP_S390_PFAULT_DEAD, &defer),
			-EINVAL);
	/* Dynamic, but nothing is registered there; not said what, or why. */
	KUNIT_EXPECT_EQ(test, bolt_defer_state(CPUHP_AP_ONLINE_DYN_END, &defer),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, bolt_defer_state(CPUHP_AP_ONLINE_DYN, &no_reason),
			-EINVAL);
	KUNIT_EXPECT_EQ(test,
			bolt_defer_state(CPUHP_AP_ONLINE_DYN, &unexplained),
			-EINVAL);
	KUNIT_EXPECT_NULL(test, bolt_deferred(CPUHP_AP_ACTIVE));
	KUNIT_EXPECT_NULL(test, bolt_deferred(CPUHP_AP_ONLINE_DYN_END));
}

static struct kunit_case bolt_pending_cases[] = {
	KUNIT_CASE(set_starts_empty),
	KUNIT_CASE(set_refuses_second_park),
	KUNIT_CASE(set_refuses_unpark_of_others),
	KUNIT_CASE(set_holds_every_state),
	KUNIT_CASE(set_settles_in_descending_order),
	KUNIT_CASE(every_fixed_state_has_a_row),
	KUNIT_CASE(starting_is_critical),
	KUNIT_CASE(deferred_states_fit),
	KUNIT_CASE(defer_refuses_what_it_must),
	{}
};

static struct kunit_suite bolt_pending_suite = {
	.name = "bolt_pending",
	.test_cases = bolt_pending_cases,
};

kunit_test_suite(bolt_pending_suite);

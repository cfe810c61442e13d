/* SPDX-License-Identifier: GPL-2.0-only */
/* KUnit: the lists of states that have something to run; no CPU is touched. */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_STEPS_KUNIT_H
#define _BOLT_TESTS_STEPS_KUNIT_H

#include <kunit/test.h>
#include <linux/cpuhotplug.h>

/*
 * Returns what bolt_step_from() must return for @state, found by a look at one state
 * after the other.
 */
static unsigned int look(unsigned int state, bool bringup)
{
	while (bringup ? state < BOLT_NR_STATES : state > CPUHP_OFFLINE) {
		struct cpuhp_step *step = bolt_cpuhp_step(state);

		if (bolt_state_has(state, bringup) &&
		    !(step->multi_instance && hlist_empty(&step->list)))
			break;
		state += bringup ? 1 : -1;
	}
	return state;
}

static void expect_lists(struct kunit *test)
{
	unsigned int state, up;

	for (state = CPUHP_OFFLINE + 1; state <= CPUHP_ONLINE; state++) {
		for (up = 0; up < 2; up++)
			KUNIT_EXPECT_EQ_MSG(test, bolt_step_from(state, up),
					    look(state, up), "state %u, %s", state,
					    up ? "startup" : "teardown");
	}
}

static int one(unsigned int cpu)
{
	return 0;
}

static int each(unsigned int cpu, struct hlist_node *node)
{
	return 0;
}

static void lists_name_what_is_registered(struct kunit *test)
{
	int up, both;

	expect_lists(test);
	up = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "bolt/test:up", one, NULL);
	both = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "bolt/test:both", one, one);
	KUNIT_EXPECT_GT(test, up, 0);
	KUNIT_EXPECT_GT(test, both, 0);
	expect_lists(test);
	if (up > 0) {
		KUNIT_EXPECT_EQ(test, bolt_step_from(up, true), up);
		KUNIT_EXPECT_NE(test, bolt_step_from(up, false), up);
		cpuhp_remove_state_nocalls(up);
	}
	if (both > 0) {
		KUNIT_EXPECT_EQ(test, bolt_step_from(both, true), both);
		KUNIT_EXPECT_EQ(test, bolt_step_from(both, false), both);
		cpuhp_remove_state_nocalls(both);
	}
	expect_lists(test);
}

static void states_without_an_instance_are_passed(struct kunit *test)
{
	struct hlist_node nodes[2] = {};
	int state;

	state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "bolt/test:instances",
					each, each);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_NE(test, bolt_step_from(state, true), state);
	cpuhp_state_add_instance_nocalls(state, &nodes[0]);
	cpuhp_state_add_instance_nocalls(state, &nodes[1]);
	KUNIT_EXPECT_EQ(test, bolt_step_from(state, true), state);
	KUNIT_EXPECT_EQ(test, bolt_step_from(state, false), state);
	expect_lists(test);
	cpuhp_state_remove_instance_nocalls(state, &nodes[0]);
	KUNIT_EXPECT_EQ(test, bolt_step_from(state, true), state);
	cpuhp_state_remove_instance_nocalls(state, &nodes[1]);
	KUNIT_EXPECT_NE(test, bolt_step_from(state, true), state);
	expect_lists(test);
	cpuhp_remove_multi_state(state);
}

/* When a plain state is deferred, only its bit in the pending set changes. */
static void plain_states_have_nothing_to_do(struct kunit *test)
{
	unsigned int state, plain = 0;

	for (state = CPUHP_OFFLINE + 1; state < CPUHP_ONLINE; state++) {
		const struct bolt_defer *defer = bolt_deferred(state);

		if (!bolt_known[state].plain)
			continue;
		plain++;
		KUNIT_ASSERT_NOT_NULL(test, defer);
		KUNIT_EXPECT_FALSE_MSG(test, defer->node || defer->device ||
				       defer->major || defer->at_once || defer->cancel ||
				       defer->restart || defer->may_defer,
				       "state %u", state);
	}
	KUNIT_EXPECT_GT(test, plain, 0);
}

static struct kunit_case bolt_steps_cases[] = {
	KUNIT_CASE(lists_name_what_is_registered),
	KUNIT_CASE(states_without_an_instance_are_passed),
	KUNIT_CASE(plain_states_have_nothing_to_do),
	{}
};

static struct kunit_suite bolt_steps_suite = {
	.name = "bolt_steps",
	.test_cases = bolt_steps_cases,
};

kunit_test_suite(bolt_steps_suite);

#endif /* _BOLT_TESTS_STEPS_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

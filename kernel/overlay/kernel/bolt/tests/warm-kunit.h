/* SPDX-License-Identifier: GPL-2.0-only */
/* KUnit: the word of a CPU that is parked warm; no CPU is touched. */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_WARM_KUNIT_H
#define _BOLT_TESTS_WARM_KUNIT_H

#include <kunit/test.h>

/* Each transition, from each value: whether it says yes, and what the word is then. */
static const struct warm_step {
	const char *name;
	bool (*step)(atomic_t *word);
	struct {
		bool yes;
		enum bolt_warm then;
	} from[BOLT_LEAVE + 1];
} warm_steps[] = {
	{ "park", bolt_word_park, {
		[BOLT_COLD] = { true, BOLT_WARM },
		[BOLT_WARM] = { false, BOLT_WARM },
		[BOLT_WAKE] = { false, BOLT_WAKE },
		[BOLT_LEAVE] = { false, BOLT_LEAVE },
	} },
	{ "take", bolt_word_take, {
		[BOLT_COLD] = { false, BOLT_COLD },
		[BOLT_WARM] = { false, BOLT_WARM },
		[BOLT_WAKE] = { true, BOLT_COLD },
		[BOLT_LEAVE] = { false, BOLT_COLD },
	} },
	{ "wake", bolt_word_wake, {
		[BOLT_COLD] = { false, BOLT_COLD },
		[BOLT_WARM] = { true, BOLT_WAKE },
		[BOLT_WAKE] = { false, BOLT_WAKE },
		[BOLT_LEAVE] = { false, BOLT_LEAVE },
	} },
	{ "withdraw", bolt_word_withdraw, {
		[BOLT_COLD] = { false, BOLT_COLD },
		[BOLT_WARM] = { false, BOLT_WARM },
		[BOLT_WAKE] = { true, BOLT_COLD },
		[BOLT_LEAVE] = { false, BOLT_LEAVE },
	} },
	{ "leave", bolt_word_leave, {
		[BOLT_COLD] = { false, BOLT_COLD },
		[BOLT_WARM] = { true, BOLT_LEAVE },
		[BOLT_WAKE] = { false, BOLT_WAKE },
		[BOLT_LEAVE] = { false, BOLT_LEAVE },
	} },
	{ "give up", bolt_word_give_up, {
		[BOLT_COLD] = { false, BOLT_COLD },
		[BOLT_WARM] = { false, BOLT_WARM },
		[BOLT_WAKE] = { false, BOLT_WAKE },
		[BOLT_LEAVE] = { true, BOLT_COLD },
	} },
};

static void warm_step_from_each(struct kunit *test)
{
	const struct warm_step *s = test->param_value;
	enum bolt_warm from;

	for (from = BOLT_COLD; from <= BOLT_LEAVE; from++) {
		atomic_t word = ATOMIC_INIT(from);

		KUNIT_EXPECT_EQ_MSG(test, s->step(&word), s->from[from].yes,
				    "%s from %d", s->name, from);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&word), (int)s->from[from].then,
				    "%s from %d", s->name, from);
	}
}

static void warm_step_name(const struct warm_step *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(warm_step, warm_steps, warm_step_name);

/* Two parties at once, in either order: exactly one is obeyed. */
static void warm_order_is_obeyed_once(struct kunit *test)
{
	static const struct {
		enum bolt_warm order;
		bool (*withdraw)(atomic_t *word);
	} orders[] = {
		{ BOLT_WAKE, bolt_word_withdraw },
		{ BOLT_LEAVE, bolt_word_give_up },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		atomic_t word = ATOMIC_INIT(orders[i].order);

		KUNIT_EXPECT_TRUE(test, orders[i].withdraw(&word));
		KUNIT_EXPECT_FALSE(test, bolt_word_take(&word));
		KUNIT_EXPECT_FALSE(test, bolt_word_wake(&word));

		atomic_set(&word, orders[i].order);
		KUNIT_EXPECT_EQ(test, bolt_word_take(&word), orders[i].order == BOLT_WAKE);
		KUNIT_EXPECT_FALSE(test, orders[i].withdraw(&word));
		KUNIT_EXPECT_FALSE(test, bolt_word_take(&word));
	}
}

/* A CPU that has been told to go cold is not told to return, and vice versa. */
static void warm_one_order_at_a_time(struct kunit *test)
{
	atomic_t word = ATOMIC_INIT(BOLT_WARM);

	KUNIT_EXPECT_TRUE(test, bolt_word_leave(&word));
	KUNIT_EXPECT_FALSE(test, bolt_word_wake(&word));
	KUNIT_EXPECT_FALSE(test, bolt_word_take(&word));
	KUNIT_EXPECT_FALSE(test, bolt_word_wake(&word));

	atomic_set(&word, BOLT_WARM);
	KUNIT_EXPECT_TRUE(test, bolt_word_wake(&word));
	KUNIT_EXPECT_FALSE(test, bolt_word_leave(&word));
	KUNIT_EXPECT_TRUE(test, bolt_word_take(&word));
	KUNIT_EXPECT_FALSE(test, bolt_word_leave(&word));
}

static struct kunit_case warm_cases[] = {
	KUNIT_CASE_PARAM(warm_step_from_each, warm_step_gen_params),
	KUNIT_CASE(warm_order_is_obeyed_once),
	KUNIT_CASE(warm_one_order_at_a_time),
	{}
};

static struct kunit_suite warm_suite = {
	.name = "bolt_warm",
	.test_cases = warm_cases,
};

kunit_test_suite(warm_suite);

#endif /* _BOLT_TESTS_WARM_KUNIT_H */
#endif /* CONFIG_BOLT_KUNIT_TEST */

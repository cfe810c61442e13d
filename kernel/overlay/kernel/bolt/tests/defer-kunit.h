/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: deferring states that are not just a startup and a teardown: states without
 * a startup, states with instances, states that are settled in parts, and states that
 * are moved back to critical together with all states of their unit.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_DEFER_KUNIT_H
#define _BOLT_TESTS_DEFER_KUNIT_H

#include <linux/list.h>

#include "fixture.h"

#define SETTLE_PARTS 3
#define INSTANCES 2

static unsigned int victim;

static struct {
	int teardown, settle;
	int online[INSTANCES];
	bool may_defer;
	bool first_fails;	/* whether the startup of instance 0 fails */
} ran;

struct instance {
	struct hlist_node node;
	int nr;
	bool added;
};

static struct instance instances[INSTANCES];

struct defer_test {
	struct bolt_fixture fixture;
	int dead;	/* a state that has only a teardown */
	int multi;	/* a state with instances */
	int parts;	/* a state in the unit of @dead, settled in parts */
};

static int count_dead(unsigned int cpu)
{
	ran.teardown += cpu == victim;
	return 0;
}

static int instance_up(unsigned int cpu, struct hlist_node *node)
{
	struct instance *in = hlist_entry(node, struct instance, node);

	if (cpu != victim)
		return 0;
	if (ran.first_fails && !in->nr)
		return -EIO;
	ran.online[in->nr]++;
	return 0;
}

static int instance_down(unsigned int cpu, struct hlist_node *node)
{
	struct instance *in = hlist_entry(node, struct instance, node);

	if (cpu == victim)
		ran.online[in->nr]--;
	return 0;
}

static int nothing(unsigned int cpu)
{
	return 0;
}

static int settle_in_parts(unsigned int cpu)
{
	return ++ran.settle < SETTLE_PARTS ? -EAGAIN : 0;
}

static bool defer_if_told(unsigned int cpu)
{
	return ran.may_defer;
}

/* BOLT_UNIT_RCU has no other deferred states, which bolt_override() would move, too. */
static const struct bolt_defer dead_defer = {
	.class = BOLT_LAZY,
	.unit = BOLT_UNIT_RCU,
	.reason = "test",
	.may_defer = defer_if_told,
};

static const struct bolt_defer multi_defer = {
	.class = BOLT_ELIDE,
	.reason = "test",
};

static const struct bolt_defer parts_defer = {
	.class = BOLT_ASYNC,
	.unit = BOLT_UNIT_RCU,
	.reason = "test",
	.settle = settle_in_parts,
};

static void add_instance(struct kunit *test, int nr)
{
	struct defer_test *dt = test->priv;
	int err;

	instances[nr].nr = nr;
	err = cpuhp_state_add_instance(dt->multi, &instances[nr].node);
	KUNIT_ASSERT_EQ(test, err, 0);
	instances[nr].added = true;
}

static void remove_instance(struct defer_test *dt, int nr)
{
	if (instances[nr].added)
		cpuhp_state_remove_instance(dt->multi, &instances[nr].node);
	instances[nr].added = false;
}

static int setup(struct kunit *test, struct defer_test *dt)
{
	dt->dead = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN,
					     "bolt/test:dead", NULL,
					     count_dead);
	dt->multi = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN,
					    "bolt/test:multi", instance_up,
					    instance_down);
	dt->parts = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN,
					      "bolt/test:parts", nothing,
					      nothing);
	if (dt->dead < 0 || dt->multi < 0 || dt->parts < 0)
		return -ENOSPC;
	memset(&ran, 0, sizeof(ran));
	ran.may_defer = true;
	return bolt_defer_state(dt->dead, &dead_defer) ?:
	       bolt_defer_state(dt->multi, &multi_defer) ?:
	       bolt_defer_state(dt->parts, &parts_defer);
}

static int defer_init(struct kunit *test)
{
	struct defer_test *dt;
	int err;

	dt = kunit_kzalloc(test, sizeof(*dt), GFP_KERNEL);
	if (!dt)
		return -ENOMEM;
	err = bolt_fixture_begin(test, &dt->fixture);
	if (err)
		return err;
	test->priv = dt;
	victim = dt->fixture.victim;
	return setup(test, dt);
}

static void defer_exit(struct kunit *test)
{
	struct defer_test *dt = test->priv;
	int nr;

	if (!dt)
		return;
	add_cpu(victim);
	for (nr = 0; nr < INSTANCES; nr++)
		remove_instance(dt, nr);
	if (dt->dead > 0)
		cpuhp_remove_state_nocalls(dt->dead);
	if (dt->multi > 0)
		cpuhp_remove_multi_state(dt->multi);
	if (dt->parts > 0)
		cpuhp_remove_state_nocalls(dt->parts);
	bolt_fixture_end(&dt->fixture);
}

/*
 * The teardown of a state without a startup is pending while the CPU is offline, and is
 * cancelled when the CPU is back.
 */
static void without_startup_it_is_owed_until_the_return(struct kunit *test)
{
	struct defer_test *dt = test->priv;

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_TRUE(test, bolt_set_has(bolt_pending(victim), dt->dead));
	KUNIT_EXPECT_EQ(test, ran.teardown, 0);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_FALSE(test, bolt_test_parked(victim));
	KUNIT_EXPECT_FALSE(test, cpumask_test_cpu(victim, &bolt_parked_mask));
	KUNIT_EXPECT_EQ(test, ran.teardown, 0);
}

static void not_this_time_is_native(struct kunit *test)
{
	struct defer_test *dt = test->priv;

	ran.may_defer = false;
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_FALSE(test, bolt_set_has(bolt_pending(victim), dt->dead));
	KUNIT_EXPECT_EQ(test, ran.teardown, 1);
}

/*
 * When a state is moved back to critical, the pending teardowns of its unit run, and no
 * teardown of the unit is deferred afterwards.
 */
static void a_row_can_be_moved_back(struct kunit *test)
{
	struct defer_test *dt = test->priv;

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	bolt_override(dt->parts, true);
	KUNIT_EXPECT_EQ(test, ran.teardown, 1);
	KUNIT_EXPECT_NULL(test, bolt_deferred(dt->dead));
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, ran.teardown, 2);

	bolt_override(dt->dead, false);
	KUNIT_EXPECT_PTR_EQ(test, bolt_deferred(dt->dead), &dead_defer);
	KUNIT_EXPECT_PTR_EQ(test, bolt_deferred(dt->parts), &parts_defer);
}

/*
 * Instances are added and removed while a CPU is parked. When the CPU is back, exactly
 * the instances that have not been removed are up on the CPU.
 */
static void instances_come_and_go(struct kunit *test)
{
	struct defer_test *dt = test->priv;

	add_instance(test, 0);
	KUNIT_EXPECT_EQ(test, ran.online[0], 1);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_TRUE(test, bolt_set_has(bolt_pending(victim), dt->multi));
	KUNIT_EXPECT_EQ(test, ran.online[0], 1);

	add_instance(test, 1);
	KUNIT_EXPECT_FALSE(test, bolt_set_has(bolt_pending(victim), dt->multi));
	KUNIT_EXPECT_EQ(test, ran.online[0], 0);
	KUNIT_EXPECT_EQ(test, ran.online[1], 0);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, ran.online[0], 1);
	KUNIT_EXPECT_EQ(test, ran.online[1], 1);

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	remove_instance(dt, 0);
	KUNIT_EXPECT_EQ(test, ran.online[0], 0);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, ran.online[0], 0);
	KUNIT_EXPECT_EQ(test, ran.online[1], 1);
}

/*
 * If the startup of one instance fails, the teardowns of the instances that have started
 * run at once. Instance 1, which was added last, starts before instance 0.
 */
static void instances_that_have_started_stop(struct kunit *test)
{
	struct defer_test *dt = test->priv;

	add_instance(test, 0);
	add_instance(test, 1);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	bolt_settle_cpu(victim);
	KUNIT_EXPECT_EQ(test, ran.online[0] + ran.online[1], 0);

	ran.first_fails = true;
	KUNIT_EXPECT_EQ(test, add_cpu(victim), -EIO);
	KUNIT_EXPECT_FALSE(test, bolt_set_has(bolt_pending(victim), dt->multi));
	KUNIT_EXPECT_EQ(test, ran.online[0], 0);
	KUNIT_EXPECT_EQ(test, ran.online[1], 0);

	ran.first_fails = false;
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, ran.online[0], 1);
	KUNIT_EXPECT_EQ(test, ran.online[1], 1);
}

/*
 * While cpuN/hotplug/fail asks for a failure, cpuhp_next_state() in place of bolt_walk()
 * takes the CPU from state to state, also to a state without an instance. Teardowns of
 * other states are deferred as always, but the teardown of a state without an instance
 * runs, and so is not pending.
 */
static void nothing_is_pending_without_an_instance(struct kunit *test)
{
	struct defer_test *dt = test->priv;
	struct cpuhp_cpu_state *st = bolt_cpuhp_cpu(victim);

	/* No teardown of this state can fail, because the state is not registered. */
	st->fail = CPUHP_AP_ONLINE_DYN_END;
	KUNIT_EXPECT_EQ(test, remove_cpu(victim), 0);
	st->fail = CPUHP_INVALID;
	KUNIT_EXPECT_TRUE(test, bolt_test_parked(victim));
	KUNIT_EXPECT_FALSE(test, bolt_set_has(bolt_pending(victim), dt->multi));
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_FALSE(test, bolt_test_parked(victim));
	KUNIT_EXPECT_FALSE(test, bolt_is_broken);
}

/*
 * If the settle function of a state returns -EAGAIN, bolt_settle_cpu() drops the hotplug
 * lock and cpuhp_state_mutex, and calls the function again, until the function returns 0.
 */
static void settling_in_parts(struct kunit *test)
{
	struct defer_test *dt = test->priv;

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	bolt_settle_cpu(victim);
	KUNIT_EXPECT_EQ(test, ran.settle, SETTLE_PARTS);
	KUNIT_EXPECT_FALSE(test, bolt_set_has(bolt_pending(victim), dt->parts));
}

static struct kunit_case bolt_defer_cases[] = {
	KUNIT_CASE(without_startup_it_is_owed_until_the_return),
	KUNIT_CASE(not_this_time_is_native),
	KUNIT_CASE(a_row_can_be_moved_back),
	KUNIT_CASE(instances_come_and_go),
	KUNIT_CASE(instances_that_have_started_stop),
	KUNIT_CASE(nothing_is_pending_without_an_instance),
	KUNIT_CASE(settling_in_parts),
	{}
};

static struct kunit_suite bolt_defer_suite = {
	.name = "bolt_defer",
	.init = defer_init,
	.exit = defer_exit,
	.test_cases = bolt_defer_cases,
};

kunit_test_suite(bolt_defer_suite);

#endif /* _BOLT_TESTS_DEFER_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

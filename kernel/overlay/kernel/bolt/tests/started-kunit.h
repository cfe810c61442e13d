/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: on which CPUs a hotplug state is up. Takes all CPUs but the first offline in one
 * request, and back in another; is skipped with fewer than three CPUs.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_STARTED_KUNIT_H
#define _BOLT_TESTS_STARTED_KUNIT_H

#include <linux/cpuhotplug_started.h>
#include <linux/delay.h>

#include "../policy.h"
#include "../request.h"
#include "fixture.h"

/*
 * What the callbacks of the test's state have found. With @refuses_startup the startup,
 * else the teardown, is to fail for the CPU @refuses; with @all_refuse it is to fail for
 * all CPUs, and @failed counts the callbacks that have failed.
 */
static struct {
	int state;
	struct cpumask up;
	struct cpumask asked;
	atomic_t wrong;
	atomic_t failed;
	unsigned int refuses;
	bool all_refuse;
	bool refuses_startup;
} seen;

/*
 * Instances of a state. In one_instance_refuses() the teardown of the second one fails
 * for @refuser, the first CPU for which it runs. @asked counts teardowns that run after
 * that failure, @wrong counts wrong answers of cpuhp_started() and cpuhp_refused().
 */
static struct {
	struct hlist_node instances[3];
	int added;
	unsigned int refuser;
	atomic_t asked;
	atomic_t wrong;
} some;

struct started_test {
	struct bolt_fixture fixture;
	struct cpumask cpus;
	int above;
};

/*
 * Compares the answers of cpuhp_started() for all CPUs with what the callbacks have
 * noted. The state is serial, so that no answer changes meanwhile.
 */
static void ask(unsigned int cpu)
{
	unsigned int other;

	cpumask_set_cpu(cpu, &seen.asked);
	for_each_possible_cpu(other) {
		if (cpuhp_started(other, seen.state) !=
		    cpumask_test_cpu(other, &seen.up))
			atomic_inc(&seen.wrong);
	}
}

static int refuse(unsigned int cpu, bool startup)
{
	if (startup != seen.refuses_startup)
		return 0;
	if (seen.all_refuse) {
		atomic_inc(&seen.failed);
		return cpuhp_refused() ? -EBUSY : -ENXIO;
	}
	if (cpu != seen.refuses)
		return 0;
	seen.refuses = nr_cpu_ids;
	return -ENXIO;
}

static int noting_startup(unsigned int cpu)
{
	int err;

	/*
	 * The state must not be up before the startup has returned, so the startup
	 * asks at its beginning and at its end.
	 */
	ask(cpu);
	err = refuse(cpu, true);
	if (err)
		return err;
	cpumask_set_cpu(cpu, &seen.up);
	if (cpuhp_started(cpu, seen.state))
		atomic_inc(&seen.wrong);
	return 0;
}

static int teardown(unsigned int cpu)
{
	int err;

	cpumask_clear_cpu(cpu, &seen.up);
	ask(cpu);
	err = refuse(cpu, false);
	if (err)
		cpumask_set_cpu(cpu, &seen.up);
	return err;
}

static const struct bolt_defer serial = { .reason = "test" };
static const struct bolt_defer concurrent = { .reason = "test", .concurrent = true };
static const struct bolt_defer elided = {
	.class = BOLT_ELIDE,
	.reason = "test",
};

/* Registers a state without running its callbacks. started_exit() removes *@state. */
static void add_state(struct kunit *test, int *state, enum cpuhp_state section,
		      const char *name, int (*startup)(unsigned int cpu),
		      int (*teardown)(unsigned int cpu),
		      const struct bolt_defer *defer)
{
	*state = cpuhp_setup_state_nocalls(section, name, startup, teardown);
	KUNIT_ASSERT_GT(test, *state, 0);
	KUNIT_ASSERT_EQ(test, bolt_defer_state(*state, defer), 0);
}

static void watch(struct kunit *test, const struct bolt_defer *defer)
{
	cpumask_copy(&seen.up, cpu_online_mask);
	cpumask_clear(&seen.asked);
	atomic_set(&seen.wrong, 0);
	seen.refuses = nr_cpu_ids;
	seen.all_refuse = false;
	add_state(test, &seen.state, CPUHP_AP_ONLINE_DYN, "bolt/test:started",
		  noting_startup, teardown, defer);
	if (bolt_find_unfit() != CPUHP_INVALID)
		kunit_skip(test, "another state is unfit");
}

/* Returns on how many of @cpus @state is up. */
static int count(const struct cpumask *cpus, enum cpuhp_state state)
{
	unsigned int cpu;
	int n = 0;

	for_each_cpu(cpu, cpus)
		n += cpuhp_started(cpu, state);
	return n;
}

/* On a CPU that is online all states are up, on a CPU that is offline no state is up. */
static void online_and_offline(struct kunit *test)
{
	struct started_test *st = test->priv;
	int nr = cpumask_weight(&st->cpus);

	KUNIT_EXPECT_TRUE(test, cpuhp_started(0, CPUHP_AP_ACTIVE));
	KUNIT_EXPECT_EQ(test, count(&st->cpus, CPUHP_AP_ACTIVE), nr);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, CPUHP_PAGE_ALLOC), nr);
	KUNIT_ASSERT_EQ(test, bolt_test_go(&st->cpus, false), 0);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, CPUHP_WORKQUEUE_PREP), 0);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, CPUHP_AP_SCHED_STARTING), 0);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, CPUHP_AP_ACTIVE), 0);
	KUNIT_ASSERT_EQ(test, bolt_test_go(&st->cpus, true), 0);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, CPUHP_AP_ACTIVE), nr);

	/* The same holds for a CPU that goes and comes natively. */
	KUNIT_ASSERT_EQ(test, bolt_enable(false), 0);
	KUNIT_ASSERT_EQ(test, remove_cpu(st->fixture.victim), 0);
	KUNIT_EXPECT_FALSE(test, cpuhp_started(st->fixture.victim,
					       CPUHP_AP_SCHED_STARTING));
	KUNIT_ASSERT_EQ(test, add_cpu(st->fixture.victim), 0);
	KUNIT_EXPECT_TRUE(test, cpuhp_started(st->fixture.victim,
					      CPUHP_AP_ACTIVE));
}

/*
 * In a request a callback finds out for which CPUs the same callback has already
 * run.
 */
static void in_a_request(struct kunit *test)
{
	struct started_test *st = test->priv;

	watch(test, &serial);
	KUNIT_EXPECT_EQ(test, bolt_test_go(&st->cpus, false), 0);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(&seen.asked, &st->cpus));
	cpumask_clear(&seen.asked);
	KUNIT_EXPECT_EQ(test, bolt_test_go(&st->cpus, true), 0);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(&seen.asked, &st->cpus));
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.wrong), 0);
	KUNIT_EXPECT_EQ(test, count(cpu_online_mask, seen.state),
			(int)num_online_cpus());
}

/* A request that is undone leaves the answers of cpuhp_started() as they were. */
static void after_a_failure(struct kunit *test)
{
	struct started_test *st = test->priv;
	int nr = cpumask_weight(&st->cpus);
	unsigned int cpu;

	watch(test, &serial);
	for_each_cpu(cpu, &st->cpus) {
		seen.refuses = cpu;
		seen.refuses_startup = false;
		KUNIT_EXPECT_EQ(test, bolt_test_go(&st->cpus, false), -ENXIO);
		KUNIT_EXPECT_EQ(test, count(&st->cpus, seen.state), nr);
		KUNIT_EXPECT_EQ(test, count(&st->cpus, CPUHP_AP_ACTIVE), nr);
	}
	KUNIT_ASSERT_EQ(test, bolt_test_go(&st->cpus, false), 0);
	for_each_cpu(cpu, &st->cpus) {
		seen.refuses = cpu;
		seen.refuses_startup = true;
		KUNIT_EXPECT_EQ(test, bolt_test_go(&st->cpus, true), -ENXIO);
		KUNIT_EXPECT_EQ(test, count(&st->cpus, seen.state), 0);
		KUNIT_EXPECT_EQ(test, count(&st->cpus, CPUHP_AP_SCHED_STARTING),
				0);
	}
	KUNIT_ASSERT_EQ(test, bolt_test_go(&st->cpus, true), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.wrong), 0);
}

/*
 * If callbacks of several CPUs fail, the request fails with the error of the callback
 * that failed first. Here that error is ENXIO: callbacks that fail later find, by
 * cpuhp_refused(), that a callback has failed, and return EBUSY.
 */
static void first_error_counts(struct kunit *test)
{
	struct started_test *st = test->priv;
	int online;

	watch(test, &serial);
	for (online = 0; online < 2; online++) {
		atomic_set(&seen.failed, 0);
		seen.refuses_startup = online;
		seen.all_refuse = true;
		KUNIT_EXPECT_EQ(test, bolt_test_go(&st->cpus, online), -ENXIO);
		KUNIT_EXPECT_GT(test, atomic_read(&seen.failed), 1);
		seen.all_refuse = false;
		KUNIT_ASSERT_EQ(test, bolt_test_go(&st->cpus, online), 0);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.wrong), 0);
}

static int fail_from_above(unsigned int cpu)
{
	return cpu == seen.refuses ? -ENXIO : 0;
}

static int ask_whether_refused(unsigned int cpu)
{
	if (cpuhp_refused())
		atomic_inc(&seen.wrong);
	cpumask_set_cpu(cpu, &seen.asked);
	return 0;
}

/*
 * The teardowns that run because a startup has failed must not fail, so cpuhp_refused()
 * is false in these.
 */
static void go_back(struct kunit *test, enum cpuhp_state section)
{
	struct started_test *st = test->priv;
	unsigned int cpu;

	atomic_set(&seen.wrong, 0);
	seen.refuses = nr_cpu_ids;
	add_state(test, &seen.state, section, "bolt/test:below", NULL,
		  ask_whether_refused, &serial);
	add_state(test, &st->above, section, "bolt/test:above", fail_from_above, NULL,
		  &serial);
	KUNIT_ASSERT_GT(test, st->above, seen.state);
	KUNIT_ASSERT_EQ(test, bolt_test_go(&st->cpus, false), 0);
	for_each_cpu(cpu, &st->cpus) {
		seen.refuses = cpu;
		cpumask_clear(&seen.asked);
		KUNIT_EXPECT_EQ(test, bolt_test_go(&st->cpus, true), -ENXIO);
		KUNIT_EXPECT_FALSE(test, cpu_online(cpu));
		KUNIT_EXPECT_TRUE(test, cpumask_test_cpu(cpu, &seen.asked));
	}
	seen.refuses = nr_cpu_ids;
	KUNIT_ASSERT_EQ(test, bolt_test_go(&st->cpus, true), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.wrong), 0);
}

static void way_back_is_not_refused(struct kunit *test)
{
	go_back(test, CPUHP_AP_ONLINE_DYN);
}

/* The control task runs these callbacks, on a CPU that is not part of the request. */
static void way_back_in_prepare_is_not_refused(struct kunit *test)
{
	go_back(test, CPUHP_BP_PREPARE_DYN);
}

static int look_from_above(unsigned int cpu)
{
	if (!cpuhp_started(cpu, seen.state))
		atomic_inc(&seen.wrong);
	return 0;
}

/*
 * A state whose teardown is deferred is not up; when its startup has been skipped,
 * the state is up again.
 */
static void put_off(struct kunit *test)
{
	struct started_test *st = test->priv;
	int nr = cpumask_weight(&st->cpus);

	watch(test, &elided);
	add_state(test, &st->above, CPUHP_AP_ONLINE_DYN, "bolt/test:above",
		  look_from_above, look_from_above, &serial);
	KUNIT_ASSERT_GT(test, st->above, seen.state);
	KUNIT_ASSERT_EQ(test, bolt_test_go(&st->cpus, false), 0);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, seen.state), 0);
	KUNIT_ASSERT_EQ(test, bolt_test_go(&st->cpus, true), 0);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, seen.state), nr);
	KUNIT_EXPECT_TRUE(test, cpumask_empty(&seen.asked));
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.wrong), 0);
}

/*
 * Registering or removing a state far below does not change the answers for higher
 * states.
 */
static void registered_below(struct kunit *test)
{
	struct started_test *st = test->priv;
	int nr = cpumask_weight(&st->cpus);
	int state;

	watch(test, &serial);
	state = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN, "bolt/test:below",
				  look_from_above, look_from_above);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, seen.state), nr);
	cpuhp_remove_state(state);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, seen.state), nr);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, CPUHP_AP_ACTIVE), nr);
}

/*
 * Sets up a state with three instances, as @defer says. Skips the test if a state is
 * unfit.
 */
static void add_instances(struct kunit *test,
			  int (*startup)(unsigned int cpu, struct hlist_node *instance),
			  int (*teardown)(unsigned int cpu, struct hlist_node *instance),
			  const struct bolt_defer *defer)
{
	struct hlist_node *instance;
	int err;

	seen.state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "bolt/test:instances",
					     startup, teardown);
	KUNIT_ASSERT_GT(test, seen.state, 0);
	KUNIT_ASSERT_EQ(test, bolt_defer_state(seen.state, defer), 0);
	for (; some.added < ARRAY_SIZE(some.instances); some.added++) {
		instance = &some.instances[some.added];
		err = cpuhp_state_add_instance_nocalls(seen.state, instance);
		KUNIT_ASSERT_EQ(test, err, 0);
	}
	if (bolt_find_unfit() != CPUHP_INVALID)
		kunit_skip(test, "another state is unfit");
}

static int start_instance(unsigned int cpu, struct hlist_node *instance)
{
	return 0;
}

static int refuse_by_one_instance(unsigned int cpu, struct hlist_node *instance)
{
	if (some.refuser < nr_cpu_ids) {
		atomic_inc(&some.asked);
		if (!cpuhp_started(some.refuser, seen.state) || !cpuhp_refused())
			atomic_inc(&some.wrong);
		return 0;
	}
	if (cpuhp_refused())
		atomic_inc(&some.wrong);
	if (instance != &some.instances[1])
		return 0;
	some.refuser = cpu;
	return -ENXIO;
}

/*
 * While other CPUs pass a state, the state is up on a CPU that one instance has kept
 * from going. Callbacks of other CPUs run after the refusal, as the state is serial.
 */
static void one_instance_refuses(struct kunit *test)
{
	struct started_test *st = test->priv;

	some.refuser = nr_cpu_ids;
	atomic_set(&some.asked, 0);
	atomic_set(&some.wrong, 0);
	add_instances(test, start_instance, refuse_by_one_instance, &serial);
	KUNIT_EXPECT_EQ(test, bolt_test_go(&st->cpus, false), -ENXIO);
	KUNIT_EXPECT_LT(test, some.refuser, nr_cpu_ids);
	KUNIT_EXPECT_GT(test, atomic_read(&some.asked), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&some.wrong), 0);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, seen.state),
			(int)cpumask_weight(&st->cpus));
}

/* How many teardowns run now, how many startups have run, and the CPU that refuses. */
static struct {
	atomic_t under_way;
	atomic_t returns;
	atomic_t wrong;
	unsigned int refuser;
} way_back;

/* The second instance refuses on one CPU. Teardowns of other CPUs take long. */
static int slow_or_refused(unsigned int cpu, struct hlist_node *instance)
{
	if (cpu == way_back.refuser)
		return instance == &some.instances[1] ? -ENXIO : 0;
	atomic_inc(&way_back.under_way);
	msleep(40);
	/* The refuser stays, so the state is up there, also after the refusal. */
	if (instance == &some.instances[1] && !cpuhp_started(way_back.refuser, seen.state))
		atomic_inc(&way_back.wrong);
	atomic_dec(&way_back.under_way);
	return 0;
}

static int start_again(unsigned int cpu, struct hlist_node *instance)
{
	atomic_inc(&way_back.returns);
	if (atomic_read(&way_back.under_way))
		atomic_inc(&way_back.wrong);
	msleep(20);
	return 0;
}

/* No startup of a concurrent state runs beside a teardown of the state, on any CPU. */
static void way_back_waits_for_teardowns(struct kunit *test)
{
	struct started_test *st = test->priv;

	way_back.refuser = cpumask_last(&st->cpus);
	atomic_set(&way_back.under_way, 0);
	atomic_set(&way_back.returns, 0);
	atomic_set(&way_back.wrong, 0);
	add_instances(test, start_again, slow_or_refused, &concurrent);
	KUNIT_EXPECT_EQ(test, bolt_test_go(&st->cpus, false), -ENXIO);
	KUNIT_EXPECT_GT(test, atomic_read(&way_back.returns), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&way_back.wrong), 0);
	KUNIT_EXPECT_EQ(test, count(&st->cpus, seen.state),
			(int)cpumask_weight(&st->cpus));
}

/* for_each_started_cpu() and cpumask_keep_started() agree with cpuhp_started(). */
static void masks(struct kunit *test)
{
	struct started_test *st = test->priv;
	unsigned int first = cpumask_first(&st->cpus);
	struct cpumask *mask;
	int cpu;

	mask = kunit_kzalloc(test, sizeof(*mask), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mask);
	for_each_started_cpu(cpu, CPUHP_AP_ACTIVE)
		cpumask_set_cpu(cpu, mask);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(mask, cpu_online_mask));
	KUNIT_ASSERT_EQ(test, remove_cpu(first), 0);
	cpumask_copy(mask, &st->cpus);
	cpumask_keep_started(mask, 0, CPUHP_AP_ACTIVE);
	KUNIT_EXPECT_FALSE(test, cpumask_test_cpu(first, mask));
	KUNIT_EXPECT_EQ(test, cpumask_weight(mask),
			cpumask_weight(&st->cpus) - 1);
	cpumask_copy(mask, &st->cpus);
	cpumask_keep_started(mask, first, CPUHP_AP_ACTIVE);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(mask, &st->cpus));
	KUNIT_ASSERT_EQ(test, add_cpu(first), 0);
}

static int started_init(struct kunit *test)
{
	struct started_test *st;
	int err;

	seen.state = 0;
	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	if (!st)
		return -ENOMEM;
	err = bolt_fixture_begin(test, &st->fixture);
	if (err)
		return err;
	test->priv = st;
	bolt_test_choose(&st->cpus);
	if (cpumask_weight(&st->cpus) < 2)
		kunit_skip(test, "fewer than two CPUs besides CPU 0 can go");
	return 0;
}

static void started_exit(struct kunit *test)
{
	struct started_test *st = test->priv;
	unsigned int cpu;

	if (!st)
		return;
	seen.refuses = nr_cpu_ids;
	seen.all_refuse = false;
	for_each_cpu(cpu, &st->cpus)
		add_cpu(cpu);
	if (st->above > 0)
		cpuhp_remove_state_nocalls(st->above);
	while (some.added)
		cpuhp_state_remove_instance_nocalls(seen.state,
						    &some.instances[--some.added]);
	if (seen.state > 0)
		cpuhp_remove_state_nocalls(seen.state);
	bolt_fixture_end(&st->fixture);
}

/*
 * A CPU left half-way down has passed states without a callback, but bolt_reached still
 * has a higher state. A state that is registered among those must not count as up.
 */
static void registered_where_a_cpu_is_half_way(struct kunit *test)
{
	struct started_test *st = test->priv;
	unsigned int cpu = cpumask_first(&st->cpus);

	KUNIT_ASSERT_EQ(test, bolt_test_go(&st->cpus, false), 0);
	per_cpu(bolt_reached, cpu) = CPUHP_AP_ONLINE_DYN_END;
	watch(test, &serial);
	KUNIT_EXPECT_FALSE(test, cpuhp_started(cpu, seen.state));
	KUNIT_ASSERT_EQ(test, bolt_test_go(&st->cpus, true), 0);
	KUNIT_EXPECT_TRUE(test, cpuhp_started(cpu, seen.state));
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.wrong), 0);
}

static struct kunit_case bolt_started_cases[] = {
	KUNIT_CASE(online_and_offline),
	KUNIT_CASE(in_a_request),
	KUNIT_CASE(after_a_failure),
	KUNIT_CASE(first_error_counts),
	KUNIT_CASE(way_back_is_not_refused),
	KUNIT_CASE(way_back_in_prepare_is_not_refused),
	KUNIT_CASE(one_instance_refuses),
	KUNIT_CASE(way_back_waits_for_teardowns),
	KUNIT_CASE(put_off),
	KUNIT_CASE(registered_below),
	KUNIT_CASE(registered_where_a_cpu_is_half_way),
	KUNIT_CASE(masks),
	{}
};

static struct kunit_suite bolt_started_suite = {
	.name = "bolt_started",
	.init = started_init,
	.exit = started_exit,
	.test_cases = bolt_started_cases,
};

kunit_test_suite(bolt_started_suite);

#endif /* _BOLT_TESTS_STARTED_KUNIT_H */
#endif /* CONFIG_BOLT_KUNIT_TEST */

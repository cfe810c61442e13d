// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: the scheduler's domains while a CPU is parked, which user space cannot
 * see without CONFIG_SCHEDSTATS. Skipped where they are rebuilt at once.
 */
#include <linux/mmu_context.h>
#include <linux/sched/isolation.h>

#include "fixture.h"

#include "../../sched/sched.h"

/* The domain with the most CPUs of the one that runs the tests, or NULL. */
static struct sched_domain *top_domain(struct bolt_fixture *f)
{
	unsigned int cpu = cpumask_any_but(cpu_active_mask, f->victim);
	struct sched_domain *sd, *top = NULL;

	guard(rcu)();
	for_each_domain(cpu, sd)
		top = sd;
	return top;
}

static bool domains_have(struct bolt_fixture *f, unsigned int cpu)
{
	struct sched_domain *top;

	guard(rcu)();
	top = top_domain(f);
	return top && cpumask_test_cpu(cpu, sched_domain_span(top));
}

static int domains_init(struct kunit *test)
{
	struct bolt_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	int err;

	if (!f)
		return -ENOMEM;
	err = bolt_fixture_begin(test, f);
	if (err)
		return err;
	test->priv = f;
	err = remove_cpu(f->victim);
	if (!err && !bolt_domains_pending())
		kunit_skip(test, "domains are rebuilt at once here");
	return err;
}

static void domains_exit(struct kunit *test)
{
	if (test->priv)
		bolt_fixture_end(test->priv);
}

static void parked_cpu_is_not_chosen(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;

	KUNIT_EXPECT_TRUE(test, domains_have(f, f->victim));
	KUNIT_EXPECT_TRUE(test, bolt_cpu_left(f->victim));
	KUNIT_EXPECT_FALSE(test, available_idle_cpu(f->victim));
	/* Timers go to CPUs that are not idle. */
	KUNIT_EXPECT_TRUE(test, idle_cpu(f->victim));
	KUNIT_EXPECT_TRUE(test, cpumask_test_cpu(f->victim, &bolt_parked_mask));
}

/* Nothing is built when the CPU comes back first. */
static void returning_builds_nothing(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;
	struct sched_domain *before = top_domain(f);
	struct dl_bw *dl_bw = &cpu_rq(f->victim)->rd->dl_bw;
	u64 reserved = dl_bw->total_bw;

	KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
	KUNIT_EXPECT_PTR_EQ(test, top_domain(f), before);
	KUNIT_EXPECT_TRUE(test, domains_have(f, f->victim));
	KUNIT_EXPECT_FALSE(test, bolt_domains_pending());
	KUNIT_EXPECT_TRUE(test, cpumask_test_cpu(f->victim,
						 cpu_rq(f->victim)->rd->online));
	KUNIT_EXPECT_EQ(test, dl_bw->total_bw, reserved);
	KUNIT_EXPECT_FALSE(test, bolt_test_parked(f->victim));
}

static void settling_rebuilds(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;

	bolt_settle_cpu(f->victim);
	KUNIT_EXPECT_FALSE(test, bolt_domains_pending());
	KUNIT_EXPECT_FALSE(test, domains_have(f, f->victim));
	KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
	KUNIT_EXPECT_TRUE(test, domains_have(f, f->victim));
	KUNIT_EXPECT_FALSE(test, bolt_domains_pending());
}

/* Whoever rebuilds does all of the work; settling finds nothing left. */
static void any_rebuild_is_enough(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;
	struct sched_domain *built;

	rebuild_sched_domains();
	KUNIT_EXPECT_FALSE(test, bolt_domains_pending());
	KUNIT_EXPECT_FALSE(test, domains_have(f, f->victim));
	built = top_domain(f);
	bolt_settle_cpu(f->victim);
	KUNIT_EXPECT_PTR_EQ(test, top_domain(f), built);
	KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
	KUNIT_EXPECT_TRUE(test, domains_have(f, f->victim));
}

/* One rebuild is for all CPUs that have gone, also if one of them returns. */
static void two_may_have_gone(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;
	unsigned int other = cpumask_last(cpu_online_mask);
	struct sched_domain *before = top_domain(f);

	if (num_online_cpus() < 2 || remove_cpu(other))
		kunit_skip(test, "no second CPU that can go offline");
	KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
	KUNIT_EXPECT_PTR_EQ(test, top_domain(f), before);
	KUNIT_EXPECT_TRUE(test, bolt_domains_pending());
	KUNIT_EXPECT_FALSE(test, bolt_cpu_left(f->victim));
	KUNIT_EXPECT_TRUE(test, bolt_cpu_left(other));
	bolt_settle_all();
	KUNIT_EXPECT_FALSE(test, bolt_domains_pending());
	KUNIT_EXPECT_TRUE(test, domains_have(f, f->victim));
	KUNIT_EXPECT_FALSE(test, domains_have(f, other));
	KUNIT_EXPECT_EQ(test, add_cpu(other), 0);
}

static struct kunit_case bolt_domains_cases[] = {
	KUNIT_CASE(parked_cpu_is_not_chosen),
	KUNIT_CASE(returning_builds_nothing),
	KUNIT_CASE(settling_rebuilds),
	KUNIT_CASE(any_rebuild_is_enough),
	KUNIT_CASE(two_may_have_gone),
	{}
};

static struct kunit_suite bolt_domains_suite = {
	.name = "bolt_domains",
	.init = domains_init,
	.exit = domains_exit,
	.test_cases = bolt_domains_cases,
};

kunit_test_suite(bolt_domains_suite);

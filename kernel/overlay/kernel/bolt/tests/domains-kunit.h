/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: the scheduler's domains while a CPU is parked, which user space cannot see
 * without CONFIG_SCHEDSTATS. The tests are skipped if the kernel defers no rebuild.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_DOMAINS_KUNIT_H
#define _BOLT_TESTS_DOMAINS_KUNIT_H

#include <linux/iopoll.h>
#include <linux/mmu_context.h>
#include <linux/sched/isolation.h>
#include <linux/stop_machine.h>

#include "fixture.h"

#include "../../sched/sched.h"

/*
 * Returns the largest domain of one active CPU other than the victim, or NULL if that CPU
 * has no domain.
 */
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
		kunit_skip(test, "this kernel rebuilds domains at once");
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
	KUNIT_EXPECT_TRUE(test, bolt_stale_in_domains(f->victim));
	KUNIT_EXPECT_FALSE(test, available_idle_cpu(f->victim));
	/*
	 * A timer moves only to a CPU that is not idle, so the victim must count as
	 * idle.
	 */
	KUNIT_EXPECT_TRUE(test, idle_cpu(f->victim));
	KUNIT_EXPECT_TRUE(test, cpumask_test_cpu(f->victim, &bolt_parked_mask));
}

/* Domains are not rebuilt if the CPU comes back before it is settled. */
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

/*
 * Any rebuild of domains does the whole work, so that settling has nothing left to
 * do.
 */
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

/*
 * If one of two CPUs that have gone returns, a rebuild stays pending for the other CPU,
 * and settling that CPU rebuilds the domains.
 */
static void two_may_have_gone(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;
	unsigned int other = cpumask_last(cpu_online_mask);
	struct sched_domain *before = top_domain(f);

	if (num_online_cpus() < 2 || remove_cpu(other))
		kunit_skip(test, "no second CPU can go offline");
	KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
	KUNIT_EXPECT_PTR_EQ(test, top_domain(f), before);
	KUNIT_EXPECT_TRUE(test, bolt_domains_pending());
	KUNIT_EXPECT_FALSE(test, bolt_stale_in_domains(f->victim));
	KUNIT_EXPECT_TRUE(test, bolt_stale_in_domains(other));
	bolt_settle_all();
	KUNIT_EXPECT_FALSE(test, bolt_domains_pending());
	KUNIT_EXPECT_TRUE(test, domains_have(f, f->victim));
	KUNIT_EXPECT_FALSE(test, domains_have(f, other));
	KUNIT_EXPECT_EQ(test, add_cpu(other), 0);
}

struct busy_count {
	unsigned int caches;
	int wrong;
};

/*
 * Runs while all CPUs are stopped, so that no CPU becomes idle or busy meanwhile.
 * Adds up by how much nr_busy_cpus of each CPU's cache differs from the number of
 * active CPUs of that cache that are not marked as idle.
 */
static int count_busy_cpus(void *arg)
{
	struct busy_count *count = arg;
	unsigned int cpu, other;

	guard(rcu)();
	for_each_cpu(cpu, cpu_active_mask) {
		struct sched_domain *sd = rcu_dereference(per_cpu(sd_llc, cpu));
		int busy = 0;

		if (!sd)
			continue;
		for_each_cpu_and(other, sched_domain_span(sd), cpu_active_mask)
			busy += !rcu_dereference(per_cpu(sd_llc, other))->nohz_idle;
		count->caches++;
		count->wrong += abs(atomic_read(&sd->shared->nr_busy_cpus) -
				    busy);
	}
	return 0;
}

static void expect_right_count(struct kunit *test, const char *when)
{
	struct busy_count count = {};

	KUNIT_ASSERT_EQ(test, stop_machine(count_busy_cpus, &count, NULL), 0);
	KUNIT_EXPECT_GT_MSG(test, count.caches, 0, "%s", when);
	KUNIT_EXPECT_EQ_MSG(test, count.wrong, 0, "%s", when);
}

static void busy_cpus_are_counted(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;
	int i;

	expect_right_count(test, "parked");
	for (i = 0; i < 100; i++) {
		KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
		KUNIT_ASSERT_EQ(test, remove_cpu(f->victim), 0);
	}
	expect_right_count(test, "parked a hundred times");
	KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
	expect_right_count(test, "back");
}

static void forbid_by_override(bool on)
{
	bolt_override(CPUHP_AP_ACTIVE, on);
}

/* Acts as if CPUs differed in capacity. */
static void forbid_by_capacity(bool on)
{
	if (on)
		static_branch_inc(&sched_asym_cpucapacity);
	else
		static_branch_dec(&sched_asym_cpucapacity);
}

#ifdef CONFIG_SCHED_CORE
/* Switches core scheduling on, as the first task that asks for it does, or off. */
static void forbid_by_core_scheduling(bool on)
{
	bool off;

	if (on)
		sched_core_get();
	else
		sched_core_put();
	/* A work switches core scheduling off, so wait for the work. */
	read_poll_timeout(sched_core_disabled, off, off == !on, 100,
			  10 * USEC_PER_SEC, false);
}
#endif

#if defined(CONFIG_ENERGY_MODEL) && defined(CONFIG_CPU_FREQ_GOV_SCHEDUTIL)
#define HAS_ENERGY_MODEL

/*
 * Acts as if the CPUs had an energy model, until the next rebuild finds that they
 * have none.
 */
static void forbid_by_energy_model(bool on)
{
	if (on)
		static_branch_enable(&sched_energy_present);
	else
		static_branch_disable(&sched_energy_present);
}
#endif

static const struct {
	const char *name;
	void (*set)(bool on);
} forbids[] = {
	{ "override", forbid_by_override },
	{ "capacity", forbid_by_capacity },
#ifdef CONFIG_SCHED_CORE
	{ "core scheduling", forbid_by_core_scheduling },
#endif
#ifdef HAS_ENERGY_MODEL
	{ "energy model", forbid_by_energy_model },
#endif
};

/*
 * The rebuild is deferred when a CPU leaves, but an entry of forbids[] forbids
 * deferring a rebuild when the CPU returns. The count of busy CPUs must stay right.
 */
static void forbidden_while_parked(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;
	int round;

	for (round = 0; round < 100; round++) {
		/*
		 * Each entry is tried for several rounds, so that errors of the count
		 * add up.
		 */
		typeof(forbids[0]) *forbid = &forbids[round * ARRAY_SIZE(forbids) / 100];

		forbid->set(true);
		KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
		KUNIT_EXPECT_FALSE(test, bolt_domains_pending());
		KUNIT_EXPECT_TRUE(test, domains_have(f, f->victim));
		forbid->set(false);
		if (round % 10 == 0)
			expect_right_count(test, forbid->name);
		KUNIT_ASSERT_EQ(test, remove_cpu(f->victim), 0);
		KUNIT_ASSERT_TRUE(test, bolt_domains_pending());
	}
	expect_right_count(test, "parked after 100 rounds");
	KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
	expect_right_count(test, "back after 100 rounds");
}

/*
 * An entry of forbids[] forbids deferring the rebuild when a CPU leaves, but no longer
 * applies when the CPU returns.
 */
static void forbidden_before(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;
	int round;

	for (round = 0; round < 20; round++) {
		typeof(forbids[0]) *forbid = &forbids[round % ARRAY_SIZE(forbids)];

		KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
		forbid->set(true);
		KUNIT_ASSERT_EQ(test, remove_cpu(f->victim), 0);
		KUNIT_EXPECT_FALSE(test, bolt_domains_pending());
		KUNIT_EXPECT_FALSE(test, domains_have(f, f->victim));
		forbid->set(false);
		if (round < ARRAY_SIZE(forbids))
			expect_right_count(test, forbid->name);
	}
	KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
	expect_right_count(test, "back after 20 rounds");
}

/* A deferred rebuild runs before CPUHP_AP_ACTIVE is moved back to critical. */
static void override_rebuilds(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;

	bolt_override(CPUHP_AP_ACTIVE, true);
	KUNIT_EXPECT_FALSE(test, bolt_domains_pending());
	KUNIT_EXPECT_FALSE(test, domains_have(f, f->victim));
	bolt_override(CPUHP_AP_ACTIVE, false);
}

/*
 * The count of busy CPUs is right natively, too, where CPUs that leave are still in
 * the topology masks of other CPUs when domains are rebuilt.
 */
static void native_counts_are_right(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;

	KUNIT_ASSERT_EQ(test, bolt_enable(false), 0);
	expect_right_count(test, "settled");
	KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
	expect_right_count(test, "on");
	KUNIT_ASSERT_EQ(test, remove_cpu(f->victim), 0);
	expect_right_count(test, "off");
}

static struct kunit_case bolt_domains_cases[] = {
	KUNIT_CASE(parked_cpu_is_not_chosen),
	KUNIT_CASE(returning_builds_nothing),
	KUNIT_CASE(settling_rebuilds),
	KUNIT_CASE(any_rebuild_is_enough),
	KUNIT_CASE(two_may_have_gone),
	KUNIT_CASE(busy_cpus_are_counted),
	KUNIT_CASE(forbidden_while_parked),
	KUNIT_CASE(forbidden_before),
	KUNIT_CASE(override_rebuilds),
	KUNIT_CASE(native_counts_are_right),
	{}
};

static struct kunit_suite bolt_domains_suite = {
	.name = "bolt_domains",
	.init = domains_init,
	.exit = domains_exit,
	.test_cases = bolt_domains_cases,
};

kunit_test_suite(bolt_domains_suite);

#endif /* _BOLT_TESTS_DOMAINS_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: the pools of an unbound workqueue while CPUs are parked. With the affinity scope
 * "cpu" each CPU is a pod of its own, so that each CPU that goes is the last of a pod. A
 * worker has the number of its pool in its name.
 */
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "../kept.h"
#include "fixture.h"

/* In place of the number of a pool, if the name of a worker has no such number. */
#define NO_POOL -1

struct pods {
	struct bolt_fixture fixture;
	struct workqueue_struct *wq;
};

struct probe {
	struct work_struct work;
	int pool;
};

static void look(struct work_struct *work)
{
	struct probe *probe = container_of(work, struct probe, work);

	if (sscanf(current->comm, "kworker/u%d:", &probe->pool) != 1)
		probe->pool = NO_POOL;
}

/* Returns the pool of the pod of @cpu, which need not be online. */
static int pool_of(struct kunit *test, unsigned int cpu)
{
	struct pods *p = test->priv;
	struct probe probe = { .pool = NO_POOL };

	INIT_WORK_ONSTACK(&probe.work, look);
	queue_work_on(cpu, p->wq, &probe.work);
	flush_work(&probe.work);
	destroy_work_on_stack(&probe.work);
	KUNIT_EXPECT_NE(test, probe.pool, NO_POOL);
	return probe.pool;
}

static void set_scope(struct kunit *test, enum wq_affn_scope scope, bool strict)
{
	struct workqueue_attrs *attrs = alloc_workqueue_attrs();
	struct pods *p = test->priv;
	int err = -ENOMEM;

	if (attrs) {
		attrs->affn_scope = scope;
		attrs->affn_strict = strict;
		err = apply_workqueue_attrs(p->wq, attrs);
		free_workqueue_attrs(attrs);
	}
	KUNIT_ASSERT_EQ(test, err, 0);
}

/* Returns the pool of the pods of all CPUs that are offline and not parked. */
static int shared_pool(struct kunit *test)
{
	struct pods *p = test->priv;
	unsigned int victim = p->fixture.victim;
	int pool;

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	bolt_settle_cpu(victim);
	pool = pool_of(test, victim);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	return pool;
}

static void parked_cpu_keeps_its_pool(struct kunit *test)
{
	struct pods *p = test->priv;
	unsigned int victim = p->fixture.victim;
	int before = pool_of(test, victim);

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, pool_of(test, victim), before);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, pool_of(test, victim), before);
}

static void settled_cpu_has_none(struct kunit *test)
{
	struct pods *p = test->priv;
	unsigned int victim = p->fixture.victim;
	unsigned int stays = cpumask_first(cpu_online_mask);
	int before = pool_of(test, victim), shared;

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	bolt_settle_cpu(victim);
	shared = pool_of(test, victim);
	KUNIT_EXPECT_NE(test, shared, before);
	KUNIT_EXPECT_NE(test, shared, pool_of(test, stays));
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_NE(test, pool_of(test, victim), shared);
}

/* A parked CPU keeps no pool of a strict workqueue: the workers could run nowhere. */
static void strict_pod_keeps_none(struct kunit *test)
{
	struct pods *p = test->priv;
	unsigned int victim = p->fixture.victim;
	int before, parked;

	set_scope(test, WQ_AFFN_CPU, true);
	before = pool_of(test, victim);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	parked = pool_of(test, victim);
	KUNIT_EXPECT_NE(test, parked, before);
	bolt_settle_cpu(victim);
	KUNIT_EXPECT_EQ(test, pool_of(test, victim), parked);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_NE(test, pool_of(test, victim), parked);
}

/* If CPUHP_AP_WORKQUEUE_ONLINE was made critical, a CPU that goes keeps no pool. */
static void critical_state_keeps_none(struct kunit *test)
{
	struct pods *p = test->priv;
	unsigned int victim = p->fixture.victim;
	int shared = shared_pool(test), before;

	bolt_override(CPUHP_AP_WORKQUEUE_ONLINE, true);
	KUNIT_EXPECT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, pool_of(test, victim), shared);
	KUNIT_EXPECT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_NE(test, pool_of(test, victim), shared);
	/* A CPU that keeps its pool when the state becomes critical gives the pool up. */
	bolt_override(CPUHP_AP_WORKQUEUE_ONLINE, false);
	before = pool_of(test, victim);
	KUNIT_EXPECT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, pool_of(test, victim), before);
	bolt_override(CPUHP_AP_WORKQUEUE_ONLINE, true);
	KUNIT_EXPECT_EQ(test, pool_of(test, victim), shared);
	bolt_override(CPUHP_AP_WORKQUEUE_ONLINE, false);
	KUNIT_EXPECT_EQ(test, add_cpu(victim), 0);
}

/* A CPU that has come back in a request keeps no pool when it then goes natively. */
static void native_departure(struct kunit *test)
{
	struct pods *p = test->priv;
	unsigned int victim = p->fixture.victim;
	int shared = shared_pool(test);

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_ASSERT_EQ(test, bolt_enable(false), 0);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, pool_of(test, victim), shared);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_NE(test, pool_of(test, victim), shared);
}

/* While Bolt is being disabled, parked CPUs give their pools up. */
static void disabling_keeps_none(struct kunit *test)
{
	struct pods *p = test->priv;
	unsigned int victim = p->fixture.victim;
	int shared = shared_pool(test);

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_NE(test, pool_of(test, victim), shared);
	KUNIT_ASSERT_EQ(test, bolt_enable(false), 0);
	KUNIT_EXPECT_EQ(test, pool_of(test, victim), shared);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_NE(test, pool_of(test, victim), shared);
}

static unsigned long kept(unsigned int cpu)
{
	unsigned long bytes;

	bolt_lock_states();
	bytes = bolt_kept_by(cpu, CPUHP_AP_WORKQUEUE_ONLINE);
	bolt_unlock_states();
	return bytes;
}

/* The pool has at least one worker, with a stack, as pool_of() has run a work item. */
static void memory_is_counted(struct kunit *test)
{
	struct pods *p = test->priv;
	unsigned int victim = p->fixture.victim;

	pool_of(test, victim);
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_EXPECT_GE(test, kept(victim), THREAD_SIZE);
	bolt_settle_cpu(victim);
	KUNIT_EXPECT_EQ(test, kept(victim), 0);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, kept(victim), 0);
}

/* The workqueue gets other attributes, and new pools, while the CPU is parked. */
static void attributes_change_meanwhile(struct kunit *test)
{
	struct pods *p = test->priv;
	unsigned int victim = p->fixture.victim;
	unsigned int stays = cpumask_first(cpu_online_mask);
	int kept;

	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	set_scope(test, WQ_AFFN_SYSTEM, false);
	KUNIT_EXPECT_EQ(test, pool_of(test, victim), pool_of(test, stays));
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, pool_of(test, victim), pool_of(test, stays));
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	set_scope(test, WQ_AFFN_CPU, false);
	kept = pool_of(test, victim);
	KUNIT_EXPECT_NE(test, kept, pool_of(test, stays));
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, pool_of(test, victim), kept);
}

static int bolt_pods_init(struct kunit *test)
{
	struct pods *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return -ENOMEM;
	err = bolt_fixture_begin(test, &p->fixture);
	if (err)
		return err;
	p->wq = alloc_workqueue("bolt_pods", WQ_UNBOUND, 0);
	if (!p->wq) {
		bolt_fixture_end(&p->fixture);
		return -ENOMEM;
	}
	test->priv = p;
	set_scope(test, WQ_AFFN_CPU, false);
	return 0;
}

static void bolt_pods_exit(struct kunit *test)
{
	struct pods *p = test->priv;

	if (!p)
		return;
	bolt_override(CPUHP_AP_WORKQUEUE_ONLINE, false);
	bolt_fixture_end(&p->fixture);
	destroy_workqueue(p->wq);
}

static struct kunit_case bolt_pods_cases[] = {
	KUNIT_CASE(parked_cpu_keeps_its_pool),
	KUNIT_CASE(settled_cpu_has_none),
	KUNIT_CASE(strict_pod_keeps_none),
	KUNIT_CASE(critical_state_keeps_none),
	KUNIT_CASE(native_departure),
	KUNIT_CASE(disabling_keeps_none),
	KUNIT_CASE(memory_is_counted),
	KUNIT_CASE(attributes_change_meanwhile),
	{}
};

static struct kunit_suite bolt_pods_suite = {
	.name = "bolt_pods",
	.init = bolt_pods_init,
	.exit = bolt_pods_exit,
	.test_cases = bolt_pods_cases,
};

kunit_test_suite(bolt_pods_suite);

/* SPDX-License-Identifier: GPL-2.0-only */
/* KUnit: writes to bolt/online and bolt/offline while CPU hotplug is disabled. */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_SYSFS_KUNIT_H
#define _BOLT_TESTS_SYSFS_KUNIT_H

#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "fixture.h"

/**
 * struct sysfs_test - the CPU of a test, and the work that ends a ban on CPU hotplug
 * @fixture:	the CPU that comes and goes
 * @allow:	allows CPU hotplug after a delay
 */
struct sysfs_test {
	struct bolt_fixture fixture;
	struct delayed_work allow;
};

static void allow_hotplug(struct work_struct *work)
{
	cpu_hotplug_enable();
}

/* Disables CPU hotplug for @ms. */
static void disable_for(struct sysfs_test *st, unsigned int ms)
{
	cpu_hotplug_disable();
	schedule_delayed_work(&st->allow, msecs_to_jiffies(ms));
}

static ssize_t write_cpu(struct sysfs_test *st, bool online)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%u\n", st->fixture.victim);

	return online ? online_store(NULL, NULL, text, n) :
			offline_store(NULL, NULL, text, n);
}

/*
 * A write to bolt/online waits until CPU hotplug is allowed again; a write to
 * bolt/offline fails at once.
 */
static void waits_for_hotplug(struct kunit *test)
{
	struct sysfs_test *st = test->priv;

	KUNIT_ASSERT_GT(test, write_cpu(st, false), 0);
	disable_for(st, 100);
	KUNIT_EXPECT_GT(test, write_cpu(st, true), 0);
	KUNIT_EXPECT_TRUE(test, cpu_online(st->fixture.victim));
	flush_delayed_work(&st->allow);

	disable_for(st, 100);
	KUNIT_EXPECT_EQ(test, write_cpu(st, false), -EBUSY);
	KUNIT_EXPECT_TRUE(test, cpu_online(st->fixture.victim));
	flush_delayed_work(&st->allow);
}

/* A write to bolt/online fails if CPU hotplug stays disabled for more than 620 ms. */
static void does_not_wait_for_ever(struct kunit *test)
{
	struct sysfs_test *st = test->priv;

	KUNIT_ASSERT_GT(test, write_cpu(st, false), 0);
	disable_for(st, 2000);
	KUNIT_EXPECT_EQ(test, write_cpu(st, true), -EBUSY);
	KUNIT_EXPECT_FALSE(test, cpu_online(st->fixture.victim));
}

static int begin_sysfs(struct kunit *test)
{
	struct sysfs_test *st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	int err;

	if (!st)
		return -ENOMEM;
	INIT_DELAYED_WORK(&st->allow, allow_hotplug);
	err = bolt_fixture_begin(test, &st->fixture);
	if (!err)
		test->priv = st;
	return err;
}

static void end_sysfs(struct kunit *test)
{
	struct sysfs_test *st = test->priv;

	if (!st)
		return;
	flush_delayed_work(&st->allow);
	bolt_fixture_end(&st->fixture);
}

static struct kunit_case bolt_sysfs_cases[] = {
	KUNIT_CASE(waits_for_hotplug),
	KUNIT_CASE_SLOW(does_not_wait_for_ever),
	{}
};

static struct kunit_suite bolt_sysfs_suite = {
	.name = "bolt_sysfs",
	.init = begin_sysfs,
	.exit = end_sysfs,
	.test_cases = bolt_sysfs_cases,
};

kunit_test_suite(bolt_sysfs_suite);

#endif /* _BOLT_TESTS_SYSFS_KUNIT_H */
#endif /* CONFIG_BOLT_KUNIT_TEST */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: bolt_ap_lock_for_late(), by which the control task takes the lock of
 * bolt_ap_lock(). No request takes that lock meanwhile, as each test holds the hotplug
 * lock.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_TURN_KUNIT_H
#define _BOLT_TESTS_TURN_KUNIT_H

#include <kunit/test.h>
#include <linux/cpu.h>

static void late_cpu_keeps_the_lock(struct kunit *test)
{
	bool got;

	guard(cpus_read_lock)();
	/* This CPU stands for a CPU that hangs while it holds the lock. */
	raw_spin_lock(&bolt_arrivals);
	got = bolt_try_arrivals();
	if (got)
		bolt_ap_unlock();
	else
		raw_spin_unlock(&bolt_arrivals);
	KUNIT_EXPECT_FALSE(test, got);
}

static void late_cpu_has_left_the_lock(struct kunit *test)
{
	bool got, held;

	guard(cpus_read_lock)();
	got = bolt_try_arrivals();
	held = raw_spin_is_locked(&bolt_arrivals);
	if (got)
		bolt_ap_unlock();
	KUNIT_EXPECT_TRUE(test, got);
	KUNIT_EXPECT_TRUE(test, held);
	KUNIT_EXPECT_FALSE(test, raw_spin_is_locked(&bolt_arrivals));
}

/* Calls bolt_ap_lock_for_late() as the control task of a request does. */
static bool late_in_request(bool alone)
{
	struct bolt_batch batch = { .alone = alone };
	bool got;

	cpus_write_lock();
	WRITE_ONCE(bolt_batch, &batch);
	WRITE_ONCE(bolt_control_task, current);
	got = bolt_ap_lock_for_late();
	if (got)
		bolt_ap_unlock();
	WRITE_ONCE(bolt_control_task, NULL);
	WRITE_ONCE(bolt_batch, NULL);
	cpus_write_unlock();
	return got;
}

/*
 * A CPU that comes alone does not take the lock of bolt_ap_lock(), so that
 * bolt_ap_lock_for_late() cannot keep the CPU out of sections under that lock.
 */
static void late_single_cpu_is_not_kept_out(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, late_in_request(true));
	KUNIT_EXPECT_TRUE(test, late_in_request(false));
}

static struct kunit_case bolt_turn_cases[] = {
	KUNIT_CASE(late_cpu_keeps_the_lock),
	KUNIT_CASE(late_cpu_has_left_the_lock),
	KUNIT_CASE(late_single_cpu_is_not_kept_out),
	{}
};

static struct kunit_suite bolt_turn_suite = {
	.name = "bolt_turn",
	.test_cases = bolt_turn_cases,
};

kunit_test_suite(bolt_turn_suite);

#endif /* _BOLT_TESTS_TURN_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: the states in which hotplug threads have their turns, and
 * bolt_ap_lock_for_late(), by which the task that has woken a CPU takes the lock of
 * bolt_ap_lock(). No real request takes that lock meanwhile, as each test that takes the
 * lock holds the hotplug lock.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_TURN_KUNIT_H
#define _BOLT_TESTS_TURN_KUNIT_H

#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/topology.h>

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

/* Makes this task the control task of a request, as far as bolt_ap_lock_for_late() sees. */
static void become_control_task(struct bolt_batch *batch)
{
	cpus_write_lock();
	WRITE_ONCE(bolt_batch, batch);
	WRITE_ONCE(bolt_control_task, current);
}

static void be_control_task_no_more(void)
{
	WRITE_ONCE(bolt_control_task, NULL);
	WRITE_ONCE(bolt_batch, NULL);
	cpus_write_unlock();
}

static bool late_in_request(bool alone)
{
	struct bolt_batch batch = { .alone = alone };
	bool got;

	become_control_task(&batch);
	got = bolt_ap_lock_for_late();
	if (got)
		bolt_ap_unlock();
	be_control_task_no_more();
	return got;
}

/*
 * In a request for one CPU, that CPU does not take the lock of bolt_ap_lock(), so that
 * bolt_ap_lock_for_late() cannot keep the CPU out of sections under that lock.
 */
static void late_single_cpu_is_not_kept_out(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, late_in_request(true));
	KUNIT_EXPECT_TRUE(test, late_in_request(false));
}

/*
 * A CPU that has the lock may be entering the topology. Taken out at that moment, the CPU
 * would be in some masks of siblings only.
 */
static void late_cpu_stays_in_the_topology(struct kunit *test)
{
	static struct cpumask before;
	struct bolt_batch batch = {};
	bool alone, stays;
	unsigned int cpu;

	if (!IS_ENABLED(CONFIG_ARM64))
		kunit_skip(test, "only arm64 takes a late CPU out of the topology");
	become_control_task(&batch);
	cpu = cpumask_last(cpu_online_mask);
	cpumask_copy(&before, topology_core_cpumask(cpu));
	/* Alone in its package, a CPU would have the same mask when taken out. */
	alone = cpumask_weight(&before) <= 1;
	/* This CPU stands for @cpu, which hangs while it holds the lock. */
	raw_spin_lock(&bolt_arrivals);
	if (IS_ENABLED(CONFIG_ARM64))
		bolt_arch_leave_topology(cpu);
	raw_spin_unlock(&bolt_arrivals);
	stays = cpumask_equal(&before, topology_core_cpumask(cpu));
	be_control_task_no_more();
	if (alone && stays)
		kunit_skip(test, "CPU %u is alone in its package", cpu);
	KUNIT_EXPECT_TRUE(test, stays);
}

/*
 * Of the callbacks of hotplug threads, none outside of the range of @batch is serial;
 * those of the first and of the last state of the range are serial.
 */
static void check_range(struct kunit *test, const struct bolt_batch *batch, bool up)
{
	unsigned int low = batch->serial_low[up], high = batch->serial_high[up], state;

	for (state = CPUHP_AP_ONLINE_IDLE; state < CPUHP_AP_ACTIVE; state++) {
		struct cpuhp_step *step = bolt_cpuhp_step(state);
		bool serial = bolt_state_has(state, up) &&
			      !(step->multi_instance && hlist_empty(&step->list)) &&
			      bolt_known[state].serial[up];

		if (state < low || state > high)
			KUNIT_EXPECT_FALSE_MSG(test, serial, "state %u", state);
		else if (state == low || state == high)
			KUNIT_EXPECT_TRUE_MSG(test, serial, "state %u", state);
	}
}

static void ranges_have_all_serial_callbacks(struct kunit *test)
{
	struct bolt_batch batch = {};
	unsigned int state;

	/*
	 * Teardowns of a state with @starts_overlap are serial, but startups are not, so
	 * no teardown of the state may run in place of a startup. bolt_cancel_teardown()
	 * may run a deferred teardown there: so the state must be critical.
	 */
	for (state = CPUHP_OFFLINE; state < BOLT_NR_STATES; state++) {
		const struct bolt_row *row = bolt_row_fixed(state);

		if (!row || !row->starts_overlap)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, row->class, BOLT_CRITICAL, "state %u", state);
		KUNIT_EXPECT_EQ_MSG(test, row->fit, BOLT_SERIAL, "state %u", state);
		KUNIT_EXPECT_GT(test, state, CPUHP_AP_ONLINE_IDLE);
		KUNIT_EXPECT_LT(test, state, CPUHP_AP_ACTIVE);
	}
	cpus_write_lock();
	bolt_find_serial(&batch);
	check_range(test, &batch, true);
	check_range(test, &batch, false);
	cpus_write_unlock();
	KUNIT_EXPECT_TRUE(test, bolt_known[CPUHP_AP_BLK_MQ_ONLINE].serial[false]);
	KUNIT_EXPECT_FALSE(test, bolt_known[CPUHP_AP_BLK_MQ_ONLINE].serial[true]);
}

static void directions_have_their_own_ranges(struct kunit *test)
{
	const struct bolt_batch batch = {
		.serial_low = { [true] = 10, [false] = 20 },
		.serial_high = { [true] = 12, [false] = 22 },
	};

	KUNIT_EXPECT_TRUE(test, bolt_in_serial_range(&batch, 10, true));
	KUNIT_EXPECT_TRUE(test, bolt_in_serial_range(&batch, 12, true));
	KUNIT_EXPECT_FALSE(test, bolt_in_serial_range(&batch, 13, true));
	KUNIT_EXPECT_FALSE(test, bolt_in_serial_range(&batch, 21, true));
	KUNIT_EXPECT_TRUE(test, bolt_in_serial_range(&batch, 21, false));
	KUNIT_EXPECT_FALSE(test, bolt_in_serial_range(&batch, 19, false));
	KUNIT_EXPECT_FALSE(test, bolt_in_serial_range(&batch, 11, false));
}

static struct kunit_case bolt_turn_cases[] = {
	KUNIT_CASE(ranges_have_all_serial_callbacks),
	KUNIT_CASE(directions_have_their_own_ranges),
	KUNIT_CASE(late_cpu_keeps_the_lock),
	KUNIT_CASE(late_cpu_has_left_the_lock),
	KUNIT_CASE(late_single_cpu_is_not_kept_out),
	KUNIT_CASE(late_cpu_stays_in_the_topology),
	{}
};

static struct kunit_suite bolt_turn_suite = {
	.name = "bolt_turn",
	.test_cases = bolt_turn_cases,
};

kunit_test_suite(bolt_turn_suite);

#endif /* _BOLT_TESTS_TURN_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

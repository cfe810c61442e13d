/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: the lock with which CPUs of a stop give up their interrupts. The tests hold
 * the hotplug lock for reading, so that no request has the lock meanwhile.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_DOWN_KUNIT_H
#define _BOLT_TESTS_DOWN_KUNIT_H

#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/delay.h>

/* A stop that takes no CPU offline, and what its CPUs have seen. */
struct bolt_stop_seen {
	struct bolt_stop stop;
	atomic_t inside;
	atomic_t most;
	atomic_t turns;
};

static int bolt_see_turn(void *data)
{
	struct bolt_stop_seen *seen = data;
	unsigned int us, inside;

	bolt_take_irqs_lock(&seen->stop);
	inside = atomic_inc_return(&seen->inside);
	/* Long enough for the other CPUs to come in as well, if nothing stops them. */
	for (us = 0; us < 2000 && inside == 1; us++) {
		udelay(1);
		inside = atomic_read(&seen->inside);
	}
	if (inside > 1)
		atomic_set(&seen->most, inside);
	atomic_inc(&seen->turns);
	atomic_dec(&seen->inside);
	bolt_irqs_moved_off();
	return 0;
}

static void one_cpu_at_a_time(struct kunit *test)
{
	struct bolt_stop_seen seen = {
		.stop.owner = nr_cpu_ids,
		.most = ATOMIC_INIT(1),
	};

	guard(cpus_read_lock)();
	bolt_stopping = &seen.stop;
	stop_machine_cpuslocked(bolt_see_turn, &seen, cpu_online_mask);
	bolt_stopping = NULL;
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.most), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.turns), num_online_cpus());
	KUNIT_EXPECT_FALSE(test, raw_spin_is_locked(&bolt_irqs_lock));
}

/* A CPU that has given the lock back must not give back what another CPU has now. */
static void second_call_has_no_effect(struct kunit *test)
{
	struct bolt_stop stop = {};
	bool after_other, after_own;

	guard(cpus_read_lock)();
	scoped_guard(preempt) {
		bolt_stopping = &stop;
		raw_spin_lock(&bolt_irqs_lock);
		stop.owner = smp_processor_id() + 1;
		bolt_irqs_moved_off();
		after_other = raw_spin_is_locked(&bolt_irqs_lock);
		stop.owner = smp_processor_id();
		bolt_irqs_moved_off();
		after_own = raw_spin_is_locked(&bolt_irqs_lock);
		bolt_irqs_moved_off();
		bolt_stopping = NULL;
	}
	KUNIT_EXPECT_TRUE(test, after_other);
	KUNIT_EXPECT_FALSE(test, after_own);
	KUNIT_EXPECT_FALSE(test, raw_spin_is_locked(&bolt_irqs_lock));
}

static struct kunit_case bolt_down_cases[] = {
	KUNIT_CASE(one_cpu_at_a_time),
	KUNIT_CASE(second_call_has_no_effect),
	{}
};

static struct kunit_suite bolt_down_suite = {
	.name = "bolt_down",
	.test_cases = bolt_down_cases,
};

kunit_test_suite(bolt_down_suite);

#endif /* _BOLT_TESTS_DOWN_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

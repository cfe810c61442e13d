/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: bolt_irqs_lock, under which CPUs in stop_machine() give up their interrupts.
 * The tests hold the hotplug lock for reading, so that no request takes bolt_irqs_lock.
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
	/*
	 * The loop gives the other CPUs time to get here as well, if the lock does not
	 * keep them out.
	 */
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
	cpumask_copy(&bolt_irqs_left, cpu_online_mask);
	bolt_stopping = &seen.stop;
	stop_machine_cpuslocked(bolt_see_turn, &seen, cpu_online_mask);
	bolt_stopping = NULL;
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.most), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&seen.turns), num_online_cpus());
	KUNIT_EXPECT_TRUE(test, cpumask_empty(&bolt_irqs_left));
	KUNIT_EXPECT_FALSE(test, raw_spin_is_locked(&bolt_irqs_lock));
}

/*
 * A CPU that does not have the lock must not release the lock: neither while another
 * CPU has it, nor a second time.
 */
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
		if (raw_spin_is_locked(&bolt_irqs_lock))
			raw_spin_unlock(&bolt_irqs_lock);
		bolt_stopping = NULL;
	}
	KUNIT_EXPECT_TRUE(test, after_other);
	KUNIT_EXPECT_FALSE(test, after_own);
}

/*
 * bolt_irqs_left_in() also finds a CPU with a lower number than this CPU, because such
 * a CPU may give up its interrupts later than this CPU.
 */
static void interrupts_of_other_cpus(struct kunit *test)
{
	bool own, other, outside;
	struct bolt_stop stop = {};
	unsigned int cpu;

	if (num_online_cpus() < 2)
		kunit_skip(test, "only one CPU is online");
	guard(cpus_read_lock)();
	cpu = cpumask_last(cpu_online_mask);
	KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(cpu)), 0);
	scoped_guard(preempt) {
		bolt_stopping = &stop;
		cpumask_copy(&bolt_irqs_left, cpumask_of(smp_processor_id()));
		own = bolt_irqs_left_in(cpu_possible_mask);
		cpu = cpumask_first(cpu_online_mask);
		cpumask_set_cpu(cpu, &bolt_irqs_left);
		other = bolt_irqs_left_in(cpumask_of(cpu));
		bolt_stopping = NULL;
		outside = bolt_irqs_left_in(cpumask_of(cpu));
		cpumask_clear(&bolt_irqs_left);
	}
	KUNIT_EXPECT_FALSE(test, own);
	KUNIT_EXPECT_TRUE(test, other);
	KUNIT_EXPECT_FALSE(test, outside);
}

static struct kunit_case bolt_down_cases[] = {
	KUNIT_CASE(one_cpu_at_a_time),
	KUNIT_CASE(second_call_has_no_effect),
	KUNIT_CASE(interrupts_of_other_cpus),
	{}
};

static struct kunit_suite bolt_down_suite = {
	.name = "bolt_down",
	.test_cases = bolt_down_cases,
};

kunit_test_suite(bolt_down_suite);

#endif /* _BOLT_TESTS_DOWN_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

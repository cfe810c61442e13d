/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: which TSC test a CPU gets when it comes up (x86), and what the short test
 * finds. Takes the highest online CPU (the victim) offline and back; two cases take all
 * CPUs of its package offline and back. Skipped if no other CPU is online, if the victim
 * cannot go offline, if the TSC has an MSR for its offset, or if the kernel does not take
 * the TSCs of CPUs for synchronized. A CPU that was parked warm gets no test when it
 * returns, so only one case parks CPUs warm.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _X86_TESTS_BOLT_TSC_KUNIT_H
#define _X86_TESTS_BOLT_TSC_KUNIT_H

#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/cpufeature.h>
#include <linux/device.h>
#include <linux/topology.h>

#include <asm/bolt.h>
#include <asm/tsc.h>

#include "../../../../kernel/bolt/compat.h"
#include "../../../../kernel/bolt/tests/fixture.h"
#include "../../../../kernel/bolt/warm.h"

struct tsc_test {
	struct cpumask online;
	bool was_enabled;
	bool was_warm;
	int was_reliable;
};

static unsigned int victim;

static void nothing(void *unused)
{
}

/*
 * Whether CPUs that come get no TSC test, because the TSCs of this machine are not in
 * step. The tests revoke "tsc=reliable", see cycle(), so that the answer must not depend
 * on it.
 */
static bool unsynchronized(void)
{
	int reliable = tsc_clocksource_reliable;
	bool found;

	tsc_clocksource_reliable = 0;
	found = unsynchronized_tsc();
	tsc_clocksource_reliable = reliable;
	return found;
}

static int tsc_test_init(struct kunit *test)
{
	struct tsc_test *tt;
	struct device *dev;

	victim = cpumask_last(cpu_online_mask);
	dev = get_cpu_device(victim);
	if (num_online_cpus() < 2 || !dev || dev_offline_disabled(dev))
		kunit_skip(test, "no CPU can go offline");
	if (unsynchronized() || boot_cpu_has(X86_FEATURE_TSC_ADJUST))
		kunit_skip(test, "CPUs that return get no short TSC test here");
	tt = kunit_kzalloc(test, sizeof(*tt), GFP_KERNEL);
	if (!tt)
		return -ENOMEM;
	cpumask_copy(&tt->online, cpu_online_mask);
	tt->was_enabled = bolt_enabled();
	tt->was_reliable = tsc_clocksource_reliable;
	tt->was_warm = bolt_warm_wanted();
	test->priv = tt;
	bolt_warm_want(false);
	return bolt_enable(true);
}

static void tsc_test_exit(struct kunit *test)
{
	struct tsc_test *tt = test->priv;
	unsigned int cpu;

	if (!tt)
		return;
	for_each_cpu(cpu, &tt->online)
		add_cpu(cpu);
	bolt_enable(tt->was_enabled);
	bolt_warm_want(tt->was_warm);
	tsc_clocksource_reliable = tt->was_reliable;
	bolt_tsc_limit_us = BOLT_TSC_LIMIT_US;
}

/* Takes the victim offline and back, and checks which tests it got. */
static void cycle(struct kunit *test, unsigned int full, unsigned int again,
		  unsigned int failed)
{
	struct bolt_tsc *tsc = per_cpu_ptr(&bolt_tscs, victim), was = *tsc;

	/* With "tsc=reliable" no CPU would be tested. */
	tsc_clocksource_reliable = 0;
	KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	KUNIT_EXPECT_EQ(test, tsc->full - was.full, full);
	KUNIT_EXPECT_EQ(test, tsc->again - was.again, again);
	KUNIT_EXPECT_EQ(test, tsc->failed - was.failed, failed);
	/* If the long test ran, it must have found that the TSC is good. */
	KUNIT_EXPECT_FALSE(test, check_tsc_unstable());
}

/*
 * The victim gets only the short test. With KASAN or lockdep the short test may run out
 * of time, so that the long test follows; that must not happen in all of 10 tries.
 */
static void cycle_short(struct kunit *test)
{
	struct bolt_tsc *tsc = per_cpu_ptr(&bolt_tscs, victim), was;
	bool slow = IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_PROVE_LOCKING);
	int tries = slow ? 10 : 1;

	do {
		was = *tsc;
		tsc_clocksource_reliable = 0;
		KUNIT_ASSERT_EQ(test, remove_cpu(victim), 0);
		KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
		KUNIT_EXPECT_EQ(test, tsc->full - was.full, tsc->failed - was.failed);
	} while (tsc->failed != was.failed && --tries);
	KUNIT_EXPECT_EQ(test, tsc->again - was.again, 1);
	KUNIT_EXPECT_FALSE(test, check_tsc_unstable());
}

/* Has the victim pass the long test. */
static void pass(struct kunit *test)
{
	bolt_tsc_forget(victim);
	cycle(test, 1, 0, 0);
}

/* At boot all CPUs get the long test, except the CPU that they are tested against. */
static void first_bringup_is_full(struct kunit *test)
{
	unsigned int cpu;

	if (tsc_clocksource_reliable)
		kunit_skip(test, "tsc=reliable: not tested at boot");
	for_each_online_cpu(cpu) {
		if (cpu)
			KUNIT_EXPECT_GE(test,
					per_cpu_ptr(&bolt_tscs, cpu)->full, 1u);
	}
}

static void unknown_cpu_is_full(struct kunit *test)
{
	pass(test);
}

static void return_is_short(struct kunit *test)
{
	pass(test);
	cycle_short(test);
	cycle_short(test);
}

static void native_is_full(struct kunit *test)
{
	pass(test);
	KUNIT_ASSERT_EQ(test, bolt_enable(false), 0);
	cycle(test, 1, 0, 0);
}

/* A CPU that returns warm gets no test, as its TSC has not stopped. */
static void warm_return_is_not_tested(struct kunit *test)
{
	if (bolt_warm_want(true))
		kunit_skip(test, "no CPU can be parked warm");
	cycle(test, 0, 0, 0);
	cycle(test, 0, 0, 0);
}

/* A side of the short test whose TSC is ahead of the other side's. */
struct ahead {
	struct bolt_tsc_test *test;
	enum bolt_tsc_side side;
	s64 cycles;
	bool stop;
};

/*
 * Stands for bolt_tsc_measure() on a CPU whose TSC is ahead, and does not look for
 * warps.
 */
static void measure_ahead(void *data)
{
	struct ahead *ahead = data;
	struct bolt_tsc_test *test = ahead->test;
	unsigned int n = 0;

	while (!READ_ONCE(ahead->stop)) {
		enum bolt_tsc_side reader;

		arch_spin_lock(&test->lock);
		test->last = rdtsc_ordered() + ahead->cycles;
		reader = test->reader;
		test->reader = ahead->side;
		arch_spin_unlock(&test->lock);
		if (reader == !ahead->side)
			WRITE_ONCE(test->handovers[ahead->side], ++n);
		cpu_relax();
	}
}

/*
 * Returns whether this CPU, against another CPU that runs @side and whose TSC seems to be
 * @cycles ahead, finds a warp, and the test counts as failed.
 */
static bool finds(struct kunit *test, enum bolt_tsc_side side, s64 cycles)
{
	static struct bolt_tsc_test measured;
	static struct ahead ahead;
	unsigned int peer;
	int err;

	measured = (struct bolt_tsc_test) {
		.lock = __ARCH_SPIN_LOCK_UNLOCKED,
		.reader = NOBODY,
	};
	ahead = (struct ahead) {
		.test = &measured,
		.side = side,
		.cycles = cycles,
	};
	preempt_disable();
	peer = cpumask_any_but(cpu_online_mask, smp_processor_id());
	err = smp_call_function_single(peer, measure_ahead, &ahead, 0);
	if (err) {
		preempt_enable();
		KUNIT_FAIL(test, "no other side: %d", err);
		return false;
	}
	/* Waits until the other side has begun. */
	while (READ_ONCE(measured.reader) == NOBODY)
		cpu_relax();
	local_irq_disable();
	bolt_tsc_measure(&measured, !side);
	local_irq_enable();
	WRITE_ONCE(ahead.stop, true);
	preempt_enable();
	/*
	 * This call is queued behind the call of measure_ahead(), so when this call is
	 * done measure_ahead() has ended.
	 */
	smp_call_function_single(peer, nothing, NULL, 1);
	return measured.warped[!side] && !bolt_tsc_good(&measured);
}

/*
 * Offsets of half a second, a millisecond and 10 us are found, whichever side is
 * ahead.
 */
static void offset_is_found(struct kunit *test)
{
	static const unsigned int us[] = { 500000, 1000, 10 };
	int i;

	for (i = 0; i < ARRAY_SIZE(us); i++) {
		s64 cycles = (s64)tsc_khz * us[i] / 1000;

		KUNIT_EXPECT_TRUE_MSG(test, finds(test, SOURCE, cycles), "source, %u us", us[i]);
		KUNIT_EXPECT_TRUE_MSG(test, finds(test, TARGET, cycles), "target, %u us", us[i]);
	}
	pass(test);
	cycle_short(test);
}

/* Given no time, a short test makes too few hand-overs, so the long test follows. */
static void too_few_handovers_are_no_test(struct kunit *test)
{
	pass(test);
	bolt_tsc_limit_us = 0;
	cycle(test, 1, 0, 1);
	bolt_tsc_limit_us = BOLT_TSC_LIMIT_US;
	cycle_short(test);
}

static void resume_is_full(struct kunit *test)
{
	pass(test);
	/* Preemption is off, as when restore_processor_state() calls this function. */
	preempt_disable();
	tsc_verify_tsc_adjust(true);
	preempt_enable();
	cycle(test, 1, 0, 0);
	cycle_short(test);
}

static bool same_package(unsigned int cpu)
{
	return topology_physical_package_id(cpu) ==
	       topology_physical_package_id(victim);
}

/*
 * When all CPUs of a package have been offline at the same time, each of these CPUs gets
 * the long test.
 */
static void package_that_was_offline_is_full(struct kunit *test)
{
	unsigned int cpu, n = 0;
	unsigned int *full;

	if (same_package(cpumask_first(cpu_online_mask)))
		kunit_skip(test, "the machine has only one package");
	full = kunit_kcalloc(test, nr_cpu_ids, sizeof(*full), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, full);
	tsc_clocksource_reliable = 0;
	pass(test);
	for_each_present_cpu(cpu) {
		if (!same_package(cpu))
			continue;
		n++;
		KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
		full[cpu] = per_cpu_ptr(&bolt_tscs, cpu)->full;
	}
	KUNIT_EXPECT_GE(test, n, 2u);
	for_each_present_cpu(cpu) {
		if (!same_package(cpu))
			continue;
		KUNIT_ASSERT_EQ(test, add_cpu(cpu), 0);
		KUNIT_EXPECT_EQ(test, per_cpu_ptr(&bolt_tscs, cpu)->full,
				full[cpu] + 1);
	}
	cycle_short(test);
}

/*
 * As in the test above, but the CPUs come back in one request, so that a CPU may be in
 * the masks of its siblings before any of these CPUs is online.
 */
static void package_that_returns_at_once_is_full(struct kunit *test)
{
	struct cpumask *package;
	unsigned int *full, cpu;

	if (same_package(cpumask_first(cpu_online_mask)))
		kunit_skip(test, "the machine has only one package");
	full = kunit_kcalloc(test, nr_cpu_ids, sizeof(*full), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, full);
	package = kunit_kzalloc(test, cpumask_size(), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, package);
	pass(test);
	for_each_online_cpu(cpu) {
		if (!same_package(cpu))
			continue;
		cpumask_set_cpu(cpu, package);
		full[cpu] = per_cpu_ptr(&bolt_tscs, cpu)->full;
	}
	KUNIT_EXPECT_GE(test, cpumask_weight(package), 2u);
	tsc_clocksource_reliable = 0;
	KUNIT_ASSERT_EQ(test, bolt_test_go(package, false), 0);
	KUNIT_ASSERT_EQ(test, bolt_test_go(package, true), 0);
	for_each_cpu(cpu, package) {
		KUNIT_EXPECT_EQ(test, per_cpu_ptr(&bolt_tscs, cpu)->full,
				full[cpu] + 1);
	}
	cycle_short(test);
}

static struct kunit_case bolt_tsc_cases[] = {
	KUNIT_CASE(first_bringup_is_full),
	KUNIT_CASE(unknown_cpu_is_full),
	KUNIT_CASE(return_is_short),
	KUNIT_CASE(native_is_full),
	KUNIT_CASE(warm_return_is_not_tested),
	KUNIT_CASE(offset_is_found),
	KUNIT_CASE(too_few_handovers_are_no_test),
	KUNIT_CASE(resume_is_full),
	KUNIT_CASE(package_that_was_offline_is_full),
	KUNIT_CASE(package_that_returns_at_once_is_full),
	{}
};

static struct kunit_suite bolt_tsc_suite = {
	.name = "bolt_tsc",
	.init = tsc_test_init,
	.exit = tsc_test_exit,
	.test_cases = bolt_tsc_cases,
};

kunit_test_suite(bolt_tsc_suite);

#endif /* _X86_TESTS_BOLT_TSC_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86: TSC tests of CPUs that return. A CPU that comes by a reset, and natively would be
 * tested, calls bolt_tsc_retest() from check_tsc_sync_target(), before the native test.
 *
 * The native test takes most of a bring-up: it compares the TSC of a CPU that comes with
 * that of an online CPU, for 2 ms, or for 20 ms if no other CPU of the package is online.
 * Where there is an MSR for the offset, TSC_ADJUST, only the CPU that comes first in its
 * package is tested. Where there is no such MSR, a CPU that a request brings back by
 * INIT, not in boot or resume, gets a short test, if the CPU has passed the native (long)
 * test in this boot, and after the last resume if there was one, and if its package was
 * not offline as a whole since that test (@passed of struct bolt_tsc says it exactly):
 * INIT does not touch the TSC. Only firmware or a hypervisor may have written to the TSC
 * since, which shifts the TSC by a constant.
 *
 * The TSC is read on one CPU, then on the other, with nothing in between but the
 * hand-over of a lock. The second reading is smaller if the second CPU lags by more
 * than the hand-over took. Each hand-over reveals offsets larger than its own
 * duration, so the quickest one in each direction decides what is found. Every
 * hand-over takes about the same time, that of one transfer of a cache line, unless an
 * SMI or the host delays the hand-over. So the thousands of hand-overs of a test of 2 ms
 * find no more than a few hand-overs do, of which one in each direction is not delayed.
 * An SMI or the host hardly ever delays all of dozens of hand-overs, and so hardly ever
 * the quickest one of the BOLT_TSC_HANDOVERS in each direction. A drift, for which the
 * time of the test matters, would have shown in the long test.
 *
 * In any doubt the long test runs.
 */
#include <linux/bolt.h>
#include <linux/cache.h>
#include <linux/cpu.h>
#include <linux/cpufeature.h>
#include <linux/cpumask.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/topology.h>

#include <asm/apic.h>
#include <asm/bolt.h>
#include <asm/msr.h>
#include <asm/tsc.h>

/* How many hand-overs in each direction the short test needs. */
#define BOLT_TSC_HANDOVERS 64

/*
 * How long the short test may take: an eighth of the 2 ms of a long test, or about 2 us
 * for each hand-over.
 */
#define BOLT_TSC_LIMIT_US 250

/* After how many readings a side ends the short test even if its TSC stands still. */
#define BOLT_TSC_LOOPS 1000000

enum bolt_tsc_side {
	SOURCE,
	TARGET,
	NOBODY,
};

/**
 * struct bolt_tsc_test - a short test; there is never more than one at a time
 * @lock:	a raw lock, as in the long test, so that a hand-over takes as little time
 *		as possible
 * @last:	the TSC as read last
 * @reader:	the side that has read the TSC last
 * @handovers:	how many readings of each side came right after one of the other side
 * @warped:	for each side, whether any of its readings was smaller than the reading
 *		before, of either side
 * @entered:	whether the source has begun the test
 * @left:	whether the source has ended the test
 */
struct bolt_tsc_test {
	arch_spinlock_t lock;
	u64 last;
	enum bolt_tsc_side reader;

	/* Not in the cache line of @lock, so that a hand-over transfers only one line. */
	unsigned int handovers[2] ____cacheline_aligned;
	bool warped[2];
	bool entered, left;
};

static struct bolt_tsc_test bolt_tsc_test;

/**
 * struct bolt_tsc - the TSC tests of a CPU
 * @passed:	the CPU has passed a long test; since then it was not unplugged, the
 *		system has not resumed from suspend, and its package was never offline
 *		as a whole, or if it was, a CPU that was parked warm came back first
 * @full:	how many long tests the CPU has passed
 * @again:	how many short tests the CPU has passed
 * @failed:	how many short tests the CPU has not passed
 */
struct bolt_tsc {
	bool passed;
	unsigned int full, again, failed;
};

static DEFINE_PER_CPU(struct bolt_tsc, bolt_tscs);

/* How long the short test may take, in microseconds. KUnit tests change this limit. */
static unsigned int bolt_tsc_limit_us = BOLT_TSC_LIMIT_US;

/* Runs one side of the test; the other side runs on another CPU at the same time. */
static void bolt_tsc_measure(struct bolt_tsc_test *test, enum bolt_tsc_side side)
{
	u64 end = rdtsc_ordered() + (u64)tsc_khz * bolt_tsc_limit_us / 1000;
	enum bolt_tsc_side reader;
	unsigned int n = 0, i;
	u64 before, now;

	for (i = 0; i < BOLT_TSC_LOOPS; i++) {
		arch_spin_lock(&test->lock);
		before = test->last;
		now = rdtsc_ordered();
		test->last = now;
		reader = test->reader;
		test->reader = side;
		arch_spin_unlock(&test->lock);

		if (before > now)
			test->warped[side] = true;
		if (reader == !side)
			WRITE_ONCE(test->handovers[side], ++n);
		if (n >= BOLT_TSC_HANDOVERS &&
		    READ_ONCE(test->handovers[!side]) >= BOLT_TSC_HANDOVERS)
			break;
		if (now > end)
			break;
		/* Lets the other side have the lock. */
		cpu_relax();
	}
}

static void bolt_tsc_source(void *data)
{
	struct bolt_tsc_test *test = data;

	/*
	 * Pairs with the acquire in bolt_tsc_short_test(), which waits until this
	 * side has begun.
	 */
	smp_store_release(&test->entered, true);
	bolt_tsc_measure(test, SOURCE);
	/*
	 * Pairs with the acquire in bolt_tsc_short_test(), which then reads what
	 * this side has found.
	 */
	smp_store_release(&test->left, true);
}

/*
 * Whether both sides have found nothing wrong, and have made enough hand-overs to
 * say so.
 */
static bool bolt_tsc_good(const struct bolt_tsc_test *test)
{
	return !test->warped[SOURCE] && !test->warped[TARGET] &&
	       test->handovers[SOURCE] >= BOLT_TSC_HANDOVERS &&
	       test->handovers[TARGET] >= BOLT_TSC_HANDOVERS;
}

static bool bolt_tsc_short_test(void)
{
	struct bolt_tsc_test *test = &bolt_tsc_test;

	*test = (struct bolt_tsc_test) {
		.lock = __ARCH_SPIN_LOCK_UNLOCKED,
		.reader = NOBODY,
	};
	if (smp_call_function_single(cpumask_first(cpu_online_mask),
				     bolt_tsc_source, test, 0))
		return false;
	/* Pairs with bolt_tsc_source(). */
	while (!smp_load_acquire(&test->entered))
		cpu_relax();
	bolt_tsc_measure(test, TARGET);
	/* Pairs with bolt_tsc_source(). */
	while (!smp_load_acquire(&test->left))
		cpu_relax();
	return bolt_tsc_good(test);
}

/*
 * Called when @cpu is the first CPU of its package to come: while the whole package
 * was offline, its TSCs may have changed.
 */
static void bolt_tsc_forget_package(unsigned int cpu)
{
	unsigned int other;

	for_each_possible_cpu(other) {
		if (topology_physical_package_id(other) ==
		    topology_physical_package_id(cpu))
			bolt_tsc_forget(other);
	}
}

/**
 * bolt_tsc_passed - note that a CPU has passed the long test
 * @cpu:	the CPU
 *
 * Context: an IPI on the CPU that @cpu was tested against; the task that brings @cpu up
 * holds the hotplug lock for writing, or works for the task that does.
 */
void bolt_tsc_passed(unsigned int cpu)
{
	struct bolt_tsc *tsc = per_cpu_ptr(&bolt_tscs, cpu);

	tsc->passed = true;
	tsc->full++;
}

/**
 * bolt_tsc_forget - note that a CPU may come back with a TSC that was set meanwhile
 * @cpu:	the CPU, for example one that has been unplugged
 *
 * Context: hotplug lock held for writing, or @cpu cannot come up meanwhile for another
 * reason.
 */
void bolt_tsc_forget(unsigned int cpu)
{
	per_cpu_ptr(&bolt_tscs, cpu)->passed = false;
}

/**
 * bolt_tsc_forget_all - as bolt_tsc_forget(), for all CPUs
 *
 * Context: resume, on the only CPU that runs.
 */
void bolt_tsc_forget_all(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		bolt_tsc_forget(cpu);
}

/**
 * bolt_tsc_retest - test the TSC of a CPU that returns
 * @cpu:	this CPU; only one CPU at a time is tested
 *
 * Context: the CPU that comes up, interrupts off, not online yet.
 * Return: true if this CPU has passed the short test; false if the long test must run.
 */
bool bolt_tsc_retest(unsigned int cpu)
{
	struct bolt_tsc *tsc = this_cpu_ptr(&bolt_tscs);

	if (!bolt_has_sibling(topology_core_cpumask(cpu), cpu))
		bolt_tsc_forget_package(cpu);
	/*
	 * If a CPU is woken by other means than INIT, its TSC may have been set
	 * meanwhile.
	 */
	if (!tsc->passed || !bolt_may_defer() || cpuhp_tasks_frozen ||
	    boot_cpu_has(X86_FEATURE_TSC_ADJUST) ||
	    apic->wakeup_secondary_cpu || apic->wakeup_secondary_cpu_64)
		return false;
	if (!bolt_tsc_short_test()) {
		tsc->failed++;
		return false;
	}
	tsc->again++;
	return true;
}

#include "tests/bolt_tsc-kunit.h"

// SPDX-License-Identifier: GPL-2.0-only
/*
 * x86: TSC tests of CPUs that return. A CPU that comes calls bolt_tsc_retest() from
 * check_tsc_sync_target(), before the native test.
 *
 * The native test compares two CPUs for 2 ms, which is most of a bring-up. Where there
 * is an MSR for the offset, TSC_ADJUST, the kernel does without the test for
 * all CPUs of a package but the first. Where there is none, a CPU that returns
 * to a package of which some CPU was always online gets a short test: it has
 * passed the long one, in this boot, and INIT does not touch the TSC. What is
 * left is firmware or a hypervisor that has written to it, and that shifts the
 * TSC by a constant.
 *
 * The TSC is read on one CPU, then on the other, with nothing in between but
 * the hand-over of a lock. The second reading is smaller if the second CPU lags
 * by more than the hand-over took. Each hand-over reveals offsets larger than its
 * own duration, so the quickest one in each direction decides what is found. All
 * take about as long, one transfer of a cache line. So thousands of hand-overs, for
 * which 2 ms have room, find no more than a few do, unless an SMI or the host delays
 * one. Delays do not come in dozens: with BOLT_TSC_HANDOVERS in either direction, the
 * quickest hand-over is as quick as it gets. A drift, for which the time of the test
 * matters, would have shown in the long test.
 *
 * Any doubt, and the long one runs.
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

/* In either direction. */
#define BOLT_TSC_HANDOVERS 64

/* An eighth of what the long test takes: a hand-over may take 2 us. */
#define BOLT_TSC_LIMIT_US 250

/* In case that the TSC does not count. */
#define BOLT_TSC_LOOPS 1000000

enum bolt_tsc_side {
	SOURCE,
	TARGET,
	NOBODY,
};

/**
 * struct bolt_tsc_test - a short test; there is never more than one
 * @lock:	raw, as that of the long test: nothing but the hand-over
 * @last:	the TSC as read last
 * @reader:	the side that has read it
 * @handovers:	readings after one of the other side
 * @warped:	a reading was smaller than the one before
 * @entered:	the source is in the test
 * @left:	the source has left it
 */
struct bolt_tsc_test {
	arch_spinlock_t lock;
	u64 last;
	enum bolt_tsc_side reader;

	/* Apart, so that the hand-over is one transfer of a cache line. */
	unsigned int handovers[2] ____cacheline_aligned;
	bool warped[2];
	bool entered, left;
};

static struct bolt_tsc_test bolt_tsc_test;

/**
 * struct bolt_tsc - the TSC tests of a CPU
 * @passed:	the CPU has passed a long one, and since then neither has the CPU
 *		been anything worse than INIT-reset, nor its package all offline
 * @full:	how many long ones the CPU has passed
 * @again:	how many short ones the CPU has passed
 * @failed:	how many short ones were not good enough
 */
struct bolt_tsc {
	bool passed;
	unsigned int full, again, failed;
};

static DEFINE_PER_CPU(struct bolt_tsc, bolt_tscs);

/* How long the short test may take, us. */
static unsigned int bolt_tsc_limit_us = BOLT_TSC_LIMIT_US;

/* One side of the test; the other runs on another CPU. */
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

	/* Pairs with bolt_tsc_short_test(): nothing depends on what was before. */
	smp_store_release(&test->entered, true);
	bolt_tsc_measure(test, SOURCE);
	/* Pairs with bolt_tsc_short_test(): what was seen is there to be read. */
	smp_store_release(&test->left, true);
}

/* What both sides have found; too few hand-overs are no test. */
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

/* @cpu is the first of its package: no CPU has watched the TSCs of the package. */
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
 * bolt_tsc_passed - a CPU has passed the long test
 * @cpu:	the CPU
 *
 * Context: the CPU it was tested against, with the hotplug lock held for
 * writing by the control task.
 */
void bolt_tsc_passed(unsigned int cpu)
{
	struct bolt_tsc *tsc = per_cpu_ptr(&bolt_tscs, cpu);

	tsc->passed = true;
	tsc->full++;
}

/**
 * bolt_tsc_forget - a CPU may come back with another TSC
 * @cpu:	the CPU, which is offline: it is unplugged, say
 *
 * Context: hotplug lock held for writing, or the CPU cannot come up otherwise.
 */
void bolt_tsc_forget(unsigned int cpu)
{
	per_cpu_ptr(&bolt_tscs, cpu)->passed = false;
}

/**
 * bolt_tsc_forget_all - all CPUs may come back with another TSC
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
 * @cpu:	this CPU; one at a time
 *
 * Context: the CPU that comes up, interrupts off, not online yet.
 * Return: true if its TSC is known to be right, false if the long test is to
 * find out.
 */
bool bolt_tsc_retest(unsigned int cpu)
{
	struct bolt_tsc *tsc = this_cpu_ptr(&bolt_tscs);

	if (!bolt_has_sibling(topology_core_cpumask(cpu), cpu))
		bolt_tsc_forget_package(cpu);
	/* Woken by other means than INIT: these may have changed the TSC. */
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

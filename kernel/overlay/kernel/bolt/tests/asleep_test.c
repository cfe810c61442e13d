// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: a request that parks a CPU does not wake a per-CPU thread that sleeps there.
 * Work that the thread gets meanwhile is done when the CPU is back. The thread can be
 * ended while the CPU is parked.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smpboot.h>

#include "fixture.h"

#define PATIENCE (2 * HZ)

static DEFINE_PER_CPU(struct task_struct *, sleeper);
static DEFINE_PER_CPU(bool, has_work);
static DECLARE_COMPLETION(worked);
static unsigned int worked_on;

static int should_run(unsigned int cpu)
{
	return READ_ONCE(per_cpu(has_work, cpu));
}

static void work(unsigned int cpu)
{
	WRITE_ONCE(per_cpu(has_work, cpu), false);
	worked_on = cpu;
	complete(&worked);
}

static struct smp_hotplug_thread sleepers = {
	.store			= &sleeper,
	.thread_should_run	= should_run,
	.thread_fn		= work,
	.thread_comm		= "bolt_test/%u",
};

/*
 * Waits, for a second at most, until the thread sleeps, and returns how often the
 * thread has fallen asleep.
 */
static unsigned long rests(struct task_struct *thread)
{
	unsigned long end = jiffies + HZ;

	/* wait_task_inactive() does not wait for a thread that has yet to go to sleep. */
	while (!wait_task_inactive(thread, TASK_INTERRUPTIBLE)) {
		if (WARN_ON(time_after(jiffies, end)))
			break;
		schedule_timeout_uninterruptible(1);
	}
	return thread->nvcsw;
}

static void give_work(unsigned int cpu)
{
	WRITE_ONCE(per_cpu(has_work, cpu), true);
	wake_up_process(per_cpu(sleeper, cpu));
}

/*
 * The thread sleeps on while its CPU goes and comes back. While the CPU is parked,
 * wake_up_process() does not wake the thread.
 */
static void sleeps_on(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;
	struct task_struct *thread = per_cpu(sleeper, f->victim);
	unsigned long before = rests(thread);

	KUNIT_ASSERT_EQ(test, bolt_test_go(cpumask_of(f->victim), false), 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(thread->__state), TASK_PARKED);
	KUNIT_EXPECT_EQ(test, wake_up_process(thread), 0);
	KUNIT_EXPECT_EQ(test, thread->nvcsw, before);

	KUNIT_ASSERT_EQ(test, bolt_test_go(cpumask_of(f->victim), true), 0);
	KUNIT_EXPECT_EQ(test, rests(thread), before);
	KUNIT_EXPECT_TRUE(test, cpumask_equal(thread->cpus_ptr, cpumask_of(f->victim)));

	give_work(f->victim);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&worked, PATIENCE), 0);
	KUNIT_EXPECT_EQ(test, worked_on, f->victim);
}

/* Work that the thread gets while its CPU is parked is done when the CPU is back. */
static void works_when_back(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;

	rests(per_cpu(sleeper, f->victim));
	KUNIT_ASSERT_EQ(test, bolt_test_go(cpumask_of(f->victim), false), 0);
	give_work(f->victim);
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&worked, HZ / 10), 0);
	KUNIT_ASSERT_EQ(test, bolt_test_go(cpumask_of(f->victim), true), 0);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&worked, PATIENCE), 0);
	KUNIT_EXPECT_EQ(test, worked_on, f->victim);
}

/*
 * Work that the thread gets just before its CPU goes is done: before the CPU has gone,
 * or when the CPU is back.
 */
static void work_meets_requests(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;
	unsigned int round;

	for (round = 0; round < 40; round++) {
		give_work(f->victim);
		KUNIT_ASSERT_EQ(test, bolt_test_go(cpumask_of(f->victim), false), 0);
		KUNIT_ASSERT_EQ(test, bolt_test_go(cpumask_of(f->victim), true), 0);
		KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&worked, PATIENCE), 0);
		KUNIT_ASSERT_EQ(test, worked_on, f->victim);
	}
}

/* A thread that was parked while asleep works again when its CPU comes back natively. */
static void native_return(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;

	rests(per_cpu(sleeper, f->victim));
	KUNIT_ASSERT_EQ(test, bolt_test_go(cpumask_of(f->victim), false), 0);
	bolt_enable(false);
	give_work(f->victim);
	KUNIT_ASSERT_EQ(test, add_cpu(f->victim), 0);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&worked, PATIENCE), 0);
	KUNIT_EXPECT_EQ(test, worked_on, f->victim);
}

/*
 * The threads of all CPUs are ended while one CPU is parked, and made again before that
 * CPU comes back.
 */
static void ends_while_parked(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;

	rests(per_cpu(sleeper, f->victim));
	KUNIT_ASSERT_EQ(test, bolt_test_go(cpumask_of(f->victim), false), 0);
	smpboot_unregister_percpu_thread(&sleepers);
	KUNIT_EXPECT_NULL(test, per_cpu(sleeper, f->victim));
	KUNIT_ASSERT_EQ(test, smpboot_register_percpu_thread(&sleepers), 0);
	KUNIT_ASSERT_EQ(test, bolt_test_go(cpumask_of(f->victim), true), 0);
	give_work(f->victim);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&worked, PATIENCE), 0);
	KUNIT_EXPECT_EQ(test, worked_on, f->victim);
}

static int bolt_asleep_init(struct kunit *test)
{
	struct bolt_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	int err;

	if (!f)
		return -ENOMEM;
	err = bolt_fixture_begin(test, f);
	if (err)
		return err;
	err = smpboot_register_percpu_thread(&sleepers);
	if (err) {
		bolt_fixture_end(f);
		return err;
	}
	reinit_completion(&worked);
	test->priv = f;
	return 0;
}

static void bolt_asleep_exit(struct kunit *test)
{
	struct bolt_fixture *f = test->priv;

	if (!f)
		return;
	bolt_fixture_end(f);
	smpboot_unregister_percpu_thread(&sleepers);
}

static struct kunit_case bolt_asleep_cases[] = {
	KUNIT_CASE(sleeps_on),
	KUNIT_CASE(works_when_back),
	KUNIT_CASE(work_meets_requests),
	KUNIT_CASE(native_return),
	KUNIT_CASE(ends_while_parked),
	{}
};

static struct kunit_suite bolt_asleep_suite = {
	.name = "bolt_asleep",
	.init = bolt_asleep_init,
	.exit = bolt_asleep_exit,
	.test_cases = bolt_asleep_cases,
};

kunit_test_suite(bolt_asleep_suite);

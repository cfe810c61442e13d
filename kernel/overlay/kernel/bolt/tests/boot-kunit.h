/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: the state, the ksoftirqd and the idle task of every CPU after boot are as
 * natively, in whatever way bolt.boot= has brought the CPU up.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_BOOT_KUNIT_H
#define _BOLT_TESTS_BOOT_KUNIT_H

#include <kunit/test.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/pid.h>
#include <linux/sched.h>

/* bolt.test_fails_once=: the CPU whose first startup of "bolt/test:boot" fails */
static unsigned int boot_fails = UINT_MAX;
static bool boot_has_failed;

static int __init parse_boot_fails(char *str)
{
	return kstrtouint(str ?: "", 0, &boot_fails);
}
early_param("bolt.test_fails_once", parse_boot_fails);

static int fail_once(unsigned int cpu)
{
	if (cpu != boot_fails || boot_has_failed)
		return 0;
	boot_has_failed = true;
	return -EIO;
}

static int __init boot_state_init(void)
{
	static const struct bolt_defer concurrent = { .concurrent = true, .reason = "test" };
	int state;

	if (boot_fails == UINT_MAX)
		return 0;
	state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "bolt/test:boot", fail_once,
					  NULL);
	return state < 0 ? state : bolt_defer_state(state, &concurrent);
}
early_initcall(boot_state_init);

/*
 * Per-CPU threads are kthreadd's children, as ps(1) shows, whichever task has made
 * them.
 */
static void threads_of_cpus(struct kunit *test)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		struct task_struct *thread = per_cpu(ksoftirqd, cpu);

		KUNIT_ASSERT_NOT_NULL(test, thread);
		KUNIT_EXPECT_PTR_EQ(test, thread->real_parent, kthreadd_task);
		KUNIT_EXPECT_EQ(test, thread->exit_signal, SIGCHLD);
		KUNIT_EXPECT_EQ(test, thread->policy, SCHED_NORMAL);
		KUNIT_EXPECT_EQ(test, task_nice(thread), 0);
		KUNIT_EXPECT_TRUE_MSG(test, cpumask_equal(thread->cpus_ptr, cpumask_of(cpu)),
				      "%s may run on %*pbl", thread->comm,
				      cpumask_pr_args(thread->cpus_ptr));
		KUNIT_EXPECT_TRUE(test, thread->flags & PF_KTHREAD);
		KUNIT_EXPECT_TRUE(test, thread->flags & PF_NO_SETAFFINITY);
	}
}

static void idle_tasks(struct kunit *test)
{
	char name[2 * TASK_COMM_LEN];
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		struct task_struct *idle = idle_task(cpu);

		KUNIT_ASSERT_NOT_NULL(test, idle);
		snprintf(name, sizeof(name), "swapper/%u", cpu);
		KUNIT_EXPECT_STREQ(test, idle->comm, name);
		KUNIT_EXPECT_TRUE(test, is_idle_task(idle));
		KUNIT_EXPECT_EQ(test, task_pid_nr(idle), 0);
		KUNIT_EXPECT_TRUE(test, cpumask_equal(idle->cpus_ptr, cpumask_of(cpu)));
	}
}

/* A CPU one of whose startups has failed comes, too: the kernel tries once more. */
static void all_the_way(struct kunit *test)
{
	unsigned int cpu;

	if (boot_fails != UINT_MAX) {
		KUNIT_EXPECT_TRUE(test, boot_has_failed);
		KUNIT_EXPECT_TRUE(test, cpu_online(boot_fails));
	}
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ_MSG(test, bolt_cpu_state(cpu), CPUHP_ONLINE, "CPU%u", cpu);
		KUNIT_EXPECT_TRUE_MSG(test, cpu_active(cpu), "CPU%u", cpu);
		KUNIT_EXPECT_FALSE_MSG(test, kthread_parking(per_cpu(ksoftirqd, cpu)), "CPU%u",
				       cpu);
	}
}

static struct kunit_case bolt_boot_cases[] = {
	KUNIT_CASE(all_the_way),
	KUNIT_CASE(threads_of_cpus),
	KUNIT_CASE(idle_tasks),
	{}
};

static struct kunit_suite bolt_boot_suite = {
	.name = "bolt_boot",
	.test_cases = bolt_boot_cases,
};

kunit_test_suite(bolt_boot_suite);

#endif /* _BOLT_TESTS_BOOT_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

/* SPDX-License-Identifier: GPL-2.0-only */
/* KUnit: hotplug states whose startups run on all CPUs at once. */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_PARALLEL_KUNIT_H
#define _BOLT_TESTS_PARALLEL_KUNIT_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug_parallel.h>
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/string.h>

#include "../steps.h"

static struct {
	atomic_t startups, teardowns, inside, together, elsewhere, instances;
	unsigned int fails;
	int err;
	struct hlist_node *node;
	struct completion *writer;
	bool at_once;
} seen;

static struct hlist_node one, other;

static int parallel_startup(unsigned int cpu)
{
	unsigned long deadline = jiffies + HZ;

	if (cpu == seen.fails)
		return seen.err;
	atomic_inc(&seen.startups);
	if (cpu != smp_processor_id() || !strstarts(current->comm, "cpuhp/"))
		atomic_inc(&seen.elsewhere);
	/* Callbacks that run at once all meet in this loop. */
	atomic_inc(&seen.inside);
	while (atomic_read(&seen.inside) < num_online_cpus() &&
	       time_before(jiffies, deadline))
		usleep_range(100, 200);
	if (atomic_read(&seen.inside) >= num_online_cpus())
		atomic_inc(&seen.together);
	if (seen.writer && cpu == cpumask_first(cpu_online_mask))
		complete(seen.writer);
	if (seen.writer)
		msleep(50);
	return 0;
}

static int parallel_teardown(unsigned int cpu)
{
	atomic_inc(&seen.teardowns);
	return 0;
}

static int ahead_startup(unsigned int cpu)
{
	atomic_inc(&seen.startups);
	return cpu == seen.fails ? seen.err : 0;
}

static int multi_startup(unsigned int cpu, struct hlist_node *node)
{
	if (node == seen.node)
		atomic_inc(&seen.instances);
	return parallel_startup(cpu);
}

static int multi_teardown(unsigned int cpu, struct hlist_node *node)
{
	return parallel_teardown(cpu);
}

static int parallel_init(struct kunit *test)
{
	memset(&seen, 0, sizeof(seen));
	seen.fails = nr_cpu_ids;
	seen.at_once = true;
	return 0;
}

/*
 * Does what the functions of <linux/cpuhotplug_parallel.h> do, without looking at
 * the switch bolt.parallel=.
 */
static int set_up_locked(enum cpuhp_state state, const char *name,
			 int (*startup)(unsigned int cpu),
			 int (*teardown)(unsigned int cpu))
{
	return bolt_setup_state(state, name, true, startup, teardown, false, seen.at_once);
}

static int set_up(enum cpuhp_state state, const char *name,
		  int (*startup)(unsigned int cpu),
		  int (*teardown)(unsigned int cpu))
{
	guard(cpus_read_lock)();
	return set_up_locked(state, name, startup, teardown);
}

static int add_instance(int state, struct hlist_node *node)
{
	guard(cpus_read_lock)();
	return bolt_add_instance(state, node, seen.at_once);
}

#define ran(what) atomic_read(&seen.what)

/*
 * The startup runs once for every CPU that is online, on that CPU itself, and on all
 * these CPUs at the same time.
 */
static void all_at_once(struct kunit *test)
{
	int n = num_online_cpus(), state;

	state = set_up(CPUHP_AP_ONLINE_DYN, "bolt/test:all", parallel_startup,
		       parallel_teardown);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_EQ(test, ran(startups), n);
	KUNIT_EXPECT_EQ(test, ran(together), n);
	KUNIT_EXPECT_EQ(test, ran(elsewhere), 0);
	KUNIT_EXPECT_TRUE(test, bolt_concurrent(state));
	cpuhp_remove_state(state);
	KUNIT_EXPECT_EQ(test, ran(teardowns), n);
	KUNIT_EXPECT_FALSE(test, bolt_concurrent(state));
}

/*
 * As with bolt.parallel=off, the startup runs on one CPU after the other. Afterwards it
 * has run on the same CPUs as when it runs on all CPUs at once.
 */
static void one_after_the_other(struct kunit *test)
{
	int state;

	if (num_online_cpus() < 2)
		kunit_skip(test, "on one CPU no two callbacks run at once");
	seen.at_once = false;
	state = set_up(CPUHP_AP_ONLINE_DYN, "bolt/test:one", parallel_startup,
		       parallel_teardown);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_EQ(test, ran(startups), num_online_cpus());
	/* Only on the last CPU does the startup find that it has begun on all CPUs. */
	KUNIT_EXPECT_EQ(test, ran(together), 1);
	cpuhp_remove_state(state);
}

/*
 * The functions of linux/cpuhotplug_parallel.h ask the switch bolt.parallel= whether
 * startups run at once. The lab runs this test with bolt.parallel=on, and with a command
 * line that does not name Bolt.
 */
static void the_switch_decides(struct kunit *test)
{
	bool on = bolt_boot_option(BOLT_BOOT_PARALLEL);
	int n = num_online_cpus(), together = on ? n : 1, state;

	if (n < 2)
		kunit_skip(test, "on one CPU no two callbacks run at once");
	if (strstr(saved_command_line, "bolt.parallel=on"))
		KUNIT_EXPECT_TRUE(test, on);
	else if (!strstr(saved_command_line, "bolt"))
		KUNIT_EXPECT_EQ(test, on, IS_ENABLED(CONFIG_BOLT_DEFAULT_ENABLED));
	state = cpuhp_setup_state_parallel(CPUHP_AP_ONLINE_DYN, "bolt/test:api",
					   parallel_startup, parallel_teardown);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_EQ(test, ran(startups), n);
	KUNIT_EXPECT_EQ(test, ran(together), together);
	cpuhp_remove_state(state);

	atomic_set(&seen.inside, 0);
	atomic_set(&seen.together, 0);
	state = cpuhp_setup_state_parallel_multi(CPUHP_AP_ONLINE_DYN, "bolt/test:api",
						 multi_startup, multi_teardown);
	KUNIT_ASSERT_GT(test, state, 0);
	seen.node = &one;
	KUNIT_EXPECT_EQ(test, cpuhp_state_add_instance_parallel(state, &one), 0);
	KUNIT_EXPECT_EQ(test, ran(instances), n);
	KUNIT_EXPECT_EQ(test, ran(together), together);
	/* Later requests do not pass over the state, which has an instance now. */
	KUNIT_EXPECT_EQ(test, bolt_step_from(state, true), state);
	KUNIT_EXPECT_EQ(test, cpuhp_state_remove_instance(state, &one), 0);
	cpuhp_remove_multi_state(state);
}

static void failure_undoes_all(struct kunit *test)
{
	int n = num_online_cpus(), err;

	seen.fails = cpumask_last(cpu_online_mask);
	seen.err = -ENXIO;
	err = set_up(CPUHP_AP_ONLINE_DYN, "bolt/test:fail", parallel_startup,
		     parallel_teardown);
	KUNIT_EXPECT_EQ(test, err, -ENXIO);
	KUNIT_EXPECT_EQ(test, ran(startups), n - 1);
	KUNIT_EXPECT_EQ(test, ran(teardowns), n - 1);

	/* After a failure nothing of the state is left: its number is free again. */
	seen.fails = nr_cpu_ids;
	atomic_set(&seen.inside, 0);
	err = set_up(CPUHP_AP_ONLINE_DYN, "bolt/test:fail", parallel_startup,
		     parallel_teardown);
	KUNIT_ASSERT_GT(test, err, 0);
	cpuhp_remove_state(err);
}

static void nocalls_calls_none(struct kunit *test)
{
	int state;

	state = cpuhp_setup_state_parallel_nocalls(CPUHP_AP_ONLINE_DYN,
						   "bolt/test:none",
						   parallel_startup,
						   parallel_teardown);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_EQ(test, ran(startups), 0);
	KUNIT_EXPECT_TRUE(test, bolt_concurrent(state));
	cpuhp_remove_state_nocalls(state);
	KUNIT_EXPECT_EQ(test, ran(teardowns), 0);
}

static void cpuslocked_holds_the_lock(struct kunit *test)
{
	int state;

	cpus_read_lock();
	state = set_up_locked(CPUHP_AP_ONLINE_DYN, "bolt/test:locked", parallel_startup,
			      parallel_teardown);
	cpus_read_unlock();
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_EQ(test, ran(together), num_online_cpus());
	cpuhp_remove_state(state);
}

static void instances_come_and_fail(struct kunit *test)
{
	int n = num_online_cpus(), state;

	state = cpuhp_setup_state_parallel_multi(CPUHP_AP_ONLINE_DYN,
						 "bolt/test:multi",
						 multi_startup, multi_teardown);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_EQ(test, ran(startups), 0);
	seen.node = &one;
	KUNIT_EXPECT_EQ(test, add_instance(state, &one), 0);
	KUNIT_EXPECT_EQ(test, ran(instances), n);
	KUNIT_EXPECT_EQ(test, ran(together), n);

	atomic_set(&seen.inside, 0);
	seen.fails = cpumask_first(cpu_online_mask);
	seen.err = -ENODEV;
	KUNIT_EXPECT_EQ(test, add_instance(state, &other),
			-ENODEV);
	KUNIT_EXPECT_EQ(test, ran(teardowns), n - 1);
	seen.fails = nr_cpu_ids;

	KUNIT_EXPECT_EQ(test, cpuhp_state_remove_instance(state, &one), 0);
	KUNIT_EXPECT_EQ(test, ran(teardowns), 2 * n - 1);
	cpuhp_remove_multi_state(state);
}

/* A startup of the PREPARE section runs for each CPU that is online, on any CPU. */
static void ahead_runs_for_all(struct kunit *test)
{
	int n = num_online_cpus(), state;

	state = set_up(CPUHP_BP_PREPARE_DYN, "bolt/test:ahead", ahead_startup,
		       parallel_teardown);
	KUNIT_ASSERT_GT(test, state, 0);
	KUNIT_EXPECT_EQ(test, ran(startups), n);
	cpuhp_remove_state(state);
	KUNIT_EXPECT_EQ(test, ran(teardowns), n);

	seen.fails = cpumask_last(cpu_online_mask);
	seen.err = -EIO;
	state = set_up(CPUHP_BP_PREPARE_DYN, "bolt/test:ahead", ahead_startup,
		       parallel_teardown);
	KUNIT_EXPECT_EQ(test, state, -EIO);
	KUNIT_EXPECT_EQ(test, ran(teardowns), 2 * n - 1);
}

static void some_states_are_refused(struct kunit *test)
{
	static const enum cpuhp_state wrong[] = {
		CPUHP_OFFLINE, CPUHP_BRINGUP_CPU, CPUHP_AP_SCHED_STARTING,
		CPUHP_TEARDOWN_CPU, CPUHP_AP_X86_HPET_ONLINE,
		CPUHP_AP_ACTIVE, CPUHP_ONLINE,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KUNIT_EXPECT_EQ(test,
				set_up(wrong[i], "bolt/test:bad", parallel_startup, NULL),
				-EINVAL);
	KUNIT_EXPECT_EQ(test, ran(startups), 0);
}

static int write_thread(void *arg)
{
	struct completion *done = arg;

	wait_for_completion(seen.writer);
	cpus_write_lock();
	cpus_write_unlock();
	complete(done);
	return 0;
}

/*
 * A task that wants the hotplug lock for writing waits for the callbacks, and the
 * callbacks do not wait for that task.
 */
static void a_writer_waits(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(begin);
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *task;
	int state;

	seen.writer = &begin;
	task = kthread_run(write_thread, &done, "bolt_writer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	cpus_read_lock();
	state = set_up_locked(CPUHP_AP_ONLINE_DYN, "bolt/test:writer", parallel_startup,
			      parallel_teardown);
	/* By now the task has asked for the lock. */
	KUNIT_EXPECT_FALSE(test, completion_done(&done));
	cpus_read_unlock();
	KUNIT_EXPECT_GT(test, state, 0);
	wait_for_completion(&done);
	seen.writer = NULL;
	if (state > 0)
		cpuhp_remove_state(state);
}

static struct kunit_case bolt_parallel_cases[] = {
	KUNIT_CASE(all_at_once),
	KUNIT_CASE(one_after_the_other),
	KUNIT_CASE(the_switch_decides),
	KUNIT_CASE(failure_undoes_all),
	KUNIT_CASE(nocalls_calls_none),
	KUNIT_CASE(cpuslocked_holds_the_lock),
	KUNIT_CASE(instances_come_and_fail),
	KUNIT_CASE(ahead_runs_for_all),
	KUNIT_CASE(some_states_are_refused),
	KUNIT_CASE(a_writer_waits),
	{}
};

static struct kunit_suite bolt_parallel_suite = {
	.name = "bolt_parallel",
	.init = parallel_init,
	.test_cases = bolt_parallel_cases,
};

kunit_test_suite(bolt_parallel_suite);

#endif /* _BOLT_TESTS_PARALLEL_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The affinity of tasks whose CPUs were away is lost, as natively, or given back if
 * keep_affinity is 1.
 */
#define _GNU_SOURCE
#include "affinity.h"
#include "lib/deadline.h"
#include "sets.h"
#include "../kselftest_harness.h"

#define CROWD 100
#define RUNTIME_NS 1000000
#define ROUNDS 5

static void doze(struct slot *slot)
{
	for (;;) {
		slot_beat(slot);
		wait_ms(1);
	}
}

/*
 * One of many tasks, each of which loses the affinity to an offline CPU only when the
 * task wakes.
 */
static void doze_long(struct slot *slot)
{
	for (;;) {
		slot_beat(slot);
		wait_ms(20);
	}
}

FIXTURE(affinity) {
	struct slot *slots;
	struct task task;
	char all[64];
};

FIXTURE_VARIANT(affinity) {
	void (*run)(struct slot *slot);
};

FIXTURE_VARIANT_ADD(affinity, spins) {
	.run = spin,
};

FIXTURE_VARIANT_ADD(affinity, sleeps) {
	.run = doze,
};

FIXTURE_SETUP(affinity)
{
	const char *why = affinity_cannot_run(3);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, affinity_start_over());
	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, put(BOLT_DIR "keep_affinity", "1"));
	self->slots = slots_map(2);
	ASSERT_NE(NULL, self->slots);
	ASSERT_GT(task_start(&self->task, self->slots, variant->run), 0);
	ASSERT_TRUE(task_lives(&self->task, 1, PATIENCE_MS));
	ASSERT_EQ(0, task_status(self->task.pid, "Cpus_allowed_list", self->all,
				 sizeof(self->all)));
	ASSERT_EQ(0, pin(self->task.pid, VICTIM));
}

FIXTURE_TEARDOWN(affinity)
{
	if (cannot_run())
		return;
	task_kill(&self->task);
	EXPECT_EQ(0, affinity_put_back());
}

TEST_F(affinity, is_given_back)
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
		ASSERT_TRUE(soon_allowed(&self->task, self->all));
		ASSERT_EQ(0, set_online(VICTIM, true));
		ASSERT_TRUE(soon_allowed(&self->task, "1"));
		ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	}
}

TEST_F(affinity, is_lost_unless_wanted)
{
	ASSERT_EQ(0, put(BOLT_DIR "keep_affinity", "0"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_EQ(0, set_online(VICTIM, true));
	wait_ms(LONG_MS);
	EXPECT_TRUE(allowed(&self->task, self->all));
}

TEST_F(affinity, is_lost_natively)
{
	ASSERT_EQ(0, enable(false));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_EQ(0, set_online(VICTIM, true));
	wait_ms(LONG_MS);
	EXPECT_TRUE(allowed(&self->task, self->all));
}

TEST_F(affinity, is_not_given_back_once_switched_off)
{
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_EQ(0, put(BOLT_DIR "keep_affinity", "0"));
	ASSERT_EQ(0, set_online(VICTIM, true));
	wait_ms(LONG_MS);
	EXPECT_TRUE(allowed(&self->task, self->all));
}

TEST_F(affinity, is_forgotten_when_switched_off)
{
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_EQ(0, put(BOLT_DIR "keep_affinity", "0"));
	ASSERT_EQ(0, put(BOLT_DIR "keep_affinity", "1"));
	ASSERT_EQ(0, set_online(VICTIM, true));
	wait_ms(LONG_MS);
	EXPECT_TRUE(allowed(&self->task, self->all));
}

TEST_F(affinity, is_forgotten_when_bolt_is_disabled)
{
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_EQ(0, enable(false));
	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, set_online(VICTIM, true));
	wait_ms(LONG_MS);
	EXPECT_TRUE(allowed(&self->task, self->all));
}

/*
 * A deadline task must be allowed all CPUs of its root domain, so the task gets its
 * affinity back only when it is no deadline task any more and a request has then brought
 * a CPU online.
 */
TEST_F(affinity, is_not_forced_on_a_deadline_task)
{
	struct sched_param normal = {};

	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_TRUE(soon_allowed(&self->task, self->all));
	ASSERT_EQ(0, set_deadline(self->task.pid, RUNTIME_NS));
	ASSERT_EQ(0, set_online(VICTIM, true));
	wait_ms(LONG_MS);
	EXPECT_TRUE(allowed(&self->task, self->all));
	ASSERT_EQ(0, sched_setscheduler(self->task.pid, SCHED_OTHER, &normal));
	ASSERT_EQ(0, set_online(OTHER, false));
	ASSERT_EQ(0, set_online(OTHER, true));
	EXPECT_TRUE(soon_allowed(&self->task, "1"));
}

TEST_F(affinity, is_not_that_of_a_child)
{
	struct task child = {};

	ASSERT_EQ(0, pin(getpid(), VICTIM));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_GT(task_start(&child, self->slots + 1, doze), 0);
	ASSERT_TRUE(task_lives(&child, 1, PATIENCE_MS));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(soon_allowed(&(struct task){ .pid = getpid() }, "1"));
	EXPECT_TRUE(allowed(&child, self->all));
	task_kill(&child);
}

/*
 * The kernel's worker that gives affinities back may be looking at the tasks when the test
 * writes 0 to keep_affinity.
 */
TEST_F(affinity, is_given_to_no_task_after_the_switch)
{
	static struct task crowd[CROWD];
	int back = 0;

	for (int i = 0; i < CROWD; i++) {
		ASSERT_GT(task_start(&crowd[i], self->slots + 1, doze_long), 0);
		ASSERT_EQ(0, pin(crowd[i].pid, OTHER));
	}
	ASSERT_EQ(0, put(BOLT_DIR "offline", "1-2"));
	wait_ms(LONG_MS);
	ASSERT_EQ(0, set_online(VICTIM, true));
	ASSERT_EQ(0, put(BOLT_DIR "keep_affinity", "0"));
	ASSERT_EQ(0, set_online(OTHER, true));
	wait_ms(LONG_MS);
	for (int i = 0; i < CROWD; i++) {
		back += !allowed(&crowd[i], self->all);
		task_kill(&crowd[i]);
	}
	EXPECT_EQ(0, back);
}

TEST_F(affinity, asked_for_meanwhile_stays)
{
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_EQ(0, pin(self->task.pid, 0));
	ASSERT_EQ(0, set_online(VICTIM, true));
	wait_ms(LONG_MS);
	EXPECT_TRUE(allowed(&self->task, "0"));
}

TEST_F(affinity, is_whole_when_the_first_cpu_returns)
{
	ASSERT_EQ(0, pin_list(self->task.pid, "1-2"));
	ASSERT_EQ(0, put(BOLT_DIR "offline", "1-2"));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_TRUE(allowed(&self->task, self->all));
	ASSERT_EQ(0, set_online(OTHER, true));
	EXPECT_TRUE(soon_allowed(&self->task, "1-2"));
	EXPECT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
}

TEST_F(affinity, is_not_given_back_by_another_cpu)
{
	ASSERT_EQ(0, put(BOLT_DIR "offline", "1-2"));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_EQ(0, set_online(OTHER, true));
	wait_ms(LONG_MS);
	EXPECT_TRUE(allowed(&self->task, self->all));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(soon_allowed(&self->task, "1"));
}

/* A request may ask VICTIM to go while the kernel's worker gives the affinity back. */
TEST_F(affinity, is_where_the_task_runs)
{
	char state;
	int cpu;

	for (int i = 0; i < 10 * ROUNDS; i++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, set_online(VICTIM, true));
		wait_ms(i % ROUNDS);
	}
	ASSERT_TRUE(soon_allowed(&self->task, "1"));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_EQ(0, task_where(self->task.pid, &state, &cpu));
	EXPECT_EQ(VICTIM, cpu);
}

/* The task lost VICTIM and asked for OTHER: a request brings VICTIM online, OTHER offline. */
TEST_F(affinity, is_the_newest)
{
	cpus_t online;

	if (!cpus_read(CPU_DIR "online", &online))
		SKIP(return, "more than 64 CPUs");
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	ASSERT_EQ(0, pin(self->task.pid, OTHER));
	ASSERT_EQ(0, ask_by_list(SET_THEM, online & ~CPU(OTHER)));
	ASSERT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
	wait_ms(LONG_MS);
	EXPECT_FALSE(allowed(&self->task, "1"));
	ASSERT_EQ(0, set_online(OTHER, true));
	EXPECT_TRUE(soon_allowed(&self->task, "2"));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The affinity of tasks whose CPUs were away: lost, as natively, or given back if
 * keep_affinity says so.
 */
#define _GNU_SOURCE
#include "tasks.h"
#include "../kselftest_harness.h"

#define OTHER 2
#define ROUNDS 5
#define PATIENCE_MS 2000
/* Long enough for the kernel's worker to change an affinity, if it were to. */
#define LONG_MS 200

static void doze(struct slot *slot)
{
	for (;;) {
		slot_beat(slot);
		wait_ms(1);
	}
}

static bool allowed(const struct task *task, const char *list)
{
	char text[64];

	return !task_status(task->pid, "Cpus_allowed_list", text, sizeof(text)) &&
	       !strcmp(text, list);
}

static bool soon_allowed(const struct task *task, const char *list)
{
	for (long ms = 0; ms < PATIENCE_MS; ms++) {
		if (allowed(task, list))
			return true;
		wait_ms(1);
	}
	return false;
}

static int pin_two(pid_t pid)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(VICTIM, &set);
	CPU_SET(OTHER, &set);
	return sched_setaffinity(pid, sizeof(set), &set) ? -errno : 0;
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
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	if (access(CPU_DIR "cpu2/online", F_OK))
		SKIP(return, "needs three CPUs");
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, set_online(OTHER, true));
	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, put(BOLT_DIR "keep_affinity", "1"));
	self->slots = slots_map(1);
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
	EXPECT_EQ(0, set_online(OTHER, true));
	EXPECT_EQ(0, start_over());
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
	ASSERT_EQ(0, pin_two(self->task.pid));
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

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests which affinity a task in a cpuset has after CPUs of the task were away, also if
 * the task or its cpuset changed meanwhile. Each step of a variant says where the task
 * may run natively, and where the task may run if keep_affinity is 1.
 */
#define _GNU_SOURCE
#include "affinity.h"
#include "groups.h"
#include "../kselftest_harness.h"

#define STEPS_MAX 8
#define ROUNDS 30
#define HERE "here"
#define BELOW "here/below"
#define THERE "there"

static void idle(struct slot *slot)
{
	slot_beat(slot);
	for (;;)
		pause();
}

enum act {
	END,
	GO,		/* the CPUs in @what go */
	COME,		/* the CPUs in @what come */
	WRITE,		/* the cpuset HERE gets the CPUs in @what */
	ENTER,		/* the task enters the cpuset @what */
	ASK,		/* the task asks for the CPUs in @what */
};

struct step {
	enum act act;
	const char *what;
	const char *lost;	/* where the task may natively run after the step */
	const char *kept;	/* where the task may run if affinities are kept; NULL: as @lost */
};

FIXTURE(affinity_cpusets) {
	struct slot *slot;
	struct task task;
};

FIXTURE_VARIANT(affinity_cpusets) {
	const char *cpus;	/* the CPUs of HERE; NULL: HERE lists no CPU */
	const char *partition;	/* the kind of partition of HERE; NULL: no partition */
	const char *there;	/* the CPUs of THERE */
	const char *group;	/* the group of the task; NULL: HERE */
	const char *asks;	/* the CPUs that the task asks for at first; NULL: none */
	bool sleeps;		/* the task sleeps all the time */
	struct step steps[STEPS_MAX];
};

/* The kernel keeps no affinity that a task has only from its cpuset. */
FIXTURE_VARIANT_ADD(affinity_cpusets, asks_for_nothing) {
	.cpus = "1",
	.steps = {
		{ GO, "1", "0,2-3" },
		{ COME, "1", "1" },
		{ WRITE, "1-3", "1-3" },
		{ COME, "1", "1-3" },
	},
};

/* Only when the cpuset gets more CPUs does the test see that CPU 1 is what the task asked for. */
FIXTURE_VARIANT_ADD(affinity_cpusets, only_cpu) {
	.cpus = "1",
	.asks = "1",
	.steps = {
		{ GO, "1", "0,2-3" },
		{ COME, "1", "1" },
		{ WRITE, "1-3", "1-3", "1" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, all_go_and_one_returns) {
	.cpus = "1-2",
	.asks = "1",
	.steps = {
		{ GO, "1-2", "0,3" },
		{ COME, "1", "1" },
		{ COME, "2", "1-2", "1" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, all_go_and_another_returns) {
	.cpus = "1-2",
	.asks = "1",
	.steps = {
		{ GO, "1-2", "0,3" },
		{ COME, "2", "2" },
		{ COME, "1", "1-2", "1" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, all_go_that_task_asks_for) {
	.cpus = "1-2",
	.asks = "1-2",
	.steps = {
		{ GO, "1-2", "0,3" },
		{ COME, "2", "2" },
		{ COME, "1", "1-2" },
		{ WRITE, "1-3", "1-3", "1-2" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, narrower_than_cpuset) {
	.cpus = "1-3",
	.asks = "1",
	.steps = {
		{ GO, "1", "2-3" },
		{ COME, "1", "1-3", "1" },
		{ GO, "1", "2-3" },
		{ COME, "1", "1-3", "1" },
	},
};

/* While both CPUs that the task has asked for are away, the cpuset leaves CPU 3 to the task. */
FIXTURE_VARIANT_ADD(affinity_cpusets, two_narrower_than_cpuset) {
	.cpus = "1-3",
	.asks = "1-2",
	.steps = {
		{ GO, "1-2", "3" },
		{ COME, "2", "2-3", "2" },
		{ COME, "1", "1-3", "1-2" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, no_cpus_of_its_own) {
	.asks = "1",
	.steps = {
		{ GO, "1", "0,2-3" },
		{ COME, "1", "0-3", "1" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, child_cpuset) {
	.cpus = "1-3",
	.group = BELOW,
	.asks = "1",
	.steps = {
		{ GO, "1", "2-3" },
		{ WRITE, "0-2", "0,2" },
		{ COME, "1", "0-2", "1" },
	},
};

/* CPU 2 stays: a WARN_ON() of Linux 6.12 fires, natively too, if a partition loses all CPUs. */
FIXTURE_VARIANT_ADD(affinity_cpusets, partition) {
	.cpus = "1-2",
	.partition = "root",
	.asks = "1",
	.steps = {
		{ GO, "1", "2" },
		{ COME, "1", "1-2", "1" },
	},
};

/*
 * When the cpuset has CPU 1 again, the task still waits for its affinity, if that is
 * kept, until the next request has brought a CPU online.
 */
FIXTURE_VARIANT_ADD(affinity_cpusets, rewritten_without_the_cpu) {
	.cpus = "1-3",
	.asks = "1",
	.steps = {
		{ GO, "1", "2-3" },
		{ WRITE, "2-3", "2-3" },
		{ COME, "1", "2-3" },
		{ WRITE, "1-3", "1-3" },
		{ GO, "2", "1,3" },
		{ COME, "2", "1-3", "1" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, rewritten_with_one_of_two_cpus) {
	.cpus = "1-3",
	.asks = "1-2",
	.steps = {
		{ GO, "1-2", "3" },
		{ WRITE, "2-3", "3" },
		{ COME, "1-2", "2-3", "2" },
		{ WRITE, "1-3", "1-3", "1-2" },
	},
};

/* A cpuset whose CPUs are all away uses the CPUs of its parent. */
FIXTURE_VARIANT_ADD(affinity_cpusets, rewritten_with_nothing_else) {
	.cpus = "1-3",
	.asks = "1",
	.steps = {
		{ GO, "1-2", "3" },
		{ WRITE, "1-2", "0,3" },
		{ COME, "1-2", "1-2", "1" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, moved_to_one_with_the_cpu) {
	.cpus = "1-3",
	.there = "0-1",
	.asks = "1",
	.steps = {
		{ GO, "1", "2-3" },
		{ ENTER, THERE, "0" },
		{ COME, "1", "0-1", "1" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, moved_to_one_without_the_cpu) {
	.cpus = "1-3",
	.there = "2-3",
	.asks = "1",
	.steps = {
		{ GO, "1", "2-3" },
		{ ENTER, THERE, "2-3" },
		{ COME, "1", "2-3" },
		{ ENTER, HERE, "1-3" },
		{ GO, "2", "1,3" },
		{ COME, "2", "1-3", "1" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, asks_for_another_cpu_meanwhile) {
	.cpus = "1-3",
	.asks = "1",
	.steps = {
		{ GO, "1", "2-3" },
		{ ASK, "2", "2" },
		{ COME, "1", "2" },
		{ WRITE, "0-3", "2" },
	},
};

/*
 * A task that sleeps while its CPU is away does not lose its affinity natively, so there
 * is nothing to give back.
 */
FIXTURE_VARIANT_ADD(affinity_cpusets, sleeps) {
	.cpus = "1-3",
	.asks = "1",
	.sleeps = true,
	.steps = {
		{ GO, "1", "2-3" },
		{ COME, "1", "1" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, sleeps_while_all_go) {
	.cpus = "1-2",
	.asks = "1",
	.sleeps = true,
	.steps = {
		{ GO, "1-2", "0,3" },
		{ COME, "2", "2" },
		{ COME, "1", "1" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, sleeps_while_rewritten) {
	.cpus = "1-3",
	.asks = "1",
	.sleeps = true,
	.steps = {
		{ GO, "1", "2-3" },
		{ WRITE, "2-3", "2-3" },
		{ COME, "1", "2-3" },
		{ WRITE, "1-3", "1" },
	},
};

FIXTURE_VARIANT_ADD(affinity_cpusets, sleeps_while_moved) {
	.cpus = "1-3",
	.there = "2-3",
	.asks = "1",
	.sleeps = true,
	.steps = {
		{ GO, "1", "2-3" },
		{ ENTER, THERE, "2-3" },
		{ COME, "1", "2-3" },
		{ ENTER, HERE, "1" },
	},
};

static int enter(const struct task *task, const char *group)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", task->pid);
	return group_put(V2, group, "cgroup.procs", pid);
}

/* Waits first, because rmdir() of a group fails with EBUSY until its last task has gone. */
static void remove_groups(void)
{
	wait_ms(20);
	group_remove(V2, THERE);
	group_remove(V2, BELOW);
	group_remove(V2, HERE);
}

FIXTURE_SETUP(affinity_cpusets)
{
	const char *why = affinity_cannot_run(4) ?: not_four_cpus() ?: group_no_cpusets();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, affinity_start_over());
	ASSERT_EQ(0, group_make(V2, HERE));
	ASSERT_EQ(0, group_make(V2, THERE));
	if (variant->cpus)
		ASSERT_EQ(0, group_put(V2, HERE, "cpuset.cpus", variant->cpus));
	if (variant->there)
		ASSERT_EQ(0, group_put(V2, THERE, "cpuset.cpus", variant->there));
	if (variant->group) {
		ASSERT_EQ(0, group_put(V2, HERE, "cgroup.subtree_control", "+cpuset"));
		ASSERT_EQ(0, group_make(V2, variant->group));
	}
	if (variant->partition)
		ASSERT_EQ(0, group_put(V2, HERE, "cpuset.cpus.partition",
				       variant->partition));
	self->slot = slots_map(1);
	ASSERT_NE(NULL, self->slot);
	ASSERT_GT(task_start(&self->task, self->slot, variant->sleeps ? idle : spin), 0);
	ASSERT_TRUE(task_began(&self->task));
	/* Waits until a task that does not spin has gone to sleep. */
	wait_ms(20);
	ASSERT_EQ(0, enter(&self->task, variant->group ?: HERE));
	if (variant->asks)
		ASSERT_EQ(0, pin_list(self->task.pid, variant->asks));
}

FIXTURE_TEARDOWN(affinity_cpusets)
{
	if (cannot_run())
		return;
	task_kill(&self->task);
	remove_groups();
	EXPECT_EQ(0, affinity_put_back());
}

static int carry_out(enum keeping how, const struct task *task, const struct step *step)
{
	switch (step->act) {
	case GO:
	case COME:
		return cpus_move(how, step->what, step->act == COME);
	case WRITE:
		return group_put(V2, HERE, "cpuset.cpus", step->what);
	case ENTER:
		return enter(task, step->what);
	case ASK:
		return pin_list(task->pid, step->what);
	default:
		return -EINVAL;
	}
}

static void play(struct __test_metadata *_metadata, enum keeping how,
		 const struct task *task, bool sleeps, const struct step *step)
{
	char now[64] = "";

	ASSERT_EQ(0, keeping_set(how));
	for (int n = 0; step->act != END; step++, n++) {
		const char *list = how == IF_WANTED && step->kept ? step->kept : step->lost;
		bool right;

		ASSERT_EQ(0, carry_out(how, task, step))
			TH_LOG("step %d", n);
		/* Here the kernel's worker gives affinities back only after a COME. */
		right = step->act == COME ? stays_allowed(task, list) :
					    soon_allowed(task, list);
		task_status(task->pid, "Cpus_allowed_list", now, sizeof(now));
		EXPECT_TRUE(right)
			TH_LOG("step %d: %s, not %s", n, now, list);
		if (!sleeps)
			ASSERT_TRUE(task_lives(task, 20, PATIENCE_MS))
				TH_LOG("step %d", n);
	}
}

TEST_F(affinity_cpusets, natively)
{
	play(_metadata, NATIVELY, &self->task, variant->sleeps, variant->steps);
}

TEST_F(affinity_cpusets, by_default)
{
	play(_metadata, BY_DEFAULT, &self->task, variant->sleeps, variant->steps);
}

TEST_F(affinity_cpusets, if_wanted)
{
	play(_metadata, IF_WANTED, &self->task, variant->sleeps, variant->steps);
}

/* A task rewrites a cpuset all the time, while a CPU of the cpuset comes and goes. */
FIXTURE(affinity_rewritten) {
	struct slot *slots;
	struct task task, writer;
};

FIXTURE_VARIANT(affinity_rewritten) {
	enum keeping how;
	const char *end;	/* where the task may run at last */
};

FIXTURE_VARIANT_ADD(affinity_rewritten, natively) { NATIVELY, "1-3" };
FIXTURE_VARIANT_ADD(affinity_rewritten, by_default) { BY_DEFAULT, "1-3" };
FIXTURE_VARIANT_ADD(affinity_rewritten, if_wanted) { IF_WANTED, "1" };

/* Rewrites the cpuset until told to stop, and leaves CPUs 1 to 3 in the cpuset. */
static void rewrite(struct slot *slot)
{
	for (;;) {
		bool last = __atomic_load_n(&slot->value, __ATOMIC_SEQ_CST);

		if (group_put(V2, HERE, "cpuset.cpus", "2-3") ||
		    group_put(V2, HERE, "cpuset.cpus", "1-3"))
			_exit(1);
		slot_beat(slot);
		if (last)
			_exit(0);
	}
}

FIXTURE_SETUP(affinity_rewritten)
{
	const char *why = affinity_cannot_run(4) ?: group_no_cpusets();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, affinity_start_over());
	ASSERT_EQ(0, group_make(V2, HERE));
	ASSERT_EQ(0, group_put(V2, HERE, "cpuset.cpus", "1-3"));
	self->slots = slots_map(2);
	ASSERT_NE(NULL, self->slots);
	ASSERT_GT(task_start(&self->task, self->slots, spin), 0);
	ASSERT_EQ(0, enter(&self->task, HERE));
	ASSERT_EQ(0, pin(self->task.pid, VICTIM));
	ASSERT_EQ(0, keeping_set(variant->how));
}

FIXTURE_TEARDOWN(affinity_rewritten)
{
	if (cannot_run())
		return;
	task_kill(&self->task);
	task_kill(&self->writer);
	remove_groups();
	EXPECT_EQ(0, affinity_put_back());
}

TEST_F_TIMEOUT(affinity_rewritten, at_last, 120)
{
	int status;

	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(soon_allowed(&self->task, "2-3"));
	ASSERT_GT(task_start(&self->writer, self->slots + 1, rewrite), 0);
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, set_online(VICTIM, true));
		wait_ms(i % 4);
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_TRUE(task_lives(&self->task, 1, PATIENCE_MS));
	}
	ASSERT_TRUE(task_lives(&self->writer, 1, PATIENCE_MS));
	__atomic_store_n(&self->slots[1].value, 1, __ATOMIC_SEQ_CST);
	ASSERT_EQ(self->writer.pid, waitpid(self->writer.pid, &status, 0));
	self->writer.pid = 0;
	ASSERT_EQ(0, status);
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(stays_allowed(&self->task, variant->end));
	EXPECT_TRUE(task_lives(&self->task, 20, PATIENCE_MS));
}

TEST_HARNESS_MAIN

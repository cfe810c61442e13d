// SPDX-License-Identifier: GPL-2.0-only
/*
 * SCHED_DEADLINE: an offline request is refused if the CPUs that stay could not give the
 * bandwidth that is promised; and promises are counted as natively, whichever CPUs come
 * and go.
 */
#define _GNU_SOURCE
#include "cpus.h"
#include "facts.h"
#include "groups.h"
#include "lib/deadline.h"
#include "sleep.h"
#include "tasks.h"
#include "../kselftest_harness.h"

/* More tasks of 10 per cent than a CPU has room for: some of its time is for other tasks. */
#define TASKS_PER_CPU 10
#define PATIENCE_MS 5000
/* Per cent of a CPU; 95 may be promised, of which servers of the scheduler take up to 10. */
#define SHARE 84

static void nap(struct slot *slot)
{
	for (;;) {
		slot_beat(slot);
		wait_ms(10);
	}
}

/* The data of a test. */
struct crew {
	struct slot *slots;
	struct task *tasks;
	int n, max;
};

FIXTURE(deadline) {
	struct crew crew;
};

FIXTURE_SETUP(deadline)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over_all());
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "4000000000"));
	self->crew.max = TASKS_PER_CPU * sysconf(_SC_NPROCESSORS_CONF);
	self->crew.slots = slots_map(self->crew.max);
	ASSERT_NE(NULL, self->crew.slots);
	self->crew.tasks = calloc(self->crew.max, sizeof(self->crew.tasks[0]));
	ASSERT_NE(NULL, self->crew.tasks);
}

static void kill_all(struct crew *crew)
{
	while (crew->n)
		task_kill(&crew->tasks[--crew->n]);
	/* A deadline task's share is given back when its zero-lag time is over. */
	wait_ms(300);
}

FIXTURE_TEARDOWN(deadline)
{
	if (cannot_run())
		return;
	kill_all(&self->crew);
	/* A test that failed may not have removed its group. */
	group_remove(V2, "sleeper");
	group_remove(V2, "away");
	group_remove(V2, "pair");
	EXPECT_EQ(0, start_over_all());
}

static int start(struct crew *crew, int percent)
{
	int err;

	if (crew->n == crew->max)
		abort();
	memset(&crew->slots[crew->n], 0, sizeof(crew->slots[0]));
	if (task_start(&crew->tasks[crew->n], &crew->slots[crew->n], nap) < 0)
		return -errno;
	err = set_deadline(crew->tasks[crew->n].pid,
			   DEADLINE_NS / 100 * percent);
	if (err)
		task_kill(&crew->tasks[crew->n]);
	else
		crew->n++;
	return err;
}

/*
 * Starts deadline tasks of 10 per cent each until the kernel refuses one, and ends all
 * tasks of @crew. Returns how many deadline tasks @crew had.
 */
static int room(struct crew *crew)
{
	int n;

	while (!start(crew, 10))
		;
	n = crew->n;
	kill_all(crew);
	return n;
}

/* Takes VICTIM offline and back online beside @n tasks of @percent each. */
static int request(struct crew *crew, int n, int percent, bool *live)
{
	int err = 0;

	while (crew->n < n && !err)
		err = start(crew, percent);
	if (err)
		goto out;
	err = set_online(VICTIM, false);
	for (int i = 0; i < crew->n; i++)
		*live &= task_lives(&crew->tasks[i], 2, PATIENCE_MS);
	if (!err)
		err = set_online(VICTIM, true);
out:
	kill_all(crew);
	return err;
}

TEST_F_TIMEOUT(deadline, promised_bandwidth_is_a_veto, 600)
{
	int nr = sysconf(_SC_NPROCESSORS_ONLN), native, bolt;

	ASSERT_GT(nr, 1);
	/*
	 * @n is the number of deadline tasks. With many CPUs the test leaves out some
	 * numbers that are far below the number of tasks that still fit.
	 */
	for (int n = 1; n <= nr; n += n < nr - nr / 8 - 8 ? nr / 8 : 1) {
		bool live = true;

		ASSERT_EQ(0, enable(false));
		native = request(&self->crew, n, SHARE, &live);
		ASSERT_TRUE(live);
		ASSERT_EQ(0, enable(true));
		bolt = request(&self->crew, n, SHARE, &live);
		EXPECT_EQ(native, bolt)
			TH_LOG("%d tasks", n);
		EXPECT_TRUE(live);
		EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	}
	/*
	 * Promises that need all CPUs do not allow a CPU to go. A CPU has room for 95
	 * per cent: with up to 8 CPUs, one share for each CPU does not fit on all CPUs
	 * but one. With more CPUs that depends on what the scheduler's servers take.
	 */
	if (nr * SHARE > (nr - 1) * 95)
		EXPECT_EQ(-EBUSY, native);
}

/*
 * Compares how many deadline tasks are admitted natively and with Bolt: while VICTIM is
 * online, offline, and back online.
 */
TEST_F_TIMEOUT(deadline, bandwidth_is_counted_as_natively, 600)
{
	int native[3];

	native[0] = room(&self->crew);
	ASSERT_GT(native[0], 0);
	ASSERT_EQ(0, set_online(VICTIM, false));
	native[1] = room(&self->crew);
	ASSERT_EQ(0, set_online(VICTIM, true));
	native[2] = room(&self->crew);
	ASSERT_LT(native[1], native[0]);
	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < 3; round++) {
		EXPECT_EQ(native[2], room(&self->crew));
		ASSERT_EQ(0, set_online(VICTIM, false));
		EXPECT_EQ(native[1], room(&self->crew))
			TH_LOG("round %d", round);
		if (round == 1) {
			ASSERT_EQ(0, settle_all());
			EXPECT_EQ(native[1], room(&self->crew));
		}
		ASSERT_EQ(0, set_online(VICTIM, true));
	}
	EXPECT_EQ(native[2], room(&self->crew));
}

/*
 * Compares how many deadline tasks are admitted, natively and with Bolt, after VICTIM has
 * gone and come back several times beside a deadline task.
 */
TEST_F_TIMEOUT(deadline, promises_outlive_cycles, 600)
{
	int native;

	ASSERT_EQ(0, start(&self->crew, 50));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, set_online(VICTIM, true));
	}
	native = room(&self->crew);
	ASSERT_EQ(0, start(&self->crew, 50));
	ASSERT_EQ(0, enable(true));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, set_online(VICTIM, true));
	}
	EXPECT_TRUE(task_lives(&self->crew.tasks[0], 2, PATIENCE_MS));
	EXPECT_EQ(native, room(&self->crew));
}

/* Stores how much room there is when VICTIM has gone and a limit too low was refused. */
static void refuse_limit(struct __test_metadata *_metadata, struct crew *crew, bool bolt,
			 int *left)
{
	ASSERT_EQ(0, enable(bolt));
	ASSERT_EQ(0, set_online(VICTIM, false));
	/* Each CPU's server for normal tasks has a larger share than 40000 us a second. */
	EXPECT_EQ(-EBUSY, put(RT_RUNTIME, "40000"));
	*left = room(crew);
	ASSERT_EQ(0, set_online(VICTIM, true));
}

/*
 * When sched_rt_runtime_us is written, the kernel first does a pending rebuild of domains,
 * and then refuses a limit that is too low. The rebuild makes a root domain, which takes
 * the limit of that moment: the old limit, not the refused one.
 */
TEST_F_TIMEOUT(deadline, refused_limit_changes_nothing, 120)
{
	int native, bolt;

	refuse_limit(_metadata, &self->crew, false, &native);
	ASSERT_GT(native, 0);
	refuse_limit(_metadata, &self->crew, true, &bolt);
	EXPECT_EQ(native, bolt);
}

/*
 * Starts a task that runs @run with @cpu in slot->value, and makes it a deadline task to
 * which @percent of the time of a CPU are promised.
 */
static int start_as(struct crew *crew, void (*run)(struct slot *slot), int cpu,
		    int percent)
{
	struct slot *slot = &crew->slots[crew->n];
	struct task *task = &crew->tasks[crew->n];

	memset(slot, 0, sizeof(*slot));
	slot->value = cpu;
	if (task_start(task, slot, run) < 0)
		return -errno;
	crew->n++;
	if (!soon(slot_beats(slot), PATIENCE_MS))
		return -ETIME;
	wait_ms(20);
	return set_deadline(task->pid, DEADLINE_NS / 100 * percent);
}

/* Sleeps on CPU @slot->value for longer than a test takes, and may use all CPUs. */
static void sleep_there(struct slot *slot)
{
	pin(0, slot->value);
	unpin(0);
	slot_beat(slot);
	for (;;)
		wait_ms(1000000);
}

static bool asleep_on(const struct task *task, int cpu)
{
	char state;
	int on;

	return !task_where(task->pid, &state, &on) && state == 'S' && on == cpu;
}

/*
 * When the CPU on which a deadline task sleeps has gone, the CPUs of the task's cpuset
 * change. Linux 6.12 and 7.3 without the patches of Bolt then divide by zero, if no
 * domain has the CPU that has gone any more, and no CPU is isolated.
 */
TEST_F_TIMEOUT(deadline, cpuset_of_a_sleeper_shrinks, 600)
{
	const char *why = cpu_is_movable(3) ? group_no_cpusets() : "needs four CPUs";
	struct crew *crew = &self->crew;
	char all[64];

	if (why)
		SKIP(return, "%s", why);
	/* A deadline task must be allowed on all CPUs of its root domain. */
	ASSERT_EQ(0, get(CPU_DIR "present", all, sizeof(all)));
	ASSERT_EQ(0, group_make(V2, "sleeper"));
	for (int bolt = 0; bolt < 2; bolt++) {
		char pid[32];

		ASSERT_EQ(0, enable(bolt));
		ASSERT_EQ(0, group_put(V2, "sleeper", "cpuset.cpus", all));
		ASSERT_EQ(0, start_as(crew, sleep_there, VICTIM, 10));
		ASSERT_TRUE(soon(asleep_on(&crew->tasks[0], VICTIM), PATIENCE_MS));
		snprintf(pid, sizeof(pid), "%d", crew->tasks[0].pid);
		ASSERT_EQ(0, group_put(V2, "sleeper", "cgroup.procs", pid));
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, settle_all());
		EXPECT_EQ(0, group_put(V2, "sleeper", "cpuset.cpus", "2-3"));
		ASSERT_EQ(0, set_online(VICTIM, true));
		kill_all(crew);
	}
	EXPECT_EQ(0, group_remove(V2, "sleeper"));
}

/* Begins on CPU @slot->value, may use all CPUs, and is nearly always awake. */
static void spin_there(struct slot *slot)
{
	pin(0, slot->value);
	unpin(0);
	for (;;)
		slot_beat(slot);
}

/*
 * A deadline task that has used its share waits for its next period, in no queue of its
 * CPU. The CPU goes meanwhile: the task then runs elsewhere, and its share is counted once.
 */
static void throttled(struct __test_metadata *_metadata, struct crew *crew, bool bolt)
{
	int native;

	ASSERT_EQ(0, enable(false));
	native = room(crew);
	ASSERT_EQ(0, enable(bolt));
	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(0, start_as(crew, spin_there, VICTIM, 10));
		/* The share of 10 ms is used up, and the period of 100 ms is not over. */
		wait_ms(30 + 5 * i);
		ASSERT_EQ(0, set_online(VICTIM, false));
		EXPECT_TRUE(task_lives(&crew->tasks[0], 2, PATIENCE_MS));
		if (i % 2)
			ASSERT_EQ(0, set_online(VICTIM, true));
		kill_all(crew);
		ASSERT_EQ(0, set_online(VICTIM, true));
	}
	EXPECT_EQ(native, room(crew));
}

TEST_F_TIMEOUT(deadline, throttled_task_leaves_natively, 120)
{
	throttled(_metadata, &self->crew, false);
}

TEST_F_TIMEOUT(deadline, throttled_task_leaves, 120)
{
	throttled(_metadata, &self->crew, true);
}

/* May use CPUs 2 and 3, and sleeps on CPU @slot->value for longer than a test takes. */
static void sleep_isolated(struct slot *slot)
{
	pin(0, slot->value);
	pin_range(0, 2, 3);
	slot_beat(slot);
	for (;;)
		wait_ms(1000000);
}

/* May use CPUs 2 and 3, and is nearly always awake. */
static void spin_isolated(struct slot *slot)
{
	pin_range(0, 2, 3);
	for (;;)
		slot_beat(slot);
}

/* Brings CPU 3 back, and ends the task: then both CPUs isolated at boot may go. */
static void isolated_are_free(struct __test_metadata *_metadata, struct crew *crew)
{
	EXPECT_EQ(0, set_online(3, true));
	kill_all(crew);
	EXPECT_EQ(0, set_online(3, false));
	EXPECT_EQ(0, set_online(2, false));
	EXPECT_EQ(0, set_online(2, true));
	EXPECT_EQ(0, set_online(3, true));
}

/*
 * A deadline task may use only CPUs isolated at boot. One of these CPUs must stay, also
 * when the CPU on which the task sleeps has gone before. If no isolated CPU is online,
 * Linux 7.3 without the patches of Bolt crashes at the next rebuild of domains.
 */
static void last_isolated(struct __test_metadata *_metadata, struct crew *crew, bool bolt,
			  void (*run)(struct slot *slot), int percent)
{
	if (!is(CPU_DIR "isolated", "2-3"))
		SKIP(return, "needs isolcpus=domain,2-3");
	ASSERT_EQ(0, enable(bolt));
	ASSERT_EQ(0, start_as(crew, run, 3, percent));
	ASSERT_EQ(0, set_online(3, false));
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(-EBUSY, set_online(2, false));
		if (bolt) {
			EXPECT_EQ(-EBUSY, put(BOLT_DIR "offline", "1-2"));
			EXPECT_EQ(-EBUSY, put(BOLT_DIR "set", "0-1"));
		}
		wait_ms(3);
	}
	/* The requests for CPU 1 make the kernel rebuild domains. */
	EXPECT_EQ(0, set_online(1, false));
	EXPECT_EQ(0, set_online(1, true));
	isolated_are_free(_metadata, crew);
}

TEST_F_TIMEOUT(deadline, isolated_sleeper_natively, 120)
{
	last_isolated(_metadata, &self->crew, false, sleep_isolated, 10);
}

TEST_F_TIMEOUT(deadline, isolated_sleeper, 120)
{
	last_isolated(_metadata, &self->crew, true, sleep_isolated, 10);
}

TEST_F_TIMEOUT(deadline, isolated_spinner, 120)
{
	last_isolated(_metadata, &self->crew, true, spin_isolated, 80);
}

/*
 * A deadline task that may use only CPUs isolated at boot, and sleeps on one that has
 * gone, gets other CPUs: then its share is free for other tasks on isolated CPUs. The
 * fair server of the CPU that has gone (5 per cent) is no longer counted, so that 88 fit.
 */
TEST_F_TIMEOUT(deadline, share_of_an_isolated_sleeper_is_free, 120)
{
	struct crew *crew = &self->crew;
	char pid[32];

	if (!is(CPU_DIR "isolated", "2-3"))
		SKIP(return, "needs isolcpus=domain,2-3");
	if (group_no_cpusets())
		SKIP(return, "no cpuset controller of version 2");
	ASSERT_EQ(0, group_make(V2, "away"));
	ASSERT_EQ(0, group_put(V2, "away", "cpuset.cpus", "0-1"));
	for (int bolt = 0; bolt < 2; bolt++) {
		ASSERT_EQ(0, enable(bolt));
		ASSERT_EQ(0, start_as(crew, sleep_isolated, 3, 50));
		ASSERT_EQ(0, set_online(3, false));
		snprintf(pid, sizeof(pid), "%d", crew->tasks[0].pid);
		EXPECT_EQ(0, group_put(V2, "away", "cgroup.procs", pid));
		EXPECT_EQ(0, start_as(crew, sleep_isolated, 2, 88))
			TH_LOG("bolt %d", bolt);
		kill_all(crew);
		EXPECT_EQ(0, set_online(3, true));
	}
	EXPECT_EQ(0, group_remove(V2, "away"));
}

/*
 * A deadline task may use only CPUs isolated at boot. All of these CPUs may go while
 * another CPU is isolated by a partition. When the partition ends, no CPU that is online is
 * left for the task, and Linux 7.3 without the patches of Bolt crashes.
 */
static void partition_ends(struct __test_metadata *_metadata, struct crew *crew, bool bolt)
{
	if (!is(CPU_DIR "isolated", "2-3"))
		SKIP(return, "needs isolcpus=domain,2-3");
	if (group_no_cpusets())
		SKIP(return, "no cpuset controller of version 2");
	ASSERT_EQ(0, enable(bolt));
	ASSERT_EQ(0, start_as(crew, sleep_isolated, 3, 10));
	ASSERT_EQ(0, group_make(V2, "away"));
	ASSERT_EQ(0, group_put(V2, "away", "cpuset.cpus", "1"));
	ASSERT_EQ(0, group_put(V2, "away", "cpuset.cpus.partition", "isolated"));
	ASSERT_EQ(0, set_online(3, false));
	ASSERT_EQ(0, set_online(2, false));
	EXPECT_EQ(0, group_remove(V2, "away"));
	EXPECT_TRUE(is(CPU_DIR "online", "0-1"));
	EXPECT_EQ(0, set_online(2, true));
	/* The share is promised on CPU 2, the only online CPU that the task may use. */
	EXPECT_EQ(-EBUSY, set_online(2, false));
	isolated_are_free(_metadata, crew);
}

TEST_F_TIMEOUT(deadline, partition_beside_a_sleeper_ends, 120)
{
	partition_ends(_metadata, &self->crew, true);
}

TEST_F_TIMEOUT(deadline, partition_beside_a_sleeper_ends_natively, 120)
{
	partition_ends(_metadata, &self->crew, false);
}

/*
 * CPUs 2 and 3 are a partition with a deadline task. Suspend takes both offline, and is not
 * refused: the CPU that stays can keep the promise.
 */
static void suspend_beside(struct __test_metadata *_metadata, struct crew *crew, bool bolt)
{
	const char *why = !cpu_is_movable(3) ? "needs four CPUs" :
			  can_sleep() ? group_no_cpusets() : "no suspend";
	char pid[32];

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, enable(bolt));
	ASSERT_EQ(0, group_make(V2, "pair"));
	ASSERT_EQ(0, group_put(V2, "pair", "cpuset.cpus", "2-3"));
	ASSERT_EQ(0, group_put(V2, "pair", "cpuset.cpus.partition", "root"));
	ASSERT_EQ(0, start(crew, 10));
	snprintf(pid, sizeof(pid), "%d", crew->tasks[0].pid);
	ASSERT_EQ(0, group_put(V2, "pair", "cgroup.procs", pid));
	EXPECT_EQ(0, sleep_and_wake());
	EXPECT_TRUE(task_lives(&crew->tasks[0], 2, PATIENCE_MS));
	kill_all(crew);
	EXPECT_EQ(0, group_remove(V2, "pair"));
}

TEST_F_TIMEOUT(deadline, suspend_beside_a_partition_natively, 120)
{
	suspend_beside(_metadata, &self->crew, false);
}

TEST_F_TIMEOUT(deadline, suspend_beside_a_partition, 120)
{
	suspend_beside(_metadata, &self->crew, true);
}

TEST_HARNESS_MAIN

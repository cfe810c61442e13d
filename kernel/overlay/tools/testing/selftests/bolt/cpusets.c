// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a request does to the tasks of a cpuset: affinities change with the CPUs of the
 * cpuset; memory policies, whose change needs the mmap lock of each task, are left alone.
 * The effective masks of cpusets with no CPUs or nodes of their own are those of their
 * parent at any time.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <sys/mount.h>

#include "groups.h"
#include "tasks.h"
#include "../kselftest_harness.h"

#define ROUNDS 5
#define TASKS_MAX 200
#define AREA (512UL << 20)
#define MANY 500
#define PATIENCE_MS 10000

/*
 * In a cycle VICTIM goes and comes back. Beside busy tasks in a cpuset a native cycle may
 * take one and a half times as long as beside busy tasks in no cpuset, and this many ns
 * more, because the lengths of a cycle's grace periods differ by tens of milliseconds. A
 * wait for the mmap lock of a task that runs hold() takes over a second: far beyond this limit.
 */
#define NATIVE_SPREAD_NS 100000000

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* Faults pages of a large area in and drops them, all the time, under the task's mmap lock. */
static void hold(struct slot *slot)
{
	char *area = mmap(NULL, AREA, PROT_READ,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED || pin(0, 2 + slot->value % 2))
		_exit(1);
	/* Faults in page by page, also on kernels with huge pages. */
	madvise(area, AREA, MADV_NOHUGEPAGE);
	for (;;) {
		if (madvise(area, AREA, MADV_POPULATE_READ) ||
		    madvise(area, AREA, MADV_DONTNEED))
			_exit(1);
		slot_beat(slot);
	}
}

/* Sleeps, with @slot->value mappings. */
static void keep(struct slot *slot)
{
	long page = sysconf(_SC_PAGESIZE);

	/* Neighbouring mappings with different flags are not merged. */
	for (long i = 0; i < slot->value; i++)
		if (mmap(NULL, page, i % 2 ? PROT_READ : PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			_exit(1);
	slot_beat(slot);
	for (;;)
		pause();
}

struct crew {
	struct slot *slots;
	struct task tasks[TASKS_MAX];
	int n;
	const char *root;
};

/* The control groups, parents first. Each group without a group below has a task. */
struct group {
	const char *name;
	const char *cpus;	/* the CPUs that the group lists; NULL: none */
	const char *offline;	/* the group's effective CPUs while VICTIM is offline */
	const char *online;	/* the group's effective CPUs while VICTIM is online */
	int pinned;		/* the CPU that the group's task has asked for, -1: none */
	const char *allowed;	/* a pinned task's affinity while VICTIM is offline */
};

static const struct group groups[] = {
	{ "plain", NULL, "0,2-3", "0-3", -1 },
	{ "pinned", NULL, "0,2-3", "0-3", VICTIM, "0,2-3" },
	{ "without", "0,2-3", "0,2-3", "0,2-3", -1 },
	{ "without/below", NULL, "0,2-3", "0,2-3", 2, "2" },
	{ "some", "1-2", "2", "1-2", -1 },
	{ "some/below", NULL, "2", "1-2", VICTIM, "2" },
	{ "only", "1", "0,2-3", "1", -1 },
	{ "only/below", NULL, "0,2-3", "1", -1 },
	{ "only/below/again", "1,3", "3", "1", -1 },
	{ "other", "3", "3", "3", -1 },
	{ "other/below", "1", "3", "3", -1 },
	{ "other/below/again", NULL, "3", "3", 3, "3" },
};

static bool is_parent(size_t i)
{
	size_t len = strlen(groups[i].name);

	return i + 1 < ARRAY_SIZE(groups) &&
	       !strncmp(groups[i].name, groups[i + 1].name, len) &&
	       groups[i + 1].name[len] == '/';
}

FIXTURE(cpusets) {
	struct crew crew;
};

FIXTURE_VARIANT(cpusets) {
	bool bolt;
};

FIXTURE_VARIANT_ADD(cpusets, native) { .bolt = false };
FIXTURE_VARIANT_ADD(cpusets, bolt) { .bolt = true };

FIXTURE_SETUP(cpusets)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	if (access(CPU_DIR "cpu3/online", F_OK))
		SKIP(return, "needs four CPUs");
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "60000"));
	self->crew.slots = slots_map(TASKS_MAX);
	ASSERT_NE(NULL, self->crew.slots);
	ASSERT_EQ(0, enable(variant->bolt));
	/* The first cycle does work that happens only once, so tests look at later cycles. */
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, set_online(VICTIM, true));
}

static void drop(struct crew *crew)
{
	while (crew->n)
		task_kill(&crew->tasks[--crew->n]);
	wait_ms(20);
	for (size_t i = ARRAY_SIZE(groups); crew->root && i--;)
		group_remove(crew->root, groups[i].name);
	if (crew->root && !strcmp(crew->root, V1))
		umount(V1);
	crew->root = NULL;
}

FIXTURE_TEARDOWN(cpusets)
{
	if (cannot_run() || access(CPU_DIR "cpu3/online", F_OK))
		return;
	drop(&self->crew);
	/* A test that failed may not have removed its partition. */
	group_remove(V2, "alone");
	EXPECT_EQ(0, start_over());
}

/*
 * Moves the cpusets to version 1 or 2 of control groups, whose mount point is @root.
 * Returns false if that is not possible.
 */
static bool have(struct crew *crew, const char *root)
{
	bool v1 = !strcmp(root, V1);

	if (v1 && !group_may_use_v1())
		return false;
	if (v1 ? group_no_v1("cpuset,cpuset_v2_mode") : group_no_cpusets())
		return false;
	crew->root = root;
	return true;
}

/* Starts a task in @group, or in no group if @group is NULL. Returns NULL on an error. */
static struct task *start(struct crew *crew, const char *group,
			  void (*run)(struct slot *slot), long value)
{
	struct task *task = &crew->tasks[crew->n];
	struct slot *slot = &crew->slots[crew->n];
	char pid[16];

	if (crew->n == TASKS_MAX)
		abort();
	memset(slot, 0, sizeof(*slot));
	slot->value = value;
	if (task_start(task, slot, run) < 0)
		return NULL;
	crew->n++;
	if (!soon(slot_beats(slot), PATIENCE_MS))
		return NULL;
	snprintf(pid, sizeof(pid), "%d", task->pid);
	if (group && group_put(V2, group, "cgroup.procs", pid))
		return NULL;
	return task;
}

/*
 * Returns how long VICTIM takes to go and to come, in ns, or -1 on an error. The
 * result is the shortest time of several cycles: if the tasks of this test held up
 * requests, all cycles would be longer, while a grace period, for which a native request
 * waits, is sometimes longer and sometimes shorter.
 */
static long long cycle_ns(void)
{
	long long shortest = LLONG_MAX;

	if (pin(0, 0))
		return -1;
	for (int i = 0; i < ROUNDS; i++) {
		long long start = now_ns(), took;

		if (set_online(VICTIM, false) || set_online(VICTIM, true))
			return -1;
		took = now_ns() - start;
		if (took < shortest)
			shortest = took;
		wait_ms(30);
	}
	return unpin(0) ? -1 : shortest;
}

/*
 * Does what cycle_ns() does, beside @n tasks that run @run, in @group, or in no group if
 * @group is NULL.
 */
static long long crew_ns(struct crew *crew, const char *group, int n,
			 void (*run)(struct slot *slot), long value)
{
	long long ns;

	for (int i = 0; i < n; i++)
		if (!start(crew, group, run, value + i % 2))
			return -1;
	ns = cycle_ns();
	while (crew->n)
		task_kill(&crew->tasks[--crew->n]);
	return ns;
}

/*
 * Makes two groups that, like the groups of systemd's services, list no CPUs: "plain", and
 * "without/below", whose parent lists CPUs.
 */
static void make_groups(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, group_make(V2, "plain"));
	ASSERT_EQ(0, group_make(V2, "without"));
	ASSERT_EQ(0, group_put(V2, "without", "cpuset.cpus", "0,2-3"));
	ASSERT_EQ(0, group_put(V2, "without", "cgroup.subtree_control", "+cpuset"));
	ASSERT_EQ(0, group_make(V2, "without/below"));
}

static const char * const plain[] = { "plain", "without/below" };

/* A task that is busy with its memory does not hold up a request. */
TEST_F_TIMEOUT(cpusets, mmap_locks, 300)
{
	long long alone;

	if (!have(&self->crew, V2))
		SKIP(return, "no cpuset controller of version 2");
	make_groups(_metadata);
	alone = crew_ns(&self->crew, NULL, 2, hold, 0);
	ASSERT_GT(alone, 0);
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		long long ns = crew_ns(&self->crew, plain[i], 2, hold, 0);

		ksft_print_msg("%s: %lld us, in no cpuset %lld us\n", plain[i],
			       ns / 1000, alone / 1000);
		ASSERT_GT(ns, 0);
		EXPECT_LE(ns, alone + alone / 2 +
			  (variant->bolt ? 10000000 : NATIVE_SPREAD_NS));
	}
}

/* The mappings of a task do not hold up a request, however many there are. */
TEST_F_TIMEOUT(cpusets, mappings, 300)
{
	if (!have(&self->crew, V2))
		SKIP(return, "no cpuset controller of version 2");
	make_groups(_metadata);
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		long long few, many;

		few = crew_ns(&self->crew, plain[i], TASKS_MAX, keep, 0);
		many = crew_ns(&self->crew, plain[i], TASKS_MAX, keep, MANY);
		ksft_print_msg("%s: %lld us, with %d mappings a task %lld us\n",
			       plain[i], few / 1000, MANY, many / 1000);
		ASSERT_GT(few, 0);
		ASSERT_GT(many, 0);
		/* Native times vary more: a request waits for a grace period of 2 to 5 ticks. */
		EXPECT_LE(many, few + few / 2 +
			  (variant->bolt ? 2000000 : 20000000));
	}
}

/*
 * Checks the CPUs and memory nodes of each group, and those that the group's task may
 * use, with VICTIM online or not.
 */
static void check(struct __test_metadata *_metadata, struct crew *crew,
		  bool online)
{
	const char *file = !strcmp(crew->root, V1) ? "cpuset.effective_cpus" :
						     "cpuset.cpus.effective";
	const char *mems = !strcmp(crew->root, V1) ? "cpuset.effective_mems" :
						     "cpuset.mems.effective";

	for (size_t i = 0, n = 0; i < ARRAY_SIZE(groups); i++) {
		const struct group *group = &groups[i];
		char cpus[64], nodes[64], all[64], allowed[64], own[16];
		const char *wanted = online ? group->online : group->offline;

		group_get(crew->root, group->name, file, cpus, sizeof(cpus));
		EXPECT_STREQ(wanted, cpus)
			TH_LOG("%s, online %d", group->name, online);
		group_get(crew->root, group->name, mems, nodes, sizeof(nodes));
		get("/sys/devices/system/node/has_memory", all, sizeof(all));
		EXPECT_STREQ(all, nodes)
			TH_LOG("%s, online %d", group->name, online);
		if (is_parent(i))
			continue;
		if (group->pinned >= 0) {
			snprintf(own, sizeof(own), "%d", group->pinned);
			wanted = online ? own : group->allowed;
		}
		ASSERT_EQ(0, task_status(crew->tasks[n].pid, "Cpus_allowed_list",
					 allowed, sizeof(allowed)));
		EXPECT_STREQ(wanted, allowed)
			TH_LOG("%s, online %d", group->name, online);
		ASSERT_EQ(0, task_status(crew->tasks[n].pid, "Mems_allowed_list",
					 allowed, sizeof(allowed)));
		EXPECT_STREQ(all, allowed)
			TH_LOG("%s, online %d", group->name, online);
		n++;
	}
}

static void masks(struct __test_metadata *_metadata, struct crew *crew,
		  const char *root)
{
	const char *why = not_four_cpus();

	if (why)
		SKIP(return, "%s", why);
	if (!have(crew, root))
		SKIP(return, "no cpuset controller");
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		const struct group *group = &groups[i];
		struct task *task;
		char pid[16];

		ASSERT_EQ(0, group_make(root, group->name));
		if (group->cpus)
			ASSERT_EQ(0, group_put(root, group->name, "cpuset.cpus",
					       group->cpus));
		if (is_parent(i)) {
			if (!strcmp(root, V2))
				ASSERT_EQ(0, group_put(root, group->name,
						       "cgroup.subtree_control",
						       "+cpuset"));
			continue;
		}
		task = start(crew, NULL, keep, 0);
		ASSERT_NE(NULL, task);
		snprintf(pid, sizeof(pid), "%d", task->pid);
		ASSERT_EQ(0, group_put(root, group->name, "cgroup.procs", pid));
		if (group->pinned >= 0)
			ASSERT_EQ(0, pin(task->pid, group->pinned));
	}
	check(_metadata, crew, true);
	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		check(_metadata, crew, false);
		ASSERT_EQ(0, set_online(VICTIM, true));
		check(_metadata, crew, true);
	}
}

TEST_F_TIMEOUT(cpusets, masks, 120)
{
	masks(_metadata, &self->crew, V2);
}

/* A hierarchy of version 1 that is mounted with the rules of version 2. */
TEST_F_TIMEOUT(cpusets, masks_v2_mode, 120)
{
	masks(_metadata, &self->crew, V1);
}

/*
 * Whether natively the last CPU of a root domain must stay: dl_bw_check_overflow() of
 * Linux 6.12 counts the deadline server of the CPU that goes, although no task is left
 * that needs the server.
 */
static bool last_cpu_must_stay(void)
{
	return linux_major() < 7;
}

/* Whether the partition of CPU 0 is of @kind, and valid or invalid as @valid says. */
static bool partition_is(const char *kind, bool valid)
{
	char text[128], invalid[64];

	group_get(V2, "alone", "cpuset.cpus.partition", text, sizeof(text));
	snprintf(invalid, sizeof(invalid), "%s invalid", kind);
	return valid ? !strcmp(text, kind) : !strncmp(text, invalid, strlen(invalid));
}

/* Makes a partition of CPU 0 alone. Returns whether the partition is valid. */
static bool make_alone(const char *kind)
{
	return !group_make(V2, "alone") && !group_put(V2, "alone", "cpuset.cpus", "0") &&
	       !group_put(V2, "alone", "cpuset.cpus.partition", kind) &&
	       partition_is(kind, true);
}

/*
 * CPU 0 is alone in an isolated partition, and all other CPUs go. The partition becomes
 * invalid when the last of the other CPUs goes, and valid when one of these CPUs returns.
 */
TEST_F_TIMEOUT(cpusets, only_isolated_cpus_stay, 120)
{
	int last = 3;
	char list[32], path[64];

	if (!variant->bolt && last_cpu_must_stay())
		SKIP(return, "natively the last CPU must stay");
	if (!have(&self->crew, V2))
		SKIP(return, "no cpuset controller");
	do {
		snprintf(path, sizeof(path), CPU_DIR "cpu%d/online", last + 1);
	} while (!access(path, F_OK) && ++last);
	snprintf(list, sizeof(list), "1-%d", last);
	ASSERT_TRUE(make_alone("isolated"));
	for (int cpu = 1; cpu <= last; cpu++) {
		EXPECT_EQ(0, set_online(cpu, false))
			TH_LOG("cpu %d", cpu);
	}
	EXPECT_TRUE(partition_is("isolated", false));
	EXPECT_EQ(0, set_online(last, true));
	EXPECT_TRUE(partition_is("isolated", true));
	for (int cpu = 1; cpu < last; cpu++) {
		EXPECT_EQ(0, set_online(cpu, true))
			TH_LOG("cpu %d", cpu);
	}
	if (variant->bolt) {
		EXPECT_EQ(0, put(BOLT_DIR "offline", list));
		EXPECT_TRUE(partition_is("isolated", false));
		EXPECT_EQ(0, put(BOLT_DIR "online", list));
		EXPECT_TRUE(partition_is("isolated", true));
	}
	EXPECT_EQ(0, group_remove(V2, "alone"));
}

/*
 * Expects that @cpus and no other CPUs are online, and that this task can move to each of
 * @cpus but CPU 0, which is not tried because it may be in a partition.
 */
static void expect_usable(struct __test_metadata *_metadata, const char *kind,
			  const char *cpus)
{
	EXPECT_TRUE(is(CPU_DIR "online", cpus))
		TH_LOG("%s partition, wanted %s", kind, cpus);
	for (int cpu = 1; cpu <= 3; cpu++) {
		if (cpu_is_online(cpu))
			EXPECT_EQ(0, pin(0, cpu));
	}
	EXPECT_EQ(0, unpin(0));
}

/*
 * CPUs 2 and 3 are isolated at boot, and CPU 0 is alone in a partition, so that only CPU 1
 * is left for the scheduler domains of the root cpuset. When CPU 1 goes, there is no such
 * domain, and the kernel must not try to build one. When only CPU 0 stays, the partition
 * becomes invalid, and valid again when another CPU comes.
 */
TEST_F_TIMEOUT(cpusets, beside_cpus_isolated_at_boot, 120)
{
	static const char * const kinds[] = { "root", "isolated" };
	/* One CPU after the other goes or comes. */
	static const struct {
		int cpu;
		bool online;
		const char *after;
	} steps[] = {
		{ 1, false, "0,2-3" }, { 1, true, "0-3" },
		{ 1, false, "0,2-3" }, { 2, false, "0,3" },
		{ 2, true, "0,2-3" }, { 3, false, "0,2" },
		{ 2, false, "0" }, { 3, true, "0,3" },
		{ 2, true, "0,2-3" }, { 1, true, "0-3" },
	};
	static const char * const sets[] = {
		"0,2-3", "0-1", "0,3", "0", "0,2-3", "0", "0-1", "0-3",
	};
	bool may_go = variant->bolt || !last_cpu_must_stay();
	const char *why = not_four_cpus();

	if (why)
		SKIP(return, "%s", why);
	if (!is(CPU_DIR "isolated", "2-3"))
		SKIP(return, "needs isolcpus=domain,2-3");
	if (!have(&self->crew, V2))
		SKIP(return, "no cpuset controller");
	for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		/* Linux 7.3 warns when no CPU is left that is not isolated. */
		if (linux_major() >= 7 && !strcmp(kinds[kind], "isolated"))
			continue;
		ASSERT_TRUE(make_alone(kinds[kind]));
		for (size_t i = 0; may_go && i < ARRAY_SIZE(steps); i++) {
			EXPECT_EQ(0, set_online(steps[i].cpu, steps[i].online));
			expect_usable(_metadata, kinds[kind], steps[i].after);
		}
		for (size_t i = 0; variant->bolt && i < ARRAY_SIZE(sets); i++) {
			EXPECT_EQ(0, put(BOLT_DIR "set", sets[i]));
			expect_usable(_metadata, kinds[kind], sets[i]);
		}
		EXPECT_TRUE(partition_is(kinds[kind], true));
		EXPECT_EQ(0, group_remove(V2, "alone"));
		/* The partition begins while CPU 1 is away. */
		EXPECT_EQ(0, set_online(1, false));
		ASSERT_TRUE(make_alone(kinds[kind]));
		EXPECT_EQ(0, set_online(2, false));
		expect_usable(_metadata, kinds[kind], "0,3");
		EXPECT_EQ(0, set_online(2, true));
		EXPECT_EQ(0, set_online(1, true));
		expect_usable(_metadata, kinds[kind], "0-3");
		EXPECT_EQ(0, group_remove(V2, "alone"));
	}
}

/*
 * CPUs 2 and 3 are isolated at boot, CPU 0 is alone in a partition, and a task whose cpuset
 * has only CPU 1 is awake when CPU 1 goes. The task goes to a CPU that is isolated. Linux
 * 7.3 without the patches of Bolt finds no CPU for the task if the partition is isolated,
 * and crashes.
 */
TEST_F_TIMEOUT(cpusets, awake_beside_isolated_cpus, 120)
{
	static const char * const kinds[] = { "root", "isolated" };

	if (!is(CPU_DIR "isolated", "2-3"))
		SKIP(return, "needs isolcpus=domain,2-3");
	if (!variant->bolt && last_cpu_must_stay())
		SKIP(return, "natively CPU 1 must stay");
	if (!have(&self->crew, V2))
		SKIP(return, "no cpuset controller");
	for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		struct task *task;

		ASSERT_EQ(0, group_make(V2, "plain"));
		ASSERT_EQ(0, group_put(V2, "plain", "cpuset.cpus", "1"));
		task = start(&self->crew, "plain", spin, 0);
		ASSERT_NE(NULL, task);
		ASSERT_TRUE(make_alone(kinds[kind]));
		EXPECT_EQ(0, set_online(1, false));
		EXPECT_TRUE(task_lives(task, 2, PATIENCE_MS));
		EXPECT_EQ(0, set_online(1, true));
		EXPECT_TRUE(task_lives(task, 2, PATIENCE_MS));
		task_kill(task);
		self->crew.n = 0;
		wait_ms(20);
		EXPECT_EQ(0, group_remove(V2, "alone"));
		EXPECT_EQ(0, group_remove(V2, "plain"));
	}
}

TEST_HARNESS_MAIN

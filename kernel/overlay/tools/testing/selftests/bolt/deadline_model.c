// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rule says which offline requests SCHED_DEADLINE refuses: in each root domain that a
 * request takes CPUs from, what has been promised to the tasks of the domain and to the
 * servers of the CPUs that stay must fit into what these CPUs can give, unless
 * sched_rt_runtime_us sets no limit. The test applies the rule to what the test has done
 * and what user space can read, and the kernel must give the same answer, whatever has
 * made the kernel count promises anew or forget promises. BOLT_CASES=N sets how many
 * random cases there are at least, BOLT_SEED=N repeats a run; the seed is printed.
 */
#define _GNU_SOURCE
#include <sys/mount.h>
#include <sys/stat.h>

#include "cpus.h"
#include "draw.h"
#include "env.h"
#include "errors.h"
#include "lib/deadline.h"
#include "sets.h"
#include "tasks.h"
#include "../kselftest_harness.h"

#define CASES 60
#define TASKS_MAX 24
#define SLOTS 1024
#define GROUPS 2
#define RT_PERIOD "/proc/sys/kernel/sched_rt_period_us"
#define SERVERS "/sys/kernel/debug/sched/fair_server/"
#define PERIOD_NS 20000000ULL
#define PATIENCE_MS 5000

/*
 * To the scheduler, a whole CPU is a share of 1 << WHOLE_BITS, and has a capacity of
 * 1 << CAPACITY_BITS.
 */
#define WHOLE_BITS 20
#define CAPACITY_BITS 10

/*
 * Where a CPU's bandwidth is counted: a number below TOP stands for the partition of that
 * group, TOP for all CPUs that are in no partition, OUTSIDE for CPUs without scheduler
 * domains.
 */
enum domain { TOP = GROUPS, OUTSIDE, DOMAINS };

/* How a request is made. */
enum way { BY_FILE, BY_LIST, BY_MASK, BY_SET, WAYS };

struct member {
	struct task task;
	int group;		/* the task's control group, or TOP */
	uint64_t share;
};

struct model {
	unsigned long long seed;
	struct world world;
	struct slot *slots;
	unsigned int started;
	struct member members[TASKS_MAX];
	int n;			/* number of @members */
	bool groups;		/* whether control groups can be made */
	bool servers;		/* whether parameters of servers can be read and changed */
	struct hp_state states[STATES_MAX];
	int nr_states;
	bool faults;		/* whether callbacks can be made to fail */
	/* What was read last from the machine. */
	cpus_t online;
	bool exempt;
	uint64_t limit;		/* the share of a CPU that may be promised */
	enum domain of_group[DOMAINS];
	cpus_t cpus[DOMAINS];
	/* How many cases of each kind there were. */
	int refused, accepted, tight, undone, asked[WAYS], in_groups;
};

static unsigned int roll(struct model *m, unsigned int below)
{
	return draw64(&m->seed, below);
}

static long long number(const char *path, long long otherwise)
{
	char text[64];

	return get(path, text, sizeof(text)) ? otherwise : atoll(text);
}

static uint64_t share_of(uint64_t runtime, uint64_t period)
{
	return period ? (runtime << WHOLE_BITS) / period : 0;
}

/* Returns the bandwidth that has been promised to the fair server of @cpu. */
static uint64_t server(const struct model *m, int cpu)
{
	char path[128];
	long long runtime, period;

	if (!m->servers)
		return share_of(50, 1000);
	snprintf(path, sizeof(path), SERVERS "cpu%d/runtime", cpu);
	runtime = number(path, 0);
	snprintf(path, sizeof(path), SERVERS "cpu%d/period", cpu);
	period = number(path, 0);
	return share_of(runtime, period);
}

static unsigned long capacity(int cpu)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/cpu_capacity", cpu);
	return number(path, 1UL << CAPACITY_BITS);
}

static void group_path(char *path, size_t size, int group, const char *file)
{
	if (group == TOP)
		snprintf(path, size, GROUP_DIR "%s", file);
	else
		snprintf(path, size, GROUP_DIR "bolt-model-%d/%s", group, file);
}

static int group_put(int group, const char *file, const char *text)
{
	char path[128];

	group_path(path, sizeof(path), group, file);
	return put(path, text);
}

/* Reads the limit. This read makes the kernel count all promises anew. */
static void look_limit(struct model *m)
{
	long long runtime = number(RT_RUNTIME, 0);

	m->exempt = runtime < 0;
	m->limit = share_of(runtime, number(RT_PERIOD, 0));
}

/*
 * Reads which CPUs are in which domain, but not the limit, so that the kernel counts
 * nothing anew.
 */
static void look(struct model *m)
{
	char path[128], text[64];

	cpus_read(CPU_DIR "online", &m->online);
	memset(m->cpus, 0, sizeof(m->cpus));
	m->cpus[TOP] = m->online;
	for (int g = 0; g < GROUPS; g++) {
		cpus_t own;

		m->of_group[g] = TOP;
		if (!m->groups)
			continue;
		group_path(path, sizeof(path), g, "cpuset.cpus.partition");
		if (get(path, text, sizeof(text)))
			continue;
		if (!strcmp(text, "root"))
			m->of_group[g] = g;
		else if (!strcmp(text, "isolated"))
			m->of_group[g] = OUTSIDE;
		else
			continue;
		group_path(path, sizeof(path), g, "cpuset.cpus.effective");
		if (cpus_read(path, &own)) {
			m->cpus[m->of_group[g]] |= own;
			m->cpus[TOP] &= ~own;
		}
	}
	m->of_group[TOP] = TOP;
}

/* Computes the promises and the bandwidth of domain @where when @down have gone. */
static void weigh(const struct model *m, enum domain where, cpus_t down,
		  uint64_t *promised, uint64_t *room)
{
	cpus_t stay = m->cpus[where] & ~down;
	unsigned long can = 0;

	*promised = 0;
	for (int i = 0; i < m->n; i++)
		if (m->of_group[m->members[i].group] == where)
			*promised += m->members[i].share;
	for (int cpu = 0; cpu < m->world.nr; cpu++) {
		if (!(stay & CPU(cpu)))
			continue;
		*promised += server(m, cpu);
		can += capacity(cpu);
	}
	*room = m->limit * can >> CAPACITY_BITS;
}

/* Whether @down may go, after @up have come. */
static bool may_go(struct model *m, cpus_t up, cpus_t down)
{
	uint64_t promised, room;
	bool ok = true;

	if (m->exempt)
		return true;
	/*
	 * CPUs that come back join the partition whose group lists these CPUs, or else
	 * the top domain.
	 */
	for (int g = 0; g < GROUPS; g++) {
		char path[128];
		cpus_t own;

		group_path(path, sizeof(path), g, "cpuset.cpus");
		if (m->of_group[g] == TOP || !cpus_read(path, &own))
			continue;
		m->cpus[m->of_group[g]] |= up & own;
		up &= ~own;
	}
	m->cpus[TOP] |= up;
	for (enum domain d = 0; d < DOMAINS; d++) {
		if (!(m->cpus[d] & down))
			continue;
		weigh(m, d, down, &promised, &room);
		ok &= promised <= room;
		/* Servers of the CPUs that go, added or subtracted by mistake, might change ok. */
		if (promised + share_of(cpus_count(down) * 50, 1000) > room &&
		    promised < room + share_of(cpus_count(down) * 50, 1000))
			m->tight++;
	}
	return ok;
}

static void describe(const struct model *m, char *text, size_t size)
{
	char list[SETS_TEXT];
	size_t at;

	at = snprintf(text, size, "limit %llu%s,", (unsigned long long)m->limit,
		      m->exempt ? " exempt" : "");
	for (enum domain d = 0; d < DOMAINS && at < size; d++) {
		uint64_t promised, room;

		if (!m->cpus[d])
			continue;
		weigh(m, d, 0, &promised, &room);
		at += snprintf(text + at, size - at, " domain %d: CPUs %s, %llu of %llu,",
			       d, cpus_text(m->cpus[d], 0, list),
			       (unsigned long long)promised, (unsigned long long)room);
	}
	for (int i = 0; i < m->n && at < size; i++)
		at += snprintf(text + at, size - at, " %d:%llu", m->members[i].group,
			       (unsigned long long)m->members[i].share);
}

/* A task that wakes up now and then, so that the load balancer moves it. */
static void nap(struct slot *slot)
{
	for (;;) {
		slot_beat(slot);
		wait_ms(25);
	}
}

/* A task that sleeps, and so stays on its CPU when that CPU goes. */
static void rest(struct slot *slot)
{
	slot_beat(slot);
	for (;;)
		pause();
}

/* Starts a deadline task in @group with @permille of a CPU. Returns 0 or -errno. */
static int member_start(struct model *m, int group, int permille)
{
	struct slot *slot = &m->slots[m->started++ % SLOTS];
	struct member *member = &m->members[m->n];
	long long runtime_ns = PERIOD_NS / 1000 * permille;
	char pid[16];
	int err = 0;

	if (m->n == TASKS_MAX)
		return -ENOSPC;
	memset(slot, 0, sizeof(*slot));
	if (task_start(&member->task, slot, roll(m, 2) ? nap : rest) < 0)
		return -errno;
	member->group = group;
	member->share = share_of(runtime_ns, PERIOD_NS);
	snprintf(pid, sizeof(pid), "%d", member->task.pid);
	if (group != TOP)
		err = group_put(group, "cgroup.procs", pid);
	/*
	 * The task becomes a deadline task only when it has run on some CPU. By then
	 * the task may already sleep.
	 */
	if (!err && !soon(slot_beats(slot), PATIENCE_MS))
		err = -ETIME;
	if (!err)
		err = set_deadline_each(member->task.pid, runtime_ns, PERIOD_NS);
	if (err)
		task_kill(&member->task);
	else
		m->n++;
	return err;
}

static void member_end(struct model *m, int i)
{
	task_kill(&m->members[i].task);
	m->members[i] = m->members[--m->n];
	/*
	 * The kernel gives the task's share back when its zero-lag time is over. If
	 * the kernel counts anew before that, the share is given back twice,
	 * natively too. The sum of all shares may then fall below 0 and wrap: no
	 * task is admitted until the kernel counts anew again.
	 */
	wait_ms(3 * PERIOD_NS / 1000000);
}

static void members_end(struct model *m)
{
	while (m->n)
		member_end(m, m->n - 1);
}

/* The steps of a random case. The kernel may refuse a step, which is then left out. */

static void do_start(struct model *m)
{
	member_start(m, m->groups ? roll(m, GROUPS + 1) : TOP, 50 + roll(m, 850));
}

/*
 * Promises about as much as a random number of CPUs can give, so that one server more or
 * less may decide how many CPUs may go.
 */
static void do_fill(struct model *m)
{
	uint64_t promised, room, server_share = share_of(50, 1000);
	int left, stay;

	look(m);
	if (m->exempt || !m->cpus[TOP])
		return;
	stay = 1 + roll(m, cpus_count(m->cpus[TOP]));
	weigh(m, TOP, m->cpus[TOP], &promised, &room);
	left = (int)(((int64_t)(stay * (m->limit - server_share)) - (int64_t)promised) *
		     1000 >> WHOLE_BITS) + (int)roll(m, 400) - 200;
	while (left > 10) {
		int permille = left > 900 ? 900 : left;

		if (member_start(m, TOP, permille))
			return;
		left -= permille;
	}
}

static void do_end(struct model *m)
{
	if (m->n)
		member_end(m, roll(m, m->n));
}

static void do_read(struct model *m)
{
	look_limit(m);
}

static void do_limit(struct model *m)
{
	static const char * const limits[] = {
		"950000", "950000", "990000", "800000", "500000", "-1",
	};

	put(RT_RUNTIME, limits[roll(m, ARRAY_SIZE(limits))]);
	look_limit(m);
	if (m->exempt && roll(m, 2)) {
		/* More may have been promised than the new limit allows. */
		members_end(m);
		put(RT_RUNTIME, limits[0]);
		look_limit(m);
	}
}

static void do_server(struct model *m)
{
	static const char * const runtimes[] = {
		"10000000", "50000000", "50000000", "120000000", "400000000", "700000000",
	};
	char path[128];

	snprintf(path, sizeof(path), SERVERS "cpu%d/runtime", roll(m, m->world.nr));
	if (m->servers)
		put(path, runtimes[roll(m, ARRAY_SIZE(runtimes))]);
}

/* Returns some CPUs of @set, each with the same chance. */
static cpus_t some_of(struct model *m, cpus_t set)
{
	cpus_t some = 0;

	for (int cpu = 0; cpu < m->world.nr; cpu++)
		if (set & CPU(cpu) && roll(m, 2))
			some |= CPU(cpu);
	return some;
}

/*
 * Makes a group a partition, or makes a partition a plain group. The CPUs are chosen
 * while the group is no partition, and are online: otherwise Linux 6.12 warns that its own
 * counts (nr_subparts) are wrong and that partitions overlap, without Bolt too.
 */
static void do_group(struct model *m)
{
	int group = roll(m, GROUPS);
	char list[SETS_TEXT];
	cpus_t own = 0;

	if (!m->groups)
		return;
	group_put(group, "cpuset.cpus.partition", "member");
	if (!roll(m, 3))
		return;
	/* Each group has CPUs of its own, no two of which are neighbours. */
	look(m);
	for (int cpu = group; cpu < m->world.nr; cpu += GROUPS)
		own |= m->online & CPU(cpu);
	own = some_of(m, own);
	if (own && !group_put(group, "cpuset.cpus", cpus_text(own, 0, list)))
		group_put(group, "cpuset.cpus.partition", roll(m, 4) ? "root" : "isolated");
}

static void do_move(struct model *m)
{
	int group = roll(m, GROUPS + 1), i;
	char pid[16];

	if (!m->n || !m->groups)
		return;
	i = roll(m, m->n);
	snprintf(pid, sizeof(pid), "%d", m->members[i].task.pid);
	if (!group_put(group, "cgroup.procs", pid))
		m->members[i].group = group;
}

static void do_bring(struct model *m)
{
	cpus_t set = m->world.movable;

	if (roll(m, 2))
		set = some_of(m, set);
	if (set)
		ask_by_list(ONLINE_THEM, set);
}

static void do_settle(struct model *m)
{
	static const char * const delays[] = { "0", "30", "4000000000" };

	if (roll(m, 2))
		settle_all();
	else
		put(BOLT_DIR "settle_delay_ms", delays[roll(m, ARRAY_SIZE(delays))]);
}

static void (* const actions[])(struct model *m) = {
	do_start, do_start, do_fill, do_end, do_end, do_end, do_read, do_read,
	do_limit, do_server, do_group, do_group, do_move, do_bring, do_bring,
	do_settle,
};

/*
 * Makes one CPU of @set fail in a state below sched:active, which checks the promised
 * bandwidth. Returns false if that is not possible.
 */
static bool break_one(struct model *m, cpus_t set, int *cpu)
{
	int active = 0, state;

	while (active < m->nr_states && strcmp(m->states[active].name, "sched:active"))
		active++;
	if (!m->faults || !active || active == m->nr_states)
		return false;
	do {
		*cpu = roll(m, m->world.nr);
	} while (!(set & CPU(*cpu)));
	state = roll(m, active);
	return !hp_fail(*cpu, m->states[state].nr);
}

/*
 * Leaves out one CPU of each domain that would have no CPU left, unless the request will
 * be refused: when a partition has no CPU left, Linux 6.12 warns that nr_subparts is
 * wrong, without Bolt too.
 */
static cpus_t leave_some(const struct model *m, cpus_t down)
{
	for (enum domain d = 0; d < DOMAINS; d++) {
		uint64_t promised, room;

		weigh(m, d, m->cpus[d], &promised, &room);
		if (!(m->cpus[d] & ~down) && (m->exempt || !promised))
			down &= ~(m->cpus[d] & -m->cpus[d]);
	}
	return down;
}

static int ask_for(enum way how, cpus_t set)
{
	switch (how) {
	case BY_FILE:
		return set_online(cpus_first(set), false);
	case BY_LIST:
		return ask_by_list(OFFLINE_THEM, set);
	case BY_MASK:
		return ask_by_mask(OFFLINE_THEM, set);
	default:
		return ask_by_list(SET_THEM, set);
	}
}

/* Makes one request, and checks that the answer follows the rule. */
static void one_case(struct __test_metadata *_metadata, struct model *m, int nr)
{
	cpus_t set, up = 0, down, before, after, wanted;
	enum way way = roll(m, WAYS);
	char facts[1024], last[TEXT_MAX], list[SETS_TEXT];
	bool ok, fails = false;
	unsigned long batch;
	int err, cpu = -1;

	for (int i = 1 + roll(m, 4); i; i--)
		actions[roll(m, ARRAY_SIZE(actions))](m);
	look(m);
	before = m->online;
	set = leave_some(m, some_of(m, before & m->world.movable));
	if (way == BY_FILE)
		set &= -set;
	/*
	 * A group whose partition is not valid may have a valid one when its CPUs have
	 * come. So if a group has no valid partition, the request brings no CPU online.
	 */
	for (int g = 0; g < GROUPS && way == BY_SET; g++)
		if (m->groups && m->of_group[g] == TOP)
			way = BY_LIST;
	if (way == BY_SET) {
		up = some_of(m, m->world.movable & ~before);
		set = (before & ~set) | up;
		down = before & ~set;
		wanted = set;
	} else {
		down = set;
		wanted = before & ~down;
	}
	if (!wanted || !down)
		return;
	describe(m, facts, sizeof(facts));
	ok = may_go(m, up, down);
	if (!roll(m, 3))
		fails = break_one(m, down, &cpu);
	err = ask_for(way, set);
	if (fails) {
		fails = !hp_failing(cpu);
		hp_fail(cpu, -1);
	}
	cpus_read(CPU_DIR "online", &after);
	m->asked[way]++;
	for (int i = 0; i < m->n; i++) {
		if (m->of_group[m->members[i].group] != TOP) {
			m->in_groups++;
			break;
		}
	}
	if (last_error(last, &batch) < 1)
		last[0] = '\0';
	ASSERT_EQ(!ok ? -EBUSY : fails ? -EAGAIN : 0, err)
		TH_LOG("case %d, way %d, %s, last error %s: %s", nr, way,
		       cpus_text(down, 0, list), last, facts);
	ASSERT_EQ(err ? before : wanted, after);
	if (ok) {
		m->accepted += !fails;
		m->undone += fails;
		return;
	}
	m->refused++;
	ASSERT_NE(NULL, strstr(last, "state=sched:active errno=16"))
		TH_LOG("case %d: %s", nr, last);
}

FIXTURE(deadline_model) {
	struct model m;
};

static bool make_groups(void)
{
	char path[128];

	if (put(GROUP_DIR "cgroup.subtree_control", "+cpuset"))
		return false;
	for (int g = 0; g < GROUPS; g++) {
		group_path(path, sizeof(path), g, "");
		if (mkdir(path, 0755) && errno != EEXIST)
			return false;
	}
	return true;
}

FIXTURE_SETUP(deadline_model)
{
	const char *why = cannot_run();
	struct model *m = &self->m;
	cpus_t isolated;
	struct slot *slots;

	if (why)
		SKIP(return, "%s", why);
	if (!world_look(&m->world))
		SKIP(return, "more than 64 CPUs");
	/* The model would count CPUs that are isolated at boot in the top domain. */
	if (cpus_read(CPU_DIR "isolated", &isolated) && isolated)
		SKIP(return, "CPUs are isolated at boot");
	ASSERT_EQ(0, start_over_all());
	ASSERT_EQ(0, sets_start_over(&m->world));
	ASSERT_EQ(0, put(RT_RUNTIME, "950000"));
	look_limit(m);
	slots = slots_map(SLOTS);
	ASSERT_NE(NULL, slots);
	m->slots = slots;
	m->servers = !access(SERVERS "cpu0/runtime", F_OK);
	m->groups = make_groups();
	m->nr_states = hp_states(m->states);
	m->faults = hp_fail(cpus_first(m->world.movable), -1) != -ENOENT;
}

FIXTURE_TEARDOWN(deadline_model)
{
	struct model *m = &self->m;
	char path[128];

	if (cannot_run())
		return;
	members_end(m);
	for (int g = 0; m->groups && g < GROUPS; g++) {
		group_path(path, sizeof(path), g, "");
		EXPECT_EQ(0, rmdir(path));
	}
	EXPECT_EQ(0, start_over_all());
	for (int cpu = 0; m->servers && cpu < m->world.nr; cpu++) {
		snprintf(path, sizeof(path), SERVERS "cpu%d/runtime", cpu);
		if (m->world.present & CPU(cpu))
			EXPECT_EQ(0, put(path, "50000000"));
	}
	EXPECT_EQ(0, put(RT_RUNTIME, "950000"));
	munmap(m->slots, SLOTS * sizeof(*m->slots));
}

/* More is promised than two CPUs can give, so a request that leaves only two is refused. */
TEST_F_TIMEOUT(deadline_model, nobody_changes_it_by_reading, 600)
{
	struct model *m = &self->m;
	cpus_t down = 0;

	if (cpus_count(m->world.movable) < 7 || m->world.nr < 8)
		SKIP(return, "needs eight CPUs");
	for (int cpu = 2; cpu < m->world.nr; cpu++)
		down |= CPU(cpu);
	for (int read = 0; read < 2; read++) {
		/*
		 * These native requests make the kernel build domains, and so count the
		 * servers of their CPUs.
		 */
		ASSERT_EQ(0, enable(false));
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, set_online(VICTIM, true));
		ASSERT_EQ(0, enable(true));
		if (read)
			look_limit(m);
		for (int i = 0; i < 3; i++)
			ASSERT_EQ(0, member_start(m, TOP, 700));
		look(m);
		EXPECT_FALSE(may_go(m, 0, down));
		EXPECT_EQ(-EBUSY, ask_by_list(OFFLINE_THEM, down))
			TH_LOG("%s", read ? "the limit was read before" : "the limit was not read");
		ask_by_list(ONLINE_THEM, down);
		members_end(m);
	}
}

/* Without a limit no request is refused, however much is promised. */
TEST_F_TIMEOUT(deadline_model, no_limit_no_refusal, 600)
{
	struct model *m = &self->m;
	cpus_t down = m->world.movable & ~CPU(0);

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, member_start(m, TOP, 900));
	EXPECT_EQ(-EBUSY, ask_by_mask(OFFLINE_THEM, down));
	ASSERT_EQ(0, put(RT_RUNTIME, "-1"));
	EXPECT_EQ(0, ask_by_mask(OFFLINE_THEM, down));
	EXPECT_EQ(0, ask_by_mask(ONLINE_THEM, down));
	members_end(m);
	ASSERT_EQ(0, put(RT_RUNTIME, "950000"));
}

/* Whether enough requests were made, and enough of them accepted and refused. */
static bool enough(const struct model *m, int goal)
{
	return m->accepted + m->refused + m->undone >= goal &&
	       m->accepted > goal / 10 && m->refused > goal / 10;
}

TEST_F_TIMEOUT(deadline_model, random_cases, 3600)
{
	int tried = 0, goal = env_number("BOLT_CASES", CASES);
	struct model *m = &self->m;

	ASSERT_GT(goal, 0);
	m->seed = env_seed();
	while (!enough(m, goal)) {
		ASSERT_LT(tried++, 20 * goal);
		one_case(_metadata, m, tried);
	}
	TH_LOG("%d accepted, %d refused, %d undone", m->accepted, m->refused, m->undone);
	TH_LOG("requests by file %d, list %d, mask %d, set %d", m->asked[BY_FILE],
	       m->asked[BY_LIST], m->asked[BY_MASK], m->asked[BY_SET]);
	TH_LOG("%d cases near the limit, %d with tasks in partitions, servers %s",
	       m->tight, m->in_groups, m->servers ? "can be changed" : "are fixed");
}

TEST_HARNESS_MAIN

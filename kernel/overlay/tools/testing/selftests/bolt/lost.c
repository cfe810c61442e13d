// SPDX-License-Identifier: GPL-2.0-only
/*
 * A request fails, and its undo fails as well: CPUs that are not put back are lost.
 * cpuN/online, uevents and last_error tell which CPUs are lost, and a write of 1 to
 * cpuN/online goes on from the state in which the CPU was left. The kernel warns once per boot.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>

#include "cpus.h"
#include "errors.h"
#include "events.h"
#include "lib/children.h"
#include "lib/place.h"
#include "sets.h"
#include "sleep.h"
#include "../kselftest_harness.h"

#define SMT CPU_DIR "smt/control"

/*
 * The CPUs of the tests. In most tests FIRST and SECOND go, or come, together; where
 * CPUs go and come in one request, OTHER comes.
 */
enum { FIRST, SECOND, OTHER, USED };

/* What can be seen of each CPU. */
struct look {
	cpus_t files;		/* CPUs whose cpuN/online says 1, or is not there */
	int at[SETS_MAX];	/* what cpuN/hotplug/state says */
};

/* The data of a test. */
struct bench {
	struct hp_state states[STATES_MAX];
	int nr_states, top;
	struct world world;
	int cpus[USED];
	int fd;
};

static void bench_begin(struct __test_metadata *_metadata, struct bench *bench)
{
	const char *why = cannot_run();
	int n = 0;

	if (why)
		SKIP(return, "%s", why);
	if (!world_look(&bench->world))
		SKIP(return, "more than 64 CPUs");
	for (int cpu = 1; cpu < bench->world.nr && n < USED; cpu++)
		if (bench->world.movable & CPU(cpu))
			bench->cpus[n++] = cpu;
	if (n < USED)
		SKIP(return, "needs %d CPUs", USED + 1);
	ASSERT_EQ(0, start_over_all());
	ASSERT_EQ(0, sets_start_over(&bench->world));
	bench->nr_states = hp_states(bench->states);
	bench->top = bench->states[bench->nr_states - 1].nr;
	if (hp_fail(bench->cpus[0], bench->states[bench->nr_states - 2].nr) == -ENOENT)
		SKIP(return, "no fault injection for hotplug states");
	hp_fail(bench->cpus[0], -1);
	bench->fd = events_open();
	ASSERT_GE(bench->fd, 0);
}

static void bench_end(struct __test_metadata *_metadata, struct bench *bench)
{
	if (cannot_run())
		return;
	close(bench->fd);
	put(SMT, "on");
	EXPECT_EQ(0, start_over_all());
}

FIXTURE(lost) {
	struct bench bench;
};

FIXTURE_SETUP(lost)
{
	bench_begin(_metadata, &self->bench);
}

FIXTURE_TEARDOWN(lost)
{
	bench_end(_metadata, &self->bench);
}

static int state_of(int cpu)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/hotplug/state", cpu);
	return get(path, text, sizeof(text)) ? -1 : atoi(text);
}

static void look_at(const struct world *world, struct look *look)
{
	memset(look, 0, sizeof(*look));
	for (int cpu = 0; cpu < world->nr; cpu++) {
		look->at[cpu] = state_of(cpu);
		/* A CPU that is not present has no files. */
		if (look->at[cpu] < 0)
			continue;
		if (!(world->movable & CPU(cpu)) || cpu_is_online(cpu))
			look->files |= CPU(cpu);
	}
}

/* Counts, for each CPU, the uevents "online" and "offline" that have arrived. */
static void cpu_events(int fd, int online[SETS_MAX], int offline[SETS_MAX])
{
	char text[8192];
	ssize_t len;
	int cpu;

	memset(online, 0, SETS_MAX * sizeof(*online));
	memset(offline, 0, SETS_MAX * sizeof(*offline));
	while ((len = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0) {
		text[len] = '\0';
		if (sscanf(text, "online@/devices/system/cpu/cpu%d", &cpu) == 1)
			online[cpu]++;
		if (sscanf(text, "offline@/devices/system/cpu/cpu%d", &cpu) == 1)
			offline[cpu]++;
	}
}

static int state_nr(const struct bench *bench, const char *name)
{
	for (int i = 0; i < bench->nr_states; i++)
		if (!strcmp(bench->states[i].name, name))
			return bench->states[i].nr;
	return -1;
}

/*
 * Returns the CPUs in "undo=CPU:STATE,..." at the end of a line, and checks that the
 * kernel has these states.
 */
static cpus_t undo_of(struct __test_metadata *_metadata, const char *line,
		      const struct bench *bench)
{
	const char *at = strstr(line, " undo=");
	char name[64], *list, *entry, *rest;
	cpus_t set = 0;
	int cpu, used, found;

	if (!at)
		return 0;
	list = strdup(at + strlen(" undo="));
	for (entry = strtok_r(list, ",", &rest); entry;
	     entry = strtok_r(NULL, ",", &rest)) {
		used = 0;
		found = sscanf(entry, "%d:%63s%n", &cpu, name, &used);
		ASSERT_EQ(2, found)
			TH_LOG("%s", line);
		EXPECT_EQ('\0', entry[used]);
		EXPECT_GE(state_nr(bench, name), 0)
			TH_LOG("%s", line);
		EXPECT_GT(CPU(cpu), set)
			TH_LOG("CPUs are not in order, or listed twice: %s", line);
		set |= CPU(cpu);
	}
	free(list);
	return set;
}

/*
 * Checks the result of a request: cpuN/online says 1 for the CPUs in the highest state, and for
 * no others; each CPU for which that has changed had one event; after a failure last_error has
 * the CPUs that were not put back. Returns the CPUs that were not put back.
 */
static cpus_t check(struct __test_metadata *_metadata,
		    const struct bench *bench, const struct look *before,
		    int err)
{
	int online[SETS_MAX], offline[SETS_MAX];
	unsigned long batch;
	char last[TEXT_MAX];
	struct look after;
	cpus_t lost = 0;

	look_at(&bench->world, &after);
	cpu_events(bench->fd, online, offline);
	last_error(last, &batch);
	for (int cpu = 0; cpu < bench->world.nr; cpu++) {
		bool was = before->files & CPU(cpu), is = after.files & CPU(cpu);

		EXPECT_EQ(after.at[cpu] == bench->top, is)
			TH_LOG("cpu %d is at %d, and cpu%d/online says %d", cpu,
			       after.at[cpu], cpu, is);
		EXPECT_EQ(!was && is, online[cpu])
			TH_LOG("cpu %d", cpu);
		EXPECT_EQ(was && !is, offline[cpu])
			TH_LOG("cpu %d", cpu);
		if (err && after.at[cpu] != before->at[cpu])
			lost |= CPU(cpu);
	}
	if (err) {
		EXPECT_EQ(lost, undo_of(_metadata, last, bench))
			TH_LOG("lost %llx: %s", (long long)lost, last);
	}
	EXPECT_TRUE(is(BOLT_DIR "enabled", "1"));
	return lost;
}

#define check_it(err) check(_metadata, &self->bench, &before, err)

#define begin() do {							\
	look_at(&self->bench.world, &before);				\
	events_drop(self->bench.fd);					\
} while (0)

#define nr_of(name) state_nr(&self->bench, name)

static int run_on(int cpu)
{
	int err = pin(0, cpu);

	if (err)
		return err;
	return sched_getcpu() == cpu ? 0 : -ESRCH;
}

/* Makes a request lose FIRST: a teardown of SECOND fails, and in the undo a startup of FIRST. */
#define lose_first() do {						\
	int a = self->bench.cpus[FIRST], b = self->bench.cpus[SECOND];		\
	ASSERT_EQ(0, hp_fail(a, nr_of("random:online")));		\
	ASSERT_EQ(0, hp_fail(b, nr_of("smpboot/threads:online")));	\
	begin();							\
	ASSERT_EQ(-EAGAIN, ask_by_list(OFFLINE_THEM, CPU(a) | CPU(b)));	\
	ASSERT_EQ(CPU(a), check_it(-EAGAIN));				\
} while (0)

TEST_F_TIMEOUT(lost, and_found, 300)
{
	int a = self->bench.cpus[FIRST], b = self->bench.cpus[SECOND];
	char last[TEXT_MAX], wanted[TEXT_MAX];
	struct look before;
	unsigned long batch;

	lose_first();
	snprintf(wanted, sizeof(wanted),
		 "pid=%d cpu=%d state=smpboot/threads:online errno=%d undo=%d:random:online",
		 getpid(), b, EAGAIN, a);
	last_error(last, &batch);
	EXPECT_STREQ(wanted, last);
	EXPECT_FALSE(cpu_is_online(a));
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	EXPECT_EQ(-EINVAL, run_on(a));

	/* Asks once more, in vain; last_error must say why. */
	begin();
	ASSERT_EQ(0, hp_fail(a, nr_of("random:online")));
	EXPECT_EQ(-EAGAIN, set_online(a, true));
	EXPECT_EQ(0, check_it(-EAGAIN));
	snprintf(wanted, sizeof(wanted), "pid=%d cpu=%d state=random:online errno=%d",
		 getpid(), a, EAGAIN);
	last_error(last, &batch);
	EXPECT_STREQ(wanted, last);

	begin();
	EXPECT_EQ(0, set_online(a, true));
	EXPECT_EQ(0, check_it(0));
	EXPECT_TRUE(cpu_is_online(a));
	EXPECT_EQ(0, run_on(a));
}

TEST_F_TIMEOUT(lost, and_found_natively, 300)
{
	int a = self->bench.cpus[FIRST];
	struct look before;

	lose_first();
	ASSERT_EQ(0, enable(false));
	EXPECT_EQ(0, set_online(a, true));
	EXPECT_EQ(self->bench.top, state_of(a));
	EXPECT_TRUE(cpu_is_online(a));
	EXPECT_EQ(0, run_on(a));
}

/* The request in which the CPU was lost is made again, and succeeds. */
TEST_F_TIMEOUT(lost, and_gone, 300)
{
	cpus_t both = CPU(self->bench.cpus[FIRST]) | CPU(self->bench.cpus[SECOND]);
	struct look before;

	lose_first();
	begin();
	EXPECT_EQ(0, ask_by_list(OFFLINE_THEM, both));
	EXPECT_EQ(0, check_it(0));
	EXPECT_EQ(0, state_of(self->bench.cpus[FIRST]));
	begin();
	EXPECT_EQ(0, ask_by_list(ONLINE_THEM, both));
	EXPECT_EQ(0, check_it(0));
	EXPECT_EQ(self->bench.top, state_of(self->bench.cpus[FIRST]));
}

/*
 * The lost CPU is taken offline by a write to cpuN/online. The file says already that the
 * CPU is offline, so there is no second event.
 */
TEST_F_TIMEOUT(lost, and_gone_alone, 300)
{
	int a = self->bench.cpus[FIRST];
	struct look before;

	for (int on = 1; on >= 0; on--) {
		lose_first();
		ASSERT_EQ(0, enable(on));
		begin();
		EXPECT_EQ(0, set_online(a, false));
		EXPECT_EQ(0, state_of(a));
		ASSERT_EQ(0, enable(true));
		EXPECT_EQ(0, check_it(0));
		begin();
		EXPECT_EQ(0, set_online(a, true));
		EXPECT_EQ(0, check_it(0));
		EXPECT_EQ(0, run_on(a));
	}
}

/* The lost CPU is ejected for good, for which reason the test runs only if BOLT_EJECT is set. */
TEST_F_TIMEOUT(lost, and_ejected, 300)
{
	int a = self->bench.cpus[FIRST];
	struct look before;

	if (!getenv("BOLT_EJECT"))
		SKIP(return, "the CPU would not come back; BOLT_EJECT=1 asks for this test");
	lose_first();
	EXPECT_TRUE(cpu_eject(a));
}

/*
 * Requests for other CPUs do not touch the CPU that is lost; a write to bolt/set that lists
 * the lost CPU brings that CPU back.
 */
TEST_F_TIMEOUT(lost, beside_others, 300)
{
	int a = self->bench.cpus[FIRST], b = self->bench.cpus[SECOND];
	struct look before;

	lose_first();
	begin();
	EXPECT_EQ(0, ask_by_list(OFFLINE_THEM, CPU(b)));
	EXPECT_EQ(0, ask_by_list(ONLINE_THEM, CPU(b)));
	EXPECT_EQ(before.at[a], state_of(a));
	EXPECT_FALSE(cpu_is_online(a));
	events_drop(self->bench.fd);
	EXPECT_EQ(0, ask_by_list(SET_THEM, self->bench.world.present));
	EXPECT_EQ(0, check_it(0));
	EXPECT_EQ(self->bench.top, state_of(a));
}

/* In the undo of bolt/set, one CPU does not come back, and another CPU does not go again. */
TEST_F_TIMEOUT(lost, in_both_directions, 300)
{
	int a = self->bench.cpus[FIRST], b = self->bench.cpus[SECOND], c = self->bench.cpus[OTHER];
	char last[TEXT_MAX], wanted[TEXT_MAX];
	struct look before;
	unsigned long batch;

	ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, CPU(c)));
	ASSERT_EQ(0, hp_fail(a, nr_of("random:online")));
	ASSERT_EQ(0, hp_fail(b, nr_of("smpboot/threads:online")));
	/*
	 * sched:waitempty has no startup, so only its teardown fails, when the CPU that
	 * came is taken down again.
	 */
	ASSERT_EQ(0, hp_fail(c, nr_of("sched:waitempty")));
	begin();
	EXPECT_EQ(-EAGAIN, ask_by_list(SET_THEM, self->bench.world.present &
				       ~(CPU(a) | CPU(b))));
	EXPECT_EQ(CPU(a) | CPU(c), check_it(-EAGAIN));
	snprintf(wanted, sizeof(wanted),
		 "pid=%d cpu=%d state=smpboot/threads:online errno=%d undo=%d:random:online,%d:sched:waitempty",
		 getpid(), b, EAGAIN, a, c);
	last_error(last, &batch);
	EXPECT_STREQ(wanted, last);
	EXPECT_FALSE(cpu_is_online(a));
	EXPECT_FALSE(cpu_is_online(c));
	begin();
	EXPECT_EQ(0, set_online(a, true));
	EXPECT_EQ(0, set_online(c, true));
	EXPECT_EQ(0, check_it(0));
	EXPECT_EQ(0, run_on(a));
	EXPECT_EQ(0, run_on(c));
}

TEST_F_TIMEOUT(lost, by_smt_control, 300)
{
	struct look before;
	struct sight sight;
	cpus_t threads;
	int a, b;

	if (!is(SMT, "on"))
		SKIP(return, "no SMT");
	ASSERT_EQ(0, put(SMT, "off"));
	ASSERT_TRUE(sight_take(&self->bench.world, &sight));
	threads = self->bench.world.present & ~sight.online;
	ASSERT_EQ(0, put(SMT, "on"));
	a = cpus_first(threads);
	b = cpus_first(threads & ~CPU(a));
	if (b < 0)
		SKIP(return, "needs two cores with two threads");

	ASSERT_EQ(0, hp_fail(a, nr_of("random:online")));
	ASSERT_EQ(0, hp_fail(b, nr_of("smpboot/threads:online")));
	begin();
	EXPECT_EQ(-EAGAIN, put(SMT, "off"));
	EXPECT_EQ(CPU(a), check_it(-EAGAIN));
	begin();
	EXPECT_EQ(0, put(SMT, "on"));
	EXPECT_EQ(0, check_it(0));
	EXPECT_EQ(0, run_on(a));

	ASSERT_EQ(0, put(SMT, "off"));
	ASSERT_EQ(0, hp_fail(a, nr_of("sched:waitempty")));
	ASSERT_EQ(0, hp_fail(b, nr_of("random:online")));
	begin();
	EXPECT_EQ(-EAGAIN, put(SMT, "on"));
	EXPECT_EQ(CPU(a), check_it(-EAGAIN));
	begin();
	EXPECT_EQ(0, set_online(a, true));
	EXPECT_EQ(0, set_online(b, true));
	EXPECT_EQ(0, check_it(0));
	EXPECT_EQ(0, run_on(a));
}

/* A CPU that suspend could not put back is brought up by the thaw that follows. */
TEST_F_TIMEOUT(lost, by_suspend, 300)
{
	int a = self->bench.cpus[FIRST], b = self->bench.cpus[SECOND];
	char last[TEXT_MAX], wanted[32];
	struct look before, after;
	unsigned long batch;

	if (!can_sleep())
		SKIP(return, "no suspend");
	ASSERT_EQ(0, hp_fail(a, nr_of("random:online")));
	ASSERT_EQ(0, hp_fail(b, nr_of("smpboot/threads:online")));
	begin();
	EXPECT_EQ(-EAGAIN, sleep_and_wake());
	last_error(last, &batch);
	snprintf(wanted, sizeof(wanted), " undo=%d:random:online", a);
	EXPECT_NE(NULL, strstr(last, wanted))
		TH_LOG("%s", last);
	look_at(&self->bench.world, &after);
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
	EXPECT_EQ(0, run_on(a));
}

#define STUBBORN "/sys/module/stubborn/parameters/"
#define STATES DEBUG_DIR "states"

static int stubborn(const char *what, cpus_t cpus)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), STUBBORN "%s", what);
	snprintf(text, sizeof(text), "0x%llx", (long long)cpus);
	return put(path, text);
}

/*
 * The tests "stubborn" use a module of the lab, whose callbacks can fail several times in
 * a request; hotplug/fail makes only one callback of a CPU fail, once.
 */
FIXTURE(stubborn) {
	struct bench bench;
};

FIXTURE_SETUP(stubborn)
{
	if (access(STUBBORN, F_OK))
		SKIP(return, "needs a module that only the lab has");
	bench_begin(_metadata, &self->bench);
}

FIXTURE_TEARDOWN(stubborn)
{
	if (access(STUBBORN, F_OK))
		return;
	for (int i = 0; i < 6; i++) {
		static const char * const all[] = {
			"high_up", "high_down", "low_up", "low_down", "refuses",
			"deaf",
		};
		stubborn(all[i], 0);
	}
	bench_end(_metadata, &self->bench);
	EXPECT_TRUE(is(STUBBORN "wrong", "0"));
}

/*
 * A callback fails, and in the undo the callback of another state fails: the kernel must
 * not treat that other state as one that the CPU has passed.
 */
TEST_F_TIMEOUT(stubborn, twice_on_one_cpu, 300)
{
	int a = self->bench.cpus[FIRST], b = self->bench.cpus[SECOND];
	struct look before;

	for (int n = 0; n < 2; n++) {
		/* Requests are for one CPU in the first round, for two in the second. */
		cpus_t all = CPU(a) | (n ? CPU(b) : 0);

		for (int from = ONLINE; from <= SETTLED; from++) {
			ASSERT_EQ(0, ask_to_be(all, from));
			ASSERT_EQ(0, stubborn("low_down", CPU(a)));
			ASSERT_EQ(0, stubborn("high_up", CPU(a)));
			begin();
			EXPECT_EQ(-EIO, ask_by_list(from == ONLINE ? OFFLINE_THEM :
						    ONLINE_THEM, all));
			EXPECT_EQ(0, check_it(-EIO));
			EXPECT_TRUE(is(STUBBORN "low_down", "0"));
			EXPECT_TRUE(is(STUBBORN "high_up", "0"));
			EXPECT_TRUE(is(STUBBORN "wrong", "0"));
		}
	}
}

/*
 * One CPU is dead already when another CPU refuses to go. In the undo the dead CPU does
 * not answer.
 */
TEST_F_TIMEOUT(stubborn, no_answer_on_the_way_back, 300)
{
	int a = self->bench.cpus[FIRST], b = self->bench.cpus[SECOND];
	int c = self->bench.cpus[OTHER];
	char last[TEXT_MAX], wanted[TEXT_MAX];
	struct look before;
	unsigned long batch;

	if (stubborn("deaf", 0))
		SKIP(return, "only on x86");
	ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, CPU(c)));
	ASSERT_EQ(0, stubborn("refuses", CPU(b)));
	ASSERT_EQ(0, stubborn("deaf", CPU(a)));
	begin();
	EXPECT_EQ(-EBUSY, ask_by_list(SET_THEM, self->bench.world.present &
				      ~(CPU(a) | CPU(b))));
	EXPECT_EQ(CPU(a), check_it(-EBUSY));
	EXPECT_EQ(0, state_of(a));
	snprintf(wanted, sizeof(wanted),
		 "pid=%d cpu=%d state=cpu:teardown errno=%d undo=%d:cpu:bringup",
		 getpid(), b, EBUSY, a);
	last_error(last, &batch);
	EXPECT_STREQ(wanted, last);
	begin();
	EXPECT_EQ(-EIO, set_online(a, true));
	EXPECT_EQ(0, check_it(-EIO));
	EXPECT_EQ(0, stubborn("deaf", 0));
	begin();
	EXPECT_EQ(0, set_online(a, true));
	EXPECT_EQ(0, check_it(0));
	EXPECT_EQ(0, run_on(a));
}

/* One CPU does not come, and another CPU that has come refuses to go again. */
TEST_F_TIMEOUT(stubborn, no_answer_and_no_way_back, 300)
{
	int a = self->bench.cpus[FIRST], b = self->bench.cpus[OTHER];
	/*
	 * CPU c must come before CPU b, so CPU c is the lower: of two threads of a core
	 * the lower is woken first.
	 */
	int c = self->bench.cpus[SECOND];
	char last[TEXT_MAX], wanted[TEXT_MAX];
	struct look before;
	unsigned long batch;

	if (stubborn("deaf", 0))
		SKIP(return, "only on x86");
	ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, CPU(b) | CPU(c)));
	ASSERT_EQ(0, stubborn("refuses", CPU(c)));
	ASSERT_EQ(0, stubborn("deaf", CPU(b)));
	begin();
	EXPECT_EQ(-EIO, ask_by_list(SET_THEM, self->bench.world.present & ~CPU(a)));
	EXPECT_EQ(CPU(c), check_it(-EIO));
	snprintf(wanted, sizeof(wanted),
		 "pid=%d cpu=%d state=cpu:bringup errno=%d undo=%d:cpu:teardown",
		 getpid(), b, EIO, c);
	last_error(last, &batch);
	EXPECT_STREQ(wanted, last);
	EXPECT_FALSE(cpu_is_online(c));
	EXPECT_EQ(-EINVAL, run_on(c));
	begin();
	EXPECT_EQ(0, set_online(c, true));
	EXPECT_EQ(0, check_it(0));
	EXPECT_EQ(0, run_on(c));
	EXPECT_EQ(0, stubborn("deaf", 0));
	EXPECT_EQ(0, set_online(b, true));
	EXPECT_EQ(0, run_on(b));
}

/* Whether @a and @b are the threads of one core, which has no other thread. */
static bool are_a_core(int a, int b)
{
	char path[128];
	cpus_t core;

	snprintf(path, sizeof(path), CPU_DIR "cpu%d/topology/core_cpus_list", a);
	return cpus_read(path, &core) && core == (CPU(a) | CPU(b));
}

/*
 * The first of two threads of a core dies, the second stays, and the first does not come
 * back: with core scheduling the second must then lead the core.
 */
TEST_F_TIMEOUT(stubborn, leader_of_a_core_does_not_answer, 300)
{
	int a = self->bench.cpus[SECOND], b = self->bench.cpus[OTHER];
	cpus_t both = CPU(a) | CPU(b);
	struct look before;
	char path[128];

	if (!are_a_core(a, b))
		SKIP(return, "CPU %d and CPU %d are not the threads of a core", a, b);
	if (stubborn("deaf", 0))
		SKIP(return, "only on x86");
	/*
	 * With an unfit state the request takes one CPU after the other: the first is
	 * dead before the second refuses.
	 */
	if (!debug_files())
		SKIP(return, "no debugfs");
	snprintf(path, sizeof(path), "%d unfit", nr_of("random:online"));
	ASSERT_EQ(0, put(STATES, path));
	ASSERT_EQ(0, stubborn("deaf", CPU(a)));
	ASSERT_EQ(0, hp_fail(b, nr_of("smpboot/threads:online")));
	begin();
	EXPECT_EQ(-EAGAIN, ask_by_list(OFFLINE_THEM, both));
	EXPECT_EQ(CPU(a), check_it(-EAGAIN));
	snprintf(path, sizeof(path), "%d default", nr_of("random:online"));
	EXPECT_EQ(0, put(STATES, path));
	/* The scheduler would warn in the next request if CPU b did not lead the core. */
	EXPECT_EQ(0, set_online(b, false));
	EXPECT_EQ(0, set_online(b, true));
	EXPECT_EQ(0, stubborn("deaf", 0));
	EXPECT_EQ(0, set_online(a, true));
	EXPECT_EQ(0, run_on(a));
	EXPECT_EQ(0, run_on(b));
}

/* Returns the cookie of the task @pid, 0 if the task has none, or -errno. */
static long long cookie_of(pid_t pid)
{
	unsigned long long cookie;

	if (prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET, pid, PR_SCHED_CORE_SCOPE_THREAD, &cookie))
		return -errno;
	return cookie;
}

/*
 * Both threads of a core are to go in one stop. The first thread, which leads the core in
 * core scheduling, is dead when the second refuses to go. The second must lead the core
 * from then on, whether the first comes back in the undo or not.
 */
TEST_F_TIMEOUT(stubborn, leader_dies_and_its_sibling_refuses, 300)
{
	int a = self->bench.cpus[SECOND], b = self->bench.cpus[OTHER];
	struct look before;
	int status;
	pid_t pid;

	if (!are_a_core(a, b))
		SKIP(return, "CPU %d and CPU %d are not the threads of a core", a, b);
	if (stubborn("deaf", 0))
		SKIP(return, "only on x86");
	if (cookie_of(0) < 0)
		SKIP(return, "no core scheduling");
	pid = fork_mortal();
	if (!pid)
		for (;;)
			;
	ASSERT_LT(0, pid);
	/* Core scheduling is in use while a task has a cookie. */
	ASSERT_EQ(0, prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, pid,
			   PR_SCHED_CORE_SCOPE_THREAD, 0));
	ASSERT_EQ(0, pin_pair(pid, a, b));
	for (int back = 1; back >= 0; back--) {
		/* While CPU b is away, CPU a becomes the leader. */
		ASSERT_EQ(0, set_online(b, false));
		ASSERT_EQ(0, set_online(b, true));
		ASSERT_EQ(0, stubborn("refuses", CPU(b)));
		ASSERT_EQ(0, stubborn("deaf", back ? 0 : CPU(a)));
		begin();
		EXPECT_EQ(-EBUSY, ask_by_list(OFFLINE_THEM, CPU(a) | CPU(b)));
		EXPECT_EQ(back ? 0 : CPU(a), check_it(-EBUSY));
		EXPECT_EQ(0, run_on(b));
		/* The scheduler would warn here, or above, if CPU b did not lead the core. */
		EXPECT_EQ(0, stubborn("refuses", 0));
		EXPECT_EQ(0, stubborn("deaf", 0));
		EXPECT_EQ(0, set_online(a, true));
		EXPECT_EQ(0, run_on(a));
		EXPECT_EQ(0, run_on(b));
	}
	EXPECT_LT(0, cookie_of(pid));
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(SIGKILL, WTERMSIG(status));
}

/*
 * After a suspend a CPU comes back neither with the other CPUs nor when the kernel tries once
 * more for this CPU alone; the driver core must still be told that the CPU is offline.
 */
TEST_F_TIMEOUT(stubborn, not_back_after_suspend, 300)
{
	int a = self->bench.cpus[FIRST];
	struct look before;

	if (!can_sleep())
		SKIP(return, "no suspend");
	ASSERT_EQ(0, hp_fail(a, nr_of("random:online")));
	ASSERT_EQ(0, stubborn("high_up", CPU(a)));
	begin();
	EXPECT_EQ(0, sleep_and_wake());
	EXPECT_TRUE(is(STUBBORN "high_up", "0"));
	/* After the thaw a worker tells the driver core that the CPU is offline. */
	for (int i = 0; i < 100 && cpu_is_online(a); i++)
		wait_ms(20);
	EXPECT_EQ(0, check_it(0));
	EXPECT_FALSE(cpu_is_online(a));
	begin();
	EXPECT_EQ(0, set_online(a, true));
	EXPECT_EQ(0, check_it(0));
	EXPECT_EQ(0, run_on(a));
}

/*
 * Whether a failure in this state counts as a bug of the callback, natively too: the
 * callback is a dead callback. The names of most of these states end with ":dead".
 */
static bool is_dead(const struct hp_state *state)
{
	static const char * const others[] = { "fork:vm_stack_cache", "scs:scs_cache" };
	size_t len = strlen(state->name);

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(state->name, others[i]))
			return true;
	return len > 5 && !strcmp(state->name + len - 5, ":dead");
}

/*
 * Callbacks of two CPUs are made to fail: the callback of one CPU makes the request fail,
 * and in the undo the callback of the other CPU fails, so that the other CPU is lost. For
 * the CPU that is to be lost the test tries every state that may fail, for the CPU that
 * fails first only some states. Either CPU may have the lower number, and requests take
 * CPUs offline as well as online.
 */
FIXTURE(pairs) {
	struct bench bench;
};

FIXTURE_VARIANT(pairs) {
	enum ask ask;
	enum from from;
};

FIXTURE_VARIANT_ADD(pairs, going) { .ask = OFFLINE_THEM, .from = ONLINE };
FIXTURE_VARIANT_ADD(pairs, coming) { .ask = ONLINE_THEM, .from = PARKED };
FIXTURE_VARIANT_ADD(pairs, coming_settled) { .ask = ONLINE_THEM, .from = SETTLED };
FIXTURE_VARIANT_ADD(pairs, setting) { .ask = SET_THEM, .from = PARKED };

FIXTURE_SETUP(pairs)
{
	bench_begin(_metadata, &self->bench);
}

FIXTURE_TEARDOWN(pairs)
{
	bench_end(_metadata, &self->bench);
}

TEST_F_TIMEOUT(pairs, in_every_order, 3600)
{
	static const char * const others[] = {
		"sched:active", "random:online", "smpboot/threads:online",
		"sched:waitempty", "cpu:teardown", "cpu:bringup",
	};
	int tried = 0, failed = 0, times = 0;
	struct look before;

	for (int i = 0; i < 4 * self->bench.nr_states * (int)ARRAY_SIZE(others); i++) {
		const struct hp_state *state = &self->bench.states[i / 4 / ARRAY_SIZE(others)];
		const char *name = others[i / 4 % ARRAY_SIZE(others)];
		int b = self->bench.cpus[i % 2 ? FIRST : SECOND];
		int a = self->bench.cpus[i % 2 ? SECOND : FIRST];
		cpus_t lost, all = CPU(a) | CPU(b);
		int other = nr_of(name), err;

		ASSERT_GT(other, 0);
		if (i & 2 && variant->ask != SET_THEM)
			continue;
		if (variant->ask == SET_THEM) {
			/*
			 * CPU b goes. CPU a, which is to be lost, is the CPU that comes,
			 * or the other CPU that goes.
			 */
			a = i & 2 ? self->bench.cpus[OTHER] : a;
			ASSERT_EQ(0, ask_by_list(SET_THEM, self->bench.world.present &
						 ~CPU(self->bench.cpus[OTHER])));
		} else {
			ASSERT_EQ(0, ask_to_be(all, variant->from));
		}
		if (state->nr == other || (state_of(a) != self->bench.top && is_dead(state)) ||
		    hp_fail(a, state->nr) || hp_fail(b, other)) {
			hp_fail(a, -1);
			events_drop(self->bench.fd);
			continue;
		}
		tried++;
		begin();
		err = variant->ask == SET_THEM ?
			ask_by_list(SET_THEM, self->bench.world.present & ~all) :
			ask_by_list(variant->ask, all);
		EXPECT_TRUE(!err || err == -EAGAIN)
			TH_LOG("%s: %d", state->name, err);
		hp_fail(a, -1);
		hp_fail(b, -1);
		lost = check_it(err);
		failed += !!err;
		times += !!lost;
		/* The CPUs go on from the states in which they were left. */
		for (int k = 0; k < USED; k++) {
			int cpu = self->bench.cpus[k];

			if (!(lost & CPU(cpu)))
				continue;
			EXPECT_EQ(0, set_online(cpu, true))
				TH_LOG("%s", state->name);
			EXPECT_EQ(self->bench.top, state_of(cpu));
			EXPECT_TRUE(cpu_is_online(cpu));
		}
		if (_metadata->exit_code)
			TH_LOG("%s for cpu %d, %s for cpu %d", state->name, a,
			       name, b);
		ASSERT_EQ(0, _metadata->exit_code);
	}
	TH_LOG("%d pairs, %d failed, %d with CPUs lost", tried, failed, times);
	ASSERT_GT(times, 3);
}

TEST_HARNESS_MAIN

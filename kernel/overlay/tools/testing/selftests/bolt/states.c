// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the files in debugfs/bolt and their counts, of last_error, and of memory pressure. */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bolt.h"
#include "lib/place.h"
#include "lib/states.h"
#include "slabs.h"
#include "../kselftest_harness.h"

/* States whose teardown frees memory. */
#define TOPOLOGY "base/topology:prepare"
#define CACHES "base/cacheinfo:online"
#define SLABS "slub:dead"
#define PAGES "mm/page_alloc:pcp"

/* How many pages a task uses on VICTIM, so that VICTIM holds many free pages when the task ends. */
#define MANY_PAGES 2048

/*
 * By how many pages the number of free pages may change by itself. A slab cache takes
 * or gives back up to 8 pages at a time, and tasks of the kernel use several of these caches.
 */
#define PAGES_MARGIN 128

/* A line of DEBUG_DIR "states". */
struct state {
	int nr;
	char class[16], fit[16], unit[24];
	unsigned long long runs, skips, settles, slowed, ns;
	char rest[256];
};

static bool parse(const char *line, struct state *state)
{
	return sscanf(line, "%d %15s %15s %23s %llu %llu %llu %llu %llu %255[^\n]",
		      &state->nr, state->class, state->fit, state->unit,
		      &state->runs, &state->skips, &state->settles,
		      &state->slowed, &state->ns, state->rest) == 10;
}

/* Finds the first state whose name begins with @name. Returns false if there is none. */
static bool find(const char *name, struct state *state)
{
	FILE *file = fopen(DEBUG_DIR "states", "r");
	char line[512];
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = parse(line, state) &&
			!strncmp(state->rest, name, strlen(name));
	fclose(file);
	return found;
}

/* Returns the lowest number, from 1 on, for which DEBUG_DIR "states" lists no state. */
static int unregistered(void)
{
	FILE *file = fopen(DEBUG_DIR "states", "r");
	struct state state;
	char line[512];
	int nr = 1;

	if (!file)
		return nr;
	while (fgets(line, sizeof(line), file)) {
		if (!parse(line, &state))
			continue;
		if (state.nr > nr)
			break;
		nr = state.nr + 1;
	}
	fclose(file);
	return nr;
}

FIXTURE(states) {
};

FIXTURE_SETUP(states)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	if (!debug_files())
		SKIP(return, "no debugfs");
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, enable(true));
}

FIXTURE_TEARDOWN(states)
{
	if (cannot_run())
		return;
	/* A test that failed may have left "critical" or "unfit" in DEBUG_DIR "states". */
	restore_write_rows();
	EXPECT_EQ(0, start_over());
}

/*
 * Whether a state may have no callback, so that debugfs does not list the state. The last
 * two states of @names have callbacks only in some configurations of the kernel.
 */
static bool may_have_no_callback(const struct hp_state *state)
{
	static const char *const names[] = {
		"offline", "idle:dead", "ap:offline", "ap:online", "online",
		"relay:prepare", "lockup_detector:online",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(state->name, names[i]))
			return true;
	}
	return false;
}

/* Whether @rest is "NAME (REASON)" with the name of the state. */
static bool has_reason(const struct hp_state *state, const char *rest)
{
	size_t name = strlen(state->name), len = strlen(rest);

	return len > name + strlen(" ()") && !strncmp(rest, state->name, name) &&
	       !strncmp(rest + name, " (", 2) && rest[len - 1] == ')' &&
	       strcmp(rest + name, " ((null))");
}

/*
 * Each state that is registered and has a callback has a line with its class and a reason,
 * and there is no other line but the heading. Several states are deferred.
 */
TEST_F(states, all_are_listed)
{
	static const char *const classes[] = {
		"critical", "async", "lazy", "elide",
	};
	FILE *file = fopen(DEBUG_DIR "states", "r");
	static struct hp_state known[STATES_MAX];
	int nr = hp_states(known), next = 0, deferred = 0;
	struct state state;
	char line[512];

	ASSERT_LT(0, nr);
	ASSERT_NE(NULL, file);
	ASSERT_NE(NULL, fgets(line, sizeof(line), file));
	EXPECT_EQ('#', line[0]);
	while (fgets(line, sizeof(line), file)) {
		size_t i;

		ASSERT_TRUE(parse(line, &state)) TH_LOG("%s", line);
		for (; next < nr && known[next].nr < state.nr; next++) {
			EXPECT_TRUE(may_have_no_callback(&known[next]))
				TH_LOG("no line for %s", known[next].name);
		}
		ASSERT_TRUE(next < nr && known[next].nr == state.nr) TH_LOG("%s", line);
		EXPECT_TRUE(has_reason(&known[next], state.rest)) TH_LOG("%s", line);
		next++;
		for (i = 0; i < ARRAY_SIZE(classes); i++) {
			if (!strcmp(state.class, classes[i]))
				break;
		}
		EXPECT_NE(ARRAY_SIZE(classes), i) TH_LOG("%s", line);
		deferred += i > 0;
	}
	fclose(file);
	for (; next < nr; next++) {
		EXPECT_TRUE(may_have_no_callback(&known[next]))
			TH_LOG("no line for %s", known[next].name);
	}
	EXPECT_LT(3, deferred);
}

/*
 * Checks the runs, skips and settles of a state that is deferred, and the runs and skips
 * of a state that is not deferred.
 */
TEST_F(states, callbacks_are_counted)
{
	long long back = stat_of("came_back_parked");
	struct state topology, active, now;

	ASSERT_TRUE(find("base/topology:prepare", &topology));
	ASSERT_TRUE(find("sched:active", &active));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, set_online(VICTIM, true));
	ASSERT_TRUE(find("base/topology:prepare", &now));
	EXPECT_EQ(topology.skips + 2, now.skips);
	EXPECT_EQ(topology.runs, now.runs);
	EXPECT_EQ(topology.settles, now.settles);
	ASSERT_TRUE(find("sched:active", &now));
	EXPECT_EQ(active.runs + 2, now.runs);
	EXPECT_EQ(active.skips, now.skips);
	EXPECT_EQ(back + 1, stat_of("came_back_parked"));

	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, settle_all());
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_EQ(back + 1, stat_of("came_back_parked"));
	ASSERT_TRUE(find("base/topology:prepare", &now));
	EXPECT_EQ(topology.skips + 3, now.skips);
	EXPECT_EQ(topology.settles + 1, now.settles);
	EXPECT_EQ(topology.runs + 1, now.runs);
}

TEST_F(states, callbacks_are_timed_on_request)
{
	struct state before, after;

	ASSERT_EQ(0, put(DEBUG_DIR "timing", "0"));
	ASSERT_TRUE(find("sched:active", &before));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(find("sched:active", &after));
	EXPECT_EQ(before.ns, after.ns);
	ASSERT_EQ(0, put(DEBUG_DIR "timing", "1"));
	ASSERT_EQ(0, set_online(VICTIM, true));
	ASSERT_EQ(0, put(DEBUG_DIR "timing", "0"));
	ASSERT_TRUE(find("sched:active", &after));
	EXPECT_LT(before.ns, after.ns);
	EXPECT_EQ(-EINVAL, put(DEBUG_DIR "timing", "2"));
}

/*
 * A write of "critical" settles the state, which is then not deferred until
 * "default" is written.
 */
TEST_F(states, a_row_can_be_moved_back)
{
	struct state state, now;
	char text[32];

	ASSERT_TRUE(find("base/topology:prepare", &state));
	EXPECT_STREQ("elide", state.class);
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "60000"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	snprintf(text, sizeof(text), "%d critical", state.nr);
	ASSERT_EQ(0, put(DEBUG_DIR "states", text));
	ASSERT_TRUE(find("base/topology:prepare", &now));
	EXPECT_STREQ("critical!", now.class);
	EXPECT_EQ(state.settles + 1, now.settles);

	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_EQ(0, access(CPU_DIR "cpu1/topology/core_id", F_OK));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(find("base/topology:prepare", &now));
	EXPECT_EQ(state.skips + 1, now.skips);
	EXPECT_EQ(state.runs + 2, now.runs);

	snprintf(text, sizeof(text), "%d default", state.nr);
	ASSERT_EQ(0, put(DEBUG_DIR "states", text));
	ASSERT_EQ(0, set_online(VICTIM, true));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(find("base/topology:prepare", &now));
	EXPECT_STREQ("elide", now.class);
	EXPECT_EQ(state.skips + 2, now.skips);
	ASSERT_EQ(0, set_online(VICTIM, true));
}

/* Whether DEBUG_DIR "stats" says that @name ("-": no state) makes requests go CPU by CPU. */
static bool is_slow(const char *name)
{
	FILE *file = fopen(DEBUG_DIR "stats", "r");
	char line[128], wanted[128];
	bool found = false;

	snprintf(wanted, sizeof(wanted), "slow_state %s\n", name);
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		found |= !strcmp(line, wanted);
	fclose(file);
	return found;
}

/*
 * A state that is declared unfit slows down requests for several CPUs, and no other
 * requests.
 */
TEST_F(states, the_administrator_declares)
{
	long long before = stat_of("cpu_by_cpu_requests");
	struct state state, now;
	char text[32];

	if (!cpu_is_movable(2))
		SKIP(return, "needs three CPUs");
	ASSERT_LE(0, before);
	ASSERT_TRUE(find("base/topology:prepare", &state));
	EXPECT_STREQ("concurrent", state.fit);
	snprintf(text, sizeof(text), "%d unfit", state.nr);
	ASSERT_EQ(0, put(DEBUG_DIR "states", text));
	EXPECT_TRUE(is_slow("base/topology:prepare"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_EQ(before, stat_of("cpu_by_cpu_requests"));
	ASSERT_EQ(0, put(BOLT_DIR "offline", "1-2"));
	ASSERT_EQ(0, put(BOLT_DIR "online", "1-2"));
	EXPECT_EQ(before + 2, stat_of("cpu_by_cpu_requests"));
	ASSERT_TRUE(find("base/topology:prepare", &now));
	EXPECT_STREQ("unfit!", now.fit);
	EXPECT_EQ(state.slowed + 2, now.slowed);

	snprintf(text, sizeof(text), "%d default", state.nr);
	ASSERT_EQ(0, put(DEBUG_DIR "states", text));
	ASSERT_TRUE(find("base/topology:prepare", &now));
	EXPECT_STREQ("concurrent", now.fit);
	EXPECT_TRUE(is_slow("-"));
	ASSERT_EQ(0, put(BOLT_DIR "offline", "1-2"));
	ASSERT_EQ(0, put(BOLT_DIR "online", "1-2"));
	EXPECT_EQ(before + 2, stat_of("cpu_by_cpu_requests"));

	snprintf(text, sizeof(text), "%d critical", unregistered());
	EXPECT_EQ(-ENOENT, put(DEBUG_DIR "states", text));
	snprintf(text, sizeof(text), "%d serial", unregistered());
	EXPECT_EQ(-ENOENT, put(DEBUG_DIR "states", text));
	snprintf(text, sizeof(text), "%d unfit", unregistered());
	EXPECT_EQ(-ENOENT, put(DEBUG_DIR "states", text));
}

TEST_F(states, malformed_is_refused)
{
	static const char *const bad[] = {
		"\n", "critical", "1", "0 critical", "99999 critical",
		"-1 critical", "1 lazy", "1 critical now", "1 concurrent",
		"1 criticalcriticalcriticalcriticalcritical",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, put(DEBUG_DIR "states", bad[i]))
			TH_LOG("'%s'", bad[i]);
	}
}

/* When memory is short, reclaim queues a worker that settles parked CPUs. */
TEST_F(states, memory_pressure_settles)
{
	long long before = stat_of("settled_for_memory");
	int i;

	ASSERT_LE(0, before);
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "600000"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	wait_ms(100);
	ASSERT_TRUE(is(BOLT_DIR "parked", "1"));
	ASSERT_EQ(0, put("/proc/sys/vm/drop_caches", "2"));
	for (i = 0; i < 100 && !is(BOLT_DIR "parked", ""); i++)
		wait_ms(20);
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	EXPECT_LT(before, stat_of("settled_for_memory"));
	ASSERT_EQ(0, set_online(VICTIM, true));
}

TEST_F(states, forced_grace_periods_are_said)
{
	char text[512];

	ASSERT_EQ(0, get(DEBUG_DIR "stats", text, sizeof(text)));
	ASSERT_NE(NULL, strstr(text, "grace_periods expedited"));
	if (put("/sys/kernel/rcu_normal", "1"))
		SKIP(return, "no rcu_normal");
	EXPECT_EQ(0, get(DEBUG_DIR "stats", text, sizeof(text)));
	EXPECT_EQ(0, put("/sys/kernel/rcu_normal", "0"));
	EXPECT_NE(NULL, strstr(text, "grace_periods normal"));
}

/*
 * A request that failed has one line in last_error, which names the CPU and the state
 * that failed.
 */
TEST_F(states, last_error_names_what_failed)
{
	long long failed = stat_of("failed_requests");
	char text[4096], wanted[128], *line;
	int nr;

	ASSERT_EQ(0, get(CPU_DIR "cpu1/hotplug/state", text, sizeof(text)));
	nr = atoi(text) - 1;
	snprintf(text, sizeof(text), "%d", nr);
	if (put(CPU_DIR "cpu1/hotplug/fail", text) == -ENOENT)
		SKIP(return, "no fault injection for hotplug states");
	ASSERT_EQ(-EAGAIN, set_online(VICTIM, false));
	ASSERT_EQ(0, get(BOLT_DIR "last_error", text, sizeof(text)));
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	snprintf(wanted, sizeof(wanted),
		 " pid=%d cpu=1 state=sched:active errno=%d", getpid(), EAGAIN);
	EXPECT_NE(NULL, strstr(line, wanted)) TH_LOG("%s", line);
	EXPECT_EQ(failed + 1, stat_of("failed_requests"));
}

/* With keep=pressure, lazy states are settled after the delay, elided ones if memory is short. */
TEST_F(states, kept_until_memory_is_short)
{
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "200"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	wait_ms(50);
	EXPECT_EQ(1, stat_of("undrained"));
	wait_ms(500);
	EXPECT_EQ(0, stat_of("undrained"));
	EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	ASSERT_EQ(0, set_online(VICTIM, false));
	EXPECT_EQ(1, stat_of("undrained"));
	/* Makes the kernel call all shrinkers. */
	ASSERT_EQ(0, put("/proc/sys/vm/drop_caches", "2"));
	wait_ms(100);
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	EXPECT_EQ(0, stat_of("undrained"));
}

/*
 * Returns how many bytes are kept, as the line for all states in DEBUG_DIR "stats" says;
 * -1 on an error, or if the lines for single states do not add up to that number.
 */
static long long bytes_kept(void)
{
	FILE *file = fopen(DEBUG_DIR "stats", "r");
	long long bytes, sum = 0, all = -1;
	char line[128];

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		/*
		 * A space in the format also matches no space, so kept_bytes must be
		 * tried first.
		 */
		if (sscanf(line, "kept_bytes %lld", &bytes) == 1)
			all = bytes;
		else if (sscanf(line, "kept %*s %lld", &bytes) == 1)
			sum += bytes;
	}
	fclose(file);
	return sum == all ? all : -1;
}

/* Returns how many bytes are kept for a state; -1 if there is no line for the state. */
static long long bytes_for(const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "kept %s", name);
	return stat_of(key);
}

/* Nothing is kept for a CPU that is online, or settled. */
TEST_F(states, what_is_kept_is_counted)
{
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "1000000"));
	EXPECT_EQ(0, bytes_kept());
	ASSERT_EQ(0, set_online(VICTIM, false));
	EXPECT_LT(0, bytes_kept());
	EXPECT_LT(0, bytes_for(TOPOLOGY));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_EQ(0, bytes_kept());
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, settle_all());
	EXPECT_EQ(0, bytes_kept());
}

/*
 * After the settle delay, if keep is pressure, a CPU still keeps memory that only its
 * return needs, but no memory that other CPUs could use.
 */
TEST_F(states, what_only_the_return_needs_stays)
{
	long long bytes;

	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "1000000"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	bytes = bytes_for(TOPOLOGY);
	if (!slabs_are_checked())
		EXPECT_LT(0, bytes_for(SLABS));
	EXPECT_LT(0, bytes_for(PAGES));
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "0"));
	for (int i = 0; i < 100 && stat_of("undrained"); i++)
		wait_ms(20);
	EXPECT_EQ(-1, bytes_for(SLABS));
	EXPECT_EQ(-1, bytes_for(PAGES));
	EXPECT_EQ(bytes, bytes_for(TOPOLOGY));
	EXPECT_LT(0, bytes_kept());
}

/* Has a task use many pages on @cpu, which holds some of these as free pages when the task ends. */
static int use_pages(int cpu)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		size_t len = MANY_PAGES * sysconf(_SC_PAGESIZE);

		if (pin(0, cpu))
			_exit(1);
		_exit(mmap(NULL, len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	return status;
}

/*
 * Returns the number of free pages, without those in the lists of CPUs that are
 * offline; -1 on an error.
 */
static long long free_pages(void)
{
	long long pages = 0, some;
	char line[128];
	FILE *file;

	/* Makes the kernel add up what CPUs have counted but not reported yet. */
	if (put("/proc/sys/vm/stat_refresh", "1"))
		return -1;
	file = fopen("/proc/zoneinfo", "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		/* The free pages of a zone, or the pages in the list of an online CPU. */
		if (sscanf(line, " pages free %lld", &some) == 1 ||
		    sscanf(line, " count: %lld", &some) == 1)
			pages += some;
	}
	fclose(file);
	return pages;
}

/* Runs the pending teardowns of one state. */
static int settle_state(const char *name)
{
	struct state state;
	char text[32];
	int err;

	if (!find(name, &state))
		return -ENOENT;
	snprintf(text, sizeof(text), "%d critical", state.nr);
	err = put(DEBUG_DIR "states", text);
	snprintf(text, sizeof(text), "%d default", state.nr);
	return err ?: put(DEBUG_DIR "states", text);
}

TEST_F(states, pages_that_are_kept_become_free)
{
	long long pages, before, after;

	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "1000000"));
	ASSERT_EQ(0, use_pages(VICTIM));
	ASSERT_EQ(0, set_online(VICTIM, false));
	before = free_pages();
	pages = bytes_for(PAGES) / sysconf(_SC_PAGESIZE);
	ASSERT_EQ(0, settle_state(PAGES));
	after = free_pages();
	EXPECT_EQ(-1, bytes_for(PAGES));
	TH_LOG("%lld pages kept, %lld freed", pages, after - before);
	EXPECT_LT(2 * PAGES_MARGIN, pages);
	EXPECT_LE(pages - PAGES_MARGIN, after - before);
	EXPECT_GE(pages + PAGES_MARGIN, after - before);
}

/*
 * Returns how many bytes of slab objects have been freed from one count to the next.
 * Caches that have grown are left out: other tasks have taken objects of these caches.
 */
static long long bytes_freed(const struct slabs *before, const struct slabs *after)
{
	long long bytes = 0;

	for (int i = 0; i < before->nr; i++) {
		char path[256], text[32];
		const char *name = before->caches[i].name;
		long objects = before->caches[i].objects - slab_objects(after, name);

		snprintf(path, sizeof(path), SLAB_DIR "%s/object_size", name);
		if (objects > 0 && !get(path, text, sizeof(text)))
			bytes += objects * atoll(text);
	}
	return bytes;
}

/*
 * Takes VICTIM offline, settles the states of its sysfs entries, and brings VICTIM back.
 * Returns how many bytes settling has freed, and in @bytes how many bytes DEBUG_DIR "stats"
 * has called kept for these states; -1 on an error.
 */
static long long settle_entries(long long *bytes)
{
	static struct slabs before, after;
	long long freed = -1;

	if (set_online(VICTIM, false))
		return -1;
	/* Gives the kernel time to free what the request and earlier tests have left. */
	wait_ms(500);
	if (slabs_count(&before) <= 0)
		return -1;
	*bytes = bytes_for(TOPOLOGY) + bytes_for(CACHES);
	if (settle_state(CACHES) || settle_state(TOPOLOGY))
		return -1;
	/*
	 * The kernel frees some of the memory only when a grace period is over, and a kernel
	 * that checks all objects frees it later still.
	 */
	for (int i = 0; freed < *bytes && i < 15; i++) {
		wait_ms(200);
		if (slabs_count(&after) <= 0)
			return -1;
		freed = bytes_freed(&before, &after);
	}
	return set_online(VICTIM, true) ? -1 : freed;
}

TEST_F(states, entries_that_are_kept_are_freed)
{
	long long bytes = 0, freed, least = LLONG_MAX;

	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "1000000"));
	/* In a round other tasks may free objects as well, but hardly in all three rounds. */
	for (int i = 0; i < 3; i++) {
		freed = settle_entries(&bytes);
		TH_LOG("%lld bytes kept, %lld freed", bytes, freed);
		ASSERT_LE(bytes, freed);
		if (freed < least)
			least = freed;
	}
	/* A kernel that checks all objects also frees data about each object. */
	if (!slabs_are_checked())
		EXPECT_GE(2 * bytes, least);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * bolt/park: a CPU that is parked warm waits in the kernel, until the CPU returns or
 * becomes cold, which means natively dead. The tests try ways in which such a wait
 * ends.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "lib/place.h"
#include "sets.h"
#include "../kselftest_harness.h"

#define PARK BOLT_DIR "park"
#define ROUNDS 50

/* Counts of what has become of CPUs that waited, from DEBUG_DIR "stats". */
struct ends {
	long long returned;	/* CPUs that came back warm */
	long long unanswered;	/* CPUs that did not take the order to return in time */
	long long cold;		/* CPUs that became natively dead */
	long long silent;	/* CPUs that did not answer the order to become natively dead */
};

static bool look(struct ends *ends)
{
	ends->returned = stat_of("came_back_warm");
	ends->unanswered = stat_of("warm_unanswered");
	ends->cold = stat_of("warm_made_cold");
	ends->silent = stat_of("warm_silent");
	return ends->returned >= 0 && ends->unanswered >= 0 && ends->cold >= 0 &&
	       ends->silent >= 0;
}

FIXTURE(warm) {
	struct world world;
	struct ends before;
	cpus_t cpus;
};

FIXTURE_SETUP(warm)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	if (!debug_files())
		SKIP(return, "no debugfs");
	if (!world_look(&self->world))
		SKIP(return, "more than 64 CPUs");
	self->cpus = self->world.movable & ~CPU(0);
	if (cpus_count(self->cpus) < 2)
		SKIP(return, "needs two CPUs that can go offline");
	ASSERT_EQ(0, sets_start_over(&self->world));
	if (put(PARK, "warm") == -EOPNOTSUPP)
		SKIP(return, "no CPU can wait in the kernel");
	ASSERT_TRUE(is(PARK, "warm"));
	ASSERT_TRUE(look(&self->before));
}

FIXTURE_TEARDOWN(warm)
{
	if (cannot_run())
		return;
	EXPECT_EQ(0, sets_start_over(&self->world));
	EXPECT_EQ(0, start_over());
}

/*
 * Expects that since the test began @r CPUs have returned warm, @c CPUs have become cold,
 * and every CPU has answered.
 */
#define EXPECT_ENDS(r, c)						\
do {									\
	struct ends now;						\
									\
	ASSERT_TRUE(look(&now));					\
	EXPECT_EQ(self->before.returned + (r), now.returned);		\
	EXPECT_EQ(self->before.cold + (c), now.cold);			\
	EXPECT_EQ(self->before.unanswered, now.unanswered);		\
	EXPECT_EQ(self->before.silent, now.silent);			\
} while (0)

TEST_F(warm, words)
{
	static const char *const bad[] = {
		"\n", "Warm", "warm ", " warm", "warmer", "war", "hot", "1", "0",
		"warm,cold", "cold\nwarm",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		EXPECT_EQ(-EINVAL, put(PARK, bad[i])) {
			TH_LOG("'%s'", bad[i]);
		}
	}
	EXPECT_TRUE(is(PARK, "warm"));
	EXPECT_EQ(0, put(PARK, "cold\n"));
	EXPECT_TRUE(is(PARK, "cold"));
	EXPECT_EQ(0, put(PARK, "warm\n"));
	EXPECT_TRUE(is(PARK, "warm"));
}

/*
 * Files that describe a CPU, and say which CPUs share a core, package or cache with
 * it.
 */
static const char *const files[] = {
	"topology/core_id", "topology/core_cpus_list", "topology/die_cpus_list",
	"topology/package_cpus_list", "topology/physical_package_id",
	"topology/thread_siblings_list", "cache/index0/shared_cpu_list",
	"cache/index3/shared_cpu_list",
};

#define FILES (sizeof(files) / sizeof(*files))
#define NODES 8

struct place {
	char text[SETS_MAX][FILES][64];
	char node[NODES][64];
};

static void look_around(const struct world *world, struct place *place)
{
	char path[160];

	memset(place, 0, sizeof(*place));
	for (int cpu = 0; cpu < world->nr; cpu++) {
		for (size_t i = 0; i < FILES; i++) {
			snprintf(path, sizeof(path), CPU_DIR "cpu%d/%s", cpu, files[i]);
			get(path, place->text[cpu][i], sizeof(place->text[cpu][i]));
		}
	}
	for (int node = 0; node < NODES; node++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
		get(path, place->node[node], sizeof(place->node[node]));
	}
}

/*
 * A CPU that returns has the place in the topology that it had, in the files of other
 * CPUs as well.
 */
TEST_F(warm, return_to_the_same_place)
{
	static struct place before, after;
	int n = 0;

	look_around(&self->world, &before);
	for (int cpu = 0; cpu < self->world.nr; cpu++) {
		if (!(self->cpus & CPU(cpu)))
			continue;
		n++;
		ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, CPU(cpu)));
		ASSERT_EQ(0, ask_by_list(ONLINE_THEM, CPU(cpu)));
		look_around(&self->world, &after);
		EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
		for (int c = 0; c < self->world.nr; c++) {
			for (size_t i = 0; i < FILES; i++)
				EXPECT_STREQ(before.text[c][i], after.text[c][i]);
		}
		for (int node = 0; node < NODES; node++)
			EXPECT_STREQ(before.node[node], after.node[node]);
	}
	EXPECT_ENDS(n, 0);
	ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, self->cpus));
	ASSERT_EQ(0, ask_by_list(ONLINE_THEM, self->cpus));
	look_around(&self->world, &after);
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_ENDS(n + cpus_count(self->cpus), 0);
}

/* The CPU runs tasks after each of many returns. */
TEST_F(warm, returned_cpu_runs_tasks)
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		ASSERT_EQ(0, set_online(VICTIM, true));
		ASSERT_EQ(0, pin(0, VICTIM));
		/* The tick and timers of the CPU must work. */
		wait_ms(2);
		EXPECT_EQ(VICTIM, sched_getcpu());
	}
	EXPECT_ENDS(ROUNDS, 0);
}

TEST_F(warm, settled_cpu_is_cold)
{
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, settle_all());
	EXPECT_ENDS(0, 1);
	ASSERT_EQ(0, settle_all());
	EXPECT_ENDS(0, 1);
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_ENDS(0, 1);
	/* In the next cycle the CPU must wait in the kernel and return warm again. */
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_ENDS(1, 1);
}

TEST_F(warm, cold_makes_all_cold)
{
	int n = cpus_count(self->cpus);

	ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, self->cpus));
	ASSERT_EQ(0, put(PARK, "cold"));
	EXPECT_ENDS(0, n);
	ASSERT_EQ(0, ask_by_list(ONLINE_THEM, self->cpus));
	ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, self->cpus));
	ASSERT_EQ(0, put(PARK, "warm"));
	ASSERT_EQ(0, ask_by_list(ONLINE_THEM, self->cpus));
	EXPECT_ENDS(0, n);
}

TEST_F(warm, disabled_makes_all_cold)
{
	ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, self->cpus));
	ASSERT_EQ(0, enable(false));
	EXPECT_ENDS(0, cpus_count(self->cpus));
	for (int cpu = 0; cpu < self->world.nr; cpu++) {
		if (!(self->cpus & CPU(cpu)))
			continue;
		EXPECT_EQ(0, set_online(cpu, true));
	}
	EXPECT_ENDS(0, cpus_count(self->cpus));
}

/* One request brings back CPUs that wait in the kernel together with a CPU that is cold. */
TEST_F(warm, mixed)
{
	int first = cpus_first(self->cpus), n = cpus_count(self->cpus);
	char text[16];

	snprintf(text, sizeof(text), "%d", first);
	for (int i = 1; i <= ROUNDS; i++) {
		ASSERT_EQ(0, ask_by_list(OFFLINE_THEM, self->cpus));
		ASSERT_EQ(0, put(BOLT_DIR "settle", text));
		ASSERT_EQ(0, ask_by_list(ONLINE_THEM, self->cpus));
		EXPECT_ENDS(i * (n - 1), i);
	}
}

/* Tells whether the first line of /proc/cpuinfo that begins with @key has the word @word. */
static bool cpuinfo_has(const char *key, const char *word)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[8192], *at;
	bool has = false;

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)))
			continue;
		for (at = strtok(line, " \t\n"); at; at = strtok(NULL, " \t\n"))
			has |= !strcmp(at, word);
		break;
	}
	if (file)
		fclose(file);
	return has;
}

/*
 * Tells whether a wait in the kernel saves as much power as being cold: in a virtual
 * machine of x86_64 whose CPUs die by HLT.
 */
static bool wait_saves_as_much(void)
{
	bool hlt = cpuinfo_has("vendor_id", "AuthenticAMD") ||
		   cpuinfo_has("vendor_id", "HygonGenuine") ||
		   !cpuinfo_has("flags", "monitor");

	return cpuinfo_has("flags", "hypervisor") && hlt;
}

/*
 * When the settle delay is over, a CPU goes on waiting in the kernel if the wait saves as
 * much power as being cold; otherwise the CPU becomes cold.
 */
TEST_F(warm, when_the_delay_is_over)
{
	struct ends ends;
	bool stays;

	ASSERT_EQ(0, put(BOLT_DIR "keep", "delay"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "1"));
	for (int i = 0; i < 5000 && !is(BOLT_DIR "parked", ""); i++)
		wait_ms(1);
	ASSERT_TRUE(is(BOLT_DIR "parked", ""));
	/* A CPU that becomes cold does so after its last teardown has run. */
	wait_ms(100);
	ASSERT_TRUE(look(&ends));
	stays = ends.cold == self->before.cold;
	EXPECT_EQ(wait_saves_as_much(), stays);
	EXPECT_ENDS(0, !stays);
	ASSERT_EQ(0, set_online(VICTIM, true));
	EXPECT_ENDS(stays, !stays);
}

/*
 * The CPU is natively dead before the machine takes it away, so that the kernel later
 * expects no answer from the CPU.
 */
TEST_F(warm, ejected_cpu_is_cold)
{
	if (!getenv("BOLT_EJECT"))
		SKIP(return, "the CPU would not come back; BOLT_EJECT=1 asks for this test");
	ASSERT_EQ(0, set_online(cpus_first(self->cpus), false));
	EXPECT_TRUE(cpu_eject(cpus_first(self->cpus)));
	ASSERT_TRUE(world_look(&self->world));
	EXPECT_ENDS(0, 1);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sysfs entries of a parked CPU are as absent as those of a CPU that is
 * natively offline.
 */
#define _GNU_SOURCE
#include "bolt.h"
#include "tree.h"
#include "../kselftest_harness.h"

/* Files that vanish with a CPU; not every machine has every file. */
static const char * const files[] = {
	CPU_DIR "cpu1/topology/core_id",
	CPU_DIR "cpu1/cache/index0/level",
	CPU_DIR "cpu1/regs/identification/midr_el1",
	CPU_DIR "cpu1/cpu_capacity",
	CPU_DIR "cpu1/microcode/version",
	CPU_DIR "cpu1/thermal_throttle/core_throttle_count",
	CPU_DIR "cpu1/power/energy_perf_bias",
	CPU_DIR "cpu1/cpuidle/state0/name",
	"/sys/devices/virtual/msr/msr1/dev",
	"/sys/devices/virtual/cpuid/cpuid1/dev",
	"/sys/devices/system/machinecheck/machinecheck1/check_interval",
};

FIXTURE(nodes) {
	struct tree online, offline, again;
};

FIXTURE_SETUP(nodes)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over());
}

FIXTURE_TEARDOWN(nodes)
{
	tree_free(&self->online);
	tree_free(&self->offline);
	tree_free(&self->again);
	if (!cannot_run())
		EXPECT_EQ(0, start_over());
}

/* Compares names and contents of all parts of sysfs that are about CPUs. */
TEST_F(nodes, parked_looks_natively_offline)
{
	const char *line;

	tree_of_cpus(&self->online, true);
	ASSERT_EQ(0, set_online(VICTIM, false));
	tree_of_cpus(&self->offline, true);
	ASSERT_EQ(0, set_online(VICTIM, true));
	/*
	 * The listing must be shorter when the CPU is natively offline, or the
	 * comparison would show nothing.
	 */
	ASSERT_LT(self->offline.n, self->online.n);

	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_TRUE(is(BOLT_DIR "parked", "1"));
	tree_of_cpus(&self->again, true);
	EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
	line = tree_differ(&self->offline, &self->again);
	EXPECT_EQ(NULL, line)
		TH_LOG("a natively offline CPU has another sysfs at %s", line ?: "");
}

TEST_F(nodes, returning_brings_everything_back)
{
	const char *line;

	tree_of_cpus(&self->online, true);
	ASSERT_EQ(0, enable(true));
	for (int round = 0; round < 3; round++) {
		ASSERT_EQ(0, set_online(VICTIM, false));
		/*
		 * Before the CPU returns, the CPU is parked in the first round, and settled in
		 * the second. In the third round Bolt is disabled while the CPU is parked.
		 */
		if (round == 1)
			ASSERT_EQ(0, settle_all());
		if (round == 2)
			ASSERT_EQ(0, enable(false));
		ASSERT_EQ(0, set_online(VICTIM, true));
		tree_of_cpus(&self->again, true);
		line = tree_differ(&self->online, &self->again);
		EXPECT_EQ(NULL, line)
			TH_LOG("round %d: sysfs differs from before at %s", round, line ?: "");
		tree_free(&self->again);
	}
}

TEST_F(nodes, open_files_answer_enodev)
{
	int fd[ARRAY_SIZE(files)];
	char text[256];
	int seen = 0;

	ASSERT_EQ(0, enable(true));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		fd[i] = open(files[i], O_RDONLY);
		seen += fd[i] >= 0;
	}
	ASSERT_GT(seen, 1);
	ASSERT_EQ(0, set_online(VICTIM, false));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (fd[i] < 0)
			continue;
		EXPECT_EQ(-1, read(fd[i], text, sizeof(text)))
			TH_LOG("%s", files[i]);
		EXPECT_EQ(ENODEV, errno)
			TH_LOG("%s", files[i]);
		EXPECT_EQ(-1, open(files[i], O_RDONLY))
			TH_LOG("%s", files[i]);
		EXPECT_EQ(ENOENT, errno)
			TH_LOG("%s", files[i]);
		close(fd[i]);
	}
}

/* A program that entered a directory before Bolt hid the directory finds no file there. */
TEST_F(nodes, from_inside_the_directory)
{
	int dir = open(CPU_DIR "cpu1/topology", O_RDONLY | O_DIRECTORY);

	ASSERT_GE(dir, 0);
	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, set_online(VICTIM, false));
	EXPECT_EQ(-1, openat(dir, "core_id", O_RDONLY));
	EXPECT_EQ(ENOENT, errno);
	close(dir);
}

TEST_F(nodes, device_nodes_answer_enxio)
{
	static const char * const nodes[] = {
		"/dev/cpu/1/msr", "/dev/cpu/1/cpuid",
	};
	bool there[ARRAY_SIZE(nodes)];
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		there[i] = !access(nodes[i], F_OK);
		n += there[i];
	}
	if (!n)
		SKIP(return, "no device nodes of CPUs on this machine");
	ASSERT_EQ(0, enable(true));
	ASSERT_EQ(0, set_online(VICTIM, false));
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		if (!there[i])
			continue;
		EXPECT_EQ(-1, open(nodes[i], O_RDONLY));
		EXPECT_EQ(ENXIO, errno)
			TH_LOG("%s", nodes[i]);
	}
}

TEST_HARNESS_MAIN

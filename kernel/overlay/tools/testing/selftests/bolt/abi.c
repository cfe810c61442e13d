// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the files of /sys/devices/system/cpu/bolt accept and refuse, and what writes to
 * these files bring about.
 */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "bolt.h"
#include "../kselftest_harness.h"

FIXTURE(abi) {
};

FIXTURE_SETUP(abi)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, enable(true));
}

FIXTURE_TEARDOWN(abi)
{
	if (!cannot_run())
		EXPECT_EQ(0, start_over());
}

TEST_F(abi, only_root)
{
	static const struct {
		const char *file;
		mode_t mode;
	} files[] = {
		{ BOLT_DIR "enabled", 0600 },
		{ BOLT_DIR "irq_keep", 0600 },
		{ BOLT_DIR "keep", 0600 },
		{ BOLT_DIR "keep_affinity", 0600 },
		{ BOLT_DIR "last_error", 0400 },
		{ BOLT_DIR "offline", 0200 },
		{ BOLT_DIR "offline_mask", 0200 },
		{ BOLT_DIR "online", 0200 },
		{ BOLT_DIR "online_mask", 0200 },
		{ BOLT_DIR "park", 0600 },
		{ BOLT_DIR "parked", 0400 },
		{ BOLT_DIR "set", 0200 },
		{ BOLT_DIR "set_mask", 0200 },
		{ BOLT_DIR "settle", 0200 },
		{ BOLT_DIR "settle_delay_ms", 0600 },
	};
	struct stat st;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		ASSERT_EQ(0, stat(files[i].file, &st));
		EXPECT_EQ(files[i].mode, st.st_mode & 0777)
			TH_LOG("%s", files[i].file);
	}
}

TEST_F(abi, malformed_is_refused)
{
	static const struct {
		const char *file, *text;
		int err;
	} bad[] = {
		{ BOLT_DIR "enabled", "2", -EINVAL },
		{ BOLT_DIR "enabled", "", 0 },	/* sysfs does not pass on an empty write */
		{ BOLT_DIR "enabled", "\n", -EINVAL },
		{ BOLT_DIR "enabled", "maybe", -EINVAL },
		{ BOLT_DIR "enabled", "none", -EINVAL },
		{ BOLT_DIR "enabled", "1-3", -EINVAL },
		{ BOLT_DIR "enabled", "+1", -EINVAL },
		{ BOLT_DIR "enabled", "01", -EINVAL },
		{ BOLT_DIR "keep", "\n", -EINVAL },
		{ BOLT_DIR "keep", "delays", -EINVAL },
		{ BOLT_DIR "keep", "press", -EINVAL },
		{ BOLT_DIR "keep", "delay pressure", -EINVAL },
		{ BOLT_DIR "keep_affinity", "\n", -EINVAL },
		{ BOLT_DIR "keep_affinity", "2", -EINVAL },
		{ BOLT_DIR "keep_affinity", "yes", -EINVAL },
		{ BOLT_DIR "keep_affinity", "+0", -EINVAL },
		{ BOLT_DIR "keep_affinity", "0,1", -EINVAL },
		{ BOLT_DIR "park", "\n", -EINVAL },
		{ BOLT_DIR "park", "Cold", -EINVAL },
		{ BOLT_DIR "park", "cold,warm", -EINVAL },
		{ BOLT_DIR "park", "0", -EINVAL },
		{ BOLT_DIR "settle", "\n", -EINVAL },
		{ BOLT_DIR "settle", "every", -EINVAL },
		{ BOLT_DIR "settle", "1-", -EINVAL },
		{ BOLT_DIR "settle", "-1", -EINVAL },
		{ BOLT_DIR "settle", "1-0", -EINVAL },
		{ BOLT_DIR "settle", "1,,\xc3\xa9", -EINVAL },
		{ BOLT_DIR "settle", "99999", -EINVAL },
		{ BOLT_DIR "settle", "0-99999999999999", -EINVAL },
		{ BOLT_DIR "settle_delay_ms", "-1", -EINVAL },
		{ BOLT_DIR "settle_delay_ms", "soon", -EINVAL },
		{ BOLT_DIR "settle_delay_ms", "4294967296", -ERANGE },
	};
	size_t i;

	ASSERT_EQ(0, set_online(VICTIM, false));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(bad[i].err, put(bad[i].file, bad[i].text))
			TH_LOG("'%s' to %s", bad[i].text, bad[i].file);
	}
	EXPECT_TRUE(is(BOLT_DIR "enabled", "1"));
	EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
	EXPECT_TRUE(is(BOLT_DIR "settle_delay_ms", "1000"));
	EXPECT_TRUE(is(BOLT_DIR "keep", "pressure"));
}

/* kernfs cuts a text that is longer than a page, so Bolt refuses a text that fills a page. */
TEST_F(abi, a_page_or_more_is_refused)
{
	size_t page = sysconf(_SC_PAGESIZE), i;
	char *list = malloc(page + 2);

	ASSERT_NE(NULL, list);
	for (i = 0; i < page + 2; i++)
		list[i] = i % 2 ? ',' : '1';
	ASSERT_EQ(0, set_online(VICTIM, false));
	EXPECT_EQ(-E2BIG, put_bytes(BOLT_DIR "settle", list, page));
	EXPECT_EQ(-E2BIG, put_bytes(BOLT_DIR "settle", list, page + 2));
	EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
	EXPECT_EQ(0, put_bytes(BOLT_DIR "settle", list, page - 1));
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	free(list);
}

TEST_F(abi, parked_until_settled)
{
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	ASSERT_EQ(0, set_online(VICTIM, false));
	EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
	/* To settle a CPU that is not parked is no error. */
	EXPECT_EQ(0, put(BOLT_DIR "settle", "0"));
	EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
	EXPECT_EQ(0, put(BOLT_DIR "settle", "0-1"));
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	EXPECT_EQ(0, settle_all());
	EXPECT_EQ(0, set_online(VICTIM, true));
}

/* A new value of keep also applies to a CPU that is parked already. */
TEST_F(abi, kept_no_longer_than_wanted)
{
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "50"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	wait_ms(300);
	EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
	ASSERT_EQ(0, put(BOLT_DIR "keep", "delay"));
	wait_ms(100);
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	ASSERT_EQ(0, set_online(VICTIM, true));
}

TEST_F(abi, settled_after_the_delay)
{
	ASSERT_EQ(0, put(BOLT_DIR "keep", "delay"));
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "200"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	wait_ms(50);
	EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
	wait_ms(500);
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
}

/* The settle delay counts from the last offline request, not from the first. */
TEST_F(abi, returning_starts_the_delay_again)
{
	ASSERT_EQ(0, put(BOLT_DIR "keep", "delay"));
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "400"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	wait_ms(300);
	ASSERT_EQ(0, set_online(VICTIM, true));
	ASSERT_EQ(0, set_online(VICTIM, false));
	wait_ms(250);
	EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
	wait_ms(500);
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
}

TEST_F(abi, a_shorter_delay_holds_for_parked_cpus)
{
	ASSERT_EQ(0, put(BOLT_DIR "keep", "delay"));
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "4000000000"));
	ASSERT_EQ(0, set_online(VICTIM, false));
	wait_ms(100);
	EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
	ASSERT_EQ(0, put(BOLT_DIR "settle_delay_ms", "0"));
	wait_ms(100);
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
}

TEST_F(abi, disabling_settles)
{
	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, enable(false));
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	EXPECT_EQ(0, set_online(VICTIM, true));
	EXPECT_EQ(0, set_online(VICTIM, false));
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
}

/* A write to hotplug/target first settles the CPU, which is then natively offline. */
TEST_F(abi, hotplug_target_settles)
{
	char state[32];

	ASSERT_EQ(0, get(CPU_DIR "cpu1/hotplug/target", state, sizeof(state)));
	ASSERT_EQ(0, set_online(VICTIM, false));
	EXPECT_EQ(0, put(CPU_DIR "cpu1/hotplug/target", state));
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	EXPECT_TRUE(is(CPU_DIR "cpu1/hotplug/state", state));
	EXPECT_EQ(0, put(CPU_DIR "cpu1/hotplug/target", "0"));
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
}

/* A request that fails leaves the CPU as it was, an online request as well as an offline one. */
TEST_F(abi, a_failing_state_is_undone)
{
	char state[32];

	ASSERT_EQ(0, get(CPU_DIR "cpu1/hotplug/state", state, sizeof(state)));
	/* CPUHP_AP_ACTIVE: the first state on the way down, the last on the way up. */
	snprintf(state, sizeof(state), "%d", atoi(state) - 1);
	if (put(CPU_DIR "cpu1/hotplug/fail", state) == -ENOENT)
		SKIP(return, "no fault injection for hotplug states");
	EXPECT_EQ(-EAGAIN, set_online(VICTIM, false));
	EXPECT_TRUE(is(CPU_DIR "cpu1/online", "1"));
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));

	ASSERT_EQ(0, set_online(VICTIM, false));
	ASSERT_EQ(0, put(CPU_DIR "cpu1/hotplug/fail", state));
	EXPECT_EQ(-EAGAIN, set_online(VICTIM, true));
	EXPECT_TRUE(is(CPU_DIR "cpu1/online", "0"));
	EXPECT_TRUE(is(BOLT_DIR "parked", "1"));
	EXPECT_EQ(0, set_online(VICTIM, true));
	EXPECT_TRUE(is(BOLT_DIR "parked", ""));
	EXPECT_TRUE(is(BOLT_DIR "enabled", "1"));
}

TEST_HARNESS_MAIN

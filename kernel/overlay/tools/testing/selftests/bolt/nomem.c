// SPDX-License-Identifier: GPL-2.0-only
/*
 * The nth allocation of memory in a request fails, for every n: the request succeeds
 * nevertheless, or fails and changes nothing; the next request works. The allocations are those
 * of the task that asks, of the control task, which carries the request out, or of a
 * hotplug thread.
 */
#define _GNU_SOURCE
#include "cpus.h"
#include "errors.h"
#include "lib/place.h"
#include "sets.h"
#include "../kselftest_harness.h"

#include <dirent.h>

#define BATCH 3
#define MOST 2000		/* a request makes fewer allocations */
#define DEBUG "/sys/kernel/debug/"

/* Settings of fault injection: allocations of all kinds and sizes can fail, without messages. */
static const struct {
	const char *file, *value;
} settings[] = {
	{ DEBUG "failslab/ignore-gfp-wait", "N" },
	{ DEBUG "failslab/verbose", "0" },
	{ DEBUG "fail_page_alloc/ignore-gfp-wait", "N" },
	{ DEBUG "fail_page_alloc/ignore-gfp-highmem", "N" },
	{ DEBUG "fail_page_alloc/min-order", "0" },
	{ DEBUG "fail_page_alloc/verbose", "0" },
};

FIXTURE(nomem) {
	struct world world;
	cpus_t set;
	int cpu;		/* the second CPU of @set */
	int failed;
};

/* The task whose allocations fail. */
enum whose { ASKER, CONTROL, HOTPLUG };

FIXTURE_VARIANT(nomem) {
	enum ask ask;
	enum from from;
	enum whose whose;
};

FIXTURE_VARIANT_ADD(nomem, down) { OFFLINE_THEM, ONLINE, ASKER };
FIXTURE_VARIANT_ADD(nomem, down_control) { OFFLINE_THEM, ONLINE, CONTROL };
FIXTURE_VARIANT_ADD(nomem, down_thread) { OFFLINE_THEM, ONLINE, HOTPLUG };
FIXTURE_VARIANT_ADD(nomem, up) { ONLINE_THEM, PARKED, ASKER };
FIXTURE_VARIANT_ADD(nomem, up_control) { ONLINE_THEM, PARKED, CONTROL };
FIXTURE_VARIANT_ADD(nomem, up_thread) { ONLINE_THEM, PARKED, HOTPLUG };
FIXTURE_VARIANT_ADD(nomem, up_settled) { ONLINE_THEM, SETTLED, ASKER };
FIXTURE_VARIANT_ADD(nomem, up_settled_control) { ONLINE_THEM, SETTLED, CONTROL };
FIXTURE_VARIANT_ADD(nomem, up_settled_thread) { ONLINE_THEM, SETTLED, HOTPLUG };

FIXTURE_SETUP(nomem)
{
	const char *why = cannot_run();
	int n = 0;

	if (why)
		SKIP(return, "%s", why);
	if (access("/proc/self/fail-nth", F_OK))
		SKIP(return, "no allocation can be made to fail");
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		ASSERT_EQ(0, put(settings[i].file, settings[i].value))
			TH_LOG("%s", settings[i].file);
	}
	if (!world_look(&self->world))
		SKIP(return, "more than 64 CPUs");
	for (int cpu = 1; cpu < SETS_MAX && n < BATCH; cpu++) {
		if (!(self->world.movable & CPU(cpu)))
			continue;
		self->set |= CPU(cpu);
		if (++n == 2)
			self->cpu = cpu;
	}
	if (n < BATCH)
		SKIP(return, "needs %d CPUs", BATCH + 1);
	ASSERT_EQ(0, start_over_all());
	ASSERT_EQ(0, sets_start_over(&self->world));
	/*
	 * This task is pinned to a CPU that stays, so that no request moves this task to
	 * another CPU.
	 */
	ASSERT_EQ(0, pin(0, 0));
}

FIXTURE_TEARDOWN(nomem)
{
	unpin(0);
	if (!cannot_run())
		EXPECT_EQ(0, start_over_all());
}

/* Returns the PID of the kernel thread called @wanted, or -1 if there is none. */
static int thread_called(const char *wanted)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char path[64], name[64];
	int found = -1;

	if (!dir)
		return -1;
	while (found < 0 && (entry = readdir(dir))) {
		int pid = atoi(entry->d_name);

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		if (pid > 0 && !get(path, name, sizeof(name)) && !strcmp(name, wanted))
			found = pid;
	}
	closedir(dir);
	return found;
}

/*
 * Makes a request in which the nth allocation fails. fail-nth is set right before the request,
 * so that only the request's allocations count. @left is 0 if there were @nth of these or more.
 */
static int ask_nth(int fail, int file, cpus_t set, int nth, int *left)
{
	char text[SETS_TEXT], number[16];
	int len = snprintf(number, sizeof(number), "%d", nth);
	ssize_t n;
	int err;

	cpus_text(set, 0, text);
	if (pwrite(fail, number, len, 0) != len)
		return -EIO;
	n = pwrite(file, text, strlen(text), 0);
	err = n < 0 ? -errno : 0;
	n = pread(fail, number, sizeof(number) - 1, 0);
	number[n < 0 ? 0 : n] = '\0';
	*left = atoi(number);
	if (pwrite(fail, "0", 1, 0) != 1)
		return -EIO;
	return err;
}

TEST_F_TIMEOUT(nomem, every_allocation, 7200)
{
	int pid = getpid();
	struct sight before, after;
	int nth, left, fail, file;
	char path[64], name[32];

	if (variant->whose == CONTROL)
		pid = thread_called("bolt");
	snprintf(name, sizeof(name), "cpuhp/%d", self->cpu);
	if (variant->whose == HOTPLUG)
		pid = thread_called(name);
	ASSERT_GT(pid, 0);
	snprintf(path, sizeof(path), "/proc/%d/fail-nth", pid);
	fail = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_GE(fail, 0);
	file = open(ask_list[variant->ask], O_WRONLY | O_CLOEXEC);
	ASSERT_GE(file, 0);
	for (nth = 1; nth < MOST; nth++) {
		cpus_t wanted;
		int err;

		ASSERT_EQ(0, ask_to_be(self->set, variant->from))
			TH_LOG("before allocation %d", nth);
		ASSERT_TRUE(sight_take(&self->world, &before));
		err = ask_nth(fail, file, self->set, nth, &left);
		ASSERT_TRUE(sight_take(&self->world, &after));
		wanted = ask_result(variant->ask, self->set, before.online);
		EXPECT_TRUE(!err || err == -ENOMEM)
			TH_LOG("allocation %d: %s", nth, strerror(-err));
		EXPECT_EQ(err ? before.online : wanted, after.online)
			TH_LOG("allocation %d", nth);
		EXPECT_EQ(after.online, after.files)
			TH_LOG("allocation %d", nth);
		EXPECT_EQ(0, after.parked & after.online);
		EXPECT_TRUE(is(BOLT_DIR "enabled", "1"));
		self->failed += !!err;
		/* The same request must now succeed. */
		EXPECT_EQ(0, ask_by_list(variant->ask, self->set))
			TH_LOG("after allocation %d", nth);
		ASSERT_TRUE(sight_take(&self->world, &after));
		EXPECT_EQ(wanted, after.online);
		if (left)
			break;
	}
	close(fail);
	close(file);
	TH_LOG("%d allocations, %d made the request fail", nth - 1, self->failed);
	EXPECT_LT(nth, MOST);
	/* The task that asks must allocate something; the kernel threads may need no memory. */
	EXPECT_TRUE(variant->whose != ASKER || nth > 1);
}

TEST_HARNESS_MAIN

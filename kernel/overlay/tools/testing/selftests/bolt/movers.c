// SPDX-License-Identifier: GPL-2.0-only
/*
 * A task that makes requests can be moved between cpusets, and its affinity can be
 * changed, while the task waits in the middle of a request.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bolt.h"
#include "lib/place.h"
#include "../kselftest_harness.h"

#define ROUNDS 60
#define GROUP GROUP_DIR "bolt-movers"
/*
 * How long a test waits for the child to make its requests, which takes far less time: a
 * child that has not made its requests by then is taken to hang.
 */
#define PATIENCE_MS 60000

static int requests(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		int err = set_online(VICTIM, false);

		if (!err)
			err = set_online(VICTIM, true);
		if (err)
			return err;
	}
	return 0;
}

FIXTURE(movers) {
	pid_t child;
};

FIXTURE_SETUP(movers)
{
	const char *why = cannot_run();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_over());
	ASSERT_EQ(0, enable(true));
	self->child = fork();
	ASSERT_GE(self->child, 0);
	if (!self->child)
		_exit(requests(ROUNDS) ? 1 : 0);
}

FIXTURE_TEARDOWN(movers)
{
	if (cannot_run())
		return;
	if (self->child > 0) {
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
	}
	EXPECT_EQ(0, start_over());
}

/* Calls @move until the child has made its requests, or hangs. Returns the number of calls. */
static int until_done(struct __test_metadata *_metadata, pid_t *child,
		      void (*move)(pid_t child, int i))
{
	int status = -1, i;

	for (i = 0; i < PATIENCE_MS; i++) {
		if (waitpid(*child, &status, WNOHANG) == *child) {
			*child = 0;
			break;
		}
		move(*child, i);
		wait_ms(1);
	}
	EXPECT_EQ(0, status);
	return i;
}

static void move_affinity(pid_t child, int i)
{
	pin_pair(child, i % 2 ? 0 : 2, VICTIM);
}

TEST_F_TIMEOUT(movers, affinity, 300)
{
	if (access(CPU_DIR "cpu2", F_OK))
		SKIP(return, "needs three CPUs");
	EXPECT_GT(until_done(_metadata, &self->child, move_affinity), 10);
}

static void move_cpuset(pid_t child, int i)
{
	char pid[32];

	put(GROUP "/cpuset.cpus", i % 2 ? "0-1" : "1-2");
	snprintf(pid, sizeof(pid), "%d", child);
	if (i % 8 == 0)
		put(GROUP_DIR "cgroup.procs", pid);
	if (i % 8 == 4)
		put(GROUP "/cgroup.procs", pid);
}

TEST_F_TIMEOUT(movers, cpuset, 300)
{
	char pid[32];

	if (access(CPU_DIR "cpu2", F_OK))
		SKIP(return, "needs three CPUs");
	if (put(GROUP_DIR "cgroup.subtree_control", "+cpuset"))
		SKIP(return, "no cpuset controller at /sys/fs/cgroup");
	ASSERT_EQ(0, mkdir(GROUP, 0755));
	snprintf(pid, sizeof(pid), "%d", self->child);
	ASSERT_EQ(0, put(GROUP "/cgroup.procs", pid));
	EXPECT_GT(until_done(_metadata, &self->child, move_cpuset), 10);
	EXPECT_EQ(0, rmdir(GROUP));
}

TEST_HARNESS_MAIN

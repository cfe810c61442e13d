// SPDX-License-Identifier: GPL-2.0-only
/* Tests requests: what is written, in which order, what is refused, and what is put back. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"

#define CPUS "sys/devices/system/cpu/"

static int ask(struct cpubolt *handle, enum cpubolt_op op, const char *list, unsigned int flags,
	       struct cpubolt_result *result)
{
	cpu_set_t *cpus = cpubolt_set_new(handle);
	int err;

	assert_int_equal(cpubolt_parse_list(handle, list, cpus, NULL), 0);
	err = cpubolt_request(handle, op, cpus, flags, result);
	assert_int_equal(err, -result->error);
	CPU_FREE(cpus);
	return err;
}

/* -- With Bolt ------------------------------------------------------------------ */

static void test_one_write(void **state)
{
	struct cpubolt *handle = tree_open("smt+bolt+offline");
	struct cpubolt_result result;

	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "2-3,23-31", 0, &result), 0);
	assert_text(tree_folder(), CPUS "bolt/offline", "2-3,23-31");
	assert_int_equal(result.way, CPUBOLT_WAY_BATCH);
	assert_int_equal(result.cpu, -1);
	/* A recorded tree does not change: the three CPUs that were online still are. */
	assert_int_equal(result.missing, 3);
	assert_int_equal(result.changed, 0);
	assert_true(result.ns > 0);
	assert_int_equal(ask(handle, CPUBOLT_BRING_ONLINE, "30", 0, &result), 0);
	assert_text(tree_folder(), CPUS "bolt/online", "30");
	assert_int_equal(ask(handle, CPUBOLT_SET_ONLINE, "0-15", 0, &result), 0);
	assert_text(tree_folder(), CPUS "bolt/set", "0-15");
	assert_int_equal(result.missing, 8);
	assert_text(tree_folder(), CPUS "cpu2/online", "1\n");
	tree_close(handle);
}

static void test_nothing_to_do(void **state)
{
	struct cpubolt *handle = tree_open("small+bolt");
	struct cpubolt_result result;

	assert_int_equal(ask(handle, CPUBOLT_BRING_ONLINE, "0-3", 0, &result), 0);
	assert_int_equal(result.way, CPUBOLT_WAY_NONE);
	assert_text(tree_folder(), CPUS "bolt/online", "");
	assert_int_equal(ask(handle, CPUBOLT_SET_ONLINE, "all", 0, &result), 0);
	assert_int_equal(result.way, CPUBOLT_WAY_NONE);
	tree_close(handle);
}

/* If the last look is 10 ms old or older, a request sees what other programs have changed since. */
static void test_an_old_look(void **state)
{
	struct cpubolt *handle = tree_open("small+bolt");
	struct cpubolt_result result;

	tree_write(tree_folder(), CPUS "online", "0-2\n");
	tree_write(tree_folder(), CPUS "cpu3/hotplug/state", "0\n");
	usleep(20000);
	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "3", 0, &result), 0);
	assert_int_equal(result.way, CPUBOLT_WAY_NONE);
	tree_close(handle);
}

/* A half-way CPU is not completely online or offline: requests of both kinds are written. */
static void test_halfway(void **state)
{
	struct cpubolt *handle = tree_open("small+bolt+halfway");
	struct cpubolt_result result;

	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "1", 0, &result), 0);
	assert_text(tree_folder(), CPUS "bolt/offline", "1");
	assert_int_equal(ask(handle, CPUBOLT_BRING_ONLINE, "1", 0, &result), 0);
	assert_text(tree_folder(), CPUS "bolt/online", "1");
	tree_close(handle);
}

/* A list of a page or more is written as a mask. */
static void test_long_lists(void **state)
{
	struct cpubolt *handle = tree_open_wide();
	cpu_set_t *cpus = cpubolt_set_new(handle), *found = cpubolt_set_new(handle);
	size_t size = cpubolt_set_size(handle);
	struct cpubolt_result result;
	char *path;
	int fd;

	assert_int_equal(cpubolt_parse_list(handle, "1-N:2/3", cpus, NULL), 0);
	assert_int_equal(cpubolt_request(handle, CPUBOLT_TAKE_OFFLINE, cpus, 0, &result), 0);
	assert_text(tree_folder(), CPUS "bolt/offline", "");
	assert_true(asprintf(&path, "%s/" CPUS "bolt/offline_mask", tree_folder()) > 0);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, found, size), size);
	assert_int_equal(read(fd, found + 1, 1), 0);
	close(fd);
	free(path);
	assert_true(CPU_EQUAL_S(size, cpus, found));
	CPU_FREE(cpus);
	CPU_FREE(found);
	tree_close(handle);
}

static void test_refused_by_the_library(void **state)
{
	struct cpubolt *handle = tree_open("small+bolt+slots");
	struct cpubolt_result result;
	cpu_set_t *cpus = cpubolt_set_new(handle);

	assert_int_equal(cpubolt_request(handle, CPUBOLT_TAKE_OFFLINE, cpus, 0, &result), -EINVAL);
	assert_int_equal(result.way, CPUBOLT_WAY_NONE);
	CPU_SET_S(8, cpubolt_set_size(handle), cpus);
	assert_int_equal(cpubolt_request(handle, CPUBOLT_TAKE_OFFLINE, cpus, 0, &result), -EINVAL);
	CPU_ZERO_S(cpubolt_set_size(handle), cpus);
	CPU_SET_S(3, cpubolt_set_size(handle), cpus);
	assert_int_equal(cpubolt_request(handle, 3, cpus, 0, &result), -EINVAL);
	CPU_FREE(cpus);
	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "1,5", 0, &result), -ENODEV);
	assert_int_equal(result.cpu, 5);
	assert_string_equal(result.state, "admission");
	assert_text(tree_folder(), CPUS "bolt/offline", "");
	tree_close(handle);
}

/*
 * bolt/offline is a link to "enabled": the write succeeds, but "enabled" then has no number, so the
 * library cannot look at the CPUs after the write.
 */
static void test_counts_that_are_not_known(void **state)
{
	struct cpubolt *handle = tree_open("small+bolt");
	struct cpubolt_result result;
	char *path, *text;

	tree_delete(tree_folder(), CPUS "bolt/offline");
	assert_true(asprintf(&path, "%s/" CPUS "bolt/offline", tree_folder()) > 0);
	assert_int_equal(symlink("enabled", path), 0);
	free(path);
	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "2-3", 0, &result), -EINVAL);
	assert_int_equal(result.way, CPUBOLT_WAY_BATCH);
	assert_int_equal(result.changed, 0);
	assert_int_equal(result.missing, 0);
	text = cpubolt_explain(CPUBOLT_TAKE_OFFLINE, &result);
	assert_null(strstr(text, "nothing has changed"));
	free(text);
	tree_close(handle);
}

/* -- last_error: a file that changes when a request is written ------------------- */

static void find(struct cpubolt *handle, const char *text, int err, struct cpubolt_result *result)
{
	*result = (struct cpubolt_result){ .cpu = -1 };
	tree_write(tree_folder(), CPUS "bolt/last_error", text);
	request_find_error(handle, err, result);
}

static void test_own_line(void **state)
{
	struct cpubolt *handle = tree_open("small+bolt+halfway");	/* last_error has batch 7 */
	struct cpubolt_result result;
	char text[512];

	snprintf(text, sizeof(text),
		 "batch=7 pid=%d cpu=1 state=old errno=16\n"
		 "batch=8 pid=%d cpu=2 state=sched:active errno=16 undo=2:a:b\n"
		 "batch=9 pid=1 cpu=3 state=other errno=16\n", (int)getpid(), (int)getpid());
	find(handle, text, EBUSY, &result);
	assert_int_equal(result.cpu, 2);
	assert_string_equal(result.state, "sched:active");
	assert_string_equal(result.undo, "2:a:b");
	/*
	 * No line is of this request in the next three texts: first, all lines are of another
	 * error; then, the line is older than the last look; then, both are of other programs.
	 */
	find(handle, text, EPERM, &result);
	assert_int_equal(result.cpu, -1);
	snprintf(text, sizeof(text), "batch=7 pid=%d cpu=1 state=old errno=16\n", (int)getpid());
	find(handle, text, EBUSY, &result);
	assert_int_equal(result.cpu, -1);
	find(handle, "batch=8 pid=1 cpu=1 state=a errno=16\nbatch=9 pid=2 cpu=2 state=b errno=16\n",
	     EBUSY, &result);
	assert_int_equal(result.cpu, -1);
	/*
	 * In a container getpid() does not give the PID that the line has: if only one new line is
	 * of this error, that line is taken.
	 */
	find(handle, "batch=8 pid=1 cpu=1 state=a errno=16\n", EBUSY, &result);
	assert_int_equal(result.cpu, 1);
	tree_close(handle);
}

/* -- Natively ---------------------------------------------------------------------- */

static void test_native(void **state)
{
	struct cpubolt *handle = tree_open("smt+offline");
	struct cpubolt_result result;

	assert_int_equal(ask(handle, CPUBOLT_SET_ONLINE, "0-21,24-25", 0, &result), 0);
	assert_int_equal(result.way, CPUBOLT_WAY_NATIVE);
	assert_text(tree_folder(), CPUS "cpu24/online", "1");
	assert_text(tree_folder(), CPUS "cpu25/online", "1");
	assert_text(tree_folder(), CPUS "cpu22/online", "0");
	assert_text(tree_folder(), CPUS "cpu23/online", "0");
	assert_text(tree_folder(), CPUS "cpu21/online", "1\n");
	assert_text(tree_folder(), CPUS "cpu26/online", "0\n");
	assert_int_equal(result.missing, 4);
	tree_close(handle);
}

static void test_ways(void **state)
{
	struct cpubolt *handle = tree_open("small+disabled");
	struct cpubolt_result result;

	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "3", CPUBOLT_BATCH_ONLY, &result),
			 -EOPNOTSUPP);
	assert_text(tree_folder(), CPUS "cpu3/online", "1\n");
	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "3", 0, &result), 0);
	assert_int_equal(result.way, CPUBOLT_WAY_NATIVE);
	assert_text(tree_folder(), CPUS "cpu3/online", "0");
	assert_text(tree_folder(), CPUS "bolt/offline", "");
	tree_close(handle);
	handle = tree_open("small+bolt");
	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "3", CPUBOLT_NATIVE, &result), 0);
	assert_int_equal(result.way, CPUBOLT_WAY_NATIVE);
	assert_text(tree_folder(), CPUS "cpu3/online", "0");
	tree_close(handle);
}

static void test_native_refusals_come_first(void **state)
{
	struct cpubolt *handle = tree_open("small+slots");
	struct cpubolt_result result;

	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "0-2", 0, &result), -EPERM);
	assert_int_equal(result.cpu, 0);
	assert_string_equal(result.state, "admission");
	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "2,5", 0, &result), -ENODEV);
	assert_text(tree_folder(), CPUS "cpu1/online", "1\n");
	assert_text(tree_folder(), CPUS "cpu2/online", "1\n");
	tree_close(handle);
	/* arm64: CPU 0 may go, but some CPU has to stay. */
	handle = tree_open("clusters+halfway");
	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "all", 0, &result), -EBUSY);
	assert_int_equal(result.cpu, 7);
	assert_int_equal(result.changed, 0);
	assert_text(tree_folder(), CPUS "cpu0/online", "1\n");
	tree_close(handle);
}

/* Makes a write to cpu@cpu/online fail: a folder stands where the file was. */
static void break_cpu(unsigned int cpu)
{
	char name[64], *path;

	snprintf(name, sizeof(name), CPUS "cpu%u/online", cpu);
	tree_delete(tree_folder(), name);
	assert_true(asprintf(&path, "%s/%s", tree_folder(), name) > 0);
	assert_int_equal(mkdir(path, 0755), 0);
	free(path);
}

static void test_native_undo(void **state)
{
	struct cpubolt *handle = tree_open("smt");
	struct cpubolt_result result;

	break_cpu(7);
	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "5-8", 0, &result), -EISDIR);
	assert_int_equal(result.cpu, 7);
	assert_string_equal(result.undo, "");
	assert_text(tree_folder(), CPUS "cpu5/online", "1");
	assert_text(tree_folder(), CPUS "cpu6/online", "1");
	assert_text(tree_folder(), CPUS "cpu8/online", "1\n");
	assert_int_equal(ask(handle, CPUBOLT_TAKE_OFFLINE, "5-8", CPUBOLT_KEEP_CHANGES, &result),
			 -EISDIR);
	assert_text(tree_folder(), CPUS "cpu5/online", "0");
	assert_text(tree_folder(), CPUS "cpu6/online", "0");
	assert_text(tree_folder(), CPUS "cpu8/online", "1\n");
	tree_close(handle);
}

/* CPUs come before other CPUs go: if one CPU does not come, no CPU has gone. */
static void test_native_order(void **state)
{
	struct cpubolt *handle = tree_open("smt+offline");
	struct cpubolt_result result;

	break_cpu(24);
	assert_int_equal(ask(handle, CPUBOLT_SET_ONLINE, "0-21,24", CPUBOLT_KEEP_CHANGES, &result),
			 -EISDIR);
	assert_int_equal(result.cpu, 24);
	assert_text(tree_folder(), CPUS "cpu22/online", "1\n");
	tree_close(handle);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_write),
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_an_old_look),
		cmocka_unit_test(test_halfway),
		cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_refused_by_the_library),
		cmocka_unit_test(test_counts_that_are_not_known),
		cmocka_unit_test(test_own_line),
		cmocka_unit_test(test_native),
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_native_refusals_come_first),
		cmocka_unit_test(test_native_undo),
		cmocka_unit_test(test_native_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

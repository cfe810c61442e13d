// SPDX-License-Identifier: GPL-2.0-only
/* Tests /run/cpubolt/topology: what requests write, and what later programs take from the file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"

#define CPUS "sys/devices/system/cpu/"
#define REMEMBERED "run/cpubolt/topology"
#define BOOT "b0170000-0000-4000-8000-000000000001"

static void make_run(void)
{
	char *path;

	assert_true(asprintf(&path, "%s/run", tree_folder()) > 0);
	assert_int_equal(mkdir(path, 0755), 0);
	free(path);
}

static void take_offline(struct cpubolt *handle, const char *list)
{
	cpu_set_t *cpus = cpubolt_set_new(handle);

	assert_int_equal(cpubolt_parse_list(handle, list, cpus, NULL), 0);
	assert_int_equal(cpubolt_request(handle, CPUBOLT_TAKE_OFFLINE, cpus, 0, NULL), 0);
	CPU_FREE(cpus);
}

static void test_written_by_a_request(void **state)
{
	struct cpubolt *handle = tree_open("smt+bolt");

	make_run();
	take_offline(handle, "9,30");
	assert_text(tree_folder(), REMEMBERED,
		    "boot_id=" BOOT "\n"
		    "cpu=9 core_id=1 cluster=258 die=0 package=1 node=1 capacity=-1"
		    " max_khz=4000000\n"
		    "cpu=30 core_id=6 cluster=268 die=0 package=1 node=1 capacity=-1"
		    " max_khz=4000000\n");
	tree_close(handle);
}

static void test_a_later_program_knows(void **state)
{
	struct cpubolt *handle = tree_open("smt+bolt"), *later;
	struct cpubolt_topology topology, before;

	make_run();
	assert_int_equal(cpubolt_topology(handle, 9, &before), 0);
	take_offline(handle, "9");
	tree_write(tree_folder(), CPUS "online", "0-8,10-31\n");
	tree_write(tree_folder(), CPUS "cpu9/hotplug/state", "0\n");
	assert_int_equal(cpubolt_open(tree_folder(), &later), 0);
	assert_int_equal(cpubolt_topology(later, 9, &topology), 0);
	assert_memory_equal(&topology, &before, sizeof(topology));
	/* A program that takes CPU 10 offline keeps what the file says of CPU 9. */
	take_offline(later, "10");
	cpubolt_close(later);
	assert_int_equal(cpubolt_open(tree_folder(), &later), 0);
	assert_int_equal(cpubolt_topology(later, 9, &topology), 0);
	assert_int_equal(topology.core, 9);
	cpubolt_close(later);
	/*
	 * After another boot the file is not used, and only the link from CPU 9 to its node tells
	 * where CPU 9 is.
	 */
	tree_write(tree_folder(), "proc/sys/kernel/random/boot_id", "another\n");
	assert_int_equal(cpubolt_open(tree_folder(), &later), 0);
	assert_int_equal(cpubolt_topology(later, 9, &topology), 0);
	assert_int_equal(topology.core, -1);
	assert_int_equal(topology.node, 1);
	cpubolt_close(later);
	tree_close(handle);
}

static unsigned int mode_of(const char *name)
{
	struct stat status;
	char *path;

	assert_true(asprintf(&path, "%s/%s", tree_folder(), name) > 0);
	assert_int_equal(stat(path, &status), 0);
	free(path);
	return status.st_mode & 07777;
}

/* Every user may read the file, even if root's umask denies that for other files. */
static void test_modes(void **state)
{
	struct cpubolt *handle = tree_open("smt+bolt");
	mode_t before;

	make_run();
	before = umask(077);
	take_offline(handle, "9");
	umask(before);
	assert_int_equal(mode_of("run/cpubolt"), 0755);
	assert_int_equal(mode_of(REMEMBERED), 0644);
	tree_close(handle);
}

/* Returns the inode number of the file: whenever the library writes the file, the inode changes. */
static ino_t number_of_file(void)
{
	struct stat status;
	char *path;

	assert_true(asprintf(&path, "%s/" REMEMBERED, tree_folder()) > 0);
	assert_int_equal(stat(path, &status), 0);
	free(path);
	return status.st_ino;
}

static void test_written_once(void **state)
{
	struct cpubolt *handle = tree_open("smt+bolt"), *later;
	ino_t before;

	make_run();
	take_offline(handle, "9");
	tree_delete(tree_folder(), CPUS "cpu9/topology/core_id");
	assert_int_equal(cpubolt_open(tree_folder(), &later), 0);
	tree_write(tree_folder(), REMEMBERED, "boot_id=" BOOT "\n"
		   "cpu=9 core_id=5 cluster=1 die=1 package=1 node=1 capacity=1 max_khz=1\n");
	before = number_of_file();
	take_offline(later, "9");
	assert_int_equal(number_of_file(), before);
	assert_text(tree_folder(), REMEMBERED, "boot_id=" BOOT "\n"
		    "cpu=9 core_id=5 cluster=1 die=1 package=1 node=1 capacity=1 max_khz=1\n");
	cpubolt_close(later);
	tree_close(handle);
}

/* Every user may open and lock the folder, so a request must not wait until the lock is free. */
static void test_a_lock_holds_up_no_request(void **state)
{
	struct cpubolt *handle = tree_open("smt+bolt");
	char *path;
	int folder;

	make_run();
	assert_true(asprintf(&path, "%s/run/cpubolt", tree_folder()) > 0);
	assert_int_equal(mkdir(path, 0755), 0);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(folder, LOCK_EX), 0);
	alarm(30);
	take_offline(handle, "9");
	alarm(0);
	close(folder);
	free(path);
	path = tree_text(tree_folder(), REMEMBERED);
	assert_non_null(strstr(path, "\ncpu=9 "));
	free(path);
	tree_close(handle);
}

static void test_a_request_without_run(void **state)
{
	struct cpubolt *handle = tree_open("smt+bolt");

	take_offline(handle, "9");
	assert_null(tree_text(tree_folder(), REMEMBERED));
	assert_text(tree_folder(), CPUS "bolt/offline", "9");
	tree_close(handle);
}

static void test_bad_files(void **state)
{
	static const char *const bad[] = {
		"", "\n", "boot_id=\n", "boot_id=" BOOT "x\n", "boot_id=" BOOT "\ncpu=1\n",
		"boot_id=" BOOT "\ncpu=99 core_id=1 cluster=1 die=1 package=1 node=1"
		" capacity=1 max_khz=1\n",
		"boot_id=" BOOT "\ncpu=31 core_id=1 cluster=1 die=1 package=1 node=1"
		" capacity=1 max_khz=-2\n",
		"boot_id=" BOOT "\ncpu=31 core_id=1 cluster=1 die=1 package=1 node=1"
		" capacity=1 max_khz=1 \n",
		"boot_id=" BOOT "\ncpu=31 core_id=9999999999 cluster=1 die=1 package=1 node=1"
		" capacity=1 max_khz=1\n",
	};
	struct cpubolt *handle = tree_open("smt+offline"), *other;
	struct cpubolt_topology topology;
	char *path;
	size_t i;

	make_run();
	assert_true(asprintf(&path, "%s/run/cpubolt", tree_folder()) > 0);
	assert_int_equal(mkdir(path, 0755), 0);
	free(path);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		tree_write(tree_folder(), REMEMBERED, bad[i]);
		assert_int_equal(cpubolt_open(tree_folder(), &other), 0);
		assert_int_equal(cpubolt_topology(other, 31, &topology), 0);
		assert_int_equal(topology.core, -1);
		cpubolt_close(other);
	}
	tree_write(tree_folder(), REMEMBERED, "boot_id=" BOOT "\n"
		   "cpu=31 core_id=7 cluster=270 die=0 package=1 node=1 capacity=-1 max_khz=1\n");
	assert_int_equal(cpubolt_open(tree_folder(), &other), 0);
	assert_int_equal(cpubolt_topology(other, 31, &topology), 0);
	assert_int_equal(topology.core, 15);
	assert_int_equal(topology.thread, 1);
	cpubolt_close(other);
	tree_close(handle);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_by_a_request),
		cmocka_unit_test(test_a_later_program_knows),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_written_once),
		cmocka_unit_test(test_a_lock_holds_up_no_request),
		cmocka_unit_test(test_a_request_without_run),
		cmocka_unit_test(test_bad_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

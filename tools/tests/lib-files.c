// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests single files: files of bolt/, which a caller reads and writes by name; bolt/settle; and
 * files that cannot be read or written. Also tests that a recorded tree has no monitor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tree.h"

#define BOLT "sys/devices/system/cpu/bolt/"

static void test_get(void **state)
{
	static const char *const bad[] = { "", ".", "..", "../online", "bolt/enabled", "/" };
	struct cpubolt *handle = tree_open("small+bolt+parked");
	char *value;
	size_t i;

	assert_int_equal(cpubolt_get(handle, "settle_delay_ms", &value), 0);
	assert_string_equal(value, "1000");
	free(value);
	assert_int_equal(cpubolt_get(handle, "irq_keep", &value), 0);
	assert_string_equal(value, "");
	free(value);
	assert_int_equal(cpubolt_get(handle, "nothing", &value), -ENOENT);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(cpubolt_get(handle, bad[i], &value), -EINVAL);
		assert_int_equal(cpubolt_put(handle, bad[i], "1"), -EINVAL);
		assert_null(value);
	}
	tree_close(handle);
}

static void test_put(void **state)
{
	struct cpubolt *handle = tree_open("small+bolt");

	assert_int_equal(cpubolt_put(handle, "settle_delay_ms", "250"), 0);
	assert_text(tree_folder(), BOLT "settle_delay_ms", "250");
	assert_int_equal(cpubolt_put(handle, "irq_keep", ""), 0);
	assert_text(tree_folder(), BOLT "irq_keep", "\n");
	assert_int_equal(cpubolt_put(handle, "nothing", "1"), -ENOENT);
	tree_close(handle);
	handle = tree_open("small");
	assert_int_equal(cpubolt_put(handle, "settle_delay_ms", "250"), -ENOENT);
	tree_close(handle);
}

static void test_settle(void **state)
{
	struct cpubolt *handle = tree_open_wide();
	cpu_set_t *cpus = cpubolt_set_new(handle);
	char *text;

	assert_int_equal(cpubolt_settle(handle, NULL), 0);
	assert_text(tree_folder(), BOLT "settle", "all");
	assert_int_equal(cpubolt_settle(handle, cpus), -EINVAL);
	assert_text(tree_folder(), BOLT "settle", "all");
	assert_int_equal(cpubolt_parse_list(handle, "3,1778-1779", cpus, NULL), 0);
	assert_int_equal(cpubolt_settle(handle, cpus), 0);
	assert_text(tree_folder(), BOLT "settle", "3,1778-1779");
	/* A list that is too long for one write is written in parts; the file has the last part. */
	assert_int_equal(cpubolt_parse_list(handle, "1-N:2/3", cpus, NULL), 0);
	assert_int_equal(cpubolt_settle(handle, cpus), 0);
	text = tree_text(tree_folder(), BOLT "settle");
	assert_string_equal(text + strlen(text) - 10, ",1777-1778");
	assert_in_range(strlen(text), 11, 4095);
	assert_true(atoi(text) > 2);
	free(text);
	CPU_FREE(cpus);
	tree_close(handle);
	handle = tree_open("small");
	assert_int_equal(cpubolt_settle(handle, NULL), -ENOENT);
	tree_close(handle);
}

static void test_sysfs(void **state)
{
	char *folder = tree_make("small"), *text, line[8];
	int dir = sysfs_open(-1, folder), number;

	tree_write(folder, "short", "12\n");
	tree_write(folder, "words", "12x\n");
	tree_write(folder, "long", "123456789\n");
	assert_int_equal(sysfs_number(dir, "short", &number), 0);
	assert_int_equal(number, 12);
	assert_int_equal(sysfs_number(dir, "words", &number), -EINVAL);
	assert_int_equal(sysfs_line(dir, "long", line, sizeof(line)), -EMSGSIZE);
	assert_string_equal(line, "");
	assert_int_equal(sysfs_line(dir, "none", line, sizeof(line)), -ENOENT);
	assert_int_equal(sysfs_read(dir, "none", &text), -ENOENT);
	assert_null(text);
	assert_int_equal(sysfs_read(dir, "sys", &text), -EISDIR);
	assert_int_equal(sysfs_open(dir, "short"), -ENOTDIR);
	assert_int_equal(sysfs_write(dir, "none", "1", 1), -ENOENT);
	assert_int_equal(sysfs_parse_number("-2147483648", &number), 0);
	assert_int_equal(sysfs_parse_number("2147483648", &number), -EINVAL);
	assert_int_equal(sysfs_parse_number("-", &number), -EINVAL);
	assert_int_equal(sysfs_parse_number(" 1", &number), -EINVAL);
	tree_remove(folder);
}

/* A file a byte larger than SYSFS_READ_MAX is refused, and one a byte smaller is read. */
static void test_large_files(void **state)
{
	char *folder = tree_make("small"), *text = malloc(SYSFS_READ_MAX + 2), *found;
	int dir = sysfs_open(-1, folder);

	assert_non_null(text);
	memset(text, 'x', SYSFS_READ_MAX + 1);
	text[SYSFS_READ_MAX + 1] = '\0';
	tree_write(folder, "large", text);
	assert_int_equal(sysfs_read(dir, "large", &found), -EFBIG);
	assert_null(found);
	text[SYSFS_READ_MAX - 1] = '\0';
	tree_write(folder, "large", text);
	assert_int_equal(sysfs_read(dir, "large", &found), 0);
	assert_int_equal(strlen(found), SYSFS_READ_MAX - 1);
	free(found);
	free(text);
	tree_remove(folder);
}

/*
 * The kernel gives a list of CPUs in a binary file of sysfs, such as core_cpus_list, in parts that
 * are a byte shorter than a page. A pipe of packets does the same: each read gets one packet.
 */
static void test_a_file_in_parts(void **state)
{
	char *text = malloc(2 * 4095 + 4), *found, name[32];
	int ends[2];

	assert_non_null(text);
	memset(text, '1', 2 * 4095);
	strcpy(text + 2 * 4095, ",2\n");
	assert_int_equal(pipe2(ends, O_DIRECT), 0);
	assert_int_equal(write(ends[1], text, 4095), 4095);
	assert_int_equal(write(ends[1], text + 4095, 4095), 4095);
	assert_int_equal(write(ends[1], text + 2 * 4095, 3), 3);
	close(ends[1]);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", ends[0]);
	assert_int_equal(sysfs_read(-1, name, &found), 0);
	assert_string_equal(found, text);
	close(ends[0]);
	free(found);
	free(text);
}

static void test_no_monitor_of_a_tree(void **state)
{
	struct cpubolt *handle = tree_open("small");
	struct cpubolt_monitor *monitor;

	assert_int_equal(cpubolt_monitor_open(handle, &monitor), -EOPNOTSUPP);
	assert_null(monitor);
	cpubolt_monitor_close(NULL);
	tree_close(handle);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_sysfs),
		cmocka_unit_test(test_large_files),
		cmocka_unit_test(test_a_file_in_parts),
		cmocka_unit_test(test_no_monitor_of_a_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

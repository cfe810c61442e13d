// SPDX-License-Identifier: GPL-2.0-only
/* Tests cpulists and masks: what is read, what is refused and where, and what is written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

#define NUMBERS 40

struct row {
	const char *text;
	int err;
	size_t at;
	const char *list;
};

/*
 * Lists for a set of 40 CPU numbers: each with the error, the offset in the list at which the error
 * is found, and the CPUs that are read.
 */
static const struct row lists[] = {
	{ "0", 0, 0, "0" },
	{ "0-3,8", 0, 0, "0-3,8" },
	{ "8,0-3\n", 0, 0, "0-3,8" },
	{ "", 0, 0, "" },
	{ "\n", 0, 0, "" },
	{ ",, ,", 0, 0, "" },
	{ " 1 2\t3 ", 0, 0, "1-3" },
	{ "N", 0, 0, "39" },
	{ "36-N:1/2", 0, 0, "36,38" },
	{ "0-31:1/2", 0, 0, "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30" },
	{ "0-9:2/4", 0, 0, "0-1,4-5,8-9" },
	{ "4-9:0/4", 0, 0, "" },
	{ "all", 0, 0, "0-39" },
	{ "ALL:1/20", 0, 0, "0,20" },
	{ "3-3", 0, 0, "3" },
	{ "007", 0, 0, "7" },
	{ "5-3", -EINVAL, 0, "" },
	{ "1,5-3", -EINVAL, 2, "" },
	{ "x", -EINVAL, 0, "" },
	{ "1,x", -EINVAL, 2, "" },
	{ "1-", -EINVAL, 2, "" },
	{ "-1", -EINVAL, 0, "" },
	{ "1-2-3", -EINVAL, 3, "" },
	{ "1:1/2", -EINVAL, 1, "" },
	{ "0-3:2", -EINVAL, 5, "" },
	{ "0-3:2/", -EINVAL, 6, "" },
	{ "0-3:1/0", -EINVAL, 6, "" },
	{ "0-3:3/2", -EINVAL, 4, "" },
	{ "1,0-3:0/0", -EINVAL, 8, "" },
	{ "0-3:", -EINVAL, 4, "" },
	{ "alle", -EINVAL, 3, "" },
	{ "al", -EINVAL, 0, "" },
	{ "1\n2", -EINVAL, 1, "" },
	{ "1;2", -EINVAL, 1, "" },
	{ "0x1", -EINVAL, 1, "" },
	{ "n", -EINVAL, 0, "" },
	{ "40", -ERANGE, 0, "" },
	{ "1,39-40", -ERANGE, 2, "" },
	{ "4294967296", -ERANGE, 0, "" },
	{ "99999999999999999999", -ERANGE, 0, "" },
};

static const struct row masks[] = {
	{ "1", 0, 0, "0" },
	{ "0", 0, 0, "" },
	{ "f0", 0, 0, "4-7" },
	{ "0xF0\n", 0, 0, "4-7" },
	{ " ff,00000001", 0, 0, "0,32-39" },
	{ "ff,1", 0, 0, "0,32-39" },
	{ "00,00000000,00000002", 0, 0, "1" },
	{ "80,80000000", 0, 0, "31,39" },
	{ "100,00000000", -ERANGE, 0, "" },
	{ "1,00000000,00000000", -ERANGE, 0, "" },
	{ "", -EINVAL, 0, "" },
	{ "0x", -EINVAL, 2, "" },
	{ "1,,1", -EINVAL, 1, "" },
	{ ",1", -EINVAL, 0, "" },
	{ "1,", -EINVAL, 1, "" },
	{ "g", -EINVAL, 0, "" },
	{ "1g", -EINVAL, 1, "" },
	{ "g1", -EINVAL, 0, "" },
	{ "123456789", -EINVAL, 0, "" },
	{ "1 1", -EINVAL, 1, "" },
	{ "0-3", -EINVAL, 1, "" },
};

static void check(const struct row *row, bool mask)
{
	struct set set = { CPU_ALLOC(NUMBERS), CPU_ALLOC_SIZE(NUMBERS), NUMBERS };
	size_t at = 0;
	char *list;
	int err;

	memset(set.cpus, 0xff, set.size);
	err = mask ? set_parse_mask(&set, NULL, row->text, &at) :
		     set_parse_list(&set, NULL, row->text, &at);
	list = set_format_list(&set);
	if (err != row->err || strcmp(list, row->list) || (err && at != row->at))
		fail_msg("'%s': %d at %zu, '%s'", row->text, err, at, list);
	free(list);
	CPU_FREE(set.cpus);
}

static void test_lists(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		check(&lists[i], false);
}

static void test_masks(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(masks); i++)
		check(&masks[i], true);
}

/* What is written is read as the same set, for machines of 1 to thousands of CPUs. */
static void test_there_and_back(void **state)
{
	static const unsigned int sizes[] = { 1, 4, 31, 32, 33, 63, 64, 65, 1780, 8192 };
	struct set one, other;
	unsigned int cpu;
	char *text;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		one = (struct set){ CPU_ALLOC(sizes[i]), CPU_ALLOC_SIZE(sizes[i]), sizes[i] };
		other = (struct set){ CPU_ALLOC(sizes[i]), one.size, sizes[i] };
		CPU_ZERO_S(one.size, one.cpus);
		for (cpu = 0; cpu < sizes[i]; cpu++) {
			if (cpu % 7 < 3 || cpu == sizes[i] - 1)
				CPU_SET_S(cpu, one.size, one.cpus);
		}
		text = set_format_list(&one);
		assert_int_equal(set_parse_list(&other, NULL, text, NULL), 0);
		assert_true(CPU_EQUAL_S(one.size, one.cpus, other.cpus));
		free(text);
		text = set_format_mask(&one);
		assert_int_equal(set_parse_mask(&other, NULL, text, NULL), 0);
		assert_true(CPU_EQUAL_S(one.size, one.cpus, other.cpus));
		free(text);
		CPU_FREE(one.cpus);
		CPU_FREE(other.cpus);
	}
}

static void test_format(void **state)
{
	struct set set = { CPU_ALLOC(NUMBERS), CPU_ALLOC_SIZE(NUMBERS), NUMBERS };
	char *text;

	assert_int_equal(set_parse_list(&set, NULL, "0-3,5,38-39", NULL), 0);
	text = set_format_list(&set);
	assert_string_equal(text, "0-3,5,38-39");
	free(text);
	text = set_format_mask(&set);
	assert_string_equal(text, "c0,0000002f");
	free(text);
	CPU_FREE(set.cpus);
}

/* A number that no possible CPU has is refused, and "all" leaves that number out. */
static void test_a_machine_with_holes(void **state)
{
	struct set set = { CPU_ALLOC(NUMBERS), CPU_ALLOC_SIZE(NUMBERS), NUMBERS };
	struct set possible = { CPU_ALLOC(NUMBERS), set.size, NUMBERS };
	char *text;
	size_t at;

	assert_int_equal(set_parse_list(&possible, NULL, "0-3,8-39", NULL), 0);
	assert_int_equal(set_parse_list(&set, possible.cpus, "0,2-9", &at), -ERANGE);
	assert_int_equal(at, 2);
	assert_int_equal(CPU_COUNT_S(set.size, set.cpus), 0);
	assert_int_equal(set_parse_list(&set, possible.cpus, "0-8:1/8", NULL), 0);
	assert_int_equal(set_parse_list(&set, possible.cpus, "all", NULL), 0);
	text = set_format_list(&set);
	assert_string_equal(text, "0-3,8-39");
	free(text);
	assert_int_equal(set_parse_mask(&set, possible.cpus, "10", NULL), -ERANGE);
	assert_int_equal(set_parse_mask(&set, possible.cpus, "10f", NULL), 0);
	CPU_FREE(set.cpus);
	CPU_FREE(possible.cpus);
}

static void test_next(void **state)
{
	struct set set = { CPU_ALLOC(1780), CPU_ALLOC_SIZE(1780), 1780 };

	CPU_ZERO_S(set.size, set.cpus);
	assert_int_equal(set_next(set.cpus, 1780, 0), 1780);
	CPU_SET_S(64, set.size, set.cpus);
	CPU_SET_S(1779, set.size, set.cpus);
	assert_int_equal(set_next(set.cpus, 1780, 0), 64);
	assert_int_equal(set_next(set.cpus, 1780, 64), 64);
	assert_int_equal(set_next(set.cpus, 1780, 65), 1779);
	assert_int_equal(set_next(set.cpus, 1779, 65), 1779);
	assert_int_equal(set_next(set.cpus, 1780, 1780), 1780);
	CPU_FREE(set.cpus);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_a_machine_with_holes),
		cmocka_unit_test(test_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

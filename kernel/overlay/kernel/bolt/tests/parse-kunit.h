/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: how parse.c reads lists and masks of CPUs, also for machines larger than
 * those that the tests run on; and how it reads numbers and words.
 */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_PARSE_KUNIT_H
#define _BOLT_TESTS_PARSE_KUNIT_H

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/slab.h>

#define SMALL 100	/* a number of CPUs that is no multiple of the bits of a long */
#define LARGE 4096
#define ODD 1780	/* a list of so many odd CPU numbers has more than 4096 bytes */

static void lists(struct kunit *test)
{
	static const struct {
		const char *text;
		size_t len;	/* 0 stands for the whole text */
		int err;
		unsigned int weight, first, last;
	} rows[] = {
		{ "3", 0, 0, 1, 3, 3 },
		{ "0-99", 0, 0, SMALL, 0, 99 },
		{ "7\n", 0, 0, 1, 7, 7 },
		{ "7", 2, 0, 1, 7, 7 },
		{ "7\n", 3, 0, 1, 7, 7 },
		{ "1,2,,\t3 ,", 0, 0, 3, 1, 3 },
		{ "5-9,7-12,8", 0, 0, 8, 5, 12 },
		{ "0-31:1/2", 0, 0, 16, 0, 30 },
		{ "all", 0, 0, SMALL, 0, 99 },
		{ "N", 0, 0, 1, 99, 99 },
		{ "007", 0, 0, 1, 7, 7 },
		{ "", 0, 0, 0, SMALL, SMALL },
		{ "\n", 0, 0, 0, SMALL, SMALL },
		{ ", ,", 0, 0, 0, SMALL, SMALL },
		{ "2-3:1/2147483647", 0, 0, 1, 2, 2 },
		{ "3-1", 0, -EINVAL },
		{ "-1", 0, -EINVAL },
		{ "1-", 0, -EINVAL },
		{ "1--2", 0, -EINVAL },
		{ "+1", 0, -EINVAL },
		{ "0x3", 0, -EINVAL },
		{ "1;2", 0, -EINVAL },
		{ "1.5", 0, -EINVAL },
		{ "one", 0, -EINVAL },
		{ "0-31:3/2", 0, -EINVAL },
		{ "0-31:0/0", 0, -EINVAL },
		{ "0-31:1", 0, -EINVAL },
		/*
		 * In bitmap_parselist() CPU 2 plus this group size overflows to 1, and
		 * then to 0.
		 */
		{ "2-3:1/4294967295", 0, -EINVAL },
		{ "100", 0, -EINVAL },
		{ "1,2,99-100", 0, -EINVAL },
		{ "4294967295", 0, -EINVAL },
		{ "4294967297", 0, -EINVAL },
		{ "99999999999999999999999", 0, -EINVAL },
		{ "1\n2", 0, -EINVAL },
		{ "\n1", 0, -EINVAL },
		{ "1\n\n", 0, -EINVAL },
		{ "1\r\n", 0, -EINVAL },
		{ "1\0002", 3, -EINVAL },
		{ "\0001", 2, -EINVAL },
		{ "1\0\n", 3, -EINVAL },
		{ "1\0\0", 3, -EINVAL },
		{ "1\xa0,2", 0, -EINVAL },
		{ "\xd9\xa1", 0, -EINVAL },
		{ "1\xff", 0, -EINVAL },
		{ "1\x7f", 0, -EINVAL },
	};
	DECLARE_BITMAP(bits, SMALL);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = rows[i].len ?: strlen(rows[i].text);
		int err = bolt_parse_list(rows[i].text, len, bits, SMALL);

		KUNIT_EXPECT_EQ_MSG(test, err, rows[i].err, "row %zu: '%s'", i,
				    rows[i].text);
		if (err)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, bitmap_weight(bits, SMALL),
				    rows[i].weight, "row %zu", i);
		KUNIT_EXPECT_EQ_MSG(test, find_first_bit(bits, SMALL),
				    rows[i].first, "row %zu", i);
		KUNIT_EXPECT_EQ_MSG(test, find_last_bit(bits, SMALL),
				    rows[i].last, "row %zu", i);
	}
}

/*
 * kernfs may have cut a text that fills a page, so such a text is refused even if it
 * can be parsed.
 */
static void a_page_is_too_long(struct kunit *test)
{
	DECLARE_BITMAP(bits, SMALL);
	char *buf = kunit_kmalloc(test, PAGE_SIZE + 1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	memset(buf, '1', PAGE_SIZE);
	memset(buf + 1, ' ', PAGE_SIZE - 1);
	buf[PAGE_SIZE] = '\0';
	KUNIT_EXPECT_EQ(test, bolt_parse_list(buf, PAGE_SIZE, bits, SMALL),
			-E2BIG);
	buf[PAGE_SIZE - 1] = '\0';
	KUNIT_EXPECT_EQ(test, bolt_parse_list(buf, PAGE_SIZE - 1, bits, SMALL),
			0);
	memset(buf, 0, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, bolt_parse_mask(buf, PAGE_SIZE, bits, SMALL),
			-E2BIG);
	KUNIT_EXPECT_EQ(test,
			bolt_parse_mask(buf, PAGE_SIZE - sizeof(long), bits,
					SMALL),
			0);
}

static void masks(struct kunit *test)
{
	unsigned long mask[4] = { BIT(0) | BIT(63 % BITS_PER_LONG) };
	DECLARE_BITMAP(bits, SMALL);
	size_t words = BITS_TO_LONGS(SMALL), i;

	/* A mask may be shorter than the kernel's, as long, or longer. */
	for (i = 1; i <= ARRAY_SIZE(mask); i++) {
		bitmap_fill(bits, SMALL);
		KUNIT_EXPECT_EQ(test,
				bolt_parse_mask(mask, i * sizeof(long), bits,
						SMALL),
				0);
		KUNIT_EXPECT_EQ(test, bitmap_weight(bits, SMALL), 2);
		KUNIT_EXPECT_TRUE(test, test_bit(0, bits));
	}
	/*
	 * Bits beyond the last CPU are refused, both in the last word of the kernel's
	 * mask and after that word.
	 */
	mask[0] = 0;
	for (i = SMALL; i < ARRAY_SIZE(mask) * BITS_PER_LONG; i++) {
		__set_bit(i, mask);
		KUNIT_EXPECT_EQ_MSG(test,
				    bolt_parse_mask(mask, sizeof(mask), bits,
						    SMALL),
				    -EINVAL, "bit %zu", i);
		__clear_bit(i, mask);
	}
	__set_bit(SMALL - 1, mask);
	KUNIT_EXPECT_EQ(test,
			bolt_parse_mask(mask, words * sizeof(long), bits,
					SMALL),
			0);
	KUNIT_EXPECT_EQ(test, find_first_bit(bits, SMALL), SMALL - 1);
	/* A mask that is no array of unsigned long is refused. */
	KUNIT_EXPECT_EQ(test, bolt_parse_mask(mask, 0, bits, SMALL), -EINVAL);
	for (i = 1; i < sizeof(long); i++)
		KUNIT_EXPECT_EQ_MSG(test, bolt_parse_mask(mask, i, bits, SMALL),
				    -EINVAL, "%zu bytes", i);
	KUNIT_EXPECT_EQ(test,
			bolt_parse_mask(mask, sizeof(mask) - 1, bits, SMALL),
			-EINVAL);
}

static void numbers(struct kunit *test)
{
	static const struct {
		const char *text;
		size_t len;	/* 0 stands for the whole text */
		int err;
		unsigned int number;
	} rows[] = {
		{ "0", 0, 0, 0 },
		{ "1\n", 0, 0, 1 },
		{ "1", 2, 0, 1 },
		{ "1\n", 3, 0, 1 },
		{ "+7", 0, 0, 7 },
		{ "4294967295", 0, 0, UINT_MAX },
		{ "4294967296", 0, -ERANGE },
		{ "", 0, -EINVAL },
		{ "\n", 0, -EINVAL },
		{ "-1", 0, -EINVAL },
		{ "1 ", 0, -EINVAL },
		{ " 1", 0, -EINVAL },
		{ "0x1", 0, -EINVAL },
		{ "1\n\n", 0, -EINVAL },
		{ "1\0002", 3, -EINVAL },
		{ "1\0\0", 3, -EINVAL },
		{ "1\0\n", 3, -EINVAL },
	};
	unsigned int number;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = rows[i].len ?: strlen(rows[i].text);
		int err = bolt_parse_number(rows[i].text, len, &number);

		KUNIT_EXPECT_EQ_MSG(test, err, rows[i].err, "row %zu: '%s'", i,
				    rows[i].text);
		if (!err)
			KUNIT_EXPECT_EQ_MSG(test, number, rows[i].number,
					    "row %zu", i);
	}
}

static void words(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, bolt_parse_word("all", 3, "all"));
	KUNIT_EXPECT_TRUE(test, bolt_parse_word("all\n", 4, "all"));
	KUNIT_EXPECT_TRUE(test, bolt_parse_word("all\n", 5, "all"));
	KUNIT_EXPECT_FALSE(test, bolt_parse_word("all", 2, "all"));
	KUNIT_EXPECT_FALSE(test, bolt_parse_word("", 0, "all"));
	KUNIT_EXPECT_FALSE(test, bolt_parse_word("all,1", 5, "all"));
	KUNIT_EXPECT_FALSE(test, bolt_parse_word("all\0001", 5, "all"));
	KUNIT_EXPECT_FALSE(test, bolt_parse_word("all\n\n", 5, "all"));
}

static void overrides(struct kunit *test)
{
	static const struct {
		const char *text;
		size_t len;	/* 0 stands for the whole text */
		int err;
		unsigned int state;
		enum bolt_say say;
	} rows[] = {
		{ "5 critical", 0, 0, 5, BOLT_SAY_CRITICAL },
		{ "5 serial", 0, 0, 5, BOLT_SAY_SERIAL },
		{ "5 unfit\n", 0, 0, 5, BOLT_SAY_UNFIT },
		{ "5 default\n", 0, 0, 5, BOLT_SAY_DEFAULT },
		{ "5 default\n", 11, 0, 5, BOLT_SAY_DEFAULT },
		{ "\t5 \tdefault ", 0, 0, 5, BOLT_SAY_DEFAULT },
		{ "5critical", 0, -EINVAL },
		{ "5", 0, -EINVAL },
		{ "critical", 0, -EINVAL },
		{ "", 0, -EINVAL },
		{ "5 critical default", 0, -EINVAL },
		{ "5 criticaly", 0, -EINVAL },
		{ "5 critica", 0, -EINVAL },
		{ "5\ncritical", 0, -EINVAL },
		{ "5\n critical", 0, -EINVAL },
		{ "5 critical\0x", 12, -EINVAL },
		{ "-5 critical", 0, -EINVAL },
		{ "0 critical", 0, -EINVAL },
		{ "0x5 critical", 0, -EINVAL },
		{ "4294967301 critical", 0, -EINVAL },
		{ "5 critical\xa0", 0, -EINVAL },
	};
	char buf[32];
	unsigned int state;
	enum bolt_say say;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = rows[i].len ?: strlen(rows[i].text);
		int err;

		memcpy(buf, rows[i].text, len);
		buf[len] = '\0';
		err = bolt_parse_override(buf, len, &state, &say);
		KUNIT_EXPECT_EQ_MSG(test, err, rows[i].err, "row %zu: '%s'", i,
				    rows[i].text);
		if (err)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, state, rows[i].state, "row %zu", i);
		KUNIT_EXPECT_EQ_MSG(test, say, rows[i].say,
				    "row %zu", i);
	}
	snprintf(buf, sizeof(buf), "%d critical", CPUHP_ONLINE - 1);
	KUNIT_EXPECT_EQ(test, bolt_parse_override(buf, strlen(buf), &state,
						  &say), 0);
	snprintf(buf, sizeof(buf), "%d critical", CPUHP_ONLINE);
	KUNIT_EXPECT_EQ(test, bolt_parse_override(buf, strlen(buf), &state,
						  &say), -EINVAL);
}

/*
 * CPUs with odd numbers: a list with ranges is short, a list without ranges is too long
 * where a page has 4096 bytes, and a mask is never too long.
 */
static void odd_cpus_of_a_large_machine(struct kunit *test)
{
	unsigned long *bits = bitmap_zalloc(LARGE, GFP_KERNEL);
	unsigned long *mask = bitmap_zalloc(LARGE, GFP_KERNEL);
	char *list = kunit_kzalloc(test, 5 * ODD + 1, GFP_KERNEL);
	size_t len = 0;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, bits);
	KUNIT_ASSERT_NOT_NULL(test, mask);
	KUNIT_ASSERT_NOT_NULL(test, list);
	for (i = 0; i < ODD; i++) {
		len += sprintf(list + len, "%d,", 2 * i + 1);
		__set_bit(2 * i + 1, mask);
	}
	KUNIT_EXPECT_EQ(test, bolt_parse_list(list, len, bits, LARGE),
			len < PAGE_SIZE ? 0 : -E2BIG);
	KUNIT_EXPECT_EQ(test, bolt_parse_list("1-3559:1/2", 10, bits, LARGE),
			0);
	KUNIT_EXPECT_TRUE(test, bitmap_equal(bits, mask, LARGE));
	bitmap_zero(bits, LARGE);
	KUNIT_EXPECT_EQ(test,
			bolt_parse_mask(mask, LARGE / BITS_PER_BYTE, bits,
					LARGE),
			0);
	KUNIT_EXPECT_TRUE(test, bitmap_equal(bits, mask, LARGE));
	bitmap_free(bits);
	bitmap_free(mask);
}

static struct kunit_case bolt_parse_cases[] = {
	KUNIT_CASE(lists),
	KUNIT_CASE(a_page_is_too_long),
	KUNIT_CASE(masks),
	KUNIT_CASE(numbers),
	KUNIT_CASE(words),
	KUNIT_CASE(overrides),
	KUNIT_CASE(odd_cpus_of_a_large_machine),
	{}
};

static struct kunit_suite bolt_parse_suite = {
	.name = "bolt_parse",
	.test_cases = bolt_parse_cases,
};

kunit_test_suite(bolt_parse_suite);

#endif /* _BOLT_TESTS_PARSE_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

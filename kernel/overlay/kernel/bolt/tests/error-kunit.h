/* SPDX-License-Identifier: GPL-2.0-only */
/* KUnit: what bolt/last_error says of CPUs that were not put back. */
#ifdef CONFIG_BOLT_KUNIT_TEST

#ifndef _BOLT_TESTS_ERROR_KUNIT_H
#define _BOLT_TESTS_ERROR_KUNIT_H

#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/string.h>

#define MANY 8192	/* CPUs: more than a text has room for */

static void few_are_listed(struct kunit *test)
{
	char text[BOLT_LOST_TEXT] = "";

	bolt_error_lost(text, 3, "random:online");
	KUNIT_EXPECT_STREQ(test, text, "3:random:online");
	bolt_error_lost(text, 12, "cpu:bringup");
	KUNIT_EXPECT_STREQ(test, text, "3:random:online,12:cpu:bringup");
}

/*
 * A text that would be too long is cut after a whole entry, and ",..." follows, however
 * long the names of states are.
 */
static void many_are_cut_at_an_entry(struct kunit *test)
{
	char name[BOLT_STATE_NAME], text[BOLT_LOST_TEXT], entry[BOLT_LOST_TEXT];
	unsigned int len, cpu, first;
	size_t used, n;

	for (len = 1; len < sizeof(name); len++) {
		memset(name, 'n', len);
		name[len] = '\0';
		for (first = 0; first < 2; first++) {
			text[0] = '\0';
			for (cpu = first; cpu < MANY; cpu++)
				bolt_error_lost(text, cpu, name);
			KUNIT_ASSERT_LT(test, strnlen(text, sizeof(text)),
					sizeof(text));
			used = 0;
			for (cpu = first; strcmp(text + used, ",..."); cpu++) {
				n = snprintf(entry, sizeof(entry), "%s%u:%s",
					     used ? "," : "", cpu, name);
				KUNIT_ASSERT_EQ_MSG(test, memcmp(text + used, entry, n),
						    0, "%s", text);
				used += n;
			}
			/* The text has as many entries as fit. */
			n = snprintf(entry, sizeof(entry), ",%u:%s", cpu, name);
			KUNIT_EXPECT_GT_MSG(test, used + n + strlen(",..."),
					    sizeof(text) - 1, "%s", text);
			KUNIT_EXPECT_GT(test, cpu, first);
		}
	}
}

/* Alone, the entry of the largest CPU number fits; a name that is too long is cut. */
static void one_fits_always(struct kunit *test)
{
	char name[2 * BOLT_STATE_NAME], text[BOLT_LOST_TEXT] = "";

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	bolt_error_lost(text, UINT_MAX, name);
	KUNIT_EXPECT_EQ(test, strlen(text),
			strlen("4294967295:") + BOLT_STATE_NAME - 1);
	bolt_error_lost(text, UINT_MAX, name);
	bolt_error_lost(text, UINT_MAX, name);
	KUNIT_EXPECT_STREQ(test, text + strlen(text) - strlen("n,..."), "n,...");
}

static struct kunit_case error_cases[] = {
	KUNIT_CASE(few_are_listed),
	KUNIT_CASE(many_are_cut_at_an_entry),
	KUNIT_CASE(one_fits_always),
	{}
};

static struct kunit_suite error_suite = {
	.name = "bolt_error",
	.test_cases = error_cases,
};

kunit_test_suite(error_suite);

#endif /* _BOLT_TESTS_ERROR_KUNIT_H */

#endif /* CONFIG_BOLT_KUNIT_TEST */

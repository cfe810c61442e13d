// SPDX-License-Identifier: LGPL-2.1-or-later
/* Sets of CPUs as text: cpulists as the kernel's files of bolt/ take them, and masks. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "private.h"

#define LONG_BITS (sizeof(unsigned long) * CHAR_BIT)
#define GROUP_BITS 32	/* bits between two commas of a mask as text */

/** "10-19:2/5": of 10 to 19, the first 2 of every 5 */
struct region {
	unsigned int first;
	unsigned int last;
	unsigned int used;
	unsigned int group;
	bool all;
};

static unsigned long *words(const cpu_set_t *cpus)
{
	return (unsigned long *)cpus;
}

unsigned int set_next(const cpu_set_t *cpus, unsigned int numbers, unsigned int cpu)
{
	while (cpu < numbers) {
		unsigned long word = words(cpus)[cpu / LONG_BITS] >> (cpu % LONG_BITS);

		if (word) {
			cpu += (unsigned int)__builtin_ctzl(word);
			return cpu < numbers ? cpu : numbers;
		}
		cpu += (unsigned int)(LONG_BITS - cpu % LONG_BITS);
	}
	return numbers;
}

void set_subtract(size_t size, cpu_set_t *target, const cpu_set_t *from, const cpu_set_t *without)
{
	size_t i;

	for (i = 0; i < size / sizeof(unsigned long); i++)
		words(target)[i] = words(from)[i] & ~words(without)[i];
}

/* Blanks or commas stand between regions; the text ends at a NUL, or at a newline and a NUL. */
static bool between_regions(char c)
{
	return c == ',' || c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

static bool at_end(const char *text)
{
	return !text[0] || (text[0] == '\n' && !text[1]);
}

static bool ends_region(const char *text)
{
	return between_regions(*text) || at_end(text);
}

static int parse_number(const char **text, unsigned int last, unsigned int *number)
{
	const char *c = *text;
	uint64_t value = 0;

	if (*c == 'N') {
		*number = last;
		*text = c + 1;
		return 0;
	}
	if (!isdigit((unsigned char)*c))
		return -EINVAL;
	for (; isdigit((unsigned char)*c); c++) {
		value = value * 10 + (uint64_t)(*c - '0');
		if (value > UINT_MAX)
			return -ERANGE;
	}
	*number = (unsigned int)value;
	*text = c;
	return 0;
}

static int parse_pattern(const char **text, unsigned int last, struct region *region)
{
	const char *used, *group;
	int err;

	used = ++*text;	/* behind the colon */
	err = parse_number(text, last, &region->used);
	if (err)
		return err;
	if (**text != '/')
		return -EINVAL;
	group = ++*text;
	err = parse_number(text, last, &region->group);
	if (err)
		return err;
	if (region->group && region->used <= region->group)
		return 0;
	/* The error is at the number that is wrong, not at the text behind the pattern. */
	*text = region->group ? used : group;
	return -EINVAL;
}

static int parse_region(const char **text, unsigned int last, struct region *region)
{
	const char *begin = *text;
	int err;

	*region = (struct region){ .last = last, .used = 1, .group = 1 };
	if (!strncasecmp(begin, "all", 3)) {
		region->all = true;
		*text += 3;
	} else {
		err = parse_number(text, last, &region->first);
		if (err)
			return err;
		region->last = region->first;
		if (ends_region(*text))
			goto check;
		if (**text != '-')
			return -EINVAL;
		++*text;
		err = parse_number(text, last, &region->last);
		if (err)
			return err;
	}
	if (**text == ':') {
		err = parse_pattern(text, last, region);
		if (err)
			return err;
	}
	if (!ends_region(*text))
		return -EINVAL;
check:
	if (region->first <= region->last && region->last <= last)
		return 0;
	/*
	 * The range runs backwards, or a number is too large: the error is at the first number
	 * of the range, not at the text behind the range.
	 */
	*text = begin;
	return region->first > region->last ? -EINVAL : -ERANGE;
}

static int add_region(const struct set *set, const cpu_set_t *possible,
		      const struct region *region)
{
	unsigned int cpu;

	for (cpu = region->first; cpu <= region->last; cpu++) {
		if ((cpu - region->first) % region->group >= region->used)
			continue;
		if (!possible || CPU_ISSET_S(cpu, set->size, possible))
			CPU_SET_S(cpu, set->size, set->cpus);
		else if (!region->all)
			return -ERANGE;
	}
	return 0;
}

int set_parse_list(const struct set *set, const cpu_set_t *possible, const char *text,
		   size_t *error_at)
{
	const char *here = text, *begin;
	struct region region;
	int err;

	CPU_ZERO_S(set->size, set->cpus);
	for (;;) {
		while (between_regions(*here))
			here++;
		if (at_end(here))
			return 0;
		begin = here;
		err = parse_region(&here, set->numbers - 1, &region);
		if (err)
			break;
		err = add_region(set, possible, &region);
		if (err) {
			here = begin;
			break;
		}
	}
	CPU_ZERO_S(set->size, set->cpus);
	if (error_at)
		*error_at = (size_t)(here - text);
	return err;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Adds those of the four CPUs from @bit on whose bits are set in @value. */
static int add_digit(const struct set *set, const cpu_set_t *possible, size_t bit, int value)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (!(value & (1 << i)))
			continue;
		if (bit + i >= set->numbers ||
		    (possible && !CPU_ISSET_S(bit + i, set->size, possible)))
			return -ERANGE;
		CPU_SET_S(bit + i, set->size, set->cpus);
	}
	return 0;
}

/*
 * Reads one group of at most eight digits, of which the last one stands before @end, and moves
 * @end to the first one. After an error @end is behind the character that is wrong, or at @begin if
 * digits are missing there.
 */
static int parse_group(const struct set *set, const cpu_set_t *possible, const char *begin,
		       const char **end, size_t bit)
{
	unsigned int i;
	int value, err;

	for (i = 0; *end > begin; i++, --*end) {
		value = digit((*end)[-1]);
		if (value < 0)
			break;
		if (i == GROUP_BITS / 4)
			return -EINVAL;
		err = add_digit(set, possible, bit + i * 4, value);
		if (err)
			return err;
	}
	return i ? 0 : -EINVAL;
}

int set_parse_mask(const struct set *set, const cpu_set_t *possible, const char *text,
		   size_t *error_at)
{
	const char *begin = text, *end;
	size_t bit = 0;
	int err;

	CPU_ZERO_S(set->size, set->cpus);
	while (*begin == ' ' || *begin == '\t')
		begin++;
	if (begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X'))
		begin += 2;
	end = begin + strlen(begin);
	while (end > begin && strchr(" \t\n", end[-1]))
		end--;
	/* The last digit is for the lowest CPUs, so the text is read from its end. */
	for (;; bit += GROUP_BITS) {
		err = parse_group(set, possible, begin, &end, bit);
		if (err)
			break;
		if (end == begin)
			return 0;
		if (end[-1] != ',') {
			err = -EINVAL;
			break;
		}
		end--;
	}
	CPU_ZERO_S(set->size, set->cpus);
	if (error_at)
		*error_at = (size_t)(end - text) - (end > begin);
	return err;
}

char *set_format_list(const struct set *set)
{
	unsigned int first, last;
	size_t length;
	char *text;
	FILE *out = open_memstream(&text, &length);
	bool begun = false;

	if (!out)
		return NULL;
	for (first = set_next(set->cpus, set->numbers, 0); first < set->numbers;
	     first = set_next(set->cpus, set->numbers, last + 1)) {
		last = first;
		while (last + 1 < set->numbers && CPU_ISSET_S(last + 1, set->size, set->cpus))
			last++;
		fprintf(out, first == last ? "%s%u" : "%s%u-%u", begun ? "," : "", first, last);
		begun = true;
	}
	if (ferror(out)) {
		fclose(out);
		free(text);
		return NULL;
	}
	return fclose(out) ? NULL : text;
}

char *set_format_mask(const struct set *set)
{
	unsigned int groups = (set->numbers + GROUP_BITS - 1) / GROUP_BITS;
	/* Each group has at most eight digits, and a comma or the NUL. */
	char *text = malloc((size_t)groups * 9), *out = text;
	unsigned int group, i;

	if (!text)
		return NULL;
	for (group = groups; group-- > 0;) {
		/*
		 * As in the kernel's files, the first group has no more digits than the CPU numbers
		 * of the set need.
		 */
		unsigned int left = set->numbers - group * GROUP_BITS;
		int digits = left >= GROUP_BITS ? 8 : (int)(left + 3) / 4;
		uint32_t value = 0;

		for (i = 0; i < GROUP_BITS && i < left; i++) {
			if (CPU_ISSET_S(group * GROUP_BITS + i, set->size, set->cpus))
				value |= UINT32_C(1) << i;
		}
		out += sprintf(out, "%0*x%s", digits, value, group ? "," : "");
	}
	return text;
}

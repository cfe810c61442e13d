/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The meaning of texts for files that take no CPUs: files of Bolt, as documented, and the
 * kernel's own hotplug/target and hotplug/fail.
 */
#ifndef SELFTESTS_BOLT_GRAMMAR_H
#define SELFTESTS_BOLT_GRAMMAR_H

#include <limits.h>

#include "model.h"

/*
 * Returns a copy of @text, which the caller frees, without the newline, the NUL, or the
 * newline and the NUL with which @text may end; or NULL if a NUL is left.
 */
static inline char *grammar_text(const char *text, size_t len)
{
	if (len && !text[len - 1])
		len--;
	if (len && text[len - 1] == '\n')
		len--;
	return memchr(text, '\0', len) ? NULL : strndup(text, len);
}

/*
 * Reads a number up to @max that has only digits. Returns 0, -EINVAL or -ERANGE: -ERANGE
 * also if text follows a number that does not fit in 64 bits.
 */
static inline int grammar_digits(const char *at, unsigned long long max,
				 unsigned long long *number)
{
	bool over = false;

	if (!isdigit((unsigned char)*at))
		return -EINVAL;
	for (*number = 0; isdigit((unsigned char)*at); at++)
		over |= __builtin_mul_overflow(*number, 10ULL, number) ||
			__builtin_add_overflow(*number, (unsigned long long)(*at - '0'),
					       number);
	if (over)
		return -ERANGE;
	if (*at)
		return -EINVAL;
	return *number > max ? -ERANGE : 0;
}

/* Returns the start, in @b, of the first line in which @a and @b differ. */
static inline const char *difference(const char *a, const char *b)
{
	const char *line = b;

	for (; *a && *a == *b; a++, b++)
		if (*b == '\n')
			line = b + 1;
	return line;
}

/* Whether @len bytes may follow a text: a newline, a NUL, both in this order, or nothing. */
static inline bool grammar_ends(const char *text, size_t len)
{
	if (len && *text == '\n') {
		text++;
		len--;
	}
	return !len || (len == 1 && !*text);
}

/*
 * Applies the rule for an unsigned int, as in settle_delay_ms. Returns 0, or the error with
 * which a file refuses the number.
 */
static inline int grammar_number(const struct world *world, const char *text,
				 size_t len, unsigned long long *number)
{
	char *copy;
	int err;

	if (len >= world->page)
		return -E2BIG;
	copy = grammar_text(text, len);
	err = copy ? grammar_digits(copy + (*copy == '+'), UINT_MAX, number) : -EINVAL;
	free(copy);
	return err;
}

/*
 * Applies the rule for a file that takes one of two words. Returns 0, with the index of
 * the word in @which, or the error with which the file refuses the text.
 */
static inline int grammar_choice(const struct world *world, const char *text, size_t len,
				 const char *const choices[2], int *which)
{
	if (len >= world->page)
		return -E2BIG;
	for (*which = 0; *which < 2; ++*which) {
		size_t word = strlen(choices[*which]);

		if (len >= word && !memcmp(text, choices[*which], word) &&
		    grammar_ends(text + word, len - word))
			return 0;
	}
	return -EINVAL;
}

/* Applies the rule for a file that takes 0 or 1. */
static inline int grammar_switch(const struct world *world, const char *text,
				 size_t len, unsigned long long *on)
{
	static const char *const digits[2] = { "0", "1" };
	int which = 0, err = grammar_choice(world, text, len, digits, &which);

	*on = which;
	return err;
}

/* The words for a hotplug state; the first word takes the effect of all other words back. */
enum { DEFAULT, CRITICAL, SERIAL, UNFIT, WORDS };

static const char *const override_words[WORDS] = {
	"default", "critical", "serial", "unfit",
};

/*
 * Applies the rule for a line for bolt/states: the number of a hotplug state, above 0 and
 * below @online, and a word.
 */
static inline int grammar_override(const struct world *world, const char *text,
				   size_t len, unsigned long long online,
				   unsigned long long *state, int *which)
{
	char *copy, *at, *word, *end;
	int err = -EINVAL;

	if (len >= world->page)
		return -E2BIG;
	copy = grammar_text(text, len);
	for (at = copy; at && *at; at++)
		if (*at != '\t' && (*at < ' ' || *at > '~'))
			break;
	if (!at || *at)
		goto out;
	at = copy + strspn(copy, " \t");
	word = at + strcspn(at, " \t");
	if (!*word)
		goto out;
	*word++ = '\0';
	word += strspn(word, " \t");
	end = word + strcspn(word, " \t");
	if (end[strspn(end, " \t")])
		goto out;
	*end = '\0';
	for (*which = 0; *which < WORDS; ++*which)
		if (!strcmp(word, override_words[*which]))
			break;
	if (grammar_digits(at + (*at == '+'), online - 1, state) || !*state)
		goto out;
	err = *which < WORDS ? 0 : -EINVAL;
out:
	free(copy);
	return err;
}

/*
 * Applies the rule by which the kernel's own files read a signed number, which ends at the
 * first NUL.
 */
static inline int grammar_int(const char *text, size_t len, long long *number)
{
	char *copy = strndup(text, len);
	bool minus = *copy == '-';
	unsigned long long size = 0;
	int err;

	len = strlen(copy);
	if (len && copy[len - 1] == '\n')
		copy[len - 1] = '\0';
	err = grammar_digits(copy + (minus || *copy == '+'),
			     INT_MAX + (minus ? 1ULL : 0), &size);
	*number = minus ? -(long long)size : (long long)size;
	free(copy);
	return err;
}

#endif /* SELFTESTS_BOLT_GRAMMAR_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* The documented meaning of what is written to the files that hold no CPUs. */
#ifndef SELFTESTS_BOLT_GRAMMAR_H
#define SELFTESTS_BOLT_GRAMMAR_H

#include <limits.h>

#include "model.h"

/* Without one newline and one NUL, if they are the last: a copy, to be freed. */
static inline char *grammar_text(const char *text, size_t len)
{
	if (len && !text[len - 1])
		len--;
	if (len && text[len - 1] == '\n')
		len--;
	return memchr(text, '\0', len) ? NULL : strndup(text, len);
}

/* One number, of digits and no more. Too many of them are out of range at once. */
static inline int grammar_digits(const char *at, unsigned long long max,
				 unsigned long long *number)
{
	bool over = false;

	if (!isdigit(*at))
		return -EINVAL;
	for (*number = 0; isdigit(*at); at++)
		over |= __builtin_mul_overflow(*number, 10ULL, number) ||
			__builtin_add_overflow(*number, (unsigned long long)(*at - '0'),
					       number);
	if (over)
		return -ERANGE;
	if (*at)
		return -EINVAL;
	return *number > max ? -ERANGE : 0;
}

/* Where two texts begin to differ: from the start of the line. */
static inline const char *difference(const char *a, const char *b)
{
	const char *line = b;

	for (; *a && *a == *b; a++, b++)
		if (*b == '\n')
			line = b + 1;
	return line;
}

/* Whether @len bytes are what may follow a text: one newline, one NUL, both or none. */
static inline bool grammar_ends(const char *text, size_t len)
{
	if (len && *text == '\n') {
		text++;
		len--;
	}
	return !len || (len == 1 && !*text);
}

/* Of an unsigned int, as settle_delay_ms: 0, or the error it is refused with. */
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

/* Of 0 or 1. */
static inline int grammar_switch(const struct world *world, const char *text,
				 size_t len, unsigned long long *on)
{
	int err = grammar_number(world, text, len, on);

	return err == -E2BIG ? err : err || *on > 1 ? -EINVAL : 0;
}

/* Of one of two words: which, or the error that the text is refused with. */
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

/* What may be said of a hotplug state; the first takes all others back. */
enum { DEFAULT, CRITICAL, SERIAL, UNFIT, WORDS };

static const char *const override_words[WORDS] = {
	"default", "critical", "serial", "unfit",
};

/* Of a line for debugfs's states: a hotplug state below @online, and a word. */
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

/* Of a signed number as the kernel's own files take it: up to a NUL. */
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

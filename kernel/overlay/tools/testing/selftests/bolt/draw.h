/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random numbers and texts that are the same in each run with the same seed, so
 * that a failure can be repeated.
 */
#ifndef SELFTESTS_BOLT_DRAW_H
#define SELFTESTS_BOLT_DRAW_H

#include <stdio.h>

#include "../kselftest.h"
#include "lib/xorshift.h"

/* Draws a number from 0 to @n - 1. */
static inline unsigned int draw(unsigned int *seed, unsigned int n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % n;
}

/*
 * Draws a text that may look like a list of CPUs; at most @size bytes, not
 * terminated.
 */
static inline size_t draw_nonsense(unsigned int *seed, char *text, size_t size)
{
	static const char * const parts[] = {
		"0", "1", "2-3", "3-1", "-", ",", ":", "/", "N", "all", "none",
		" ", "\t", "\n", "1-", "0-99", "4294967296", "99999999999999999999",
		"-1", "0x1", "1:1/2", "1-3:0/0", "1-3:5/2", "\xff", "\x80", "%n",
		"%s", "\x01", "1e3", "0b1", "+1", "~1", "a-f", "ALL", "1..3",
	};
	size_t len = 0, n = 1 + draw(seed, 6);

	/* One text in sixteen fills almost all of @size. */
	if (!draw(seed, 16))
		n = size;
	while (n-- && len + 32 < size) {
		const char *part = parts[draw(seed, ARRAY_SIZE(parts))];

		if (draw(seed, 8))
			len += sprintf(text + len, "%s", part);
		else
			text[len++] = draw(seed, 256);
	}
	return len;
}

/* Draws a length for a text: short, or near one page or two, where most limits are. */
static inline size_t draw_length(unsigned long long *seed, size_t page)
{
	size_t lengths[] = { page - 1, page, page + 1, 2 * page - 1, 2 * page + 8 };

	return draw64(seed, 2) ? draw64(seed, 40) : lengths[draw64(seed, 5)];
}

#endif /* SELFTESTS_BOLT_DRAW_H */

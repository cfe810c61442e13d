/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading bolt/last_error. */
#ifndef SELFTESTS_BOLT_ERRORS_H
#define SELFTESTS_BOLT_ERRORS_H

#include "bolt.h"

#define TEXT_MAX 256

/*
 * Reads the last line of last_error: the number of its batch, and the text after that
 * number. Returns how many lines last_error has, or -1 on an error.
 */
static inline int last_error(char last[TEXT_MAX], unsigned long *batch)
{
	char text[4097], *line, *next;
	int n = 0, used;

	last[0] = '\0';
	if (get(BOLT_DIR "last_error", text, sizeof(text)))
		return -1;
	for (line = text; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		/* Each line begins with the number of its batch. */
		if (sscanf(line, "batch=%lu %n", batch, &used) != 1)
			return -1;
		snprintf(last, TEXT_MAX, "%s", line + used);
		n++;
	}
	return n;
}

#endif /* SELFTESTS_BOLT_ERRORS_H */

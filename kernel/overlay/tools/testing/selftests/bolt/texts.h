/* SPDX-License-Identifier: GPL-2.0-only */
/* Whole texts of files, for tests that compare what files say before and after a write. */
#ifndef SELFTESTS_BOLT_TEXTS_H
#define SELFTESTS_BOLT_TEXTS_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/*
 * Removes the lines of debugfs/bolt/stats that say how much memory is kept, because these
 * amounts change when other CPUs free objects in the slabs of parked CPUs. Returns the new
 * length.
 */
static inline size_t drop_kept(char *text, size_t n)
{
	size_t left = 0;

	for (size_t at = 0, next; at < n; at = next) {
		const char *end = memchr(text + at, '\n', n - at);

		next = end ? (size_t)(end - text) + 1 : n;
		if (next - at > 4 && !memcmp(text + at, "kept", 4))
			continue;
		memmove(text + left, text + at, next - at);
		left += next - at;
	}
	return left;
}

#endif /* SELFTESTS_BOLT_TEXTS_H */

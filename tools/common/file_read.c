// SPDX-License-Identifier: GPL-2.0-only
/* Reads a small file below a root directory, for cpubolt and cpuboltd */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "file_read.h"

static char *read_all(int fd, size_t *got_length)
{
	size_t size = 4096, length = 0;
	char *text = NULL;

	for (;;) {
		char *longer = realloc(text, size);
		ssize_t got;

		if (!longer)
			break;
		text = longer;
		got = read(fd, text + length, size - length - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		length += (size_t)got;
		text[length] = '\0';
		if (!got) {
			if (got_length)
				*got_length = length;
			return text;
		}
		/*
		 * A binary sysfs file may give a byte less than asked. Never ask for one byte,
		 * because a read of no byte means the end of the file.
		 */
		if (length >= size - 2)
			size *= 2;
	}
	free(text);
	return NULL;
}

char *file_read(const char *root, const char *path, size_t *length)
{
	char *full, *text;
	int fd, error;

	if (asprintf(&full, "%s%s", root, path) < 0)
		return NULL;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	free(full);
	if (fd < 0)
		return NULL;
	text = read_all(fd, length);
	error = errno;
	close(fd);
	errno = error;
	return text;
}

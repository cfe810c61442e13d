// SPDX-License-Identifier: GPL-2.0-only
/* Writes small files below a root directory */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"

static int write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t done = write(fd, text, left);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		text += done;
		left -= (size_t)done;
	}
	return 0;
}

int file_replace(const char *root, const char *path, const char *text)
{
	char *full, *other = NULL;
	int fd, err;

	if (asprintf(&full, "%s%s", root, path) < 0)
		return -ENOMEM;
	if (asprintf(&other, "%s.new", full) < 0) {
		free(full);
		return -ENOMEM;
	}
	unlink(other);
	fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	err = fd < 0 ? -errno : write_all(fd, text);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	if (!err && rename(other, full))
		err = -errno;
	if (err && fd >= 0)
		unlink(other);
	free(other);
	free(full);
	return err;
}

int file_write(const char *root, const char *path, const char *text)
{
	char *full;
	int fd, err;

	if (asprintf(&full, "%s%s", root, path) < 0)
		return -ENOMEM;
	fd = open(full, O_WRONLY | O_TRUNC | O_CLOEXEC);
	err = fd < 0 ? -errno : write_all(fd, text);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	free(full);
	return err;
}

int file_remove(const char *root, const char *path)
{
	char *full;
	int err = 0;

	if (asprintf(&full, "%s%s", root, path) < 0)
		return -ENOMEM;
	if (unlink(full) && errno != ENOENT)
		err = -errno;
	free(full);
	return err;
}

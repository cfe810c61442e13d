// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reads and writes files below a directory: of sysfs, /proc and /run, or of a recorded tree. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

#define FIRST_READ 4096

size_t sysfs_text_max(void)
{
	long page = sysconf(_SC_PAGESIZE);

	return (page > 0 ? (size_t)page : 4096) - 1;
}

int sysfs_open(int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_file(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

static ssize_t read_some(int fd, char *buffer, size_t size)
{
	ssize_t got;

	do {
		got = read(fd, buffer, size);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static int read_all(int fd, char **text)
{
	size_t room = FIRST_READ, length = 0;
	char *buffer = NULL, *larger;
	ssize_t got;

	do {
		if (!buffer || room - length < FIRST_READ) {
			room *= buffer ? 2 : 1;
			larger = realloc(buffer, room + 1);
			if (!larger) {
				free(buffer);
				return -ENOMEM;
			}
			buffer = larger;
		}
		got = read_some(fd, buffer + length, room - length);
		if (got > 0)
			length += (size_t)got;
		if (length >= SYSFS_READ_MAX)
			got = -EFBIG;
		if (got < 0) {
			free(buffer);
			return (int)got;
		}
		/*
		 * A read() gives less than FIRST_READ bytes, which are no more than a page, only at
		 * the end of a file. But of a list of CPUs in a binary file, as of a package or a
		 * node, a read() before the end may give FIRST_READ - 1 bytes.
		 */
	} while (got >= FIRST_READ - 1);
	buffer[length] = '\0';
	if (strlen(buffer) < length) {
		free(buffer);
		return -EINVAL;
	}
	*text = buffer;
	return 0;
}

int sysfs_read(int dir, const char *name, char **text)
{
	int fd = open_file(dir, name, O_RDONLY);
	int err;

	*text = NULL;
	if (fd < 0)
		return fd;
	err = read_all(fd, text);
	close(fd);
	return err;
}

int sysfs_line(int dir, const char *name, char *line, size_t size)
{
	int fd = open_file(dir, name, O_RDONLY);
	ssize_t got;

	line[0] = '\0';
	if (fd < 0)
		return fd;
	/* One read: sysfs gives all of a small file at once. */
	got = read_some(fd, line, size);
	close(fd);
	if (got < 0)
		return (int)got;
	if ((size_t)got == size) {
		line[0] = '\0';
		return -EMSGSIZE;
	}
	line[got] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

int sysfs_parse_number(const char *text, int *number)
{
	char *end;
	long value;

	if (!(text[0] >= '0' && text[0] <= '9') &&
	    !(text[0] == '-' && text[1] >= '0' && text[1] <= '9'))
		return -EINVAL;
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || *end || value < INT_MIN || value > INT_MAX)
		return -EINVAL;
	*number = (int)value;
	return 0;
}

int sysfs_number(int dir, const char *name, int *number)
{
	char line[32];
	int err = sysfs_line(dir, name, line, sizeof(line));

	return err ? err : sysfs_parse_number(line, number);
}

int sysfs_write(int dir, const char *name, const void *data, size_t size)
{
	int fd = open_file(dir, name, O_WRONLY | O_TRUNC);
	ssize_t put;
	int err = 0;

	if (fd < 0)
		return fd;
	put = write(fd, data, size);
	if (put < 0)
		err = -errno;
	else if ((size_t)put != size)
		err = -EIO;
	close(fd);
	return err;
}

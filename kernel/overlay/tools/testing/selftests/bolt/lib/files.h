/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading and writing files of the kernel. All functions that return int return 0 or -errno. */
#ifndef SELFTESTS_BOLT_LIB_FILES_H
#define SELFTESTS_BOLT_LIB_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Writes @text in one write(); @flags are further flags of open(). */
static inline int put_flags(const char *path, const char *text, size_t len, int flags)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	err = n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
	close(fd);
	return err;
}

static inline int put_bytes(const char *path, const char *text, size_t len)
{
	return put_flags(path, text, len, 0);
}

static inline int put(const char *path, const char *text)
{
	return put_bytes(path, text, strlen(text));
}

/* Reads a file with one read(), up to @size - 1 bytes, and drops a newline at the end of these. */
static inline int get(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return n;
	if (n && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return 0;
}

/* Reads a file to its end, or until @text is full. Returns the length, or -errno. */
static inline ssize_t get_all(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	while (len < size && (n = read(fd, text + len, size - len)) > 0)
		len += n;
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? n : (ssize_t)len;
}

/* Whether the file holds just @wanted, and maybe a newline. */
static inline bool is(const char *path, const char *wanted)
{
	char text[4096];

	return !get(path, text, sizeof(text)) && !strcmp(text, wanted);
}

#endif /* SELFTESTS_BOLT_LIB_FILES_H */

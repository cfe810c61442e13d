// SPDX-License-Identifier: GPL-2.0-only
/* Changes files of sysfs for a while. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings.h"

/* Reads a short file, without the newline at its end. */
static int read_value(const char *path, char *value, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read(fd, value, size - 1);
	if (got < 0)
		got = -errno;
	close(fd);
	if (got < 0)
		return got;
	value[got] = '\0';
	value[strcspn(value, "\n")] = '\0';
	return 0;
}

static int write_value(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;
	size_t length = strlen(value);

	if (fd < 0)
		return -errno;
	/* An empty value is written as an empty line: a write() of no bytes does nothing. */
	if (write(fd, length ? value : "\n", length ?: 1) < 0)
		error = -errno;
	close(fd);
	return error;
}

static struct setting *find(const struct settings *settings, const char *path)
{
	for (size_t i = 0; i < settings->count; i++)
		if (!strcmp(settings->list[i].path, path))
			return &settings->list[i];
	return NULL;
}

static int remember(struct settings *settings, const char *path, const char *before)
{
	struct setting *more = reallocarray(settings->list, settings->count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	settings->list = more;
	more += settings->count;
	more->path = strdup(path);
	more->before = strdup(before);
	if (!more->path || !more->before) {
		free(more->path);
		free(more->before);
		return -ENOMEM;
	}
	settings->count++;
	return 0;
}

int settings_change(struct settings *settings, const char *path, const char *value)
{
	char before[256];
	int error = read_value(path, before, sizeof(before));

	if (error || !strcmp(before, value))
		return error;
	if (!find(settings, path)) {
		error = remember(settings, path, before);
		if (error)
			return error;
	}
	return write_value(path, value);
}

size_t settings_put_back(struct settings *settings,
			 void (*failed)(const char *path, const char *before, int error))
{
	size_t failures = 0;

	while (settings->count) {
		struct setting *setting = &settings->list[--settings->count];
		int error = write_value(setting->path, setting->before);

		if (error) {
			failures++;
			if (failed)
				failed(setting->path, setting->before, error);
		}
		free(setting->path);
		free(setting->before);
	}
	free(settings->list);
	settings->list = NULL;
	return failures;
}

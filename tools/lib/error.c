// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reads bolt/last_error, with lines "batch=N pid=P cpu=C state=NAME errno=E[ undo=C:NAME,...]". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

#define LONGEST_LINE 1024

/* Finds "@key=" at the beginning of a word of @line; copies what follows, up to a blank. */
static bool field(const char *line, const char *key, char *value, size_t size)
{
	size_t length = strlen(key), n;

	for (; *line; line += strcspn(line, " ")) {
		line += strspn(line, " ");
		if (strncmp(line, key, length) || line[length] != '=')
			continue;
		line += length + 1;
		n = strcspn(line, " ");
		if (n >= size)
			n = size - 1;
		memcpy(value, line, n);
		value[n] = '\0';
		return true;
	}
	value[0] = '\0';
	return false;
}

static bool number(const char *line, const char *key, int *value)
{
	char text[16];

	return field(line, key, text, sizeof(text)) && !sysfs_parse_number(text, value) &&
	       *value >= 0;
}

static bool batch(const char *line, unsigned long long *value)
{
	char text[24], *end;

	if (!field(line, "batch", text, sizeof(text)) || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && !*end;
}

static bool parse(const char *text, struct error_line *line)
{
	memset(line, 0, sizeof(*line));
	if (!batch(text, &line->batch) || !number(text, "pid", &line->pid) ||
	    !number(text, "cpu", &line->cpu) || !number(text, "errno", &line->err) ||
	    !field(text, "state", line->state, sizeof(line->state)))
		return false;
	field(text, "undo", line->undo, sizeof(line->undo));
	return true;
}

int error_next(const char **text, struct error_line *line)
{
	char copy[LONGEST_LINE];
	size_t length;
	bool good;

	while (**text) {
		length = strcspn(*text, "\n");
		good = length < sizeof(copy);
		if (good) {
			memcpy(copy, *text, length);
			copy[length] = '\0';
		}
		*text += length;
		*text += **text == '\n';
		if (good && parse(copy, line))
			return 1;
	}
	return 0;
}

int error_undo_next(const char **undo)
{
	char text[16];
	size_t length;
	int cpu;

	*undo += strspn(*undo, ",");
	if (!**undo)
		return -1;
	length = strcspn(*undo, ":,");
	if (length >= sizeof(text))
		return -2;
	memcpy(text, *undo, length);
	text[length] = '\0';
	/* A list that the kernel has cut ends with "...". */
	if (sysfs_parse_number(text, &cpu) || cpu < 0)
		return -2;
	*undo += strcspn(*undo, ",");
	return cpu;
}

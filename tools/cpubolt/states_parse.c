// SPDX-License-Identifier: GPL-2.0-only
/* Reads the files states and stats of Bolt in debugfs, and the kernel's own file of states. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "states_parse.h"

#define MAX_COLUMNS	32

enum column {
	COLUMN_OTHER,
	COLUMN_STATE,
	COLUMN_CLASS,
	COLUMN_FIT,
	COLUMN_UNIT,
	COLUMN_RUNS,
	COLUMN_SKIPS,
	COLUMN_SETTLES,
	COLUMN_SLOWED,
	COLUMN_NS,
	COLUMN_NAME,
	COLUMN_COUNT
};

static const char *const column_names[COLUMN_COUNT] = {
	[COLUMN_STATE]	 = "state",
	[COLUMN_CLASS]	 = "class",
	[COLUMN_FIT]	 = "fit",
	[COLUMN_UNIT]	 = "unit",
	[COLUMN_RUNS]	 = "runs",
	[COLUMN_SKIPS]	 = "skips",
	[COLUMN_SETTLES] = "settles",
	[COLUMN_SLOWED]	 = "slowed",
	[COLUMN_NS]	 = "ns",
	[COLUMN_NAME]	 = "name",
};

/** The order of the columns in a line; the name is last, and is followed by the reason */
struct layout {
	enum column columns[MAX_COLUMNS];
	size_t count;
};

static enum column column_of(const char *word, size_t length)
{
	for (size_t i = COLUMN_STATE; i < COLUMN_COUNT; i++)
		if (strlen(column_names[i]) == length && !strncmp(column_names[i], word, length))
			return i;
	return COLUMN_OTHER;
}

/* Reads "# state class fit unit runs skips settles slowed ns name (reason)". */
static int read_layout(const char *line, size_t length, struct layout *layout)
{
	const char *end = line + length;
	unsigned int seen = 0;

	layout->count = 0;
	if (!length || *line != '#')
		return -EINVAL;
	for (line++; line < end && layout->count < MAX_COLUMNS;) {
		size_t word;
		enum column column;

		for (; line < end && *line == ' '; line++)
			;
		for (word = 0; line + word < end && line[word] != ' '; word++)
			;
		if (!word)
			break;
		column = column_of(line, word);
		layout->columns[layout->count++] = column;
		seen |= 1u << column;
		line += word;
		if (column == COLUMN_NAME)
			return (seen | 1) == (1u << COLUMN_COUNT) - 1 ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int read_number(const char *word, size_t length, long long *value)
{
	char text[24], *end;

	if (!length || length >= sizeof(text))
		return -EINVAL;
	memcpy(text, word, length);
	text[length] = '\0';
	errno = 0;
	*value = strtoll(text, &end, 10);
	return errno || *end || isspace((unsigned char)*text) ? -EINVAL : 0;
}

/* Reads a word. A "!" at its end means that the administrator has set the value. */
static int read_marked(const char *word, size_t length, char **text, bool *marked)
{
	*marked = length && word[length - 1] == '!';
	if (*marked)
		length--;
	free(*text);
	*text = strndup(word, length);
	return *text ? 0 : -ENOMEM;
}

static int read_cell(struct state_row *row, enum column column, const char *word, size_t length)
{
	bool marked;
	long long number;
	int error;

	switch (column) {
	case COLUMN_CLASS:
		return read_marked(word, length, &row->class, &row->class_moved);
	case COLUMN_FIT:
		return read_marked(word, length, &row->fit, &row->fit_declared);
	case COLUMN_UNIT:
		return read_marked(word, length, &row->unit, &marked);
	case COLUMN_OTHER:
		return 0;
	default:
		break;
	}
	error = read_number(word, length, &number);
	if (error)
		return error;
	switch (column) {
	case COLUMN_STATE:
		if (number < 0 || number > INT_MAX)
			return -EINVAL;
		row->number = number;
		break;
	case COLUMN_RUNS:
		row->runs = number;
		break;
	case COLUMN_SKIPS:
		row->skips = number;
		break;
	case COLUMN_SETTLES:
		row->settles = number;
		break;
	case COLUMN_SLOWED:
		row->slowed = number;
		break;
	default:
		row->ns = number;
		break;
	}
	return 0;
}

/* Reads "NAME (REASON)". As the name of a driver's state may contain blanks, " (" ends a name. */
static int read_name(struct state_row *row, const char *text, size_t length)
{
	const char *open = memmem(text, length, " (", 2);
	size_t name = open ? (size_t)(open - text) : length;
	size_t reason = open ? length - name - 2 : 0;

	if (!name)
		return -EINVAL;
	if (reason && open[2 + reason - 1] == ')')
		reason--;
	row->name = strndup(text, name);
	row->reason = strndup(open ? open + 2 : "", reason);
	return row->name && row->reason ? 0 : -ENOMEM;
}

static int read_row(const struct layout *layout, struct state_row *row, const char *line,
		    size_t length)
{
	const char *end = line + length;

	for (size_t i = 0; i < layout->count; i++) {
		size_t word = 0;
		int error;

		for (; line < end && *line == ' '; line++)
			;
		if (layout->columns[i] == COLUMN_NAME)
			return read_name(row, line, end - line);
		for (; line + word < end && line[word] != ' '; word++)
			;
		if (!word)
			return -EINVAL;
		error = read_cell(row, layout->columns[i], line, word);
		if (error)
			return error;
		line += word;
	}
	return -EINVAL;
}

static void clear_row(struct state_row *row)
{
	free(row->class);
	free(row->fit);
	free(row->unit);
	free(row->name);
	free(row->reason);
}

void states_free(struct state_row *rows, size_t count)
{
	if (!rows)
		return;
	for (size_t i = 0; i < count; i++)
		clear_row(&rows[i]);
	free(rows);
}

static struct state_row *add_row(struct state_row **rows, size_t *count)
{
	struct state_row *more = reallocarray(*rows, *count + 1, sizeof(*more));

	if (!more)
		return NULL;
	*rows = more;
	more += (*count)++;
	memset(more, 0, sizeof(*more));
	return more;
}

int states_parse(const char *text, struct state_row **rows, size_t *count, size_t *line)
{
	struct layout layout = { .count = 0 };
	size_t number = 0;
	int error = -EINVAL;

	*rows = NULL;
	*count = 0;
	while (*text) {
		size_t length = strcspn(text, "\n");
		struct state_row *row;

		number++;
		if (!layout.count) {
			error = read_layout(text, length, &layout);
		} else if (length) {
			row = add_row(rows, count);
			error = row ? read_row(&layout, row, text, length) : -ENOMEM;
		}
		if (error)
			break;
		text += length + (text[length] == '\n');
	}
	if (line)
		*line = number;
	if (error) {
		states_free(*rows, *count);
		*rows = NULL;
		*count = 0;
	}
	return error;
}

/* Reads " 85: cpu:kick_ap". */
static int read_native(struct state_row *row, const char *line, size_t length)
{
	const char *colon = memchr(line, ':', length);
	long long number;
	int error;

	if (!colon)
		return -EINVAL;
	for (; line < colon && *line == ' '; line++, length--)
		;
	error = read_number(line, colon - line, &number);
	if (error || number < 0 || number > INT_MAX)
		return -EINVAL;
	row->number = number;
	length -= colon + 1 - line;
	for (colon++; length && *colon == ' '; colon++, length--)
		;
	if (!length)
		return -EINVAL;
	row->name = strndup(colon, length);
	return row->name ? 0 : -ENOMEM;
}

int states_parse_native(const char *text, struct state_row **rows, size_t *count)
{
	int error = 0;

	*rows = NULL;
	*count = 0;
	while (*text && !error) {
		size_t length = strcspn(text, "\n");

		if (length) {
			struct state_row *row = add_row(rows, count);

			error = row ? read_native(row, text, length) : -ENOMEM;
		}
		text += length + (text[length] == '\n');
	}
	if (error) {
		states_free(*rows, *count);
		*rows = NULL;
		*count = 0;
	}
	return error;
}

int states_find(const struct state_row *rows, size_t count, const char *what,
		const struct state_row **found)
{
	long long number;
	bool numeric = !read_number(what, strlen(what), &number);

	*found = NULL;
	for (size_t i = 0; i < count; i++) {
		if (numeric ? rows[i].number != number : !!strcmp(rows[i].name, what))
			continue;
		if (*found)
			return -ENOTUNIQ;
		*found = &rows[i];
	}
	return *found ? 0 : -ENOENT;
}

char *stats_value(const char *text, const char *key)
{
	size_t length = strlen(key);

	while (*text) {
		size_t line = strcspn(text, "\n");

		if (line > length && !strncmp(text, key, length) && text[length] == ' ')
			return strndup(text + length + 1, line - length - 1);
		text += line + (text[line] == '\n');
	}
	return NULL;
}

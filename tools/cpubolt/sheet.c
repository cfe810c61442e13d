// SPDX-License-Identifier: GPL-2.0-only
/* Tables of the subcommands states, irq, bench, energy and doctor */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "sheet.h"

static int find_column(const struct sheet *sheet, const char *name, size_t length)
{
	for (size_t i = 0; i < sheet->count; i++)
		if (strlen(sheet->columns[i].name) == length &&
		    !strncasecmp(sheet->columns[i].name, name, length))
			return i;
	return -1;
}

static bool add_column(struct sheet *sheet, size_t i)
{
	const struct sheet_column *column = &sheet->columns[i];
	struct libscols_column *made;

	if (sheet->places[i] >= 0)
		return true;
	sheet->places[i] = scols_table_get_ncols(sheet->table);
	made = scols_table_new_column(sheet->table, column->name, 0, column->flags);
	if (!made)
		return false;
	scols_column_set_json_type(made, column->json);
	if (column->flags & SCOLS_FL_WRAP) {
		/* Newlines in a text are kept: libsmartcols breaks the text there. */
		scols_column_set_safechars(made, "\n");
		scols_column_set_wrapfunc(made, scols_wrapnl_chunksize, scols_wrapnl_nextchunk,
					  NULL);
	}
	return true;
}

static int add_chosen(struct sheet *sheet, const char *chosen)
{
	while (chosen && *chosen) {
		size_t length = strcspn(chosen, ",");
		int column = find_column(sheet, chosen, length);

		if (column < 0)
			return fail(EXIT_USAGE, "\"%.*s\" is no column (see --help)", (int)length,
				    chosen);
		if (!add_column(sheet, column))
			return fail(EXIT_FAILED, "no memory");
		chosen += length + (chosen[length] == ',');
	}
	return EXIT_DONE;
}

int sheet_open(struct sheet *sheet, const char *name, const struct sheet_column *columns,
	       size_t count, const char *chosen, bool json)
{
	int code = EXIT_DONE;

	*sheet = (struct sheet){ .columns = columns, .count = count };
	sheet->table = scols_new_table();
	sheet->places = calloc(count, sizeof(*sheet->places));
	if (!sheet->table || !sheet->places) {
		sheet_close(sheet);
		return fail(EXIT_FAILED, "no memory");
	}
	scols_table_set_name(sheet->table, name);
	scols_table_enable_json(sheet->table, json);
	for (size_t i = 0; i < count; i++)
		sheet->places[i] = -1;
	for (size_t i = 0; i < count && !chosen; i++)
		if ((columns[i].shown || json) && !add_column(sheet, i))
			code = fail(EXIT_FAILED, "no memory");
	if (code == EXIT_DONE)
		code = add_chosen(sheet, chosen);
	if (code == EXIT_DONE && !scols_table_get_ncols(sheet->table))
		code = fail(EXIT_USAGE, "--output names no column");
	if (code != EXIT_DONE)
		sheet_close(sheet);
	return code;
}

void sheet_line(struct sheet *sheet)
{
	sheet->line = scols_table_new_line(sheet->table, NULL);
	if (!sheet->line)
		exit(fail(EXIT_FAILED, "no memory"));
}

/* JSON is UTF-8: bytes of another encoding, as in the name of a device, become "?". */
static void make_utf8(char *text)
{
	for (; *text; text += utf8_size(text))
		if (!utf8_size(text))
			*text = '?';
}

void sheet_put(struct sheet *sheet, size_t column, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	if (sheet->places[column] < 0)
		return;
	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length >= 0 && scols_table_is_json(sheet->table))
		make_utf8(text);
	if (length < 0 || scols_line_refer_data(sheet->line, sheet->places[column], text))
		exit(fail(EXIT_FAILED, "no memory"));
}

void sheet_print(struct sheet *sheet)
{
	if (scols_table_is_json(sheet->table) || scols_table_get_nlines(sheet->table))
		scols_print_table(sheet->table);
	sheet_close(sheet);
}

void sheet_close(struct sheet *sheet)
{
	scols_unref_table(sheet->table);
	free(sheet->places);
	sheet->table = NULL;
	sheet->places = NULL;
}

void sheet_help(const struct sheet_column *columns, size_t count)
{
	puts("\nColumns for --output:");
	for (size_t i = 0; i < count; i++)
		printf(" %-10s %s\n", columns[i].name, columns[i].help);
}

// SPDX-License-Identifier: GPL-2.0-only
/* Tables of CPUs, printed by libsmartcols */
#include <errno.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sets.h"
#include "table.h"

/* A value may be the list of all CPUs of a large machine. */
#define LONGEST		131072
/* On a terminal, lists of CPUs are broken into lines of about this many characters. */
#define LIST_WIDTH	24

/* A row: its CPUs, and what these have in common, a line for each column */
struct row {
	struct row *next;
	cpu_set_t *cpus;
	unsigned int cpu;
	char *key;
};

static bool one_row_a_cpu(const struct table *table)
{
	unsigned int i;

	for (i = 0; i < table->count; i++)
		if (column_is_of_group(table->columns[i]))
			return false;
	return true;
}

/* Makes a text, to be freed, of what @cpu has in common with the other CPUs of its row. */
static char *make_key(const struct table *table, struct facts *facts, unsigned int cpu)
{
	struct cell cell = { .cpu = cpu, .for_people = true };
	char value[256], *key = NULL;
	size_t size;
	unsigned int i;
	FILE *stream = open_memstream(&key, &size);

	if (!stream)
		return NULL;
	for (i = 0; i < table->count; i++) {
		if (column_is_of_group(table->columns[i]))
			continue;
		value[0] = '\0';
		table->columns[i]->value(facts, &cell, value, sizeof(value));
		fprintf(stream, "%s\n", value);
	}
	fclose(stream);
	return key;
}

static struct row *add_row(struct row ***end, struct facts *facts, unsigned int cpu)
{
	struct row *row = calloc(1, sizeof(*row));

	if (!row)
		return NULL;
	row->cpu = cpu;
	row->cpus = set_empty(facts->machine);
	**end = row;
	*end = &row->next;
	return row;
}

static struct row *find_row(struct row *rows, const char *key)
{
	while (rows && strcmp(rows->key, key))
		rows = rows->next;
	return rows;
}

static struct row *make_rows(const struct table *table, struct facts *facts)
{
	struct row *rows = NULL, **end = &rows, *row;
	size_t size = cpubolt_set_size(facts->machine);
	bool single = one_row_a_cpu(table);
	unsigned int cpu;

	for_each_cpu(facts->machine, cpu, table->cpus) {
		char *key = single ? NULL : make_key(table, facts, cpu);

		row = key ? find_row(rows, key) : NULL;
		if (row) {
			free(key);
		} else {
			row = add_row(&end, facts, cpu);
			if (!row)
				break;
			row->key = key;
		}
		CPU_SET_S(cpu, size, row->cpus);
	}
	return rows;
}

static void free_rows(struct row *rows)
{
	while (rows) {
		struct row *next = rows->next;

		CPU_FREE(rows->cpus);
		free(rows->key);
		free(rows);
		rows = next;
	}
}

/* Breaks the line after a comma, about every LIST_WIDTH characters. */
static void break_list(char *text)
{
	size_t width = 0;
	char *c;

	for (c = text; *c; c++) {
		if (++width < LIST_WIDTH || *c != ',' || !c[1])
			continue;
		memmove(c + 2, c + 1, strlen(c + 1) + 1);
		c[1] = '\n';
		c++;
		width = 0;
	}
}

static const char *colour(const char *state)
{
	static const struct {
		const char *state, *colour;
	} colours[] = {
		{ "parked", "yellow" }, { "offline", "halfbright" }, { "half-way", "red" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(colours) / sizeof(*colours); i++)
		if (!strcmp(colours[i].state, state))
			return colours[i].colour;
	return NULL;
}

struct output {
	struct libscols_table *scols;
	const struct table *table;
	struct facts *facts;
	bool terminal;
	bool used[32];		/* some row has a value in this column */
};

static int fill_cell(struct output *output, struct libscols_line *line, unsigned int at,
		     const struct row *row)
{
	static char value[LONGEST];
	const struct column *column = output->table->columns[at];
	enum table_style style = output->table->style;
	struct cell cell = {
		.cpu = row->cpu,
		.cpus = row->cpus,
		.for_people = style == TABLE_GROUPED || style == TABLE_EXTENDED,
	};
	const char *name = NULL;

	value[0] = '\0';
	/* Half of the buffer is left for the ends of lines that break_list() adds. */
	column->value(output->facts, &cell, value, sizeof(value) / 2);
	if (*value)
		output->used[at] = true;
	if (output->terminal && column->kind == COLUMN_GROUP_LIST)
		break_list(value);
	if (!*value && cell.for_people)
		snprintf(value, sizeof(value), "-");
	if (output->terminal && !strcmp(column->name, "STATE"))
		name = colour(value);
	if (name)
		scols_cell_set_color(scols_line_get_cell(line, at), name);
	return scols_line_set_data(line, at, *value ? value : NULL);
}

static int fill(struct output *output, const struct row *row)
{
	struct libscols_line *line;
	unsigned int i;

	for (; row; row = row->next) {
		line = scols_table_new_line(output->scols, NULL);
		if (!line)
			return -ENOMEM;
		for (i = 0; i < output->table->count; i++)
			if (fill_cell(output, line, i, row))
				return -ENOMEM;
	}
	return 0;
}

static int json_type(const struct column *column)
{
	if (column->kind == COLUMN_BOOLEAN)
		return SCOLS_JSON_BOOLEAN;
	return column_is_number(column) ? SCOLS_JSON_NUMBER : SCOLS_JSON_STRING;
}

static int add_columns(struct output *output)
{
	const struct table *table = output->table;
	unsigned int i;

	for (i = 0; i < table->count; i++) {
		const struct column *column = table->columns[i];
		int flags = column_is_number(column) ? SCOLS_FL_RIGHT : 0;
		struct libscols_column *scols;

		if (column->kind == COLUMN_GROUP_LIST)
			flags |= SCOLS_FL_WRAP;
		scols = scols_table_new_column(output->scols, column->name, 0, flags);
		if (!scols)
			return -ENOMEM;
		if (flags & SCOLS_FL_WRAP) {
			scols_column_set_safechars(scols, "\n");
			scols_column_set_wrapfunc(scols, scols_wrapnl_chunksize,
						  scols_wrapnl_nextchunk, NULL);
		}
		scols_column_set_json_type(scols, json_type(column));
	}
	return 0;
}

static void drop_columns(struct output *output)
{
	unsigned int i;

	for (i = 0; i < output->table->count; i++)
		if (!output->used[i])
			scols_column_set_flags(scols_table_get_column(output->scols, i),
					       SCOLS_FL_HIDDEN);
}

/* lscpu(1) prints such lines, too: programs skip lines that begin with '#'. */
static void print_parsable_head(const struct table *table)
{
	unsigned int i;

	puts("# The following is the parsable format, which can be fed to other programs.");
	puts("# An empty column means that nothing is known, or that what the column names is not so.");
	for (i = 0; i < table->count; i++)
		printf("%s%s", i ? "," : "# ", table->columns[i]->name);
	putchar('\n');
}

/* libsmartcols prints an object whose only member is the table: @head is put before the table. */
static int print_json(struct output *output, const char *head)
{
	char *text;
	int error = scols_print_table_to_string(output->scols, &text);

	if (error)
		return error;
	printf("{\n%s%s", head, text + strcspn(text, "\n") + 1);
	free(text);
	return 0;
}

static int print(struct output *output, const char *head)
{
	const struct table *table = output->table;

	switch (table->style) {
	case TABLE_JSON:
		scols_table_enable_json(output->scols, 1);
		scols_table_set_name(output->scols, "cpus");
		return print_json(output, head);
	case TABLE_PARSABLE:
		print_parsable_head(table);
		scols_table_enable_raw(output->scols, 1);
		scols_table_enable_noheadings(output->scols, 1);
		scols_table_set_column_separator(output->scols, ",");
		break;
	default:
		if (table->drop_empty)
			drop_columns(output);
		scols_table_enable_colors(output->scols, output->terminal && !getenv("NO_COLOR"));
		break;
	}
	return scols_print_table(output->scols);
}

int table_print(const struct table *table, struct facts *facts, const char *head)
{
	struct output output = {
		.scols = scols_new_table(),
		.table = table,
		.facts = facts,
		.terminal = table->style <= TABLE_EXTENDED && isatty(STDOUT_FILENO),
	};
	struct row *rows = make_rows(table, facts);
	int error = output.scols ? add_columns(&output) : -ENOMEM;

	if (!error)
		error = fill(&output, rows);
	if (!error)
		error = print(&output, head);
	scols_unref_table(output.scols);
	free_rows(rows);
	return error;
}

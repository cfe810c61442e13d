/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of the subcommands states, irq, bench, energy and doctor, printed by libsmartcols */
#ifndef SHEET_H
#define SHEET_H

#include <libsmartcols.h>
#include <stdbool.h>
#include <stddef.h>

/** One column that a table can have */
struct sheet_column {
	const char *name;	/* the name in the heading, and for --output */
	const char *help;	/* what the column says, for --help */
	int flags;		/* SCOLS_FL_* */
	int json;		/* SCOLS_JSON_* */
	bool shown;		/* shown without --output; JSON then has all columns */
};

/** A table that is being filled */
struct sheet {
	struct libscols_table *table;
	struct libscols_line *line;
	const struct sheet_column *columns;
	size_t count;
	int *places;		/* place of each column in the table, -1 if it is not shown */
};

/**
 * sheet_open() - begin a table
 * @name: name of the list in JSON
 * @chosen: names of columns with commas between; NULL for the columns that are usually shown, in
 *	    JSON for all columns
 *
 * Return: EXIT_DONE; EXIT_USAGE after a message if @chosen has a wrong name, or no name;
 * EXIT_FAILED after a message if memory is short.
 */
int sheet_open(struct sheet *sheet, const char *name, const struct sheet_column *columns,
	       size_t count, const char *chosen, bool json);

/** sheet_line() - begin the next line */
void sheet_line(struct sheet *sheet);

/** sheet_put() - fill a cell of the line, as printf(); nothing happens if @column is not shown */
void sheet_put(struct sheet *sheet, size_t column, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** sheet_print() - print the table on stdout, if it has lines or is JSON; free the table */
void sheet_print(struct sheet *sheet);

/** sheet_close() - free the table without printing it */
void sheet_close(struct sheet *sheet);

/** sheet_help() - print the columns that --output takes */
void sheet_help(const struct sheet_column *columns, size_t count);

#endif /* SHEET_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of CPUs, printed by libsmartcols */
#ifndef TABLE_H
#define TABLE_H

#include "columns.h"

enum table_style {
	/*
	 * One row for all CPUs that are equal in the columns other than CPUS, COUNT and CORES; one
	 * row a CPU if the table has none of these three columns
	 */
	TABLE_GROUPED,
	TABLE_EXTENDED,		/* one row a CPU */
	TABLE_PARSABLE,		/* one row a CPU, commas between columns */
	TABLE_JSON,		/* rows as in TABLE_GROUPED, each of them an object */
};

/** A table: the columns and CPUs that it shows, and its style */
struct table {
	enum table_style style;
	const struct column *columns[32];
	unsigned int count;		/* number of @columns */
	/* Leave out columns that are empty in all rows; ignored by TABLE_PARSABLE and TABLE_JSON */
	bool drop_empty;
	const cpu_set_t *cpus;
};

/**
 * table_print() - print @table on stdout
 * @head: for TABLE_JSON, members of the JSON object before "cpus", each with a comma and newline
 *
 * Return: 0, or a negative errno.
 */
int table_print(const struct table *table, struct facts *facts, const char *head);

#endif /* TABLE_H */

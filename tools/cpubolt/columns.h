/* SPDX-License-Identifier: GPL-2.0-only */
/* The columns of "cpubolt status" */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "command.h"
#include "last.h"

/** What columns are made from */
struct facts {
	struct invocation *call;
	struct cpubolt *machine;
	cpu_set_t *fixed, *isolated, *nohz_full;
	struct last *last;		/* by CPU number: the last request for the CPU */
	unsigned int topology_of;	/* CPU that @topology is about, or UINT_MAX */
	struct cpubolt_topology topology;
	bool topology_known;
};

/** What a value in the table is about, and how the table is printed */
struct cell {
	unsigned int cpu;		/* the first CPU of the row */
	const cpu_set_t *cpus;		/* all CPUs of the row */
	bool for_people;		/* true: a value may have a unit; false: no value has one */
};

enum column_kind {
	COLUMN_TEXT,
	COLUMN_NUMBER,
	COLUMN_BOOLEAN,		/* prints a word if true, nothing if false */
	COLUMN_GROUP_LIST,	/* the list of all CPUs of the row */
	COLUMN_GROUP_NUMBER,	/* a number about all CPUs of the row */
};

/** A column; value() leaves @text empty if nothing is known */
struct column {
	const char *name;
	void (*value)(struct facts *facts, const struct cell *cell, char *text, size_t size);
	const char *summary;
	enum column_kind kind;
};

static inline bool column_is_number(const struct column *column)
{
	return column->kind == COLUMN_NUMBER || column->kind == COLUMN_GROUP_NUMBER;
}

static inline bool column_is_of_group(const struct column *column)
{
	return column->kind == COLUMN_GROUP_LIST || column->kind == COLUMN_GROUP_NUMBER;
}

/** find_column() - the column with that name, in any case of letters, or NULL */
const struct column *find_column(const char *name, size_t length);

/** all_columns() - the columns, and one without a name at the end */
const struct column *all_columns(void);

#endif /* COLUMNS_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recorded load is a table in text, with a line of column names. Fields are separated by commas, or
 * by semicolons as sadf(1) prints them. cpuboltd(8) lists the columns.
 */
#ifndef LOAD_TRACE_H
#define LOAD_TRACE_H

#include <stddef.h>

#include "plant.h"

struct load_row {
	double begin, end;	/* seconds since the trace begins */
	struct sample sample;
};

struct load_trace {
	struct load_row *rows;
	unsigned int count;	/* at least 1 */
};

/**
 * load_trace_parse() - read a trace
 * @cpus: CPUs of the machine, for columns with percentages of all CPUs
 * @error: overwritten; after -EINVAL with a message that names the line, or with NULL if memory is
 *	   too short for the message; otherwise with NULL; to be freed
 *
 * Return: 0, -EINVAL or -ENOMEM. The trace is to be freed with load_trace_free().
 */
int load_trace_parse(const char *text, size_t length, unsigned int cpus, struct load_trace *trace,
		char **error);

void load_trace_free(struct load_trace *trace);

#endif /* LOAD_TRACE_H */

// SPDX-License-Identifier: GPL-2.0-only
/* Recorded load, see load_trace.h */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load_trace.h"

#define MOST_COLUMNS	256
#define LONGEST_TRACE_S	(400 * 86400.0)

enum column {
	TIME,		/* seconds, at the end of the interval */
	INTERVAL,	/* seconds */
	CPU_NUMBER,	/* CPU that the line is about; lines about one CPU are skipped */
	DEMAND,		/* full CPUs */
	IDLE,		/* percent of all CPUs */
	IOWAIT,
	STEAL,		/* full CPUs */
	STEAL_PERCENT,
	RUNNABLE,	/* tasks */
	PRESSURE,	/* percent of the interval */
	COLUMNS
};

static const struct {
	const char *name;
	enum column column;
} names[] = {
	{ "time", TIME },
	{ "interval", INTERVAL },
	{ "CPU", CPU_NUMBER },
	{ "demand", DEMAND },
	{ "%idle", IDLE },
	{ "%iowait", IOWAIT },
	{ "steal", STEAL },
	{ "%steal", STEAL_PERCENT },
	{ "runnable", RUNNABLE },
	{ "runq-sz", RUNNABLE },
	{ "pressure", PRESSURE },
	{ "%scpu", PRESSURE },
};

struct parsing {
	unsigned int line, cpus;
	int at[COLUMNS];	/* number of the field, or -1 */
	double most[COLUMNS];	/* largest value that a field may have */
	char separator[2];
	struct load_trace *trace;
	unsigned int room;
	double last;		/* end of the row before */
	bool begun;
	double offset;		/* "time" of the first row */
	char **error;
};

static int wrong(struct parsing *parsing, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int wrong(struct parsing *parsing, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (!text || asprintf(parsing->error, "line %u: %s", parsing->line, text) < 0)
		*parsing->error = NULL;
	free(text);
	return -EINVAL;
}

/* -- The line of names -------------------------------------------------------- */

static int take_name(struct parsing *parsing, const char *name, int number)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i].name, name))
			continue;
		if (parsing->at[names[i].column] >= 0)
			return wrong(parsing, "the column \"%s\" is there twice", name);
		parsing->at[names[i].column] = number;
	}
	return 0;
}

static int parse_names(struct parsing *parsing, char *line)
{
	int number = 0, err = 0;
	char *name;

	parsing->separator[0] = strchr(line, ';') ? ';' : ',';
	while (!err && (name = strsep(&line, parsing->separator))) {
		name += strspn(name, "# ");
		if (number == MOST_COLUMNS)
			return wrong(parsing, "there are more than %d columns", MOST_COLUMNS);
		err = take_name(parsing, name, number++);
	}
	if (err)
		return err;
	if (parsing->at[TIME] < 0 && parsing->at[INTERVAL] < 0)
		return wrong(parsing, "there is no column \"time\", and no column \"interval\"");
	if (parsing->at[DEMAND] < 0 && parsing->at[IDLE] < 0)
		return wrong(parsing, "there is no column \"demand\", and no column \"%%idle\"");
	return 0;
}

/* -- The other lines ---------------------------------------------------------- */

static int take_number(struct parsing *parsing, const char *text, enum column column,
		       double *number)
{
	char *end;

	*number = strtod(text, &end);
	if (end == text || *end || !isfinite(*number) || *number < 0 ||
	    *number > parsing->most[column])
		return wrong(parsing, "\"%.40s\" is no number from 0 to %g", text,
			     parsing->most[column]);
	return 0;
}

/* Sets @wanted to false if the line is about a single CPU, not about all CPUs. */
static int parse_fields(struct parsing *parsing, char *line, double *values, bool *wanted)
{
	int number = 0, column, err;
	char *text;

	*wanted = true;
	for (column = 0; column < COLUMNS; column++)
		values[column] = -1;
	while ((text = strsep(&line, parsing->separator))) {
		text += strspn(text, " ");
		for (column = 0; column < COLUMNS; column++) {
			if (parsing->at[column] != number)
				continue;
			if (column == CPU_NUMBER) {
				if (strcmp(text, "-1") && strcmp(text, "all"))
					*wanted = false;
				continue;
			}
			err = take_number(parsing, text, column, &values[column]);
			if (err)
				return err;
		}
		number++;
	}
	for (column = 0; column < COLUMNS; column++)
		if (column != CPU_NUMBER && parsing->at[column] >= number)
			return wrong(parsing, "the line is too short");
	return 0;
}

static int add_row(struct parsing *parsing, const struct load_row *row)
{
	struct load_trace *trace = parsing->trace;
	struct load_row *longer;

	if (trace->count == parsing->room) {
		parsing->room = parsing->room ? 2 * parsing->room : 256;
		longer = realloc(trace->rows, parsing->room * sizeof(*longer));
		if (!longer)
			return -ENOMEM;
		trace->rows = longer;
	}
	trace->rows[trace->count++] = *row;
	return 0;
}

static double or_zero(double value)
{
	return value > 0 ? value : 0;
}

static void take_sample(const struct parsing *parsing, const double *values,
			struct sample *sample)
{
	*sample = (struct sample){
		.demand = values[DEMAND],
		.steal = or_zero(values[STEAL]),
		.runnable = (unsigned int)lround(or_zero(values[RUNNABLE])),
		.pressure = (unsigned int)lround(10 * or_zero(values[PRESSURE])),
	};
	if (values[DEMAND] < 0)
		sample->demand = or_zero(100 - values[IDLE] - or_zero(values[IOWAIT])) *
				 parsing->cpus / 100;
	if (values[STEAL] < 0)
		sample->steal = or_zero(values[STEAL_PERCENT]) * parsing->cpus / 100;
}

static int parse_row(struct parsing *parsing, char *line)
{
	struct load_row row = { .begin = parsing->last };
	double values[COLUMNS];
	bool wanted;
	int err = parse_fields(parsing, line, values, &wanted);

	if (err || !wanted)
		return err;
	take_sample(parsing, values, &row.sample);
	if (values[TIME] < 0) {
		if (values[INTERVAL] == 0)
			return wrong(parsing, "an interval may not be 0");
		row.end = parsing->last + values[INTERVAL];
	} else if (!parsing->begun) {
		/*
		 * The trace does not say how long the first interval was: its row ends at 0 until
		 * mend_first() makes the interval as long as the second.
		 */
		parsing->begun = true;
		parsing->offset = values[TIME];
		row.end = 0;
	} else {
		row.end = values[TIME] - parsing->offset;
	}
	if (row.end < row.begin || (row.end == row.begin && parsing->trace->count))
		return wrong(parsing, "the time is not later than in the line before");
	if (row.end > LONGEST_TRACE_S)
		return wrong(parsing, "a trace may not be longer than 400 days");
	parsing->last = row.end;
	return add_row(parsing, &row);
}

/*
 * "time" gives only the end of the first interval, which is taken to be as long as the second, or
 * 1 s long if there is no other interval.
 */
static void mend_first(struct load_trace *trace)
{
	double length = trace->count > 1 ? trace->rows[1].end - trace->rows[1].begin : 1;
	unsigned int i;

	if (trace->rows[0].end > 0)
		return;
	for (i = 0; i < trace->count; i++) {
		trace->rows[i].begin += i ? length : 0;
		trace->rows[i].end += length;
	}
}

static bool is_remark(const char *line)
{
	return !*line || *line == '#' || strstr(line, "LINUX-RESTART") || strstr(line, "COM ");
}

static int parse_line(struct parsing *parsing, char *line, bool *named)
{
	line[strcspn(line, "\r")] = '\0';
	/* A line with "#" may be the line of names, as sadf(1) prints it, if it has a separator. */
	if (!*named && *line && (*line != '#' || strpbrk(line, ",;"))) {
		*named = true;
		return parse_names(parsing, line);
	}
	return is_remark(line) ? 0 : parse_row(parsing, line);
}

int load_trace_parse(const char *text, size_t length, unsigned int cpus, struct load_trace *trace,
		char **error)
{
	struct parsing parsing = { .cpus = cpus, .trace = trace, .error = error };
	char *copy = strndup(text, length), *here = copy, *line;
	bool named = false;
	int column, err = 0;

	*trace = (struct load_trace){ 0 };
	*error = NULL;
	if (!copy)
		return -ENOMEM;
	for (column = 0; column < COLUMNS; column++) {
		parsing.at[column] = -1;
		parsing.most[column] = 1e6;
	}
	parsing.most[TIME] = 1e12;
	parsing.most[IDLE] = parsing.most[IOWAIT] = parsing.most[STEAL_PERCENT] = 100.5;
	parsing.most[PRESSURE] = 100;
	if (strlen(copy) != length) {
		parsing.line = 1;
		err = wrong(&parsing, "the file contains a NUL: it is no text");
	}
	while (!err && (line = strsep(&here, "\n"))) {
		parsing.line++;
		err = parse_line(&parsing, line, &named);
	}
	if (!err && !trace->count)
		err = wrong(&parsing, "the trace has no line with numbers");
	if (err)
		load_trace_free(trace);
	else
		mend_first(trace);
	free(copy);
	return err;
}

void load_trace_free(struct load_trace *trace)
{
	free(trace->rows);
	*trace = (struct load_trace){ 0 };
}

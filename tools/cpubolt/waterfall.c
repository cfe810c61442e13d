// SPDX-License-Identifier: GPL-2.0-only
/* Lays a traced request out as a waterfall, and prints it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "waterfall.h"

#define LEAST_WIDTH	60
#define NAME_WIDTH	26
#define TIME_WIDTH	9
/*
 * States of a group that take less than a 100th of the request share a line, unless all states are
 * to be shown; a state with an error has its own line. A group is a phase or, without Bolt, a CPU.
 * If callbacks ran in a group, the time of the group in which none ran gets a line, provided that
 * this time is a 20th of the request or more; so does the time before the first group, and that
 * after the last.
 */
#define SHORT_PART	100
#define GAP_PART	20

/** The bounds of the request, on the clock of the trace */
struct bounds {
	unsigned long long start, end;
	const struct trace_event *batch;	/* NULL without Bolt */
};

/* -- Building ------------------------------------------------------------- */

static bool is_work(const struct trace_event *event)
{
	return event->kind != TRACE_BEGIN && event->kind != TRACE_END;
}

/* The last batch is the request's own; batches before it are requests of other programs. */
static int find_bounds(const struct trace_events *events, struct bounds *bounds)
{
	const struct trace_event *begin = NULL, *end = NULL, *first = NULL, *last = NULL;

	memset(bounds, 0, sizeof(*bounds));
	for (size_t i = 0; i < events->count; i++) {
		const struct trace_event *event = &events->list[i];

		if (event->kind == TRACE_BEGIN && !begin)
			begin = event;
		if (event->kind == TRACE_END)
			end = event;
		if (event->kind == TRACE_BATCH)
			bounds->batch = event;
		if (is_work(event)) {
			first = first ?: event;
			last = event;
		}
	}
	if (!first)
		return -ENODATA;
	bounds->start = begin ? begin->ns : bounds->batch ? trace_start_of(bounds->batch) : first->ns;
	bounds->end = end ? end->ns : bounds->batch ? bounds->batch->ns : last->ns;
	return bounds->end > bounds->start ? 0 : -ENODATA;
}

static struct waterfall_row *add_row(struct waterfall *waterfall)
{
	struct waterfall_row *more = reallocarray(waterfall->rows, waterfall->count + 1,
						  sizeof(*more));

	if (!more)
		return NULL;
	waterfall->rows = more;
	more += waterfall->count++;
	memset(more, 0, sizeof(*more));
	more->state = -1;
	return more;
}

static int add_span(struct waterfall_row *row, const struct bounds *bounds,
		    unsigned long long start, unsigned long long end)
{
	struct span *more;

	if (start < bounds->start)
		start = bounds->start;
	if (end > bounds->end)
		end = bounds->end;
	if (end < start)
		return 0;
	more = reallocarray(row->spans, row->count + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	row->spans = more;
	more[row->count].start = start - bounds->start;
	more[row->count].end = end - bounds->start;
	row->count++;
	row->busy += end - start;
	return 0;
}

/** A phase of the batch, or without Bolt a CPU, whose states are being looked for */
struct group {
	char name[48];
	unsigned long long start, end;
	bool any_cpu;		/* events of all CPUs belong to the group */
	unsigned int cpu;
};

/* The row of @enter's state in the last group, whose states begin at @first; else a new row. */
static struct waterfall_row *state_row(struct waterfall *waterfall, size_t first,
				       const struct trace_event *enter)
{
	struct waterfall_row *row;

	for (size_t i = first; i < waterfall->count; i++)
		if (waterfall->rows[i].state == enter->state)
			return &waterfall->rows[i];
	row = add_row(waterfall);
	if (row) {
		row->state = enter->state;
		memcpy(row->name, enter->name, sizeof(row->name));
	}
	return row;
}

static int add_states(struct waterfall *waterfall, const struct trace_events *events,
		      const struct bounds *bounds, const struct group *group)
{
	size_t first = waterfall->count;

	for (size_t i = 0; i < events->count; i++) {
		const struct trace_event *event = &events->list[i], *last;
		struct waterfall_row *row;
		int error;

		if (event->kind != TRACE_ENTER || event->ns < group->start ||
		    event->ns >= group->end || (!group->any_cpu && event->cpu != group->cpu))
			continue;
		last = trace_exit_of(events, i);
		row = state_row(waterfall, first, event);
		if (!row)
			return -ENOMEM;
		error = add_span(row, bounds, event->ns, last ? last->ns : group->end);
		if (error)
			return error;
		if (last && last->error)
			row->error = last->error;
	}
	return 0;
}

static int add_group(struct waterfall *waterfall, const struct trace_events *events,
		     const struct bounds *bounds, const struct group *group)
{
	struct waterfall_row *row = add_row(waterfall);
	int error;

	if (!row)
		return -ENOMEM;
	row->group = true;
	memcpy(row->name, group->name, sizeof(row->name));
	error = add_span(row, bounds, group->start, group->end);
	return error ?: add_states(waterfall, events, bounds, group);
}

/* Makes a group of each phase. The event of a phase comes at its end, and says how long it took. */
static int add_phases(struct waterfall *waterfall, const struct trace_events *events,
		      const struct bounds *bounds)
{
	int error = 0;

	for (size_t i = 0; i < events->count && !error; i++) {
		const struct trace_event *event = &events->list[i];
		struct group group = { .any_cpu = true };

		if (event->kind != TRACE_PHASE || event->batch != bounds->batch->batch)
			continue;
		memcpy(group.name, event->name, sizeof(group.name));
		group.start = trace_start_of(event);
		group.end = event->ns;
		error = add_group(waterfall, events, bounds, &group);
	}
	return error;
}

static bool has_group(const struct waterfall *waterfall, const char *name)
{
	for (size_t i = 0; i < waterfall->count; i++)
		if (waterfall->rows[i].group && !strcmp(waterfall->rows[i].name, name))
			return true;
	return false;
}

/*
 * Without Bolt, CPUs come or go one after the other, so the events of one CPU follow each other.
 * If events of another CPU are among them, as is rare, the CPU has one group all the same.
 */
static int add_cpus(struct waterfall *waterfall, const struct trace_events *events,
		    const struct bounds *bounds)
{
	const struct trace_event *last = NULL;
	int error = 0;

	for (size_t i = 0; i < events->count && !error; i++) {
		const struct trace_event *event = &events->list[i];
		struct group group = { .cpu = event->cpu, .start = event->ns };

		if (!is_work(event) || (last && last->cpu == event->cpu))
			continue;
		last = event;
		snprintf(group.name, sizeof(group.name), "CPU %u", event->cpu);
		if (has_group(waterfall, group.name))
			continue;
		for (size_t j = i; j < events->count; j++)
			if (is_work(&events->list[j]) && events->list[j].cpu == event->cpu)
				group.end = events->list[j].ns;
		error = add_group(waterfall, events, bounds, &group);
	}
	return error;
}

static void count_teardowns(struct waterfall *waterfall, const struct trace_events *events,
			    const struct bounds *bounds)
{
	for (size_t i = 0; i < events->count; i++) {
		const struct trace_event *event = &events->list[i];

		if (event->ns < bounds->start || event->ns > bounds->end)
			continue;
		waterfall->deferred += event->kind == TRACE_DEFER;
		waterfall->cancelled += event->kind == TRACE_CANCEL;
		waterfall->settled += event->kind == TRACE_SETTLE;
	}
}

int waterfall_build(const struct trace_events *events, struct waterfall *waterfall)
{
	struct bounds bounds;
	int error;

	memset(waterfall, 0, sizeof(*waterfall));
	error = find_bounds(events, &bounds);
	if (error)
		return error;
	waterfall->total = bounds.end - bounds.start;
	for (size_t i = 0; i < events->count; i++)
		if (events->list[i].kind == TRACE_BEGIN)
			snprintf(waterfall->title, sizeof(waterfall->title), "%s",
				 events->list[i].name);
	if (bounds.batch) {
		waterfall->batch = bounds.batch->batch;
		waterfall->in_batch = bounds.batch->duration;
		waterfall->error = bounds.batch->error;
		error = add_phases(waterfall, events, &bounds);
	} else {
		error = add_cpus(waterfall, events, &bounds);
	}
	if (error)
		waterfall_free(waterfall);
	else
		count_teardowns(waterfall, events, &bounds);
	return error;
}

void waterfall_free(struct waterfall *waterfall)
{
	for (size_t i = 0; i < waterfall->count; i++)
		free(waterfall->rows[i].spans);
	free(waterfall->rows);
	memset(waterfall, 0, sizeof(*waterfall));
}

/* -- Printing ------------------------------------------------------------- */

const char *waterfall_time(unsigned long long ns, char *text, size_t size)
{
	static const char *const units[] = { "us", "ms", "s" };
	double value = ns / 1e3;
	size_t unit = 0;

	/* 999.95 would be printed as "1000.0". */
	for (; value >= 999.95 && unit < 2; unit++)
		value /= 1000;
	snprintf(text, size, value < 99999.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return text;
}

static void paint(char *bar, unsigned int width, char ink, const struct span *span,
		  unsigned long long total)
{
	unsigned int from = (double)span->start / total * width;
	unsigned int to = (double)span->end / total * width;

	if (from >= width)
		from = width - 1;
	do
		bar[from++] = ink;
	while (from < to && from < width);
}

/* Prints a line: a name, a bar of @spans, a time. */
static void print_line(const struct waterfall_look *look, unsigned long long total,
		       const char *name, char ink, const struct span *spans, size_t count,
		       unsigned long long ns, FILE *out)
{
	unsigned int width = look->width > LEAST_WIDTH ? look->width : LEAST_WIDTH;
	char bar[512], time[32];

	width -= NAME_WIDTH + TIME_WIDTH + 4;
	if (width >= sizeof(bar))
		width = sizeof(bar) - 1;
	memset(bar, ' ', width);
	bar[width] = '\0';
	for (size_t i = 0; i < count; i++)
		paint(bar, width, ink, &spans[i], total);
	fprintf(out, "%-*.*s |%s| %*s\n", NAME_WIDTH, NAME_WIDTH, name, bar, TIME_WIDTH,
		waterfall_time(ns, time, sizeof(time)));
}

static void print_row(const struct waterfall *waterfall, const struct waterfall_row *row,
		      const struct waterfall_look *look, FILE *out)
{
	const char *name = NULL, *indent = row->group ? "" : "  ";
	char text[96], end[32] = "";

	if (!row->group && look->state_name)
		name = look->state_name(row->state, look->data);
	if (row->error)
		snprintf(end, sizeof(end), " (%d)", row->error);
	else if (!row->group && row->count > 1)
		snprintf(end, sizeof(end), " x%zu", row->count);
	/* A long name is cut; the error or the count behind the name is not. */
	snprintf(text, sizeof(text), "%s%.*s%s", indent,
		 (int)(NAME_WIDTH - strlen(indent) - strlen(end)), name ?: row->name, end);
	print_line(look, waterfall->total, text, row->group ? '=' : '#', row->spans, row->count,
		   row->busy, out);
}

static bool is_short(const struct waterfall *waterfall, const struct waterfall_row *row)
{
	return !row->error && row->busy < waterfall->total / SHORT_PART;
}

/* How many rows after that of @group are states of @group. */
static size_t states_of(const struct waterfall *waterfall, size_t group)
{
	size_t i;

	for (i = group + 1; i < waterfall->count && !waterfall->rows[i].group; i++)
		;
	return i - group - 1;
}

/* Appends the spans of @row to @spans. A state that ran only outside the request has no span. */
static size_t append_spans(struct span *spans, size_t length, const struct waterfall_row *row)
{
	if (row->count)
		memcpy(spans + length, row->spans, row->count * sizeof(*spans));
	return length + row->count;
}

/* Prints one line for all states of a group that take too little time for a line of their own. */
static void print_short(const struct waterfall *waterfall, const struct waterfall_row *rows,
			size_t count, const struct waterfall_look *look, FILE *out)
{
	unsigned long long busy = 0;
	struct span *spans = NULL;
	size_t states = 0, length = 0;
	char name[64];

	for (size_t i = 0; i < count; i++)
		length += rows[i].count;
	if (length)
		spans = calloc(length, sizeof(*spans));
	if (!spans)
		return;
	length = 0;
	for (size_t i = 0; i < count; i++) {
		if (!is_short(waterfall, &rows[i]))
			continue;
		length = append_spans(spans, length, &rows[i]);
		busy += rows[i].busy;
		states++;
	}
	snprintf(name, sizeof(name), "  %zu short state%s", states, states == 1 ? "" : "s");
	if (states)
		print_line(look, waterfall->total, name, '-', spans, length, busy, out);
	free(spans);
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

/*
 * Prints for how much of the time of a group no callback ran, if that is much: meanwhile other code
 * of the kernel ran, or the task that would run the next callback waited. Gaps of less than a 100th
 * of the request are counted, but have no place in the bar.
 */
static void print_gaps(const struct waterfall *waterfall, const struct waterfall_row *group,
		       size_t count, const struct waterfall_look *look, FILE *out)
{
	unsigned long long reached = group->count ? group->spans[0].start : 0, idle = 0;
	unsigned long long last = group->count ? group->spans[0].end : 0;
	size_t length = 0, gaps = 0;
	struct span *spans;

	for (size_t i = 1; i <= count; i++)
		length += group[i].count;
	spans = calloc(2 * length + 2, sizeof(*spans));
	if (!spans)
		return;
	length = 0;
	for (size_t i = 1; i <= count; i++)
		length = append_spans(spans, length, &group[i]);
	qsort(spans, length, sizeof(*spans), compare_spans);
	spans[length].start = last;
	spans[length].end = last;
	/* Each gap is stored in place of a span that has been read already. */
	for (size_t i = 0; i <= length; i++) {
		struct span span = spans[i];

		if (span.start > reached) {
			if (span.start - reached >= waterfall->total / SHORT_PART)
				spans[gaps++] = (struct span){ reached, span.start };
			idle += span.start - reached;
		}
		if (span.end > reached)
			reached = span.end;
	}
	if (count && idle >= waterfall->total / GAP_PART)
		print_line(look, waterfall->total, "  (no callback)", '.', spans, gaps, idle, out);
	free(spans);
}

static void print_group(const struct waterfall *waterfall, size_t group,
			const struct waterfall_look *look, FILE *out)
{
	size_t states = states_of(waterfall, group);

	print_row(waterfall, &waterfall->rows[group], look, out);
	for (size_t i = group + 1; i <= group + states; i++)
		if (look->all || !is_short(waterfall, &waterfall->rows[i]))
			print_row(waterfall, &waterfall->rows[i], look, out);
	if (!look->all)
		print_short(waterfall, &waterfall->rows[group + 1], states, look, out);
	print_gaps(waterfall, &waterfall->rows[group], states, look, out);
}

/* Prints how much of the request is before the first group, or after the last, if that is much. */
static void print_rest(const struct waterfall *waterfall, const struct waterfall_look *look,
		       bool before, FILE *out)
{
	struct span rest = { .start = 0, .end = waterfall->total };

	for (size_t i = 0; i < waterfall->count; i++) {
		const struct waterfall_row *row = &waterfall->rows[i];

		if (!row->group || !row->count)
			continue;
		if (before && row->spans[0].start < rest.end)
			rest.end = row->spans[0].start;
		if (!before && row->spans[0].end > rest.start)
			rest.start = row->spans[0].end;
	}
	if (rest.end - rest.start >= waterfall->total / GAP_PART)
		print_line(look, waterfall->total, before ? "(before)" : "(after)", '.', &rest, 1,
			   rest.end - rest.start, out);
}

static void print_title(const struct waterfall *waterfall, FILE *out)
{
	char time[32];

	fprintf(out, "%s: %s", *waterfall->title ? waterfall->title : "request",
		waterfall_time(waterfall->total, time, sizeof(time)));
	if (waterfall->in_batch)
		fprintf(out, ", %s of it in Bolt's batch %llu",
			waterfall_time(waterfall->in_batch, time, sizeof(time)),
			waterfall->batch);
	if (waterfall->error)
		fprintf(out, ", which failed: %s", strerror(-waterfall->error));
	fputs("\n\n", out);
}

void waterfall_print(const struct waterfall *waterfall, const struct waterfall_look *look,
		     FILE *out)
{
	print_title(waterfall, out);
	print_rest(waterfall, look, true, out);
	for (size_t i = 0; i < waterfall->count; i++)
		if (waterfall->rows[i].group)
			print_group(waterfall, i, look, out);
	print_rest(waterfall, look, false, out);
	if (waterfall->batch)
		fprintf(out, "\nteardowns: %u deferred, %u cancelled, %u settled\n",
			waterfall->deferred, waterfall->cancelled, waterfall->settled);
	else
		fputs("\nwithout Bolt: callbacks of hotplug states only\n", out);
}

// SPDX-License-Identifier: GPL-2.0-only
/* Events of a traced request, and the kernel's text form of these. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_events.h"

int trace_add(struct trace_events *events, const struct trace_event *event)
{
	struct trace_event *more;

	/* The list grows whenever its length is 0 or a power of two. */
	if (!(events->count & (events->count - 1))) {
		size_t room = events->count ? 2 * events->count : 1;

		more = reallocarray(events->list, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		events->list = more;
	}
	events->list[events->count++] = *event;
	return 0;
}

void trace_free(struct trace_events *events)
{
	free(events->list);
	events->list = NULL;
	events->count = 0;
}

/* An insertion sort: qsort() need not be stable, and the events are nearly sorted. */
void trace_sort(struct trace_events *events)
{
	for (size_t i = 1; i < events->count; i++) {
		struct trace_event moved = events->list[i];
		size_t j = i;

		for (; j && events->list[j - 1].ns > moved.ns; j--)
			events->list[j] = events->list[j - 1];
		events->list[j] = moved;
	}
}

unsigned long long trace_start_of(const struct trace_event *event)
{
	return event->ns > event->duration ? event->ns - event->duration : 0;
}

const struct trace_event *trace_exit_of(const struct trace_events *events, size_t from)
{
	const struct trace_event *enter = &events->list[from];

	for (size_t i = from + 1; i < events->count; i++) {
		const struct trace_event *event = &events->list[i];

		if (event->cpu != enter->cpu || event->state != enter->state)
			continue;
		if (event->kind == TRACE_EXIT)
			return event;
		if (event->kind == TRACE_ENTER)
			return NULL;
	}
	return NULL;
}

/* Finds the decimal number after @key in "key=value key=value"; with @sign it may be negative. */
static bool find_number(const char *text, const char *key, bool sign, long long *value)
{
	const char *place = strstr(text, key);
	char *end;

	if (!place)
		return false;
	place += strlen(key);
	place += strspn(place, " ");
	if (!isdigit((unsigned char)*place) &&
	    !(sign && *place == '-' && isdigit((unsigned char)place[1])))
		return false;
	errno = 0;
	*value = strtoll(place, &end, 10);
	return !errno && (!*end || isspace((unsigned char)*end));
}

static bool read_phase(const char *text, struct trace_event *event)
{
	long long batch, cpu, ns;
	const char *phase = strstr(text, "phase=");

	if (!phase || !find_number(text, "batch=", false, &batch) ||
	    !find_number(text, "cpu=", false, &cpu) || !find_number(text, "ns=", false, &ns))
		return false;
	phase += strlen("phase=");
	event->batch = batch;
	event->cpu = cpu;
	event->duration = ns;
	snprintf(event->name, sizeof(event->name), "%.*s", (int)strcspn(phase, " "), phase);
	return true;
}

static bool read_batch(const char *text, struct trace_event *event)
{
	long long batch, cpu, up, down, err, ns;

	if (!find_number(text, "batch=", false, &batch) ||
	    !find_number(text, "cpu=", false, &cpu) ||
	    !find_number(text, "up=", false, &up) ||
	    !find_number(text, "down=", false, &down) ||
	    !find_number(text, "err=", true, &err) || !find_number(text, "ns=", false, &ns))
		return false;
	event->batch = batch;
	event->cpu = cpu;
	event->up = up;
	event->down = down;
	event->error = err;
	event->duration = ns;
	return true;
}

static bool read_state(const char *text, struct trace_event *event)
{
	long long cpu, state;

	if (!find_number(text, "cpu=", false, &cpu) ||
	    !find_number(text, "state=", false, &state))
		return false;
	event->cpu = cpu;
	event->state = state;
	return true;
}

/* Reads "cpu: 0003 target: 234 step: 235 (sched_cpu_deactivate)". */
static bool read_enter(const char *text, struct trace_event *event)
{
	const char *open = strchr(text, '(');
	long long cpu, step;

	if (!open || !find_number(text, "cpu:", false, &cpu) ||
	    !find_number(text, "step:", false, &step))
		return false;
	event->cpu = cpu;
	event->state = step;
	snprintf(event->name, sizeof(event->name), "%.*s", (int)strcspn(open + 1, ")"), open + 1);
	return true;
}

/* Reads " cpu: 0003  state: 234 step: 235 ret: 0". */
static bool read_exit(const char *text, struct trace_event *event)
{
	long long cpu, step, ret;

	if (!find_number(text, "cpu:", false, &cpu) ||
	    !find_number(text, "step:", false, &step) ||
	    !find_number(text, "ret:", true, &ret))
		return false;
	event->cpu = cpu;
	event->state = step;
	event->error = ret;
	return true;
}

/*
 * Reads what a task has written to trace_marker. In files of trace-cmd the name of a function of
 * the kernel stands before that text.
 */
static bool read_mark(const char *text, struct trace_event *event)
{
	const char *begin = strstr(text, TRACE_MARK_BEGIN), *end = strstr(text, TRACE_MARK_END);
	const char *mark = begin ?: end;

	if (!mark)
		return false;
	event->kind = begin ? TRACE_BEGIN : TRACE_END;
	mark += strlen(begin ? TRACE_MARK_BEGIN : TRACE_MARK_END);
	snprintf(event->name, sizeof(event->name), "%.*s", (int)strcspn(mark, "\n"), mark);
	return true;
}

static const struct {
	const char *name;
	enum trace_kind kind;
	bool (*read)(const char *text, struct trace_event *event);
} readers[] = {
	{ "bolt_phase",		TRACE_PHASE,	read_phase },
	{ "bolt_batch",		TRACE_BATCH,	read_batch },
	{ "bolt_defer",		TRACE_DEFER,	read_state },
	{ "bolt_cancel",	TRACE_CANCEL,	read_state },
	{ "bolt_settle",	TRACE_SETTLE,	read_state },
	{ "cpuhp_enter",	TRACE_ENTER,	read_enter },
	{ "cpuhp_multi_enter",	TRACE_ENTER,	read_enter },
	{ "cpuhp_exit",		TRACE_EXIT,	read_exit },
};

int trace_read(struct trace_events *events, unsigned long long ns, const char *name,
	       const char *text)
{
	struct trace_event event = { .ns = ns };

	/* The name is "print" in files of trace-cmd, "tracing_mark_write" in the kernel's text. */
	if (!strcmp(name, "print") || !strcmp(name, "tracing_mark_write"))
		return read_mark(text, &event) ? trace_add(events, &event) : 0;
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		if (strcmp(readers[i].name, name))
			continue;
		event.kind = readers[i].kind;
		return readers[i].read(text, &event) ? trace_add(events, &event) : -EINVAL;
	}
	return 0;
}

/* Reads "1.236124: ". */
static const char *read_time(const char *text, unsigned long long *ns)
{
	unsigned long long seconds, micro;
	const char *dot;
	char *end;

	if (!isdigit((unsigned char)*text))
		return NULL;
	errno = 0;
	seconds = strtoull(text, &end, 10);
	dot = end;
	if (errno || *dot != '.' || !isdigit((unsigned char)dot[1]) || seconds > 1ull << 33)
		return NULL;
	micro = strtoull(dot + 1, &end, 10);
	if (end - dot != 7 || end[0] != ':' || end[1] != ' ')
		return NULL;
	*ns = seconds * 1000000000 + micro * 1000;
	return end + 2;
}

/*
 * Returns where the event's name begins in a line such as
 * "   cpuhp/3-31   [003] .N...   1.236235: cpuhp_exit: ...".
 * The name of a task may contain blanks and brackets, so each "[" is tried until the number of a
 * CPU and a time follow.
 */
static const char *read_head(const char *line, unsigned long long *ns)
{
	const char *place = line, *event;

	while ((place = strchr(place, '['))) {
		size_t digits = strspn(++place, "0123456789");

		if (!digits || strncmp(place + digits, "] ", 2))
			continue;
		place += digits + 2;
		place += strcspn(place, " ");	/* irqs-off, need-resched, ... */
		place += strspn(place, " ");
		event = read_time(place, ns);
		if (event)
			return event;
	}
	return NULL;
}

static int read_line(struct trace_events *events, char *line)
{
	unsigned long long ns;
	const char *found = *line == '#' ? NULL : read_head(line, &ns);
	char *name, *colon;

	if (!found)
		return 0;
	name = line + (found - line);
	colon = strchr(name, ':');
	if (!colon)
		return 0;
	*colon = '\0';
	return trace_read(events, ns, name, colon + 1);
}

int trace_parse(const char *text, struct trace_events *events)
{
	int error = 0;

	events->list = NULL;
	events->count = 0;
	while (*text && !error) {
		size_t length = strcspn(text, "\n");
		char *line = strndup(text, length);

		error = line ? read_line(events, line) : -ENOMEM;
		free(line);
		text += length + (text[length] == '\n');
	}
	if (error)
		trace_free(events);
	else
		trace_sort(events);
	return error;
}

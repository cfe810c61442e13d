/* SPDX-License-Identifier: GPL-2.0-only */
/* One traced request as a waterfall: what ran when, to scale. */
#ifndef WATERFALL_H
#define WATERFALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "trace_events.h"

/** A piece of time, in ns since the request began */
struct span {
	unsigned long long start, end;
};

/** One line of the waterfall */
struct waterfall_row {
	bool group;		/* a phase, or a CPU of a native request; if not, a state */
	char name[48];
	int state;		/* number of the state, -1 for a group */
	struct span *spans;	/* a span for each time that the state or group ran */
	size_t count;
	unsigned long long busy; /* sum of the spans, ns */
	int error;		/* the error that a callback of the state returned, or 0 */
};

struct waterfall {
	char title[64];		/* what was requested, "" if the trace does not say */
	unsigned long long batch; /* number of Bolt's batch, 0 without Bolt */
	unsigned long long total; /* ns from the beginning to the end of the request */
	unsigned long long in_batch; /* ns that the kernel gives for the batch, 0 without Bolt */
	int error;		/* the error with which the batch ended */
	struct waterfall_row *rows; /* groups, each followed by its states */
	size_t count;
	unsigned int deferred, cancelled, settled; /* teardowns */
};

/**
 * waterfall_build() - sort the events of one request into rows
 * @events: in the order of their times
 * @waterfall: is overwritten; free it with waterfall_free()
 *
 * With Bolt, a group is a phase of the last batch in @events. Without Bolt, a
 * group is a CPU, as CPUs then come or go one after the other.
 *
 * Return: 0, -ENODATA if @events has no request, -ENOMEM.
 */
int waterfall_build(const struct trace_events *events, struct waterfall *waterfall);

/** waterfall_free() - free what @waterfall holds */
void waterfall_free(struct waterfall *waterfall);

/** What waterfall_print() shows */
struct waterfall_look {
	unsigned int width;	/* columns; 60 at least are used */
	bool all;		/* show each state; if not, short states of a group share a line */
	/* Name of a state, or NULL: then the name of its callback is shown. */
	const char *(*state_name)(int state, void *data);
	void *data;
};

/**
 * waterfall_print() - print @waterfall
 *
 * A line with a bar is at most @look->width columns long, or 60 if @look->width is less.
 */
void waterfall_print(const struct waterfall *waterfall, const struct waterfall_look *look,
		     FILE *out);

/** waterfall_time() - @ns with a unit, as "132.8 us", in 9 columns at most */
const char *waterfall_time(unsigned long long ns, char *text, size_t size);

#endif /* WATERFALL_H */

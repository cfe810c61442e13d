/* SPDX-License-Identifier: GPL-2.0-only */
/* Events of a traced request: those of the kernel's systems bolt and cpuhp, and cpubolt's marks. */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include <stddef.h>

enum trace_kind {
	TRACE_BEGIN,		/* cpubolt's own mark: the request begins */
	TRACE_END,		/* cpubolt's own mark: the request has ended */
	TRACE_ENTER,		/* a callback of a hotplug state begins */
	TRACE_EXIT,		/* a callback of a hotplug state has ended */
	TRACE_PHASE,		/* a phase of a batch has ended, which took @duration */
	TRACE_BATCH,		/* a batch has ended, which took @duration */
	TRACE_DEFER,		/* a teardown has been deferred */
	TRACE_CANCEL,		/* a deferred teardown has been cancelled */
	TRACE_SETTLE,		/* a deferred teardown has run */
};

/** What cpubolt writes to trace_marker, before the words of the request */
#define TRACE_MARK_BEGIN	"cpubolt: begin "
#define TRACE_MARK_END		"cpubolt: end "

/** One event; a member that its kind does not have is 0 */
struct trace_event {
	enum trace_kind kind;
	unsigned long long ns;		/* when the event was, by the trace's clock */
	unsigned long long duration;	/* ns */
	unsigned long long batch;	/* number of the batch */
	unsigned int cpu;		/* CPU that comes or goes; the first CPU of a batch */
	int state;			/* number of the hotplug state */
	int error;			/* error of a callback or of a batch */
	unsigned int up, down;		/* how many CPUs of a batch were to come, and to go */
	char name[48];			/* name of a callback or phase, or the request in words */
};

/** Events in the order of their times */
struct trace_events {
	struct trace_event *list;
	size_t count;
};

/**
 * trace_parse() - read the text of a tracing instance's file trace
 * @text: contents of the file, with times in seconds and six decimals
 * @events: is overwritten; free it with trace_free()
 *
 * Events that enum trace_kind does not have are left out.
 *
 * Return: 0, -EINVAL if an event that enum trace_kind has is malformed, -ENOMEM.
 */
int trace_parse(const char *text, struct trace_events *events);

/**
 * trace_read() - read one event as the kernel and libtraceevent print it
 * @events: gets the event
 * @ns: when the event was, by the trace's clock
 * @name: name of the event, without its system
 * @text: what is printed after "NAME: "
 *
 * Return: 0, also if enum trace_kind does not have the event; -EINVAL if enum
 * trace_kind has the event, and @text is malformed; -ENOMEM.
 */
int trace_read(struct trace_events *events, unsigned long long ns, const char *name,
	       const char *text);

/** trace_add() - add a copy of @event to @events; 0 or -ENOMEM */
int trace_add(struct trace_events *events, const struct trace_event *event);

/** trace_sort() - sort @events by time; events of the same time keep their order */
void trace_sort(struct trace_events *events);

/**
 * trace_start_of() - when a phase or a batch began, in ns by the trace's clock
 * @event: the event of kind TRACE_PHASE or TRACE_BATCH with which the phase or batch ended
 */
unsigned long long trace_start_of(const struct trace_event *event);

/**
 * trace_exit_of() - find the end of a callback
 * @events: in the order of their times
 * @from: index of the event of kind TRACE_ENTER with which the callback begins
 *
 * Return: the event of kind TRACE_EXIT, or NULL if the trace has no such event.
 */
const struct trace_event *trace_exit_of(const struct trace_events *events, size_t from);

/** trace_free() - free what @events holds */
void trace_free(struct trace_events *events);

#endif /* TRACE_EVENTS_H */

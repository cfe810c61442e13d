// SPDX-License-Identifier: GPL-2.0-only
/* Prints a traced request as slices for Perfetto. */
#include "trace_slices.h"

/** What the lines of all slices share */
struct printer {
	FILE *out;
	unsigned int pid;
	unsigned int slices;	/* slices printed so far: the number of the next slice */
};

/* Prints the beginning of a line: process and time of an event, whose text follows. */
static void print_head(const struct printer *printer, unsigned long long ns)
{
	fprintf(printer->out, "         cpubolt-%-7u [000] ..... %5llu.%06llu: tracing_mark_write: ",
		printer->pid, ns / 1000000000, ns / 1000 % 1000000);
}

/* "G" begins and "H" ends a slice of a track; the number says which slice of the track ends. */
static void print_slice(struct printer *printer, const char *track, const char *name,
			unsigned long long start, unsigned long long end)
{
	unsigned int number = printer->slices++;

	print_head(printer, start);
	fprintf(printer->out, "G|%u|%s|%s|%u\n", printer->pid, track, name, number);
	print_head(printer, end);
	fprintf(printer->out, "H|%u|%s|%u\n", printer->pid, track, number);
}

static void print_request(struct printer *printer, const struct trace_events *events)
{
	const struct trace_event *begin = NULL;

	for (size_t i = 0; i < events->count; i++) {
		const struct trace_event *event = &events->list[i];

		if (event->kind == TRACE_BEGIN && !begin)
			begin = event;
		if (event->kind == TRACE_END && begin) {
			print_slice(printer, "request", begin->name, begin->ns, event->ns);
			return;
		}
	}
}

static void print_phases(struct printer *printer, const struct trace_events *events)
{
	char track[32];

	for (size_t i = 0; i < events->count; i++) {
		const struct trace_event *event = &events->list[i];

		if (event->kind != TRACE_PHASE)
			continue;
		snprintf(track, sizeof(track), "batch %llu", event->batch);
		print_slice(printer, track, event->name, trace_start_of(event), event->ns);
	}
}

/* A callback whose end was not recorded has no slice. */
static void print_callbacks(struct printer *printer, const struct trace_events *events)
{
	char track[32];

	for (size_t i = 0; i < events->count; i++) {
		const struct trace_event *event = &events->list[i], *last;

		if (event->kind != TRACE_ENTER)
			continue;
		last = trace_exit_of(events, i);
		if (!last)
			continue;
		snprintf(track, sizeof(track), "CPU %u", event->cpu);
		print_slice(printer, track, event->name, event->ns, last->ns);
	}
}

void trace_slices_print(const struct trace_events *events, unsigned int pid, FILE *out)
{
	struct printer printer = { .out = out, .pid = pid };

	fputs("# The lines below show the events above as slices, for Perfetto.\n", out);
	print_request(&printer, events);
	print_phases(&printer, events);
	print_callbacks(&printer, events);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* A traced request as slices, the form in which Perfetto draws what runs when. */
#ifndef TRACE_SLICES_H
#define TRACE_SLICES_H

#include <stdio.h>

#include "trace_events.h"

/**
 * trace_slices_print() - print @events as lines that can follow the kernel's text of a trace
 * @events: in the order of their times
 * @pid: the process under which Perfetto shows the slices
 * @out: gets two lines, begin and end, for each slice
 *
 * Perfetto draws no events of the kernel's systems bolt and cpuhp, but draws slices. The
 * lines make a track with the request, a track for each batch, whose slices are the phases
 * of the batch, and a track for each CPU that comes or goes, whose slices are the callbacks
 * that ran for the CPU. trace_parse() finds no event in the lines, and so reads each event
 * of a text with slices once.
 */
void trace_slices_print(const struct trace_events *events, unsigned int pid, FILE *out);

#endif /* TRACE_SLICES_H */

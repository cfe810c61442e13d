/* SPDX-License-Identifier: GPL-2.0-only */
/* Traces requests with the function_graph tracer, and sends the text to the trace port. */
#ifndef BOLT_TRACING_H
#define BOLT_TRACING_H

#include <stdint.h>

/*
 * Starts the tracer, which records nothing before tracing_on(). @functions has names with commas
 * in between; @missing is called for each function that this kernel does not have, inlines, or
 * marks notrace. @buffer_kb is the size of the buffer of each CPU.
 */
void tracing_start(const char *buffer_kb, const char *functions,
		   void (*missing)(const char *name));
void tracing_stop(void);

/* Does what tracing_start() does, except for the settings of the trace and of the buffer. */
void tracing_functions(const char *functions, void (*missing)(const char *name));

/* A @missing that ends the program. */
void tracing_untraceable(const char *name);

/* Begin and end tracing; tracing_on() first empties the buffer. */
void tracing_on(void);
void tracing_off(void);

/* Sends the trace, after a line with @kind, @what=@n and @start, and before a line with @end. */
void tracing_send(const char *kind, const char *what, int n, int64_t start, int64_t end);

#endif

// SPDX-License-Identifier: GPL-2.0-only
/* The function_graph tracer, for programs whose traces the lab reads. */
#define _GNU_SOURCE
#include "guest.h"
#include "tracing.h"

#include <stdio.h>
#include <string.h>


static const struct {
	const char *file, *value;
} settings[] = {
	{ TRACE_DIR "tracing_on", "0" },
	{ TRACE_DIR "trace_clock", "mono" },
	{ TRACE_DIR "options/funcgraph-abstime", "1" },
	{ TRACE_DIR "options/funcgraph-cpu", "1" },
	{ TRACE_DIR "options/funcgraph-proc", "1" },
	{ TRACE_DIR "options/funcgraph-irqs", "0" },
	{ TRACE_DIR "options/funcgraph-tail", "1" },
	{ TRACE_DIR "options/sleep-time", "1" },
	{ TRACE_DIR "events/cpuhp/enable", "1" },
};

void tracing_functions(const char *functions, void (*missing)(const char *name))
{
	static char names[8192];
	char line[128];

	snprintf(names, sizeof(names), "%s", functions);
	must_write(TRACE_DIR "set_ftrace_filter", " ");
	for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
		/*
		 * At the end of the line the kernel looks for the function, so that the write
		 * fails if there is none.
		 */
		snprintf(line, sizeof(line), "%s\n", name);
		if (append_text(TRACE_DIR "set_ftrace_filter", line))
			missing(name);
	}
	must_write(TRACE_DIR "current_tracer", "function_graph");
}

void tracing_untraceable(const char *name)
{
	die("%s cannot be traced", name);
}

void tracing_start(const char *buffer_kb, const char *functions,
		   void (*missing)(const char *name))
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		must_write(settings[i].file, settings[i].value);
	must_write(TRACE_DIR "buffer_size_kb", buffer_kb);
	tracing_functions(functions, missing);
}

void tracing_stop(void)
{
	must_write(TRACE_DIR "current_tracer", "nop");
}

void tracing_on(void)
{
	must_write(TRACE_DIR "trace", " ");
	must_write(TRACE_DIR "tracing_on", "1");
}

void tracing_off(void)
{
	must_write(TRACE_DIR "tracing_on", "0");
}

void tracing_send(const char *kind, const char *what, int n, int64_t start, int64_t end)
{
	int err;

	dprintf(FD_TRACE, "=== begin KIND=%s %s=%d t0=%lld ===\n", kind, what, n,
		(long long)start);
	err = copy_to_fd(TRACE_DIR "trace", FD_TRACE);
	if (err)
		die("trace: %s", strerror(-err));
	dprintf(FD_TRACE, "=== end t1=%lld ===\n", (long long)end);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The function_graph tracer, for programs whose traces the lab reads. */
#define _GNU_SOURCE
#include "guest.h"
#include "tracing.h"

#include <stdio.h>
#include <string.h>

#define TRACING "/sys/kernel/tracing/"

static const struct {
	const char *file, *value;
} settings[] = {
	{ TRACING "tracing_on", "0" },
	{ TRACING "trace_clock", "mono" },
	{ TRACING "options/funcgraph-abstime", "1" },
	{ TRACING "options/funcgraph-cpu", "1" },
	{ TRACING "options/funcgraph-proc", "1" },
	{ TRACING "options/funcgraph-irqs", "0" },
	{ TRACING "options/funcgraph-tail", "1" },
	{ TRACING "options/sleep-time", "1" },
	{ TRACING "events/cpuhp/enable", "1" },
};

void must_write(const char *path, const char *value)
{
	int err = write_text(path, value);

	if (err)
		die("%s: %s", path, strerror(-err));
}

void tracing_functions(const char *functions, void (*missing)(const char *name))
{
	static char names[8192];

	snprintf(names, sizeof(names), "%s", functions);
	must_write(TRACING "set_ftrace_filter", " ");
	for (char *name = strtok(names, ","); name; name = strtok(NULL, ","))
		if (append_text(TRACING "set_ftrace_filter", name))
			missing(name);
	must_write(TRACING "current_tracer", "function_graph");
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
	must_write(TRACING "buffer_size_kb", buffer_kb);
	tracing_functions(functions, missing);
}

void tracing_stop(void)
{
	must_write(TRACING "current_tracer", "nop");
}

void tracing_on(void)
{
	must_write(TRACING "trace", " ");
	must_write(TRACING "tracing_on", "1");
}

void tracing_off(void)
{
	must_write(TRACING "tracing_on", "0");
}

void tracing_send(const char *kind, const char *what, int n, int64_t start, int64_t end)
{
	int err;

	dprintf(FD_TRACE, "=== begin KIND=%s %s=%d t0=%lld ===\n", kind, what, n,
		(long long)start);
	err = copy_to_fd(TRACING "trace", FD_TRACE);
	if (err)
		die("trace: %s", strerror(-err));
	dprintf(FD_TRACE, "=== end t1=%lld ===\n", (long long)end);
}

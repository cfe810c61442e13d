// SPDX-License-Identifier: GPL-2.0-only
/*
 * Raw material for the breakdown figures: requests under the function_graph
 * tracer, the text of each to the trace port between two marker lines.
 * usage: breakdown cpus=N n=N warmup=N gap_ms=N functions=A,B,...
 */
#define _GNU_SOURCE
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACING "/sys/kernel/tracing/"

static const struct {
	const char *file, *value;
} settings[] = {
	{ TRACING "tracing_on", "0" },
	{ TRACING "trace_clock", "mono" },
	{ TRACING "buffer_size_kb", "2048" },
	{ TRACING "options/funcgraph-abstime", "1" },
	{ TRACING "options/funcgraph-cpu", "1" },
	{ TRACING "options/funcgraph-proc", "1" },
	{ TRACING "options/funcgraph-irqs", "0" },
	{ TRACING "options/funcgraph-tail", "1" },
	{ TRACING "options/sleep-time", "1" },
	{ TRACING "events/cpuhp/enable", "1" },
};

static void set(const char *path, const char *value)
{
	int err = write_text(path, value);

	if (err)
		die("%s: %s", path, strerror(-err));
}

/* Functions that this kernel does not have, or inlines, are left out. */
static void choose(const char *list)
{
	static char names[8192];

	snprintf(names, sizeof(names), "%s", list);
	set(TRACING "set_ftrace_filter", " ");
	for (char *name = strtok(names, ","); name; name = strtok(NULL, ","))
		if (append_text(TRACING "set_ftrace_filter", name))
			dprintf(FD_TRACE, "# not traceable: %s\n", name);
}

struct request {
	int64_t start, end;
};

static struct request request(int cpu, bool online)
{
	struct request r = { .start = now_ns() };
	int err = cpu_write(cpu, online);

	r.end = now_ns();
	if (err)
		die("CPU %d: %s", cpu, strerror(-err));
	return r;
}

/* The buffer holds both requests of a pair; readers clip it to their times. */
static void send(const char *kind, int cpu, const struct request *r)
{
	int err;

	dprintf(FD_TRACE, "=== begin KIND=%s cpu=%d t0=%lld ===\n", kind, cpu,
		(long long)r->start);
	err = copy_to_fd(TRACING "trace", FD_TRACE);
	if (err)
		die("trace: %s", strerror(-err));
	dprintf(FD_TRACE, "=== end t1=%lld ===\n", (long long)r->end);
}

/* Reading the trace between the two would let a grace period pass unseen. */
static void pair(int cpu, bool keep)
{
	struct request down, up;

	set(TRACING "trace", " ");
	set(TRACING "tracing_on", "1");
	down = request(cpu, false);
	up = request(cpu, true);
	set(TRACING "tracing_on", "0");
	if (!keep)
		return;
	send("offline", cpu, &down);
	send("online", cpu, &up);
}

int main(int argc, char **argv)
{
	int cpu = arg_long(argv, "cpus", 1);
	int n = arg_long(argv, "n", 10), warmup = arg_long(argv, "warmup", 2);
	long gap_ms = arg_long(argv, "gap_ms", 50);
	const char *functions = arg_text(argv, "functions", NULL);

	if (argc < 2 || !functions)
		die("usage: breakdown functions=A,B,... [key=value...]");
	pin_to(arg_long(argv, "control", 0));
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		set(settings[i].file, settings[i].value);
	choose(functions);
	set(TRACING "current_tracer", "function_graph");
	for (int i = 0; i < warmup + n; i++) {
		pair(cpu, i >= warmup);
		/* Not in step with the tick of 4 ms. */
		sleep_ms(gap_ms + i * 3 % 4);
	}
	set(TRACING "current_tracer", "nop");
	return 0;
}

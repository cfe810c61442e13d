// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traces requests, so that the lab can show how long each phase of a request takes:
 * for each request, the text of the function_graph tracer goes to the trace port once,
 * between two marker lines that say when the request began and ended.
 * usage: breakdown cpus=CPU n=N warmup=N gap_ms=N away_ms=N control=CPU functions=A,B,...
 */
#define _GNU_SOURCE
#include "guest.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function that this kernel does not have, inlines, or marks notrace, is not traced. */
static void missing(const char *name)
{
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
		die("cannot change CPU %d: %s", cpu, strerror(-err));
	return r;
}

/*
 * The trace is read only after both requests: during a read in between, a grace period
 * could pass, for which the second request would then not wait.
 */
static void pair(int cpu, bool keep, long away_ms)
{
	struct request down, up;

	tracing_on();
	down = request(cpu, false);
	wait_ms(away_ms);
	up = request(cpu, true);
	tracing_off();
	if (!keep)
		return;
	/* The buffer holds both requests, which the lab tells apart by the times of the markers. */
	tracing_send("offline", "cpu", cpu, down.start, down.end);
	tracing_send("online", "cpu", cpu, up.start, up.end);
}

int main(int argc, char **argv)
{
	int cpu = arg_long(argv, "cpus", 1);
	int n = arg_long(argv, "n", 10), warmup = arg_long(argv, "warmup", 2);
	long gap_ms = arg_long(argv, "gap_ms", 50), away_ms = arg_long(argv, "away_ms", 0);
	const char *functions = arg_text(argv, "functions", NULL);

	if (argc < 2 || !functions)
		die("usage: breakdown functions=A,B,... [key=value...]");
	pin_to(arg_long(argv, "control", 0));
	tracing_start("2048", functions, missing);
	for (int i = 0; i < warmup + n; i++) {
		pair(cpu, i >= warmup, away_ms);
		/* Keep requests out of step with the tick of 4 ms. */
		wait_ms(gap_ms + i * 3 % 4);
	}
	tracing_stop();
	return 0;
}

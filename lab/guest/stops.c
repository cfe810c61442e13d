// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures for how long requests stop the machine, natively and with Bolt, in turn:
 * the durations of multi_cpu_stop(), the function in which the stopper thread of a CPU
 * keeps that CPU from every other task. Each request gives three times:
 *
 *	stop	the longest of these durations, on any CPU
 *	stopped	the sum of these durations on the CPU where this program runs, which stays
 *	took	the duration of the whole request, in suspend that of FREEZE or of THAW
 *
 * Except in suspend, a native request is for one CPU, and each of the three times is for
 * all requests that take the CPUs of the list offline, or online, together. *Natively* is
 * with enabled=0; a kernel without Bolt has native figures only.
 */
#define _GNU_SOURCE
#include "measure.h"
#include "tracing.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENABLED BOLT_DIR "enabled"
#define STOP "multi_cpu_stop"
#define FREEZE "freeze_secondary_cpus"
#define THAW "thaw_secondary_cpus"
#define BUFFER_KB "64"		/* for each CPU; an event of a stop takes less than 100 bytes */
#define TRACE_SIZE (1 << 22)
#define MAX_ROUNDS 100

enum { NATIVE, BOLT, VARIANTS };
enum { DOWN, UP, WAYS };

struct stops {
	int64_t longest, sum, took;	/* the times stop, stopped and took, in ns */
	int times;			/* how many stops this program's CPU has had */
};

static const char *const variant_names[VARIANTS] = { "native", "bolt" };
static const char *const batch_names[WAYS] = { "offline", "online" };
static const char *const suspend_names[WAYS] = { "freeze", "thaw" };
static struct stops found[VARIANTS][WAYS][MAX_ROUNDS];

static void trace_start(const char *functions)
{
	must_write(TRACE_DIR "tracing_on", "0");
	must_write(TRACE_DIR "buffer_size_kb", BUFFER_KB);
	must_write(TRACE_DIR "options/funcgraph-tail", "1");
	tracing_functions(functions, tracing_untraceable);
}

/*
 * Adds up lines " CPU) # 1234.567 us |  FUNCTION();". If the tracer saw anything inside
 * the function, the function's name is in a comment behind "}". Stops after the end of
 * freeze_secondary_cpus() are those of thaw_secondary_cpus(); if neither function was
 * traced, all stops are for @all[DOWN].
 */
static void trace_read(struct stops *all)
{
	static char trace[TRACE_SIZE];
	ssize_t size = read_text(TRACE_DIR "trace", trace, sizeof(trace));
	struct stops *now = &all[DOWN];
	int here = sched_getcpu();
	char *line, *save;

	if (size < 0 || size >= TRACE_SIZE - 1)
		die("cannot read the trace");
	for (line = strtok_r(trace, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *unit = strstr(line, " us ");
		int64_t ns;

		if (strstr(line, "LOST"))
			die("the trace is too long");
		if (!unit)
			continue;
		*unit = '\0';
		ns = strtod(strrchr(line, ' '), NULL) * 1000;
		unit++;
		if (strstr(unit, FREEZE)) {
			now->took = ns;
			now = &all[UP];
		} else if (strstr(unit, THAW)) {
			now->took = ns;
		} else if (strstr(unit, STOP)) {
			if (ns > now->longest)
				now->longest = ns;
			if (strtol(line, NULL, 10) != here)
				continue;
			now->sum += ns;
			now->times++;
		}
	}
}

static void batch_round(const struct measure *m, int variant, int i)
{
	for (int way = DOWN; way < WAYS; way++) {
		struct stops seen[WAYS] = {};
		int64_t took;

		tracing_on();
		took = variant == BOLT ? request_bulk(m, way) : request(m, way);
		tracing_off();
		trace_read(seen);
		seen[DOWN].took = took;
		found[variant][way][i] = seen[DOWN];
		gap(m->gap_ms, i);
	}
}

static void suspend_round(const struct measure *m, int variant, int i)
{
	struct stops seen[WAYS] = {};

	tracing_on();
	must_write("/sys/power/state", "mem");
	tracing_off();
	trace_read(seen);
	for (int way = DOWN; way < WAYS; way++) {
		if (!seen[way].took)
			die("%s was not traced", suspend_names[way]);
		found[variant][way][i] = seen[way];
	}
	gap(m->gap_ms, i);
}

/*
 * Dies if the trace has fewer stops than taking the CPUs offline needs: the trace then
 * lacks some stops.
 */
static void check(const struct measure *m, int variant, int i)
{
	int times = found[variant][DOWN][i].times, least = variant == BOLT ? 1 : m->ncpus;

	if (times < least)
		die("%d stops of %d CPUs, %s", times, m->ncpus, variant_names[variant]);
}

static void report_one(const struct measure *m, const char *way, const char *what, int variant,
		       const int64_t *ns)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s_%s", way, what, variant_names[variant]);
	emit_samples(name, m->ncpus, ns, m->n);
}

static void report_all(const struct measure *m, int variant, const char *const *ways)
{
	for (int way = DOWN; way < WAYS; way++) {
		int64_t stop[MAX_ROUNDS], stopped[MAX_ROUNDS], took[MAX_ROUNDS];

		for (int i = 0; i < m->n; i++) {
			const struct stops *seen = &found[variant][way][m->warmup + i];

			stop[i] = seen->longest;
			stopped[i] = seen->sum;
			took[i] = seen->took;
		}
		report_one(m, ways[way], "stop", variant, stop);
		report_one(m, ways[way], "stopped", variant, stopped);
		report_one(m, ways[way], "took", variant, took);
	}
}

static void in_turn(const struct measure *m, const char *const *ways,
		    void (*round)(const struct measure *m, int variant, int i))
{
	int variants = access(ENABLED, F_OK) ? BOLT : VARIANTS;

	if (m->n + m->warmup > MAX_ROUNDS)
		die("at most %d rounds", MAX_ROUNDS);
	for (int i = 0; i < m->warmup + m->n; i++) {
		for (int variant = NATIVE; variant < variants; variant++) {
			if (variants > BOLT)
				must_write(ENABLED, variant == BOLT ? "1" : "0");
			round(m, variant, i);
			check(m, variant, i);
		}
	}
	tracing_stop();
	for (int variant = NATIVE; variant < variants; variant++)
		report_all(m, variant, ways);
}

void stops(const struct measure *m)
{
	trace_start(STOP);
	in_turn(m, batch_names, batch_round);
}

void stops_suspend(const struct measure *m)
{
	suspend_stops_early();
	trace_start(STOP "," FREEZE "," THAW);
	in_turn(m, suspend_names, suspend_round);
}

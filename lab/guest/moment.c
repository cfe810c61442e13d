// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures two moments that user space cannot see, "entry" in an offline request and "exit" in
 * an online request, on kernels with and without Bolt. The AP is the CPU that goes or comes, and
 * the control CPU is the CPU on which this program runs:
 *   entry: the control CPU has seen the AP dead. A function that the control CPU calls
 *          soon after that, see dead[], is the only traced function.
 *   exit:  the first task runs on the AP. This is the first sched_switch in
 *          the trace, because only the AP is traced.
 */
#define _GNU_SOURCE
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MOMENTS 1000

/*
 * A function that the control CPU calls soon after a CPU has died, and not before: in Linux 6.12
 * the first one; in 7.3 the teardown of the first state of a dead CPU.
 */
static const char *const dead[] = { "tick_cleanup_dead_cpu", "finish_cpu" };

static void set(const char *file, const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), TRACE_DIR "%s", file);
	if (write_text(path, value))
		die("cannot set %s to %s", path, value);
}

/*
 * Returns the time of the first record of @event in the trace, in ns; the trace prints
 * microseconds: "measure-70 [000] d....   12.345678: EVENT ...".
 */
static int64_t first_record(const char *event)
{
	static char trace[1 << 16];
	char mark[64], *line, *save;

	snprintf(mark, sizeof(mark), ": %s", event);
	if (read_text(TRACE_DIR "trace", trace, sizeof(trace)) < 0)
		die("cannot read the trace");
	for (line = strtok_r(trace, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *stamp = strstr(line, mark);
		long long sec, usec;

		if (line[0] == '#' || !stamp)
			continue;
		while (stamp > line && stamp[-1] != ' ')
			stamp--;
		if (sscanf(stamp, "%lld.%6lld", &sec, &usec) != 2)
			die("a line of the trace has no time: %s", line);
		return (sec * 1000000 + usec) * 1000;
	}
	die("no %s in the trace", event);
}

/*
 * Makes an offline and an online request, and traces the online request if @online is
 * true, or else the offline request. Returns the time from the traced write to @event.
 */
static int64_t one(int cpu, int i, bool online, const char *event)
{
	int64_t start, moment;

	set("trace", " ");
	if (online && cpu_write(cpu, false))
		die("CPU %d: offline failed", cpu);
	turn(i);
	set("tracing_on", "1");
	start = now_ns();
	if (cpu_write(cpu, online))
		die("CPU %d: request failed", cpu);
	set("tracing_on", "0");
	if (!online && cpu_write(cpu, true))
		die("CPU %d: online failed", cpu);
	moment = first_record(event) - start;
	if (moment <= 0)
		die("event %s was recorded %lld ns before the request began", event, (long long)-moment);
	return moment;
}

static void repeat(const struct measure *m, bool online, const char *event, const char *name)
{
	static int64_t ns[MAX_MOMENTS];

	for (int i = 0; i < m->n + m->warmup; i++) {
		ns[i] = one(m->cpus[0], i, online, event);
		gap(m->gap_ms, i);
	}
	emit_samples(name, 1, ns + m->warmup, m->n);
}

/* Traces the function of dead[] that this kernel has, and returns its name. */
static const char *trace_death(void)
{
	char text[256];

	for (size_t i = 0; i < ARRAY_SIZE(dead); i++) {
		/*
		 * The kernel looks for a function of this name only when the file is
		 * closed, so that the write of a name without a function succeeds, too.
		 */
		if (write_text(TRACE_DIR "set_ftrace_filter", dead[i]) ||
		    read_text(TRACE_DIR "set_ftrace_filter", text, sizeof(text)) < 0)
			continue;
		if (!strncmp(text, dead[i], strlen(dead[i])))
			return dead[i];
	}
	die("this kernel can trace no function that follows the death of a CPU");
}

void moments(const struct measure *m)
{
	char mask[64], all[1024];
	int cpu = m->cpus[0];
	const char *death;

	if (m->ncpus != 1 || cpu >= 32 || m->n + m->warmup > MAX_MOMENTS)
		die("moments: takes one CPU below 32, and at most %d rounds with the warm-up",
		    MAX_MOMENTS);
	snprintf(mask, sizeof(mask), "%x", 1U << cpu);
	if (read_text(TRACE_DIR "tracing_cpumask", all, sizeof(all)) < 0)
		die("cannot read tracing_cpumask");
	set("tracing_on", "0");
	set("trace_clock", "mono");
	death = trace_death();
	set("current_tracer", "function");
	repeat(m, false, death, "entry1");
	set("current_tracer", "nop");

	set("tracing_cpumask", mask);
	set("events/sched/sched_switch/enable", "1");
	repeat(m, true, "sched_switch", "exit1");
	set("events/sched/sched_switch/enable", "0");
	set("tracing_cpumask", all);
}

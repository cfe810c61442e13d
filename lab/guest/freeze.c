// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures how long suspend takes to take all CPUs but the first offline, and to bring
 * these CPUs back: the durations of the kernel's functions FREEZE and THAW. Only
 * these functions are traced, because each further traced function would make the
 * durations longer. With "processors" in /sys/power/pm_test, suspend turns back when these
 * CPUs are offline. Hibernation calls the same functions, but pauses the tracer, and so
 * cannot be measured in this way.
 */
#define _GNU_SOURCE
#include "measure.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POWER "/sys/power/"
#define FREEZE "freeze_secondary_cpus"
#define THAW "thaw_secondary_cpus"
#define MAX_FREEZES 200

/*
 * Returns the duration, in ns, of the only run of @function in the trace. The line of the
 * run is " 0) # 1234.567 us |  FUNCTION();", or has the name after "}" if the tracer saw
 * other functions inside.
 */
static int64_t run_time(const char *function)
{
	static char trace[1 << 16], copy[sizeof(trace)];
	char *line, *save;

	if (read_text(TRACE_DIR "trace", trace, sizeof(trace)) < 0)
		die("cannot read the trace");
	memcpy(copy, trace, sizeof(copy));
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *unit = strstr(line, " us ");

		if (!unit || !strstr(line, function))
			continue;
		*unit = '\0';
		return strtod(strrchr(line, ' '), NULL) * 1000;
	}
	die("no %s in the trace: %s", function, trace);
}

void suspend_stops_early(void)
{
	must_write("/sys/module/suspend/parameters/pm_test_delay", "0");
	must_write(POWER "mem_sleep", "deep");
	must_write(POWER "pm_test", "processors");
}

static void prepare(void)
{
	suspend_stops_early();
	must_write(TRACE_DIR "tracing_on", "0");
	must_write(TRACE_DIR "options/funcgraph-tail", "1");
	tracing_functions(FREEZE "," THAW, tracing_untraceable);
}

void freezes(const struct measure *m)
{
	static int64_t freeze[MAX_FREEZES], thaw[MAX_FREEZES];

	if (m->n + m->warmup > MAX_FREEZES)
		die("at most %d rounds", MAX_FREEZES);
	prepare();
	for (int i = 0; i < m->n + m->warmup; i++) {
		tracing_on();
		must_write(POWER "state", "mem");
		tracing_off();
		freeze[i] = run_time(FREEZE);
		thaw[i] = run_time(THAW);
		gap(m->gap_ms, i);
	}
	tracing_stop();
	emit_samples("freeze", m->ncpus, freeze + m->warmup, m->n);
	emit_samples("thaw", m->ncpus, thaw + m->warmup, m->n);
}

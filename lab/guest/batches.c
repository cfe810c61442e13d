// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traces requests for several CPUs, so that the lab can count, for instance, the grace
 * periods in each request. The text of the function_graph tracer and of the cpuhp events
 * goes to the trace port; the text of each request, and of each settling of CPUs, is
 * between two marker lines. On a kernel without requests for several CPUs the CPUs go and
 * come one after the other.
 * usage: batches cpus=LIST sizes=LIST n=N warmup=N gap_ms=N control=CPU functions=A,B,...
 */
#define _GNU_SOURCE
#include "guest.h"
#include "lib/states.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATES DEBUG_DIR "states"
#define MAX_SIZES 16

/*
 * Writes a line with the numbers of all states whose callbacks hotplug threads run and that
 * debugfs/bolt/states calls @what, such as "serial".
 */
static void tell(const char *what)
{
	char line[1024], word[32];
	FILE *file = fopen(STATES, "r");
	int state, above = hp_state_nr("cpu:teardown");

	/* No hotplug thread runs the callbacks of cpu:teardown and of the states below it. */
	dprintf(FD_TRACE, "# %s:", what);
	while (file && fgets(line, sizeof(line), file))
		/* A "!", which is not read, follows a word that the administrator has set. */
		if (sscanf(line, "%d %*s %31[a-z]", &state, word) == 2 && state > above &&
		    !strcmp(word, what))
			dprintf(FD_TRACE, " %d", state);
	dprintf(FD_TRACE, "\n");
	if (file)
		fclose(file);
}

static void request(const int *cpus, int n, bool online)
{
	static char list[8 * MAX_CPUS];
	int used = 0, err = 0;

	if (access(BOLT_DIR "offline", F_OK)) {
		for (int i = 0; i < n && !err; i++)
			err = cpu_write(cpus[online ? n - 1 - i : i], online);
	} else {
		for (int i = 0; i < n; i++)
			used += snprintf(list + used, sizeof(list) - used, "%s%d",
					 i ? "," : "", cpus[i]);
		err = write_text(online ? BOLT_DIR "online" : BOLT_DIR "offline", list);
	}
	if (err)
		die("%d CPUs %s: %s", n, online ? "online" : "offline", strerror(-err));
}

/* Runs all deferred teardowns, and a deferred rebuild of scheduler domains. */
static void settle(const int *cpus, int n, bool online)
{
	(void)cpus;
	(void)n;
	(void)online;
	must_write(BOLT_DIR "settle", "all");
}

static void traced(const char *kind, const int *cpus, int n, bool online,
		   void (*run)(const int *cpus, int n, bool online), bool keep)
{
	int64_t start, end;

	tracing_on();
	start = now_ns();
	run(cpus, n, online);
	end = now_ns();
	tracing_off();
	if (keep)
		tracing_send(kind, "batch", n, start, end);
}

/*
 * Makes an offline request and, without settling, an online request, and then, on a kernel
 * with Bolt, the same requests with all teardowns settled in between.
 */
static void cycle(const int *cpus, int n, long gap_ms, bool keep)
{
	traced("offline", cpus, n, false, request, keep);
	traced("online", cpus, n, true, request, keep);
	wait_ms(gap_ms);
	if (access(BOLT_DIR "settle", F_OK))
		return;
	request(cpus, n, false);
	traced("settle", cpus, n, false, settle, keep);
	traced("online_settled", cpus, n, true, request, keep);
	wait_ms(gap_ms);
}

int main(int argc, char **argv)
{
	int n = arg_long(argv, "n", 3), warmup = arg_long(argv, "warmup", 1);
	const char *functions = arg_text(argv, "functions", NULL);
	int cpus[MAX_CPUS], ncpus, sizes[MAX_SIZES], nsizes;
	long gap_ms = arg_long(argv, "gap_ms", 50);

	if (argc < 2 || !functions)
		die("usage: batches functions=A,B,... [key=value...]");
	ncpus = parse_cpus(arg_text(argv, "cpus", "1"), cpus, MAX_CPUS);
	nsizes = parse_cpus(arg_text(argv, "sizes", "1"), sizes, MAX_SIZES);
	pin_to(arg_long(argv, "control", 0));
	tell("concurrent");
	tell("serial");
	/* Dies if a function cannot be traced: otherwise the lab would count no call of it. */
	tracing_start("1024", functions, tracing_untraceable);
	for (int k = 0; k < nsizes; k++) {
		if (sizes[k] < 1 || sizes[k] > ncpus)
			die("cannot take %d of %d CPUs", sizes[k], ncpus);
		for (int i = 0; i < warmup + n; i++)
			cycle(cpus, sizes[k], gap_ms, i >= warmup);
	}
	tracing_stop();
	return 0;
}

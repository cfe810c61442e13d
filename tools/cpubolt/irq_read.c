// SPDX-License-Identifier: GPL-2.0-only
/* Reads the interrupts of the machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "irq_read.h"
#include "irq_table.h"

static int read_table(const struct invocation *call, struct irq_table *table)
{
	int error = irq_table_read(call->root, table, false);

	if (error == -EAGAIN)
		return fail(EXIT_FAILED, "CPUs come and go whenever %s/proc/interrupts is read",
			    call->root);
	if (error == -EINVAL)
		return fail(EXIT_FAILED, "cannot understand %s/proc/interrupts", call->root);
	if (error)
		return fail(exit_code_of(error), "cannot read %s/proc/interrupts: %s", call->root,
			    strerror(-error));
	return EXIT_DONE;
}

/* Seconds since boot, with the time for which the machine slept; 1 if that is not known. */
static double uptime(const struct invocation *call)
{
	char *text = invocation_read(call, "/proc/uptime");
	double seconds = text ? strtod(text, NULL) : 0;

	free(text);
	return seconds > 0 ? seconds : 1;
}

static void wait_for(double seconds)
{
	struct timespec left = {
		.tv_sec = seconds,
		.tv_nsec = (seconds - (time_t)seconds) * 1e9,
	};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static int read_rates(const struct invocation *call, double seconds, struct irq_report *report)
{
	struct irq_table before;
	double start;
	int code;

	if (seconds <= 0) {
		code = read_table(call, &report->table);
		if (code == EXIT_DONE)
			report->rates = irq_rates(NULL, &report->table, uptime(call));
		return code;
	}
	code = read_table(call, &before);
	if (code != EXIT_DONE)
		return code;
	/*
	 * The clock starts after the first reading, and is read after the second: between the two
	 * readings of a count lie the wait and the time that one reading takes.
	 */
	start = now();
	wait_for(seconds);
	code = read_table(call, &report->table);
	if (code == EXIT_DONE)
		report->rates = irq_rates(&before, &report->table, now() - start);
	irq_free(&before);
	return code;
}

static int read_places(const struct invocation *call, struct irq_report *report)
{
	size_t count = report->table.count;
	int error = 0;

	report->places = calloc(count + 1, sizeof(*report->places));
	report->sums = calloc(count + 1, sizeof(*report->sums));
	if (!report->places || !report->rates || !report->sums)
		return fail(EXIT_FAILED, "no memory");
	for (size_t i = 0; i < count * report->table.cpu_count; i++)
		report->sums[i / report->table.cpu_count] += report->rates[i];
	for (size_t i = 0; i < count && !error; i++)
		error = irq_place_read(call->root, &report->table.rows[i],
				       &report->places[i]);
	return error ? fail(EXIT_FAILED, "no memory") : EXIT_DONE;
}

int irq_read(const struct invocation *call, double seconds, struct irq_report *report)
{
	int code;

	memset(report, 0, sizeof(*report));
	code = read_rates(call, seconds, report);
	if (code == EXIT_DONE)
		code = read_places(call, report);
	if (code != EXIT_DONE)
		irq_report_free(report);
	return code;
}

void irq_report_free(struct irq_report *report)
{
	for (size_t i = 0; report->places && i < report->table.count; i++)
		irq_place_free(&report->places[i]);
	free(report->places);
	free(report->rates);
	free(report->sums);
	irq_free(&report->table);
	memset(report, 0, sizeof(*report));
}

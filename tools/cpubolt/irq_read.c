// SPDX-License-Identifier: GPL-2.0-only
/* Reads the interrupts of the machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "irq_read.h"

static int read_table(const struct invocation *call, struct irq_table *table)
{
	char *text = invocation_read(call, "/proc/interrupts");
	int error;

	if (!text)
		return fail(exit_code_of(-errno), "cannot read %s/proc/interrupts: %s", call->root,
			    strerror(errno));
	error = irq_parse(text, table);
	free(text);
	if (error)
		return fail(EXIT_FAILED, "cannot understand %s/proc/interrupts", call->root);
	return EXIT_DONE;
}

/* Seconds since boot; those in which the machine slept do not count. */
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
	double start = now();
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
	wait_for(seconds);
	code = read_table(call, &report->table);
	if (code == EXIT_DONE)
		report->rates = irq_rates(&before, &report->table, now() - start);
	irq_free(&before);
	return code;
}

/* A line of /proc/irq/N/FILE, to be freed; "" if there is none. */
static char *read_line(const struct invocation *call, int irq, const char *file)
{
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/irq/%d/%s", irq, file);
	text = invocation_read(call, path);
	if (!text)
		return strdup("");
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* The kernel makes the file writable if user space may move the interrupt. */
static bool is_writable(const struct invocation *call, int irq)
{
	struct stat file;
	char *path;
	bool writable;

	if (asprintf(&path, "%s/proc/irq/%d/smp_affinity_list", call->root, irq) < 0)
		return false;
	writable = !stat(path, &file) && file.st_mode & S_IWUSR;
	free(path);
	return writable;
}

/* Older kernels make all of these files writable: debugfs knows, if the kernel has the file. */
static bool is_managed(const struct invocation *call, int irq)
{
	char path[64], *text;
	bool managed;

	snprintf(path, sizeof(path), "/sys/kernel/debug/irq/irqs/%d", irq);
	text = invocation_read(call, path);
	managed = text && strstr(text, "IRQD_AFFINITY_MANAGED");
	free(text);
	return managed;
}

static int read_place(const struct invocation *call, const struct irq_row *row,
		      struct irq_place *place)
{
	char *node;

	place->node = -1;
	if (row->number < 0) {
		place->kind = irq_kind_of(row, false);
		place->affinity = strdup("");
		place->effective = strdup("");
		return place->affinity && place->effective ? 0 : -ENOMEM;
	}
	place->kind = irq_kind_of(row, is_writable(call, row->number));
	if (place->kind == IRQ_MOVABLE && is_managed(call, row->number))
		place->kind = IRQ_MANAGED;
	place->affinity = read_line(call, row->number, "smp_affinity_list");
	place->effective = read_line(call, row->number, "effective_affinity_list");
	node = read_line(call, row->number, "node");
	if (node && *node)
		place->node = atoi(node);
	free(node);
	return place->affinity && place->effective ? 0 : -ENOMEM;
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
		error = read_place(call, &report->table.rows[i], &report->places[i]);
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
	for (size_t i = 0; report->places && i < report->table.count; i++) {
		free(report->places[i].affinity);
		free(report->places[i].effective);
	}
	free(report->places);
	free(report->rates);
	free(report->sums);
	irq_free(&report->table);
	memset(report, 0, sizeof(*report));
}

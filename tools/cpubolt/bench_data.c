// SPDX-License-Identifier: GPL-2.0-only
/* Statistics of measured requests, and result files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench_data.h"

#define SCHEMA	1
#define NOTE	"real time, measured by cpubolt bench; native and expedited: the same kernel " \
		"with Bolt switched off"

const char *bench_variant_name(enum bench_variant variant)
{
	static const char *const names[BENCH_VARIANTS] = {
		[BENCH_NATIVE]	  = "native",
		[BENCH_EXPEDITED] = "expedited",
		[BENCH_BOLT]	  = "bolt",
	};

	return names[variant];
}

int bench_add(struct bench_samples *samples, unsigned long long ns)
{
	unsigned long long *more = reallocarray(samples->ns, samples->count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	samples->ns = more;
	more[samples->count++] = ns;
	return 0;
}

void bench_free(struct bench_samples *samples)
{
	free(samples->ns);
	samples->ns = NULL;
	samples->count = 0;
}

static int compare(const void *a, const void *b)
{
	unsigned long long one = *(const unsigned long long *)a;
	unsigned long long other = *(const unsigned long long *)b;

	return (one > other) - (one < other);
}

/* The smallest sample that @percent % of the samples do not exceed. */
static double percentile(const struct bench_samples *samples, unsigned int percent)
{
	size_t rank = (samples->count * percent + 99) / 100;

	return samples->ns[rank ? rank - 1 : 0] / 1e6;
}

static double median(const struct bench_samples *samples)
{
	size_t middle = samples->count / 2;

	if (samples->count % 2)
		return samples->ns[middle] / 1e6;
	return (samples->ns[middle - 1] / 1e6 + samples->ns[middle] / 1e6) / 2;
}

struct bench_summary bench_summarise(struct bench_samples *samples)
{
	struct bench_summary summary = { .count = samples->count };

	if (!samples->count)
		return summary;
	qsort(samples->ns, samples->count, sizeof(*samples->ns), compare);
	summary.min = samples->ns[0] / 1e6;
	summary.median = median(samples);
	summary.p90 = percentile(samples, 90);
	summary.p99 = percentile(samples, 99);
	summary.max = samples->ns[samples->count - 1] / 1e6;
	return summary;
}

const char *bench_case_name(const struct bench_case *entry)
{
	if (entry->batch == 1)
		return entry->online ? "online1" : "offline1";
	return entry->online ? "online_bulk" : "offline_bulk";
}

/* -- JSON ----------------------------------------------------------------- */

/* Firmware may give any bytes; those that are not printable ASCII characters become "?". */
static void put_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text < ' ' || *text > '~' ? '?' : *text, out);
	}
	fputc('"', out);
}

static void put_member(FILE *out, const char *indent, const char *name, const char *text)
{
	fprintf(out, "%s\"%s\": ", indent, name);
	put_text(out, text);
	fputs(",\n", out);
}

static void put_summary(FILE *out, enum bench_variant variant, struct bench_samples *samples)
{
	struct bench_summary summary = bench_summarise(samples);

	fprintf(out, "    \"%s\": {\"n\": %zu, \"min\": %.6f, \"median\": %.6f, \"p90\": %.6f, "
		"\"p99\": %.6f, \"max\": %.6f}", bench_variant_name(variant), summary.count,
		summary.min, summary.median, summary.p90, summary.p99, summary.max);
}

static bool has_samples(const struct bench_case *entry)
{
	for (size_t i = 0; i < BENCH_VARIANTS; i++)
		if (entry->samples[i].count)
			return true;
	return false;
}

static void put_case(FILE *out, struct bench_case *entry)
{
	const char *between = "\n";

	fprintf(out, "  {\"case\": \"%s\", \"batch\": %u, \"unit\": \"ms\", \"variants\": {",
		bench_case_name(entry), entry->batch);
	for (size_t i = 0; i < BENCH_VARIANTS; i++) {
		if (!entry->samples[i].count)
			continue;
		fputs(between, out);
		put_summary(out, i, &entry->samples[i]);
		between = ",\n";
	}
	fputs("\n  }}", out);
}

static void put_machine(FILE *out, const struct bench_machine *machine)
{
	put_member(out, " ", "arch", machine->arch);
	put_member(out, " ", "setting", "machine");
	put_member(out, " ", "accel", machine->accel);
	put_member(out, " ", "qemu", "");
	put_member(out, " ", "kernel", machine->kernel);
	put_member(out, " ", "config_sha", "");
	fprintf(out, " \"cpus\": %u,\n \"nodes\": %u,\n \"machine\": {\n", machine->cpus,
		machine->nodes);
	put_member(out, "  ", "model", machine->model);
	put_member(out, "  ", "microcode", machine->microcode);
	put_member(out, "  ", "idle_driver", machine->idle_driver);
	fputs("  \"clocksource\": ", out);
	put_text(out, machine->clocksource);
	fputs("\n },\n", out);
}

int bench_write(FILE *out, const struct bench_machine *machine, struct bench_case *cases,
		size_t count)
{
	const char *between = "\n";

	fprintf(out, "{\n \"schema\": %d,\n", SCHEMA);
	put_machine(out, machine);
	fputs(" \"cases\": [", out);
	for (size_t i = 0; i < count; i++) {
		if (!has_samples(&cases[i]))
			continue;
		fputs(between, out);
		put_case(out, &cases[i]);
		between = ",\n";
	}
	fputs("\n ],\n \"note\": ", out);
	put_text(out, NOTE);
	fputs("\n}\n", out);
	errno = 0;
	return ferror(out) || fflush(out) ? -(errno ?: EIO) : 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Figures for Prometheus, as a file for the textfile collector of its node exporter */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "files.h"
#include "say.h"

#define INTERVAL_US	10000000

/*
 * Upper bounds of the buckets of "request_seconds", in seconds: a request to Bolt for one CPU takes
 * about as long as the first bounds, and a request without Bolt for many CPUs about as long as the
 * last bounds.
 */
static const double bounds[BUCKETS] = {
	0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1
};

void metrics_count(struct daemon *daemon, unsigned long long ns)
{
	double seconds = (double)ns / 1e9;
	unsigned int i;

	daemon->tally.requests++;
	daemon->tally.seconds += seconds;
	for (i = 0; i < BUCKETS; i++)
		daemon->tally.buckets[i] += seconds <= bounds[i];
}

static void write_name(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP cpuboltd_%s %s\n# TYPE cpuboltd_%s %s\n", name, help, name, type);
}

static void write_cpus(FILE *out, const struct daemon *daemon)
{
	size_t size = daemon->machine->size;
	const struct {
		const char *name;
		const cpu_set_t *set;
	} sets[] = {
		{ "online", daemon->owner.online },
		{ "taken", daemon->owner.taken },
		{ "foreign", daemon->owner.foreign },
		{ "wanted", daemon->wanted },
		{ "floor", daemon->floor },
	};
	size_t i;

	write_name(out, "cpus", "gauge",
		   "CPUs online, taken by cpuboltd, offline for another reason, wanted by the "
		   "policy, or in the floor.");
	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		fprintf(out, "cpuboltd_cpus{set=\"%s\"} %d\n", sets[i].name,
			CPU_COUNT_S(size, sets[i].set));
}

static void write_requests(FILE *out, const struct tally *tally)
{
	unsigned int i;

	write_name(out, "moves_total", "counter", "CPUs that cpuboltd has brought or taken.");
	fprintf(out, "cpuboltd_moves_total{direction=\"online\"} %llu\n", tally->came);
	fprintf(out, "cpuboltd_moves_total{direction=\"offline\"} %llu\n", tally->went);
	write_name(out, "request_errors_total", "counter", "Requests that failed.");
	fprintf(out, "cpuboltd_request_errors_total %llu\n", tally->errors);
	write_name(out, "foreign_changes_total", "counter",
		   "CPUs that have come or gone without cpuboltd.");
	fprintf(out, "cpuboltd_foreign_changes_total %llu\n", tally->foreign);
	write_name(out, "request_seconds", "histogram", "Duration of requests.");
	for (i = 0; i < BUCKETS; i++)
		fprintf(out, "cpuboltd_request_seconds_bucket{le=\"%g\"} %llu\n", bounds[i],
			tally->buckets[i]);
	fprintf(out, "cpuboltd_request_seconds_bucket{le=\"+Inf\"} %llu\n", tally->requests);
	fprintf(out, "cpuboltd_request_seconds_sum %.9f\n", tally->seconds);
	fprintf(out, "cpuboltd_request_seconds_count %llu\n", tally->requests);
}

static void write_interrupts(FILE *out, const struct interrupts *interrupts)
{
	static const char *const causes[] = {
		[CAUSE_LEAVE] = "leave",
		[CAUSE_BUSY] = "busy",
		[CAUSE_IDLE] = "idle",
	};
	struct irq_tally tally = interrupts_tally(interrupts);
	unsigned int i;

	write_name(out, "interrupts_moved", "gauge",
		   "Interrupts whose affinity cpuboltd has set.");
	fprintf(out, "cpuboltd_interrupts_moved %u\n", tally.moved);
	write_name(out, "interrupt_moves_total", "counter",
		   "Moves of interrupts: the CPU was about to go, or the interrupt was busy or idle.");
	for (i = 0; i < CAUSE_COUNT; i++)
		fprintf(out, "cpuboltd_interrupt_moves_total{cause=\"%s\"} %llu\n", causes[i],
			tally.moves[i]);
	write_name(out, "interrupt_errors_total", "counter", "Affinities that were refused.");
	fprintf(out, "cpuboltd_interrupt_errors_total %llu\n", tally.errors);
	write_name(out, "interrupt_foreign_changes_total", "counter",
		   "Interrupts moved by cpuboltd whose affinity another program has set.");
	fprintf(out, "cpuboltd_interrupt_foreign_changes_total %llu\n", tally.foreign);
}

char *metrics_text(const struct daemon *daemon)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	bool good;

	if (!out)
		return NULL;
	write_name(out, "policy_info", "gauge", "The policy, as a label.");
	fprintf(out, "cpuboltd_policy_info{policy=\"%s\"} 1\n", daemon->config->policy->name);
	write_cpus(out, daemon);
	write_requests(out, &daemon->tally);
	if (daemon->interrupts)
		write_interrupts(out, daemon->interrupts);
	good = !ferror(out);
	if (!fclose(out) && good)
		return text;
	free(text);
	return NULL;
}

void metrics_write(struct daemon *daemon, bool now)
{
	const char *path = daemon->config->metrics;
	char *text;
	int err;

	if (!path || daemon->dry_run ||
	    (!now && daemon->metrics_at_us && daemon->now_us - daemon->metrics_at_us < INTERVAL_US))
		return;
	text = metrics_text(daemon);
	err = text ? file_replace(daemon->machine->root, path, text) : -ENOMEM;
	free(text);
	if (err && err != daemon->metrics_error)
		say(LOG_WARNING, "cannot write %s: %s", path, strerror(-err));
	daemon->metrics_error = err;
	daemon->metrics_at_us = daemon->now_us;
}

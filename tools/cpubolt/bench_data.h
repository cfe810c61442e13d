/* SPDX-License-Identifier: GPL-2.0-only */
/* What "cpubolt bench" has measured, its statistics, and its JSON form. */
#ifndef BENCH_DATA_H
#define BENCH_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** The variants that are compared */
enum bench_variant {
	BENCH_NATIVE,		/* Bolt is off */
	BENCH_EXPEDITED,	/* Bolt is off, /sys/kernel/rcu_expedited is 1 */
	BENCH_BOLT,		/* Bolt is on */
	BENCH_VARIANTS
};

/** bench_variant_name() - name of a variant in result files: "native", "expedited" or "bolt" */
const char *bench_variant_name(enum bench_variant variant);

/** Latencies of one case in one variant, in ns */
struct bench_samples {
	unsigned long long *ns;
	size_t count;
};

/** Requests of one kind and one size, in all variants */
struct bench_case {
	bool online;		/* CPUs come; if false, CPUs go */
	unsigned int batch;	/* CPUs in a request */
	struct bench_samples samples[BENCH_VARIANTS];
};

/** Statistics of samples, in ms; percentiles are computed by the nearest-rank method */
struct bench_summary {
	size_t count;
	double min, median, p90, p99, max;
};

/** bench_add() - add a sample; 0 or -ENOMEM */
int bench_add(struct bench_samples *samples, unsigned long long ns);

/** bench_free() - free what @samples holds */
void bench_free(struct bench_samples *samples);

/** bench_summarise() - sort @samples, and compute their statistics; all 0 without a sample */
struct bench_summary bench_summarise(struct bench_samples *samples);

/** bench_case_name() - name of a case in docs/measuring.md, such as "offline1" */
const char *bench_case_name(const struct bench_case *entry);

/** The machine that was measured; "" where nothing is known */
struct bench_machine {
	char arch[65];		/* as the lab names it: "x86_64", "arm64" */
	char kernel[65];	/* uname -r */
	char accel[32];		/* "hardware", "virtual", or the hypervisor: "kvm", ... */
	char model[128];	/* model of the CPU */
	char microcode[32];
	char idle_driver[32];	/* driver of cpuidle; "none" without a driver */
	char clocksource[32];
	unsigned int cpus;	/* CPUs online */
	unsigned int nodes;	/* NUMA nodes with CPUs online; 1 if nodes are not known */
};

/**
 * bench_write() - write a result file of schema 1, see docs/measuring.md
 *
 * Cases and variants without samples are left out.
 *
 * Return: 0 or a negative errno.
 */
int bench_write(FILE *out, const struct bench_machine *machine, struct bench_case *cases,
		size_t count);

#endif /* BENCH_DATA_H */

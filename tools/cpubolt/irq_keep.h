/* SPDX-License-Identifier: GPL-2.0-only */
/* Proposes a keep list: CPUs that get the interrupts, so that all others can go offline quickly. */
#ifndef IRQ_KEEP_H
#define IRQ_KEEP_H

#include <stdbool.h>
#include <stddef.h>

/* If there are enough CPUs, a CPU is given no more interrupts a second than this. */
#define KEEP_RATE	20000
/*
 * If there are enough CPUs, a CPU is given no more interrupts than this: a CPU of x86 has about 200
 * vectors.
 */
#define KEEP_COUNT	150
/* The interrupts of a node's devices stay on the node if at least so many occur in a second. */
#define KEEP_NODE_RATE	1000

/** A CPU that may have interrupts: online, and neither isolated nor nohz_full */
struct keep_cpu {
	unsigned int cpu;
	int node;		/* NUMA node, -1 if the node is not known */
	int thread;		/* 0 for the first CPU of its core */
	bool fixed;		/* whether the CPU cannot go offline anyhow */
	bool chosen;		/* set by keep_propose(): whether the CPU gets interrupts */
	double rate;		/* set by keep_propose(): interrupts a second that the CPU gets */
	double interrupts;	/* set by keep_propose(): how many interrupts the CPU gets */
};

/** A movable interrupt */
struct keep_irq {
	int node;		/* NUMA node of the interrupt's device, -1 without a node */
	double rate;		/* how often a second the interrupt occurs */
};

/**
 * keep_propose() - choose CPUs for the keep list
 *
 * CPUs that cannot go offline come first, then first CPUs of their cores, then lower numbers. The
 * node of the CPU that comes first is the home node. If the devices of another node have
 * KEEP_NODE_RATE interrupts a second or more, CPUs of that node are chosen for these devices alone,
 * as far as @cpus has such CPUs. For all other interrupts, CPUs of the home node are chosen, and if
 * these are too few, also CPUs of other nodes.
 *
 * Return: number of CPUs chosen; 0 if there is no CPU.
 */
size_t keep_propose(struct keep_cpu *cpus, size_t cpu_count, const struct keep_irq *irqs,
		    size_t irq_count);

#endif /* IRQ_KEEP_H */

// SPDX-License-Identifier: GPL-2.0-only
/* Proposes a keep list: see irq_keep.h */
#include "irq_keep.h"

/* Whether @one is a better place for interrupts than @other. */
static bool is_better(const struct keep_cpu *one, const struct keep_cpu *other)
{
	if (one->fixed != other->fixed)
		return one->fixed;
	if (!one->thread != !other->thread)
		return !one->thread;
	return one->cpu < other->cpu;
}

/*
 * Returns the best CPU that is not chosen yet, of @node, or of all nodes if @any; NULL if there is
 * none.
 */
static struct keep_cpu *best(struct keep_cpu *cpus, size_t count, int node, bool any)
{
	struct keep_cpu *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (cpus[i].chosen || (!any && cpus[i].node != node))
			continue;
		if (!found || is_better(&cpus[i], found))
			found = &cpus[i];
	}
	return found;
}

static double rate_of(const struct keep_irq *irqs, size_t count, int node)
{
	double rate = 0;

	for (size_t i = 0; i < count; i++)
		if (irqs[i].node == node)
			rate += irqs[i].rate;
	return rate;
}

/*
 * Chooses as many CPUs of @node as @rate and @interrupts need; with @any also CPUs of other nodes,
 * if @node has too few. Returns how many CPUs were chosen.
 */
static size_t choose(struct keep_cpu *cpus, size_t cpu_count, int node, bool any, double rate,
		     double interrupts)
{
	size_t wanted = rate / KEEP_RATE + 1, done = 0;

	if (wanted < interrupts / KEEP_COUNT)
		wanted = interrupts / KEEP_COUNT + 1;
	while (done < wanted) {
		struct keep_cpu *cpu = best(cpus, cpu_count, node, false);

		if (!cpu && any)
			cpu = best(cpus, cpu_count, node, true);
		if (!cpu)
			break;
		cpu->chosen = true;
		done++;
	}
	return done;
}

static void spread(struct keep_cpu *cpus, size_t count, int node, bool any, size_t over,
		   double rate, double interrupts)
{
	for (size_t i = 0; i < count; i++) {
		if (!cpus[i].chosen || cpus[i].interrupts || (!any && cpus[i].node != node))
			continue;
		cpus[i].rate = rate / over;
		cpus[i].interrupts = interrupts / over;
	}
}

static bool has_cpu(const struct keep_cpu *cpus, size_t count, int node)
{
	for (size_t i = 0; i < count; i++)
		if (cpus[i].node == node)
			return true;
	return false;
}

/*
 * Whether CPUs of @node are chosen for the interrupts of its devices alone. CPUs for all other
 * interrupts are chosen on the node @home, as far as that node has enough.
 */
static bool has_own(const struct keep_cpu *cpus, size_t cpu_count, const struct keep_irq *irqs,
		    size_t irq_count, int node, int home)
{
	return node >= 0 && node != home && has_cpu(cpus, cpu_count, node) &&
	       rate_of(irqs, irq_count, node) >= KEEP_NODE_RATE;
}

/* Chooses CPUs for the devices of one node. */
static size_t choose_node(struct keep_cpu *cpus, size_t cpu_count, const struct keep_irq *irqs,
			  size_t irq_count, int node)
{
	double rate = rate_of(irqs, irq_count, node);
	size_t interrupts = 0, done;

	for (size_t i = 0; i < irq_count; i++)
		interrupts += irqs[i].node == node;
	done = choose(cpus, cpu_count, node, false, rate, interrupts);
	if (done)
		spread(cpus, cpu_count, node, false, done, rate, interrupts);
	return done;
}

static bool is_first_of_node(const struct keep_irq *irqs, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (irqs[i].node == irqs[index].node)
			return false;
	return true;
}

size_t keep_propose(struct keep_cpu *cpus, size_t cpu_count, const struct keep_irq *irqs,
		    size_t irq_count)
{
	struct keep_cpu *first = best(cpus, cpu_count, 0, true);
	size_t chosen = 0, interrupts = 0, done;
	double rate = 0;
	int home;

	if (!first)
		return 0;
	home = first->node;
	for (size_t i = 0; i < irq_count; i++) {
		if (!has_own(cpus, cpu_count, irqs, irq_count, irqs[i].node, home)) {
			interrupts++;
			rate += irqs[i].rate;
		} else if (is_first_of_node(irqs, i)) {
			chosen += choose_node(cpus, cpu_count, irqs, irq_count, irqs[i].node);
		}
	}
	done = choose(cpus, cpu_count, home, true, rate, interrupts);
	if (done)
		spread(cpus, cpu_count, home, true, done, rate, interrupts);
	return chosen + done;
}

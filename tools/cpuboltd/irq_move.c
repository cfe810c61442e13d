// SPDX-License-Identifier: GPL-2.0-only
/* Moves interrupts, and first writes down the affinities that were found, see irqs.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "irqs.h"
#include "say.h"

static int add(const struct interrupts *all, struct irq_state *state, int number,
	       const char *name, const cpu_set_t *found, const cpu_set_t *was,
	       const cpu_set_t *written)
{
	struct irq_saved *saved = irq_state_add(all->machine, state, number, name);

	if (!saved)
		return -ENOMEM;
	copy(all, saved->found, found);
	copy(all, saved->was, was);
	copy(all, saved->written, written);
	return 0;
}

int irqs_add(const struct interrupts *all, struct irq_state *state, const struct irq *irq)
{
	return add(all, state, irq->number, irq->name, irq->found, irq->was, irq->written);
}

int irqs_save(struct interrupts *all)
{
	struct irq_state state = { .irqbalance = all->told };
	int err = 0;
	size_t i;

	for (i = 0; !err && i < all->left.count; i++) {
		const struct irq_saved *irq = &all->left.irqs[i];

		err = add(all, &state, irq->number, irq->name, irq->found, irq->was,
			  irq->written);
	}
	for (i = 0; !err && i < all->count; i++) {
		if (all->irqs[i]->ours)
			err = irqs_add(all, &state, all->irqs[i]);
	}
	if (!err)
		err = irq_state_save(all->machine, &state);
	if (!err)
		all->unsaved = false;
	irq_state_free(&state);
	if (err)
		say(LOG_ERR, "cannot write " IRQ_STATE_FILE ": %s", strerror(-err));
	return err;
}

/* Chooses the base CPU: the same as before if possible. False if no CPU may have interrupts. */
bool irqs_find_base(struct interrupts *all, const struct irq_cpus *cpus)
{
	int first = -1, of_floor = -1;
	unsigned int cpu;

	if (all->base >= 0 && has(all, cpus->stay, (unsigned int)all->base))
		return true;
	for (cpu = all->machine->count; cpu-- > 0;) {
		if (!has(all, cpus->stay, cpu))
			continue;
		first = (int)cpu;
		if (has(all, cpus->floor, cpu))
			of_floor = (int)cpu;
	}
	all->base = of_floor >= 0 ? of_floor : first;
	return all->base >= 0;
}

unsigned int irqs_recent_moves(const struct interrupts *all, uint64_t now_us)
{
	unsigned int count = 0, i;

	for (i = 0; i < MOST_RECENT && i < all->moves; i++)
		count += now_us - all->recent[i] < 60 * SECOND_US;
	return count;
}

static bool may_move(const struct irq *irq, uint64_t now_us)
{
	return irq->kind == IRQ_MOVABLE && irq->readable && !irq->foreign &&
	       now_us >= irq->failed_until_us;
}

static const cpu_set_t *find_near(struct interrupts *all, struct irq *irq)
{
	struct cpubolt_topology topology;
	unsigned int cpu;

	if (irq->node < 0 || !irq->busy)
		return NULL;
	CPU_ZERO_S(all->machine->size, irq->near);
	for (cpu = 0; cpu < all->machine->count; cpu++)
		if (!cpubolt_topology(all->machine->handle, cpu, &topology) &&
		    topology.node == irq->node)
			CPU_SET_S(cpu, all->machine->size, irq->near);
	return irq->near;
}

static void make_fact(struct interrupts *all, struct irq *irq, uint64_t now_us,
		      struct irq_fact *fact)
{
	*fact = (struct irq_fact){
		.movable = may_move(irq, now_us),
		.measured = irq->samples >= 2,
		.busy = irq->busy,
		.rate = irq->rate > 0 ? irq->rate : 0,
		.allowed = irq->ours ? irq->found : irq->now,
		.near = find_near(all, irq),
		.where = irq->where,
		.moved_us = irq->moved_us,
	};
}

static void say_move(const struct interrupts *all, const struct irq *irq)
{
	char *fields[] = {
		field("CPUBOLT_EVENT=interrupt"),
		field("CPUBOLT_IRQ=%d", irq->number),
		field("CPUBOLT_CPU=%u", irq->to),
		field("CPUBOLT_WHY=%s", irq->why),
	};
	size_t i, count = sizeof(fields) / sizeof(fields[0]);

	say_with(LOG_INFO, fields, (unsigned int)count,
		 "%sinterrupt %d (%s) %s from CPU %u to CPU %u: %s",
		 all->dry_run ? "dry run: " : "", irq->number, irq->name,
		 all->dry_run ? "would go" : "went", irq->from, irq->to, irq->why);
	for (i = 0; i < count; i++)
		free(fields[i]);
}

static void remember(struct interrupts *all, struct irq *irq, const struct irq_move *move,
		     uint64_t now_us)
{
	set_one(all, irq->where, move->to);
	irq->moved_us = now_us;
	irq->from = move->from;
	irq->to = move->to;
	memcpy(irq->why, move->why, sizeof(irq->why));
	all->recent[all->moves++ % MOST_RECENT] = now_us;
	all->tally.moves[move->cause]++;
	say_move(all, irq);
}

/* Records the move in @irq, for the file of irq_state.h, which is written before the affinity. */
static void prepare(struct interrupts *all, struct irq *irq, const struct irq_move *move)
{
	if (!irq->ours)
		copy(all, irq->found, irq->now);
	copy(all, irq->was, irq->now);
	set_one(all, irq->written, move->to);
	irq->ours = true;
}

static void take_back(struct interrupts *all, struct irq *irq)
{
	copy(all, irq->written, irq->was);
	irq->ours = !CPU_EQUAL_S(all->machine->size, irq->was, irq->found);
}

static void write_one(struct interrupts *all, struct irq *irq, const struct irq_move *move,
		      uint64_t now_us)
{
	int err = irq_write(all->machine, irq->number, irq->written);

	if (!err) {
		copy(all, irq->now, irq->written);
		remember(all, irq, move, now_us);
		return;
	}
	take_back(all, irq);
	all->tally.errors++;
	irq->failed_until_us = now_us + all->config->backoff_s * SECOND_US;
	/* Older kernels make the affinity of a managed interrupt writable, but refuse the write. */
	if (err == -EIO || err == -EPERM)
		irq->kind = IRQ_FIXED;
	say(LOG_WARNING, "interrupt %d (%s) does not go to CPU %u, and is left alone: %s",
	    irq->number, irq->name, move->to, strerror(-err));
}

static void carry_out(struct interrupts *all, const struct irq_move *moves, int count,
		      uint64_t now_us)
{
	int i, err = 0;

	if (all->dry_run) {
		for (i = 0; i < count; i++) {
			all->irqs[moves[i].irq]->pretended = true;
			remember(all, all->irqs[moves[i].irq], &moves[i], now_us);
		}
		return;
	}
	for (i = 0; i < count; i++)
		prepare(all, all->irqs[moves[i].irq], &moves[i]);
	if (count)
		err = irqs_save(all);
	/*
	 * If the file could not be saved, no affinity is written: if the daemon were killed then,
	 * nothing would tell which affinity was found.
	 */
	for (i = 0; i < count; i++) {
		if (err)
			take_back(all, all->irqs[moves[i].irq]);
		else
			write_one(all, all->irqs[moves[i].irq], &moves[i], now_us);
	}
}

int irqs_move(struct interrupts *all, const struct irq_cpus *cpus, bool forced_only,
	      uint64_t now_us)
{
	struct irq_fact *facts = calloc(all->count + 1, sizeof(*facts));
	struct irq_move *moves = calloc(all->count + 1, sizeof(*moves));
	unsigned int recent = irqs_recent_moves(all, now_us), most = all->config->interrupts.per_minute;
	struct irq_scene scene = {
		.irqs = facts,
		.count = all->count,
		.cpus = all->machine->count,
		.size = all->machine->size,
		.stay = cpus->stay,
		.going = cpus->going,
		.base = (unsigned int)all->base,
		.others = all->others,
		.now_us = now_us,
		.left = recent < most ? most - recent : 0,
		.forced_only = forced_only,
	};
	int count = -ENOMEM;
	size_t i;

	if (facts && moves) {
		for (i = 0; i < all->count; i++)
			make_fact(all, all->irqs[i], now_us, &facts[i]);
		count = irq_plan(&all->rules, &scene, moves);
	}
	if (count > 0)
		carry_out(all, moves, count, now_us);
	free(facts);
	free(moves);
	return count < 0 ? count : 0;
}

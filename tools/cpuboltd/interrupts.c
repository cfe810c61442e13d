// SPDX-License-Identifier: GPL-2.0-only
/* Decides when interrupts are measured, moved and left alone, see interrupts.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "irqbalance.h"
#include "irqs.h"
#include "say.h"

#define INTERVALS	5	/* intervals of the daemon from one measurement to the next */
#define MOST_TORN	3	/* measurements in a row that may be left out */
#define BACK_AGAIN	"interrupts that have their affinity back: %zu"
#define MOST_LINES	100	/* most lines of an explanation */

struct interrupts *interrupts_new(struct machine *machine, const struct config *config,
				  bool dry_run)
{
	struct interrupts *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->machine = machine;
	all->config = config;
	all->dry_run = dry_run;
	all->base = -1;
	all->rules.busy = config->interrupts.busy;
	all->rules.dwell_us = config->interrupts.dwell_s * SECOND_US;
	all->others = calloc(machine->count + 1, sizeof(*all->others));
	/*
	 * Affinities that could not be put back when the daemon began are still in IRQ_STATE_FILE.
	 * The daemon keeps these in the file, and tries again whenever it begins to leave all
	 * interrupts alone, and at its end.
	 */
	if (!dry_run)
		irq_state_load(machine, &all->left);
	if (all->others)
		return all;
	interrupts_free(all);
	return NULL;
}

void interrupts_free(struct interrupts *all)
{
	if (!all)
		return;
	irqs_free(all->irqs, all->count);
	irq_free(&all->before);
	irq_state_free(&all->left);
	free(all->others);
	free(all->reason);
	free(all);
}

/* -- Beside other programs ----------------------------------------------------------- */

/*
 * Tells whether another program has set the affinity of @irq since the daemon has moved @irq. If no
 * CPU to which the daemon moved @irq is online, or the machine was suspended, the kernel has chosen
 * another affinity, and the result is false.
 */
static bool is_changed(const struct interrupts *all, struct irq *irq)
{
	size_t size = all->machine->size;

	if (!irq_read_set(all->machine, irq->number, "smp_affinity_list", irq->now) ||
	    CPU_EQUAL_S(size, irq->now, irq->written) || irq_slept(irq) ||
	    cpubolt_cpus(all->machine->handle, CPUBOLT_ONLINE, irq->near))
		return false;
	CPU_AND_S(size, irq->near, irq->near, irq->written);
	return !is_empty(all, irq->near);
}

/*
 * Puts back affinities of interrupts that an earlier daemon has moved, and of interrupts that this
 * daemon has moved and that have no row in /proc/interrupts any more; returns how many.
 */
static size_t put_back_left(struct interrupts *all)
{
	struct irq_restored restored = { 0 };

	if (all->left.count && !irq_state_drop_lost(all->machine, &all->before, &all->left))
		irq_state_write(all->machine, &all->left, &restored);
	return restored.back;
}

/* Puts back all affinities; returns how many. */
static size_t put_all_back(struct interrupts *all)
{
	size_t i, back = put_back_left(all);

	for (i = 0; i < all->count; i++) {
		struct irq *irq = all->irqs[i];

		if (!irq->ours || irq_write(all->machine, irq->number, irq->found))
			continue;
		irq->ours = false;
		back++;
	}
	return back;
}

/*
 * Marks as foreign the interrupts whose affinity other programs have set; returns whether any
 * affinity is to be put back.
 */
static bool find_moved(struct interrupts *all)
{
	bool moved = all->left.count;
	size_t i;

	for (i = 0; i < all->count; i++) {
		struct irq *irq = all->irqs[i];

		if (irq->ours && is_changed(all, irq)) {
			irq->ours = false;
			irq->foreign = true;
			all->tally.foreign++;
		}
		moved |= irq->ours;
	}
	return moved;
}

static void put_back(struct interrupts *all)
{
	char *list = NULL;
	size_t back = 0;
	int err = 0;

	if (find_moved(all)) {
		err = irq_keep_empty(all->machine, &list);
		if (!err)
			back = put_all_back(all);
		irq_keep_set(all->machine, list);
	}
	if (err)
		say(LOG_ERR, "interrupts do not have their affinity back: cannot empty irq_keep: %s",
		    strerror(-err));
	if (back)
		say(LOG_NOTICE, BACK_AGAIN, back);
	if (all->dry_run)
		return;
	if (all->told)
		irqbalance_ban(all->machine->root, all->told, NULL, 0);
	all->told = 0;
	/* An affinity that could not be put back stays in the file for interrupts_restore_end(). */
	irqs_save(all);
}

/*
 * Sets all->reason, for which interrupts are left alone from now on; if @reason is NULL, interrupts
 * may be moved again. The next call, or interrupts_free(), frees @reason.
 */
static void stand_back(struct interrupts *all, char *reason)
{
	bool same = reason && all->reason && !strcmp(reason, all->reason);

	if (!same && reason)
		say(LOG_NOTICE, "interrupts are left alone: %s", reason);
	else if (!same && all->reason)
		say(LOG_NOTICE, "interrupts are moved again");
	if (reason && !all->reason) {
		put_back(all);
		irqs_forget(all);
	}
	free(all->reason);
	all->reason = reason;
}

/* Does stand_back(), and returns 0, unless field() has had no memory for @reason: then -ENOMEM. */
static int stand_back_for(struct interrupts *all, char *reason)
{
	if (!reason)
		return -ENOMEM;
	stand_back(all, reason);
	return 0;
}

/*
 * Sets *@list to Bolt's keep list, the contents of irq_keep, or to words for a list that is too
 * long, to be freed; to NULL if the list is empty or cannot be read. The list counts also while
 * Bolt is disabled: otherwise the daemon would write affinities of interrupts, and the kernel would
 * not keep these interrupts on the CPUs of the list once Bolt is enabled. Returns 0, or -ENOMEM.
 */
static int keep_list(const struct interrupts *all, char **list)
{
	int err = cpubolt_get(all->machine->handle, "irq_keep", list);

	if (err == -EOVERFLOW) {
		*list = strdup("of a list longer than a page");
		return *list ? 0 : -ENOMEM;
	}
	if (err || !**list) {
		free(*list);
		*list = NULL;
	}
	return err == -ENOMEM ? err : 0;
}

/*
 * Sets *@reason to the reason for which the daemon must leave interrupts alone, to be freed; to
 * NULL if there is no reason. Returns 0, or -ENOMEM.
 */
static int find_reason(const struct interrupts *all, int irqbalance, char **reason)
{
	char *list;
	int err = keep_list(all, &list);

	*reason = NULL;
	if (err)
		return err;
	if (list)
		*reason = field("irq_keep is set, to CPUs %s", list);
	else if (irqbalance && all->config->interrupts.irqbalance == IRQBALANCE_YIELD)
		*reason = field("irqbalance (PID %d) runs", irqbalance);
	else
		return 0;
	free(list);
	return *reason ? 0 : -ENOMEM;
}

static int *movable_numbers(const struct interrupts *all, size_t *count, unsigned long *hash)
{
	int *numbers = calloc(all->count + 1, sizeof(*numbers));
	size_t i;

	*count = 0;
	*hash = 0;
	for (i = 0; numbers && i < all->count; i++) {
		if (all->irqs[i]->kind != IRQ_MOVABLE)
			continue;
		numbers[(*count)++] = all->irqs[i]->number;
		*hash = *hash * 31 + (unsigned long)all->irqs[i]->number;
	}
	return numbers;
}

/* Tells irqbalance which interrupts to leave alone, when irqbalance is new or the list changes. */
static int ban(struct interrupts *all, int irqbalance)
{
	unsigned long hash;
	size_t count;
	int *numbers = movable_numbers(all, &count, &hash), before = all->told, err;

	if (!numbers)
		return -ENOMEM;
	if (irqbalance == before && count == all->told_count && hash == all->told_hash) {
		free(numbers);
		return 0;
	}
	all->told = irqbalance;
	err = all->dry_run ? 0 : irqs_save(all);
	if (!err && !all->dry_run)
		err = irqbalance_ban(all->machine->root, irqbalance, numbers, count);
	free(numbers);
	if (err) {
		/* irqbalance has no list, or has an earlier one, which stand_back() takes back. */
		all->told = before;
		if (!all->dry_run)
			irqs_save(all);
		err = stand_back_for(all, field("irqbalance (PID %d) runs, and cannot be told to "
						"leave %zu interrupts alone: %s", irqbalance, count,
						err == -E2BIG ? "these are too many"
							      : strerror(-err)));
		if (!err)
			all->told = 0;
		return err;
	}
	all->told_count = count;
	all->told_hash = hash;
	if (irqbalance != before)
		say(LOG_NOTICE, "irqbalance (PID %d) %s to leave %zu interrupts to cpuboltd",
		    irqbalance, all->dry_run ? "would be told" : "was told", count);
	return 0;
}

/* -- When interrupts are measured ----------------------------------------------------- */

/*
 * Makes one measurement, or sets all->reason if interrupts are to be left alone. Returns 1 if this
 * measurement is left out, because CPUs came or went whenever /proc/interrupts was read, or because
 * the file could not be understood (after MOST_TORN results of 1 in a row, either is a reason to
 * leave interrupts alone); else 0 or -ENOMEM.
 */
static int look_around(struct interrupts *all, const struct irq_cpus *cpus, uint64_t now_us)
{
	int irqbalance = irqbalance_find(all->machine->root), err;
	char *reason;

	if (irqbalance < 0)
		return irqbalance;
	all->due_us = now_us + INTERVALS * all->config->interval_ms * 1000ULL;
	if (irqbalance != all->told)
		all->told = 0;
	err = find_reason(all, irqbalance, &reason);
	if (err)
		return err;
	if (reason) {
		stand_back(all, reason);
		return 0;
	}
	err = irqs_look(all, cpus, now_us);
	if (err == -ENOMEM)
		return err;
	if (err == -EAGAIN && !all->reason && ++all->torn <= MOST_TORN)
		return 1;
	all->torn = 0;
	if (err)
		return stand_back_for(all, field("cannot read /proc/interrupts: %s",
						 strerror(-err)));
	if (irqbalance) {
		err = ban(all, irqbalance);
		if (err || !all->told)
			return err;
	}
	stand_back(all, NULL);
	return 0;
}

int interrupts_update(struct interrupts *all, const struct irq_cpus *cpus, uint64_t now_us)
{
	bool due = now_us >= all->due_us;
	size_t i;
	int err = 0;

	/*
	 * If irq_keep was set after the last measurement, the kernel moves the interrupts of CPUs
	 * that are about to go, and the daemon must not. So look_around() is due, which finds the
	 * list, and sets all->reason.
	 */
	if (!due && !all->reason && !is_empty(all, cpus->going)) {
		char *list;

		err = keep_list(all, &list);
		if (err)
			return err;
		due = list;
		free(list);
	}
	if (due) {
		err = look_around(all, cpus, now_us);
		due = err <= 0;
		/* A reason to leave interrupts alone may not have been found. */
		if (err < 0)
			all->due_us = now_us;
		/* A measurement that is left out is no error. */
		if (err > 0)
			err = 0;
	}
	if (!due && (all->reason || is_empty(all, cpus->going)))
		return 0;
	for (i = 0; !due && i < all->count; i++)
		irqs_read_where(all, all->irqs[i], cpus);
	if (all->unsaved && !all->dry_run)
		irqs_save(all);
	if (err || all->reason || !irqs_find_base(all, cpus))
		return err;
	return irqs_move(all, cpus, !due, now_us);
}

/* -- In words, and in figures ------------------------------------------------------------ */

void interrupts_explain(FILE *out, const struct interrupts *all, uint64_t now_us)
{
	struct irq_tally tally = interrupts_tally(all);

	fprintf(out, "%-9s ", "irqs");
	if (all->reason)
		fprintf(out, "left alone: %s\n", all->reason);
	else if (all->base < 0)
		fputs("nothing was measured yet\n", out);
	else
		fprintf(out, "%u moved, %u in the last minute; idle interrupts go to CPU %d\n",
			tally.moved, irqs_recent_moves(all, now_us), all->base);
}

void interrupts_explain_cpu(FILE *out, const struct interrupts *all, unsigned int cpu,
			    uint64_t now_us)
{
	unsigned int lines = 0;
	size_t i;

	for (i = 0; i < all->count; i++) {
		const struct irq *irq = all->irqs[i];

		if (!irq->moved_us || (!irq->ours && !irq->pretended) ||
		    (irq->from != cpu && irq->to != cpu))
			continue;
		if (lines++ < MOST_LINES)
			fprintf(out, "interrupt %d (%s) went from CPU %u to CPU %u %llu s ago: %s\n",
				irq->number, irq->name, irq->from, irq->to,
				(unsigned long long)((now_us - irq->moved_us) / SECOND_US),
				irq->why);
	}
	if (lines > MOST_LINES)
		fprintf(out, "... and %u interrupts more\n", lines - MOST_LINES);
}

void interrupts_restored(struct interrupts *all)
{
	const struct machine *machine = all->machine;
	size_t i;

	for (i = 0; i < all->count; i++) {
		struct irq *irq = all->irqs[i];

		if (irq->ours &&
		    irq_read_set(machine, irq->number, "smp_affinity_list", irq->now) &&
		    CPU_EQUAL_S(machine->size, irq->now, irq->found))
			irq->ours = false;
	}
}

struct irq_tally interrupts_tally(const struct interrupts *all)
{
	struct irq_tally tally = all->tally;
	size_t i;

	tally.moved = 0;
	for (i = 0; i < all->count; i++)
		tally.moved += all->irqs[i]->ours || all->irqs[i]->pretended;
	return tally;
}

/* -- Back to what was found -------------------------------------------------------------- */

int interrupts_restore_begin(const struct machine *machine, struct irq_state *state)
{
	int err = irq_state_begin(machine, state);

	if (err == -EINVAL) {
		irq_state_discard(machine);
		say(LOG_ERR, "cannot put back affinities of interrupts: " IRQ_STATE_FILE
			     " cannot be understood, and is now " IRQ_STATE_BAD_FILE);
	} else if (err) {
		say(LOG_ERR, "cannot put back affinities of interrupts: %s", strerror(-err));
	}
	return err;
}

bool interrupts_restore_end(const struct machine *machine, struct irq_state *state, int err)
{
	struct irq_restored restored = { 0 };

	if (!err)
		irq_state_restore(machine, state, &restored);
	irq_state_free(state);
	if (restored.back)
		say(LOG_NOTICE, BACK_AGAIN, restored.back);
	if (restored.failed)
		say(LOG_ERR, "cannot put back the affinity of %zu interrupts, such as %d: %s",
		    restored.failed, restored.irq, strerror(restored.error));
	return !err && !restored.failed;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Measures and moves interrupts, see interrupts.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "interrupts.h"
#include "irq_place.h"
#include "irq_plan.h"
#include "irq_state.h"
#include "irqbalance.h"
#include "say.h"

#define SECOND_US	1000000ULL
#define INTERVALS	5	/* intervals of the daemon from one measurement to the next */
#define MOST_RECENT	600	/* most moves a minute that the configuration allows */
#define BACK_AGAIN	"interrupts that have the affinity again that was found: %zu"
#define MOST_LINES	100	/* of an explanation */
#define MOST_RATE	1e7	/* a higher rate means that the count began anew */

/** One interrupt that has a number */
struct irq {
	int number;
	char *name;
	enum irq_kind kind;
	int node;		/* of the device, or -1 */
	double rate;		/* interrupts a second, smoothed; negative before the first measurement */
	unsigned int samples;
	bool busy;
	uint64_t calm_us;	/* see irq_busy() */
	cpu_set_t *now;		/* affinity, as read last */
	cpu_set_t *where;	/* CPUs on which the interrupt is */
	cpu_set_t *found;	/* affinity before the daemon's first move */
	cpu_set_t *was;		/* affinity before the last move */
	cpu_set_t *written;	/* affinity that the daemon has written last */
	cpu_set_t *near;	/* CPUs of the node */
	bool readable;		/* now and where are known */
	bool ours;		/* the daemon has moved it */
	bool foreign;		/* another program has set the affinity after that */
	bool pretended;		/* moved in a dry run */
	uint64_t failed_until_us;
	uint64_t moved_us;
	unsigned int from, to;	/* of the last move */
	char why[128];
};

struct interrupts {
	struct machine *machine;
	const struct config *config;
	bool dry_run;
	struct irq_rules rules;
	struct irq **irqs;
	size_t count;
	struct irq_table before;	/* the last measurement */
	uint64_t before_us, due_us;
	double *others;			/* CPU -> interrupts a second that cannot be moved */
	int base;			/* CPU, or -1 */
	int told;			/* PID of an irqbalance that was told, or 0 */
	size_t told_count;
	unsigned long told_hash;	/* hash of the interrupts that irqbalance was told */
	char *reason;			/* why all interrupts are left alone, or NULL */
	struct irq_state left;		/* of an earlier daemon: not put back */
	uint64_t recent[MOST_RECENT];	/* times of the last moves */
	unsigned long long moves;
	struct irq_tally tally;
};

static bool has(const struct interrupts *all, const cpu_set_t *set, unsigned int cpu)
{
	return CPU_ISSET_S(cpu, all->machine->size, set);
}

static bool is_empty(const struct interrupts *all, const cpu_set_t *set)
{
	return !CPU_COUNT_S(all->machine->size, set);
}

static void copy(const struct interrupts *all, cpu_set_t *to, const cpu_set_t *from)
{
	memcpy(to, from, all->machine->size);
}

static void set_one(const struct interrupts *all, cpu_set_t *set, unsigned int cpu)
{
	CPU_ZERO_S(all->machine->size, set);
	CPU_SET_S(cpu, all->machine->size, set);
}

static void free_irq(struct irq *irq)
{
	if (!irq)
		return;
	free(irq->name);
	CPU_FREE(irq->now);
	CPU_FREE(irq->where);
	CPU_FREE(irq->found);
	CPU_FREE(irq->was);
	CPU_FREE(irq->written);
	CPU_FREE(irq->near);
	free(irq);
}

static void free_list(struct irq **irqs, size_t count)
{
	size_t i;

	for (i = 0; irqs && i < count; i++)
		free_irq(irqs[i]);
	free(irqs);
}

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
	/* What could not be put back at the start is tried again at the end. */
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
	free_list(all->irqs, all->count);
	irq_free(&all->before);
	irq_state_free(&all->left);
	free(all->others);
	free(all->reason);
	free(all);
}

/* -- What is kept ------------------------------------------------------------------- */

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

static int save(const struct interrupts *all)
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
		const struct irq *irq = all->irqs[i];

		if (irq->ours)
			err = add(all, &state, irq->number, irq->name, irq->found, irq->was,
				  irq->written);
	}
	if (!err)
		err = irq_state_save(all->machine, &state);
	irq_state_free(&state);
	if (err)
		say(LOG_ERR, "cannot write " IRQ_STATE_FILE ": %s", strerror(-err));
	return err;
}

/* -- Measuring --------------------------------------------------------------------- */

/* Takes over an interrupt that an earlier daemon has moved, with the affinity found then. */
static void adopt(struct interrupts *all, struct irq *irq)
{
	size_t i;

	for (i = 0; i < all->left.count; i++) {
		const struct irq_saved *saved = &all->left.irqs[i];

		if (saved->number != irq->number || strcmp(saved->name, irq->name))
			continue;
		copy(all, irq->found, saved->found);
		copy(all, irq->was, saved->was);
		copy(all, irq->written, saved->written);
		irq->ours = true;
		irq_state_drop(&all->left, i);
		return;
	}
}

static struct irq *new_irq(struct interrupts *all, const struct irq_row *row)
{
	const struct machine *machine = all->machine;
	struct irq *irq = calloc(1, sizeof(*irq));
	struct irq_place place;
	int err;

	if (!irq)
		return NULL;
	err = irq_place_read(machine->root, row, &place);
	irq->number = row->number;
	irq->name = strdup(row->name);
	irq->kind = place.kind;
	irq->node = place.node;
	irq->rate = -1;
	irq->now = machine_set(machine);
	irq->where = machine_set(machine);
	irq->found = machine_set(machine);
	irq->was = machine_set(machine);
	irq->written = machine_set(machine);
	irq->near = machine_set(machine);
	irq_place_free(&place);
	if (!err && irq->name && irq->now && irq->where && irq->found && irq->was &&
	    irq->written && irq->near) {
		adopt(all, irq);
		return irq;
	}
	free_irq(irq);
	return NULL;
}

/* Returns the interrupt of the row: a new one, or that of the old list, mostly at @hint there. */
static struct irq *take_irq(struct interrupts *all, const struct irq_row *row, size_t hint)
{
	size_t i;

	for (i = 0; i < all->count; i++) {
		struct irq **place = &all->irqs[(hint + i) % all->count], *irq = *place;

		if (!irq || irq->number != row->number || strcmp(irq->name, row->name))
			continue;
		*place = NULL;
		return irq;
	}
	return new_irq(all, row);
}

/* Notes that another program set the affinity, unless the kernel had to for want of online CPUs. */
static void find_foreign(struct interrupts *all, struct irq *irq, const struct irq_cpus *cpus)
{
	size_t size = all->machine->size;
	char *list;

	if (!irq->ours || CPU_EQUAL_S(size, irq->now, irq->written))
		return;
	CPU_AND_S(size, irq->was, irq->written, cpus->online);
	if (is_empty(all, irq->was)) {
		copy(all, irq->was, irq->now);
		copy(all, irq->written, irq->now);
		return;
	}
	irq->ours = false;
	irq->foreign = true;
	all->tally.foreign++;
	list = machine_list(all->machine, irq->now);
	say(LOG_NOTICE, "another program has put interrupt %d (%s) on CPUs %s: the interrupt is "
			"left alone", irq->number, irq->name, list ?: "");
	free(list);
}

/* An affinity of one CPU says where the next interrupt occurs; the effective one may lag behind. */
static void read_where(struct interrupts *all, struct irq *irq, const struct irq_cpus *cpus)
{
	size_t size = all->machine->size;

	if (irq->kind != IRQ_MOVABLE || irq->pretended)
		return;
	irq->readable = irq_read_set(all->machine, irq->number, "smp_affinity_list", irq->now);
	if (!irq->readable)
		return;
	find_foreign(all, irq, cpus);
	CPU_AND_S(size, irq->where, irq->now, cpus->online);
	if (CPU_COUNT_S(size, irq->where) == 1)
		return;
	if (!irq_read_set(all->machine, irq->number, "effective_affinity_list", irq->where))
		CPU_AND_S(size, irq->where, irq->now, cpus->online);
}

static void measure(struct interrupts *all, struct irq *irq, double rate, uint64_t now_us)
{
	irq->rate = irq_smooth(irq->rate, rate);
	irq->samples++;
	irq->busy = irq_busy(&all->rules, irq->rate, irq->busy, now_us, &irq->calm_us);
}

/* Interrupts of each CPU that cannot be moved; those that each CPU has of its own do not count. */
static void add_others(struct interrupts *all, const struct irq_table *table, const double *rates)
{
	size_t i;

	for (i = 0; i < table->cpu_count; i++)
		if (table->cpus[i] < all->machine->count)
			all->others[table->cpus[i]] += rates[i];
}

static int take_table(struct interrupts *all, const struct irq_table *table, const double *rates,
		      const struct irq_cpus *cpus, uint64_t now_us)
{
	struct irq **irqs = calloc(table->count + 1, sizeof(*irqs));
	size_t count = 0, i, cpu;

	if (!irqs)
		return -ENOMEM;
	memset(all->others, 0, all->machine->count * sizeof(*all->others));
	for (i = 0; i < table->count; i++) {
		const double *of_row = rates ? rates + i * table->cpu_count : NULL;
		double sum = 0;
		struct irq *irq;

		if (table->rows[i].number < 0)
			continue;
		irq = take_irq(all, &table->rows[i], count);
		if (!irq) {
			free_list(irqs, count);
			return -ENOMEM;
		}
		irqs[count++] = irq;
		read_where(all, irq, cpus);
		for (cpu = 0; of_row && cpu < table->cpu_count; cpu++)
			sum += of_row[cpu];
		if (of_row && irq->kind == IRQ_MOVABLE && sum < MOST_RATE)
			measure(all, irq, sum, now_us);
		else if (of_row && irq->kind != IRQ_PER_CPU)
			add_others(all, table, of_row);
	}
	free_list(all->irqs, all->count);
	all->irqs = irqs;
	all->count = count;
	return 0;
}

/* Forgets all measurements as out of date. Interrupts that could not be put back stay known. */
static void forget(struct interrupts *all)
{
	size_t i, count = 0;

	for (i = 0; i < all->count; i++) {
		struct irq *irq = all->irqs[i];

		if (irq->ours)
			all->irqs[count++] = irq;
		else
			free_irq(irq);
	}
	all->count = count;
	irq_free(&all->before);
	all->before_us = 0;
}

/* Measures all interrupts. Returns 0, -ENOMEM, or the error of reading /proc/interrupts. */
static int look(struct interrupts *all, const struct irq_cpus *cpus, uint64_t now_us)
{
	char *text = file_read(all->machine->root, "/proc/interrupts", NULL);
	struct irq_table table;
	double *rates = NULL;
	int err = text ? irq_parse(text, &table) : -errno;

	free(text);
	if (err)
		return err;
	if (all->before_us && now_us > all->before_us) {
		rates = irq_rates(&all->before, &table, (now_us - all->before_us) / 1e6);
		err = rates ? 0 : -ENOMEM;
	}
	if (!err)
		err = take_table(all, &table, rates, cpus, now_us);
	free(rates);
	irq_free(&all->before);
	all->before = table;
	all->before_us = now_us;
	return err;
}

/* -- Beside others ------------------------------------------------------------------- */

static void put_back(struct interrupts *all)
{
	size_t i, back = 0;

	for (i = 0; i < all->count; i++) {
		struct irq *irq = all->irqs[i];

		if (!irq->ours || irq_write(all->machine, irq->number, irq->found))
			continue;
		irq->ours = false;
		back++;
	}
	if (back)
		say(LOG_NOTICE, BACK_AGAIN, back);
	if (all->dry_run)
		return;
	if (all->told)
		irqbalance_ban(all->machine->root, all->told, NULL, 0);
	all->told = 0;
	/* What could not be put back is tried again when the daemon ends. */
	save(all);
}

/* Leaves all interrupts alone for @reason, or moves them if it is NULL; owns @reason afterwards. */
static void stand_back(struct interrupts *all, char *reason)
{
	bool same = reason && all->reason && !strcmp(reason, all->reason);

	if (!same && reason)
		say(LOG_NOTICE, "interrupts are left alone: %s", reason);
	else if (!same && all->reason)
		say(LOG_NOTICE, "interrupts are moved again");
	if (reason && !all->reason) {
		put_back(all);
		forget(all);
	}
	free(all->reason);
	all->reason = reason;
}

/* Returns Bolt's keep list, to be freed; NULL if there is none, or no memory. */
static char *keep_list(const struct interrupts *all)
{
	char *text = NULL;

	if (!(cpubolt_features(all->machine->handle) & CPUBOLT_ENABLED) ||
	    cpubolt_get(all->machine->handle, "irq_keep", &text))
		return NULL;
	if (*text)
		return text;
	free(text);
	return NULL;
}

/* Returns why the daemon must leave interrupts alone, to be freed; NULL if it may move them. */
static char *find_reason(const struct interrupts *all, int irqbalance)
{
	char *list = keep_list(all), *reason = NULL;

	if (list)
		reason = field("the kernel keeps these on CPUs %s (irq_keep)", list);
	else if (irqbalance && all->config->interrupts.irqbalance == IRQBALANCE_YIELD)
		reason = field("irqbalance (PID %d) runs", irqbalance);
	free(list);
	return reason;
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

/* Tells irqbalance which interrupts to leave alone, after it starts or the list changes. */
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
	err = all->dry_run ? 0 : save(all);
	if (!err && !all->dry_run)
		err = irqbalance_ban(all->machine->root, irqbalance, numbers, count);
	free(numbers);
	all->told_count = count;
	all->told_hash = hash;
	if (err) {
		stand_back(all, field("irqbalance (PID %d) runs, and cannot be told to leave "
				      "%zu interrupts alone: %s", irqbalance, count,
				      err == -E2BIG ? "these are too many" : strerror(-err)));
		all->told = 0;
	} else if (irqbalance != before) {
		say(LOG_NOTICE, "irqbalance (PID %d) %s to leave %zu interrupts to cpuboltd",
		    irqbalance, all->dry_run ? "would be told" : "was told", count);
	}
	return 0;
}

/* -- Moving ------------------------------------------------------------------------ */

/* Chooses the base CPU: the same as before if possible. False if no CPU may have interrupts. */
static bool find_base(struct interrupts *all, const struct irq_cpus *cpus)
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

static unsigned int recent_moves(const struct interrupts *all, uint64_t now_us)
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

/* Records the move, for the state's file, which is written before the affinity is. */
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
	/* Older kernels let the files of managed interrupts be opened for writing. */
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
		err = save(all);
	/* Without the file no affinity is written: a crash would lose what was found. */
	for (i = 0; i < count; i++) {
		if (err)
			take_back(all, all->irqs[moves[i].irq]);
		else
			write_one(all, all->irqs[moves[i].irq], &moves[i], now_us);
	}
}

static int move(struct interrupts *all, const struct irq_cpus *cpus, bool forced_only,
		uint64_t now_us)
{
	struct irq_fact *facts = calloc(all->count + 1, sizeof(*facts));
	struct irq_move *moves = calloc(all->count + 1, sizeof(*moves));
	unsigned int recent = recent_moves(all, now_us), most = all->config->interrupts.per_minute;
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

/* Makes one measurement; sets all->reason if interrupts are to be left alone. */
static int look_around(struct interrupts *all, const struct irq_cpus *cpus, uint64_t now_us)
{
	int irqbalance = irqbalance_find(all->machine->root), err;
	char *reason = find_reason(all, irqbalance);

	all->due_us = now_us + INTERVALS * all->config->interval_ms * 1000ULL;
	if (irqbalance != all->told)
		all->told = 0;
	if (reason) {
		stand_back(all, reason);
		return 0;
	}
	err = look(all, cpus, now_us);
	if (err == -ENOMEM)
		return err;
	if (err) {
		stand_back(all, field("cannot read /proc/interrupts: %s", strerror(-err)));
		return 0;
	}
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

	if (!due && (all->reason || is_empty(all, cpus->going)))
		return 0;
	if (due)
		err = look_around(all, cpus, now_us);
	for (i = 0; !due && i < all->count; i++)
		read_where(all, all->irqs[i], cpus);
	if (err || all->reason || !find_base(all, cpus))
		return err;
	return move(all, cpus, !due, now_us);
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
		fprintf(out, "%u moved, %u in the last minute; idle ones go to CPU %d\n",
			tally.moved, recent_moves(all, now_us), all->base);
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

// SPDX-License-Identifier: GPL-2.0-only
/* The interrupts that the daemon has moved, see irq_state.h */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "irq_place.h"
#include "irq_state.h"
#include "irq_table.h"
#include "irqbalance.h"
#include "say.h"
#include "state.h"

#define BETWEEN	", "	/* stands between devices that share an interrupt, in /proc/interrupts */

static void free_one(struct irq_saved *irq)
{
	free(irq->name);
	CPU_FREE(irq->found);
	CPU_FREE(irq->was);
	CPU_FREE(irq->written);
}

void irq_state_free(struct irq_state *state)
{
	size_t i;

	for (i = 0; i < state->count; i++)
		free_one(&state->irqs[i]);
	free(state->irqs);
	*state = (struct irq_state){ 0 };
}

struct irq_saved *irq_state_add(const struct machine *machine, struct irq_state *state, int number,
				const char *name)
{
	struct irq_saved *more = reallocarray(state->irqs, state->count + 1, sizeof(*more));
	struct irq_saved *irq;

	if (!more)
		return NULL;
	state->irqs = more;
	irq = &more[state->count];
	*irq = (struct irq_saved){
		.number = number,
		.name = strdup(name),
		.found = machine_set(machine),
		.was = machine_set(machine),
		.written = machine_set(machine),
	};
	if (!irq->name || !irq->found || !irq->was || !irq->written) {
		free_one(irq);
		return NULL;
	}
	state->count++;
	return irq;
}

/* Tells whether the list @names has a device called as the first @length characters of @name. */
static bool has_device(const char *names, const char *name, size_t length)
{
	size_t own;

	for (;; names += own + strlen(BETWEEN)) {
		const char *end = strstr(names, BETWEEN);

		own = end ? (size_t)(end - names) : strlen(names);
		if (own == length && !strncmp(names, name, length))
			return true;
		if (!end)
			return false;
	}
}

bool irq_same_device(const char *one, const char *other)
{
	const char *end;

	for (;; one = end + strlen(BETWEEN)) {
		end = strstr(one, BETWEEN);
		if (has_device(other, one, end ? (size_t)(end - one) : strlen(one)))
			return true;
		if (!end)
			return false;
	}
}

void irq_state_drop(struct irq_state *state, size_t i)
{
	free_one(&state->irqs[i]);
	state->irqs[i] = state->irqs[--state->count];
}

/* -- The file ---------------------------------------------------------------------- */

static int print_one(FILE *out, const struct machine *machine, const struct irq_saved *irq)
{
	char *found = cpubolt_format_list(machine->handle, irq->found);
	char *was = cpubolt_format_list(machine->handle, irq->was);
	char *written = cpubolt_format_list(machine->handle, irq->written);
	int err = found && was && written ? 0 : -ENOMEM;

	if (!err)
		fprintf(out, "irq=%d found=%s was=%s written=%s name=%s\n", irq->number, found, was,
			written, irq->name);
	free(found);
	free(was);
	free(written);
	return err;
}

static char *make_text(const struct machine *machine, const struct irq_state *state)
{
	char *boot = state_boot(machine), *text = NULL;
	size_t length, i;
	FILE *out = boot ? open_memstream(&text, &length) : NULL;
	int err = out ? 0 : -ENOMEM;

	if (!err) {
		fprintf(out, "boot_id=%s\nirqbalance=%d\n", boot, state->irqbalance);
		for (i = 0; !err && i < state->count; i++)
			err = print_one(out, machine, &state->irqs[i]);
		err = fclose(out) ? -ENOMEM : err;
	}
	free(boot);
	if (!err)
		return text;
	free(text);
	return NULL;
}

int irq_state_save(const struct machine *machine, const struct irq_state *state)
{
	char *text;
	int err;

	if (!state->count && !state->irqbalance)
		return file_remove(machine->root, IRQ_STATE_FILE);
	err = state_folder(machine);
	if (err)
		return err;
	text = make_text(machine, state);
	err = text ? file_replace(machine->root, IRQ_STATE_FILE, text) : -ENOMEM;
	free(text);
	return err;
}

/*
 * Takes "@key=VALUE" up to a character of @end off the text, and returns VALUE; NULL if the text
 * begins with something else.
 */
static char *take_value(char **here, const char *key, const char *end)
{
	size_t length = strlen(key);
	char *value = *here;

	if (!value || strncmp(value, key, length) || value[length] != '=')
		return NULL;
	value += length + 1;
	*here = strpbrk(value, end);
	if (*here)
		*(*here)++ = '\0';
	return value;
}

static bool take_number(char **here, const char *key, const char *end, int *number)
{
	char *value = take_value(here, key, end), rest;

	return value && sscanf(value, "%d%c", number, &rest) == 1 && *number >= 0;
}

static bool take_set(const struct machine *machine, char **here, const char *key, cpu_set_t *set)
{
	char *value = take_value(here, key, " ");

	return value && *value && !cpubolt_parse_list(machine->handle, value, set, NULL);
}

static int parse_one(const struct machine *machine, char *line, struct irq_state *state)
{
	struct irq_saved *irq;
	char *name;
	int number;

	if (!take_number(&line, "irq", " ", &number))
		return -EINVAL;
	irq = irq_state_add(machine, state, number, "");
	if (!irq)
		return -ENOMEM;
	if (!take_set(machine, &line, "found", irq->found) ||
	    !take_set(machine, &line, "was", irq->was) ||
	    !take_set(machine, &line, "written", irq->written))
		return -EINVAL;
	name = take_value(&line, "name", "\n");
	if (!name)
		return -EINVAL;
	free(irq->name);
	irq->name = strdup(name);
	return irq->name ? 0 : -ENOMEM;
}

int irq_state_parse(const struct machine *machine, const char *text, const char *boot,
		    struct irq_state *state)
{
	char *copy = strdup(text), *here = copy, *value, *line;
	int err = 0;

	*state = (struct irq_state){ 0 };
	if (!copy)
		return -ENOMEM;
	value = take_value(&here, "boot_id", "\n");
	if (!value)
		err = -EINVAL;
	else if (strcmp(value, boot))
		err = -ENOENT;
	else if (!take_number(&here, "irqbalance", "\n", &state->irqbalance))
		err = -EINVAL;
	/* A line without newline means that the end of the file is missing. */
	while (!err && here && *here) {
		line = strsep(&here, "\n");
		err = here ? parse_one(machine, line, state) : -EINVAL;
	}
	free(copy);
	if (err)
		irq_state_free(state);
	return err;
}

int irq_state_load(const struct machine *machine, struct irq_state *state)
{
	char *text = file_read(machine->root, IRQ_STATE_FILE, NULL), *boot;
	int err;

	*state = (struct irq_state){ 0 };
	if (!text)
		return -errno;
	boot = state_boot(machine);
	err = boot ? irq_state_parse(machine, text, boot, state) : -errno;
	free(boot);
	free(text);
	return err;
}

void irq_state_discard(const struct machine *machine)
{
	char *from, *to;

	if (asprintf(&from, "%s" IRQ_STATE_FILE, machine->root) < 0)
		return;
	if (asprintf(&to, "%s" IRQ_STATE_BAD_FILE, machine->root) >= 0) {
		rename(from, to);
		free(to);
	}
	free(from);
}

/* -- Affinities -------------------------------------------------------------------- */

int irq_write(const struct machine *machine, int irq, const cpu_set_t *cpus)
{
	char *list = cpubolt_format_list(machine->handle, cpus), path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", irq);
	err = list ? file_write(machine->root, path, list) : -ENOMEM;
	free(list);
	return err;
}

bool irq_read_set(const struct machine *machine, int irq, const char *file, cpu_set_t *cpus)
{
	char path[64], *text;
	bool good;

	CPU_ZERO_S(machine->size, cpus);
	snprintf(path, sizeof(path), "/proc/irq/%d/%s", irq, file);
	text = file_read(machine->root, path, NULL);
	if (!text)
		return false;
	text[strcspn(text, "\n")] = '\0';
	good = *text && !cpubolt_parse_list(machine->handle, text, cpus, NULL);
	free(text);
	return good;
}

static int read_table(const struct machine *machine, struct irq_table *table, bool devices)
{
	int err = irq_table_read(machine->root, table, devices);

	return err == -EINVAL ? -EAGAIN : err;
}

int irq_read_table(const struct machine *machine, struct irq_table *table)
{
	return read_table(machine, table, false);
}

/*
 * An interrupt without a row, or with a row without a name, is not in use at the moment: its device
 * may be closed. Such an interrupt does not count as one that has another device.
 */
static bool has_other_device(const struct irq_table *table, const struct irq_saved *irq)
{
	size_t i;

	for (i = 0; i < table->count; i++)
		if (table->rows[i].number == irq->number)
			return *table->rows[i].name &&
			       !irq_same_device(table->rows[i].name, irq->name);
	return false;
}

/*
 * Tells whether the affinity is still to be put back, as irq_state_drop_lost() describes.
 * Overwrites @now and @both.
 */
static bool is_ours(const struct machine *machine, const struct irq_saved *irq,
		    const cpu_set_t *online, cpu_set_t *now, cpu_set_t *both)
{
	size_t size = machine->size;

	if (!irq_read_set(machine, irq->number, "smp_affinity_list", now) ||
	    CPU_EQUAL_S(size, now, irq->found))
		return false;
	if (CPU_EQUAL_S(size, now, irq->was) || CPU_EQUAL_S(size, now, irq->written))
		return true;
	CPU_OR_S(size, both, irq->was, irq->written);
	CPU_AND_S(size, both, both, online);
	return !CPU_COUNT_S(size, both);
}

int irq_state_drop_lost(const struct machine *machine, const struct irq_table *table,
			struct irq_state *state)
{
	cpu_set_t *online = machine_set(machine), *now = machine_set(machine);
	cpu_set_t *both = machine_set(machine);
	int err = online && now && both ? cpubolt_refresh(machine->handle) : -ENOMEM;
	size_t i = 0;

	if (!err)
		err = cpubolt_cpus(machine->handle, CPUBOLT_ONLINE, online);
	while (!err && i < state->count) {
		const struct irq_saved *irq = &state->irqs[i];

		if (!has_other_device(table, irq) && is_ours(machine, irq, online, now, both))
			i++;
		else
			irq_state_drop(state, i);
	}
	CPU_FREE(online);
	CPU_FREE(now);
	CPU_FREE(both);
	return err;
}

int irq_state_begin(const struct machine *machine, struct irq_state *state)
{
	int err = irq_state_load(machine, state);
	struct irq_table table;

	if (err == -ENOENT)
		return file_remove(machine->root, IRQ_STATE_FILE);
	if (err)
		return err;
	err = read_table(machine, &table, true);
	if (!err) {
		err = irq_state_drop_lost(machine, &table, state);
		irq_free(&table);
	}
	if (err)
		irq_state_free(state);
	return err;
}

void irq_state_write(const struct machine *machine, struct irq_state *state,
		     struct irq_restored *restored)
{
	size_t i = 0;

	*restored = (struct irq_restored){ 0 };
	while (i < state->count) {
		int irq = state->irqs[i].number;
		int err = irq_write(machine, irq, state->irqs[i].found);

		if (err) {
			restored->failed++;
			restored->error = -err;
			restored->irq = irq;
			i++;
		} else {
			restored->back++;
			irq_state_drop(state, i);
		}
	}
}

static bool is_online(const struct machine *machine, const char *list)
{
	cpu_set_t *cpus = machine_set(machine), *online = machine_set(machine);
	bool found = false;

	if (cpus && online && !cpubolt_parse_list(machine->handle, list, cpus, NULL) &&
	    !cpubolt_refresh(machine->handle) &&
	    !cpubolt_cpus(machine->handle, CPUBOLT_ONLINE, online)) {
		CPU_AND_S(machine->size, cpus, cpus, online);
		found = CPU_COUNT_S(machine->size, cpus);
	}
	CPU_FREE(cpus);
	CPU_FREE(online);
	return found;
}

int irq_keep_empty(const struct machine *machine, char **list)
{
	int err;

	*list = NULL;
	if (!(cpubolt_features(machine->handle) & CPUBOLT_HAS_BOLT))
		return 0;
	err = cpubolt_get(machine->handle, "irq_keep", list);
	/* The kernel refuses a list without an online CPU, so the list could not be set again. */
	if (!err && **list && !is_online(machine, *list))
		err = -EBUSY;
	if (!err && **list)
		err = cpubolt_put(machine->handle, "irq_keep", "");
	if (err || !**list) {
		free(*list);
		*list = NULL;
	}
	return err;
}

void irq_keep_set(const struct machine *machine, char *list)
{
	int err = list ? cpubolt_put(machine->handle, "irq_keep", list) : 0;

	if (err)
		say(LOG_ERR, "cannot set irq_keep to %s again: %s", list, strerror(-err));
	free(list);
}

void irq_state_restore(const struct machine *machine, struct irq_state *state,
		       struct irq_restored *restored)
{
	char *list = NULL;
	sigset_t all, before;
	int err, pid;

	/* If a signal ended the program now, irq_keep would stay empty: signals have to wait. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	err = state->count ? irq_keep_empty(machine, &list) : 0;
	if (err) {
		*restored = (struct irq_restored){
			.failed = state->count,
			.error = -err,
			.irq = state->irqs[0].number,
		};
	} else {
		irq_state_write(machine, state, restored);
		irq_keep_set(machine, list);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	pid = state->irqbalance ? irqbalance_find(machine->root) : 0;
	if (pid > 0 && pid == state->irqbalance)
		irqbalance_ban(machine->root, pid, NULL, 0);
	/* If memory is short, irqbalance stays in the file for the next call. */
	if (pid >= 0)
		state->irqbalance = 0;
	irq_state_save(machine, state);
}

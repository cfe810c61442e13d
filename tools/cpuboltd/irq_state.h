/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /run/cpubolt/cpuboltd.interrupts has the interrupts that the daemon has moved, or is about to
 * move, the affinities that were found, the PID of an irqbalance that was told to leave interrupts
 * alone, and the kernel's ID of the boot.
 *
 * The file is written before any affinity is written, so that whatever happens to the daemon, no
 * affinity is forgotten: "cpuboltd --restore" writes back what was found.
 */
#ifndef IRQ_STATE_H
#define IRQ_STATE_H

#include "irq_parse.h"
#include "machine.h"

/** One interrupt that the daemon has moved */
struct irq_saved {
	int number;
	char *name;		/* name of the device, as in /proc/interrupts */
	cpu_set_t *found;	/* affinity before the first move */
	cpu_set_t *was;		/* affinity before the last move */
	cpu_set_t *written;	/* affinity that the last move writes */
	bool lost;		/* whether the interrupt has lost its row while this daemon ran */
};

struct irq_state {
	struct irq_saved *irqs;
	size_t count;
	int irqbalance;		/* PID of an irqbalance told to leave interrupts alone, or 0 */
};

/** irq_state_add() - add an interrupt with three empty sets; NULL if memory is short */
struct irq_saved *irq_state_add(const struct machine *machine, struct irq_state *state, int number,
				const char *name);

/**
 * irq_same_device() - whether two names of an interrupt in /proc/interrupts have a device in common
 *
 * The name of an interrupt that several devices share has all of these, with ", " between, in the
 * order in which their drivers have requested the interrupt.
 */
bool irq_same_device(const char *one, const char *other);

/** irq_state_drop() - forget one interrupt; the last interrupt takes its place */
void irq_state_drop(struct irq_state *state, size_t i);

void irq_state_free(struct irq_state *state);

/** irq_state_save() - write @state, or remove the file if @state is empty; 0 or -errno */
int irq_state_save(const struct machine *machine, const struct irq_state *state);

/**
 * irq_state_load() - read the interrupts that a daemon of this boot has moved
 *
 * Errors: -ENOENT there is no file, or the file is of another boot; -EINVAL the file cannot be
 * understood; -ENOMEM; the negative errno if a file cannot be read. @state is overwritten, and
 * empty after an error.
 */
int irq_state_load(const struct machine *machine, struct irq_state *state);

/** irq_state_parse() - as irq_state_load(), from @text in place of the file, for the boot @boot */
int irq_state_parse(const struct machine *machine, const char *text, const char *boot,
		    struct irq_state *state);

/** What has become of the interrupts in the file */
struct irq_restored {
	size_t back;		/* interrupts whose affinity is again that before the first move */
	size_t failed;		/* interrupts that were not put back; these stay in the file */
	int error;		/* positive errno of one of these failures, or 0 */
	int irq;		/* the interrupt with that error */
};

/**
 * irq_state_drop_lost() - drop interrupts that are not the daemon's any more; 0 or -errno
 * @table: a reading of /proc/interrupts
 *
 * An interrupt is dropped if the interrupt is gone, has another device, has the affinity of before
 * its first move again, or has an affinity that another program has set: an affinity that is
 * neither "written" nor "was" of struct irq_saved. If no CPU of these two affinities is online, the
 * kernel has chosen an affinity itself, which is no reason to drop the interrupt.
 */
int irq_state_drop_lost(const struct machine *machine, const struct irq_table *table,
			struct irq_state *state);

/**
 * irq_state_begin() - read the file, and drop interrupts as irq_state_drop_lost() does
 *
 * To be called before CPUs are brought back: after that, an affinity that the kernel has chosen
 * looks like one of another program. A file of another boot is removed. If CPUs come or go whenever
 * /proc/interrupts is read, the last table that could be understood counts.
 *
 * Return: 0, also without a file, or a negative errno: as irq_state_load(), or of reading /proc or
 * the CPUs.
 */
int irq_state_begin(const struct machine *machine, struct irq_state *state);

/**
 * irq_state_write() - write the affinities that were found
 * @state: only interrupts that failed are left in @state
 */
void irq_state_write(const struct machine *machine, struct irq_state *state,
		     struct irq_restored *restored);

/**
 * irq_state_restore() - write the affinities that were found; remove the file if none failed
 * @state: from irq_state_begin(); only interrupts that failed are left in @state, and in the file
 *
 * If the irqbalance that was told to leave interrupts alone still runs, it gets these back.
 */
void irq_state_restore(const struct machine *machine, struct irq_state *state,
		       struct irq_restored *restored);

/**
 * irq_keep_empty() - empty irq_keep, so that affinities can be written
 * @list: what irq_keep_set() sets again; NULL if irq_keep was empty, or there is no Bolt
 *
 * If the affinity of an interrupt is written while irq_keep has CPUs, the kernel no longer keeps
 * the interrupt on these CPUs, until irq_keep is emptied and set again.
 *
 * So when irq_keep is set again, an interrupt whose affinity another program has set, before
 * irq_keep was emptied or since then, is kept on these CPUs like other interrupts.
 *
 * Return: 0, or a negative errno: @list is then NULL and irq_keep as before. -EBUSY: no CPU of
 * irq_keep is online.
 */
int irq_keep_empty(const struct machine *machine, char **list);

/** irq_keep_set() - set irq_keep to @list, which is freed and may be NULL; logs an error */
void irq_keep_set(const struct machine *machine, char *list);

/** irq_state_discard() - rename a faulty IRQ_STATE_FILE to IRQ_STATE_BAD_FILE */
void irq_state_discard(const struct machine *machine);

#define IRQ_STATE_FILE		"/run/cpubolt/cpuboltd.interrupts"
#define IRQ_STATE_BAD_FILE	IRQ_STATE_FILE ".bad"

/**
 * irq_read_table() - read /proc/interrupts, again if CPUs come or go meanwhile
 *
 * Return: 0, -EAGAIN if each time CPUs came or went, or the file could not be understood, -ENOMEM,
 * or the negative errno of reading a file. The table is to be freed with irq_free().
 */
int irq_read_table(const struct machine *machine, struct irq_table *table);

/** irq_write() - write the affinity of an interrupt; 0 or a negative errno */
int irq_write(const struct machine *machine, int irq, const cpu_set_t *cpus);

/** irq_read_set() - read the list of CPUs in /proc/irq/N/@file; false if that fails */
bool irq_read_set(const struct machine *machine, int irq, const char *file, cpu_set_t *cpus);

#endif /* IRQ_STATE_H */

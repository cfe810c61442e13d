/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files states and stats of /sys/kernel/debug/bolt, and /sys/devices/system/cpu/hotplug/states,
 * as the kernel prints them.
 */
#ifndef STATES_PARSE_H
#define STATES_PARSE_H

#include <stdbool.h>
#include <stddef.h>

/** One hotplug state: a line of the file states */
struct state_row {
	int number;
	char *class;		/* "critical", "async", "lazy" or "elide" */
	bool class_moved;	/* the administrator has made the state, or its unit, critical */
	char *fit;		/* "unfit", "serial" or "concurrent" */
	bool fit_declared;	/* the administrator has declared the fitness */
	char *unit;		/* states that are deferred together, "-" for none */
	long long runs;		/* callbacks that ran */
	long long skips;	/* deferred teardowns, and startups that were not needed */
	long long settles;	/* deferred teardowns that ran later */
	long long slowed;	/* requests that went CPU by CPU because of the state */
	long long ns;		/* time in settles, and in runs while timing was on */
	char *name;		/* as in /sys/devices/system/cpu/hotplug/states */
	char *reason;
};

/**
 * states_parse() - read the file states
 * @text: contents of the file; its first line names the columns, of which a
 *	  newer kernel may have more
 * @rows: where the rows are stored, in the order of the file; free them with
 *	  states_free()
 * @count: how many rows
 * @line: with -EINVAL, number of the line that was not understood, from 1, or 0 if @text is empty;
 *	  may be NULL
 *
 * Return: 0, -EINVAL if @text is not the text of such a file, -ENOMEM.
 */
int states_parse(const char *text, struct state_row **rows, size_t *count, size_t *line);

/**
 * states_parse_native() - read /sys/devices/system/cpu/hotplug/states
 *
 * That file has the numbers and names of states only: all other members of the rows are NULL or 0.
 *
 * Return: as states_parse().
 */
int states_parse_native(const char *text, struct state_row **rows, size_t *count);

/** states_free() - free @count rows; NULL is allowed */
void states_free(struct state_row *rows, size_t count);

/**
 * states_find() - the row of the state that a user means
 * @what: a name, or a number
 * @found: where the row is stored
 *
 * Return: 0, -ENOENT without such a state, -ENOTUNIQ if several states have that name.
 */
int states_find(const struct state_row *rows, size_t count, const char *what,
		const struct state_row **found);

/**
 * stats_value() - value of a key in the file stats
 * @text: contents of the file, with a line "KEY VALUE" for each key
 *
 * Return: the value, to be freed with free(), or NULL if @text has no such key or memory is short.
 */
char *stats_value(const char *text, const char *key);

#endif /* STATES_PARSE_H */

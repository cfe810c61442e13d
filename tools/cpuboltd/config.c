// SPDX-License-Identifier: GPL-2.0-only
/* The configuration, see config.h */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

#include "config.h"
#include "files.h"

enum kind {
	NUMBER,
	LIST,
	POLICY,
	LEVEL,
	PATH,
	SWITCH,
	IRQBALANCE,
};

struct key {
	const char *section, *name;
	enum kind kind;
	size_t offset;
	unsigned int least, most, usual;	/* bounds and default of a number */
};

#define AT(MEMBER)	offsetof(struct config, MEMBER)

static const struct key keys[] = {
	{ "daemon", "interval_ms", NUMBER, AT(interval_ms), 50, 60000, 1000 },
	{ "daemon", "keep", LIST, AT(keep), 0, 0, 0 },
	{ "daemon", "deny", LIST, AT(deny), 0, 0, 0 },
	{ "daemon", "backoff_s", NUMBER, AT(backoff_s), 1, 3600, 60 },
	{ "daemon", "metrics", PATH, AT(metrics), 0, 0, 0 },
	{ "limits", "min_cpus", NUMBER, AT(settings.min_cpus), 1, 65536, 1 },
	{ "limits", "hold_ms", NUMBER, AT(hold_ms), 100, 3600000, 3000 },
	{ "limits", "dwell_ms", NUMBER, AT(dwell_ms), 100, 3600000, 5000 },
	{ "limits", "changes_per_minute", NUMBER, AT(rules.per_minute), 2, 600, 20 },
	{ "policy", "name", POLICY, AT(policy), 0, 0, 0 },
	{ "load", "up", NUMBER, AT(settings.load.up), 2, 100, 80 },
	{ "load", "down", NUMBER, AT(settings.load.down), 1, 99, 60 },
	{ "load", "pressure", NUMBER, AT(settings.load.pressure), 1, 100, 10 },
	{ "steal", "give", NUMBER, AT(settings.steal.give), 1, 100, 20 },
	{ "steal", "take", NUMBER, AT(settings.steal.take), 0, 99, 5 },
	{ "steal", "up", NUMBER, AT(settings.steal.up), 1, 100, 70 },
	{ "package", "level", LEVEL, AT(settings.package_level), 0, 0, 0 },
	{ "package", "up", NUMBER, AT(settings.package.up), 2, 100, 80 },
	{ "package", "down", NUMBER, AT(settings.package.down), 1, 99, 60 },
	{ "package", "pressure", NUMBER, AT(settings.package.pressure), 1, 100, 10 },
	{ "fixed", "cpus", LIST, AT(settings.fixed), 0, 0, 0 },
	{ "interrupts", "enabled", SWITCH, AT(interrupts.enabled), 0, 0, 0 },
	{ "interrupts", "busy_per_second", NUMBER, AT(interrupts.busy), 1, 1000000, 100 },
	{ "interrupts", "dwell_s", NUMBER, AT(interrupts.dwell_s), 1, 3600, 60 },
	{ "interrupts", "moves_per_minute", NUMBER, AT(interrupts.per_minute), 1, 600, 20 },
	{ "interrupts", "irqbalance", IRQBALANCE, AT(interrupts.irqbalance), 0, 0, 0 },
};

#define KEYS	(sizeof(keys) / sizeof(keys[0]))

static void *value_at(struct config *config, const struct key *key)
{
	return (char *)config + key->offset;
}

int config_init(const struct machine *machine, struct config *config)
{
	size_t i;

	*config = (struct config){ .policy = &policy_load };
	for (i = 0; i < KEYS; i++) {
		if (keys[i].kind == NUMBER) {
			*(unsigned int *)value_at(config, &keys[i]) = keys[i].usual;
		} else if (keys[i].kind == LIST) {
			cpu_set_t *set = machine_set(machine);

			if (!set)
				return -ENOMEM;
			*(cpu_set_t **)value_at(config, &keys[i]) = set;
		}
	}
	/* The default of "cpus" in [fixed] is all CPUs, also CPUs that are plugged in later. */
	return cpubolt_cpus(machine->handle, CPUBOLT_POSSIBLE, config->settings.fixed);
}

void config_free(struct config *config)
{
	size_t i;

	for (i = 0; i < KEYS; i++) {
		if (keys[i].kind == LIST)
			CPU_FREE(*(cpu_set_t **)value_at(config, &keys[i]));
		else if (keys[i].kind == PATH)
			free(*(char **)value_at(config, &keys[i]));
	}
	*config = (struct config){ 0 };
}

/* -- One file ---------------------------------------------------------------- */

/* One pass of inih over a text. */
struct reading {
	const struct machine *machine;
	struct config *config;
	const char *name;
	const char *here, *end;		/* what is left of the text */
	unsigned int line;
	char **error;			/* the first error */
	unsigned int wrong_line;	/* the line of the first error */
};

static void wrong(struct reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void wrong(struct reading *reading, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	if (*reading->error)
		return;
	reading->wrong_line = reading->line;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (asprintf(reading->error, "%s:%u: %s", reading->name, reading->line,
		     text ?: "no memory") < 0)
		*reading->error = NULL;
	free(text);
}

static bool is_section(const char *name)
{
	size_t i;

	for (i = 0; i < KEYS; i++)
		if (!strcmp(keys[i].section, name))
			return true;
	return false;
}

/* Refuses lines that inih would pass over, or would misread. */
static void check_line(struct reading *reading, const char *line, size_t length)
{
	size_t size;
	char name[64];

	while (length && isspace((unsigned char)line[length - 1]))
		length--;
	if (!length || *line == '#' || *line == ';')
		return;
	if (isspace((unsigned char)*line)) {
		wrong(reading, "a line must not begin with a blank");
		return;
	}
	if (*line != '[')
		return;
	size = strcspn(line + 1, "]");
	snprintf(name, sizeof(name), "%.*s", (int)(size < 63 ? size : 63), line + 1);
	if (line[1 + size] != ']' || 2 + size != length)
		wrong(reading, "a section is a name in brackets, and nothing else");
	else if (!is_section(name))
		wrong(reading, "there is no section [%s]", name);
}

/*
 * Called by inih; works as fgets(). Reading goes on after an error, as "cpuboltd --restore" needs
 * the value of the key "deny" even then. A line that begins with blanks is an error, and inih gets
 * the line without these blanks, as inih would take such a line for more of the value in the line
 * before. In place of a line that is too long or contains a NUL, inih gets an empty line.
 */
static char *next_line(char *line, int size, void *data)
{
	struct reading *reading = data;
	size_t left = (size_t)(reading->end - reading->here), length, blanks;
	const char *newline, *text = reading->here;

	if (!left)
		return NULL;
	newline = memchr(text, '\n', left);
	length = newline ? (size_t)(newline - text) : left;
	reading->line++;
	reading->here += length + !!newline;
	if (length + 2 > (size_t)size) {
		wrong(reading, "a line must not have more than %d characters", size - 2);
		length = 0;
	} else if (memchr(text, '\0', length)) {
		wrong(reading, "the line contains a NUL");
		length = 0;
	}
	memcpy(line, text, length);
	line[length] = '\0';
	check_line(reading, line, length);
	blanks = strspn(line, " \t\r\v\f");
	memmove(line, line + blanks, length - blanks + 1);
	return line;
}

static bool take_number(struct reading *reading, const struct key *key, const char *text)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || number < key->least ||
	    number > key->most) {
		wrong(reading, "%s = %s: a number from %u to %u is wanted", key->name, text,
		      key->least, key->most);
		return false;
	}
	*(unsigned int *)value_at(reading->config, key) = (unsigned int)number;
	return true;
}

/* A list that is wrong leaves the earlier list as it was. */
static bool take_list(struct reading *reading, const struct key *key, const char *text)
{
	cpu_set_t *set = *(cpu_set_t **)value_at(reading->config, key);
	cpu_set_t *found = machine_set(reading->machine);
	int err = 0;

	if (!found) {
		wrong(reading, "no memory");
		return false;
	}
	if (*text)
		err = cpubolt_parse_list(reading->machine->handle, text, found, NULL);
	if (!err)
		memcpy(set, found, reading->machine->size);
	CPU_FREE(found);
	if (err == -ERANGE)
		wrong(reading, "%s = %s: this machine has no such CPU number", key->name, text);
	else if (err)
		wrong(reading, "%s = %s: a list of CPUs is wanted, as 0-3,8", key->name, text);
	return !err;
}

static bool take_policy(struct reading *reading, const struct key *key, const char *text)
{
	const struct policy *policy = policy_find(text);

	if (!policy) {
		wrong(reading, "%s = %s: there is no such policy", key->name, text);
		return false;
	}
	*(const struct policy **)value_at(reading->config, key) = policy;
	return true;
}

static bool take_level(struct reading *reading, const struct key *key, const char *text)
{
	enum package_level *level = value_at(reading->config, key);

	if (strcmp(text, "package") && strcmp(text, "cluster")) {
		wrong(reading, "%s = %s: \"package\" or \"cluster\" is wanted", key->name, text);
		return false;
	}
	*level = *text == 'p' ? LEVEL_PACKAGE : LEVEL_CLUSTER;
	return true;
}

static bool take_path(struct reading *reading, const struct key *key, const char *text)
{
	char **path = value_at(reading->config, key), *copy = NULL;

	if (*text && *text != '/') {
		wrong(reading, "%s = %s: a path that begins with / is wanted", key->name, text);
		return false;
	}
	if (*text) {
		copy = strdup(text);
		if (!copy) {
			wrong(reading, "no memory");
			return false;
		}
	}
	free(*path);
	*path = copy;
	return true;
}

static bool take_switch(struct reading *reading, const struct key *key, const char *text)
{
	if (strcmp(text, "yes") && strcmp(text, "no")) {
		wrong(reading, "%s = %s: \"yes\" or \"no\" is wanted", key->name, text);
		return false;
	}
	*(bool *)value_at(reading->config, key) = *text == 'y';
	return true;
}

static bool take_irqbalance(struct reading *reading, const struct key *key, const char *text)
{
	enum beside_irqbalance *beside = value_at(reading->config, key);

	if (strcmp(text, "yield") && strcmp(text, "ban")) {
		wrong(reading, "%s = %s: \"yield\" or \"ban\" is wanted", key->name, text);
		return false;
	}
	*beside = *text == 'y' ? IRQBALANCE_YIELD : IRQBALANCE_BAN;
	return true;
}

/* Called by inih, for which 0 is failure, and any other result success. */
static int take(void *data, const char *section, const char *name, const char *value)
{
	struct reading *reading = data;
	size_t i;

	for (i = 0; i < KEYS; i++) {
		const struct key *key = &keys[i];

		if (strcmp(key->section, section) || strcmp(key->name, name))
			continue;
		switch (key->kind) {
		case NUMBER:
			return take_number(reading, key, value);
		case LIST:
			return take_list(reading, key, value);
		case POLICY:
			return take_policy(reading, key, value);
		case LEVEL:
			return take_level(reading, key, value);
		case PATH:
			return take_path(reading, key, value);
		case SWITCH:
			return take_switch(reading, key, value);
		case IRQBALANCE:
			return take_irqbalance(reading, key, value);
		}
	}
	if (!*section)
		wrong(reading, "%s = ... stands before the first section", name);
	else
		wrong(reading, "the section [%s] has no key \"%s\"", section, name);
	return 0;
}

int config_parse(const struct machine *machine, const char *name, const char *text, size_t length,
		 struct config *config, char **error)
{
	struct reading reading = {
		.machine = machine,
		.config = config,
		.name = name,
		.here = text,
		.end = text + length,
		.error = error,
	};
	int line;

	*error = NULL;
	line = ini_parse_stream(next_line, &reading, take, &reading);
	if (line > 0 && (!*error || (unsigned int)line < reading.wrong_line)) {
		free(*error);
		*error = NULL;
		reading.line = (unsigned int)line;
		wrong(&reading, "the line is neither a section nor \"key = value\"");
	}
	if (line < 0)
		return -ENOMEM;
	return *error ? -EINVAL : 0;
}

/* -- All files ---------------------------------------------------------------- */

static int read_one(const struct machine *machine, const char *root, const char *path,
		    bool required, struct config *config, char **error)
{
	size_t length = 0;
	char *text = file_read(root, path, &length);
	int err;

	if (!text && errno == ENOENT && !required)
		return 0;
	if (!text) {
		if (asprintf(error, "cannot read %s%s: %s", root, path, strerror(errno)) < 0)
			*error = NULL;
		return -EINVAL;
	}
	err = config_parse(machine, path, text, length, config, error);
	free(text);
	return err;
}

/* Reads one more file after others that gave the error @before; the first error stays. */
static int read_next(const struct machine *machine, const char *root, const char *path,
		     bool required, struct config *config, int before, char **error)
{
	char *message = NULL;
	int err = read_one(machine, root, path, required, config, &message);

	if (!before) {
		*error = message;
		return err;
	}
	free(message);
	return before;
}

static int is_config(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name), suffix = strlen(CONFIG_SUFFIX);

	return *entry->d_name != '.' && length > suffix &&
	       !strcmp(entry->d_name + length - suffix, CONFIG_SUFFIX);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* @err: 0, or the error of the files before. Returns that error, or else the first error here. */
static int read_folder(const struct machine *machine, const char *root, const char *folder,
		       struct config *config, int err, char **error)
{
	struct dirent **entries = NULL;
	char *full, *path;
	int count, i;

	if (asprintf(&full, "%s%s", root, folder) < 0)
		return err ?: -ENOMEM;
	count = scandir(full, &entries, is_config, by_name);
	if (!err && count < 0 && errno != ENOENT) {
		if (asprintf(error, "cannot read %s: %s", full, strerror(errno)) < 0)
			*error = NULL;
		err = -EINVAL;
	}
	free(full);
	for (i = 0; i < count; i++) {
		if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0) {
			err = err ?: -ENOMEM;
		} else {
			err = read_next(machine, root, path, true, config, err, error);
			free(path);
		}
		free(entries[i]);
	}
	free(entries);
	return err;
}

int config_read(const struct machine *machine, const char *file, struct config *config,
		char **error)
{
	const char *root = file ? "" : machine->root;
	const char *path = file ?: CONFIG_FILE;
	char *folder;
	int err;

	*error = NULL;
	err = read_next(machine, root, path, file, config, 0, error);
	if (asprintf(&folder, "%s.d", path) < 0)
		return err ?: -ENOMEM;
	err = read_folder(machine, root, folder, config, err, error);
	free(folder);
	if (!err)
		err = config_check(machine, config, error);
	config->rules.hold_us = config->hold_ms * 1000ULL;
	config->rules.dwell_us = config->dwell_ms * 1000ULL;
	return err;
}

static int contradiction(char **error, const char *text)
{
	*error = strdup(text);
	return -EINVAL;
}

int config_check(const struct machine *machine, const struct config *config, char **error)
{
	const struct policy_settings *settings = &config->settings;
	cpu_set_t *both;
	int common;

	*error = NULL;
	if (settings->load.down >= settings->load.up)
		return contradiction(error, "[load]: down has to be less than up");
	if (settings->package.down >= settings->package.up)
		return contradiction(error, "[package]: down has to be less than up");
	if (settings->steal.take >= settings->steal.give)
		return contradiction(error, "[steal]: take has to be less than give");
	if (config->policy == &policy_fixed && !CPU_COUNT_S(machine->size, settings->fixed))
		return contradiction(error, "[fixed]: cpus is empty");
	both = machine_set(machine);
	if (!both)
		return -ENOMEM;
	CPU_AND_S(machine->size, both, config->keep, config->deny);
	common = CPU_COUNT_S(machine->size, both);
	CPU_FREE(both);
	if (common)
		return contradiction(error, "[daemon]: a CPU is both in keep and in deny");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* The files of a model of power: see energy_model.h */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy_model.h"

#define MOST_MW	1e9
#define MOST_US	1e9
#define MOST_MS	1e6

/* The sections of a file. Some also have the name of a state, as "C1" in "idle C1". */
enum section {
	MACHINE, POWER, WAKEUPS, IDLE, SLEEP, NATIVE, BOLT, SECTIONS, NO_SECTION = SECTIONS
};

static const struct {
	const char *name;
	bool named;
} sections[SECTIONS] = {
	[MACHINE] = { "machine", false },
	[POWER] = { "power", false },
	[WAKEUPS] = { "wakeups", false },
	[IDLE] = { "idle", true },
	[SLEEP] = { "sleep", true },
	[NATIVE] = { "requests native", false },
	[BOLT] = { "requests bolt", false },
};

struct key {
	enum section section;
	const char *name;
	size_t offset;		/* offset of the key's number in the struct of its section */
	double least, most;
	enum { WHOLE = 1, OPTIONAL = 2, FIXED = 4 } flags;
};

#define MODEL(MEMBER)	offsetof(struct energy_model, MEMBER)
#define IDLE_AT(MEMBER)	offsetof(struct energy_idle, MEMBER)
#define SLEEP_AT(MEMBER) offsetof(struct energy_sleep, MEMBER)
#define REQUESTS_AT(MEMBER) offsetof(struct energy_requests, MEMBER)

#define REQUEST_KEYS(SECTION)							\
	{ SECTION, "off_ms", REQUESTS_AT(off_ms), 0, MOST_MS, 0 },		\
	{ SECTION, "off_more_ms", REQUESTS_AT(off_more_ms), 0, MOST_MS, 0 },	\
	{ SECTION, "on_ms", REQUESTS_AT(on_ms), 0, MOST_MS, 0 },		\
	{ SECTION, "on_more_ms", REQUESTS_AT(on_more_ms), 0, MOST_MS, 0 },	\
	{ SECTION, "off_busy", REQUESTS_AT(off_busy), 0, 64, 0 },		\
	{ SECTION, "on_busy", REQUESTS_AT(on_busy), 0, 64, 0 }

static const struct key keys[] = {
	{ MACHINE, "cpus", MODEL(cpus), 1, ENERGY_MOST_CPUS, WHOLE },
	{ MACHINE, "package", MODEL(package), 1, ENERGY_MOST_PACKAGE, WHOLE },
	{ POWER, "active", MODEL(active), 0, MOST_MW, 0 },
	{ POWER, "awake", MODEL(awake), 0, MOST_MW, 0 },
	{ POWER, "offline", MODEL(offline), -MOST_MW, MOST_MW, 0 },
	{ POWER, "warm", MODEL(warm), -MOST_MW, MOST_MW, 0 },
	{ POWER, "warm_sleeps", MODEL(warm_sleeps), 0, 1, WHOLE },
	{ WAKEUPS, "idle", MODEL(idle_wakeups), 0, 1e6, 0 },
	{ WAKEUPS, "work", MODEL(work_wakeups), 0, 1e6, 0 },
	{ IDLE, "power", IDLE_AT(power), 0, MOST_MW, 0 },
	{ IDLE, "residency_us", IDLE_AT(residency_us), 0, MOST_US, 0 },
	{ IDLE, "exit_us", IDLE_AT(exit_us), 0, MOST_US, 0 },
	{ SLEEP, "power", SLEEP_AT(power), 0, MOST_MW, 0 },
	{ SLEEP, "residency_us", SLEEP_AT(residency_us), 0, MOST_US, 0 },
	{ SLEEP, "exit_us", SLEEP_AT(exit_us), 0, MOST_US, 0 },
	{ SLEEP, "online_most", SLEEP_AT(online_most), 0, ENERGY_MOST_PACKAGE, WHOLE | OPTIONAL },
	{ SLEEP, "share", SLEEP_AT(share), 0, 1, 0 },
	REQUEST_KEYS(NATIVE),
	REQUEST_KEYS(BOLT),
	{ BOLT, "settle_after_ms", REQUESTS_AT(settle_after_ms), 0, MOST_MS, FIXED },
	{ BOLT, "parks_warm", REQUESTS_AT(parks_warm), 0, 1, WHOLE },
	{ BOLT, "settle_ms", REQUESTS_AT(settle_ms), 0, MOST_MS, 0 },
	{ BOLT, "settled_more_ms", REQUESTS_AT(settled_more_ms), 0, MOST_MS, 0 },
};

#define KEYS	(sizeof(keys) / sizeof(keys[0]))

struct parsing {
	const char *name;
	unsigned int line;
	struct energy_model *model;
	enum section section;
	void *filled;		/* the struct that the section fills */
	char **error;
};

static int wrong_at(const char *name, unsigned int line, char **error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static int wrong_at(const char *name, unsigned int line, char **error, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (!text || asprintf(error, "%s:%u: %s", name, line, text) < 0)
		*error = NULL;
	free(text);
	return *error ? -EINVAL : -ENOMEM;
}

#define wrong(PARSING, ...) \
	wrong_at((PARSING)->name, (PARSING)->line, (PARSING)->error, __VA_ARGS__)

/* -- Sections ------------------------------------------------------------- */

static int begin_idle(struct parsing *parsing, const char *name)
{
	struct energy_model *model = parsing->model;
	struct energy_idle *idle = &model->idle[model->idle_count];

	if (model->idle_count == ENERGY_IDLE_STATES)
		return wrong(parsing, "there are more than %d idle states", ENERGY_IDLE_STATES);
	model->idle_count++;
	snprintf(idle->name, sizeof(idle->name), "%s", name);
	idle->line = parsing->line;
	idle->file = parsing->name;
	parsing->filled = idle;
	return 0;
}

static int begin_sleep(struct parsing *parsing, const char *name)
{
	struct energy_model *model = parsing->model;
	struct energy_sleep *sleep = &model->sleep[model->sleep_count];

	if (model->sleep_count == ENERGY_SLEEP_STATES)
		return wrong(parsing, "there are more than %d states of a package",
			     ENERGY_SLEEP_STATES);
	model->sleep_count++;
	snprintf(sleep->name, sizeof(sleep->name), "%s", name);
	sleep->line = parsing->line;
	sleep->file = parsing->name;
	parsing->filled = sleep;
	return 0;
}

static int begin_section(struct parsing *parsing, enum section section, const char *name)
{
	struct energy_model *model = parsing->model;

	parsing->section = section;
	parsing->filled = model;
	if (sections[section].named && (!*name || strlen(name) >= ENERGY_NAME))
		return wrong(parsing, "[%s ...]: a name of 1 to %d characters is wanted",
			     sections[section].name, ENERGY_NAME - 1);
	if (section == IDLE)
		return begin_idle(parsing, name);
	if (section == SLEEP)
		return begin_sleep(parsing, name);
	if (section == NATIVE || section == BOLT) {
		struct energy_requests *requests = &model->requests[section - NATIVE];

		parsing->filled = requests;
		if (requests->line)
			return wrong(parsing, "[%s] is there twice", sections[section].name);
		requests->line = parsing->line;
		requests->file = parsing->name;
	}
	return 0;
}

static int parse_section(struct parsing *parsing, char *line)
{
	size_t length = strlen(line);
	int section;

	if (line[length - 1] != ']')
		return wrong(parsing, "a section is a name in brackets, and nothing else");
	line[length - 1] = '\0';
	line++;
	for (section = 0; section < SECTIONS; section++) {
		size_t size = strlen(sections[section].name);

		if (strncmp(line, sections[section].name, size))
			continue;
		if (sections[section].named && line[size] == ' ')
			return begin_section(parsing, section, line + size + 1);
		if (!line[size])
			return begin_section(parsing, section, "");
	}
	return wrong(parsing, "there is no section [%.40s]", line);
}

/* -- Keys ----------------------------------------------------------------- */

static bool take_number(const char **place, double *value)
{
	const char *digits = *place + (**place == '-');
	char *end;

	/* Refuses what strtod() would take as well: blanks, "nan" and hexadecimal numbers. */
	if (!isdigit((unsigned char)*digits) || tolower((unsigned char)digits[1]) == 'x')
		return false;
	*value = strtod(*place, &end);
	*place = end;
	return isfinite(*value);
}

/* Reads "N" or "N (LOW..HIGH)"; false if @text is something else. */
static bool take_quantity(const char *text, struct quantity *quantity)
{
	const char *dots;
	char low[32];

	if (!take_number(&text, &quantity->value))
		return false;
	quantity->low = quantity->high = quantity->value;
	if (!*text)
		return true;
	if (strncmp(text, " (", 2))
		return false;
	text += 2;
	/*
	 * LOW is copied without the dots: strtod() would take the first dot for a decimal point, as
	 * in "90."
	 */
	dots = strstr(text, "..");
	if (!dots || (size_t)(dots - text) >= sizeof(low))
		return false;
	memcpy(low, text, (size_t)(dots - text));
	low[dots - text] = '\0';
	text = low;
	if (!take_number(&text, &quantity->low) || *text)
		return false;
	text = dots + 2;
	return take_number(&text, &quantity->high) && !strcmp(text, ")");
}

static int take_value(struct parsing *parsing, const struct key *key, const char *text)
{
	struct quantity *quantity = (struct quantity *)((char *)parsing->filled + key->offset);
	struct quantity taken = { .line = parsing->line, .file = parsing->name };

	if (quantity->line)
		return wrong(parsing, "%s is there twice", key->name);
	if (!take_quantity(text, &taken))
		return wrong(parsing, "%s = %.40s: a number is wanted, or \"N (LOW..HIGH)\"",
			     key->name, text);
	if (taken.low < key->least || taken.high > key->most)
		return wrong(parsing, "%s = %.40s: a number from %g to %g is wanted", key->name,
			     text, key->least, key->most);
	if (taken.low > taken.value || taken.high < taken.value)
		return wrong(parsing, "%s = %.40s: the number is not in its range", key->name,
			     text);
	if ((key->flags & WHOLE) && (taken.value != floor(taken.value) || taken.low != taken.high))
		return wrong(parsing, "%s = %.40s: a whole number without a range is wanted",
			     key->name, text);
	/*
	 * A number that decides when CPUs are settled must not have a range, because
	 * energy_saving() puts numbers at the ends of their ranges without playing the trace again.
	 */
	if ((key->flags & FIXED) && taken.low != taken.high)
		return wrong(parsing, "%s = %.40s: a number without a range is wanted", key->name,
			     text);
	*quantity = taken;
	return 0;
}

static int take_text(struct parsing *parsing, const char *name, const char *text, char **place)
{
	if (*place)
		return wrong(parsing, "%s is there twice", name);
	if (!*text)
		return wrong(parsing, "%s has no value", name);
	*place = strdup(text);
	return *place ? 0 : -ENOMEM;
}

static int take_source(struct parsing *parsing, const char *text)
{
	struct energy_model *model = parsing->model;

	if (model->source_count == ENERGY_MOST_SOURCES)
		return wrong(parsing, "there are more than %d sources", ENERGY_MOST_SOURCES);
	return take_text(parsing, "source", text, &model->sources[model->source_count++]);
}

static int parse_key(struct parsing *parsing, char *line)
{
	struct energy_model *model = parsing->model;
	char *text = strstr(line, " = ");
	size_t i;

	if (!text)
		return wrong(parsing, "the line is neither a section nor \"key = value\"");
	*text = '\0';
	text += 3;
	if (parsing->section == NO_SECTION)
		return wrong(parsing, "%.40s = ... stands before the first section", line);
	if (!strcmp(line, "source"))
		return take_source(parsing, text);
	if (parsing->section == MACHINE && !strcmp(line, "name"))
		return take_text(parsing, line, text, &model->name);
	if (parsing->section == MACHINE && !strcmp(line, "requests"))
		return take_text(parsing, line, text, &model->default_requests);
	for (i = 0; i < KEYS; i++)
		if (keys[i].section == parsing->section && !strcmp(keys[i].name, line))
			return take_value(parsing, &keys[i], text);
	return wrong(parsing, "the section [%s] has no key \"%.40s\"",
		     sections[parsing->section].name, line);
}

/* -- A text --------------------------------------------------------------- */

static int parse_line(struct parsing *parsing, char *line)
{
	size_t length = strcspn(line, "\r");

	while (length && isspace((unsigned char)line[length - 1]))
		length--;
	line[length] = '\0';
	if (!length || *line == '#')
		return 0;
	return *line == '[' ? parse_section(parsing, line) : parse_key(parsing, line);
}

int energy_model_parse(const char *name, const char *text, size_t length, struct energy_model *model,
		       char **error)
{
	struct parsing parsing = { .model = model, .section = NO_SECTION, .error = error };
	char *copy, *here, *line;
	int err = 0;

	*error = NULL;
	if (model->file_count == ENERGY_MOST_FILES)
		return wrong_at(name, 1, error, "there are more than %d files", ENERGY_MOST_FILES);
	parsing.name = model->files[model->file_count] = strdup(name);
	if (!parsing.name)
		return -ENOMEM;
	model->file_count++;
	copy = here = strndup(text, length);
	if (!copy)
		return -ENOMEM;
	if (strlen(copy) != length) {
		parsing.line = 1;
		err = wrong(&parsing, "the file contains a NUL: it is no text");
	}
	while (!err && (line = strsep(&here, "\n"))) {
		parsing.line++;
		err = parse_line(&parsing, line);
	}
	free(copy);
	return err;
}

void energy_model_free(struct energy_model *model)
{
	size_t i;

	for (i = 0; i < model->file_count; i++)
		free(model->files[i]);
	free(model->name);
	free(model->default_requests);
	for (i = 0; i < model->source_count; i++)
		free(model->sources[i]);
	*model = (struct energy_model){ 0 };
}

/* -- The whole model ------------------------------------------------------ */

struct part {
	enum section section;
	void *filled;
	const char *name;	/* such as C1 in [idle C1] */
	const char *file;
	unsigned int line;
};

static void find_requests(struct energy_model *model, size_t kind, struct part *part)
{
	struct energy_requests *requests = &model->requests[kind];
	const char *last = model->files[model->file_count ? model->file_count - 1 : 0];

	*part = (struct part){ NATIVE + kind, requests, "", requests->file ?: last,
			       requests->line ?: 1 };
}

/* Finds the part @number of a model; false after the last part. */
static bool find_part(struct energy_model *model, size_t number, struct part *part)
{
	if (number <= WAKEUPS) {
		*part = (struct part){ number, model, "", model->files[0], 1 };
		return true;
	}
	number -= WAKEUPS + 1;
	if (number < model->idle_count) {
		struct energy_idle *idle = &model->idle[number];

		*part = (struct part){ IDLE, idle, idle->name, idle->file, idle->line };
		return true;
	}
	number -= model->idle_count;
	if (number < model->sleep_count) {
		struct energy_sleep *sleep = &model->sleep[number];

		*part = (struct part){ SLEEP, sleep, sleep->name, sleep->file, sleep->line };
		return true;
	}
	number -= model->sleep_count;
	if (number >= ENERGY_KINDS)
		return false;
	find_requests(model, number, part);
	return true;
}

static struct quantity *at(const struct part *part, const struct key *key)
{
	return (struct quantity *)((char *)part->filled + key->offset);
}

struct quantity *energy_quantity(struct energy_model *model, unsigned int number, char *label,
				 size_t size)
{
	struct part part;
	size_t i, k;

	for (i = 0; find_part(model, i, &part); i++) {
		for (k = 0; k < KEYS; k++) {
			if (keys[k].section != part.section || !at(&part, &keys[k])->line ||
			    number--)
				continue;
			snprintf(label, size, "%s %s%s%s", sections[part.section].name, part.name,
				 *part.name ? " " : "", keys[k].name);
			return at(&part, &keys[k]);
		}
	}
	return NULL;
}

static int check_keys(struct energy_model *model, char **error)
{
	struct part part;
	size_t i, k;

	for (i = 0; find_part(model, i, &part); i++) {
		for (k = 0; k < KEYS; k++) {
			if (keys[k].section != part.section || at(&part, &keys[k])->line ||
			    (keys[k].flags & OPTIONAL))
				continue;
			return wrong_at(part.file, part.line, error, "[%s%s%s] lacks %s",
					sections[part.section].name, *part.name ? " " : "",
					part.name, keys[k].name);
		}
	}
	return 0;
}

static int check_idle(const struct energy_model *model, char **error)
{
	const struct energy_idle *idle = model->idle, *deepest;
	size_t i;

	if (!model->idle_count)
		return wrong_at(model->files[0], 1, error, "there is no [idle ...]");
	deepest = &idle[model->idle_count - 1];
	for (i = 1; i < model->idle_count; i++)
		if (idle[i].residency_us.value <= idle[i - 1].residency_us.value ||
		    idle[i].power.value > idle[i - 1].power.value)
			return wrong_at(idle[i].file, idle[i].line, error,
					"[idle %s] must have a longer residency than [idle %s], "
					"and must not take more power",
					idle[i].name, idle[i - 1].name);
	if (deepest->power.high > 0)
		return wrong_at(deepest->power.file, deepest->power.line, error,
				"powers are counted from the deepest idle state on: that of "
				"[idle %s] has to be 0", deepest->name);
	return 0;
}

static int check_sleep(const struct energy_model *model, char **error)
{
	const struct energy_sleep *sleep = model->sleep;
	size_t i;

	for (i = 0; i < model->sleep_count; i++) {
		if (sleep[i].power.value > model->awake.value)
			return wrong_at(sleep[i].power.file, sleep[i].power.line, error,
					"a package takes more power in [sleep %s] than awake",
					sleep[i].name);
		if (i && (sleep[i].residency_us.value <= sleep[i - 1].residency_us.value ||
			  sleep[i].power.value > sleep[i - 1].power.value))
			return wrong_at(sleep[i].file, sleep[i].line, error,
					"[sleep %s] must have a longer residency than [sleep %s], "
					"and must not take more power",
					sleep[i].name, sleep[i - 1].name);
	}
	return 0;
}

int energy_model_check(const struct energy_model *model, char **error)
{
	/* check_keys() does not change the model, but needs a pointer that is not const. */
	int err = check_keys((struct energy_model *)model, error);

	if (!err && !model->name)
		err = wrong_at(model->files[0], 1, error, "[machine] lacks name");
	if (!err && !model->source_count)
		err = wrong_at(model->files[0], 1, error, "no section has a line \"source = ...\"");
	if (!err && fmod(model->cpus.value, model->package.value) != 0)
		err = wrong_at(model->package.file, model->package.line, error,
			       "%g CPUs cannot be divided into packages of %g", model->cpus.value,
			       model->package.value);
	if (!err)
		err = check_idle(model, error);
	return err ?: check_sleep(model, error);
}

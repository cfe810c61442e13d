// SPDX-License-Identifier: GPL-2.0-only
/* Finds rules of udev that change which CPUs are online. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "udev_rules.h"

/** KEY OPERATOR "VALUE" in a rule: pieces of its text */
struct term {
	const char *key, *operator, *value;
	size_t key_length, operator_length, value_length;
};

/* Reads the next term from *@text on; false at the end, or if the rest is malformed. */
static bool next_term(const char **text, struct term *term)
{
	const char *place = *text + strspn(*text, " \t,");

	term->key = place;
	term->key_length = strcspn(place, " \t=!+-:");
	/* The name of an attribute, in braces, may have characters of operators, such as "-". */
	if (memchr(place, '{', term->key_length)) {
		const char *close = strchr(place, '}');

		if (!close)
			return false;
		term->key_length = close + 1 - place;
	}
	place += term->key_length;
	place += strspn(place, " \t");
	term->operator = place;
	term->operator_length = strspn(place, "=!+-:");
	place += term->operator_length;
	place += strspn(place, " \t");
	if (!term->key_length || !term->operator_length || *place != '"')
		return false;
	term->value = ++place;
	term->value_length = strcspn(place, "\"");
	if (!place[term->value_length])
		return false;
	*text = place + term->value_length + 1;
	return true;
}

static bool is(const char *text, size_t length, const char *wanted)
{
	return strlen(wanted) == length && !strncmp(text, wanted, length);
}

/** The parts of a rule that decide whether it changes CPUs, and when */
struct sayings {
	bool cpu, not_cpu, other, sets, online, add, other_action, not_add;
	bool narrow;			/* has terms beside ACTION, GOTO, LABEL, ATTR{online}= */
	struct term jump, label;	/* GOTO and LABEL; without a value if the rule has none */
};

/* Returns the part of a value, as in "add|change", that begins at @at, and moves @at behind it. */
static const char *next_part(const struct term *term, size_t *at, size_t *length)
{
	const char *part = term->value + *at;

	if (*at >= term->value_length)
		return NULL;
	for (*length = 0; *at + *length < term->value_length && part[*length] != '|';)
		++*length;
	*at += *length + 1;
	return part;
}

/* Whether one of the patterns in a value, such as "cpu|node" or "c*", matches "cpu". */
static bool matches_cpu(const struct term *term)
{
	size_t at = 0, length;
	const char *part;
	char pattern[32];

	while ((part = next_part(term, &at, &length))) {
		if (length >= sizeof(pattern))
			continue;
		memcpy(pattern, part, length);
		pattern[length] = '\0';
		if (!fnmatch(pattern, "cpu", 0))
			return true;
	}
	return false;
}

/* Reads ACTION=="add|change". */
static void read_action(const struct term *term, struct sayings *says)
{
	size_t at = 0, length;
	const char *part;

	while ((part = next_part(term, &at, &length))) {
		if (is(part, length, "add"))
			says->add = true;
		else
			says->other_action = true;
	}
}

static void read_term(const struct term *term, struct sayings *says)
{
	bool equal = is(term->operator, term->operator_length, "==");

	if (is(term->key, term->key_length, "SUBSYSTEM")) {
		bool cpu = matches_cpu(term);

		says->narrow = true;
		says->cpu |= cpu && equal;
		says->other |= !cpu && equal;
		says->not_cpu |= cpu && !equal;
	} else if (is(term->key, term->key_length, "GOTO")) {
		says->jump = *term;
	} else if (is(term->key, term->key_length, "LABEL")) {
		says->label = *term;
	} else if (is(term->key, term->key_length, "ACTION")) {
		if (equal)
			read_action(term, says);
		else
			says->not_add = is(term->value, term->value_length, "add");
	} else if (is(term->key, term->key_length, "ATTR{online}") &&
		   (is(term->operator, term->operator_length, "=") ||
		    is(term->operator, term->operator_length, ":="))) {
		says->sets = true;
		says->online = is(term->value, term->value_length, "1");
	} else {
		says->narrow = true;
	}
}

/* Parses one rule: a line without its newline, and without newlines after a backslash. */
static struct sayings read_rule(const char *text)
{
	struct sayings says = { .cpu = false };
	struct term term;

	while (next_term(&text, &term))
		read_term(&term, &says);
	return says;
}

/* Returns a line joined with the *@lines - 1 lines that continue it, to be freed. */
static char *next_line(const char **text, size_t *lines)
{
	size_t length = 0, size = strlen(*text);
	char *line = malloc(size + 1);

	*lines = 0;
	while (line && **text) {
		size_t part = strcspn(*text, "\n");
		bool goes_on = part && (*text)[part - 1] == '\\';

		memcpy(line + length, *text, part - goes_on);
		length += part - goes_on;
		*text += part + ((*text)[part] == '\n');
		(*lines)++;
		if (!goes_on)
			break;
	}
	if (line)
		line[length] = '\0';
	return line;
}

/*
 * Follows the jump of a rule such as SUBSYSTEM!="cpu", GOTO="x": only events of CPUs come to the
 * lines before LABEL="x". *@label is "x" from the rule until that label, and NULL elsewhere.
 * @jumps: whether the rule has such a condition: if it has a GOTO as well, the rule jumps
 */
static void follow_jump(const struct sayings *says, bool jumps, char **label)
{
	const struct term *here = &says->label;

	if (*label && here->value && is(here->value, here->value_length, *label)) {
		free(*label);
		*label = NULL;
	}
	if (!*label && jumps && says->jump.value)
		*label = strndup(says->jump.value, says->jump.value_length);
}

void udev_parse(const char *text, void (*found)(const struct udev_rule *rule, void *data),
		void *data)
{
	/* The labels behind lines to which only events of CPUs, or only events "add", come. */
	char *cpus = NULL, *adds = NULL;
	size_t line = 1, lines;

	while (*text) {
		char *rule = next_line(&text, &lines);
		struct sayings says;

		if (!rule)
			break;
		says = read_rule(rule[strspn(rule, " \t")] == '#' ? "" : rule);
		follow_jump(&says, says.not_cpu, &cpus);
		follow_jump(&says, says.not_add && !says.narrow, &adds);
		free(rule);
		if (says.sets && !says.other && (says.cpu || cpus)) {
			struct udev_rule one = {
				.line = line,
				.online = says.online,
				.add_only = adds || (says.add && !says.other_action),
			};

			found(&one, data);
		}
		line += lines;
	}
	free(cpus);
	free(adds);
}

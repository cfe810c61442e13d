/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages: to the journal with fields where the daemon runs as a unit, to stderr otherwise */
#ifndef SAY_H
#define SAY_H

#include <syslog.h>

/** Exit codes, as documented in cpuboltd(8) */
enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,		/* options or the configuration are wrong */
	EXIT_NOT_PERMITTED = 77,
};

/** say() - print or log a message of a level of syslog(3) */
void say(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * say_with() - say(), with fields of the journal
 * @fields: "NAME=value" each; NULL entries are left out
 * @count: number of fields
 */
void say_with(int level, char *const *fields, unsigned int count, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/** fail() - say() that something failed, and return @code */
int fail(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * field() - a text as of asprintf(3), such as "NAME=value" for say_with(); to be freed
 *
 * Return: the text, or NULL if memory is short.
 */
char *field(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* SAY_H */
